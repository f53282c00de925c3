//! The usual situations, each with the fields it owes a caller. Adding one: a function here, a line in the test.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Failure, RetryStrategy};
use crate::error;
use crate::exit::Danger;
use crate::lock::LockHolder;
use crate::path::AbsPath;
use crate::redact;

/// One way to provide a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuthMethod {
    /// `env`, `file`, `command`.
    pub r#type: &'static str,
    /// The variable, the file or the command.
    pub name: String,
    /// How it is used, in one line.
    pub hint: String,
    /// What it is.
    pub description: String,
}

/// How a request went out that did not come back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Network {
    /// Where to. A user and password in it are taken out.
    pub url: String,
    /// What came back.
    pub status_code: Option<u16>,
    /// The proxy in between.
    pub proxy_used: Option<String>,
    /// Where the proxy was set.
    pub proxy_source: Option<String>,
    /// What goes around it.
    pub no_proxy: Option<String>,
    /// Whether certificates are checked.
    pub ssl_verify: bool,
    /// A command that looks into it.
    pub suggestion: String,
}

impl Failure {
    /// What was named does not exist.
    pub fn not_found(what: &str, name: &str) -> Self {
        Self::new(&error::NOT_FOUND, format!("there is no {what} `{name}`"))
            .field("resource", what)
            .field("id", name)
    }

    /// It exists already; `existing` is what there is.
    pub fn already_exists(what: &str, id: &str, existing: Value) -> Self {
        Self::new(&error::ALREADY_EXISTS, format!("{what} `{id}` exists already and is left alone"))
            .field("conflict_id", id)
            .with_data(existing)
    }

    /// A question would have to be asked, and nobody is there; `flag` answers it.
    pub fn input_required(question: &str, flag: &str) -> Self {
        Self::new(&error::INPUT_REQUIRED, format!("nobody is there to answer: {question}"))
            .hint(format!("answer with `{flag}`"))
    }

    /// A conversation without a terminal; `instead` is what works without one.
    pub fn terminal_required(command: &str, instead: &str) -> Self {
        Self::new(&error::REPL_MODE_PROHIBITED, format!("`{command}` needs a terminal"))
            .field("reason", "INTERACTIVE_REQUIRED")
            .hint(format!("without a terminal: `{instead}`"))
    }

    /// An editor would have to open; the flags say it without one.
    pub fn editor_required(alternatives: &[(&str, &str)]) -> Self {
        let listed: Vec<_> =
            alternatives.iter().map(|(flag, about)| json!({"flag": flag, "description": about})).collect();
        let names: Vec<_> = alternatives.iter().map(|(flag, _)| format!("`{flag}`")).collect();
        Self::new(&error::EDITOR_REQUIRED, "an editor cannot be opened here")
            .field("alternatives", listed)
            .hint(format!("use {}", names.join(" or ")))
    }

    /// The program has to be set up first.
    pub fn init_required(steps: &[&str]) -> Self {
        Self::new(&error::INIT_REQUIRED, "the program is not set up yet").field("next_steps", steps)
    }

    /// Something would be destroyed and nobody agreed.
    pub fn confirmation_required(command: &str, danger: Danger, would_affect: Value) -> Self {
        Self::new(
            &error::CONFIRMATION_REQUIRED,
            format!("`{command}` has to be confirmed, and nobody agreed"),
        )
        .field("would_affect", would_affect)
        .field("danger_level", danger)
        .hint("add `--confirm-destructive`, or look first with `--dry-run`")
    }

    /// Another process holds the lock.
    pub fn lock_held(lock_file: &AbsPath, held: &LockHolder) -> Self {
        let holder = held.pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
        let mut failure = Self::new(&error::LOCK_HELD, format!("{holder} holds the lock {lock_file}"))
            .context("lock_file", lock_file.to_string())
            .context("holder_pid", held.pid)
            .context("holder_age_ms", held.age_ms);
        failure.facts.retry_after_ms = Some(1_000);
        failure.facts.retry_strategy = Some(RetryStrategy::LinearBackoff);
        failure
    }

