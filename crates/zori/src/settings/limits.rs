//! How much a run may use.

use std::path::Path;

use zori_contract::failure::Failure;
use zori_host::{DailyBudget, Limits, Unpriced};

use crate::args::LowArgs;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::environment::Environment;
use crate::error::BASE_UNUSABLE;
use crate::memory;
use crate::schedule::local_zone;

/// Returns what all sessions of a day may cost; `None` where nobody says so. A budget that cannot be kept is none that is kept silently.
pub fn of_a_day(
    config: &Config,
    data_dir: Option<&DataDir>,
    root: &Path,
    env: &Environment,
) -> Result<Option<DailyBudget>, Failure> {
    let Some(max) = config.money("cost.max_daily_usd") else { return Ok(None) };
    let Some(data_dir) = data_dir else {
        let message = "`cost.max_daily_usd` needs a base directory, where what was spent is written down";
        return Err(Failure::new(&BASE_UNUSABLE, message));
    };
    let place = memory::place(data_dir, root, env.temp_dir());
    Ok(Some(DailyBudget { place, max, zone: local_zone(env) }))
}

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
