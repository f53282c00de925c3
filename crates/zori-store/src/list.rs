//! Lists the sessions by names and times only, so the size of a session does not matter (LOG-12).

use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use zori_core::ids::SessionId;
use zori_core::time::Timestamp;

use crate::dir::id_of;
use crate::error::StoreError;

/// A session in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEntry {
    pub id: SessionId,
    /// When its file was last changed.
    pub modified: Timestamp,
}

pub(crate) fn list(dir: &Path) -> Result<Vec<SessionEntry>, StoreError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::at(dir)(error)),
    };
    let mut found: Vec<(SystemTime, SessionId)> = Vec::new();
    for entry in entries {
        let entry = entry.map_err(StoreError::at(dir))?;
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(id_of) else { continue };
        // A file that vanishes while we look is simply not in the list.
        let Ok(mut facts) = entry.metadata() else { continue };
        if facts.is_symlink() {
            let Ok(behind) = fs::metadata(entry.path()) else { continue };
            facts = behind;
        }
        if facts.is_file() {
            found.push((facts.modified().unwrap_or(UNIX_EPOCH), id));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.as_str().cmp(b.1.as_str())));
    Ok(found.into_iter().map(|(time, id)| SessionEntry { id, modified: timestamp(time) }).collect())
}

fn timestamp(time: SystemTime) -> Timestamp {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Timestamp(after.as_secs() as i64),
        Err(before) => Timestamp(-(before.duration().as_secs() as i64)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    #[test]
    fn newest_first_and_only_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            ("old.jsonl", 100),
            ("new.jsonl", 300),
            ("b.jsonl", 200),
            ("a.jsonl", 200),
            ("a.lock", 400),
            ("notes.txt", 400),
            (".hidden.jsonl", 400),
            ("not an id.jsonl", 400),
        ];
        for (name, secs) in files {
            let file = File::create(dir.path().join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(secs)).unwrap();
        }
        fs::create_dir(dir.path().join("dir.jsonl")).unwrap();
        let entry = |id, secs| SessionEntry { id: SessionId::parse(id).unwrap(), modified: Timestamp(secs) };
        assert_eq!(
            list(dir.path()).unwrap(),
            [entry("new", 300), entry("a", 200), entry("b", 200), entry("old", 100)]
        );
    }

    #[test]
    fn no_directory_no_sessions() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(list(&dir.path().join("none")).unwrap(), []);
        assert!(!dir.path().join("none").exists());
    }

    #[test]
    fn a_file_in_its_place_is_an_error_with_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sessions");
        fs::write(&path, "").unwrap();
        let error = list(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: ", path.display())), "{error}");
    }
}
