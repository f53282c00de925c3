//! What is known of a session beside its file: the title that a person gave it (`/rename`), and the branch it was last used on. A small file for
//! each, beside the sessions.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use zori_core::ids::SessionId;

use crate::SessionDir;

const TITLES: &str = "titles.json";
const BRANCHES: &str = "branches.json";
/// The longest label that is kept, in characters.
const LONGEST: usize = 200;

impl SessionDir {
    /// Gives a session a title; an empty one takes it away.
    pub fn rename(&self, id: &SessionId, title: &str) -> io::Result<()> {
        self.keep(TITLES, id, title)
    }

    /// Keeps the branch that a session was last used on.
    pub fn set_branch(&self, id: &SessionId, branch: &str) -> io::Result<()> {
        self.keep(BRANCHES, id, branch)
    }

    /// Forgets the titles and branches of sessions that are gone, and what the list of sessions remembers.
    pub fn forget_removed(&self) -> io::Result<()> {
        for name in [TITLES, BRANCHES] {
            if self.path().join(name).exists() {
                self.write_labels(name, self.labels(name))?;
            }
        }
        match fs::remove_file(self.path().join(crate::overview::INDEX)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the title that a session was given, if it was given one.
    pub fn given_title(&self, id: &SessionId) -> Option<String> {
        self.titles().remove(id.as_str())
    }

    /// Returns the titles, by the names of the sessions.
    pub(crate) fn titles(&self) -> BTreeMap<String, String> {
        self.labels(TITLES)
    }

    /// Returns the branches, by the names of the sessions.
    pub(crate) fn branches(&self) -> BTreeMap<String, String> {
        self.labels(BRANCHES)
    }

    fn keep(&self, name: &str, id: &SessionId, label: &str) -> io::Result<()> {
        let mut labels = self.labels(name);
        match label.trim() {
            "" => drop(labels.remove(id.as_str())),
            label => drop(labels.insert(id.as_str().to_owned(), label.chars().take(LONGEST).collect())),
        }
        self.write_labels(name, labels)
    }

    fn write_labels(&self, name: &str, mut labels: BTreeMap<String, String>) -> io::Result<()> {
        // Those of sessions that are gone go with them.
        labels.retain(|id, _| SessionId::parse(id).is_ok_and(|id| self.file(&id).exists()));
        let text = serde_json::to_string_pretty(&labels).expect("a map of texts is JSON");
        zori_atomic::replace_private(&self.path().join(name), text.as_bytes())
    }

    fn labels(&self, name: &str) -> BTreeMap<String, String> {
        let text = fs::read_to_string(self.path().join(name)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}
