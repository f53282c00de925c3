//! The one place where it is decided whether a call runs. Pure: the same input gives the same verdict.
//!
//! What stands here is the last part of `security.md` 2.1: the table by mode and class, and what happens when
//! nobody can be asked. Rules, hooks, protected paths and shell analysis become further steps before it.

use zori_core::permission::{Class, Decision, Verdict};
use zori_core::tool::Effect;

use crate::policy::{Asker, Mode, Policy};

/// Decides about a call by what it would do. A call has the strictest verdict of its effects.
pub fn decide(policy: &Policy, effects: &[Effect]) -> Decision {
    let judged = effects.iter().map(|effect| {
        let class = classify(policy, effect);
        (table(policy.mode, class), class)
    });
    // A call without effects cannot be judged, so it counts as the strictest thing there is (TM-4).
    let (verdict, class) =
        judged.max_by_key(|(verdict, _)| *verdict).unwrap_or((table(policy.mode, Class::X), Class::X));
    match (verdict, policy.asker) {
        (Verdict::Ask, Asker::Absent) => Decision {
            verdict: Verdict::Deny,
            class,
            reason: "approval_unavailable: this call needs an approval and nobody can be asked in this run"
                .to_owned(),
        },
        (verdict, _) => Decision { verdict, class, reason: format!("mode {}", name(policy.mode)) },
    }
}

fn classify(policy: &Policy, effect: &Effect) -> Class {
    let inside = |path: &std::path::Path| policy.roots.iter().any(|root| path.starts_with(root));
    match effect {
        Effect::Internal => Class::I,
        Effect::Read(path) if inside(path) => Class::R,
        Effect::Read(_) => Class::Rx,
        Effect::Write(path) if inside(path) => Class::W,
        Effect::Write(_) => Class::Wx,
        Effect::Exec { .. } => Class::X,
        Effect::Net { .. } => Class::N,
    }
}

/// The columns of `security.md` 2.3 for the modes there are.
fn table(mode: Mode, class: Class) -> Verdict {
    match (mode, class) {
        (Mode::Yolo, _) => Verdict::Allow,
        (Mode::Default, Class::I | Class::R) => Verdict::Allow,
        (Mode::Default, Class::Rx | Class::W | Class::Wx | Class::X | Class::N) => Verdict::Ask,
    }
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Yolo => "yolo",
        Mode::Default => "default",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(mode: Mode, asker: Asker, effects: &[Effect]) -> String {
        let policy = Policy { mode, roots: vec!["/ws".into()], asker };
        let decision = decide(&policy, effects);
        format!("{:?} {}", decision.verdict, decision.class.as_str())
    }

    fn all() -> Vec<Effect> {
        vec![
            Effect::Internal,
            Effect::Read("/ws/a".into()),
            Effect::Read("/ws-x/a".into()),
            Effect::Write("/ws/a".into()),
            Effect::Write("/etc/a".into()),
            Effect::Exec { command: "true".into(), cwd: "/ws".into() },
            Effect::Net { url: "http://x".into() },
        ]
    }

    #[test]
    fn yolo_allows_everything() {
        for effect in all() {
            assert!(verdict(Mode::Yolo, Asker::Absent, &[effect]).starts_with("Allow"));
        }
    }

    #[test]
    fn default_asks_for_changes_and_for_what_lies_outside() {
        let got: Vec<_> =
            all().into_iter().map(|effect| verdict(Mode::Default, Asker::Present, &[effect])).collect();
        assert_eq!(got, ["Allow I", "Allow R", "Ask RX", "Ask W", "Ask WX", "Ask X", "Ask N"]);
    }

    #[test]
    fn nobody_to_ask_means_denied() {
        let effects = [Effect::Read("/ws/a".into()), Effect::Write("/ws/a".into())];
        assert_eq!(verdict(Mode::Default, Asker::Absent, &effects), "Deny W");
    }

    #[test]
    fn a_call_that_names_no_effect_is_not_waved_through() {
        assert_eq!(verdict(Mode::Default, Asker::Present, &[]), "Ask X");
    }
}
