//! Where the memory of a project is for this run, and what the settings say about it.

use std::path::Path;

use zori_contract::failure::Failure;
use zori_core::secret::Secrets;
use zori_host::{
    DailyBudget, EmbedderSettings, MemoryPlace, MemorySettings, ModelSettings, QdrantSettings, Recall,
    VectorSettings,
};
use zori_index::{DreamGates, IndexError, database_path};
use zori_providers::catalog::ProviderFacts;
use zori_providers::embeddings::Embedder;
use zori_vault::reference;

use crate::config::Config;
use crate::data_dir::DataDir;
use crate::environment::Environment;
use crate::error::{DATABASE_UNUSABLE, SETTING_INVALID};
use crate::model_choice::{Key, KeyFound, base_url, find_key, unknown_in};
use crate::settings::limits;
use crate::uses::{self, Uses};
use crate::vault;

/// How many messages can be recalled, unless the config says another number.
const MOST_ENTRIES: u64 = 100_000;
/// The variable with the key of a Qdrant server.
const QDRANT_KEY: &str = "QDRANT_API_KEY";

/// Returns where the memory of the project is that a folder belongs to. `folder` is canonical.
pub fn place(data_dir: &DataDir, folder: &Path, scratch: &Path) -> MemoryPlace {
    let project = data_dir.project_root(folder);
    MemoryPlace {
        database: database_path(data_dir.dir()),
        sessions: data_dir.sessions(),
        marker: uses::folder(data_dir.dir(), &project).join(uses::MEMORY),
        home: data_dir.home(),
        scratch: scratch.to_owned(),
        durable: data_dir.is_durable(),
        project,
    }
}

/// Returns what a session knows of the memory of its project; `None` where it does not use it. Keys are looked for only where it does.
pub fn settings(
    config: &Config,
    env: &Environment,
    data_dir: Option<&DataDir>,
    uses: Option<&Uses>,
    root: &Path,
    scratch: &Path,
) -> Result<Option<MemorySettings>, Failure> {
    let recall = match config.text("memory.recall") {
        Some("off") => return Ok(None),
        Some("auto") => Recall::Auto,
        _ => Recall::Manual,
    };
    let used = recall == Recall::Auto || uses.is_some_and(|uses| uses.has(uses::MEMORY));
    let Some(data_dir) = data_dir.filter(|_| used) else { return Ok(None) };
    let place = place(data_dir, root, scratch);
    let vectors = match asks_others(config) || config.text("memory.graph").is_some() {
        true => {
            // The model is asked in the background, where nobody could be told that it may not be.
            extractor(config, env, &place)?;
            vectors(config, env, &place)?
        }
        false => VectorSettings::default(),
    };
    Ok(Some(MemorySettings { place, recall, vectors }))
}

/// Returns whether the config names a model or a server for vectors.
pub fn asks_others(config: &Config) -> bool {
    config.text("memory.embedder").is_some() || uses_qdrant(config)
}

/// Returns whether vectors are kept in a Qdrant server.
pub fn uses_qdrant(config: &Config) -> bool {
    config.text("memory.vectors") == Some("qdrant")
}

/// Returns where vectors come from and where they are kept; what cannot be understood is refused.
pub fn vectors(config: &Config, env: &Environment, place: &MemoryPlace) -> Result<VectorSettings, Failure> {
    let embedder =
        config.text("memory.embedder").map(|name| embedder(name, config, env, place)).transpose()?;
    let qdrant = uses_qdrant(config).then(|| qdrant(config, env)).transpose()?;
    Ok(VectorSettings { embedder, qdrant })
}

fn embedder(
    name: &str,
    config: &Config,
    env: &Environment,
    place: &MemoryPlace,
) -> Result<EmbedderSettings, Failure> {
    let hint = "for example `openai:text-embedding-3-small`, or `ollama:nomic-embed-text`";
    let (facts, model) = provider_and_model("memory.embedder", name, hint, config)?;
    if !Embedder::has(&facts.api) {
        let why = format!("`memory.embedder = \"{name}\"`: {} has no embeddings", facts.display);
        return Err(Failure::new(&SETTING_INVALID, why).hint(hint));
    }
    let base_url = base_url(facts, config, env)?;
    let key = find_key(facts, &base_url, config, env).ok().flatten();
    let key = key.as_ref().and_then(Key::credential);
    let daily = limits::of_place(config, env, place);
    let settings = EmbedderSettings {
        facts,
        base_url,
        key,
        model: model.to_owned(),
        price_list: config.prices.clone(),
        daily,
    };
    limits::check_daily(settings.daily.as_ref(), config, settings.prices(), name)?;
    Ok(settings)
}

