//! Log lines on standard error, for whoever asks for them with `RUST_LOG`, `--debug` or `--verbose` (FR-002): what a run does
//! and when, never what is said in it.
//!
//! It is opened before a command begins, so that nothing it says can come before it, and it knows no other stream.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Instant;

use zori_contract::mode::Class;
use zori_contract::world::Begin;
use zori_core::event::{Event, EventKind};
use zori_core::ids::{AgentId, CallId};
use zori_core::render::Renderer;

use crate::program::App;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error,
    /// Something did not go as it should.
    Warn,
    /// What a run does, in a few lines.
    Info,
    /// Each of its steps.
    Debug,
    /// Everything, each piece of an answer included.
    Trace,
}

impl Level {
    const ALL: [(&'static str, Self); 5] = [
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];

    /// Returns what a value of `RUST_LOG` asks of this program: a level, or `zori=LEVEL` among those of others.
    fn asked(value: &str) -> Option<Self> {
        let level = |directive: &str| {
            let (target, name) = directive.trim().rsplit_once('=').unwrap_or(("zori", directive.trim()));
            let known = Self::ALL.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
            known.filter(|_| target.starts_with("zori")).map(|(_, level)| *level)
        };
        value.split(',').filter_map(level).max()
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }
}

/// What was asked for, and since when.
static OPEN: OnceLock<(Level, Instant)> = OnceLock::new();

/// Opens the journal, where somebody asks for it. A run opens it once.
pub fn open(begin: &Begin<'_, App>) {
    let args = begin.args;
    // Every client of the Claude protocol gives `--verbose`, and means something else.
    let protocol = begin.command.class == Class::Protocol
        || ["output-format", "input-format", "protocol-version"].iter().any(|name| args.has(name));
    let asked = [
        begin.inputs.vars.get("RUST_LOG").and_then(Level::asked),
        args.has("debug").then_some(Level::Debug),
        (args.has("verbose") && !protocol).then_some(Level::Info),
    ];
    if let Some(level) = asked.into_iter().flatten().max() {
        OPEN.get_or_init(|| (level, Instant::now()));
    }
}

/// Returns whether lines of this level are written.
fn takes(level: Level) -> bool {
    OPEN.get().is_some_and(|(most, _)| level <= *most)
}

/// Writes a line, if somebody wants it. It may hold nothing that a model, a file or a person said.
pub fn note(level: Level, what: impl FnOnce() -> String) {
    let Some((_, since)) = OPEN.get().filter(|(most, _)| level <= *most) else { return };
    let line = format!("[{:>9.3}ms {:5}] {}\n", since.elapsed().as_secs_f64() * 1e3, level.name(), what());
    // Nothing can be done when standard error is gone.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Notes the events of a session.
pub struct Noting(());

impl Noting {
    /// Returns it where there is anything to note.
    pub fn wanted() -> Option<Box<dyn Renderer + Send>> {
        takes(Level::Info).then(|| Box::new(Self(())) as Box<dyn Renderer + Send>)
    }
}

impl Renderer for Noting {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let (level, what) = said(&event.kind);
        note(level, || match event.agent {
            AgentId::MAIN => what,
            AgentId(number) => format!("agent {number} {what}"),
        });
        Ok(())
    }
}

/// Returns an event in a few words, none of which is anybody's.
fn said(kind: &EventKind) -> (Level, String) {
    let id = |call: &CallId| call.as_str().escape_debug().to_string();
    match kind {
        EventKind::SessionStarted(facts) => {
            (Level::Info, format!("session.started messages={}", facts.resumed_messages))
        }
        EventKind::SessionEnded { turns, .. } => (Level::Info, format!("session.ended turns={turns}")),
        EventKind::TurnStarted { .. } => (Level::Info, "turn.started".to_owned()),
        EventKind::TurnFinished(summary) => (
            Level::Info,
            format!(
                "turn.finished requests={} input={} output={}",
                summary.requests, summary.usage.input, summary.usage.output
            ),
        ),
        EventKind::AgentStarted(_) => (Level::Info, "agent.started".to_owned()),
        EventKind::Retrying { attempt, delay, .. } => {
            (Level::Warn, format!("request.again attempt={attempt} ms={}", delay.as_millis()))
        }
        EventKind::Error { failure } => (Level::Error, format!("turn.failed status={:?}", failure.status)),
        EventKind::Interrupted => (Level::Info, "turn.interrupted".to_owned()),
        EventKind::ContextCompacted(done) => {
            (Level::Info, format!("context.compacted before={} after={}", done.before, done.after))
        }
        EventKind::ModelChanged { .. } => (Level::Debug, "model.changed".to_owned()),
        EventKind::ModeChanged { from, to } => (Level::Info, format!("mode.changed {from} {to}")),
        EventKind::RequestStarted => (Level::Debug, "request.started".to_owned()),
        EventKind::ThinkingSigned { .. } => (Level::Trace, "thinking.signed".to_owned()),
        EventKind::BlockFinished => (Level::Trace, "block.finished".to_owned()),
        EventKind::MessageStarted { .. } => (Level::Debug, "message.started".to_owned()),
        EventKind::MessageFinished(_) => (Level::Debug, "message.finished".to_owned()),
        EventKind::ToolRequested(request) => {
            (Level::Debug, format!("tool.requested {}", id(&request.call.id)))
        }
        EventKind::ToolChanged { call, .. } => (Level::Debug, format!("tool.changed {}", id(call))),
        EventKind::ApprovalRequested { call, .. } => (Level::Debug, format!("tool.asked {}", id(call))),
        EventKind::ApprovalResolved { call, decision, .. } => {
            (Level::Debug, format!("tool.decided {} {}", id(call), decision.verdict.as_str()))
        }
        EventKind::ToolStarted { call, .. } => (Level::Debug, format!("tool.started {}", id(call))),
        EventKind::ToolFinished(done) => {
            (Level::Debug, format!("tool.finished {} ok={}", id(&done.call), done.output.ok()))
        }
        EventKind::Notice { code, .. } => (Level::Debug, format!("notice {code}")),
        EventKind::AssistantDelta { text } => (Level::Trace, format!("text bytes={}", text.len())),
        EventKind::ThinkingDelta { text } => (Level::Trace, format!("thinking bytes={}", text.len())),
        EventKind::ToolInputDelta { json, .. } => (Level::Trace, format!("input bytes={}", json.len())),
        EventKind::ToolOutputDelta { .. } => (Level::Trace, "tool.output".to_owned()),
        EventKind::AssistantFinal { .. } => (Level::Trace, "answer".to_owned()),
        EventKind::Steered { .. } => (Level::Debug, "turn.steered".to_owned()),
        EventKind::HookContext { .. } => (Level::Debug, "hook.said".to_owned()),
        EventKind::TodosChanged { .. } => (Level::Debug, "todos.changed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        for (value, level) in [
            ("trace", Some(Level::Trace)),
            ("INFO", Some(Level::Info)),
            ("warn,zori=debug,hyper=trace", Some(Level::Debug)),
            ("zori::turn=trace", Some(Level::Trace)),
            ("hyper=trace", None),
            ("off", None),
            ("", None),
            ("loud", None),
        ] {
            assert_eq!(Level::asked(value), level, "{value}");
        }
    }
}
