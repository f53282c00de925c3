//! Likeness by the vectors of a model, kept in the database or in a Qdrant server. Both are asked through the session's transport; where one
//! fails, the built-in embedder stands in, and what was missed is caught up with later.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use zori_core::cost::{Ledger, Prices, Spent};
use zori_core::secret::{Secret, Secrets};
use zori_core::time::Clock;
use zori_core::transport::Transport;
use zori_core::usage::Usage;
use zori_index::{
    IndexError, Likeness, ProjectStore, Unembedded, VectorKind, VectorsOf, built_in_vector, point_id,
};
use zori_providers::catalog::{PriceList, ProviderFacts};
use zori_providers::embeddings::{self, Embedder};
use zori_providers::endpoint::Endpoint;
use zori_providers::key::Credential;
use zori_providers::qdrant::{Point, Qdrant};
use zori_redact::Redactor;

use super::MemoryPlace;
use crate::ledger::DailyBudget;
use crate::model;

/// How long a question may take on its way to likeness.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long nobody is asked after a failure.
const PAUSE: Duration = Duration::from_secs(60);
/// How much of a message is embedded, in characters: what small models take.
const MOST_CHARS: usize = 6_000;
/// How many points are asked for, and how like they must be. Of them 50 count, but none of the session that asks.
const POINTS: usize = 200;
const ALIKE: f64 = 0.2;
/// How many points are deleted with one request.
const DELETED: usize = 1_000;

/// Where vectors come from and where they are kept.
#[derive(Clone, Default)]
pub struct VectorSettings {
    /// The model; `None`: the built-in embedder.
    pub embedder: Option<EmbedderSettings>,
    /// The server; `None`: the database.
    pub qdrant: Option<QdrantSettings>,
}

/// A model of a provider.
#[derive(Clone)]
pub struct EmbedderSettings {
    /// The provider.
    pub facts: &'static ProviderFacts,
    /// Where its API is.
    pub base_url: String,
    /// Its key, where it needs one.
    pub key: Option<Credential>,
    /// The model's name there.
    pub model: String,
    /// What the user says that models cost.
    pub price_list: PriceList,
    /// What all requests of a day may cost, where somebody says so.
    pub daily: Option<DailyBudget>,
}

impl EmbedderSettings {
    /// Returns what it costs, if that is known.
    pub fn prices(&self) -> Option<Prices> {
        model::prices(self.facts, &self.base_url, &self.price_list, &self.model)
    }
}

/// A Qdrant server.
#[derive(Clone)]
pub struct QdrantSettings {
    /// Where it is.
    pub url: String,
    /// Its key, where it has one.
    pub key: Option<Secret>,
}

impl std::fmt::Debug for VectorSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VectorSettings").finish_non_exhaustive()
    }
}

impl VectorSettings {
    /// Returns whether anybody but this process is asked.
    pub fn ask_others(&self) -> bool {
        self.embedder.is_some() || self.qdrant.is_some()
    }
}

/// Where the store of a project is that vectors are made for.
pub trait StorePlace: Clone + Send + 'static {
    /// Opens it for writing.
    fn open(&self) -> Result<ProjectStore, IndexError>;
}

/// Makes vectors and compares by them.
pub struct Vectors {
    embedder: Option<Metered>,
    qdrant: Option<Qdrant>,
    /// Texts leave this machine without what looks like a secret.
    redactor: Redactor,
    clock: Arc<dyn Clock>,
    /// Until when nobody is asked.
    paused_until: Mutex<Option<Duration>>,
    said: AtomicBool,
    of: VectorsOf,
}

/// A model, and what its requests are counted in.
struct Metered {
    embedder: Embedder,
    prices: Option<Prices>,
    ledger: Option<Arc<dyn Ledger>>,
}

impl Metered {
    /// Asks, unless the day's budget is spent, and counts what was asked.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
        if let Some(why) = self.ledger.as_ref().and_then(|ledger| ledger.refuses()) {
            return Err(why);
        }
        let made = self.embedder.embed(texts).await.map_err(|failure| failure.message)?;
        if let Some(ledger) = &self.ledger {
            let usage = Usage { input: made.tokens, ..Usage::NOTHING };
            ledger.add(self.embedder.model(), Spent::request(usage, self.prices));
        }
        Ok(made.vectors)
    }
}

/// What a question is compared by.
#[derive(Clone, Debug, PartialEq)]
pub enum AskedBy {
    /// The built-in embedder.
    BuiltIn,
    /// A vector of a model.
    Vector(VectorKind, Vec<f32>),
    /// The likest points of a server.
    Points(Vec<i64>),
}

