//! The flags, as tables. Parsing, help, manifest, completions and the reference page walk them.

use zori_contract::flag::{Flag, Positional};
use zori_contract::kind::{Kind, Pattern};
use zori_core::cost::MicroUsd;
use zori_core::ids::SessionId;

use crate::network;

/// What a session is called (DECISIONS 28).
pub const SESSION_NAME: Pattern = Pattern {
    name: "session_id",
    regex: "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$",
    fits: |text| SessionId::parse(text).is_ok(),
};

/// What a model is called: names of vendors, files and resources, and nothing that looks made up.
const MODEL_NAME: Pattern = Pattern {
    name: "model_name",
    regex: "^[^\\s<>{}$`|;]{1,300}$",
    fits: |text| {
        (1..=300).contains(&text.len())
            && !text.contains(|c: char| c.is_whitespace() || "<>{}$`|;".contains(c))
    },
};

pub const PROMPT: Flag =
    Flag::valued("prompt", "TEXT", Kind::Text, "The prompt; `-` reads it from standard input").short('p');
/// `--goal`, of `handoff`.
pub const GOAL: Flag = Flag::valued("goal", "TEXT", Kind::Text, "What is to be done next").required();
pub const IMAGE: Flag =
    Flag::valued("image", "FILE", Kind::Text, "Show the model an image with the prompt; may be repeated")
        .many();
pub const SCHEDULED: Flag = Flag::valued(
    "scheduled",
    "JOB",
    Kind::Text,
    "Note that this job of `schedule` sends the prompt, and nobody typed it",
)
.max_length(200)
.rare();
pub const RECORD: Flag = Flag::valued(
    "record",
    "FILE",
    Kind::Text,
    "Write what goes to and comes from the provider and HTTP MCP servers to a new file",
)
.rare();
pub const DEBUG_DUMP: Flag = Flag::switch(
    "debug-dump",
    "Write every request, response and tool result to `.local/debug` of the project, without secrets",
)
.rare();
pub const REPLAY: Flag = Flag::valued(
    "replay",
    "FILE",
    Kind::Text,
    "Run a recording again, offline and without a key; tools really run",
)
.rare();
pub const REPLAY_LENIENT: Flag =
    Flag::switch("replay-lenient", "Go on where a replay differs from its recording").rare();
pub const PLAIN: Flag =
    Flag::switch("plain", "Chat line by line, without a screen: for screen readers and simple terminals");
pub const HEARTBEAT_INTERVAL: Flag = Flag::valued(
    "heartbeat-interval",
    "SECONDS",
    Kind::Int { min: 0, max: 86_400 },
    "Say on standard error every so often that it is still at work; 0: never",
)
.rare();

pub const CONTINUE: Flag =
    Flag::switch("continue", "Go on with the newest session of this folder").short('c').excludes(&RESUME);
pub const RESUME: Flag = Flag::valued(
    "resume",
    "ID",
    Kind::Text,
    "Go on with this session, by its name or the first letters; at a terminal without ID: choose one",
)
.short('r');
pub const FORK_SESSION: Flag =
    Flag::switch("fork-session", "With `--resume` or `--continue`: go on in a copy").rare();

/// The flags of the commands that take a prompt; they may stand before it, too (`Program::ahead`).
pub const WITH_PROMPT: &[Flag] = &[
    PROMPT,
    IMAGE,
    SCHEDULED,
    CONTINUE,
    RESUME,
    FORK_SESSION,
    RECORD,
    DEBUG_DUMP,
    REPLAY,
    REPLAY_LENIENT,
    TRUST_WORKSPACE,
    HEARTBEAT_INTERVAL,
    ROLLBACK_ON_FAILURE,
    MCP_CONFIG,
    STRICT_MCP_CONFIG,
];

pub const ROLLBACK_ON_FAILURE: Flag =
    Flag::switch("rollback-on-failure", "Put the files back that the run has changed, if it fails").rare();

pub const ANY: Flag = Flag::switch("any", "Take the newest session of all folders, not of this one");

/// The flags of the command that goes on with a session by itself.
pub const RESUMING: &[Flag] = &[
    PROMPT,
    IMAGE,
    ANY,
    RECORD,
    DEBUG_DUMP,
    REPLAY,
    REPLAY_LENIENT,
    TRUST_WORKSPACE,
    HEARTBEAT_INTERVAL,
    PLAIN,
    MCP_CONFIG,
    STRICT_MCP_CONFIG,
];

