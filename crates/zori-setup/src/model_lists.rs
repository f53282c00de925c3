//! The lists of models that providers gave when `models list --refresh` asked them: one file a provider, `<base>/models/NAME.json`.
//!
//! They are a cache. Nobody is asked for one when a run starts: it reads the file of the provider it has chosen, if there is one. A file
//! that is missing, broken, old, or from another address counts for nothing.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zori_contract::atomic::private_write;
use zori_contract::path::AbsPath;
use zori_core::cost::Prices;
use zori_core::time::Timestamp;
use zori_providers::catalog::ProviderFacts;
use zori_providers::models::{ListedModel, Service};

/// How long a list counts, in seconds: models come and go faster than that.
const MAX_AGE: i64 = 30 * 24 * 60 * 60;

/// How much of a file is read; the longest list there is has a tenth of that.
const MAX_FILE: u64 = 4 * 1024 * 1024;

const SCHEMA: u32 = 1;

/// The folder of the lists; without one there are none.
#[derive(Clone, Debug, Default)]
pub struct ModelLists(Option<PathBuf>);

impl ModelLists {
    /// Returns the lists below a data directory.
    pub fn below(data_dir: &Path) -> Self {
        Self(Some(data_dir.join("models")))
    }

    /// Returns the provider with what it said of its models at this address.
    pub fn applied(
        &self,
        facts: &'static ProviderFacts,
        base_url: &str,
        now: Timestamp,
    ) -> &'static ProviderFacts {
        match self.read(facts, base_url, now) {
            Some(listed) => facts.with_listed(&listed),
            None => facts,
        }
    }

    /// Returns what a provider said of its models at this address, if it did lately.
    pub fn read(&self, facts: &ProviderFacts, base_url: &str, now: Timestamp) -> Option<Vec<ListedModel>> {
        let mut bytes = Vec::new();
        fs::File::open(self.path(facts)?).ok()?.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
        let file: File = serde_json::from_slice(&bytes).ok()?;
        let age = now.0.checked_sub(file.asked_at)?;
        let counts = file.schema == SCHEMA
            && file.base_url == without_user(base_url)
            && (-MAX_AGE..=MAX_AGE).contains(&age);
        counts.then(|| file.models.into_iter().map(ListedModel::from).collect())
    }

    /// Keeps what a provider said.
    pub fn keep(
        &self,
        facts: &ProviderFacts,
        base_url: &str,
        now: Timestamp,
        listed: &[ListedModel],
    ) -> io::Result<()> {
        let none = || io::Error::new(io::ErrorKind::NotFound, "there is no base directory");
        let path = self.path(facts).and_then(|path| AbsPath::new(&path)).ok_or_else(none)?;
        let models = listed.iter().map(Entry::from).collect();
        let file = File { schema: SCHEMA, base_url: without_user(base_url), asked_at: now.0, models };
        fs::create_dir_all(path.as_path().parent().unwrap_or(Path::new("/")))?;
        private_write(&path, &serde_json::to_vec_pretty(&file)?)
    }

    fn path(&self, facts: &ProviderFacts) -> Option<PathBuf> {
        // A provider's name has letters, digits and dashes.
        self.0.as_ref().map(|dir| dir.join(format!("{}.json", facts.name)))
    }
}

/// Returns an address without a name and password in it, which are nobody's business.
fn without_user(base_url: &str) -> String {
    let Some((scheme, rest)) = base_url.split_once("://") else { return base_url.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    match path {
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}"),
    }
}

#[derive(Serialize, Deserialize)]
struct File {
    schema: u32,
    base_url: String,
    /// Seconds since 1970.
    asked_at: i64,
    models: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(default)]
