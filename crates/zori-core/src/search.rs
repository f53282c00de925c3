//! Searching the web with the tool that a provider runs itself: what is asked, and what comes back.

use crate::BoxFuture;
use crate::cost::MicroUsd;
use crate::failure::ProviderFailure;
use crate::usage::Usage;

/// What is searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The words.
    pub query: String,
    /// Only pages of these hosts count; empty for all.
    pub allowed_domains: Vec<String>,
    /// Pages of these hosts do not.
    pub blocked_domains: Vec<String>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchAnswer {
    /// What the pages say, in the model's words.
    pub text: String,
    /// The pages, in the order they were named, each once.
    pub sources: Vec<Source>,
    /// The tokens it took.
    pub usage: Usage,
    /// What the searches cost beside them, as far as the provider says how many there were.
    pub fee: MicroUsd,
}

impl SearchAnswer {
    /// Adds a page, unless it is there already.
    pub fn add_source(&mut self, url: &str, title: &str) {
        if !url.is_empty() && self.sources.iter().all(|known| known.url != url) {
            self.sources.push(Source { url: url.to_owned(), title: title.to_owned() });
        }
    }
}

/// A page that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its address.
    pub url: String,
    /// Its title; empty where nobody says.
    pub title: String,
}

/// Searches on behalf of one call. The engine implements it with the session's provider, and counts what it costs.
pub trait WebSearch: Send + Sync {
    /// Searches. Dropping the future ends it.
    fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<SearchAnswer, ProviderFailure>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_once() {
        let mut answer = SearchAnswer::default();
        for (url, title) in [("https://a", "A"), ("", "none"), ("https://b", ""), ("https://a", "again")] {
            answer.add_source(url, title);
        }
        let urls: Vec<_> = answer.sources.iter().map(|source| (&*source.url, &*source.title)).collect();
        assert_eq!(urls, [("https://a", "A"), ("https://b", "")]);
    }
}
