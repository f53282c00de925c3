//! The command line of Claude Code, as its SDKs write it (`stream-json.md` chapter 11): the flags, as a table, and the words
//! that mean something else there.
//!
//! Both SDKs call the program without a command. A flag that changes nothing here says so in `--help`, and on standard
//! error when it is given: none is swallowed.

use zori_contract::args::Args;
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;
use zori_policy::mode::Protocol;

use crate::hooks::Written;

use super::flags::{PROMPT, PROTOCOL_VERSION, SESSION};

/// What is added to flags without effect.
const NO_EFFECT: &str = "Accepted; no effect here";

/// A flag without effect that takes a value.
const fn ignored(long: &'static str) -> Flag {
    Flag::valued(long, "VALUE", Kind::Text, NO_EFFECT).many().rare()
}

/// The flags that `exec` takes for the Claude protocol.
pub const FLAGS: &[Flag] = &[
    PROTOCOL_VERSION,
    Flag::valued(
        "output-format",
        "FORMAT",
        Kind::Choice(&["text", "json", "stream-json"]),
        "Answer as Claude Code does: text, json (the result), stream-json (the Claude protocol)",
    )
    .rare(),
    Flag::valued(
        "input-format",
        "FORMAT",
        Kind::Choice(&["text", "stream-json"]),
        "What standard input is, beside `--output-format`: text, stream-json (the Claude protocol)",
    )
    .rare(),
    Flag::valued("append-system-prompt", "TEXT", Kind::Text, "Say this behind the system prompt").rare(),
    Flag::valued("system-prompt-file", "FILE", Kind::Text, "Read the system prompt from a file").rare(),
    Flag::valued("tools", "NAMES", Kind::Text, "Offer only these tools; empty: none, default: all").rare(),
    Flag::valued(
        "permission-prompt-tool",
        "NAME",
        Kind::Text,
        "Who is asked: stdio (the program that reads), or a tool of its MCP servers, mcp__SERVER__TOOL",
    )
    .rare(),
    Flag::switch("allow-dangerously-skip-permissions", "Permit the mode bypassPermissions later on").rare(),
    Flag::switch("dangerously-skip-permissions", "Start in the mode bypassPermissions").rare(),
    Flag::switch("continue", "Go on with the newest session of this folder").short('c').rare(),
    Flag::valued("resume", "ID", Kind::Text, "Go on with this session").short('r').rare(),
    Flag::switch("fork-session", "With `--resume` or `--continue`: go on in a copy").rare(),
    Flag::valued("session-id", "ID", Kind::Id(SESSION), "What the new session is called").rare(),
    Flag::switch("no-session-persistence", "Save no session").rare(),
    Flag::switch("include-partial-messages", "Tell messages in pieces, too").rare(),
    Flag::switch("replay-user-messages", "Repeat each prompt when its turn begins").rare(),
    Flag::valued(
        "mcp-config",
        "JSON",
        Kind::Text,
        "MCP servers, as JSON or in a file; those of type sdk are used",
    )
    .many()
    .rare(),
    Flag::valued("add-dir", "DIR", Kind::Text, "One more folder to work in; may be repeated").many().rare(),
    Flag::valued("json-schema", "JSON", Kind::Text, "What the answer has to look like, as a JSON Schema")
        .rare(),
    Flag::valued(
        "max-thinking-tokens",
        "N",
        Kind::Int { min: 0, max: i64::MAX },
        "How much the model may think",
    )
    .rare(),
    Flag::valued("effort", "LEVEL", Kind::Text, "How much the model thinks: low, medium, high, max").rare(),
    Flag::valued(
        "resume-session-at",
        "UUID",
        Kind::Text,
        "With `--resume`: only up to this message of the model",
    )
    .rare(),
    Flag::valued(
        "fallback-model",
        "MODEL",
        Kind::Text,
        "What a turn goes on with when the model is overloaded",
    )
    .rare(),
    Flag::valued("agents", "JSON", Kind::Text, "Sub-agents, by name: description, prompt, tools, model")
        .rare(),
    Flag::valued(
        "setting-sources",
        "NAMES",
        Kind::Text,
        "Whose files describe sub-agents: user, project; AGENTS.md and the config count always",
    )
    .rare(),
    ignored("resume-drops-turn"),
    Flag::valued(
        "settings",
        "JSON",
        Kind::Text,
        "Claude Code's settings, as JSON or in a file: permissions, env, model, hooks",
    )
    .rare(),
    ignored("thinking-display"),
    ignored("agent"),
    ignored("betas"),
    ignored("plugin-dir"),
    ignored("plugin-dir-no-mcp"),
    ignored("task-budget"),
    ignored("debug-file"),
    Flag::switch("debug-to-stderr", NO_EFFECT).rare(),
    Flag::switch("strict-mcp-config", NO_EFFECT).rare(),
    Flag::switch("include-hook-events", "Tell when hooks begin and end").rare(),
    Flag::switch("session-mirror", NO_EFFECT).rare(),
    Flag::switch("await-initialize", NO_EFFECT).rare(),
];

