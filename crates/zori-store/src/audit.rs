//! The audit log: what was decided about each call, how it ended, and which commands ran
//! (`docs/contracts/audit-log.md`).
//!
//! [`AuditLog`] makes records of a run's events, in the project's file; [`AuditFile`] takes those that belong to no
//! project. Both have one format (`audit/record.rs`) and one chain per file (`audit/chain.rs`). A record says what a
//! call touches, never what a file contains; `audit/clean.rs` takes secrets out of it.

mod chain;
mod clean;
mod read;
mod record;
#[cfg(test)]
mod tests;
mod verify;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use zori_core::event::{
    DecidedBy, Event, EventKind, StateEvent, ToolEvent, ToolFinished, ToolRequested, TurnEvent,
};
use zori_core::ids::{AgentId, CallId};
use zori_core::log::{Log, LogError};
use zori_core::message::ToolInput;
use zori_core::permission::{Decision, Verdict};
use zori_core::tool::{Effect, ToolCode};
use zori_redact::Redactor;

use crate::writer::Durability;
use chain::{ChainFile, MAX_FILE_BYTES, hash};
use clean::{clean, cut};
use record::{
    CommandRecord, DecisionRecord, FinishedRecord, ModeChangeRecord, PurgeRecord, RecordOwner,
    SandboxDenialRecord, ServerRecord, TrustRecord, UndoRecord,
};

pub use read::{AuditEntry, audit_entries};
pub use verify::{Verified, VerifyError, verify};

/// Returns the name of the log in a folder.
pub fn audit_path(folder: &Path) -> PathBuf {
    folder.join("audit.jsonl")
}

/// An audit log as a file.
#[derive(Debug)]
pub struct AuditFile {
    chain: ChainFile,
}

/// A command that has ended.
#[derive(Clone, Debug)]
pub struct CommandRun<'a> {
    /// When it ended, since 1970.
    pub at: Duration,
    pub command: &'a str,
    /// What it was given, without prompts.
    pub args: &'a str,
    pub exit_code: u8,
    /// How long it took.
    pub duration: Duration,
    /// Who ran it.
    pub operator: &'a str,
    /// The name of this run, as its answer has it.
    pub request_id: &'a str,
    /// The name of what it is a part of, if its caller gave one.
    pub trace_id: Option<&'a str>,
}

/// A decision about a folder.
#[derive(Clone, Debug)]
pub struct TrustChange<'a> {
    /// When, since 1970.
    pub at: Duration,
    pub folder: &'a str,
    /// What holds for it from now on.
    pub state: &'a str,
    /// The hashes of what it may run.
    pub run: &'a [String],
    /// Who said so.
    pub by: &'a str,
}

/// Something that became of an MCP server (EXT-63).
#[derive(Clone, Debug)]
pub struct ServerChange<'a> {
    /// When, since 1970.
    pub at: Duration,
    pub server: &'a str,
    /// `start`, `end`, `form`, `pin`, `login` or `logout`.
    pub action: &'a str,
    /// How, in a few words and without values.
    pub summary: &'a str,
}

/// Files that go back to an earlier state.
#[derive(Clone, Debug)]
pub struct FilesBack<'a> {
    /// When, since 1970.
    pub at: Duration,
    pub session: &'a str,
    /// `begin` before the first change, `end` after the last.
    pub phase: &'a str,
    /// The number of the operation; `None` where nothing was changed.
    pub op: Option<u64>,
    /// What is meant: a turn, or the last undo.
    pub undo: &'a str,
    /// How many paths go back, or went.
    pub restored: u64,
    /// How many stay as they are.
    pub kept: u64,
    /// Who asked for it.
    pub by: &'a str,
}

