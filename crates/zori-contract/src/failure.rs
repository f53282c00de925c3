//! What went wrong in one run: a kind from the registry, a sentence, and the facts a caller can act on.
//!
//! Constructors for the usual situations, with the fields each of them owes a caller, are in `failure/situations.rs`.
//! What it looks like on the wire is here, too: [`Failure::detail`] is the only place that writes `error`.

mod situations;

pub use situations::{AuthMethod, Network};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::error::{ErrorKind, VALIDATION_ERROR};
use crate::exit::{Exit, SideEffects};
use crate::redact;
use crate::warning::Warning;

/// A run that did not do what was asked.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind of failure.
    pub kind: &'static ErrorKind,
    /// What is wrong: a sentence that names the offending value.
    pub message: String,
    /// When it happened.
    pub phase: Phase,
    /// What a caller can act on.
    pub facts: Box<Facts>,
}

/// What a caller can act on. Apart from the failure, so that handing one up costs little.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What there is to say all the same: the resource that exists already, the steps that were done.
    pub data: Option<Value>,
    /// The same in words for people: a report that is worth reading although it is bad news.
    pub text: Option<String>,
    /// What to do about it, one line each.
    pub hints: Vec<String>,
    /// Whether the same call may work later, where this run knows it better than the registry.
    pub retryable: Option<bool>,
    /// How long to wait before the same call makes sense.
    pub retry_after_ms: Option<u64>,
    /// How to space out several attempts.
    pub retry_strategy: Option<RetryStrategy>,
    /// What has to be put right, where this run knows it better than the registry.
    pub fix_required: Option<String>,
    /// The command that puts it right, with the program's name.
    pub fix_command: Option<String>,
    /// Further fields, by situation.
    pub fields: Map<String, Value>,
    /// Further facts for `meta`.
    pub meta: Map<String, Value>,
    /// What else a caller should know.
    pub warnings: Vec<Warning>,
    /// The call that shows what is cut off this answer, where the same call again would not.
    pub whole: Option<String>,
}

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing has been touched.
    Validation,
    /// At work.
    Execution,
    /// The work is done or given up; what it left is being tidied away.
    Cleanup,
}

/// How to space out attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryStrategy {
    /// At once.
    Immediate,
    /// The same wait each time.
    LinearBackoff,
    /// A longer wait each time.
    ExponentialBackoff,
}

/// One problem of one argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// The argument, as in the manifest: without dashes.
    pub field: String,
    /// The argument as it is typed.
    pub param: String,
    /// What kind of problem.
    pub code: IssueCode,
    /// A sentence about it.
    pub message: String,
    /// What was given; `null` when nothing was.
    pub value: Option<String>,
    /// What may have been meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Which pattern of doubtful input it matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected_pattern: Option<&'static str>,
    /// The value without that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected_input: Option<String>,
}

/// What kind of problem an argument has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueCode {
    /// Two arguments contradict each other.
    ConflictingArguments,
    /// It looks made up: a placeholder, a path out of its folder.
    InvalidAgentInput,
    /// It is not UTF-8.
    InvalidUtf8,
    /// Its value is not of its kind.
    InvalidValue,
    /// It must be there and is not.
    MissingArgument,
    /// It takes a value and has none.
    MissingValue,
    /// It is there more than once.
    RepeatedArgument,
    /// There are more arguments than the command takes.
    UnexpectedArgument,
    /// It takes no value and has one.
    UnexpectedValue,
    /// There is no such flag, or the command does not take it.
    UnknownArgument,
    /// A problem that has a kind of its own in the registry.
    Kind(&'static ErrorKind),
}

impl IssueCode {
    /// Returns the code as programs read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConflictingArguments => "CONFLICTING_ARGUMENTS",
            Self::InvalidAgentInput => "INVALID_AGENT_INPUT",
            Self::InvalidUtf8 => "INVALID_UTF8",
            Self::InvalidValue => "INVALID_VALUE",
            Self::MissingArgument => "MISSING_ARGUMENT",
            Self::MissingValue => "MISSING_VALUE",
            Self::RepeatedArgument => "REPEATED_ARGUMENT",
            Self::UnexpectedArgument => "UNEXPECTED_ARGUMENT",
            Self::UnexpectedValue => "UNEXPECTED_VALUE",
            Self::UnknownArgument => "UNKNOWN_ARGUMENT",
            Self::Kind(kind) => kind.code,
        }
    }
}

