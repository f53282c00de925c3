//! What was typed, as the settings of a run need it: [`LowArgs`], from the checked arguments of the table.
//!
//! The tables are in `args/flags.rs`, and what `-p` before a command means in `args/rewrite.rs`.

pub mod claude;
pub mod flags;
pub mod rewrite;

use std::path::PathBuf;
use std::time::Duration;

use zori_contract::args::Args;
use zori_core::cost::MicroUsd;
use zori_core::provider::Effort;
use zori_policy::mode::Protocol;

use self::claude::ClaudeArgs;
use crate::sandbox::Asked;

/// What was typed.
#[derive(Clone, Debug, Default)]
pub struct LowArgs {
    /// `--root`.
    pub root: Option<String>,
    /// `--system-prompt`.
    pub system_prompt: Option<String>,
    /// `--session`.
    pub session: Option<String>,
    /// `--no-save`.
    pub no_save: bool,
    /// `--provider`.
    pub provider: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--prompt`.
    pub prompt: Option<String>,
    /// A lone `-`.
    pub dash: bool,
    /// The session as an argument.
    pub id: Option<String>,
    /// `--image`, in the order given.
    pub images: Vec<String>,
    /// `--retries`.
    pub retries: Option<u32>,
    /// `--retry-delay`, in milliseconds.
    pub retry_delay_ms: Option<u64>,
    /// `--connect-timeout`: `Some(None)` is 0, which means for ever.
    pub connect_timeout: Option<Option<Duration>>,
    /// `--thinking`.
    pub thinking: Option<Effort>,
    /// `--max-turns`.
    pub max_turns: Option<u32>,
    /// `--max-budget-usd`.
    pub max_budget: Option<MicroUsd>,
    /// `--max-tokens-total`.
    pub max_tokens_total: Option<u64>,
    /// `--record`.
    pub record: Option<PathBuf>,
    /// `--replay`.
    pub replay: Option<PathBuf>,
    /// `--replay-lenient`.
    pub replay_lenient: bool,
    /// `--permission-mode`.
    pub permission_mode: Option<String>,
    /// `--sandbox`.
    pub sandbox: Option<Asked>,
    /// `--allow`.
    pub allow: Vec<String>,
    /// `--ask`.
    pub ask: Vec<String>,
    /// `--deny`.
    pub deny: Vec<String>,
    /// `--yes`.
    pub yes: bool,
    /// `--trust-workspace`.
    pub trust_workspace: bool,
    /// `--bare`.
    pub bare: bool,
    /// `--keep`.
    pub keep: bool,
    /// `--history-file` was given.
    pub history_file: bool,
    /// `--api-base`.
    pub api_base: Option<String>,
    /// The protocol whose words are spoken, and whose clients are asked: nobody's mode is then `default` (DECISIONS 11).
    /// `None`: none, and the words are ours.
    pub protocol: Option<Protocol>,
    /// The command line of Claude Code.
    pub claude: ClaudeArgs,
}

impl LowArgs {
    /// Returns the same, with the answer in a protocol's lines.
    pub fn speaking(&self, protocol: Protocol) -> Self {
        let claude = ClaudeArgs { version: Some(protocol), ..self.claude.clone() };
        Self { protocol: Some(protocol), claude, ..self.clone() }
    }

    /// Takes the values over. Their kinds have been checked, so that nothing can fail here.
    pub fn new(args: &Args) -> Self {
        let text = |name| args.text(name).map(str::to_owned);
        let count = |name| args.int(name).map(i64::unsigned_abs);
        let small = |name| count(name).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let claude = ClaudeArgs::new(args);
        let word = text("-").filter(|word| word != "-");
        let rules = |name| args.all(name).iter().flat_map(|value| flags::rules(value)).collect();
        Self {
            root: text("root"),
            system_prompt: text("system-prompt"),
            session: text("session"),
            no_save: args.has("no-save") || args.has("no-session-persistence"),
            provider: text("provider"),
            model: text("model"),
            prompt: text("prompt").or(word),
            dash: args.text("-") == Some("-"),
            id: text("ID"),
            images: args.all("image").to_vec(),
            retries: small("retries"),
            retry_delay_ms: count("retry-delay"),
            connect_timeout: args
                .duration("connect-timeout")
                .map(|time| Some(time).filter(|time| !time.is_zero())),
            thinking: args.text("thinking").and_then(Effort::by_name),
            max_turns: small("max-turns"),
            max_budget: args.text("max-budget-usd").and_then(flags::dollars),
            max_tokens_total: count("max-tokens-total"),
            record: args.text("record").map(PathBuf::from),
            replay: args.text("replay").map(PathBuf::from),
            replay_lenient: args.has("replay-lenient"),
            permission_mode: text("permission-mode"),
            sandbox: args.text("sandbox").and_then(Asked::parse),
            allow: rules("allow"),
            ask: rules("ask"),
            deny: rules("deny"),
            yes: args.has("yes"),
            trust_workspace: args.has("trust-workspace"),
            bare: args.has("bare"),
            keep: args.has("keep"),
            history_file: args.has("history-file"),
            api_base: text("api-base"),
            protocol: claude.protocol(),
            claude,
        }
    }
}
