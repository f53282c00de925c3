//! The keys of the config file: what each holds, and whether a value is one it can hold.

use toml::Value;
use zori_core::cost::MicroUsd;
use zori_host::is_loopback;
use zori_providers::catalog;

use super::{agent_zero_keys, own_models};
use crate::hooks;
use crate::sandbox;

/// A key of the file.
#[derive(Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    /// What stands behind the comment sign in the file `config init` writes.
    pub example: &'static str,
    pub about: &'static str,
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A whole number in this range.
    Count(u64, u64),
    Number,
    /// An amount of dollars.
    Money,
    Flag,
    /// `"auto"`, true or false.
    Switch,
    /// Dollars for a million tokens.
    Price,
    /// Tables of [`LOGIN_KEYS`], by provider.
    Logins,
    List,
    /// A table of hooks, by event.
    Hooks,
    /// A table of keys, by action.
    Keymap,
    /// Tables of settings, by name.
    Projects,
    /// Words, or tables with a prompt, by name.
    Profiles,
}

/// The keys of `[auth.<provider>]` (AUTH-6).
pub const LOGIN_KEYS: &[&str] = &["client_id", "authorize_url", "token_url", "scopes"];

pub(super) const fn key(name: &'static str, kind: Kind, example: &'static str, about: &'static str) -> Key {
    Key { name, kind, example, about }
}

/// Every key, in the order `config init` writes them.
pub const KEYS: &[Key] = &agent_zero_keys::behind::<{ GENERAL.len() + agent_zero_keys::KEYS.len() }>(GENERAL);

