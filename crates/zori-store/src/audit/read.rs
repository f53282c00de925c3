//! Records as they are read, also from other versions. Unknown fields are ignored; a torn line is no record.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};
use zori_core::text::one_line;

use super::chain::{files, read_line};
use crate::error::StoreError;

/// The fields of the chain.
#[derive(Deserialize)]
pub(crate) struct Head {
    pub seq: u64,
    pub prev: String,
    pub before_torn: Option<String>,
}

impl Head {
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// A record. For programs every field is there: `null` where the kind of record has none.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct AuditEntry {
    /// When, in RFC 3339 with milliseconds, so that the order of texts is the order in time.
    pub ts: String,
    /// What kind of record.
    pub event: String,
    /// The session it belongs to.
    pub session: Option<String>,
    tool: Option<String>,
    class: Option<String>,
    verdict: Option<String>,
    reason: Option<String>,
    rule: Option<String>,
    asker: Option<String>,
    summary: Option<String>,
    result: Option<String>,
    outcome: Option<String>,
    /// The command, of a run.
    pub command: Option<String>,
    args: Option<String>,
    exit_code: Option<i64>,
    duration_ms: Option<u64>,
    request_id: Option<String>,
    /// What a run is a part of, if its caller said so.
    pub trace_id: Option<String>,
    server: Option<String>,
    action: Option<String>,
    state: Option<String>,
    folder: Option<String>,
    by: Option<String>,
}

impl AuditEntry {
    /// Returns the record as a line for people, harmless on a terminal.
    pub fn line(&self) -> String {
        let mut line = format!("{}  {:<8}", self.ts, self.event);
        let words = [
            &self.verdict,
            &self.result,
            &self.tool,
            &self.class,
            &self.command,
            &self.server,
            &self.action,
            &self.state,
        ];
        for word in words.into_iter().flatten() {
            let _ = write!(line, "  {word}");
        }
        if let Some(asker) = self.asker.as_ref().or(self.by.as_ref()) {
            let _ = write!(line, "  by {asker}");
        }
        if let Some(code) = &self.outcome {
            let _ = write!(line, "  {code}");
        }
        if let Some(code) = self.exit_code {
            let _ = write!(line, "  exit {code}");
        }
        if let Some(millis) = self.duration_ms {
            let _ = write!(line, "  {millis} ms");
        }
        for text in
            [&self.summary, &self.args, &self.folder].into_iter().flatten().filter(|text| !text.is_empty())
        {
            let _ = write!(line, "  {text}");
        }
        match (&self.reason, &self.rule) {
            (Some(reason), Some(rule)) => _ = write!(line, "  ({reason}; rule {rule})"),
            (Some(reason), None) => _ = write!(line, "  ({reason})"),
            (None, _) => {}
        }
        one_line(&line).into_owned()
    }
}

/// Gives the records of a log to `take`, oldest first, those of the files put aside before. Lines that are not records
/// are left out; [`crate::verify`] checks them.
pub fn audit_entries(path: &Path, mut take: impl FnMut(AuditEntry)) -> Result<(), StoreError> {
    for path in files(path) {
        let mut read = || -> io::Result<()> {
            let mut reader = BufReader::new(File::open(&path)?);
            let mut line = Vec::new();
            while read_line(&mut reader, &mut line)? > 0 {
                if let Ok(entry) = serde_json::from_slice(&line) {
                    take(entry);
                }
            }
            Ok(())
        };
        read().map_err(StoreError::at(&path))?;
    }
    Ok(())
}