    /// No credential; the methods are the ways to provide one.
    pub fn auth_required(service: &str, methods: &[AuthMethod], reauth_command: Option<&str>) -> Self {
        let variable =
            methods.iter().find(|method| method.r#type == "env").map(|method| method.name.as_str());
        let mut failure = Self::new(&error::AUTH_REQUIRED, format!("there is no credential for {service}"))
            .field("reason", "UNAUTHENTICATED")
            .field("auth_methods", methods)
            .field("reauth_command", reauth_command)
            .field("reauth_env_var", variable);
        failure.facts.hints.extend(methods.iter().map(|method| method.hint.clone()));
        failure
    }

    /// A credential that is no longer valid, since `expired_at` (ISO 8601).
    pub fn credentials_expired(
        service: &str,
        expired_at: Option<&str>,
        refresh_command: Option<&str>,
    ) -> Self {
        let mut failure =
            Self::new(&error::CREDENTIALS_EXPIRED, format!("the credential for {service} has expired"))
                .field("reason", "TOKEN_EXPIRED")
                .field("expired", true)
                .field("expires_at", expired_at)
                .field("expired_at", expired_at)
                .field("refresh_command", refresh_command)
                .field("reauth_command", refresh_command);
        failure.facts.fix_command = refresh_command.map(str::to_owned);
        failure
    }

    /// A valid credential that does not allow this.
    pub fn denied(message: impl Into<String>, required_permission: &str) -> Self {
        Self::new(&error::PERMISSION_DENIED, message).field("required_permission", required_permission)
    }

    /// Adds how a request went out.
    pub fn network(self, network: &Network) -> Self {
        let safe = Network { url: redact::address(&network.url), ..network.clone() };
        self.field("network_context", safe).hint(network.suggestion.clone())
    }

    /// It was tried again this often, of at most so many times, and failed each time: whoever calls again at once does
    /// nothing new.
    pub fn retries_exhausted(self, retries: u32, max: u32) -> Self {
        let mut failure = self.field("retries_exhausted", retries).field("max_retries", max);
        failure.facts.retryable = Some(false);
        failure
    }

    /// The command has another name.
    pub fn renamed(old: &str, replacement: &str) -> Self {
        Self::new(&error::COMMAND_RENAMED, format!("`{old}` is called `{replacement}`"))
            .field("redirect", json!({"command": replacement, "permanent": true, "reason": "renamed"}))
    }

    /// A link that leads back to itself.
    pub fn symlink_loop(path: &AbsPath, target: &AbsPath, done: usize) -> Self {
        Self::new(&error::SYMLINK_LOOP, format!("the link {path} leads back to {target}"))
            .field("path", path.to_string())
            .field("loop_target", target.to_string())
            .field("completed_count", done)
            .hint("remove the link, or add `--no-follow-symlinks`")
    }

    /// Folders nested more deeply than `max`.
    pub fn depth_exceeded(path: &AbsPath, max: usize, done: usize) -> Self {
        Self::new(&error::DEPTH_EXCEEDED, format!("{path} is nested more than {max} folders deep"))
            .field("path", path.to_string())
            .field("max_depth", max)
            .field("completed_count", done)
            .hint("raise `--max-depth`")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn detail(failure: &Failure) -> Value {
        failure.detail("notes", failure.kind.exit.entry(Danger::Mutating))
    }

    fn path(text: &str) -> AbsPath {
        AbsPath::new(Path::new(text)).unwrap()
    }

    #[test]
    fn a_held_lock_can_be_waited_for() {
        let held = LockHolder { pid: Some(7), age_ms: Some(1_200) };
        assert_eq!(
            detail(&Failure::lock_held(&path("/b/.lock"), &held)),
            json!({"code": "LOCK_HELD", "message": "Process 7 holds the lock /b/.lock.", "phase": "execution",
                   "exit_code": 4, "retryable": true, "retry_after_ms": 1_000, "retry_strategy": "linear_backoff",
                   "context": {"lock_file": "/b/.lock", "holder_pid": 7, "holder_age_ms": 1_200}})
        );
    }

    #[test]
    fn a_missing_credential_names_every_way_in() {
        let method = AuthMethod {
            r#type: "env",
            name: "NOTES_KEY".into(),
            hint: "set `NOTES_KEY`".into(),
            description: "the key of the service".into(),
        };
        assert_eq!(
            detail(&Failure::auth_required("the service", &[method], None)),
            json!({"code": "AUTH_REQUIRED", "message": "There is no credential for the service.",
                   "phase": "execution", "exit_code": 8, "retryable": false, "reason": "UNAUTHENTICATED",
                   "fix_required": "Provide one by one of `error.auth_methods`.",
                   "auth_methods": [{"type": "env", "name": "NOTES_KEY", "hint": "set `NOTES_KEY`",
                                     "description": "the key of the service"}],
                   "reauth_command": null, "reauth_env_var": "NOTES_KEY",
                   "suggestion": "set `NOTES_KEY`", "hint": "set `NOTES_KEY`"})
        );
    }

    #[test]
    fn an_address_loses_its_password() {
        let network = Network {
            url: "https://me:secret@example.org/a@b".into(),
            status_code: Some(503),
            proxy_used: None,
            proxy_source: None,
            no_proxy: None,
            ssl_verify: true,
            suggestion: "notes doctor".into(),
        };
        let failure =
            Failure::new(&error::UNAVAILABLE, "no answer").network(&network).retries_exhausted(3, 4);
        assert_eq!(
            detail(&failure),
            json!({"code": "UNAVAILABLE", "message": "No answer.", "phase": "execution", "exit_code": 12,
                   "retryable": false, "retries_exhausted": 3, "max_retries": 4,
                   "suggestion": "notes doctor", "hint": "notes doctor",
                   "network_context": {"url": "https://[REDACTED]@example.org/a@b", "status_code": 503,
                       "proxy_used": null, "proxy_source": null, "no_proxy": null, "ssl_verify": true,
                       "suggestion": "notes doctor"}})
        );
    }

    #[test]
    fn the_others_name_what_they_owe() {
        let fields = |failure: Failure| {
            let mut names: Vec<_> = failure.facts.fields.keys().cloned().collect();
            names.sort();
            names.join(" ")
        };
        let (a, b) = (path("/a"), path("/b"));
        assert_eq!(fields(Failure::not_found("note", "x")), "id resource");
        assert_eq!(fields(Failure::already_exists("note", "x", json!({}))), "conflict_id");
        assert_eq!(fields(Failure::terminal_required("chat", "exec")), "reason");
        assert_eq!(fields(Failure::editor_required(&[("--text", "the text")])), "alternatives");
        assert_eq!(fields(Failure::init_required(&["notes init"])), "next_steps");
        assert_eq!(
            fields(Failure::credentials_expired("it", None, None)),
            "expired expired_at expires_at reason reauth_command refresh_command"
        );
        assert_eq!(fields(Failure::denied("no", "write")), "required_permission");
        assert_eq!(fields(Failure::renamed("ls", "notes list")), "redirect");
        assert_eq!(fields(Failure::symlink_loop(&a, &b, 1)), "completed_count loop_target path");
        assert_eq!(fields(Failure::depth_exceeded(&a, 1, 1)), "completed_count max_depth path");
    }
}
