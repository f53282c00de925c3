//! The cost ledger: what requests cost, of sessions and of what goes on beside them, goes into the database, and what all processes spent today
//! is read from it before each request. It exists where a daily budget is configured, and nowhere else (DECISIONS 57).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zori_core::cost::{Ledger, MicroUsd, Spent};
use zori_core::time::Clock;
use zori_index::{IndexError, Payment, ProjectStore, day_begins};

use crate::memory::MemoryPlace;
use crate::settings::SessionSettings;

/// What all sessions of a day may cost together, over all projects.
#[derive(Clone, Debug)]
pub struct DailyBudget {
    /// Where the database is.
    pub place: MemoryPlace,
    /// What they may cost.
    pub max: MicroUsd,
    /// The time zone in which a day begins.
    pub zone: String,
}

/// Returns the ledger of a session, where it has a daily budget.
pub(crate) fn of(
    settings: &SessionSettings,
    session: &str,
    is_saved: bool,
    clock: &Arc<dyn Clock>,
) -> Option<Arc<dyn Ledger>> {
    let budget = settings.limits.daily.as_ref()?;
    let session = is_saved.then(|| session.to_owned());
    Some(budget.ledger(settings.model.facts.name, session, clock.clone()))
}

impl DailyBudget {
    /// Returns the ledger that requests to a provider are counted in: those of a session, or of what goes on beside.
    pub fn ledger(
        &self,
        provider: &'static str,
        session: Option<String>,
        clock: Arc<dyn Clock>,
    ) -> Arc<dyn Ledger> {
        Arc::new(DailyLedger { budget: self.clone(), session, provider, clock, lost: Mutex::default() })
    }
}

struct DailyLedger {
    budget: DailyBudget,
    session: Option<String>,
    provider: &'static str,
    clock: Arc<dyn Clock>,
    /// Why something could not be written down. What cannot be counted cannot be kept within bounds.
    lost: Mutex<Option<String>>,
}

impl DailyLedger {
    /// Opens the database for this once: a session that kept it would hold one of the readers that all sessions of a process share.
    fn with<T>(&self, work: impl FnOnce(&mut ProjectStore) -> Result<T, IndexError>) -> Result<T, String> {
        let opened = self.budget.place.open();
        opened.and_then(|mut store| work(&mut store)).map_err(|error| format!("{error}; {}", error.way_on()))
    }

    fn lost(&self) -> MutexGuard<'_, Option<String>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger for DailyLedger {
    fn refuses(&self) -> Option<String> {
        let lost = self.lost().clone();
        let since = day_begins(self.clock.now().0, &self.budget.zone);
        let spent = match lost {
            Some(why) => Err(why),
            None => self.with(|store| store.spent_since(since)),
        };
        match spent {
            Ok(spent) if spent < self.budget.max.0 => None,
            Ok(spent) => Some(format!(
                "Reached the budget of {} for a day: {} spent today, in all projects (`cost.max_daily_usd`)",
                self.budget.max,
                MicroUsd(spent)
            )),
            Err(why) => Some(format!(
                "The budget for a day cannot be kept (`cost.max_daily_usd`), since the ledger cannot be used: {why}"
            )),
        }
    }

    fn add(&self, model: &str, spent: Spent) {
        let Spent { usage, cost } = spent;
        let payment = Payment {
            session: self.session.as_deref(),
            provider: self.provider,
            model,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost: cost.map(|MicroUsd(micros)| micros),
        };
        let now = self.clock.now().0;
        if let Err(why) = self.with(|store| store.add_payment(&payment, now)) {
            *self.lost() = Some(why);
        }
    }
}
