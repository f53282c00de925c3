//! Log lines on standard error, for whoever asks for them with `RUST_LOG`, `--debug` or `--verbose` (FR-002): what a run does
//! and when, never what is said in it.
//!
//! It is opened before a command begins, so that nothing it says can come before it, and it knows no other stream.

use std::io::{self, Write};
use std::time::Instant;

use zori_contract::flag::framework;
use zori_contract::mode::Class;
use zori_contract::world::RunFacts;
use zori_core::event::{
    Event, EventKind, MessageEvent, Notice, SessionEvent, StateEvent, ToolEvent, TurnEvent,
};
use zori_core::ids::{AgentId, CallId};
use zori_core::render::Renderer;

use crate::app::App;
use crate::args::claude;

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

/// Writes log lines up to the level that was asked for, with the time since the start; none where nobody asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct DebugLog(Option<(Level, Instant)>);

impl DebugLog {
    /// Opens the log of a run.
    pub fn open(begin: &RunFacts<'_, App>) -> Self {
        let args = begin.args;
        // Every client of the Claude protocol gives `--verbose`, and means something else.
        let protocol =
            begin.command.class == Class::Protocol || claude::SPOKEN.iter().any(|flag| args.has(flag));
        let asked = [
            begin.inputs.vars.get("RUST_LOG").and_then(Level::asked),
            args.has(&framework::DEBUG).then_some(Level::Debug),
            (args.has(&framework::VERBOSE) && !protocol).then_some(Level::Info),
        ];
        Self(asked.into_iter().flatten().max().map(|level| (level, Instant::now())))
    }

    /// Writes a line, if somebody wants it. It may hold nothing that a model, a file or a person said.
    pub fn write(self, level: Level, what: impl FnOnce() -> String) {
        let Some((_, since)) = self.0.filter(|(most, _)| level <= *most) else { return };
        let line =
            format!("[{:>9.3}ms {:5}] {}\n", since.elapsed().as_secs_f64() * 1e3, level.name(), what());
        // Nothing can be done when standard error is gone.
        let _ = io::stderr().write_all(line.as_bytes());
    }

    /// Returns a renderer that logs the events of a session, where any of them is wanted.
    pub fn events(self) -> Option<Box<dyn Renderer + Send>> {
        let wanted = self.0.is_some_and(|(most, _)| Level::Info <= most);
        wanted.then(|| Box::new(EventLogger(self)) as Box<dyn Renderer + Send>)
    }
}

/// Logs the events of a session.
struct EventLogger(DebugLog);

impl Renderer for EventLogger {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let (level, what) = describe(&event.kind);
        self.0.write(level, || match event.agent {
            AgentId::MAIN => what,
            AgentId(number) => format!("agent {number} {what}"),
        });
        Ok(())
    }
}