impl Serialize for IssueCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Issue {
    /// A problem of the argument `param`, which is typed as `--name` or `NAME`.
    pub fn new(param: &str, code: IssueCode, message: impl Into<String>) -> Self {
        let field = param.trim_start_matches('-').to_lowercase();
        Self {
            field,
            param: param.to_owned(),
            code,
            message: message.into(),
            value: None,
            suggestion: None,
            rejected_pattern: None,
            corrected_input: None,
        }
    }

    /// Adds what was given, without the password of an address.
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(redact::address(&value.into()));
        self
    }

    /// Adds what may have been meant.
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}

impl Failure {
    /// A failure at work.
    pub fn new(kind: &'static ErrorKind, message: impl Into<String>) -> Self {
        let early = matches!(kind.exit, Exit::Usage | Exit::Redirected);
        let phase = if early { Phase::Validation } else { Phase::Execution };
        Self { kind, message: message.into(), phase, facts: Box::default() }
    }

    /// All problems of a command line at once. One that has a kind of its own and stands alone keeps that kind.
    pub fn invalid(issues: Vec<Issue>) -> Self {
        let kind = match issues.as_slice() {
            [Issue { code: IssueCode::Kind(kind), .. }] if kind.exit == Exit::Usage => *kind,
            _ => &VALIDATION_ERROR,
        };
        let message = match issues.as_slice() {
            [one] => one.message.clone(),
            many => {
                let all: Vec<_> = many.iter().map(|issue| issue.message.as_str()).collect();
                format!("{} arguments cannot be used: {}", many.len(), all.join("; "))
            }
        };
        let mut failure = Self::new(kind, message);
        let missing: Vec<_> = issues
            .iter()
            .filter(|issue| issue.code == IssueCode::MissingArgument)
            .map(|issue| &issue.param)
            .collect();
        if !missing.is_empty() {
            failure.facts.fields.insert("missing_args".into(), json!(missing));
        }
        if let Some(issue) = issues.iter().find(|issue| issue.rejected_pattern.is_some()) {
            failure = failure
                .field("reason", "INVALID_AGENT_INPUT")
                .field("field", &issue.field)
                .field("input", &issue.value)
                .field("input_value", &issue.value)
                .field("rejected_pattern", issue.rejected_pattern);
        }
        if let Some(corrected) = issues.iter().find_map(|issue| issue.corrected_input.as_ref()) {
            failure = failure.field("corrected_input", corrected);
        }
        for issue in &issues {
            failure.facts.hints.extend(issue.suggestion.clone());
        }
        failure.field("errors", &issues)
    }

