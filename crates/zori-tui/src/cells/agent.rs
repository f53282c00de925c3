//! What a sub-agent does, as its caller's cell tells it: the call that runs, how many there were, tokens; and its calls as cells of their own.

use std::collections::VecDeque;

use zori_core::event::{Event, EventKind, MessageEvent, ToolEvent};
use zori_core::ids::CallId;

use super::ToolCell;
use super::words::{counted, thousands};
use crate::cell::{Cell as _, CellCx};
use crate::row::{Row, Span};
use crate::wrap::truncate;

/// How many calls of a sub-agent are kept; of those before them only the number is.
const KEPT: usize = 200;
/// What stands before the rows of its calls.
const INDENT: &str = "  ";

/// The progress of a sub-agent.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    running: Option<String>,
    calls: usize,
    tokens: u64,
    /// Its calls, for the pager.
    cells: VecDeque<ToolCell>,
}

impl Progress {
    /// Takes an event of the sub-agent.
    pub fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Tool(call) => self.call(call),
            EventKind::Message(MessageEvent::MessageFinished(reply)) => self.tokens += reply.usage.total(),
            _ => {}
        }
    }

    fn call(&mut self, event: &ToolEvent) {
        match event {
            ToolEvent::ToolRequested(requested) => {
                self.calls += 1;
                let cell = ToolCell::new(requested);
                self.running = Some(cell.brief());
                self.cells.push_back(cell);
                if self.cells.len() > KEPT {
                    self.cells.pop_front();
                }
            }
            ToolEvent::ToolFinished(finished) => {
                self.running = None;
                if let Some(cell) = self.cell(&finished.call) {
                    cell.finished(finished);
                }
            }
            ToolEvent::ToolChanged { call, input, .. } => {
                if let Some(cell) = self.cell(call) {
                    cell.changed(input);
                }
            }
            ToolEvent::ApprovalResolved { call, decision, by } => {
                if let Some(cell) = self.cell(call) {
                    cell.resolved(decision, *by);
                }
            }
            ToolEvent::ToolOutputDelta { call, stream, text } => {
                if let Some(cell) = self.cell(call) {
                    cell.output(*stream, text);
                }
            }
            ToolEvent::ApprovalRequested { .. } | ToolEvent::ToolStarted { .. } => {}
        }
    }

    fn cell(&mut self, call: &CallId) -> Option<&mut ToolCell> {
        self.cells.iter_mut().rev().find(|cell| cell.call() == call)
    }

    /// Gives an event to the call of this sub-agent that started another one; returns whether there was one.
    pub fn nested(&mut self, parent: &CallId, event: &Event) -> bool {
        self.cells.iter_mut().rev().any(|cell| cell.nested(parent, event))
    }

    /// Returns the row under the header; `None` if nothing happened yet.
    pub fn row(&self) -> Option<Row> {
        let calls = (self.calls > 0).then(|| counted(self.calls, "call", "calls"));
        let tokens = (self.tokens > 0).then(|| format!("{} tokens", thousands(self.tokens)));
        let parts: Vec<String> = self.running.clone().into_iter().chain(calls).chain(tokens).collect();
        (!parts.is_empty()).then(|| Span::new(format!("  {}", parts.join(" · "))).muted().into())
    }

    /// Returns its calls as cells, for the pager.
    pub fn rows(&self, width: u16, cx: &CellCx) -> Vec<Row> {
        let cx = CellCx { number: None, running: None, ..*cx };
        let inner = width.saturating_sub(INDENT.len() as u16).max(1);
        let mut rows = Vec::new();
        let earlier = self.calls - self.cells.len();
        if earlier > 0 {
            let words = format!("… {}", counted(earlier, "earlier call", "earlier calls"));
            rows.push(truncate(&Span::new(words).muted().into(), usize::from(inner)));
        }
        rows.extend(self.cells.iter().flat_map(|cell| cell.rows(inner, &cx)));
        let indented = |row: Row| match row.spans.is_empty() {
            true => row,
            false => Row { spans: std::iter::once(Span::new(INDENT)).chain(row.spans).collect() },
        };
        rows.into_iter().map(indented).collect()
    }
}
