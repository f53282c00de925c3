//! The command line of Claude Code, as its SDKs write it (`docs/contracts/claude-protocol.md`): the flags, as a table,
//! and the words that mean something else there.
//!
//! Both SDKs call the program without a command. Most of their flags work for people and scripts, too; [`PROTOCOL_ONLY`] are
//! refused without `--output-format`. Those that change nothing here are a table of their own, `args/without_effect.rs`.

use zori_contract::flag::Flag;
use zori_contract::kind::Kind;

use super::flags::{PROTOCOL_VERSION, SESSION_NAME, WITH_PROMPT};
use super::without_effect::WITHOUT_EFFECT;

/// The flags by which a call says what it reads or writes as Claude Code does.
pub const SPOKEN: &[Flag] = &[OUTPUT_FORMAT, INPUT_FORMAT, PROTOCOL_VERSION];

/// The heading of these flags in the help.
const HEADING: &str = "Options of Claude Code";

pub const OUTPUT_FORMAT: Flag = Flag::valued(
    "output-format",
    "FORMAT",
    Kind::Choice(&["text", "json", "stream-json"]),
    "Answer as Claude Code does: text, json (the result), stream-json (the Claude protocol)",
)
.rare();
pub const INPUT_FORMAT: Flag = Flag::valued(
    "input-format",
    "FORMAT",
    Kind::Choice(&["text", "stream-json"]),
    "What standard input is, beside `--output-format`: text, stream-json (the Claude protocol)",
)
.rare();
pub const APPEND_SYSTEM_PROMPT: Flag =
    Flag::valued("append-system-prompt", "TEXT", Kind::Text, "Say this behind the system prompt").rare();
pub const SYSTEM_PROMPT_FILE: Flag =
    Flag::valued("system-prompt-file", "FILE", Kind::Text, "Read the system prompt from a file").rare();
pub const TOOLS: Flag =
    Flag::valued("tools", "NAMES", Kind::Text, "Offer only these tools; empty: none, default: all").rare();
pub const PERMISSION_PROMPT_TOOL: Flag = Flag::valued(
    "permission-prompt-tool",
    "NAME",
    Kind::Text,
    "Who is asked: stdio (the program that reads), or a tool of its MCP servers, mcp__SERVER__TOOL",
)
.rare();
pub const ALLOW_DANGEROUSLY_SKIP_PERMISSIONS: Flag =
    Flag::switch("allow-dangerously-skip-permissions", "Permit the mode bypassPermissions later on").rare();
pub const DANGEROUSLY_SKIP_PERMISSIONS: Flag =
    Flag::switch("dangerously-skip-permissions", "Start in the mode bypassPermissions").rare();
pub const SESSION_ID: Flag =
    Flag::valued("session-id", "ID", Kind::Id(SESSION_NAME), "What the new session is called").rare();
pub const NO_SESSION_PERSISTENCE: Flag = Flag::switch("no-session-persistence", "Save no session").rare();
pub const INCLUDE_PARTIAL_MESSAGES: Flag =
    Flag::switch("include-partial-messages", "Tell messages in pieces, too").rare();
pub const REPLAY_USER_MESSAGES: Flag =
    Flag::switch("replay-user-messages", "Repeat each prompt when its turn begins").rare();
pub const ADD_DIR: Flag =
    Flag::valued("add-dir", "DIR", Kind::Text, "One more folder to work in; may be repeated").many().rare();
pub const JSON_SCHEMA: Flag =
    Flag::valued("json-schema", "JSON", Kind::Json, "What the answer has to look like, as a JSON Schema")
        .rare();