/// The keys that are not one provider's own.
const GENERAL: &[Key] = &[
    key("provider", Kind::Text, "\"anthropic\"", "Who serves the model"),
    key("model", Kind::Text, "\"claude-sonnet-5-5\"", "The model"),
    key(
        "api_key",
        Kind::Text,
        "\"vault:ANTHROPIC_API_KEY\"",
        "What holds the provider's key, where the environment has none: an entry of the vault, never the key itself",
    ),
    key(
        "max_tokens",
        Kind::Count(1, u32::MAX as u64),
        "32000",
        "Upper bound of a reply; unset: the model's own limit",
    ),
    key("temperature", Kind::Number, "1.0", "Sent only if set"),
    key(
        "thinking",
        Kind::Choice(&["off", "low", "medium", "high", "max"]),
        "\"medium\"",
        "How much the model thinks; unset: as the provider has it",
    ),
    key("stream", Kind::Flag, "true", "Take replies as they are made; false: in one piece"),
    key(
        "system_prompt",
        Kind::Text,
        "\"\"",
        "What the model is told before everything else, in place of the built-in prompt; empty: nothing",
    ),
    key(
        "system_prompt_file",
        Kind::Text,
        "\"prompt.md\"",
        "The same from a file, which wins; relative to this file",
    ),
    key("anthropic_base_url", Kind::Text, "\"https://api.anthropic.com\"", "Another address for Anthropic"),
    key("openai_base_url", Kind::Text, "\"https://api.openai.com/v1\"", "Another address for OpenAI"),
    key(
        "gemini_base_url",
        Kind::Text,
        "\"https://generativelanguage.googleapis.com/v1beta\"",
        "Another address for Gemini",
    ),
    key(
        "openrouter_base_url",
        Kind::Text,
        "\"https://openrouter.ai/api/v1\"",
        "Another address for OpenRouter",
    ),
    key(
        "copilot_base_url",
        Kind::Text,
        "\"https://api.githubcopilot.com\"",
        "Another address for GitHub Copilot",
    ),
    key("groq_base_url", Kind::Text, "\"https://api.groq.com/openai/v1\"", "Another address for Groq"),
    key("xai_base_url", Kind::Text, "\"https://api.x.ai/v1\"", "Another address for xAI"),
    key("deepseek_base_url", Kind::Text, "\"https://api.deepseek.com/v1\"", "Another address for DeepSeek"),
    key("mistral_base_url", Kind::Text, "\"https://api.mistral.ai/v1\"", "Another address for Mistral"),
    key("cerebras_base_url", Kind::Text, "\"https://api.cerebras.ai/v1\"", "Another address for Cerebras"),
    key("together_base_url", Kind::Text, "\"https://api.together.xyz/v1\"", "Another address for Together"),
    key(
        "bedrock_base_url",
        Kind::Text,
        "\"https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1\"",
        "Another address for Amazon Bedrock",
    ),
    key("litellm_base_url", Kind::Text, "\"http://127.0.0.1:4000/v1\"", "Another address for LiteLLM"),
    key(
        "azure_base_url",
        Kind::Text,
        "\"https://NAME.openai.azure.com/openai/v1\"",
        "The address of your Azure OpenAI",
    ),
    key(
        "vertex_base_url",
        Kind::Text,
        "\"https://aiplatform.googleapis.com/v1/projects/NAME/locations/global/publishers/google\"",
        "The address of your Vertex AI project",
    ),
    key(
        "vertex_claude_base_url",
        Kind::Text,
        "\"https://aiplatform.googleapis.com/v1/projects/NAME/locations/global/publishers/anthropic\"",
        "The address of Claude in your Vertex AI project",
    ),
    key("ollama_base_url", Kind::Text, "\"http://127.0.0.1:11434/v1\"", "Another address for Ollama"),
    key("llamacpp_base_url", Kind::Text, "\"http://127.0.0.1:8080/v1\"", "Another address for llama.cpp"),
    key("lmstudio_base_url", Kind::Text, "\"http://127.0.0.1:1234/v1\"", "Another address for LM Studio"),
    key("vllm_base_url", Kind::Text, "\"http://127.0.0.1:8000/v1\"", "Another address for vLLM"),
    key(
        "compat_base_url",
        Kind::Text,
        "\"http://127.0.0.1:8080/v1\"",
        "Another address for any other server that speaks Chat Completions",
    ),
    key(
        "credential_helper",
        Kind::Text,
        "\"my-helper\"",
        "A program that keeps keys and logins in place of the system's credential store",
    ),
    key(
        "auth",
        Kind::Logins,
        "{ openai = { client_id = \"\", authorize_url = \"https://\", token_url = \"https://\", scopes = \"\" } }",
        "Where to log in with a client id of your own, by provider; also as a section [auth.openai]",
    ),
    key(
        "tool_calls",
        Kind::Choice(&["native", "prose"]),
        "\"prose\"",
        "How tools are offered over Chat Completions; prose: in the text, for models that know no others",
    ),
    key(
        "tool_timeout_secs",
        Kind::Count(0, 86_400),
        "120",
        "Time limit of one tool call in seconds; 0: none",
    ),
    key(
        "approval_timeout_secs",
        Kind::Count(0, 86_400),
        "0",
        "How long a client of the Claude protocol or a GUI may take to answer for a call; then it is denied. 0: no limit",
    ),
    key(
        "bash_max_output_bytes",
        Kind::Count(0, 8 << 20),
        "65536",
        "How much of each output stream of a command the model sees; 0: up to 8 MiB",
    ),
    key(
        "context_window",
        Kind::Count(256, u32::MAX as u64),
        "32768",
        "How many tokens the model takes, prompt and reply together; unset: what the catalogue says of it",
    ),
    key(
        "compact_at_percent",
        Kind::Count(0, 95),
        "80",
        "When so much of that is used, old tool outputs are left out, then old messages summarised; 0: only when asked",
    ),
    key(
        "output",
        Kind::Choice(&["json", "jsonl", "tsv", "plain", "table", "id"]),
        "\"plain\"",
        "What commands print that can; unset: text at a terminal, JSON elsewhere",
    ),
    key(
        "durability",
        Kind::Choice(&["process", "full"]),
        "\"process\"",
        "Survive the death of the process, or with \"full\" also a loss of power",
    ),
    key(
        "session.title_model",
        Kind::Text,
        "\"claude-haiku-4-5\"",
        "A model of the same provider that gives a chat its title after the first turn; unset: the first sentence is the title",
    ),
    key(
        "session.recap.provider",
        Kind::Text,
        "\"anthropic:claude-haiku-4-5\"",
        "Who sums the session up for /recap, as PROVIDER or PROVIDER:MODEL: what was said is sent there; unset: the model in use",
    ),
    key("session.recap.max_tokens", Kind::Count(64, 4096), "512", "How long a recap is at most, in tokens"),
    key("session.recap.timeout_secs", Kind::Count(1, 600), "30", "How long the model may take for it"),
    key(
        "session.recap.max_input_tokens",
        Kind::Count(1000, 1_000_000),
        "50000",
        "How much of the session it is sent; of a longer one the beginning and the end",
    ),
    key("session_required", Kind::Flag, "false", "Stop when the session cannot be saved"),
    key(
        "audit",
        Kind::Choice(&["on", "required", "off"]),
        "\"on\"",
        "Keep an audit log of decisions, calls and commands; \"required\": nothing runs that cannot be written there",
    ),
    key("retries", Kind::Count(0, 20), "4", "How often a failed request is tried again"),
    key("retry_delay_ms", Kind::Count(0, 60_000), "1000", "The first wait before that; it doubles each time"),
    key(
        "connect_timeout_ms",
        Kind::Count(0, 600_000),
        "15000",
        "How long a connection to the provider may take; 0: for ever",
    ),
    key(
        "first_byte_timeout_ms",
        Kind::Count(0, 86_400_000),
        "120000",
        "How long the provider may think before its answer begins; 0: for ever",
    ),
    key(
        "idle_timeout_ms",
        Kind::Count(0, 86_400_000),
        "300000",
        "How long a begun answer may be silent; 0: for ever",
    ),
    key(
        "ping_timeout_ms",
        Kind::Count(0, 86_400_000),
        "600000",
        "How long an answer may go on with nothing but signs of life; 0: for ever",
    ),
    key(
        "max_turns",
        Kind::Count(1, u32::MAX as u64),
        "50",
        "How often the model is asked for one prompt; unset: as often as it takes",
    ),
    key("max_budget_usd", Kind::Money, "0.50", "What a run may cost in dollars; unset: any amount"),
    key(
        "allow_unpriced",
        Kind::Flag,
        "false",
        "Use a model whose price is not known although there is a budget, which it does not count towards",
    ),
    key(
        "cost.max_daily_usd",
        Kind::Money,
        "5.00",
        "What all sessions of a day may cost together, in dollars, over all projects; unset: any amount",
    ),
    key(
        "max_tokens_total",
        Kind::Count(1, i64::MAX as u64),
        "1000000",
        "How many tokens a run may use, read and written; unset: any number",
    ),
    key(
        "subagent_depth",
        Kind::Count(0, 2),
        "1",
        "How deep sub-agents may start sub-agents; 0: the model has no tool `task`",
    ),
    key("subagent_max", Kind::Count(1, 1000), "16", "How many sub-agents one prompt may start"),
    key(
        "sandbox",
        Kind::Choice(sandbox::USES),
        "\"auto\"",
        "Commands in a sandbox: off, whatever the machine has, or required; unset: off in the mode yolo, else auto",
    ),
    key(
        "sandbox_level",
        Kind::Choice(sandbox::LEVELS),
        "\"workspace\"",
        "Where commands in a sandbox may write: the workspace, or nowhere",
    ),
    key(
        "sandbox_network",
        Kind::Choice(sandbox::NETWORKS),
        "\"off\"",
        "Whether they may use the network; one that you approved yourself always may",
    ),
    key(
        "sandbox_caches",
        Kind::List,
        "[\"~/.cargo/registry\"]",
        "Folders outside the workspace that they may write, too",
    ),
    key("cli.json", Kind::Flag, "false", "Print events where there is a model to ask, as `--json` does"),
    key("cli.bare", Kind::Flag, "false", "Start nothing in the background, as `--bare` does"),
    key("cli.auto", Kind::Flag, "false", "Answer every question about a call with yes, as `-y` does"),
    key("security.mode", Kind::Text, "\"default\"", "The permission mode; unset: yolo, which asks nothing"),
    key("security.allow_shell", Kind::Flag, "true", "Whether the model may run shell commands at all"),
    key(
        "security.whitelist",
        Kind::List,
        "[\"ls\", \"git status\"]",
        "Commands that run without a question in the mode balanced",
    ),
    key(
        "security.blacklist_patterns",
        Kind::List,
        "[\"rm -rf\", \"re:^npm publish\"]",
        "Commands that never run: words with options folded, or re: and an expression",
    ),
    key(
        "security.blacklist_off",
        Kind::List,
        "[\"power-off\"]",
        "Entries of the built-in blacklist to switch off",
    ),
    key(
        "security.child_env_deny",
        Kind::List,
        "[\"DATABASE_URL\", \"MY_*\"]",
        "Environment variables that commands do not inherit, on top of keys and, outside yolo, what looks like a secret",
    ),
    key(
        "security.child_env_allow",
        Kind::List,
        "[\"GITHUB_TOKEN\"]",
        "Environment variables that commands inherit all the same",
    ),
    key(
        "security.sensitive_paths",
        Kind::List,
        "[\"~/.config/work\", \"*.tfstate\"]",
        "Files that are not read without a question, on top of the built-in list; patterns as in Read rules",
    ),
    key(
        "security.forbid_yolo",
        Kind::Flag,
        "false",
        "No mode without questions; of use in the administrator's file /etc/zori/config.toml",
    ),
    key(
        "security.managed_allow_only",
        Kind::Flag,
        "false",
        "Only the administrator's allow rules count; of use in that file",
    ),
    key(
        "hooks",
        Kind::Hooks,
        "{ PreToolUse = [{ matcher = \"Bash\", hooks = [{ type = \"command\", command = \"my-check\", timeout = 60 }] }] }",
        "Programs that are told what happens and may object, as in Claude Code; also as [[hooks.PreToolUse]]",
    ),
    key("undo.checkpoints", Kind::Flag, "true", "Capture what calls change, so that it can be put back"),
    key("undo.required", Kind::Flag, "false", "Refuse calls whose changes cannot be captured"),
    key(
        "undo.max_file_mb",
        Kind::Count(1, 1024),
        "16",
        "Files larger than this are not copied; up to 1 GiB they are captured where their blocks can be shared",
    ),
    key("undo.max_files", Kind::Count(1, 10_000_000), "500000", "Folders with more files are not looked at"),
    key("undo.max_baseline_mb", Kind::Count(1, 65_536), "512", "Nor those of which more would be copied"),
    key("undo.max_wait_ms", Kind::Count(0, 600_000), "5000", "How long a call waits for the first look"),
    key("undo.max_total_mb", Kind::Count(1, 1_048_576), "1024", "How much is kept over all projects"),
    key("undo.keep_days", Kind::Count(1, 3650), "14", "For how long"),
    key(
        "mcp.first_wait_secs",
        Kind::Count(0, 600),
        "10",
        "How long the first request waits for MCP servers whose tools are not known yet; 3 in the chat",
    ),
    key(
        "mcp.tools_budget_bytes",
        Kind::Count(0, 1 << 20),
        "8192",
        "How many bytes of tools of MCP servers are listed one by one; above it they are found with `mcp_find`",
    ),
    key("undo.sensitive_hours", Kind::Count(1, 87_600), "24", "For how long contents of sensitive files are"),
    key(
        "memory.recall",
        Kind::Choice(&["off", "manual", "auto"]),
        "\"manual\"",
        "Earlier sessions of the project: not used, found by the model's tools once `memory rebuild` was run, or what fits goes with each prompt",
    ),
    key(
        "memory.max_entries",
        Kind::Count(1, 10_000_000),
        "100000",
        "How many messages of a project can be recalled; of more, those that were not asked for in a long time leave recall",
    ),
    key(
        "memory.embedder",
        Kind::Text,
        "\"openai:text-embedding-3-small\"",
        "The model that likeness is by, as PROVIDER:MODEL: messages of the project are sent to it; unset: words are compared on this machine",
    ),
    key(
        "memory.vectors",
        Kind::Choice(&["local", "qdrant"]),
        "\"local\"",
        "Where vectors are kept: the database, or a Qdrant server",
    ),
    key(
        "memory.qdrant.url",
        Kind::Text,
        "\"http://127.0.0.1:6333\"",
        "The Qdrant server; its key is in QDRANT_API_KEY, or `memory.qdrant.api_key` refers to it",
    ),
    key(
        "memory.qdrant.api_key",
        Kind::Text,
        "\"vault:QDRANT_API_KEY\"",
        "The key of the Qdrant server, as a reference to the vault",
    ),
    key(
        "memory.graph",
        Kind::Text,
        "\"anthropic:claude-haiku-4-5\"",
        "The model that takes facts from messages of the project in the background of a chat, as PROVIDER:MODEL: messages are sent to it; unset: none does",
    ),
    key(
        "memory.dream.min_sessions",
        Kind::Count(1, 10_000),
        "3",
        "How many sessions there must have been before memory is put in order again, when a chat ends",
    ),
    key(
        "memory.dream.min_hours",
        Kind::Count(0, 87_600),
        "24",
        "How many hours must have passed before memory is put in order again",
    ),
    key(
        "scheduler.enabled",
        Kind::Switch,
        "\"auto\"",
        "Whether scheduled jobs run: \"auto\" in chats of a project that has some, true also beside one prompt, false only in `schedule run`",
    ),
    key(
        "index.enabled",
        Kind::Switch,
        "\"auto\"",
        "The code index of a project: used once `index build` was run there, always, or never",
    ),
    key(
        "index.vectors",
        Kind::Flag,
        "true",
        "Find code by likeness, too: by vectors of `memory.embedder`, else of the built-in embedder",
    ),
    key(
        "ui.plain",
        Kind::Flag,
        "true",
        "Chat line by line, without a screen: for screen readers and simple terminals",
    ),
    key("ui.theme", Kind::Text, "\"Studio Dark\"", "The colours of the chat; unset: the terminal's own"),
    key("ui.colour", Kind::Flag, "false", "Whether the chat has colours; NO_COLOR says no, too"),
    key("ui.ascii", Kind::Flag, "true", "Signs of the chat in ASCII; unset: unless the locale is UTF-8"),
    key(
        "ui.motion",
        Kind::Flag,
        "false",
        "Whether the sign of a running turn moves; REDUCE_MOTION says no, too",
    ),
    key(
        "ui.notify",
        Kind::Choice(&["auto", "bell", "off"]),
        "\"bell\"",
        "How a chat nobody looks at says that a long turn is over, or that it asks",
    ),
    key(
        "ui.footer",
        Kind::List,
        "[\"model\", \"mode\", \"context\", \"cost\", \"cache\", \"branch\", \"folder\"]",
        "What the last row of the chat shows, and in which order; also \"title\". The mode is always there",
    ),
    key(
        "ui.ambiguous_width",
        Kind::Count(1, 2),
        "2",
        "How many columns the terminal gives characters of which Unicode leaves that open, as East Asian fonts do; with 2 the chat's own signs are ASCII",
    ),
    key(
        "ui.waiting_game",
        Kind::Choice(&["invaders", "pong", "off", "none", "disabled", "false"]),
        "\"invaders\"",
        "What plays in the panel while a turn runs; F3 plays it, too",
    ),
    key(
        "ui.show_timestamps",
        Kind::Flag,
        "true",
        "Whether the lines of the panel's feed begin with their time",
    ),
    key(
        "ui.status_in_chat",
        Kind::Flag,
        "true",
        "Whether the panel shows what the provider says of its work in the chat, too, not in the feed alone",
    ),
    key(
        "ui.mouse",
        Kind::Flag,
        "true",
        "Whether the wheel scrolls the panel; text is marked with Shift then",
    ),
    key("ui.title", Kind::Flag, "false", "Whether the chat sets the title of the window"),
    key(
        "ui.notify_command",
        Kind::Text,
        "\"notify-send zori \\\"$ZORI_NOTICE\\\"\"",
        "A command for the shell that is run for such a notice, too",
    ),
    key("ui.keys", Kind::Choice(&["emacs", "vim"]), "\"vim\"", "How the chat's composer is edited"),
    key(
        "ui.thinking",
        Kind::Choice(&["fold", "show", "hide"]),
        "\"show\"",
        "How much the chat shows of what the model thinks",
    ),
    key(
        "ui.keymap",
        Kind::Keymap,
        "{ editor = [\"ctrl+g\", \"ctrl+x ctrl+e\"] }",
        "Other keys for the chat's actions, which /keys lists; also as a section [ui.keymap]",
    ),
    key(
        "commands.paths",
        Kind::List,
        "[\"~/.claude/commands\"]",
        "Further folders of custom commands, beside `commands` in the base directory; `import` adds some",
    ),
    key(
        "agents.paths",
        Kind::List,
        "[\"~/.claude/agents\"]",
        "Further folders of sub-agents, beside `agents` in the base directory; `import` adds some",
    ),
    key(
        "skills.paths",
        Kind::List,
        "[\"~/.claude/skills\"]",
        "Further folders of skills, beside `skills` in the base directory and `~/.agents/skills`",
    ),
    key(
        "skills.inject",
        Kind::Count(0, 10),
        "3",
        "How many skills go along with a prompt that means them; 0: the model loads them itself",
    ),
    key(
        "skills.catalogue_bytes",
        Kind::Count(256, 65536),
        "4096",
        "How long the list of skills may be that the model reads",
    ),
    key(
        "instructions.names",
        Kind::List,
        "[\"AGENTS.override.md\", \"AGENTS.md\", \"CLAUDE.md\", \".claude/CLAUDE.md\", \"GEMINI.md\"]",
        "What a folder's instructions are called; the first file that is there counts",
    ),
    key(
        "instructions.user_files",
        Kind::List,
        "[\"~/.claude/CLAUDE.md\"]",
        "Further instructions of yours, beside AGENTS.md in the base directory",
    ),
    key("permissions.allow", Kind::List, "[\"Bash(git diff:*)\"]", "What runs without a question"),
    key("permissions.ask", Kind::List, "[\"Bash(git commit:*)\"]", "What is asked about in every mode"),
    key("permissions.deny", Kind::List, "[\"Read(.env)\", \"Bash(curl:*)\"]", "What never runs"),
];

