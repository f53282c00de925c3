//! The database: `<base>/zori.db`, the only place that links SQLite.
//!
//! [`Database`] opens the file, [`ProjectStore`] is all that anybody sees of a project in it: every query goes through one and carries
//! the project's id. Session files stay the truth; what is recalled is a copy that can be made again. Nothing here reads the environment, a
//! session file or the clock: the callers bring values.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod code;
mod code_search;
mod database;
mod dream;
mod embed;
mod error;
mod evict;
mod frequency;
mod graph;
mod jobs;
mod lease;
mod ledger;
mod memory;
mod plans;
mod points;
mod preferences;
mod project_store;
mod purge;
mod recall;
mod slots;
#[cfg(test)]
mod tests;
mod vectors;
mod writer;

pub use code::{
    CodeChange, CodeChunk, CodeContent, CodeFile, CodeProgress, CodeStatus, CodeSymbol, KnownFile,
};
pub use code_search::{CodeHit, CodeQuestion, MappedFile};
pub use database::{Database, database_path};
pub use dream::{DreamGates, Dreamt};
pub use error::IndexError;
pub use evict::retention;
pub use graph::{Entity, Fact, NewEntity, NewFact, SessionSummary};
pub use jobs::{Claim, Job, JobRun, NewJob};
pub use ledger::Payment;
pub use memory::{Message, SessionCopy, SessionFile, Synced, remove_sessions};
pub use plans::{Plan, PlanStatus, Step, StepStatus};
pub use points::point_id;
pub use project_store::{ProjectRow, ProjectStore, project_key, projects};
pub use purge::{Counts, Kept};
pub use recall::{Recalled, fitting, wrapped};
pub use slots::{When, WhenError, day_begins, next_slot, offset, zone_known};
pub use vectors::{Likeness, Unembedded, VectorKind, VectorsOf, built_in_vector};
