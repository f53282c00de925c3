//! Session files: `<base>/sessions/<id>.jsonl`, one JSON object a line, only ever appended to. And the audit log, which
//! is written beside them ([`AuditLog`]).
//!
//! [`SessionDir`] is the entry point. [`SessionWriter`] turns events into records and is the run's
//! [`zori_core::log::Log`]; [`Records`] reads them back, whatever has happened to the file, and [`repair`] makes a
//! history of them that providers accept. The shapes on disk are in `record/`, and nowhere else. Nothing here knows the
//! engine, a terminal, or SQLite.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod audit;
mod branch;
mod dir;
mod error;
mod labels;
mod lines;
mod list;
mod load;
mod lock;
mod overview;
mod project;
mod record;
mod repair;
#[cfg(test)]
mod sample;
mod transcript;
mod turns;
mod views;
mod writer;

pub use audit::{
    AuditEntry, AuditFacts, AuditFile, AuditLog, CommandRun, FilesBack, ProjectPurge, ServerChange,
    TrustChange, Verified, VerifyError, audit_entries, audit_path, verify,
};
pub use branch::branch;
pub use dir::SessionDir;
pub use error::StoreError;
pub use list::SessionEntry;
pub use load::{Damage, DamagedLine, LoadedSession, Records};
pub use lock::{SessionLock, is_dead};
pub use overview::{SessionOverview, title};
pub use project::{project_dir, project_root};
pub use record::{Meta, Record, RecordKind, ReplyEnd};
pub use repair::repair;
pub use transcript::{prompt_title, transcript, transcript_block};
pub use turns::{LastUndo, SessionTurn, last_undo, turns};
pub use views::views_since_undo;
pub use writer::{Durability, NewSession, SessionWriter};

// The examples of the README compile, and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
