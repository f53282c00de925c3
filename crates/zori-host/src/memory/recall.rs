//! What fits a prompt goes with it, where `memory.recall` is `auto`. It stands behind the prompt, so that what a provider has cached stays as it is.

use std::sync::Arc;

use zori_core::ids::SessionId;
use zori_core::time::Clock;
use zori_index::{IndexError, fitting, wrapped};

use super::{AskedBy, MemoryPlace, MemorySettings, Recall, Vectors, numbers};

/// How many messages go with a prompt at most, and how many tokens they may have.
const MOST: usize = 5;
const BUDGET: u64 = 1_500;

/// What goes with a prompt, and what is to be said about it.
#[derive(Default)]
pub(crate) struct Recollection {
    /// What fits, as a note for the model.
    pub note: Option<String>,
    /// For the user, once.
    pub warning: Option<String>,
}

/// Recalls what fits prompts.
pub(crate) struct AutoRecall {
    place: MemoryPlace,
    vectors: Option<Arc<Vectors>>,
    session: SessionId,
    clock: Arc<dyn Clock>,
    /// A memory that failed once is not asked again, and nothing more is said about it.
    failed: bool,
}

impl AutoRecall {
    /// Returns it where that is wanted.
    pub(crate) fn new(
        settings: Option<&MemorySettings>,
        vectors: Option<Arc<Vectors>>,
        session: &SessionId,
        clock: &Arc<dyn Clock>,
    ) -> Option<Self> {
        let settings = settings.filter(|settings| settings.recall == Recall::Auto)?;
        let (place, session) = (settings.place.clone(), session.clone());
        Some(Self { place, vectors, session, clock: clock.clone(), failed: false })
    }

    /// Returns what fits a prompt.
    pub(crate) async fn recall(&mut self, prompt: &str) -> Recollection {
        if self.failed || prompt.trim().is_empty() {
            return Recollection::default();
        }
        let (asked_by, warning) = match &self.vectors {
            Some(vectors) => vectors.ask(prompt).await,
            None => (AskedBy::BuiltIn, None),
        };
        let (place, session, now) = (self.place.clone(), self.session.clone(), self.clock.now().0);
        let prompt = prompt.to_owned();
        let recalled = move || -> Result<String, IndexError> {
            let mut store = place.open()?;
            place.sync(&mut store, false, now)?;
            let found = store.search_by(&prompt, asked_by.likeness(), MOST, Some(session.as_str()))?;
            let found = fitting(found, BUDGET);
            store.touch(&numbers(&found), now)?;
            Ok(wrapped(&found))
        };
        let place = self.place.clone();
        let found =
            tokio::task::spawn_blocking(move || recalled().map_err(|error| place.explain(&error, now)));
        let why = match found.await {
            Ok(Ok(note)) => {
                return Recollection { note: Some(note).filter(|note| !note.is_empty()), warning };
            }
            Ok(Err(why)) => why,
            Err(_) => "a defect".to_owned(),
        };
        self.failed = true;
        Recollection { note: None, warning: Some(format!("Going on without memory: {why}")) }
    }
}
