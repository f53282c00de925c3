//! How much a run may use, how long it waits, and how often it tries again.

use std::time::Duration;

use zori_contract::failure::Failure;
use zori_core::cost::Prices;
use zori_core::transport;
use zori_engine::limits::{Limits, Unpriced};
use zori_engine::retry::{Retry, Waits};

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

/// Returns how failed requests are repeated: flags over config.
pub fn retry(args: &LowArgs, config: &Config) -> Retry {
    let per_request = args
        .retries
        .or_else(|| config.count("retries").map(|n| n as u32))
        .unwrap_or(Retry::DEFAULT.per_request);
    let base = args.retry_delay_ms.or_else(|| config.count("retry_delay_ms")).map(Duration::from_millis);
    Retry {
        per_request,
        per_turn: Retry::DEFAULT.per_turn.max(per_request),
        base: base.unwrap_or(Retry::DEFAULT.base),
        waits: Waits::Kept,
    }
}

/// Returns how long each phase of a request may take: flags over config.
pub fn http(args: &LowArgs, config: &Config) -> transport::Limits {
    let limit = |key, default| match config.count(key) {
        Some(0) => None,
        Some(ms) => Some(Duration::from_millis(ms)),
        None => default,
    };
    let default = transport::Limits::DEFAULT;
    transport::Limits {
        connect: args.connect_timeout.unwrap_or_else(|| limit("connect_timeout_ms", default.connect)),
        first_byte: limit("first_byte_timeout_ms", default.first_byte),
        idle: limit("idle_timeout_ms", default.idle),
    }
}
