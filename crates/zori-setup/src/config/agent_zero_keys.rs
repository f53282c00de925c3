//! The keys of the provider `agent-zero`, in the order `config init` writes them.

use super::keys::{Key, Kind, key};

const SECONDS: Kind = Kind::Number;

pub(super) const KEYS: &[Key] = &[
    key(
        "connection.api_url",
        Kind::Text,
        "\"http://localhost:50001/api_message\"",
        "The address of an Agent Zero server's message handler",
    ),
    key("connection.host", Kind::Text, "\"localhost\"", "The server's host, where no address is set"),
    key("connection.port", Kind::Count(1, 65_535), "50001", "Its port"),
    key("connection.path", Kind::Text, "\"/api_message\"", "Its handler's path"),
    key("connection.secure", Kind::Flag, "false", "Whether that host is reached over https"),
    key(
        "connection.use_mock",
        Kind::Flag,
        "false",
        "Answer from a script inside this program, to try it without a server",
    ),
    key(
        "connection.ui_url",
        Kind::Text,
        "\"http://localhost:50001\"",
        "The server's own user interface, which F5 opens; unset: the address without its path",
    ),
    key(
        "connection.dashboard_url",
        Kind::Text,
        "\"http://localhost:50001\"",
        "Another name of `connection.ui_url`, which counts first",
    ),
    key(
        "connection.terminate_on_close",
        Kind::Flag,
        "false",
        "Whether the server deletes a chat when it is closed here: a tab, the chat, the panel",
    ),
    key("connection.lifetime_hours", Kind::Number, "24", "How long the server keeps a chat, in hours"),
    key("connection.timeout_seconds", SECONDS, "0", "How long the server may be silent; 0: for ever"),
    key("connection.keepalive_seconds", SECONDS, "5", "How often a wait is reported; 0: never"),
    key("connection.max_wait_seconds", SECONDS, "0", "How long an answer may take in all; 0: for ever"),
    key(
        "connection.workspace_root",
        Kind::Text,
        "\".\"",
        "The workspace of that provider, where no --root is given",
    ),
    key(
        "connection.send_tool_results",
        Kind::Flag,
        "true",
        "Whether results of local tools go back to the server",
    ),
    key(
        "connection.max_tool_rounds",
        Kind::Count(1, 10_000),
        "50",
        "How many results one prompt may lead to",
    ),
    key("connection.stream", Kind::Flag, "true", "Ask that server for a stream"),
    key(
        "connection.stream_mode",
        Kind::Choice(&["auto", "sse", "jsonl"]),
        "\"auto\"",
        "How its answer is read",
    ),
    key("connection.log_poll_seconds", SECONDS, "1", "How often its log is read while it works; 0: never"),
    key(
        "connection.server_project",
        Kind::Text,
        "\"demo\"",
        "The server's own project, named with the first message",
    ),
    key(
        "connection.server_profile",
        Kind::Text,
        "\"hacker\"",
        "The server's own agent profile, named with the first message",
    ),
    key(
        "active_project",
        Kind::Text,
        "\"default\"",
        "Which of the projects below is laid over these settings",
    ),
    key(
        "projects",
        Kind::Projects,
        "{ default = { security_mode = \"balanced\" } }",
        "Settings under a name; also as a section [projects.NAME]",
    ),
    key(
        "agent_profile",
        Kind::Text,
        "\"default\"",
        "Which of the profiles below the server's agent is told of",
    ),
    key(
        "agent_profiles",
        Kind::Profiles,
        "{ default = { prompt = \"\" } }",
        "Words for that agent under a name; also as a section [agent_profiles.NAME]",
    ),
    key("context.enabled", Kind::Flag, "true", "Whether that agent is told what is in the workspace"),
    key("context.mode", Kind::Choice(&["always", "on_change", "once", "manual"]), "\"on_change\"", "When"),
    key("context.max_bytes", Kind::Count(256, 10_000_000), "20000", "How long that may be"),
    key("context.max_files", Kind::Count(0, 1_000_000), "200", "How many files it names"),
    key("context.max_depth", Kind::Count(0, 100), "4", "How deep folders are entered for it"),
    key("context.include_tree", Kind::Flag, "true", "Whether it names the files"),
    key("context.include_previews", Kind::Flag, "true", "Whether it shows the beginnings of some"),
    key("context.include_git", Kind::Flag, "true", "Whether it shows git's status"),
    key("context.include_system", Kind::Flag, "true", "Whether it tells time, folder and mode"),
    key(
        "context.include_tools",
        Kind::Flag,
        "true",
        "Whether it lists the local tools, without which the server's agent uses none",
    ),
    key(
        "context.preview_files",
        Kind::List,
        "[\"README.md\", \"AGENTS.md\", \"Cargo.toml\"]",
        "The files whose beginnings are shown",
    ),
    key("context.max_preview_bytes", Kind::Count(64, 1_000_000), "6000", "How long a beginning may be"),
    key(
        "context.redact_keys",
        Kind::List,
        "[\"api_key\", \"token\", \"password\"]",
        "Names whose values are taken out, also as part of a name",
    ),
    key(
        "context.redact_patterns",
        Kind::List,
        "[\"(?i)bearer [a-z0-9._-]+\"]",
        "Expressions for what is taken out wherever it stands",
    ),
    key(
        "context.ignore_dirs",
        Kind::List,
        "[\".git\", \"node_modules\", \"target\"]",
        "Folders that are not entered",
    ),
    key("context.respect_gitignore", Kind::Flag, "true", "Whether ignore files count for it"),
    key(
        "context.sensitive_files",
        Kind::List,
        "[\"*.tfvars\"]",
        "Files whose beginnings are never shown, on top of the built-in list",
    ),
    key("observer.enabled", Kind::Flag, "false", "Whether a summary of the workspace goes before it"),
    key(
        "observer.mode",
        Kind::Choice(&["automatic", "always", "manual", "off", "disabled", "false"]),
        "\"automatic\"",
        "When",
    ),
    key(
        "observer.type",
        Kind::Text,
        "\"agent_zero\"",
        "Shown by `/observer`, for other clients; without effect",
    ),
    key("observer.provider", Kind::Text, "\"agent_zero\"", "The same"),
    key("observer.model", Kind::Text, "\"gpt-4o-mini\"", "The same"),
    key("observer.endpoint", Kind::Text, "\"\"", "The same"),
    key("observer.path", Kind::Text, "\"\"", "The same"),
];

/// Returns these keys behind others.
pub(super) const fn behind<const N: usize>(others: &[Key]) -> [Key; N] {
    let (mut all, mut at) = ([others[0]; N], 0);
    while at < N {
        all[at] = if at < others.len() { others[at] } else { KEYS[at - others.len()] };
        at += 1;
    }
    all
}