pub const MAX_THINKING_TOKENS: Flag = Flag::valued(
    "max-thinking-tokens",
    "N",
    Kind::Int { min: 0, max: i64::MAX },
    "How much the model may think",
)
.rare();
pub const EFFORT: Flag = Flag::valued(
    "effort",
    "LEVEL",
    Kind::Choice(&["low", "medium", "high", "xhigh", "max"]),
    "How much the model thinks: low, medium, high, xhigh, max",
)
.rare();
pub const RESUME_SESSION_AT: Flag = Flag::valued(
    "resume-session-at",
    "UUID",
    Kind::Text,
    "With `--resume`: only up to this message of the model",
)
.rare();
pub const FALLBACK_MODEL: Flag = Flag::valued(
    "fallback-model",
    "MODEL",
    Kind::Text,
    "What a turn goes on with when the model is overloaded",
)
.rare();
pub const AGENTS: Flag =
    Flag::valued("agents", "JSON", Kind::Text, "Sub-agents, by name: description, prompt, tools, model")
        .rare();
pub const SETTING_SOURCES: Flag = Flag::valued(
    "setting-sources",
    "NAMES",
    Kind::Text,
    "Whose files describe sub-agents: user, project; AGENTS.md and the config count always",
)
.rare();
pub const SETTINGS: Flag = Flag::valued(
    "settings",
    "JSON",
    Kind::Text,
    "Claude Code's settings, as JSON or in a file: permissions, env, model, hooks",
)
.rare();
pub const INCLUDE_HOOK_EVENTS: Flag =
    Flag::switch("include-hook-events", "Tell when hooks begin and end").rare();

/// The flags that `exec` takes for the Claude protocol.
pub const FLAGS: &[Flag] = &[
    PROTOCOL_VERSION,
    OUTPUT_FORMAT,
    INPUT_FORMAT,
    APPEND_SYSTEM_PROMPT,
    SYSTEM_PROMPT_FILE,
    TOOLS,
    PERMISSION_PROMPT_TOOL,
    ALLOW_DANGEROUSLY_SKIP_PERMISSIONS,
    DANGEROUSLY_SKIP_PERMISSIONS,
    SESSION_ID,
    NO_SESSION_PERSISTENCE,
    INCLUDE_PARTIAL_MESSAGES,
    REPLAY_USER_MESSAGES,
    ADD_DIR,
    JSON_SCHEMA,
    MAX_THINKING_TOKENS,
    EFFORT,
    RESUME_SESSION_AT,
    FALLBACK_MODEL,
    AGENTS,
    SETTING_SOURCES,
    SETTINGS,
    INCLUDE_HOOK_EVENTS,
];

/// Flags that mean something only beside `--output-format`: they shape its lines, or name who reads them.
pub const PROTOCOL_ONLY: &[Flag] = &[
    PERMISSION_PROMPT_TOOL,
    ALLOW_DANGEROUSLY_SKIP_PERMISSIONS,
    INCLUDE_PARTIAL_MESSAGES,
    REPLAY_USER_MESSAGES,
    RESUME_SESSION_AT,
    INCLUDE_HOOK_EVENTS,
];

const COUNT: usize = WITH_PROMPT.len() + FLAGS.len() + WITHOUT_EFFECT.len();

/// All flags of `exec`.
pub const EXEC: &[Flag] = &joined();

const fn joined() -> [Flag; COUNT] {
    let mut all = [WITH_PROMPT[0]; COUNT];
    let mut at = 0;
    while at < COUNT {
        let (prompt, flags) = (WITH_PROMPT.len(), FLAGS.len());
        all[at] = if at < prompt {
            WITH_PROMPT[at]
        } else if at < prompt + flags {
            FLAGS[at - prompt].below(HEADING)
        } else {
            WITHOUT_EFFECT[at - prompt - flags].flag
        };
        at += 1;
    }
    all
}

/// Whose files count, where Claude Code would not look at them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The user's.
    pub user: bool,
    /// The project's.
    pub project: bool,
}

impl Default for Sources {
    /// All: nobody said anything.
    fn default() -> Self {
        Self { user: true, project: true }
    }
}

impl Sources {
    /// Reads the names of `--setting-sources`.
    pub fn parse(list: &str) -> Self {
        let names = |name| list.split(',').any(|word| word.trim() == name);
        Self { user: names("user"), project: names("project") || names("local") }
    }
}