/// A model that takes facts from messages.
pub struct Extractor {
    pub model: ModelSettings,
    pub key: KeyFound,
    /// What all requests of a day may cost, where somebody says so.
    pub daily: Option<DailyBudget>,
}

/// Returns the model that takes facts from messages; `None` where nobody named one.
pub fn extractor(
    config: &Config,
    env: &Environment,
    place: &MemoryPlace,
) -> Result<Option<Extractor>, Failure> {
    let Some(name) = config.text("memory.graph") else { return Ok(None) };
    let hint = "for example `anthropic:claude-haiku-4-5`";
    let (facts, id) = provider_and_model("memory.graph", name, hint, config)?;
    let base_url = base_url(facts, config, env)?;
    let key = find_key(facts, &base_url, config, env);
    let price_list = config.prices.clone();
    let model = ModelSettings { base_url, price_list, ..ModelSettings::new(facts, id) };
    let daily = limits::of_place(config, env, place);
    limits::check_daily(daily.as_ref(), config, model.prices(id), name)?;
    Ok(Some(Extractor { model, key, daily }))
}

/// Reads `PROVIDER:MODEL`.
fn provider_and_model<'n>(
    key: &str,
    name: &'n str,
    hint: &'static str,
    config: &Config,
) -> Result<(&'static ProviderFacts, &'n str), Failure> {
    let Some((provider, model)) = name.split_once(':').filter(|(_, model)| !model.trim().is_empty()) else {
        let why = format!("`{key} = \"{name}\"`: it is written as PROVIDER:MODEL");
        return Err(Failure::new(&SETTING_INVALID, why).hint(hint));
    };
    let facts = config.catalog.provider(provider).ok_or_else(|| unknown_in(provider, config))?;
    Ok((facts, model.trim()))
}

fn qdrant(config: &Config, env: &Environment) -> Result<QdrantSettings, Failure> {
    let wrong = |why: String| Failure::new(&SETTING_INVALID, why);
    let Some(url) = config.text("memory.qdrant.url") else {
        return Err(wrong("`memory.vectors = \"qdrant\"` needs `memory.qdrant.url`".into())
            .hint("for example `url = \"http://127.0.0.1:6333\"` in `[memory.qdrant]`"));
    };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    if rest.is_none_or(|rest| rest.is_empty() || rest.contains(['?', '#', '@', ' '])) {
        return Err(wrong(format!(
            "`memory.qdrant.url = \"{url}\"`: it is an address such as http://127.0.0.1:6333, without a key in it"
        )));
    }
    let from_env = env.text(QDRANT_KEY).filter(|key| !key.trim().is_empty()).map(Into::into);
    let key = match (from_env, config.text("memory.qdrant.api_key")) {
        (Some(key), _) => Some(key),
        (None, Some(text)) => {
            let Some(entry) = reference::whole(text) else {
                return Err(wrong(
                    "`memory.qdrant.api_key` is a reference such as `vault:QDRANT_API_KEY`".into(),
                )
                .hint(format!("or set {QDRANT_KEY}")));
            };
            let found = vault::resolver(config, env, Secrets::default()).get(entry);
            Some(found.map_err(|error| wrong(format!("`memory.qdrant.api_key`: {error}")))?)
        }
        (None, None) => None,
    };
    Ok(QdrantSettings { url: url.to_owned(), key })
}

/// Returns how many messages of a project can be recalled.
pub fn max_entries(config: &Config) -> u64 {
    config.count("memory.max_entries").unwrap_or(MOST_ENTRIES)
}

/// Returns when memory is put in order.
pub fn dream_gates(config: &Config) -> DreamGates {
    DreamGates {
        min_sessions: config.count("memory.dream.min_sessions").unwrap_or(3),
        min_hours: config.count("memory.dream.min_hours").unwrap_or(24),
    }
}

/// Says why the database cannot be used, and what to do about it.
pub fn unusable(error: &IndexError) -> Failure {
    Failure::new(&DATABASE_UNUSABLE, error.to_string()).hint(error.way_on())
}