    /// Adds a way out.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.facts.hints.push(hint.into());
        self
    }

    /// Adds a field for programs.
    ///
    /// # Panics
    ///
    /// When the value cannot be JSON, such as a map with keys that are no text.
    pub fn field(mut self, name: &str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).expect("the facts of a failure are plain values");
        self.facts.fields.insert(name.to_owned(), value);
        self
    }

    /// Adds a fact to `error.context`.
    pub fn context(mut self, name: &str, value: impl Into<Value>) -> Self {
        let context = self.facts.fields.entry("context").or_insert_with(|| json!({}));
        context[name] = value.into();
        self
    }

    /// Adds a fact to `meta`.
    pub fn meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.meta.insert(name.to_owned(), value.into());
        self
    }

    /// Adds what there is to say all the same.
    pub fn with_data(mut self, data: Value) -> Self {
        self.facts.data = Some(data);
        self
    }

    /// Adds the words for people to what there is to say.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.facts.text = Some(text.into());
        self
    }

    /// Says that it failed while tidying away.
    pub fn in_phase(mut self, phase: Phase) -> Self {
        self.phase = phase;
        self
    }

    /// Returns the `error` object. `entry` is what the command's exit map says of the code.
    pub(crate) fn detail(&self, program: &str, entry: crate::exit::ExitEntry) -> Value {
        let known = self.facts.retryable.or(self.kind.retryable).unwrap_or(entry.retryable);
        let retryable = known && entry.side_effects == SideEffects::None;
        let mut error = self.facts.fields.clone();
        let mut put = |name: &str, value: Value| {
            error.insert(name.to_owned(), value);
        };
        put("code", json!(self.kind.code));
        put("message", json!(sentence(&self.message)));
        put("phase", json!(self.phase));
        put("exit_code", json!(self.kind.exit.code()));
        put("retryable", json!(retryable));
        if retryable {
            if let Some(wait) = self.facts.retry_after_ms {
                put("retry_after_ms", json!(wait));
            }
            if let Some(strategy) = self.facts.retry_strategy {
                put("retry_strategy", json!(strategy));
            }
        } else {
            if let Some(fix) = self.facts.fix_required.as_deref().or(self.kind.fix_required) {
                put("fix_required", json!(fix));
            }
            let registered = || self.kind.fix_command.map(|command| format!("{program} {command}"));
            if let Some(command) = self.facts.fix_command.clone().or_else(registered) {
                put("fix_command", json!(command));
            }
        }
        if !self.facts.hints.is_empty() {
            let hint = self.facts.hints.join("; ");
            put("suggestion", json!(hint));
            put("hint", json!(hint));
        }
        Value::Object(error)
    }
}

/// Makes a sentence of a message: a capital, and an end. A literal keeps its first letter.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    let mut text: String = match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => return String::new(),
    };
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error;
    use crate::exit::Danger;

    fn detail(failure: &Failure) -> Value {
        failure.detail("notes", failure.kind.exit.entry(Danger::Mutating))
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let issues = vec![
            Issue::new("--limit", IssueCode::InvalidValue, "`--limit` takes a whole number, not `x`")
                .value("x"),
            Issue::new("ID", IssueCode::MissingArgument, "`ID` is missing"),
        ];
        assert_eq!(
            detail(&Failure::invalid(issues)),
            json!({
                "code": "VALIDATION_ERROR",
                "message": "2 arguments cannot be used: `--limit` takes a whole number, not `x`; `ID` is missing.",
                "phase": "validation",
                "exit_code": 2,
                "retryable": false,
                "fix_required": "Correct what `error.errors` lists.",
                "missing_args": ["ID"],
                "errors": [
                    {"field": "limit", "param": "--limit", "code": "INVALID_VALUE",
                     "message": "`--limit` takes a whole number, not `x`", "value": "x"},
                    {"field": "id", "param": "ID", "code": "MISSING_ARGUMENT", "message": "`ID` is missing", "value": null},
                ],
            })
        );
    }

    /// The recovery ladder: wait, or mend, or give up, and never two of them.
    #[test]
    fn a_way_back_is_one_of_three() {
        let mut waiting = Failure::new(&error::RATE_LIMITED, "wait");
        waiting.facts.retry_after_ms = Some(1_500);
        waiting.facts.retry_strategy = Some(RetryStrategy::ExponentialBackoff);
        waiting.facts.fix_required = Some("never shown".into());
        assert_eq!(
            detail(&waiting),
            json!({"code": "RATE_LIMITED", "message": "Wait.", "phase": "execution", "exit_code": 11,
                   "retryable": true, "retry_after_ms": 1_500, "retry_strategy": "exponential_backoff"})
        );
        let mut mend = Failure::new(&error::UNKNOWN_COMMAND, "there is no command `x`");
        mend.facts.retry_after_ms = Some(1);
        assert_eq!(
            detail(&mend),
            json!({"code": "UNKNOWN_COMMAND", "message": "There is no command `x`.", "phase": "validation",
                   "exit_code": 2, "retryable": false, "fix_required": "Call a command that exists.",
                   "fix_command": "notes manifest"})
        );
        let terminal = Failure::new(&error::INTERNAL_ERROR, "a defect!").in_phase(Phase::Cleanup);
        assert_eq!(
            detail(&terminal),
            json!({"code": "INTERNAL_ERROR", "message": "A defect!", "phase": "cleanup", "exit_code": 1,
                   "retryable": false})
        );
    }
}