/// A project that is purged, before anything of it is deleted (D-34).
#[derive(Clone, Debug)]
pub struct ProjectPurge<'a> {
    /// When, since 1970.
    pub at: Duration,
    pub root: &'a str,
    /// The name of the project's folder.
    pub key: &'a str,
    /// How much is deleted, in words.
    pub summary: &'a str,
    /// Whether debug dumps are, too.
    pub include_debug: bool,
    /// Who asked for it.
    pub by: &'a str,
}

impl AuditFile {
    /// Names the file; the first record creates it.
    pub fn new(path: PathBuf) -> Self {
        Self { chain: ChainFile::new(path, MAX_FILE_BYTES) }
    }

    /// Makes records survive what those of a session do (DECISIONS 29).
    #[must_use]
    pub fn durable(mut self, durability: Durability) -> Self {
        if durability == Durability::Full {
            self.chain.sync_lines();
        }
        self
    }

    /// Makes sure that records can be written, creating the file.
    pub fn check(&mut self) -> Result<(), LogError> {
        self.chain.check().map_err(|error| self.failed(&error))
    }

    /// Appends the record of a command.
    pub fn run(&mut self, run: &CommandRun<'_>, redactor: &Redactor) -> Result<(), LogError> {
        let args = clean(redactor, run.args);
        let duration_ms = millis(run.duration);
        let CommandRun { command, exit_code, operator, request_id, trace_id, .. } = *run;
        let trace_id = trace_id.map(|id| clean(redactor, id));
        let trace_id = trace_id.as_deref();
        let body =
            CommandRecord { command, args: &args, exit_code, duration_ms, operator, request_id, trace_id };
        self.append(run.at, "run", RecordOwner::NOBODY, &body)
    }

    /// Appends the record of a decision about a folder.
    pub fn trust(&mut self, change: &TrustChange<'_>) -> Result<(), LogError> {
        let TrustChange { at, folder, state, run, by } = *change;
        self.append(at, "trust", RecordOwner::NOBODY, &TrustRecord { folder, state, by, run })
    }

    /// Appends the record of what became of an MCP server.
    pub fn server(&mut self, change: &ServerChange<'_>, redactor: &Redactor) -> Result<(), LogError> {
        let ServerChange { at, server, action, summary } = *change;
        let summary = clean(redactor, summary);
        self.append(at, "mcp", RecordOwner::NOBODY, &ServerRecord { server, action, summary: &summary })
    }

    /// Appends the record of a purge.
    pub fn purge(&mut self, purge: &ProjectPurge<'_>) -> Result<(), LogError> {
        let ProjectPurge { at, root, key, summary, include_debug, by } = *purge;
        self.append(at, "purge", RecordOwner::NOBODY, &PurgeRecord { root, key, by, include_debug, summary })
    }

    /// Appends the record of an undo (UNDO-33).
    pub fn undo(&mut self, back: &FilesBack<'_>) -> Result<(), LogError> {
        let FilesBack { at, session, phase, op, undo, restored, kept, by } = *back;
        let summary = format!("{phase}: {undo}, {restored} back, {kept} kept");
        let body = UndoRecord { phase, op, undo, restored, kept, by, summary: &summary };
        self.append(at, "undo", RecordOwner::session(session), &body)
    }

    fn append(
        &mut self,
        at: Duration,
        event: &str,
        whose: RecordOwner<'_>,
        body: &impl Serialize,
    ) -> Result<(), LogError> {
        let wrote = self.chain.append(|place| record::line(at, event, whose, body, place));
        wrote.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> LogError {
        LogError(format!("{}: {error}", self.chain.path().display()))
    }
}

/// Logs what is decided about calls, before they start, and how they end.
pub struct AuditLog {
    file: AuditFile,
    facts: AuditFacts,
    turn: u64,
    /// Providers number calls as they like, so that two agents may use one id.
    calls: HashMap<(AgentId, CallId), PendingCall>,
}

/// Facts of the whole run.
pub struct AuditFacts {
    /// The permission mode.
    pub mode: Arc<str>,
    /// The working directory of the tools.
    pub cwd: Arc<Path>,
    /// Takes secrets out of texts.
    pub redactor: Redactor,
    /// Returns the time since 1970.
    pub now: fn() -> Duration,
}

/// A call that has been requested and not finished.
struct PendingCall {
    tool: String,
    summary: String,
    input_digest: String,
    /// Whether approval was asked for.
    asked: bool,
    approved_by: Option<&'static str>,
}

impl AuditLog {
    /// Returns the log of a run.
    pub fn new(file: AuditFile, facts: AuditFacts) -> Self {
        Self { file, facts, turn: 0, calls: HashMap::new() }
    }

