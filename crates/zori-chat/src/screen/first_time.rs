//! What the first chat in a folder says once: what may run there unasked, and which key changes it (DECISIONS 56).

use std::path::Path;

use zori_policy::{Mode, ModeChoice};

use zori_setup::import;
use zori_setup::private_file;

/// Returns the words if nobody has read them in this project yet, and remembers that they were said. Where nothing can be remembered nothing is
/// said: the first row of the chat says the mode in any case.
/// `shell`: whether commands may run at all.
pub fn note(base: &Path, root: &Path, mode: ModeChoice, shell: bool, sandbox: bool) -> Option<String> {
    let told = zori_store::project_dir(base, root).join("first-chat");
    if told.exists() || private_file::write(&told, b"what may run unasked was said\n").is_err() {
        return None;
    }
    Some(format!("{} Shift-Tab changes the mode, /permissions shows the rules.", what(mode, shell, sandbox)))
}

/// Returns what to say, once, where other agents left something to take over. Nothing of it is read: it is there, and that is all
/// (EXT-30).
pub fn others(base: &Path, home: &Path, program: &str) -> Option<String> {
    let told = base.join(import::TOLD);
    let there = || import::TRACES.concat().iter().any(|trace| home.join(trace).exists());
    if told.exists() || !there() || private_file::write(&told, b"what other agents left was said\n").is_err()
    {
        return None;
    }
    Some(format!(
        "Another agent's set-up is in your home directory. `{program} import --dry-run` shows what of it could be used here; nothing of it was read."
    ))
}

fn what(choice: ModeChoice, shell: bool, sandbox: bool) -> String {
    let (name, whole) = (choice.shown(), if sandbox { ", in the sandbox" } else { "" });
    let commands =
        if choice.is_balanced() { "the commands of `security.whitelist`" } else { "harmless commands" };
    let as_you = if sandbox { "inside the sandbox" } else { "as you would run them" };
    let said = match (choice.mode, shell) {
        (Mode::Yolo, true) => {
            format!("Mode {name} asks nothing: commands, edits and the network run {as_you}.")
        }
        (Mode::Yolo, false) => format!("Mode {name} asks nothing: edits and the network run {as_you}."),
        (Mode::AcceptEdits, true) => {
            "Reading, harmless commands and edits below this folder run unasked; all else asks.".to_owned()
        }
        (Mode::AcceptEdits, false) => {
            "Reading and edits below this folder run unasked; all else asks.".to_owned()
        }
        (Mode::Paranoid, _) => "Nothing runs unasked.".to_owned(),
        (Mode::Deny, _) => "Nothing runs.".to_owned(),
        (Mode::Plan, true) => {
            "Reading and harmless commands run unasked; nothing is changed in mode plan.".to_owned()
        }
        (Mode::Plan, false) => "Reading runs unasked; nothing is changed in mode plan.".to_owned(),
        (Mode::Default | Mode::DontAsk, true) => {
            format!("Reading below this folder and {commands} run unasked{whole}; edits and all else ask.")
        }
        (Mode::Default | Mode::DontAsk, false) => {
            "Reading below this folder runs unasked; edits and all else ask.".to_owned()
        }
    };
    match shell || choice.mode == Mode::Deny {
        true => said,
        false => format!("{said} Shell commands are off."),
    }
}

#[cfg(test)]
mod tests {
    use zori_policy::mode::Protocol;

    use super::*;

    #[test]
    fn once_for_each_project() {
        let base = tempfile::tempdir().unwrap();
        let mode = ModeChoice::implicit(Mode::Yolo);
        let say = |root: &str| note(base.path(), Path::new(root), mode, true, false);
        assert!(say("/a").is_some_and(|text| text.starts_with("Mode yolo asks nothing")));
        assert_eq!(say("/a"), None);
        assert!(say("/b").is_some());
        assert_eq!(note(Path::new("/proc/nothing"), Path::new("/a"), mode, true, false), None);
    }

    /// What is promised runs, in the words of the provider whose modes they are.
    #[test]
    fn what_runs_unasked() {
        let said = |name: &str, shell: bool, sandbox: bool| {
            what(ModeChoice::named(name, Protocol::Own).unwrap(), shell, sandbox)
        };
        for (name, shell, sandbox, words) in [
            (
                "default",
                true,
                true,
                "Reading below this folder and harmless commands run unasked, in the sandbox; edits and all else ask.",
            ),
            (
                "balanced",
                true,
                false,
                "Reading below this folder and the commands of `security.whitelist` run unasked; edits and all else ask.",
            ),
            (
                "balanced",
                false,
                true,
                "Reading below this folder runs unasked; edits and all else ask. Shell commands are off.",
            ),
            (
                "god_mode",
                false,
                false,
                "Mode god_mode asks nothing: edits and the network run as you would run them. Shell commands are off.",
            ),
            (
                "yolo",
                true,
                true,
                "Mode yolo asks nothing: commands, edits and the network run inside the sandbox.",
            ),
            ("paranoid", false, false, "Nothing runs unasked. Shell commands are off."),
            (
                "plan",
                false,
                false,
                "Reading runs unasked; nothing is changed in mode plan. Shell commands are off.",
            ),
        ] {
            assert_eq!(said(name, shell, sandbox), words);
        }
    }

    #[test]
    fn once_for_what_others_left() {
        let (base, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let say = || others(base.path(), home.path(), "zori");
        assert_eq!(say(), None);
        std::fs::create_dir(home.path().join(".claude")).unwrap();
        let words = "Another agent's set-up is in your home directory. `zori import --dry-run` shows what of it could be used here; nothing of it was read.";
        assert_eq!(say().as_deref(), Some(words));
        assert_eq!(say(), None);
    }
}
