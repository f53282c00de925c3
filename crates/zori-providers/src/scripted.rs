//! A provider that plays a conversation file instead of asking a model, and checks the requests.
//!
//! `zori demo` plays one for people, the engine's and the front ends' tests play others. The format is described
//! in `fixtures/scripts/README.md` and read by `script`; `play` turns one step into a stream.

mod play;
mod script;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use zori_core::BoxFuture;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{ChunkStream, Provider, Request};

use self::script::{Piece, Step};

pub use self::script::ScriptError;

pub const NAME: &str = "scripted";

/// How fast text arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At once; pauses in the script are left out.
    Instant,
    /// Word by word with this much time between, and with the script's pauses.
    PerWord(Duration),
}

/// Plays a script, one step per request.
#[derive(Debug)]
pub struct ScriptedProvider {
    steps: Vec<Step>,
    next: AtomicUsize,
    pace: Pace,
    /// What is answered when the steps are over.
    closing: Option<Step>,
}

impl ScriptedProvider {
    /// Reads a script: one JSON object per line.
    pub fn parse(text: &str, pace: Pace) -> Result<Self, ScriptError> {
        Ok(Self { steps: script::parse(text)?, next: AtomicUsize::new(0), pace, closing: None })
    }

    /// Answers with these words whatever is asked when the steps are over; else that is a failure.
    pub fn with_closing(mut self, words: &str) -> Self {
        let line = serde_json::json!({"reply": [{"text": words}]}).to_string();
        self.closing = script::parse(&line).expect("a reply of text is a step").pop();
        self
    }

    /// Returns how many steps have not been played.
    pub fn remaining(&self) -> usize {
        self.steps.len().saturating_sub(self.next.load(Ordering::Relaxed))
    }

    fn answer(&self, request: &Request<'_>) -> Result<ChunkStream, ProviderFailure> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let step = self.steps.get(at).or(self.closing.as_ref()).ok_or_else(|| {
            let count = self.steps.len();
            mismatch(format!("the script has {count} steps, and this is request {}", at + 1))
        })?;
        step.expect
            .check(request)
            .map_err(|problem| mismatch(format!("script line {}: {problem}", step.line)))?;
        match step.reply.first() {
            Some(Piece::Error(error)) => Err(error.failure()),
            _ => Ok(Box::pin(play::StepStream::new(step, request.model, self.pace))),
        }
    }
}

impl Provider for ScriptedProvider {
    fn name(&self) -> &str {
        NAME
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        Box::pin(std::future::ready(self.answer(request)))
    }
}

fn mismatch(message: String) -> ProviderFailure {
    ProviderFailure::new(FailureKind::Internal, message)
}

#[cfg(test)]
mod tests;
