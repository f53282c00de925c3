//! Appends whole records to an unreliable medium: short writes are completed, an unfinished record stays on a line of
//! its own, and what a failed sync may have lost is written again (LOG-6, LOG-7).

use std::io;
use std::path::PathBuf;

use super::medium::{Medium, Opened, Shortcoming};
use crate::error::StoreError;

/// Puts lines at the end of a medium, one write each.
pub(super) struct Appender {
    medium: Box<dyn Medium>,
    state: Option<State>,
    /// Records that could not be saved since the last one that was.
    lost: u64,
}

/// What is known of an open medium.
struct State {
    /// Whether the last byte is a newline, or there is none.
    at_line_start: bool,
    has_meta: bool,
    /// How much of it was last known to be on the disk.
    synced_len: u64,
    /// What came after that.
    unsynced: Vec<u8>,
    /// Whether a sync has failed and has not been repaired: then a later success proves nothing.
    suspect: bool,
    /// What was found lacking when it was opened, until somebody was told.
    shortcoming: Option<Shortcoming>,
}

/// How much is kept for rewriting before a sync is due, whatever the durability.
const MAX_UNSYNCED: usize = 8 << 20;

/// Why a record is not saved, or not safely.
#[derive(Debug, thiserror::Error)]
pub(super) enum AppendError {
    #[error(transparent)]
    Open(StoreError),
    #[error("{0}")]
    Write(io::Error),
    /// It is saved, but less safely than it was meant to be.
    #[error(transparent)]
    Shortcoming(Shortcoming),
    /// It is saved, and what it speaks of may not be.
    #[error("{} could not be synced: {error}", path.display())]
    FileNotSynced { path: PathBuf, error: io::Error },
    #[error("could not sync ({0}); the records were written to a new copy of the file")]
    Copied(io::Error),
    #[error("could not sync ({sync}), nor write a new copy of the file ({copy})")]
    NotSynced { sync: io::Error, copy: io::Error },
}

impl Appender {
    pub(super) fn new(medium: Box<dyn Medium>) -> Self {
        Self { medium, state: None, lost: 0 }
    }

    /// Writes one record, which ends in a newline. `meta` makes the first line of a new session, `gap` the line
    /// that stands for so many lost records; both are written only if due, together with the record.
    pub(super) fn append(
        &mut self,
        record: &[u8],
        meta: impl FnOnce() -> Vec<u8>,
        gap: impl FnOnce(u64) -> Vec<u8>,
    ) -> Result<(), AppendError> {
        let state = match &mut self.state {
            Some(state) => state,
            None => match self.medium.open() {
                Ok(opened) => self.state.insert(State::new(opened)),
                Err(error) => {
                    self.lost += 1;
                    return Err(AppendError::Open(error));
                }
            },
        };
        let mut bytes = Vec::new();
        if !state.at_line_start {
            bytes.push(b'\n');
        }
        if !state.has_meta {
            bytes.extend(meta());
        }
        let meta_end = bytes.len();
        if self.lost > 0 {
            bytes.extend(gap(self.lost));
        }
        let gap_end = bytes.len();
        bytes.extend_from_slice(record);

        let (written, outcome) = write_all(&mut *self.medium, &bytes);
        let done = &bytes[..written];
        state.unsynced.extend_from_slice(done);
        state.at_line_start = done.last().map_or(state.at_line_start, |&byte| byte == b'\n');
        state.has_meta |= written >= meta_end;
        if written >= gap_end {
            self.lost = 0;
        }
        let too_much = state.unsynced.len() > MAX_UNSYNCED;
        match outcome {
            Err(error) => {
                self.lost += 1;
                Err(AppendError::Write(error))
            }
            Ok(()) if too_much => self.sync(),
            Ok(()) => match state.shortcoming.take() {
                Some(shortcoming) => Err(AppendError::Shortcoming(shortcoming)),
                None => Ok(()),
            },
        }
    }

    /// Syncs everything to disk, if there is anything to sync.
    pub(super) fn sync(&mut self) -> Result<(), AppendError> {
        let Some(state) = &mut self.state else { return Ok(()) };
        if state.unsynced.is_empty() {
            return Ok(());
        }
        let failed = match self.medium.sync() {
            Ok(()) if !state.suspect => {
                state.synced();
                return Ok(());
            }
            Ok(()) => io::Error::other("an earlier sync failed"),
            Err(error) => error,
        };
        match self.medium.rewrite(state.synced_len, &state.unsynced) {
            Ok(()) => {
                state.synced();
                Err(AppendError::Copied(failed))
            }
            Err(copy) => {
                // Too much to hold on to: the user has been told, and the records are in the file for all we know.
                if state.unsynced.len() > MAX_UNSYNCED {
                    state.synced();
                } else {
                    state.suspect = true;
                }
                Err(AppendError::NotSynced { sync: failed, copy })
            }
        }
    }
}

impl State {
    fn new(opened: Opened) -> Self {
        Self {
            at_line_start: opened.at_line_start,
            has_meta: opened.has_first_line,
            synced_len: opened.len,
            unsynced: Vec::new(),
            suspect: false,
            shortcoming: opened.shortcoming,
        }
    }

    fn synced(&mut self) {
        self.synced_len += self.unsynced.len() as u64;
        self.unsynced = Vec::new();
        self.suspect = false;
    }
}

/// Returns how much was written, all of it if there is no error.
fn write_all(medium: &mut dyn Medium, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match medium.write(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(n) => written += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}
