//! What fits a prompt goes with it, where `memory.recall` is `auto`. It stands behind the prompt, so that what a provider has cached stays as it is.

use std::sync::Arc;

use zori_core::ids::SessionId;
use zori_core::time::Clock;
use zori_index::{IndexError, fitting, wrapped};

use super::{MemoryPlace, MemorySettings, Recall};

/// How many messages go with a prompt at most, and how many tokens they may have.
const MOST: usize = 5;
const BUDGET: u64 = 1_500;

/// Recalls what fits prompts.
pub(crate) struct AutoRecall {
    place: MemoryPlace,
    session: SessionId,
    clock: Arc<dyn Clock>,
    /// A memory that failed once is not asked again, and nothing more is said about it.
    failed: bool,
}

impl AutoRecall {
    /// Returns it where that is wanted.
    pub(crate) fn new(
        settings: Option<&MemorySettings>,
        session: &SessionId,
        clock: &Arc<dyn Clock>,
    ) -> Option<Self> {
        let settings = settings.filter(|settings| settings.recall == Recall::Auto)?;
        let (place, session) = (settings.place.clone(), session.clone());
        Some(Self { place, session, clock: clock.clone(), failed: false })
    }

    /// Returns what fits a prompt, as a note for the model; an error is for the user, once.
    pub(crate) async fn note(&mut self, prompt: &str) -> Result<Option<String>, String> {
        if self.failed || prompt.trim().is_empty() {
            return Ok(None);
        }
        let (place, session, now) = (self.place.clone(), self.session.clone(), self.clock.now().0);
        let prompt = prompt.to_owned();
        let found = tokio::task::spawn_blocking(move || -> Result<String, IndexError> {
            let mut store = place.open()?;
            place.sync(&mut store, false, now)?;
            Ok(wrapped(&fitting(store.search(&prompt, MOST, Some(session.as_str()))?, BUDGET)))
        });
        let why = match found.await {
            Ok(Ok(note)) => return Ok(Some(note).filter(|note| !note.is_empty())),
            Ok(Err(error)) => format!("{error}; {}", error.way_on()),
            Err(_) => "a defect".to_owned(),
        };
        self.failed = true;
        Err(format!("Going on without memory: {why}"))
    }
}
