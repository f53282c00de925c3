//! How much a run may use.

use std::path::Path;

use zori_contract::failure::Failure;
use zori_core::cost::Prices;
use zori_host::{DailyBudget, Limits, MemoryPlace, Unpriced, check_budget};

use crate::args::LowArgs;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::environment::Environment;
use crate::error::BASE_UNUSABLE;
use crate::host_failure::of_model;
use crate::memory;
use crate::schedule::local_zone;

/// Returns what all sessions of a day may cost; `None` where nobody says so. A budget that cannot be kept is none that is kept silently.
pub fn of_a_day(
    config: &Config,
    data_dir: Option<&DataDir>,
    root: &Path,
    env: &Environment,
) -> Result<Option<DailyBudget>, Failure> {
    if config.money("cost.max_daily_usd").is_none() {
        return Ok(None);
    }
    let Some(data_dir) = data_dir else {
        let message = "`cost.max_daily_usd` needs a base directory, where what was spent is written down";
        return Err(Failure::new(&BASE_UNUSABLE, message));
    };
    Ok(of_place(config, env, &memory::place(data_dir, root, env.temp_dir())))
}

/// Returns the same where it is known where the database is.
pub fn of_place(config: &Config, env: &Environment, place: &MemoryPlace) -> Option<DailyBudget> {
    let max = config.money("cost.max_daily_usd")?;
    Some(DailyBudget { place: place.clone(), max, zone: local_zone(env) })
}

/// Refuses a model whose price is not known where a day has a budget: what cannot be counted cannot be kept within bounds.
pub fn check_daily(
    daily: Option<&DailyBudget>,
    config: &Config,
    prices: Option<Prices>,
    model: &str,
) -> Result<(), Failure> {
    let limits = Limits { budget: daily.map(|daily| daily.max), unpriced: unpriced(config), ..Limits::NONE };
    check_budget(&limits, prices, model).map_err(of_model)
}

fn unpriced(config: &Config) -> Unpriced {
    match config.flag("allow_unpriced") {
        Some(true) => Unpriced::Allowed,
        _ => Unpriced::Refused,
    }
}

/// Returns what a run may use: flags over config.
pub fn of_run(args: &LowArgs, config: &Config) -> Limits {
    Limits {
        turns: args.limits.turns.or_else(|| config.count("max_turns").map(|n| n as u32)),
        budget: args.limits.budget.or_else(|| config.money("max_budget_usd")),
        unpriced: unpriced(config),
        tokens: args.limits.tokens.or_else(|| config.count("max_tokens_total")),
    }
}
