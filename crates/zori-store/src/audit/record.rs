//! The records as they are written: serialise-only, borrowed, fields in the order of AUD-2.

use std::time::Duration;

use serde::Serialize;
use zori_core::event::Event;
use zori_core::ids::CallId;
use zori_core::time::Timestamp;

use super::chain::Place;

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

/// Whose record it is.
#[derive(Clone, Copy)]
pub(crate) struct Whose<'a> {
    session: Option<&'a str>,
    /// For a sub-agent, the call that started it.
    parent: Option<&'a str>,
}

impl<'a> Whose<'a> {
    /// A command's, which belongs to no session.
    pub const NOBODY: Self = Self { session: None, parent: None };

    /// The agent's that speaks.
    pub fn of(event: &'a Event) -> Self {
        Self { session: Some(event.session.as_str()), parent: event.parent.as_ref().map(CallId::as_str) }
    }
}

/// A verdict about a call, before it runs.
#[derive(Serialize)]
pub(crate) struct Decided<'a> {
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
pub(crate) struct ModeChange<'a> {
    pub from: &'a str,
    pub mode: &'a str,
}

/// A call that has its result (`agent-modes.md` 9.8).
#[derive(Serialize)]
pub(crate) struct Finished<'a> {
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

/// A call that its sandbox did not let do something.
#[derive(Serialize)]
pub(crate) struct Denied<'a> {
    pub id: &'a str,
    pub tool: &'a str,
    /// What it was about, in a word.
    pub reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<&'a str>,
    pub sandbox: &'a str,
}

/// A command that has ended (`cli-agent-spec.md` section 7).
#[derive(Serialize)]
pub(crate) struct Ran<'a> {
    pub command: &'a str,
    pub args: &'a str,
    pub exit_code: u8,
    pub duration_ms: u64,
    pub operator: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<&'a str>,
}

/// A folder that somebody trusts, or not.
#[derive(Serialize)]
pub(crate) struct Trusted<'a> {
    pub folder: &'a str,
    pub state: &'a str,
    pub by: &'a str,
    /// The hashes of what it may run.
    pub run: &'a [String],
}

/// Returns a record as a line without its newline. `since_epoch`: when it happened.
pub(crate) fn line<B: Serialize>(
    since_epoch: Duration,
    event: &str,
    whose: Whose<'_>,
    body: &B,
    place: &Place,
) -> Vec<u8> {
    let ts = millis(since_epoch);
    let Place { seq, prev, before_torn } = place;
    let before_torn = before_torn.as_deref();
    let Whose { session, parent } = whose;
    let line = Line { schema: 1, ts: &ts, seq: *seq, event, session, prev, before_torn, parent, body };
    serde_json::to_vec(&line).expect("a record is made of strings and numbers")
}

/// `2026-11-15T21:15:00.123Z`.
fn millis(since_epoch: Duration) -> String {
    let seconds = Timestamp(since_epoch.as_secs() as i64).rfc3339();
    format!("{}.{:03}Z", seconds.trim_end_matches('Z'), since_epoch.subsec_millis())
}