/// Lists for which one text stands for a list of one.
const LISTS_OF_ONE: [&str; 2] = ["context.redact_keys", "context.redact_patterns"];

pub fn check(key: &Key, value: &Value) -> Result<(), String> {
    let wrong = |wanted: &str| Err(format!("`{}` must be {wanted}, not {}", key.name, describe(value)));
    match (key.kind, value) {
        (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Boolean(_)) => Ok(()),
        (Kind::Switch, Value::Boolean(_)) => Ok(()),
        (Kind::Switch, Value::String(text)) if text == "auto" => Ok(()),
        (Kind::Switch, _) => wrong("\"auto\", true or false"),
        (Kind::List, Value::Array(entries)) if entries.iter().all(Value::is_str) => Ok(()),
        (Kind::List, Value::String(_)) if LISTS_OF_ONE.contains(&key.name) => Ok(()),
        (Kind::List, _) => wrong("a list of strings"),
        (Kind::Number, Value::Float(_) | Value::Integer(_)) => Ok(()),
        (Kind::Money, value) if dollars(value).is_some() => Ok(()),
        (Kind::Price, value) if own_models::price(value).is_some() => Ok(()),
        (Kind::Choice(choices), Value::String(text)) if choices.contains(&text.as_str()) => Ok(()),
        (Kind::Count(min, max), Value::Integer(n))
            if u64::try_from(*n).is_ok_and(|n| min <= n && n <= max) =>
        {
            Ok(())
        }
        (Kind::Logins, value) => logins(value),
        (Kind::Hooks, value) => {
            let table = serde_json::to_value(value).map_err(|error| error.to_string())?;
            hooks::parse_table(&table).map(|_| ())
        }
        (Kind::Keymap, Value::Table(actions)) => {
            let are_keys = |keys: &Value| {
                keys.is_str() || keys.as_array().is_some_and(|keys| keys.iter().all(Value::is_str))
            };
            match actions.iter().find(|(_, keys)| !are_keys(keys)) {
                Some((action, keys)) => Err(format!(
                    "`{}.{action}` must be a key or a list of keys, not {}",
                    key.name,
                    describe(keys)
                )),
                None => Ok(()),
            }
        }
        (Kind::Keymap, _) => wrong("a table of keys, by action"),
        (Kind::Projects, Value::Table(all)) if all.values().all(Value::is_table) => Ok(()),
        (Kind::Projects, _) => wrong("a table of settings by name"),
        (Kind::Profiles, Value::Table(all)) if all.values().all(|one| one.is_str() || one.is_table()) => {
            Ok(())
        }
        (Kind::Profiles, _) => wrong("a table of words by name"),
        (Kind::Text, _) => wrong("a string"),
        (Kind::Flag, _) => wrong("true or false"),
        (Kind::Number, _) => wrong("a number"),
        (Kind::Price, _) => {
            wrong("dollars for a million tokens from 0 to 1000000, with six decimals at most")
        }
        (Kind::Money, _) => wrong("an amount of dollars from 0.000001 to 1000000"),
        (Kind::Choice(choices), _) => wrong(&format!(
            "one of {}",
            choices.iter().map(|c| format!("\"{c}\"")).collect::<Vec<_>>().join(", ")
        )),
        (Kind::Count(min, max), _) => wrong(&format!("a whole number from {min} to {max}")),
    }
}

