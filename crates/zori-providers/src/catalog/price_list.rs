//! What a user says that models cost, by the beginnings of their names.

use std::sync::Arc;

use zori_core::cost::Prices;

use super::{Origin, ProviderFacts};

/// Prices of a user's own. Cloning shares them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceList {
    entries: Arc<[(String, Prices)]>,
    /// The day they were written down, as the user has it.
    as_of: Option<Arc<str>>,
}

impl PriceList {
    /// Returns the list. A name is the beginning of a model's, or `PROVIDER:` with one.
    pub fn new(entries: Vec<(String, Prices)>, as_of: Option<&str>) -> Self {
        Self { entries: entries.into(), as_of: as_of.map(Into::into) }
    }

    /// Returns the day the prices were written down.
    pub fn as_of(&self) -> Option<&str> {
        self.as_of.as_deref()
    }

    /// Returns what the list says of a model: the longest name that it begins with, and of two that are alike the one with the provider.
    pub fn of(&self, provider: &str, model: &str) -> Option<Prices> {
        let fits = |name: &str| {
            let bare = model.starts_with(name).then_some((name.len(), false));
            let of_provider = || {
                let rest = name.strip_prefix(provider)?.strip_prefix(':')?;
                model.starts_with(rest).then_some((rest.len(), true))
            };
            bare.or_else(of_provider)
        };
        let found = self.entries.iter().filter_map(|(name, prices)| Some((fits(name)?, prices)));
        found.max_by_key(|(fit, _)| *fit).map(|(_, prices)| *prices)
    }

    /// Returns what a model costs: by its own table in the config file, else by this list, else by the catalogue.
    pub fn prices(&self, facts: &ProviderFacts, model: &str) -> Option<Prices> {
        self.stated(facts, model).or_else(|| facts.prices(model))
    }

    /// Returns what the user says that a model costs.
    pub fn stated(&self, facts: &ProviderFacts, model: &str) -> Option<Prices> {
        let own = facts.model(model).filter(|model| model.origin == Origin::Config);
        own.and_then(|model| model.prices).or_else(|| self.of(facts.name, model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_holds() {
        let price =
            |input: u64| Prices { input, output: input, cache_read: input, cache_write: input, long: None };
        let names = [("gpt", 1), ("gpt-5", 2), ("openai:gpt-5", 3), ("openai:gpt-5-mini", 4), ("ollama:", 5)];
        let list = PriceList::new(names.map(|(name, input)| (name.to_owned(), price(input))).to_vec(), None);
        let of = |provider: &str, model: &str| list.of(provider, model).map(|prices| prices.input);
        assert_eq!(of("openai", "gpt-4"), Some(1));
        assert_eq!((of("openai", "gpt-5"), of("openrouter", "gpt-5")), (Some(3), Some(2)));
        assert_eq!((of("openai", "gpt-5-mini-x"), of("ollama", "any")), (Some(4), Some(5)));
        assert_eq!((of("anthropic", "claude"), PriceList::default().of("openai", "gpt-5")), (None, None));
    }
}
