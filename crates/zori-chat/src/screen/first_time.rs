//! What the first chat in a folder says once: what may run there unasked, and which key changes it (DECISIONS 56).

use std::path::Path;

use zori_policy::Mode;

use zori_setup::import;
use zori_setup::private_file;

/// Returns the words if nobody has read them in this project yet, and remembers that they were said. Where nothing can be remembered nothing is
/// said: the first row of the chat says the mode in any case.
pub fn note(base: &Path, root: &Path, mode: Mode, sandbox: bool) -> Option<String> {
    let told = zori_store::project_dir(base, root).join("first-chat");
    if told.exists() || private_file::write(&told, b"what may run unasked was said\n").is_err() {
        return None;
    }
    Some(format!(
        "First chat in this folder. {} Shift-Tab changes the mode, /permissions shows the rules.",
        what(mode, sandbox)
    ))
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

fn what(mode: Mode, sandbox: bool) -> &'static str {
    match (mode, sandbox) {
        (Mode::Yolo, false) => {
            "Mode yolo asks nothing: commands, edits and the network run as you would run them."
        }
        (Mode::Yolo, true) => {
            "Mode yolo asks nothing: commands, edits and the network run inside the sandbox."
        }
        (Mode::AcceptEdits, _) => {
            "Reading, harmless commands and edits below this folder run unasked; all else asks."
        }
        (Mode::Paranoid, _) => "Nothing runs unasked.",
        (Mode::Deny, _) => "Nothing runs.",
        (Mode::Plan, _) => "Reading and harmless commands run unasked; nothing is changed in mode plan.",
        (_, false) => "Reading below this folder and harmless commands run unasked; edits and all else ask.",
        (_, true) => {
            "Reading below this folder and harmless commands run unasked, in the sandbox; edits and all else ask."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_for_each_project() {
        let base = tempfile::tempdir().unwrap();
        let say = |root: &str| note(base.path(), Path::new(root), Mode::Yolo, false);
        assert!(say("/a").is_some_and(|text| text.starts_with("First chat in this folder. Mode yolo")));
        assert_eq!(say("/a"), None);
        assert!(say("/b").is_some());
        assert_eq!(note(Path::new("/proc/nothing"), Path::new("/a"), Mode::Default, false), None);
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
