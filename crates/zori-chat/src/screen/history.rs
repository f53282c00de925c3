//! What was sent in a project before, over all its sessions (CMP-8).

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use zori_redact::Redactor;
use zori_tui::composer::history::MOST;

/// From so many lines on, the file is written anew with the newest of them.
const TRIM_AT: usize = 2 * MOST;

/// What is longer is remembered by the chat it was sent in, and not by later ones: each of them reads the file when it begins.
const LONGEST: usize = 64 << 10;

/// The file with what was sent.
pub struct HistoryFile {
    file: PathBuf,
    redactor: Redactor,
}

impl HistoryFile {
    /// Returns the file of a project.
    pub fn of(base: &Path, root: &Path, redactor: Redactor) -> Self {
        Self { file: zori_store::project_dir(base, root).join("history.jsonl"), redactor }
    }

    /// Returns the newest entries, oldest first.
    pub fn read(&self) -> Vec<String> {
        let Ok(bytes) = std::fs::read(&self.file) else { return Vec::new() };
        // A line that a full disk has cut is one that cannot be read; the others are as they were.
        let text = String::from_utf8_lossy(&bytes);
        let entries: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let newest = entries[entries.len().saturating_sub(MOST)..].to_vec();
        if entries.len() >= TRIM_AT {
            let lines: String =
                newest.iter().map(|entry| format!("{}\n", serde_json::Value::from(entry.as_str()))).collect();
            // It stays as it is where that fails.
            let _ = zori_setup::private_file::write(&self.file, lines.as_bytes());
        }
        newest
    }

    /// Adds an entry, for the owner only and without known secrets. One that cannot be kept is no reason to say anything.
    pub fn add(&self, text: &str) {
        if text.len() > LONGEST {
            return;
        }
        let line = format!("{}\n", serde_json::Value::from(&*self.redactor.redact(text)));
        let made =
            self.file.parent().map(|parent| DirBuilder::new().recursive(true).mode(0o700).create(parent));
        if matches!(made, Some(Ok(()))) {
            let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.file);
            let _ = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_secrets_and_not_without_end() {
        let base = tempfile::tempdir().unwrap();
        let history = HistoryFile::of(base.path(), Path::new("/p"), Redactor::default());
        history.add(&format!("use sk-ant-{} now", "a".repeat(40)));
        history.add(&"x".repeat(LONGEST + 1));
        let cut = OpenOptions::new().append(true).open(&history.file);
        cut.and_then(|mut file| file.write_all(b"\"caf\xc3\n")).unwrap();
        assert_eq!(history.read(), ["use [REDACTED] now"]);
        for number in 0..TRIM_AT {
            history.add(&number.to_string());
        }
        assert_eq!(history.read().len(), MOST);
        let lines = std::fs::read_to_string(&history.file).unwrap().lines().count();
        assert_eq!(lines, MOST, "the file was written anew");
        assert_eq!(history.read().last().map(String::as_str), Some("1999"));
    }
}
