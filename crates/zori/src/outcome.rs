//! From the end of a turn to the exit code (DECISIONS 8 and 24), and to the envelope for those who asked for one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use zori_contract::error::{
    AUTH_REQUIRED, CANCELLED, ErrorKind, INTERNAL_ERROR, PARTIAL_FAILURE, PERMISSION_DENIED, RATE_LIMITED,
    TERMINATED, TIMEOUT, UNAVAILABLE,
};
use zori_contract::exit::Exit;
use zori_contract::external::External;
use zori_contract::failure::{Failure, Network, RetryStrategy};
use zori_contract::reply::Reply;
use zori_core::cost::Spent;
use zori_core::event::TurnSummary;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::SessionId;
use zori_core::message::{Block, Message};
use zori_core::outcome::{CancelCause, LimitKind, Outcome};

use crate::error::{PAYMENT_REQUIRED, PROVIDER_FAILED};

/// How long to wait before another call where the provider does not say.
const ANOTHER_CALL: Duration = Duration::from_secs(1);

/// Returns the code for a turn's end. `effects`: a tool that changes something has run.
pub fn exit(outcome: &Outcome, effects: bool) -> Exit {
    match outcome {
        Outcome::Completed(_) => Exit::Success,
        Outcome::Cancelled(CancelCause::User) => Exit::Interrupted,
        // After a hang-up nobody is left to read the code; the process dies of the signal itself.
        Outcome::Cancelled(CancelCause::Terminate | CancelCause::Hangup) => Exit::Terminated,
        Outcome::Cancelled(CancelCause::Deadline) => Exit::Timeout,
        // A hook did not let the prompt pass, so that nothing was done.
        Outcome::Limit(LimitKind::Prompt) => Exit::Usage,
        Outcome::Limit(_) => Exit::Partial,
        // A replay that has left its recording, whatever its tools did.
        Outcome::Failed(failure) if failure.kind == FailureKind::Replay => Exit::General,
        Outcome::Failed(_) if effects => Exit::Partial,
        Outcome::Failed(failure) => of_failure(failure),
        Outcome::NotSaved(_) if effects => Exit::Partial,
        Outcome::OutputClosed | Outcome::NotSaved(_) => Exit::General,
    }
}

fn of_failure(failure: &ProviderFailure) -> Exit {
    match (failure.status, failure.kind) {
        // Servers have different statuses for it, 500 among them.
        (_, FailureKind::ContextLength) => Exit::General,
        (Some(401), _) | (None, FailureKind::Auth) => Exit::AuthRequired,
        (Some(402), _) => Exit::PaymentRequired,
        (Some(403), _) => Exit::PermissionDenied,
        (Some(429), _) => Exit::RateLimited,
        (Some(408 | 500..=599), _) => Exit::Unavailable,
        (Some(_), _) => Exit::General,
        (None, FailureKind::Timeout | FailureKind::Transport) => Exit::Unavailable,
        (None, _) => Exit::General,
    }
}

/// What came of a run, for programs.
pub struct Report {
    session: String,
    result: String,
    effects: bool,
    spent: Spent,
    turns: u32,
    retries: u32,
    max_retries: u32,
    way: Network,
    steps: Vec<String>,
    pid_file: Option<PathBuf>,
    why: Why,
}

/// Why the last turn failed, if it did.
enum Why {
    /// It did not, or there is nothing more to say of it.
    Nothing,
    /// Because of what these words say.
    Words(String),
    /// Because the provider failed, after so many retries.
    Provider(ProviderFailure, u32),
}

impl Report {
    /// Begins with nothing. `max_retries`: how often one request may be sent again; `way`: how requests go out.
    pub fn new(session: &SessionId, max_retries: u32, way: Network) -> Self {
        let session = session.as_str().to_owned();
        Self {
            session,
            result: String::new(),
            effects: false,
            spent: Spent::NOTHING,
            turns: 0,
            retries: 0,
            max_retries,
            way,
            steps: Vec::new(),
            pid_file: None,
            why: Why::Nothing,
        }
    }

    /// Takes a turn down, with the messages it added.
    pub fn turn(&mut self, summary: &TurnSummary, added: &[Arc<Message>]) {
        for block in added.iter().flat_map(|message| &message.blocks) {
            if let Block::ToolCall(call) = block {
                self.steps.push(call.name.clone());
            }
        }
        self.result = summary.text.to_string();
        self.effects |= summary.effects;
        self.spent += Spent { usage: summary.usage, cost: summary.cost };
        self.turns += summary.requests;
        self.retries += summary.retries;
        self.why = match &summary.outcome {
            Outcome::Failed(failure) => Why::Provider(failure.clone(), summary.retries),
            Outcome::NotSaved(why) => Why::Words(why.clone()),
            Outcome::Limit(kind) => Why::Words(format!("a limit was reached: {kind:?}").to_lowercase()),
            Outcome::Completed(_) | Outcome::Cancelled(_) | Outcome::OutputClosed => Why::Nothing,
        };
    }

    /// Takes down which file named the processes of the run while they lived.
    pub fn pids(&mut self, file: Option<PathBuf>) {
        self.pid_file = file;
    }

