//! Maps the end of a turn to the exit code (DECISIONS 8 and 24) and to the envelope.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use zori_contract::error::{
    AUTH_REQUIRED, CANCELLED, CREDENTIALS_EXPIRED, ErrorKind, INTERNAL_ERROR, PARTIAL_FAILURE,
    PERMISSION_DENIED, RATE_LIMITED, TERMINATED, TIMEOUT, UNAVAILABLE,
};
use zori_contract::exit::Exit;
use zori_contract::external::External;
use zori_contract::failure::{AuthMethod, Failure, Network, RetryStrategy};
use zori_contract::reply::Reply;
use zori_core::cost::Spent;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::SessionId;
use zori_core::message::{Block, Message};
use zori_core::outcome::{CancelCause, LimitKind, Outcome};
use zori_core::tool::ToolCode;
use zori_host::{TurnEnd, UndoFailure, Undone};

use crate::error::{ANSWER_UNFIT, CONTENT_BLOCKED, MODEL_REFUSED, PAYMENT_REQUIRED, PROVIDER_FAILED};

/// How long to wait before another call where the provider does not say.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Returns the code for a turn's end in the Claude protocol, which knows few of them (DECISIONS 24): 0 where its `result` is
/// no error, else 1, and the signals. `by_signal`: whether it was a signal that cancelled it, and not the client.
pub fn protocol_exit(outcome: &Outcome, by_signal: bool, is_error: bool) -> Exit {
    match outcome {
        Outcome::Cancelled(CancelCause::Terminate | CancelCause::Hangup) => Exit::Terminated,
        Outcome::Cancelled(CancelCause::User) if by_signal => Exit::Interrupted,
        Outcome::OutputClosed => Exit::General,
        _ if is_error => Exit::General,
        _ => Exit::Success,
    }
}

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

/// Returns what kind of failure a provider's is, for commands that ask one for something else than an answer.
pub fn provider_error(failure: &ProviderFailure) -> &'static ErrorKind {
    kind(of_failure(failure))
}