/// Returns an event in a few words, none of which is anybody's.
fn describe(kind: &EventKind) -> (Level, String) {
    let id = |call: &CallId| call.as_str().escape_debug().to_string();
    match kind {
        EventKind::Session(SessionEvent::SessionStarted(facts)) => {
            (Level::Info, format!("session.started messages={}", facts.resumed_messages))
        }
        EventKind::Session(SessionEvent::SessionEnded { turns, .. }) => {
            (Level::Info, format!("session.ended turns={turns}"))
        }
        EventKind::Turn(TurnEvent::TurnStarted { .. }) => (Level::Info, "turn.started".to_owned()),
        EventKind::Turn(TurnEvent::TurnFinished(summary)) => (
            Level::Info,
            format!(
                "turn.finished requests={} input={} output={}",
                summary.requests, summary.usage.input, summary.usage.output
            ),
        ),
        EventKind::Session(SessionEvent::AgentStarted(_)) => (Level::Info, "agent.started".to_owned()),
        EventKind::Message(MessageEvent::Retrying { attempt, delay, .. }) => {
            (Level::Warn, format!("request.again attempt={attempt} ms={}", delay.as_millis()))
        }
        EventKind::Turn(TurnEvent::Error { failure }) => {
            (Level::Error, format!("turn.failed status={:?}", failure.status))
        }
        EventKind::Turn(TurnEvent::Interrupted) => (Level::Info, "turn.interrupted".to_owned()),
        EventKind::State(StateEvent::ContextCompacted(done)) => {
            (Level::Info, format!("context.compacted before={} after={}", done.before, done.after))
        }
        EventKind::State(StateEvent::ModelChanged { .. }) => (Level::Debug, "model.changed".to_owned()),
        EventKind::State(StateEvent::ModeChanged { from, to }) => {
            (Level::Info, format!("mode.changed {from} {to}"))
        }
        EventKind::Message(MessageEvent::RequestStarted) => (Level::Debug, "request.started".to_owned()),
        EventKind::Message(MessageEvent::ThinkingSigned { .. }) => {
            (Level::Trace, "thinking.signed".to_owned())
        }
        EventKind::Message(MessageEvent::BlockFinished) => (Level::Trace, "block.finished".to_owned()),
        EventKind::Message(MessageEvent::MessageStarted { .. }) => {
            (Level::Debug, "message.started".to_owned())
        }
        EventKind::Message(MessageEvent::MessageFinished(_)) => (Level::Debug, "message.finished".to_owned()),
        EventKind::Tool(ToolEvent::ToolRequested(request)) => {
            (Level::Debug, format!("tool.requested {}", id(&request.call.id)))
        }
        EventKind::Tool(ToolEvent::ToolChanged { call, .. }) => {
            (Level::Debug, format!("tool.changed {}", id(call)))
        }
        EventKind::Tool(ToolEvent::ApprovalRequested { call, .. }) => {
            (Level::Debug, format!("tool.asked {}", id(call)))
        }
        EventKind::Tool(ToolEvent::ApprovalResolved { call, decision, .. }) => {
            (Level::Debug, format!("tool.decided {} {}", id(call), decision.verdict.as_str()))
        }
        EventKind::Tool(ToolEvent::ToolStarted { call, .. }) => {
            (Level::Debug, format!("tool.started {}", id(call)))
        }
        EventKind::Tool(ToolEvent::ToolFinished(done)) => {
            (Level::Debug, format!("tool.finished {} ok={}", id(&done.call), done.output.ok()))
        }
        EventKind::Notice(Notice { code, .. }) => (Level::Debug, format!("notice {code}")),
        EventKind::Message(MessageEvent::AssistantDelta { text }) => {
            (Level::Trace, format!("text bytes={}", text.len()))
        }
        EventKind::Message(MessageEvent::ThinkingDelta { text }) => {
            (Level::Trace, format!("thinking bytes={}", text.len()))
        }
        EventKind::Message(MessageEvent::ToolInputDelta { json, .. }) => {
            (Level::Trace, format!("input bytes={}", json.len()))
        }
        EventKind::Tool(ToolEvent::ToolOutputDelta { .. }) => (Level::Trace, "tool.output".to_owned()),
        EventKind::Message(MessageEvent::AssistantFinal { .. }) => (Level::Trace, "answer".to_owned()),
        EventKind::Turn(TurnEvent::Steered { .. }) => (Level::Debug, "turn.steered".to_owned()),
        EventKind::Turn(TurnEvent::HookContext { .. }) => (Level::Debug, "hook.said".to_owned()),
        EventKind::State(StateEvent::TodosChanged { .. }) => (Level::Debug, "todos.changed".to_owned()),
        EventKind::State(StateEvent::FilesChanged(changed)) => {
            (Level::Debug, format!("files.changed op={}", changed.op))
        }
        EventKind::State(StateEvent::FilesRewound(rewound)) => {
            (Level::Debug, format!("files.rewound to={} restored={}", rewound.to_turn, rewound.restored))
        }
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
