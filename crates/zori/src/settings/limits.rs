//! How much a run may use.

use zori_host::{Limits, Unpriced};

use crate::args::LowArgs;
use crate::config::Config;

/// Returns what a run may use: flags over config.
pub fn of_run(args: &LowArgs, config: &Config) -> Limits {
    Limits {
        turns: args.limits.turns.or_else(|| config.count("max_turns").map(|n| n as u32)),
        budget: args.limits.budget.or_else(|| config.money("max_budget_usd")),
        unpriced: match config.flag("allow_unpriced") {
            Some(true) => Unpriced::Allowed,
            _ => Unpriced::Refused,
        },
        tokens: args.limits.tokens.or_else(|| config.count("max_tokens_total")),
    }
}
