//! What a sub-agent does, as its caller's cell tells it: the call that runs, how many there were, tokens.

use zori_core::event::{Event, EventKind, MessageEvent, ToolEvent};

use super::arguments::Arguments;
use super::words::{counted, thousands};
use crate::row::{Row, Span};
use crate::wrap::{TAB, expand_tabs};

/// The progress of a sub-agent.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    running: Option<String>,
    calls: usize,
    tokens: u64,
    /// A line for each call, for the pager.
    log: Vec<String>,
}

impl Progress {
    /// Takes an event of the sub-agent.
    pub fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Tool(ToolEvent::ToolRequested(requested)) => {
                self.calls += 1;
                let arguments = Arguments::of(&requested.call.input);
                let what =
                    arguments.command().or(arguments.pattern()).or(arguments.path()).or(arguments.url());
                let first = what.and_then(|what| what.lines().next()).unwrap_or_default();
                let line =
                    format!("{} {}", requested.call.name, expand_tabs(first, TAB)).trim_end().to_owned();
                self.running = Some(line.clone());
                self.log.push(line);
            }
            EventKind::Tool(ToolEvent::ToolFinished(_)) => self.running = None,
            EventKind::Message(MessageEvent::MessageFinished(reply)) => self.tokens += reply.usage.total(),
            _ => {}
        }
    }

    /// Returns the row under the header; `None` if nothing happened yet.
    pub fn row(&self) -> Option<Row> {
        let calls = (self.calls > 0).then(|| counted(self.calls, "call", "calls"));
        let tokens = (self.tokens > 0).then(|| format!("{} tokens", thousands(self.tokens)));
        let parts: Vec<String> = self.running.clone().into_iter().chain(calls).chain(tokens).collect();
        (!parts.is_empty()).then(|| Span::new(format!("  {}", parts.join(" · "))).muted().into())
    }

    /// Returns a line for each call.
    pub fn log(&self) -> String {
        self.log.join("\n")
    }
}