    /// Returns the answer to a run that ended so.
    pub fn reply(self, exit: Exit) -> Result<Reply, Failure> {
        let mut meta = Vec::new();
        if self.retries > 0 {
            meta.push(("retries", json!(self.retries)));
        }
        if let Some(file) = &self.pid_file {
            meta.push(("session_pid_file", json!(file.to_string_lossy())));
        }
        if exit == Exit::Success {
            let reply = Reply::one(self.data());
            return Ok(meta.into_iter().fold(reply, |reply, (name, value)| reply.meta(name, value)));
        }
        let kind = kind(exit);
        let message = match &self.why {
            Why::Nothing => kind.about.to_lowercase().trim_end_matches('.').to_owned(),
            Why::Words(words) => words.clone(),
            Why::Provider(failure, _) => failure.message.clone(),
        };
        let data = serde_json::to_value(self.data()).unwrap_or(Value::Null);
        let mut failure = Failure::new(kind, message).field("resume_token", &self.session).with_data(data);
        if let Why::Provider(why, retries) = &self.why {
            failure = self.reached(failure, why, *retries);
        }
        Err(meta.into_iter().fold(failure, |failure, (name, value)| failure.meta(name, value)))
    }

    /// Adds how the provider could not be reached, and whether another call makes sense.
    fn reached(&self, mut failure: Failure, why: &ProviderFailure, retries: u32) -> Failure {
        if why.status.is_none() && matches!(why.kind, FailureKind::Timeout | FailureKind::Transport) {
            failure = failure.network(&self.way);
        }
        let transient = failure.kind.exit.retryable();
        if transient && retries > 0 {
            failure = failure.retries_exhausted(retries, self.max_retries);
        } else if transient {
            let wait = why.retry_after.unwrap_or(ANOTHER_CALL);
            failure.facts.retry_after_ms = Some(wait.as_millis() as u64);
            failure.facts.retry_strategy = Some(RetryStrategy::ExponentialBackoff);
        }
        failure
    }

    fn data(&self) -> External<Value> {
        let usage = self.spent.usage;
        External(json!({
            "session_id": self.session,
            "result": self.result,
            "effect": if self.effects { "updated" } else { "noop" },
            "usage": {"input_tokens": usage.input, "output_tokens": usage.output,
                      "cache_read_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
            "cost_usd": self.spent.cost.map(|cost| cost.0 as f64 / 1_000_000.0),
            "num_turns": self.turns,
            "completed_steps": self.steps,
        }))
    }
}

/// Returns what kind of failure an exit code of a run stands for.
fn kind(exit: Exit) -> &'static ErrorKind {
    match exit {
        Exit::Partial => &PARTIAL_FAILURE,
        Exit::PermissionDenied => &PERMISSION_DENIED,
        Exit::AuthRequired => &AUTH_REQUIRED,
        Exit::PaymentRequired => &PAYMENT_REQUIRED,
        Exit::Timeout => &TIMEOUT,
        Exit::RateLimited => &RATE_LIMITED,
        Exit::Unavailable => &UNAVAILABLE,
        Exit::Interrupted => &CANCELLED,
        Exit::Terminated => &TERMINATED,
        Exit::General => &PROVIDER_FAILED,
        Exit::Success
        | Exit::Usage
        | Exit::Precondition
        | Exit::NotFound
        | Exit::Conflict
        | Exit::Redirected => &INTERNAL_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_failures() {
        let code = |status, kind| {
            let failure = ProviderFailure { status, ..ProviderFailure::new(kind, "x") };
            let plain = exit(&Outcome::Failed(failure.clone()), false).code();
            (plain, exit(&Outcome::Failed(failure), true).code())
        };
        let http = |status| code(Some(status), FailureKind::HttpStatus);
        let got = [400, 401, 402, 403, 404, 408, 413, 429, 500, 503, 529].map(|status| http(status).0);
        assert_eq!(got, [1, 8, 9, 7, 1, 12, 1, 11, 12, 12, 12]);
        assert_eq!(http(429).1, 3, "after an effect it is a partial failure");
        use FailureKind::{ApiError, Auth, Internal, Parse, Timeout, Transport};
        let got = [Timeout, Transport, Auth, Parse, ApiError, Internal].map(|kind| code(None, kind).0);
        assert_eq!(got, [12, 12, 8, 1, 1, 1]);
        assert_eq!(code(Some(500), FailureKind::ContextLength), (1, 3));
    }

    /// DECISIONS 24: a limit is always 3 and the end of the time always 10, whatever has happened.
    #[test]
    fn what_was_used_up() {
        for effects in [false, true] {
            use LimitKind::{Budget, Denials, Hook, Tokens, Turns};
            for kind in [Turns, Budget, Tokens, Denials, Hook] {
                assert_eq!(exit(&Outcome::Limit(kind), effects).code(), 3);
            }
            assert_eq!(exit(&Outcome::Limit(LimitKind::Prompt), effects).code(), 2);
            assert_eq!(exit(&Outcome::Cancelled(CancelCause::Deadline), effects).code(), 10);
        }
    }
}