/// The same with those of the chat alone, for the call without a command.
pub const WITH_CHAT: &[Flag] = &[
    PROMPT,
    IMAGE,
    CONTINUE,
    RESUME,
    FORK_SESSION,
    RECORD,
    DEBUG_DUMP,
    REPLAY,
    REPLAY_LENIENT,
    TRUST_WORKSPACE,
    HEARTBEAT_INTERVAL,
    PLAIN,
    MCP_CONFIG,
    STRICT_MCP_CONFIG,
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

pub const MCP_CONFIG: Flag = Flag::valued(
    "mcp-config",
    "JSON",
    Kind::Text,
    "MCP servers, as JSON or in a file, as `.mcp.json` has them; may be repeated",
)
.many()
.rare();
pub const STRICT_MCP_CONFIG: Flag =
    Flag::switch("strict-mcp-config", "Use no MCP servers but those of `--mcp-config`").rare();

/// `--api-base`, for GUIs.
pub const API_BASE: Flag =
    Flag::valued("api-base", "URL", Kind::Text, "Where the provider's API is, for this run");

/// `--history-file`, for GUIs.
pub const HISTORY_FILE: Flag = Flag::valued(
    "history-file",
    "FILE",
    Kind::Text,
    "Begin with this conversation: a JSON array of messages with `role` and `content`",
)
.rare();

/// `--keep`, for the demo.
pub const KEEP: Flag = Flag::switch("keep", "Keep the scratch folder and say where it is");

/// The session to go on with, as an argument.
pub const ID: Positional = Positional::optional(
    "ID",
    Kind::Id(SESSION_NAME),
    "The session; the latest of this folder needs no name",
);

/// The prompt as an argument; a lone `-` waits for standard input.
pub const DASH: Positional = Positional::optional(
    "PROMPT",
    Kind::Text,
    "The prompt; `-` waits for standard input, however long it takes",
);

/// What a chat begins with.
pub const FIRST_PROMPT: Positional = Positional::optional("PROMPT", Kind::Text, "The first prompt");

/// `--policy`, for the commands about one.
pub const POLICY: Flag =
    Flag::valued("policy", "FILE", Kind::Path, "A policy file, in place of this machine's settings");

/// `--profile`, which of a policy file's.
pub const PROFILE: Flag =
    Flag::valued("profile", "NAME", Kind::Text, "The profile of the policy file; the only one needs no name");

pub const ROOT: Flag =
    Flag::valued("root", "DIR", Kind::Text, "Working directory of the tools").aliases(&["cwd"]).default(".");
pub const MODEL: Flag =
    Flag::valued("model", "MODEL", Kind::Name(MODEL_NAME), "The model, or `provider:model`");
pub const PROVIDER: Flag = Flag::valued("provider", "NAME", Kind::Text, "Who serves the model");
pub const SESSION: Flag = Flag::valued(
    "session",
    "ID",
    Kind::Id(SESSION_NAME),
    "Go on with this session, or start one of this name",
);
pub const NO_SAVE: Flag = Flag::switch("no-save", "Save no session");
pub const NO_CHECKPOINTS: Flag =
    Flag::switch("no-checkpoints", "Capture nothing of what calls change; undo is off").rare();
pub const SYSTEM_PROMPT: Flag = Flag::valued(
    "system-prompt",
    "TEXT",
    Kind::Text,
    "Replace the configured system prompt; empty clears it",
)
.rare();
pub const PERMISSION_MODE: Flag = Flag::valued(
    "permission-mode",
    "MODE",
    Kind::Text,
    "What runs without a question: yolo, acceptEdits, default, paranoid, plan, dontAsk, deny",
)
.aliases(&["security-mode"])
.rare();
pub const SANDBOX: Flag = Flag::valued(
    "sandbox",
    "LEVEL",
    Kind::Choice(&["workspace", "read-only", "off"]),
    "What commands may write, held by a sandbox: workspace, read-only; off: no sandbox",
)
.rare();
pub const ALLOW: Flag =
    Flag::valued("allow", "RULES", Kind::Text, "Let these calls run, such as `Bash(git diff:*)`")
        .aliases(&["allowedTools", "allowed-tools"])
        .many()
        .rare();
pub const ASK: Flag =
    Flag::valued("ask", "RULES", Kind::Text, "Ask about these calls in every mode").many().rare();
pub const DENY: Flag = Flag::valued("deny", "RULES", Kind::Text, "Never let these calls run")
    .aliases(&["disallowedTools", "disallowed-tools"])
    .many()
    .rare();
pub const YES: Flag = Flag::switch("yes", "Answer every question with yes; what is denied stays denied")
    .short('y')
    .aliases(&["auto"])
    .rare();
pub const CONFIG: Flag = Flag::valued("config", "FILE", Kind::Text, "Read the settings from this file")
    .check(|value| match std::path::Path::new(value).is_file() {
        true => Ok(()),
        false => Err(format!("`--config` takes a file, and `{value}` is none")),
    })
    .excludes(&NO_CONFIG)
    .rare();
pub const NO_CONFIG: Flag =
    Flag::switch("no-config", "Read no settings; what the administrator and the project forbid holds").rare();
pub const VAULT: Flag = Flag::valued(
    "vault",
    "DIR",
    Kind::Path,
    "The folder of the vault; without it `ZORI_VAULT`, then the base directory",
)
.rare();
pub const BARE: Flag =
    Flag::switch("bare", "Start nothing in the background; with `--json`, standard input is commands").rare();
pub const QUIET: Flag = Flag::switch("quiet", "Print nothing on standard error").short('q').rare();
pub const RETRIES: Flag =
    Flag::valued("retries", "N", Kind::Int { min: 0, max: 20 }, "How often a failed request is tried again")
        .rare();
pub const RETRY_DELAY: Flag = Flag::valued(
    "retry-delay",
    "MS",
    Kind::Int { min: 0, max: 60_000 },
    "The first wait before that, in milliseconds",
)
.rare();
pub const CONNECT_TIMEOUT: Flag = Flag::valued(
    "connect-timeout",
    "DURATION",
    Kind::Duration,
    "How long a connection may take; 0: for ever",
)
.rare();
pub const PROXY: Flag =
    Flag::valued("proxy", "URL", Kind::Url, "Send every request through this proxy, whatever variables say")
        .check(network::check_proxy)
        .excludes(&NO_PROXY)
        .rare();
pub const NO_PROXY: Flag =
    Flag::switch("no-proxy", "Send every request straight to its host, whatever variables say").rare();
pub const THINKING: Flag = Flag::valued(
    "thinking",
    "LEVEL",
    Kind::Choice(&["off", "low", "medium", "high", "max"]),
    "How much the model thinks: off, low, medium, high, max",
)
.rare();
pub const MAX_TURNS: Flag =
    Flag::valued("max-turns", "N", FROM_ONE, "Ask the model at most N times for one prompt").rare();
pub const MAX_BUDGET_USD: Flag =
    Flag::valued("max-budget-usd", "USD", Kind::Text, "Stop when the run has cost that much")
        .aliases(&["max-cost"])
        .check(|value| match dollars(value) {
            Some(_) => Ok(()),
            None => Err(format!("`--max-budget-usd` takes an amount of dollars such as 0.50, not `{value}`")),
        })
        .rare();
pub const MAX_TOKENS_TOTAL: Flag = Flag::valued(
    "max-tokens-total",
    "N",
    FROM_ONE,
    "Stop when the run has used that many tokens, read and written",
)
.rare();
/// `--show-config`.
// It takes the place of the command, so it is read before the tables (`show_config.rs`).
pub const SHOW_CONFIG: Flag =
    Flag::switch("show-config", "Print the settings that hold and where each comes from, and do nothing")
        .rare();
/// `--as`.
// It chooses the tables, so it is read before them (`profile.rs`).
pub const AS: Flag = Flag::valued(
    "as",
    "NAME",
    Kind::Text,
    "Behave as the program of this name: zori, zdx, zeph, yume-cli, a0",
)
.rare();

/// The flags every command takes, before and after its name (CLI-1), beside those of every command line.
pub const GLOBAL: &[Flag] = &[
    ROOT,
    MODEL,
    PROVIDER,
    SESSION,
    NO_SAVE,
    NO_CHECKPOINTS,
    SYSTEM_PROMPT,
    PERMISSION_MODE,
    SANDBOX,
    ALLOW,
    ASK,
    DENY,
    YES,
    CONFIG,
    NO_CONFIG,
    VAULT,
    BARE,
    QUIET,
    RETRIES,
    RETRY_DELAY,
    CONNECT_TIMEOUT,
    PROXY,
    NO_PROXY,
    THINKING,
    MAX_TURNS,
    MAX_BUDGET_USD,
    MAX_TOKENS_TOTAL,
    SHOW_CONFIG,
    AS,
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
