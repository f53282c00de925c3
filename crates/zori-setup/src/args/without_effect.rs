//! The flags that are accepted and change nothing (DECISIONS 51): only what a foreign SDK may send beside `--output-format`, each
//! with the reason. Help shows them below a heading of their own; without `--output-format` they are refused as all others are.
//!
//! The documents' global options are accepted by every command, too, whether it has a use for them or not.

use zori_contract::args::Args;
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;

/// The heading of these flags in the help.
const HEADING: &str = "Accepted from the SDKs of Claude Code, without effect";

/// A flag without effect.
pub struct WithoutEffect {
    /// The flag; what it says of itself is the reason.
    pub flag: Flag,
    /// Whether standard error says so when it is given. Every SDK sends some, and nobody wants to read of those each time.
    pub mentioned: bool,
}

const fn valued(long: &'static str, why: &'static str) -> WithoutEffect {
    let flag = Flag::valued(long, "VALUE", Kind::Text, why).many().rare().below(HEADING);
    WithoutEffect { flag, mentioned: true }
}

const fn switch(long: &'static str, mentioned: bool, why: &'static str) -> WithoutEffect {
    WithoutEffect { flag: Flag::switch(long, why).rare().below(HEADING), mentioned }
}

/// All of them.
pub const WITHOUT_EFFECT: &[WithoutEffect] = &[
    valued("agent", "The main conversation is always zori's own agent"),
    valued("betas", "What an API offers is chosen by the model"),
    valued("debug-file", "Log lines go to standard error, with `--debug`"),
    valued("plugin-dir", "There are no plugins"),
    valued("plugin-dir-no-mcp", "There are no plugins"),
    valued("resume-drops-turn", "A session goes on as it was saved"),
    valued("task-budget", "A run is bounded by `--max-turns`, `--max-budget-usd` and `--max-tokens-total`"),
    valued("thinking-display", "Thinking is told as the provider sends it"),
    switch("await-initialize", false, "The first prompt is awaited in any case"),
    switch("debug-to-stderr", true, "Log lines come with `--debug`"),
    switch("session-mirror", true, "Sessions are kept here, whatever the caller keeps"),
];

/// Returns those that were given and are worth a word.
pub fn given(args: &Args) -> Vec<&'static str> {
    let idle = |entry: &&WithoutEffect| entry.mentioned && args.has(&entry.flag);
    WITHOUT_EFFECT.iter().filter(idle).map(|entry| entry.flag.long).collect()
}
