//! The flags, as tables. Parsing, help, manifest, completions and the reference page walk them.

use zori_contract::flag::Flag;
use zori_contract::kind::{Kind, Pattern};
use zori_core::cost::MicroUsd;
use zori_core::ids::SessionId;

use crate::network;

/// What a session is called (DECISIONS 28).
pub const SESSION: Pattern = Pattern {
    name: "session_id",
    regex: "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$",
    fits: |text| SessionId::parse(text).is_ok(),
};

/// The flags of the commands that take a prompt; before the command they belong to it, too (`args/rewrite.rs`).
pub const PROMPT: &[Flag] = &[
    Flag::valued("prompt", "TEXT", Kind::Text, "The prompt; `-` reads it from standard input").short('p'),
    Flag::valued("image", "FILE", Kind::Text, "Show the model an image with the prompt; may be repeated")
        .many(),
    Flag::valued(
        "record",
        "FILE",
        Kind::Text,
        "Write what goes to and comes from the provider to a new file",
    )
    .rare(),
    Flag::valued(
        "replay",
        "FILE",
        Kind::Text,
        "Run a recording again, offline and without a key; tools really run",
    )
    .rare(),
    Flag::switch("replay-lenient", "Go on where a replay differs from its recording").rare(),
    TRUST_WORKSPACE,
    Flag::valued(
        "heartbeat-interval",
        "SECONDS",
        Kind::Int { min: 0, max: 86_400 },
        "Say on standard error every so often that it is still at work; 0: never",
    )
    .rare(),
];

/// `--protocol-version`: which dialect of the Claude protocol is spoken.
pub const PROTOCOL_VERSION: Flag = Flag::valued(
    "protocol-version",
    "VERSION",
    Kind::Choice(&["1", "yume", "flat", "2", "claude", "sdk"]),
    "The dialect: 1 (yume, flat) for GUIs, 2 (claude, sdk) for SDKs",
)
.rare();

/// `--trust-workspace`, for the commands that run a model.
pub const TRUST_WORKSPACE: Flag =
    Flag::switch("trust-workspace", "Trust this folder's own settings for this run, and list them").rare();

/// `--policy`, for the commands about one.
pub const POLICY: Flag =
    Flag::valued("policy", "FILE", Kind::Path, "A policy file, in place of this machine's settings");

/// `--profile`, which of a policy file's.
pub const PROFILE: Flag =
    Flag::valued("profile", "NAME", Kind::Text, "The profile of the policy file; the only one needs no name");

