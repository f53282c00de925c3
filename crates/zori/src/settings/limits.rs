//! How much a run may use.

use zori_contract::failure::Failure;
use zori_core::cost::Prices;
use zori_engine::limits::{Limits, Unpriced};

use crate::args::LowArgs;
use crate::config::Config;
use crate::error::SETTING_INVALID;

/// Returns what a run may use: flags over config.
pub fn of_run(args: &LowArgs, config: &Config) -> Limits {
    Limits {
        turns: args.max_turns.or_else(|| config.count("max_turns").map(|n| n as u32)),
        budget: args.max_budget.or_else(|| config.money("max_budget_usd")),
        unpriced: match config.flag("allow_unpriced") {
            Some(true) => Unpriced::Allowed,
            _ => Unpriced::Refused,
        },
        tokens: args.max_tokens_total.or_else(|| config.count("max_tokens_total")),
    }
}

/// Checks that a budget can be kept with a model (`agent-modes.md` 9.10).
pub fn priced(limits: &Limits, prices: Option<Prices>, model: &str) -> Result<(), Failure> {
    if limits.budget.is_none() || prices.is_some() || limits.unpriced == Unpriced::Allowed {
        return Ok(());
    }
    let message = format!("the price of `{model}` is not known, so that a budget cannot be kept");
    Err(Failure::new(&SETTING_INVALID, message)
        .hint("use another model, or leave `--max-budget-usd` (`max_budget_usd`) out")
        .hint("say what it costs in a table `[models.\"PROVIDER:MODEL\"]` of the config file, or set `allow_unpriced`")
        .hint("`--max-tokens-total N` limits tokens instead"))
}