/// Flags that mean something whatever is printed; the others are for the protocol.
const ALWAYS: &[&str] = &[
    "protocol-version",
    "output-format",
    "input-format",
    "no-session-persistence",
    "add-dir",
    "fallback-model",
    "agents",
    "setting-sources",
    "settings",
];

/// Flags without effect that every SDK sends; nobody wants to read of them each time.
const QUIET: &[&str] = &["strict-mcp-config", "await-initialize"];

const COUNT: usize = PROMPT.len() + FLAGS.len();

/// All flags of `exec`.
pub const EXEC: &[Flag] = &joined();

const fn joined() -> [Flag; COUNT] {
    let mut all = [PROMPT[0]; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = if at < PROMPT.len() { PROMPT[at] } else { FLAGS[at - PROMPT.len()] };
        at += 1;
    }
    all
}

/// What was typed of it.
#[derive(Clone, Debug, Default)]
pub struct ClaudeArgs {
    /// `--protocol-version`.
    pub version: Option<Protocol>,
    /// `--output-format`.
    pub output: Option<String>,
    /// `--input-format stream-json`.
    pub stream_input: bool,
    /// `--append-system-prompt`.
    pub append_system_prompt: Option<String>,
    /// `--system-prompt-file`.
    pub system_prompt_file: Option<String>,
    /// `--tools`.
    pub tools: Option<String>,
    /// `--permission-prompt-tool`.
    pub prompt_tool: Option<String>,
    /// `--allow-dangerously-skip-permissions`.
    pub may_bypass: bool,
    /// `--dangerously-skip-permissions`.
    pub bypass: bool,
    /// `--continue`.
    pub continues: bool,
    /// `--resume`.
    pub resume: Option<String>,
    /// `--fork-session`.
    pub fork: bool,
    /// `--session-id`.
    pub session_id: Option<String>,
    /// `--include-partial-messages`.
    pub partial: bool,
    /// `--replay-user-messages`.
    pub replay_prompts: bool,
    /// `--mcp-config`.
    pub mcp_config: Vec<String>,
    /// `--add-dir`.
    pub add_dirs: Vec<String>,
    /// `--json-schema`.
    pub json_schema: Option<String>,
    /// `--max-thinking-tokens`.
    pub max_thinking_tokens: Option<u64>,
    /// `--effort`.
    pub effort: Option<String>,
    /// `--resume-session-at`.
    pub resume_at: Option<String>,
    /// `--include-hook-events`.
    pub hook_events: bool,
    /// `--settings`.
    pub settings: Option<String>,
    /// The hooks of `--settings`.
    pub hooks: Vec<Written>,
    /// What `--settings` sets for commands and hooks.
    pub env: Vec<(String, String)>,
    /// `--fallback-model`.
    pub fallback: Option<String>,
    /// `--agents`.
    pub agents: Option<String>,
    /// `--setting-sources`.
    pub sources: Sources,
    /// What was given and has no effect.
    pub without_effect: Vec<&'static str>,
    /// What was given and has none unless the protocol is spoken.
    pub of_protocol: Vec<&'static str>,
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
    fn parse(list: &str) -> Self {
        let names = |name| list.split(',').any(|word| word.trim() == name);
        Self { user: names("user"), project: names("project") || names("local") }
    }
}

impl ClaudeArgs {
    /// Takes the values over.
    pub fn new(args: &Args) -> Self {
        let text = |name| args.text(name).map(str::to_owned);
        let idle =
            |flag: &&Flag| flag.about == NO_EFFECT && args.has(flag.long) && !QUIET.contains(&flag.long);
        let version = args.text("protocol-version").map(|version| match version {
            "1" | "yume" | "flat" => Protocol::Yume,
            _ => Protocol::Claude,
        });
        Self {
            version,
            output: text("output-format").or(version.map(|_| "stream-json".to_owned())),
            stream_input: args.text("input-format") == Some("stream-json"),
            append_system_prompt: text("append-system-prompt"),
            system_prompt_file: text("system-prompt-file"),
            tools: text("tools"),
            prompt_tool: text("permission-prompt-tool"),
            may_bypass: args.has("allow-dangerously-skip-permissions"),
            bypass: args.has("dangerously-skip-permissions"),
            continues: args.has("continue"),
            resume: text("resume"),
            fork: args.has("fork-session"),
            session_id: text("session-id"),
            partial: args.has("include-partial-messages"),
            replay_prompts: args.has("replay-user-messages"),
            mcp_config: args.all("mcp-config").to_vec(),
            add_dirs: args.all("add-dir").to_vec(),
            json_schema: text("json-schema"),
            max_thinking_tokens: args.int("max-thinking-tokens").map(i64::unsigned_abs),
            effort: text("effort"),
            resume_at: text("resume-session-at"),
            hook_events: args.has("include-hook-events"),
            settings: text("settings"),
            hooks: Vec::new(),
            env: Vec::new(),
            fallback: text("fallback-model"),
            agents: text("agents"),
            sources: args.text("setting-sources").map_or_else(Sources::default, Sources::parse),
            without_effect: FLAGS.iter().filter(idle).map(|flag| flag.long).collect(),
            of_protocol: {
                let given = FLAGS.iter().map(|flag| flag.long).filter(|name| args.has(name));
                given.filter(|name| !ALWAYS.contains(name)).collect()
            },
        }
    }

