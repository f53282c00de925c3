//! Where a session lives.
//!
//! ```text
//!  SessionSettings (values)          Upstream (provider, network)      FrontendParts (renderers, tools, hooks)
//!         │                                   │                                  │
//!         ▼                                   │                                  │
//!  Host::new ── sandbox                       │                                  │
//!         │ Host::open ── lock, history ──────┴──► Host::start ◄─────────────────┘
//!         │                                            │ policy, tools, log, audit, EventTap
//!         ▼                                            ▼
//!  Host::close                      Session::turn(prompt, &mut peer) ──► TurnEnd
//!                                     select: the turn │ the tap │ the peer
//! ```
//!
//! A [`Host`] holds what the sessions of one folder share: the resolved [`SessionSettings`] and the sandbox. It opens a
//! session in two steps, because a front end has to know the session's id before it can make its renderers:
//! [`Host::open`] takes the lock and reads the history, [`Host::start`] puts the engine together. Several sessions in one
//! process are the normal case: a [`Session`] is driven by whoever has a runtime, and [`BlockingSession`] brings its own.
//!
//! While a turn runs, [`Session::turn`] waits for three things at once: the end of the turn, what the session wants from
//! its [`Peer`] ([`PeerRequest`]: a question about a call; an elicitation of an MCP server or a scheduled prompt has its
//! place in the same enum), and what the peer says ([`Input`](zori_core::input::Input): an answer, a cancel, another model
//! or mode). A front end is a peer and a set of renderers, and nothing more.
//!
//! This crate reads no environment, no clock and no home directory, and it prints nothing: settings come in as values,
//! failures go out as [`HostError`], everything else worth a line as a [`Notice`].

#![deny(clippy::print_stdout, clippy::print_stderr)]
#![warn(missing_docs)]

mod agents;
mod audit;
mod background;
mod blocking;
mod child_env;
mod code_index;
mod error;
mod extensions;
mod frontend;
mod host;
mod ledger;
mod mcp;
mod memory;
mod mode;
mod model;
mod network;
mod notice;
mod peer;
mod project_tool;
pub mod sandbox;
mod schedule;
mod session;
pub mod settings;
mod skills;
mod storage;
pub mod summary;
mod system_prompt;
mod tap;
mod undo;
mod use_marker;

pub use agents::AgentDescription;
pub use audit::{AuditKeeping, AuditSettings};
pub use background::Background;
pub use blocking::{BlockingSession, runtime};
pub use child_env::{ChildEnvironment, InheritEverything};
pub use code_index::{
    CodeIndexPlace, CodeQuery, GRAMMARS, IsSensitive, Pass, Progress, indexed_so_far, search_code,
    unknown_kind,
};
pub use error::HostError;
pub use extensions::{Extensions, SlashEntry};
pub use frontend::{ClientIo, FrontendParts};
pub use host::{Host, Machine, Upstream};
pub use ledger::DailyBudget;
pub use mcp::{
    Environment, FormAnswers, McpSettings, TOOLS_BUDGET, TransportMaker, failures as mcp_failures,
    start_servers as start_mcp_servers,
};
pub use memory::{
    AskedBy, EmbedderSettings, MemoryPlace, MemorySettings, QdrantSettings, Recall, StorePlace,
    VectorSettings, Vectors, begun_in,
};
pub use mode::{ModeError, ModeGate, Modes, TellRights};
pub use model::{ModelError, ModelGate, ModelSettings, check_budget, is_loopback};
pub use network::{Network, Replay, Track};
pub use notice::Notice;
pub use peer::{Answers, Peer, PeerRequest, Unattended, pending_or};
pub use schedule::{ScheduleSettings, mark_scheduled, unmark_scheduled};
pub use session::{Session, TurnEnd};
pub use settings::SessionSettings;
pub use skills::{SkillSettings, Skills};
pub use storage::{OpenedSession, Which, damage_warning};
pub use system_prompt::SystemParts;
pub use undo::{
    FileRewinder, SavedSession, UndoFailure, UndoGoal, UndoRequest, UndoScope, UndoSettings, Undone,
    undo_answer, undo_lines,
};
pub use zori_store::SessionTurn;

// What settings are made of. The engine itself is this crate's business alone.
pub use zori_engine::compact::CompactAt;
pub use zori_engine::context::ContextWindow;
pub use zori_engine::engine::Totals;
pub use zori_engine::limits::{Limits, Unpriced};
pub use zori_engine::retry::{Backoff, Retry, RetryCounts};
pub use zori_engine::settings::{CallOrder, PartialReply};
pub use zori_engine::system::{SystemClock, SystemIds, random_bytes, random_number, session_id};
pub use zori_engine::user_shell::UserCommand;
pub use zori_undo::capture::{TreeLimits, uncovered};
pub use zori_undo::error::UndoError;
pub use zori_undo::gc::Retention;
pub use zori_undo::plan::{Force, Kept, Reason};
pub use zori_undo::purge::{Purged, count as count_undo, purge as purge_undo};
pub use zori_undo::rewind::{Report, RestoredFile};
