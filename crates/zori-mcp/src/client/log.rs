//! A server's log: what it prints to standard error and says in notices, redacted, in two files of bounded size (MCP-21).

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How long a file may get before the other one takes over.
const MAX_FILE: u64 = 1 << 20;
/// How much of a line is kept.
const MAX_LINE: usize = 4096;

/// Takes secrets out of text.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

#[derive(Clone)]
pub struct ServerLog(Arc<Mutex<State>>);

struct State {
    path: Option<PathBuf>,
    redact: Redact,
    file: Option<File>,
    written: u64,
    last: Option<String>,
}

impl ServerLog {
    /// Makes the log of a server. Nothing is written before the first line; without a folder nothing ever is.
    pub fn new(folder: Option<&Path>, name: &str, redact: Redact) -> Self {
        let path = folder.map(|folder| folder.join(format!("{name}.log")));
        Self(Arc::new(Mutex::new(State { path, redact, file: None, written: 0, last: None })))
    }

    /// Adds a line. A log that cannot be written is no reason to fail.
    pub fn line(&self, line: &str) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = (state.redact)(zori_core::text::prefix(line.trim_end(), MAX_LINE));
        if line.is_empty() {
            return;
        }
        state.write(&line);
        state.last = Some(line);
    }

    /// Returns the last line.
    pub fn last(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last.clone()
    }
}

impl State {
    fn write(&mut self, line: &str) {
        let Some(path) = &self.path else { return };
        if self.written > MAX_FILE {
            self.file = None;
            let _ = std::fs::rename(path, path.with_extension("log.1"));
        }
        if self.file.is_none() {
            if let Some(folder) = path.parent() {
                let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
            }
            let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
            self.file = opened.ok();
            self.written =
                self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |facts| facts.len());
        }
        if let Some(file) = &mut self.file {
            let _ = writeln!(file, "{line}");
            self.written += line.len() as u64 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_rotates_and_the_last_line_is_known() {
        let dir = std::env::temp_dir().join(format!("zori-mcp-log-{}", std::process::id()));
        let log = ServerLog::new(Some(&dir), "s", Arc::new(|text| text.replace("secret", "[redacted]")));
        for n in 0..600 {
            log.line(&format!("{n} secret {}", "x".repeat(4000)));
        }
        assert!(log.last().unwrap().starts_with("599 [redacted] x"));
        let size = |name: &str| std::fs::metadata(dir.join(name)).unwrap().len();
        assert!(size("s.log") < MAX_FILE + 5000 && size("s.log.1") < MAX_FILE + 5000);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
