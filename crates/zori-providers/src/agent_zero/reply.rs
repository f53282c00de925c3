//! The events of an answer as chunks of a reply.
//!
//! What is kept of the chat comes before the text, since it is part of the message. So an answer waits until its chat is
//! known, or until it ends.

use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{Chunk, StopReason};
use zori_core::text::{one_line, prefix};

use super::normalise::ServerEvent;
use super::state::ChatState;
use super::stream::Output;
use super::tool_request::ToolRequest;

/// How much of a line about the server's own work is shown.
const MAX_LINE: usize = 400;

/// A reply that is being received.
pub(super) struct Reply {
    out: Output,
    state: ChatState,
    /// Answers that wait until the chat is known.
    held: Vec<String>,
    /// Pieces of an answer, in case it never comes whole (NRM-3).
    deltas: String,
    /// Requests that are still to be made, in order.
    requests: Vec<ToolRequest>,
    /// Whether this answer has requests.
    asked_anew: bool,
    error: Option<String>,
    /// Whether the body ended in the middle of an event.
    broken: bool,
    stated: bool,
    said: bool,
}

impl Reply {
    /// Begins a reply. `state` is what is known of the chat.
    pub(super) fn begin(out: Output, mut state: ChatState) -> Self {
        out.put(Chunk::Started { model: super::NAME.to_owned() });
        // Requests of an earlier answer come first.
        let earlier = std::mem::take(&mut state.waiting);
        Self {
            out,
            state,
            held: Vec::new(),
            deltas: String::new(),
            asked_anew: false,
            requests: earlier,
            error: None,
            broken: false,
            stated: false,
            said: false,
        }
    }

    /// Notes which chat it is.
    pub(super) fn know(&mut self, context_id: &str) {
        if self.state.context_id.as_deref() != Some(context_id) {
            self.state.context_id = Some(context_id.to_owned());
            // Another one than before is what the next message goes to.
            self.stated = false;
        }
        self.flush();
    }

    /// Takes an event.
    pub(super) fn take(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::Status(text) => self.out.status(line(&text)),
            ServerEvent::ToolOutput(text) => self.out.status(format!("The server's tool: {}", line(&text))),
            ServerEvent::Thinking(text) => self.out.put(Chunk::Thinking(text)),
            ServerEvent::Delta(text) => {
                self.deltas.push_str(&text);
                self.out.put(Chunk::Thinking(text));
            }
            ServerEvent::Unknown(kind, text) => {
                let text = text.map(|text| format!(": {}", line(&text))).unwrap_or_default();
                self.out.status(format!("The server sent `{}`{text}", line(&kind)));
            }
            ServerEvent::Error(text) => {
                self.error.get_or_insert(text);
            }
            ServerEvent::ToolRequest(request) => {
                self.asked_anew = true;
                self.requests.push(*request);
            }
            ServerEvent::Final(text) => {
                self.held.push(text);
                if self.state.context_id.is_some() {
                    self.flush();
                }
            }
        }
    }

    /// Notes that the body ended in the middle of an event.
    pub(super) fn break_off(&mut self) {
        self.broken = true;
    }

    /// Ends the reply.
    pub(super) fn end(mut self) -> Result<(), ProviderFailure> {
        let silent = !self.said && self.held.is_empty() && !self.asked_anew;
        if self.broken {
            let message = "the server's answer ended in the middle of an event";
            if silent && self.deltas.is_empty() && self.error.is_none() {
                return Err(ProviderFailure::new(FailureKind::Transport, message));
            }
            self.out.status(format!("Incomplete: {message}"));
        }
        if silent && !self.deltas.is_empty() {
            self.held.push(std::mem::take(&mut self.deltas));
        } else if let Some(error) = self.error.take() {
            let text = line(&error);
            if silent {
                return Err(ProviderFailure::new(FailureKind::ApiError, text));
            }
            self.out.status(format!("The server reports an error: {text}"));
        }
        let next = (!self.requests.is_empty()).then(|| self.requests.remove(0));
        self.flush();
        self.state.waiting = std::mem::take(&mut self.requests);
        // What waits is known only now.
        self.stated &= self.state.waiting.is_empty();
        self.state_once();
        if self.said {
            self.out.put(Chunk::BlockEnd);
        }
        let stop = match next {
            Some(request) => {
                self.call(request);
                StopReason::ToolUse
            }
            None if self.said => StopReason::EndTurn,
            None => StopReason::Other("the server's answer was empty".to_owned()),
        };
        self.out.put(Chunk::Done(stop));
        Ok(())
    }

    fn call(&self, request: ToolRequest) {
        if let Some(reason) = request.reason_line() {
            self.out.put(Chunk::CallReason(line(&reason)));
        }
        let ToolRequest { tool_name, payload, tool_call_id, .. } = request;
        self.out.put(Chunk::CallStart { index: 0, id: tool_call_id, name: tool_name, replay: None });
        self.out.put(Chunk::CallInput { index: 0, json: payload.to_string() });
        self.out.put(Chunk::CallEnd { index: 0 });
    }

    fn flush(&mut self) {
        if self.held.is_empty() {
            return;
        }
        self.state_once();
        for text in std::mem::take(&mut self.held) {
            let gap = if std::mem::replace(&mut self.said, true) { "\n\n" } else { "" };
            self.out.put(Chunk::Text(format!("{gap}{text}")));
        }
    }

    /// Puts out what is kept of the chat.
    fn state_once(&mut self) {
        let known = self.state.context_id.is_some() || self.state.context_signature.is_some();
        if known && !std::mem::replace(&mut self.stated, true) {
            self.out.put(Chunk::BlockEnd);
            self.out.put(Chunk::ThinkingReplay(self.state.opaque()));
            self.out.put(Chunk::BlockEnd);
        }
    }
}

fn line(text: &str) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let folded = one_line(&folded);
    let kept = prefix(&folded, MAX_LINE);
    if kept.len() < folded.len() { format!("{kept} [...]") } else { kept.to_owned() }
}
