//! The question whether to trust a folder: what would become active, from which file, and the answers (TRUST-3).
//!
//! Enter alone means no, and so does any line that is not an answer.

use zori_core::text::one_line;

use crate::asking::discard;
use crate::signals::Signals;
use crate::trust::project::{Item, Project};
use crate::ui::Ui;

/// The user's answer about a folder. "Not now" is not stored, so it is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All of it counts.
    Trust,
    /// And so do the settings of folders below.
    TrustBelow,
    /// What is new counts as well.
    TrustNew,
    /// All but what would be run.
    WithoutPrograms,
    /// Nothing, and do not ask again.
    Never,
}

/// Asks. `new`: what changed or came since the folder was trusted, if it is. `None` is a no for now.
pub(super) fn ask(ui: &mut Ui, signals: &Signals, project: &Project, new: Option<&[Item]>) -> Option<Answer> {
    let (head, items) = match new {
        None => ("This folder has settings of its own. Trusted, it would use these:", project.items()),
        Some(new) if new.iter().all(|item| item.kind == "hook") => {
            ("Hooks of this folder changed since it was trusted, or came later:", new.to_vec())
        }
        Some(new) => ("This changed in the folder since it was trusted, or came later:", new.to_vec()),
    };
    ui.say(head);
    for line in lines(&items) {
        ui.say(&line);
    }
    if let Some(error) = &project.hooks_error {
        ui.say(&format!("  hooks that cannot be read: {error}"));
    }
    let runs = items.iter().any(|item| item.kind == "hook");
    if runs {
        ui.say("A hook is a program that runs as you, whenever its moment comes, without a question.");
    }
    for line in choices(runs, new.is_some()) {
        ui.say(line);
    }
    // What was typed before the question could be read is no answer to it.
    discard();
    // Ctrl-C ends the program here, as at the prompt.
    let waiting = signals.while_editing(|| {});
    let answer = loop {
        ui.raw(&format!("Trust {}? [y/N] ", one_line(&project.root().display().to_string())));
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line) {
            Ok(0) | Err(_) => {
                ui.say("");
                break None;
            }
            Ok(_) => {}
        }
        match parse_answer(&line, runs, new.is_some()) {
            Some(answer) => break answer,
            None => ui.say("that is none of the answers; Enter alone means no"),
        }
    };
    drop(waiting);
    answer
}

/// Returns one line for each item, with control characters visible.
pub fn lines(items: &[Item]) -> Vec<String> {
    let line = |Item { kind, text, location }: &Item| {
        format!("  {kind} {}  ({})", one_line(text), one_line(location))
    };
    items.iter().map(line).collect()
}

fn choices(runs: bool, known: bool) -> &'static [&'static str] {
    match (runs, known) {
        (true, true) => &["  y: yes, run them; w: no, and do not ask again unless they change; n: not now"],
        (false, true) => &["  y: yes, use them; n: not now"],
        (true, false) => &[
            "  y: yes; w: yes, but run none of its hooks; b: yes, this folder and those below",
            "  n: not now; d: no, do not ask again, and ask me about changes here (mode default)",
        ],
        (false, false) => &[
            "  y: yes; b: yes, this folder and those below",
            "  n: not now; d: no, do not ask again, and ask me about changes here (mode default)",
        ],
    }
}

/// What a line means; the outer `None` is nothing, the inner one a no for now.
fn parse_answer(line: &str, runs: bool, known: bool) -> Option<Option<Answer>> {
    match (line.trim().to_lowercase().as_str(), known) {
        ("" | "n" | "no", _) => Some(None),
        ("y" | "yes", true) => Some(Some(Answer::TrustNew)),
        ("y" | "yes", false) => Some(Some(Answer::Trust)),
        ("w", _) if runs => Some(Some(Answer::WithoutPrograms)),
        ("b", false) => Some(Some(Answer::TrustBelow)),
        ("d", false) => Some(Some(Answer::Never)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_one() {
        use Answer::{Never, Trust, TrustBelow, WithoutPrograms};
        let new = |line: &str| parse_answer(line, true, false);
        assert_eq!(["\n", " n\n", "No"].map(new), [Some(None); 3]);
        assert_eq!(
            ["y\n", "YES", "w", "b", "d"].map(new),
            [Trust, Trust, WithoutPrograms, TrustBelow, Never].map(|answer| Some(Some(answer)))
        );
        assert_eq!(["yy", "ja", "y please", "1", "\u{200b}y"].map(new), [None; 5]);
        assert_eq!(["b", "d"].map(|line| parse_answer(line, true, true)), [None; 2]);
        assert_eq!(parse_answer("w", false, false), None, "there is nothing to leave out");
    }
}