    /// Returns whether the run speaks as Claude Code does.
    pub fn speaks(&self) -> bool {
        self.protocol().is_some()
    }

    /// Returns the protocol that is spoken, if one is.
    pub fn protocol(&self) -> Option<Protocol> {
        let asked = self.output.is_some() || self.stream_input;
        self.version.or(asked.then_some(Protocol::Claude))
    }
}

/// Returns whether the words are a command line of Claude Code, and makes one of ours of it: without a command, and with a
/// format flag.
pub fn words(words: &mut Vec<String>, takes_next: impl Fn(&str) -> bool) -> bool {
    let names = |word: &String, name: &str| word == name || word.starts_with(&format!("{name}="));
    let ours = words.first().is_some_and(|word| word.starts_with('-') || word == "exec")
        && words.iter().take_while(|word| *word != "--").any(|word| {
            ["--output-format", "--input-format", "--protocol-version"].iter().any(|name| names(word, name))
        });
    if !ours {
        return false;
    }
    let mut kept = Vec::with_capacity(words.len() + 1);
    let mut rest = std::mem::take(words).into_iter().peekable();
    if rest.peek().is_none_or(|word| word != "exec") {
        kept.push("exec".to_owned());
    }
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--" => {
                kept.push(word);
                kept.extend(rest.by_ref());
            }
            // It takes the next word, unless that is another flag: then the prompt stands alone, or on standard input.
            "-p" | "--print" => {
                if let Some(prompt) = rest.next_if(|next| !next.starts_with('-')) {
                    kept.extend(["-p".to_owned(), prompt]);
                }
            }
            "--thinking" => kept.extend(rest.next().and_then(|value| thinking(&value))),
            _ if word.starts_with("--thinking=") => kept.extend(thinking(&word["--thinking=".len()..])),
            _ => {
                let wants = takes_next(&word);
                kept.push(word);
                if wants {
                    kept.extend(rest.next());
                }
            }
        }
    }
    *words = kept;
    true
}

/// Returns our word for how Claude Code says that a model may think; `None` is as it likes.
fn thinking(value: &str) -> Option<String> {
    match value {
        "adaptive" | "enabled" => None,
        "disabled" => Some("--thinking=off".to_owned()),
        other => Some(format!("--thinking={other}")),
    }
}

#[cfg(test)]
mod tests {
    fn check(line: &[&str], wanted: &[&str]) {
        let mut words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        crate::args::rewrite::words(&mut words);
        assert_eq!(words, wanted);
    }

    #[test]
    fn what_the_sdks_write() {
        check(
            &[
                "--output-format",
                "stream-json",
                "--verbose",
                "--system-prompt",
                "",
                "--tools",
                "",
                "--thinking",
                "adaptive",
                "--input-format",
                "stream-json",
            ],
            &[
                "exec",
                "--output-format",
                "stream-json",
                "--verbose",
                "--system-prompt",
                "",
                "--tools",
                "",
                "--input-format",
                "stream-json",
            ],
        );
        check(
            &[
                "--output-format",
                "json",
                "--thinking=disabled",
                "--append-system-prompt",
                "-p",
                "-p",
                "--model=m",
                "hi",
            ],
            &[
                "exec",
                "--output-format",
                "json",
                "--thinking=off",
                "--append-system-prompt",
                "-p",
                "--model=m",
                "hi",
            ],
        );
        check(&["-p", "hi", "--output-format=text"], &["exec", "-p", "hi", "--output-format=text"]);
        check(&["exec", "-p", "--output-format=text"], &["exec", "--output-format=text"]);
    }

    #[test]
    fn other_command_lines_are_left_alone() {
        check(&["-p", "hi"], &["exec", "-p", "hi"]);
        check(&["sessions", "list", "--output-format", "x"], &["sessions", "list", "--output-format", "x"]);
    }
}
