//! The records as they are written: serialise-only, borrowed, fields in the order of AUD-2.

use std::time::Duration;

use serde::Serialize;
use zori_core::event::Event;
use zori_core::ids::CallId;
use zori_core::time::Timestamp;

use super::chain::ChainLink;

/// What all records have in common, around what is particular to one.
#[derive(Serialize)]
struct Line<'a, B> {
    schema: u8,
    ts: &'a str,
    seq: u64,
    event: &'a str,
    session: Option<&'a str>,
    prev: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    before_torn: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(flatten)]
    body: &'a B,
}

/// The session and agent a record belongs to.
#[derive(Clone, Copy)]
pub(crate) struct RecordOwner<'a> {
    session: Option<&'a str>,
    /// For a sub-agent, the call that started it.
    parent: Option<&'a str>,
}

impl<'a> RecordOwner<'a> {
    /// A record of a command, which belongs to no session.
    pub const NOBODY: Self = Self { session: None, parent: None };

    /// A record of a session, made beside its events.
    pub fn session(session: &'a str) -> Self {
        Self { session: Some(session), parent: None }
    }

    /// Returns the owner of an event's record.
    pub fn of(event: &'a Event) -> Self {
        Self { session: Some(event.session.as_str()), parent: event.parent.as_ref().map(CallId::as_str) }
    }
}

/// A verdict about a call, before it runs.
#[derive(Serialize)]
pub(crate) struct DecisionRecord<'a> {
    pub id: &'a str,
    pub tool: &'a str,
    pub class: &'a str,
    pub verdict: &'a str,
    pub step: u8,
    pub reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_source: Option<&'a str>,
    pub mode: &'a str,
    /// Who answered, in an `approval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asker: Option<&'a str>,
    pub input_digest: &'a str,
    pub summary: &'a str,
    pub unresolved: bool,
}

/// Another permission mode.
#[derive(Serialize)]
pub(crate) struct ModeChangeRecord<'a> {
    pub from: &'a str,
    pub mode: &'a str,
}

/// A call that has its result (`docs/contracts/audit-log.md`).
#[derive(Serialize)]
pub(crate) struct FinishedRecord<'a> {
    pub turn: u64,
    pub id: &'a str,
    pub tool: &'a str,
    pub result: &'a str,
    /// The tool's error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    pub cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<&'a str>,
}

/// A call that the sandbox denied something.
#[derive(Serialize)]
pub(crate) struct SandboxDenialRecord<'a> {
    pub id: &'a str,
    pub tool: &'a str,
    /// What was denied, in a word.
    pub reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<&'a str>,
    pub sandbox: &'a str,
}

/// A command that has ended (`docs/contracts/programs.md`).
#[derive(Serialize)]
pub(crate) struct CommandRecord<'a> {
    pub command: &'a str,
    pub args: &'a str,
    pub exit_code: u8,
    pub duration_ms: u64,
    pub operator: &'a str,
    pub request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<&'a str>,
}

/// A decision to trust a folder, or not.
#[derive(Serialize)]
pub(crate) struct TrustRecord<'a> {
    pub folder: &'a str,
    pub state: &'a str,
    pub by: &'a str,
    /// The hashes of what it may run.
    pub run: &'a [String],
}

/// What became of an MCP server.
#[derive(Serialize)]
pub(crate) struct ServerRecord<'a> {
    pub server: &'a str,
    pub action: &'a str,
    pub summary: &'a str,
}

/// A project that is purged.
#[derive(Serialize)]
pub(crate) struct PurgeRecord<'a> {
    pub root: &'a str,
    pub key: &'a str,
    pub by: &'a str,
    pub include_debug: bool,
    pub summary: &'a str,
}

/// Files that go back to an earlier state, before and after (UNDO-33).
#[derive(Serialize)]
pub(crate) struct UndoRecord<'a> {
    pub phase: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<u64>,
    pub undo: &'a str,
    pub restored: u64,
    pub kept: u64,
    pub by: &'a str,
    pub summary: &'a str,
}

/// Returns a record as a line without its newline. `since_epoch`: when it happened.
pub(crate) fn line<B: Serialize>(
    since_epoch: Duration,
    event: &str,
    whose: RecordOwner<'_>,
    body: &B,
    place: &ChainLink,
) -> Vec<u8> {
    let ts = millis(since_epoch);
    let ChainLink { seq, prev, before_torn } = place;
    let before_torn = before_torn.as_deref();
    let RecordOwner { session, parent } = whose;
    let line = Line { schema: 1, ts: &ts, seq: *seq, event, session, prev, before_torn, parent, body };
    serde_json::to_vec(&line).expect("a record is made of strings and numbers")
}

/// `2026-11-15T21:15:00.123Z`.
fn millis(since_epoch: Duration) -> String {
    let seconds = Timestamp(since_epoch.as_secs() as i64).rfc3339();
    format!("{}.{:03}Z", seconds.trim_end_matches('Z'), since_epoch.subsec_millis())
}
