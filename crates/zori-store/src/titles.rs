//! Titles that people gave their sessions (`/rename`), in one small file beside them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use zori_core::ids::SessionId;

use crate::SessionDir;

const FILE: &str = "titles.json";
/// The longest title that is kept, in characters.
const LONGEST: usize = 200;

impl SessionDir {
    /// Gives a session a title; an empty one takes it away.
    pub fn rename(&self, id: &SessionId, title: &str) -> io::Result<()> {
        let mut titles = self.titles();
        match title.trim() {
            "" => drop(titles.remove(id.as_str())),
            title => drop(titles.insert(id.as_str().to_owned(), title.chars().take(LONGEST).collect())),
        }
        // Those of sessions that are gone go with them.
        titles.retain(|id, _| SessionId::parse(id).is_ok_and(|id| self.file(&id).exists()));
        let text = serde_json::to_string_pretty(&titles).expect("a map of texts is JSON");
        let temporary = self.path().join(format!("{FILE}.{}.tmp", std::process::id()));
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&temporary, self.path().join(FILE))
    }

    /// Returns the titles, by the names of the sessions.
    pub(crate) fn titles(&self) -> BTreeMap<String, String> {
        let text = fs::read_to_string(self.path().join(FILE)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}