impl AskedBy {
    /// Returns it for a search.
    pub fn likeness(&self) -> Likeness<'_> {
        match self {
            Self::BuiltIn => Likeness::BuiltIn,
            Self::Vector(kind, vector) => Likeness::Vector(kind, vector),
            Self::Points(points) => Likeness::Points(points),
        }
    }

    /// Returns the vector, where there is one.
    pub fn vector(&self) -> Option<(&VectorKind, &[f32])> {
        match self {
            Self::Vector(kind, vector) => Some((kind, vector)),
            Self::BuiltIn | Self::Points(_) => None,
        }
    }
}

impl Vectors {
    /// Returns what makes vectors for a project; `None` where the built-in embedder and the database are all there is.
    pub fn new(
        settings: &VectorSettings,
        place: &MemoryPlace,
        transport: &Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Option<Arc<Self>> {
        if !settings.ask_others() {
            return None;
        }
        let collection = format!("zori_{}", zori_index::project_key(&place.project));
        Some(Arc::new(Self::made(settings, Some(collection), transport, clock, VectorsOf::Messages)))
    }

    /// Returns what makes vectors of code. They are kept in the database; without a model it is the built-in embedder that makes them.
    pub fn of_code(
        settings: &VectorSettings,
        transport: &Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        Arc::new(Self::made(settings, None, transport, clock, VectorsOf::Chunks))
    }

    /// `collection`: where points are in a server, if they may be there.
    fn made(
        settings: &VectorSettings,
        collection: Option<String>,
        transport: &Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
        of: VectorsOf,
    ) -> Self {
        let embedder = settings.embedder.as_ref().map(|settings| {
            let endpoint = Endpoint {
                base_url: settings.base_url.clone(),
                key: settings.key.clone(),
                transport: transport.clone(),
                limits: embeddings::LIMITS,
                clock: clock.clone(),
            };
            let ledger =
                settings.daily.as_ref().map(|daily| daily.ledger(settings.facts.name, None, clock.clone()));
            let embedder = Embedder::new(settings.facts, endpoint, settings.model.clone());
            Metered { embedder, prices: settings.prices(), ledger }
        });
        let qdrant = settings.qdrant.as_ref().zip(collection).map(|(qdrant, collection)| {
            Qdrant::new(transport.clone(), &qdrant.url, qdrant.key.clone(), collection)
        });
        Self {
            embedder,
            qdrant,
            redactor: Redactor::new(Secrets::default()),
            clock,
            paused_until: Mutex::default(),
            said: AtomicBool::new(false),
            of,
        }
    }

    /// Returns what a question is compared by. Where nobody answers it is the built-in likeness, with what is to be said about it, once.
    pub async fn ask(&self, question: &str) -> (AskedBy, Option<String>) {
        if self.is_paused() {
            return (AskedBy::BuiltIn, None);
        }
        let asked = tokio::time::timeout(PATIENCE, self.asked(question)).await;
        let late = || format!("no answer within {} s", PATIENCE.as_secs());
        match asked.unwrap_or_else(|_| Err(late())) {
            Ok(asked) => (asked, None),
            Err(why) => {
                self.pause();
                (AskedBy::BuiltIn, self.say_once(&why))
            }
        }
    }

    /// Returns what is said about a failure, the first time.
    pub fn say_once(&self, why: &str) -> Option<String> {
        let first = !self.said.swap(true, Ordering::Relaxed);
        let searched = match self.of {
            VectorsOf::Messages => "memory",
            VectorsOf::Chunks => "code",
        };
        first.then(|| format!("Searching {searched} without vectors of a model: {why}"))
    }

    async fn asked(&self, question: &str) -> Result<AskedBy, String> {
        let (kind, mut vectors) = self.embed(&[question]).await?;
        let vector = vectors.swap_remove(0);
        Ok(match &self.qdrant {
            Some(qdrant) => {
                let found = qdrant.query(&kind.to_string(), &vector, POINTS, ALIKE).await;
                AskedBy::Points(found.map_err(|error| error.to_string())?)
            }
            None => AskedBy::Vector(kind, vector),
        })
    }

    /// Makes what vectors are missing, at most so many, and deletes points of messages that are gone. Returns how many were made.
    pub async fn catch_up(&self, place: &impl StorePlace, now: i64, most: usize) -> Result<u64, String> {
        if self.is_paused() {
            return Ok(0);
        }
        let caught_up = self.caught_up(place, now, most).await;
        if caught_up.is_err() {
            self.pause();
        }
        caught_up
    }

    async fn caught_up(&self, place: &impl StorePlace, now: i64, most: usize) -> Result<u64, String> {
        // Which kind of vectors a model makes is known when it has made one.
        let (kind, _) = self.embed(&["length"]).await?;
        if let Some(qdrant) = &self.qdrant {
            self.prepare(qdrant, &kind, place, now).await?;
        }
        let (mut made, in_qdrant, of) = (0, self.qdrant.is_some(), self.of);
        while made < most as u64 {
            let wanted = kind.clone();
            let batch = (most - made as usize).min(embeddings::BATCH);
            let missing = with_store(place, move |store| match in_qdrant {
                true => store.without_point(&wanted, batch),
                false => store.without_vector(of, &wanted, batch),
            })
            .await?;
            if missing.is_empty() {
                let kept = kind.clone();
                with_store(place, move |store| store.drop_other_vectors(of, &kept, now)).await?;
                break;
            }
            made += missing.len() as u64;
            self.make(&kind, missing, place, now).await?;
        }
        if let Some(qdrant) = &self.qdrant {
            self.delete_gone(qdrant, place, now).await?;
        }
        Ok(made)
    }

    /// Makes vectors, and keeps them.
    async fn make(
        &self,
        kind: &VectorKind,
        missing: Vec<Unembedded>,
        place: &impl StorePlace,
        now: i64,
    ) -> Result<(), String> {
        let texts: Vec<&str> = missing.iter().map(|one| one.text.as_str()).collect();
        let (made_kind, vectors) = self.embed(&texts).await?;
        if made_kind != *kind {
            return Err(format!("{} makes vectors of different lengths", kind.model));
        }
        let (kind, of) = (kind.clone(), self.of);
        let Some(qdrant) = &self.qdrant else {
            let vectors: Vec<_> = missing.iter().map(|one| one.owner).zip(vectors).collect();
            return with_store(place, move |store| store.put_vectors(of, &kind, &vectors, now)).await;
        };
        let ids: Vec<(i64, i64)> = missing
            .iter()
            .map(|message| (message.owner, point_id(&kind, message.owner, &message.text)))
            .collect();
        let points: Vec<Point> =
            ids.iter().zip(vectors).map(|((_, id), vector)| Point { id: *id, vector }).collect();
        qdrant.put(&kind.to_string(), &points).await.map_err(|error| error.to_string())?;
        with_store(place, move |store| store.put_points(&kind, &ids, now)).await
    }

    /// Has the collection hold vectors of this kind and no other.
    async fn prepare(
        &self,
        qdrant: &Qdrant,
        kind: &VectorKind,
        place: &impl StorePlace,
        now: i64,
    ) -> Result<(), String> {
        let (dims, wanted) = (qdrant.dims().await.map_err(|error| error.to_string())?, kind.clone());
        let mixed = with_store(place, move |store| store.has_other_points(&wanted)).await?;
        if dims == Some(kind.dims) && !mixed {
            return Ok(());
        }
        if dims.is_some() {
            qdrant.drop_collection().await.map_err(|error| error.to_string())?;
        }
        qdrant.create(kind.dims).await.map_err(|error| error.to_string())?;
        with_store(place, move |store| store.drop_points(now)).await
    }

    async fn delete_gone(&self, qdrant: &Qdrant, place: &impl StorePlace, now: i64) -> Result<(), String> {
        loop {
            let gone = with_store(place, |store| store.gone_points(DELETED)).await?;
            if gone.is_empty() {
                return Ok(());
            }
            qdrant.delete(&gone).await.map_err(|error| error.to_string())?;
            with_store(place, move |store| store.points_deleted(&gone, now)).await?;
        }
    }

    /// Deletes what a server outside keeps of the project.
    pub async fn purge(&self) -> Result<(), String> {
        match &self.qdrant {
            Some(qdrant) => qdrant.drop_collection().await.map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    async fn embed(&self, texts: &[&str]) -> Result<(VectorKind, Vec<Vec<f32>>), String> {
        let Some(metered) = &self.embedder else {
            let vectors: Vec<_> = texts.iter().map(|text| built_in_vector(cut(text))).collect();
            return Ok((VectorKind::built_in(), vectors));
        };
        let clean: Vec<_> = texts.iter().map(|text| self.redactor.redact(text)).collect();
        let clean: Vec<&str> = clean.iter().map(|text| cut(text)).collect();
        let vectors = metered.embed(&clean).await?;
        let dims = vectors.first().map_or(0, Vec::len);
        Ok((VectorKind { model: metered.embedder.name(), dims }, vectors))
    }

    fn is_paused(&self) -> bool {
        let until = *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| self.clock.elapsed() < until)
    }

    fn pause(&self) {
        let until = self.clock.elapsed() + PAUSE;
        *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }
}

/// Does something with the database on a thread that may wait.
async fn with_store<T: Send + 'static>(
    place: &impl StorePlace,
    work: impl FnOnce(&mut ProjectStore) -> Result<T, IndexError> + Send + 'static,
) -> Result<T, String> {
    let place = place.clone();
    match tokio::task::spawn_blocking(move || work(&mut place.open()?)).await {
        Ok(done) => done.map_err(|error: IndexError| error.to_string()),
        Err(_) => Err("a defect".to_owned()),
    }
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(MOST_CHARS).map_or(text, |(at, _)| &text[..at])
}