struct Entry {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<bool>,
    /// Input, output, read from and written to the cache, in micro-dollars for a million tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    prices: Option<[u64; 4]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<EntryService>,
    #[serde(skip_serializing_if = "Option::is_none")]
    successor: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EntryService {
    Current,
    Until(String),
    Ended,
}

impl Default for Entry {
    fn default() -> Self {
        Self::from(&ListedModel::named(""))
    }
}

impl From<&ListedModel> for Entry {
    fn from(model: &ListedModel) -> Self {
        Self {
            id: model.id.clone(),
            context_window: model.context_window,
            max_output: model.max_output,
            tools: model.tools,
            images: model.images,
            thinking: model.thinking,
            prices: model.prices.map(|p| [p.input, p.output, p.cache_read, p.cache_write]),
            service: match &model.service {
                Service::Unsaid => None,
                Service::Current => Some(EntryService::Current),
                Service::Until(day) => Some(EntryService::Until(day.clone())),
                Service::Ended => Some(EntryService::Ended),
            },
            successor: model.successor.clone(),
        }
    }
}

impl From<Entry> for ListedModel {
    fn from(entry: Entry) -> Self {
        let prices = |[input, output, cache_read, cache_write]: [u64; 4]| Prices {
            input,
            output,
            cache_read,
            cache_write,
            long: None,
        };
        Self {
            id: entry.id,
            context_window: entry.context_window.filter(|tokens| *tokens > 0),
            max_output: entry.max_output.filter(|tokens| *tokens > 0),
            tools: entry.tools,
            images: entry.images,
            thinking: entry.thinking,
            prices: entry.prices.map(prices),
            service: match entry.service {
                None => Service::Unsaid,
                Some(EntryService::Current) => Service::Current,
                Some(EntryService::Until(day)) => Service::Until(day),
                Some(EntryService::Ended) => Service::Ended,
            },
            successor: entry.successor,
        }
    }
}

#[cfg(test)]
mod tests {
    use zori_providers::catalog::PROVIDERS;

    use super::*;

    const NOW: Timestamp = Timestamp(1_795_000_000);
    const URL: &str = "https://user:secret@api.example/v1";

    fn listed() -> Vec<ListedModel> {
        let prices = Some(Prices { input: 1, output: 2, cache_read: 3, cache_write: 4, long: None });
        vec![
            ListedModel {
                context_window: Some(9_000),
                max_output: Some(900),
                tools: Some(true),
                images: Some(false),
                thinking: Some(true),
                prices,
                service: Service::Until("2027-01-01".into()),
                successor: Some("b".into()),
                ..ListedModel::named("a")
            },
            ListedModel { service: Service::Ended, ..ListedModel::named("b") },
            ListedModel { service: Service::Current, ..ListedModel::named("c") },
            ListedModel::named("d"),
        ]
    }

    #[test]
    fn kept_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let (lists, facts) = (ModelLists::below(folder.path()), &PROVIDERS[0]);
        assert_eq!(lists.read(facts, URL, NOW), None);
        lists.keep(facts, URL, NOW, &listed()).unwrap();
        assert_eq!(lists.read(facts, URL, NOW), Some(listed()));
        assert_eq!(lists.read(facts, "https://api.example/v1", NOW), Some(listed()), "whoever asks");
        let text = fs::read_to_string(folder.path().join("models/anthropic.json")).unwrap();
        assert!(!text.contains("secret"));
        // Another address, another time, another provider.
        assert_eq!(lists.read(facts, "https://other.example/v1", NOW), None);
        assert_eq!(lists.read(facts, URL, Timestamp(NOW.0 + MAX_AGE)), Some(listed()));
        assert_eq!(lists.read(facts, URL, Timestamp(NOW.0 + MAX_AGE + 1)), None);
        assert_eq!(lists.read(&PROVIDERS[1], URL, NOW), None);
    }

    #[test]
    fn a_broken_file_counts_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (lists, facts) = (ModelLists::below(folder.path()), &PROVIDERS[0]);
        lists.keep(facts, URL, NOW, &listed()).unwrap();
        let path = folder.path().join("models/anthropic.json");
        let whole = fs::read_to_string(&path).unwrap();
        for broken in [
            "",
            "null",
            "[]",
            "{}",
            &whole[..whole.len() / 2],
            &whole.replace(r#""schema": 1"#, r#""schema": 2"#),
        ] {
            fs::write(&path, broken).unwrap();
            assert!(std::ptr::eq(lists.applied(facts, URL, NOW), facts), "{broken}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(std::ptr::eq(lists.applied(facts, URL, NOW), facts));
        assert!(std::ptr::eq(ModelLists::default().applied(facts, URL, NOW), facts));
    }
}