    fn requested(&mut self, agent: AgentId, request: &ToolRequested) {
        let input = match &request.call.input {
            ToolInput::Json(args) => args.get(),
            ToolInput::Malformed(text) => text,
        };
        let seen = PendingCall {
            tool: cut(&request.call.name, clean::MAX_TEXT),
            summary: clean(&self.facts.redactor, &summary(&request.effects)),
            input_digest: hash(input.as_bytes()),
            asked: false,
            approved_by: None,
        };
        self.calls.insert((agent, request.call.id.clone()), seen);
    }

    /// A changed input makes it another call: later records are about that one.
    fn changed(&mut self, agent: AgentId, call: &CallId, input: &str, effects: &[Effect]) {
        let summary = clean(&self.facts.redactor, &summary(effects));
        if let Some(seen) = self.calls.get_mut(&(agent, call.clone())) {
            (seen.summary, seen.input_digest) = (summary, hash(input.as_bytes()));
        }
    }

    /// Writes a verdict about a call. `asker`: who answered, if somebody was asked.
    fn decided(
        &mut self,
        event: &Event,
        call: &CallId,
        decision: &Decision,
        asker: Option<&'static str>,
    ) -> Result<(), LogError> {
        let Some(seen) = self.calls.get(&(event.agent, call.clone())) else { return Ok(()) };
        let reason = clean(&self.facts.redactor, &decision.reason);
        let rule = decision.rule.as_ref().map(|rule| clean(&self.facts.redactor, &rule.text));
        let body = DecisionRecord {
            id: call.as_str(),
            tool: &seen.tool,
            class: decision.class.as_str(),
            verdict: decision.verdict.as_str(),
            step: decision.step,
            reason: &reason,
            rule: rule.as_deref(),
            rule_source: decision.rule.as_ref().map(|rule| &*rule.source),
            mode: &self.facts.mode,
            asker,
            input_digest: &seen.input_digest,
            summary: &seen.summary,
            unresolved: decision.unresolved,
        };
        let name = if asker.is_some() { "approval" } else { "decision" };
        self.file.append((self.facts.now)(), name, RecordOwner::of(event), &body)
    }

    fn resolved(
        &mut self,
        event: &Event,
        call: &CallId,
        decision: &Decision,
        by: DecidedBy,
    ) -> Result<(), LogError> {
        let Some(seen) = self.calls.get_mut(&(event.agent, call.clone())) else { return Ok(()) };
        // Denied without a question: the policy's word is a decision, not an answer.
        let asker = match by {
            DecidedBy::User => Some("user"),
            DecidedBy::Cancelled => Some("cancelled"),
            DecidedBy::Policy if seen.asked => Some("nobody"),
            DecidedBy::Policy => None,
        };
        seen.approved_by = Some(if by == DecidedBy::User { "user" } else { "policy" });
        self.decided(event, call, decision, asker)
    }

    fn started(&mut self, event: &Event, call: &CallId, decision: &Decision) -> Result<(), LogError> {
        if let Some(seen) = self.calls.get_mut(&(event.agent, call.clone())) {
            let by = if decision.rule.is_some() { "policy" } else { "auto" };
            seen.approved_by.get_or_insert(by);
        }
        self.decided(event, call, decision, None)
    }