fn of_failure(failure: &ProviderFailure) -> Exit {
    match (failure.status, failure.kind) {
        // Servers have different statuses for it, 500 among them.
        (_, FailureKind::ContextLength | FailureKind::Malformed) => Exit::General,
        (_, FailureKind::Refused | FailureKind::Blocked) => Exit::PermissionDenied,
        (_, FailureKind::MaxTokens) => Exit::Partial,
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

/// The result of a run, for the envelope.
pub struct Report {
    session: String,
    result: String,
    effects: bool,
    spent: Spent,
    turns: u32,
    retries: u32,
    max_retries: u32,
    network: Network,
    steps: Steps,
    /// Whether the session is kept, so that it can be gone on with.
    saved: bool,
    /// What to do about a key that was refused.
    auth: Option<AuthAdvice>,
    pid_file: Option<PathBuf>,
    failure: TurnFailure,
    /// The answer by a schema.
    structured: Value,
    /// What was put back after a failure; null unless that was asked for.
    rollback: Value,
}

/// The calls of a run, by what became of them.
#[derive(Default)]
struct Steps {
    completed: Vec<String>,
    /// Those that nobody allowed, with the reason.
    denied: Vec<(String, String)>,
    /// Those that were asked for and did not come to an end.
    pending: Vec<String>,
}

impl Steps {
    /// Adds the calls of some messages.
    fn add(&mut self, added: &[Arc<Message>]) {
        let blocks = || added.iter().flat_map(|message| &message.blocks);
        for block in blocks() {
            let Block::ToolCall(call) = block else { continue };
            let result = blocks().find_map(|block| match block {
                Block::ToolResult(result) if result.call == call.id => Some(result),
                _ => None,
            });
            let error = result.filter(|result| !result.ok).map(|result| error_of(&result.envelope));
            let name = call.name.clone();
            match error.as_ref().map(|error| error.code.as_str()) {
                _ if result.is_none() => self.pending.push(name),
                Some(code) if code == ToolCode::Canceled.as_str() => self.pending.push(name),
                Some(code) if code == ToolCode::PermissionDenied.as_str() => {
                    self.denied.push((name, error.map(|error| error.message).unwrap_or_default()));
                }
                _ => self.completed.push(name),
            }
        }
    }
}

/// What the envelope of a call that failed says.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CallError {
    code: String,
    message: String,
}

fn error_of(envelope: &RawValue) -> CallError {
    #[derive(Deserialize)]
    struct Failed {
        error: CallError,
    }
    serde_json::from_str::<Failed>(envelope.get()).map(|failed| failed.error).unwrap_or_default()
}

/// What to do about a key that was refused.
pub struct AuthAdvice {
    /// Every way to another one.
    pub methods: Vec<AuthMethod>,
    /// The command that stores one, or logs in again.
    pub command: String,
    /// The variable that holds one.
    pub variable: &'static str,
    /// Whether the login that is stored is over, and since when.
    pub expired: bool,
    pub expired_at: Option<String>,
}

/// Why the last turn failed, if it did.
enum TurnFailure {
    /// It did not fail, or the exit code says everything.
    None,
    Message(String),
    /// Because the provider failed, after so many retries.
    Provider(ProviderFailure, u32),
    /// Because no answer fits the schema.
    Unfit(String),
}

impl Report {
    /// Makes an empty report. `saved`: whether the session is kept; `max_retries`: how often one request may be sent again;
    /// `network`: how requests go out.
    pub fn new(session: &SessionId, saved: bool, max_retries: u32, network: Network) -> Self {
        let session = session.as_str().to_owned();
        Self {
            session,
            result: String::new(),
            effects: false,
            spent: Spent::NOTHING,
            turns: 0,
            retries: 0,
            max_retries,
            network,
            steps: Steps::default(),
            saved,
            auth: None,
            pid_file: None,
            failure: TurnFailure::None,
            structured: Value::Null,
            rollback: Value::Null,
        }
    }

    /// Says what became of the files that the run had changed.
    pub fn set_rollback(&mut self, undone: &Result<Undone, UndoFailure>) {
        let files = undone.as_ref().ok().and_then(|undone| undone.files.as_ref());
        let restored: Vec<_> =
            files.iter().flat_map(|files| &files.restored).map(|file| file.path.to_string_lossy()).collect();
        let kept: Vec<_> =
            files.iter().flat_map(|files| &files.kept).map(|file| file.path.to_string_lossy()).collect();
        let error = undone.as_ref().err().map(ToString::to_string);
        self.rollback = json!({"restored": restored, "kept": kept, "error": error});
    }

    /// Says what to do about a key that was refused.
    pub fn set_auth(&mut self, advice: AuthAdvice) {
        self.auth = Some(advice);
    }

    /// Returns what a later call with the same key is told.
    pub fn kept(&self) -> Value {
        serde_json::to_value(self.data(Exit::Success)).unwrap_or(Value::Null)
    }

    /// Returns the call that shows all of a session that is kept.
    fn whole(&self, program: &str) -> Option<String> {
        self.saved.then(|| format!("{program} sessions export {} --output plain", self.session))
    }

    /// Sets the answer that fits the schema.
    pub fn set_structured(&mut self, value: &RawValue) {
        self.structured = serde_json::from_str(value.get()).unwrap_or_default();
    }

    /// Says that no answer fits the schema.
    pub fn set_unfit(&mut self, why: String) {
        self.failure = TurnFailure::Unfit(why);
    }

    /// Returns whether a tool that changes something has run.
    pub fn changed_something(&self) -> bool {
        self.effects
    }

    /// Adds a turn and its messages.
    pub fn add_turn(&mut self, end: &TurnEnd, added: &[Arc<Message>]) {
        let summary = &end.summary;
        self.steps.add(added);
        self.result = summary.text.to_string();
        self.effects |= summary.effects;
        self.spent += Spent { usage: summary.usage, cost: summary.cost };
        self.turns += summary.requests;
        self.retries += summary.retries;
        self.failure = match &summary.outcome {
            Outcome::Failed(failure) => TurnFailure::Provider(failure.clone(), summary.retries),
            Outcome::NotSaved(why) => TurnFailure::Message(why.clone()),
            Outcome::Limit(kind) => {
                TurnFailure::Message(end.error.clone().unwrap_or_else(|| kind.as_str().to_owned()))
            }
            Outcome::Completed(_) | Outcome::Cancelled(_) | Outcome::OutputClosed => TurnFailure::None,
        };
    }

    /// Sets the file that listed the processes of the run.
    pub fn set_pid_file(&mut self, file: Option<PathBuf>) {
        self.pid_file = file;
    }

    /// Returns the envelope's content for a run that ended with this code. `program` is our own name.
    pub fn reply(self, exit: Exit, program: &str) -> Result<Reply, Failure> {
        let mut meta = Vec::new();
        if self.retries > 0 {
            meta.push(("retries", json!(self.retries)));
        }
        if let Some(file) = &self.pid_file {
            meta.push(("session_pid_file", json!(file.to_string_lossy())));
        }
        if exit == Exit::Success {
            let mut reply = Reply::one(self.data(exit));
            reply.whole = self.whole(program);
            return Ok(meta.into_iter().fold(reply, |reply, (name, value)| reply.meta(name, value)));
        }
        let kind = match &self.failure {
            TurnFailure::Provider(failure, _) if exit == Exit::PermissionDenied => refusal(failure.kind),
            TurnFailure::Unfit(_) if exit == Exit::General => &ANSWER_UNFIT,
            TurnFailure::Provider(failure, _) if exit == Exit::AuthRequired && self.is_expired(failure) => {
                &CREDENTIALS_EXPIRED
            }
            _ => kind(exit),
        };
        let message = match &self.failure {
            TurnFailure::None => kind.about.to_lowercase().trim_end_matches('.').to_owned(),
            TurnFailure::Message(words) | TurnFailure::Unfit(words) => words.clone(),
            TurnFailure::Provider(failure, _) => failure.message.clone(),
        };
        let data = serde_json::to_value(self.data(exit)).unwrap_or(Value::Null);
        let mut failure = Failure::new(kind, message).field("resume_token", &self.session).with_data(data);
        failure.facts.whole = self.whole(program);
        failure = match exit {
            Exit::Interrupted => failure.field("signal", "SIGINT"),
            Exit::Terminated => failure.field("reason", "CANCELLED").field("signal", "SIGTERM"),
            Exit::AuthRequired => self.with_auth_advice(failure),
            _ => failure,
        };
        if let TurnFailure::Provider(why, retries) = &self.failure {
            failure = self.with_retry_advice(failure, why, *retries);
        }
        Err(meta.into_iter().fold(failure, |failure, (name, value)| failure.meta(name, value)))
    }

    /// Returns whether what was refused was good once: a login whose time is over, or a key of which the provider says so.
    fn is_expired(&self, why: &ProviderFailure) -> bool {
        let says = |text: &str| text.to_lowercase().contains("expired");
        self.auth.as_ref().is_some_and(|auth| auth.expired)
            || says(&why.message)
            || why.details.as_deref().is_some_and(says)
    }

    /// Adds every way to another key.
    fn with_auth_advice(&self, failure: Failure) -> Failure {
        let Some(auth) = &self.auth else { return failure };
        let expired = failure.kind == &CREDENTIALS_EXPIRED;
        let failure = failure
            .field("reason", if expired { "TOKEN_EXPIRED" } else { "INVALID_CREDENTIALS" })
            .field("expired", expired)
            .field("auth_methods", &auth.methods)
            .field("reauth_command", &auth.command)
            .field("reauth_env_var", auth.variable);
        let failure = match expired {
            true => failure
                .field("expires_at", &auth.expired_at)
                .field("expired_at", &auth.expired_at)
                .field("refresh_command", &auth.command),
            false => failure,
        };
        auth.methods.iter().fold(failure, |failure, method| failure.hint(method.hint.clone()))
    }

    /// Adds how the provider could not be reached, and whether another call makes sense.
    fn with_retry_advice(&self, mut failure: Failure, why: &ProviderFailure, retries: u32) -> Failure {
        if why.status.is_none() && matches!(why.kind, FailureKind::Timeout | FailureKind::Transport) {
            failure = failure.network(&self.network);
        }
        let transient = failure.kind.exit.retryable();
        if transient && retries > 0 {
            failure = failure.retries_exhausted(retries, self.max_retries);
        } else if transient {
            let wait = why.retry_after.unwrap_or(DEFAULT_RETRY_AFTER);
            failure.facts.retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            failure.facts.retry_strategy = Some(RetryStrategy::ExponentialBackoff);
        }
        failure
    }

    fn data(&self, exit: Exit) -> External<Value> {
        let usage = self.spent.usage;
        let Steps { completed, denied, pending } = &self.steps;
        let denied: Vec<_> =
            denied.iter().map(|(step, reason)| json!({"step": step, "reason": reason})).collect();
        let stopped = matches!(exit, Exit::Interrupted | Exit::Terminated | Exit::Timeout);
        let failed = match &self.failure {
            TurnFailure::Provider(..) => Some("model"),
            _ if stopped => Some(pending.first().map_or("model", String::as_str)),
            _ => None,
        };
        let partial = exit == Exit::Partial || stopped || (exit != Exit::Success && self.effects);
        External(json!({
            "session_id": self.session,
            "result": self.result,
            "effect": if self.effects { "updated" } else { "noop" },
            "usage": {"input_tokens": usage.input, "output_tokens": usage.output,
                      "cache_read_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
            "cost_usd": self.spent.cost.map(|cost| cost.0 as f64 / 1_000_000.0),
            "num_turns": self.turns,
            "completed_steps": completed,
            "partial": partial,
            "failed_step": failed,
            "pending_steps": pending,
            "skipped_steps": [],
            "denied_steps": denied,
            "resume_from": self.saved.then_some(&self.session),
            "structured_output": self.structured,
            "rollback": self.rollback,
        }))
    }
}

/// Returns why nobody wanted to answer.
fn refusal(kind: FailureKind) -> &'static ErrorKind {
    match kind {
        FailureKind::Refused => &MODEL_REFUSED,
        FailureKind::Blocked => &CONTENT_BLOCKED,
        _ => &PERMISSION_DENIED,
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
        // DECISIONS 45, whatever status the provider had for it.
        use FailureKind::{Blocked, Malformed, MaxTokens, Refused};
        for status in [None, Some(400)] {
            let got = [Refused, Blocked, Malformed, MaxTokens].map(|kind| code(status, kind));
            assert_eq!(got, [(7, 3), (7, 3), (1, 3), (3, 3)]);
        }
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
