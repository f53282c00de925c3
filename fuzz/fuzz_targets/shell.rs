//! Any text as a command for the shell, as a rule and as a policy file.
//!
//! What must hold: no panic; the same answer twice; what is denied without company is not allowed behind other
//! commands; and a rule holds, or its author is told. libFuzzer watches time and memory.

#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use zori_core::permission::{Layer, Verdict};
use zori_core::tool::{Effect, ToolKind};
use zori_policy::file::PolicyFile;
use zori_policy::rules::{OwnedAnchors, Rules, UnparsedRule};
use zori_policy::{Call, Policy, decide};

const PROFILES: &str = include_str!("../../fixtures/shell/profiles.json");

static POLICIES: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    let file = PolicyFile::parse(PROFILES, "profiles.json").expect("the profiles can be read");
    ["dflt", "yolo", "yolo-deny"].map(|name| file.policy(name, "profiles.json").expect("it is there").0).into()
});

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    if choice == b'{' {
        return file(text);
    }
    let policy = &POLICIES[usize::from(choice) % POLICIES.len()];
    let once = verdict_of(policy, text);
    assert_eq!(verdict_of(policy, text), once, "a decision is a function of its input");
    // On a line of its own before everything else nothing can hide it; the mode `yolo` has no rule against it.
    let behind = verdict_of(policy, &format!("curl x\n{text}"));
    assert!(behind != Verdict::Allow || usize::from(choice) % POLICIES.len() == 1, "{text:?}");
    rule(text);
});

fn verdict_of(policy: &Policy, command: &str) -> Verdict {
    let effect = Effect::Exec { command: command.to_owned(), cwd: policy.workspace.cwd.clone() };
    decide(policy, &Call::new("bash", Some(ToolKind::Bash), &[effect], &policy.workspace)).verdict
}

/// A text as a rule. It holds as it is written, or somebody is told and it opens nothing (RULE-1).
fn rule(text: &str) {
    let anchors = OwnedAnchors {
        home: Some(PathBuf::from("/home/u")),
        workspace: PathBuf::from("/ws"),
        rule_root: PathBuf::from("/ws"),
    };
    for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
        let written = UnparsedRule { verdict, text: text.to_owned(), layer: Layer::User, source: "f".into() };
        let (mut rules, mut warnings) = (Rules::default(), Vec::new());
        rules.add(&written, &anchors, &mut warnings);
        let held = [rules.allow.len(), rules.ask.len(), rules.deny.len()];
        let wanted = match verdict {
            Verdict::Allow => [1, 0, 0],
            Verdict::Ask => [0, 1, 0],
            Verdict::Deny => [0, 0, 1],
        };
        assert!(held == wanted || !warnings.is_empty(), "{text:?} vanished");
        assert!(held[0] == 0 || verdict == Verdict::Allow, "{text:?} opens something");
        assert!(warnings.iter().all(|warning| !warning.text.is_empty()));
    }
}

fn file(text: &str) {
    if let Ok(file) = PolicyFile::parse(&format!("{{{text}"), "f") {
        for name in file.profiles() {
            let _ = file.policy(name, "f");
        }
    }
}