    fn finished(&mut self, event: &Event, done: &ToolFinished) -> Result<(), LogError> {
        let seen = self.calls.remove(&(event.agent, done.call.clone()));
        if let Some(denial) = &done.output.denial {
            let body = SandboxDenialRecord {
                id: done.call.as_str(),
                tool: seen.as_ref().map_or(&*done.name, |seen| &seen.tool),
                reason: denial.about,
                input_digest: seen.as_ref().map(|seen| seen.input_digest.as_str()),
                summary: seen.as_ref().map(|seen| seen.summary.as_str()),
                sandbox: &denial.profile,
            };
            self.file.append((self.facts.now)(), "sandbox", RecordOwner::of(event), &body)?;
        }
        let cwd = self.facts.cwd.display().to_string();
        let code = done.output.failure.as_ref().map(|failure| failure.code);
        let timed_out = done.output.process.is_some_and(|end| end.timed_out);
        let body = FinishedRecord {
            turn: self.turn,
            id: done.call.as_str(),
            tool: seen.as_ref().map_or(&*done.name, |seen| &seen.tool),
            result: match code {
                Some(ToolCode::Timeout) => "timeout",
                _ if timed_out => "timeout",
                None => "ok",
                Some(ToolCode::PermissionDenied) => "denied",
                Some(ToolCode::Canceled) => "cancelled",
                Some(_) => "error",
            },
            outcome: code.map(ToolCode::as_str),
            exit_code: done.output.process.map(|end| end.exit_code),
            duration_ms: done.duration.map(millis),
            cwd: &cwd,
            approved_by: seen.as_ref().and_then(|seen| seen.approved_by),
        };
        self.file.append((self.facts.now)(), "tool", RecordOwner::of(event), &body)
    }
}

impl Log for AuditLog {
    fn append(&mut self, event: &Event) -> Result<(), LogError> {
        match &event.kind {
            EventKind::Turn(TurnEvent::TurnStarted { .. }) if event.agent == AgentId::MAIN => self.turn += 1,
            EventKind::Tool(ToolEvent::ToolRequested(request)) => self.requested(event.agent, request),
            EventKind::Tool(ToolEvent::ToolChanged { call, input, effects }) => {
                self.changed(event.agent, call, input.get(), effects);
            }
            EventKind::Tool(ToolEvent::ApprovalRequested { call, decision, .. }) => {
                if let Some(seen) = self.calls.get_mut(&(event.agent, call.clone())) {
                    seen.asked = true;
                }
                return self.decided(event, call, decision, None);
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { call, decision, by }) => {
                return self.resolved(event, call, decision, *by);
            }
            EventKind::Tool(ToolEvent::ToolStarted { call, decision, .. }) => {
                debug_assert_eq!(decision.verdict, Verdict::Allow, "only what is allowed starts");
                return self.started(event, call, decision);
            }
            EventKind::Tool(ToolEvent::ToolFinished(done)) => return self.finished(event, done),
            EventKind::State(StateEvent::ModeChanged { from, to }) => {
                self.facts.mode = (*to).into();
                let body = ModeChangeRecord { from, mode: to };
                return self.file.append((self.facts.now)(), "mode", RecordOwner::of(event), &body);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Says what a call touches.
fn summary(effects: &[Effect]) -> String {
    let one = |effect: &Effect| match effect {
        Effect::Read(path) => Some(format!("read {}", path.display())),
        Effect::Write(path) => Some(format!("write {}", path.display())),
        Effect::Exec { command, .. } => Some(command.clone()),
        Effect::Net { url } => Some(url.clone()),
        Effect::Mcp { server, tool, .. } => Some(format!("{server}: {tool}")),
        Effect::Agent => Some("sub-agent".to_owned()),
        Effect::Memory => Some("memory".to_owned()),
        Effect::Schedule => Some("schedule".to_owned()),
        Effect::Internal => None,
    };
    effects.iter().filter_map(one).collect::<Vec<_>>().join(", ")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