/// Checks the tables of logins. Tokens are had over these addresses, so that nobody else may read along.
fn logins(value: &Value) -> Result<(), String> {
    let wanted = |what: &str, value: &Value| format!("`{what}` must be a table, not {}", describe(value));
    for (provider, keys) in value.as_table().ok_or_else(|| wanted("auth", value))? {
        let name = format!("auth.{provider}");
        if catalog::provider(provider).is_none() {
            let near =
                catalog::nearest_provider(provider).map(|near| format!("; did you mean `auth.{near}`?"));
            return Err(format!("`{name}` is no provider's{}", near.unwrap_or_default()));
        }
        for (key, value) in keys.as_table().ok_or_else(|| wanted(&name, keys))? {
            if !LOGIN_KEYS.contains(&key.as_str()) {
                return Err(format!("`{name}` has no key `{key}`; it has {}", LOGIN_KEYS.join(", ")));
            }
            let Some(text) = value.as_str() else {
                return Err(format!("`{name}.{key}` must be a string, not {}", describe(value)));
            };
            if key.ends_with("_url") && !text.trim().is_empty() && !is_private(text.trim()) {
                return Err(format!("`{name}.{key}` must be an https:// address, or one on this machine"));
            }
        }
    }
    Ok(())
}

fn is_private(url: &str) -> bool {
    let visible = url.bytes().all(|b| b.is_ascii_graphic());
    visible && (url.starts_with("https://") || is_loopback(url))
}

pub(super) fn dollars(value: &Value) -> Option<MicroUsd> {
    MicroUsd::from_dollars(value.as_float().or_else(|| Some(value.as_integer()? as f64))?)
}

pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string {text:?}"),
        Value::Integer(n) => n.to_string(),
        Value::Float(n) => n.to_string(),
        Value::Boolean(b) => b.to_string(),
        Value::Datetime(date) => date.to_string(),
        Value::Array(_) => "a list".into(),
        Value::Table(_) => "a table".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_its_address() {
        let known = |key: &str| KEYS.iter().any(|known| known.name == key);
        assert!(catalog::PROVIDERS.iter().all(|facts| known(facts.base_url_key)));
    }
}
