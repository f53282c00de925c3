//! Verifies that a log is unchanged. A changed, removed or added line breaks the link of the line after it.
//!
//! A chain cannot show what was cut off its end, nor a change of its last line: nothing follows that could tell.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::chain::{files, hash, read_line};
use super::read::Head;

/// A file whose chain holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    pub path: PathBuf,
    /// How many records it has.
    pub records: u64,
    /// Lines that were cut off while they were written; the record after them says so.
    pub torn: Vec<u64>,
}

/// Why a log cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A link does not hold.
    #[error("{}:{line}: {why}", path.display())]
    Broken {
        path: PathBuf,
        /// The line that does not follow from the one before, from 1.
        line: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Verifies a log with its rotated files, oldest first. A missing log has no files.
pub fn verify(path: &Path) -> Result<Vec<Verified>, VerifyError> {
    let mut next = None;
    files(path).iter().map(|path| verify_file(path, &mut next)).collect()
}

/// Verifies one file. `next`: the number its first record must have, and then the one that follows its last.
fn verify_file(path: &Path, next: &mut Option<u64>) -> Result<Verified, VerifyError> {
    let unreadable = |source| VerifyError::Io { path: path.to_owned(), source };
    let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
    let (mut line, mut number) = (Vec::new(), 0);
    let mut verified = Verified { path: path.to_owned(), records: 0, torn: Vec::new() };
    // The hashes of the line before and of the record before; they differ behind a torn line.
    let (mut before, mut record) = (String::new(), String::new());
    let mut torn = false;
    while read_line(&mut reader, &mut line).map_err(unreadable)? > 0 {
        number += 1;
        let broken = |why| Err(VerifyError::Broken { path: path.to_owned(), line: number, why });
        let whole = line.strip_suffix(b"\n");
        let text = whole.unwrap_or(&line);
        let this = hash(text);
        let Some(head) = Head::parse(text) else {
            // Whoever closes a torn line writes a record behind it, so one with a newline is not the last.
            if whole.is_some() && reader.fill_buf().map_err(unreadable)?.is_empty() {
                return broken("it is no record");
            }
            verified.torn.push(number);
            (before, torn) = (this, true);
            continue;
        };
        match (torn, head.before_torn) {
            (false, None) => {}
            (true, Some(claimed)) if claimed == record => {}
            (true, _) => return broken("the line before is no record, and this one does not say so"),
            (false, Some(_)) => return broken("it follows a torn line that is not there"),
        }
        if head.prev != before {
            return broken("it does not follow from the line before: one was changed, removed or added");
        }
        if next.is_some_and(|next| next != head.seq) {
            return broken("its number does not follow from the record before: records are missing");
        }
        *next = Some(head.seq.saturating_add(1));
        verified.records += 1;
        (record, before, torn) = (this.clone(), this, false);
    }
    Ok(verified)
}