/// The flags every command takes, before and after its name (CLI-1), beside those of every command line.
pub const GLOBAL: &[Flag] = &[
    Flag::valued("root", "DIR", Kind::Text, "Working directory of the tools").aliases(&["cwd"]).default("."),
    Flag::valued("model", "MODEL", Kind::Text, "The model, or `provider:model`"),
    Flag::valued("provider", "NAME", Kind::Text, "Who serves the model"),
    Flag::valued("session", "ID", Kind::Id(SESSION), "Go on with this session, or start one of this name"),
    Flag::switch("no-save", "Save no session"),
    Flag::valued(
        "system-prompt",
        "TEXT",
        Kind::Text,
        "Replace the configured system prompt; empty clears it",
    )
    .rare(),
    Flag::valued(
        "permission-mode",
        "MODE",
        Kind::Text,
        "What runs without a question: yolo, acceptEdits, default, paranoid, plan, dontAsk, deny",
    )
    .aliases(&["security-mode"])
    .rare(),
    Flag::valued(
        "sandbox",
        "LEVEL",
        Kind::Choice(&["workspace", "read-only", "off"]),
        "What commands may write, held by a sandbox: workspace, read-only; off: no sandbox",
    )
    .rare(),
    Flag::valued("allow", "RULES", Kind::Text, "Let these calls run, such as `Bash(git diff:*)`")
        .aliases(&["allowedTools", "allowed-tools"])
        .many()
        .rare(),
    Flag::valued("ask", "RULES", Kind::Text, "Ask about these calls in every mode").many().rare(),
    Flag::valued("deny", "RULES", Kind::Text, "Never let these calls run")
        .aliases(&["disallowedTools", "disallowed-tools"])
        .many()
        .rare(),
    Flag::switch("yes", "Answer every question with yes; what is denied stays denied")
        .short('y')
        .aliases(&["auto"])
        .rare(),
    Flag::valued("config", "FILE", Kind::Text, "Read the settings from this file")
        .check(|value| match std::path::Path::new(value).is_file() {
            true => Ok(()),
            false => Err(format!("`--config` takes a file, and `{value}` is none")),
        })
        .excludes("no-config")
        .rare(),
    Flag::switch("no-config", "Read no settings; what the administrator and the project forbid holds").rare(),
    Flag::switch("bare", "Start nothing in the background; with `--json`, standard input is commands").rare(),
    Flag::switch("quiet", "Print nothing on standard error").short('q').rare(),
    Flag::valued("retries", "N", Kind::Int { min: 0, max: 20 }, "How often a failed request is tried again")
        .rare(),
    Flag::valued(
        "retry-delay",
        "MS",
        Kind::Int { min: 0, max: 60_000 },
        "The first wait before that, in milliseconds",
    )
    .rare(),
    Flag::valued(
        "connect-timeout",
        "DURATION",
        Kind::Duration,
        "How long a connection may take; 0: for ever",
    )
    .rare(),
    Flag::valued("proxy", "URL", Kind::Url, "Send every request through this proxy, whatever variables say")
        .check(network::check_proxy)
        .excludes("no-proxy")
        .rare(),
    Flag::switch("no-proxy", "Send every request straight to its host, whatever variables say").rare(),
    Flag::valued(
        "thinking",
        "LEVEL",
        Kind::Choice(&["off", "low", "medium", "high", "max"]),
        "How much the model thinks: off, low, medium, high, max",
    )
    .rare(),
    Flag::valued("max-turns", "N", FROM_ONE, "Ask the model at most N times for one prompt").rare(),
    Flag::valued("max-budget-usd", "USD", Kind::Text, "Stop when the run has cost that much")
        .aliases(&["max-cost"])
        .check(|value| match dollars(value) {
            Some(_) => Ok(()),
            None => Err(format!("`--max-budget-usd` takes an amount of dollars such as 0.50, not `{value}`")),
        })
        .rare(),
    Flag::valued(
        "max-tokens-total",
        "N",
        FROM_ONE,
        "Stop when the run has used that many tokens, read and written",
    )
    .rare(),
    // It chooses the tables, so it is read before them (`profile.rs`).
    Flag::valued("as", "NAME", Kind::Text, "Behave as the program of this name: zori, zdx, zeph, yume-cli")
        .rare(),
];

const FROM_ONE: Kind = Kind::Int { min: 1, max: i64::MAX };

/// Reads an amount of dollars.
pub fn dollars(text: &str) -> Option<MicroUsd> {
    text.parse().ok().and_then(MicroUsd::from_dollars)
}

/// Takes rules apart: commas and blanks separate them, except between brackets.
pub fn rules(text: &str) -> Vec<String> {
    let mut rules = vec![String::new()];
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' if depth == 0 => {
                rules.push(String::new());
                continue;
            }
            _ => {}
        }
        rules.last_mut().expect("there is always one").push(c);
    }
    rules.retain(|rule| !rule.is_empty());
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_separated_outside_brackets() {
        assert_eq!(rules("Bash(git log:*) Edit, Read(a, b)"), ["Bash(git log:*)", "Edit", "Read(a, b)"]);
        assert_eq!(rules("Bash(echo (x))"), ["Bash(echo (x))"]);
        assert_eq!(rules(" , "), [""; 0]);
    }
}
