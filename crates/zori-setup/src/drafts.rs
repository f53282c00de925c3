//! What is being typed in a chat, kept so that it survives the end of the program (CMP-10): a file for each session, and one for each chat in which
//! nothing was said yet.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zori_store::is_dead;

use crate::private_file;

/// The drafts of a base directory.
#[derive(Clone, Debug)]
pub struct Drafts {
    pub folder: PathBuf,
}

/// What is being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptDraft {
    pub draft: String,
    pub queue: Vec<String>,
    /// Where it is typed, and by which process, while no session says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
}

impl Drafts {
    /// Returns those of a base directory.
    pub fn of(base: &Path) -> Self {
        Self { folder: base.join("drafts") }
    }

    /// Returns the file of a session's draft.
    pub fn file(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{session}.json"))
    }

    /// Keeps a session's draft. One that cannot be kept is no reason to disturb whoever types it.
    pub fn keep(&self, session: &str, draft: &KeptDraft) {
        if let Ok(text) = serde_json::to_string(draft) {
            let _ = private_file::write(&self.file(session), text.as_bytes());
        }
    }

    /// Forgets a session's draft.
    pub fn forget(&self, session: &str) {
        let _ = fs::remove_file(self.file(session));
    }

    /// Returns a session's draft.
    pub fn read(&self, session: &str) -> Option<KeptDraft> {
        read(&self.file(session))
    }

    /// Returns the drafts that were typed in a folder before a session began there, newest first.
    fn without_session(&self, root: &Path) -> Vec<(PathBuf, KeptDraft)> {
        let mut found = self.all();
        found.retain(|(_, draft)| draft.root.as_deref() == Some(root));
        let modified = |path: &Path| fs::metadata(path).and_then(|facts| facts.modified()).ok();
        found.sort_by_cached_key(|(path, _)| std::cmp::Reverse(modified(path)));
        found
    }

    /// Returns all that are kept, by their files.
    pub fn all(&self) -> Vec<(PathBuf, KeptDraft)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.path(), read(&entry.path())?))).collect()
    }

    /// Takes over the newest draft of a chat that ended in this folder before anything was said in it. Of two that want it one has it.
    pub fn take_over(&self, root: &Path) -> Option<KeptDraft> {
        let ended = |draft: &KeptDraft| draft.process.is_some_and(is_dead);
        let (_, draft) = self
            .without_session(root)
            .into_iter()
            .filter(|(_, draft)| ended(draft))
            .find(|(path, _)| fs::remove_file(path).is_ok())?;
        Some(draft)
    }

    /// Forgets what this process keeps beside the draft of a session: the chat goes on in that one.
    pub fn forget_others(&self, session: &str) {
        let own = self.file(session);
        for (path, draft) in self.all() {
            if draft.process == Some(std::process::id()) && path != own {
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn read(path: &Path) -> Option<KeptDraft> {
    let is_draft = path.extension().is_some_and(|extension| extension == "json");
    serde_json::from_slice(&fs::read(path).ok().filter(|_| is_draft)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A draft goes to a chat of its folder, once, and not before the chat that it was typed in has ended.
    #[test]
    fn a_draft_without_a_session() {
        let base = tempfile::tempdir().unwrap();
        let drafts = Drafts::of(base.path());
        let (here, there) = (Path::new("/here"), Path::new("/there"));
        assert_eq!(drafts.take_over(here), None);
        let draft = |root: Option<&Path>, process| KeptDraft {
            draft: "half a thought".to_owned(),
            queue: vec!["next".to_owned()],
            root: root.map(Path::to_owned),
            process,
        };
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let (alive, dead) = (Some(std::process::id()), Some(ended.id()));
        for (name, kept) in [
            ("begun", draft(None, None)),
            ("elsewhere", draft(Some(there), dead)),
            ("open", draft(Some(here), alive)),
            ("ended", draft(Some(here), dead)),
        ] {
            drafts.keep(name, &kept);
            assert_eq!(drafts.read(name), Some(kept));
        }
        assert_eq!(drafts.without_session(here).len(), 2);
        assert_eq!(drafts.take_over(here), Some(draft(Some(here), dead)));
        assert_eq!(drafts.take_over(here), None);
        drafts.forget_others("open");
        assert!(drafts.read("open").is_some());
        drafts.forget_others("another");
        assert_eq!(drafts.read("open"), None);
        assert_eq!(
            fs::read_to_string(drafts.file("begun")).unwrap(),
            r#"{"draft":"half a thought","queue":["next"]}"#
        );
    }
}
