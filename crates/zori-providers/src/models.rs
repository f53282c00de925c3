//! The models a server lists. [`ask`] returns what it says of each, for the cache that `models list --refresh` fills; [`list`] the
//! names alone, of servers that speak Chat Completions. `models/listed.rs` reads the answers.

mod listed;

use bytes::Bytes;
use zori_core::failure::ProviderFailure;
use zori_core::time::Timestamp;
use zori_core::transport::{HttpRequest, Method, Redirects, Timeouts, Transport, named_headers};

use crate::anthropic;
use crate::catalog::{Api, ProviderFacts};
use crate::endpoint::Headers;
use crate::failure::{self, BodyEnd};
use crate::key::Credential;
use crate::openai_chat::window;

pub use listed::{ListedModel, Service};

/// How much of a list is read.
const MAX_LIST: usize = 8 * 1024 * 1024;

/// How many pages of a list are read; the vendors' fit on one.
const MAX_PAGES: usize = 20;

/// Asks for the names. They come in the server's order, models that do not chat last. `now` reads the dates in
/// `Retry-After`.
pub async fn list(
    transport: &dyn Transport,
    base_url: &str,
    headers: Vec<(&'static str, String)>,
    limits: Timeouts,
    now: Timestamp,
) -> Result<Vec<String>, ProviderFailure> {
    let url = format!("{}/models", base_url.trim_end_matches('/'));
    let body = get(transport, url, headers, limits, now).await?;
    let mut ids: Vec<_> = listed::compatible(&body)?.into_iter().map(|model| model.id).collect();
    // The first one is asked where none is named, and it has to be one that answers. The sort is stable.
    ids.sort_by_key(|id| !listed::converses(id));
    Ok(ids)
}

/// Asks a provider for its models, with all it says of them. Models that do not chat are left out.
pub async fn ask(
    transport: &dyn Transport,
    facts: &ProviderFacts,
    base_url: &str,
    credential: Option<&Credential>,
    limits: Timeouts,
    now: Timestamp,
) -> Result<Vec<ListedModel>, ProviderFailure> {
    let asked = pages(transport, facts, base_url, headers(facts, credential)?, limits, now).await;
    asked.map_err(|failed| match credential {
        Some(credential) => failure::without(credential.secret(), failed),
        None => failed,
    })
}

async fn pages(
    transport: &dyn Transport,
    facts: &ProviderFacts,
    base_url: &str,
    headers: Headers,
    limits: Timeouts,
    now: Timestamp,
) -> Result<Vec<ListedModel>, ProviderFailure> {
    let base = base_url.trim_end_matches('/');
    let page = |url: String| get(transport, url, headers.clone(), limits, now);
    let mut found = Vec::new();
    match facts.api {
        Api::Anthropic => {
            let mut after = String::new();
            for _ in 0..MAX_PAGES {
                let body = page(format!("{base}/v1/models?limit=1000{after}")).await?;
                let (models, next) = listed::anthropic(&body)?;
                found.extend(models);
                let Some(id) = next else { break };
                after = format!("&after_id={id}");
            }
        }
        Api::Gemini => {
            let mut token = String::new();
            for _ in 0..MAX_PAGES {
                let body = page(format!("{base}/models?pageSize=1000{token}")).await?;
                let (models, next) = listed::gemini(&body)?;
                found.extend(models);
                let Some(next) = next else { break };
                token = format!("&pageToken={next}");
            }
        }
        // Which model its agent uses is the server's business.
        Api::AgentZero => {}
        Api::OpenAiResponses => found = listed::compatible(&page(format!("{base}/models")).await?)?,
        Api::OpenAiChat(quirks) => {
            found = listed::compatible(&page(format!("{base}/models")).await?)?;
            if quirks.cuts_unsaid {
                // Its list says nothing of windows; what counts is the one a model was loaded with.
                let loaded = window::all(transport, base).await;
                for model in &mut found {
                    model.context_window = model.context_window.or(window::of(&loaded, &model.id));
                }
            }
        }
    }
    found.retain(|model| listed::converses(&model.id));
    Ok(found)
}

/// Returns the headers of a request that says who asks and no more.
pub(crate) fn headers(
    facts: &ProviderFacts,
    credential: Option<&Credential>,
) -> Result<Headers, ProviderFailure> {
    if credential.is_some() {
        Credential::usable(credential, facts.key_var)?;
    }
    let own = |name| credential.map(|credential| credential.header(name)).into_iter();
    let bearer = || credential.map(Credential::bearer).into_iter();
    Ok(match facts.api {
        Api::Anthropic => {
            let version = ("anthropic-version", anthropic::VERSION.to_owned());
            own("x-api-key").chain([version]).collect()
        }
        Api::Gemini => own("x-goog-api-key").collect(),
        Api::AgentZero => own("x-api-key").collect(),
        Api::OpenAiResponses => bearer().collect(),
        Api::OpenAiChat(quirks) => {
            let more = quirks.headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
            bearer().chain(more).collect()
        }
    })
}

async fn get(
    transport: &dyn Transport,
    url: String,
    headers: Headers,
    limits: Timeouts,
    now: Timestamp,
) -> Result<Vec<u8>, ProviderFailure> {
    let request = HttpRequest {
        method: Method::Get,
        url,
        headers: named_headers(headers),
        body: Bytes::new(),
        limits,
        redirects: Redirects::SameOrigin,
        addresses: Default::default(),
    };
    let mut response = transport.send(request).await.map_err(|f| failure::before_answer(&f))?;
    if !(200..300).contains(&response.status) {
        return Err(failure::from_response(response, now).await);
    }
    match failure::read_bounded(&mut response.body, MAX_LIST).await {
        (body, BodyEnd::Complete) => Ok(body),
        (_, BodyEnd::Failed(broken)) => Err(failure::mid_answer(&broken)),
        (body, BodyEnd::TooLong) => Err(failure::unreadable("the list of models is too large", &body)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::replay::{Exchange, ReplayTransport};

    async fn asked(provider: &str, answers: Vec<Exchange>) -> (Vec<String>, Vec<String>) {
        let transport = ReplayTransport::new(answers);
        let facts = catalog::provider(provider).unwrap();
        let key = Credential::Key("sk-0123456789".into());
        let listed =
            ask(&transport, facts, "http://h/", Some(&key), Timeouts::DEFAULT, Timestamp(0)).await.unwrap();
        let shown = listed.iter().map(|model| format!("{} {:?}", model.id, model.context_window)).collect();
        (shown, transport.requests().iter().map(|request| request.url.clone()).collect())
    }

    #[tokio::test]
    async fn page_by_page() {
        let (models, urls) = asked(
            "anthropic",
            vec![
                Exchange::json(r#"{"data":[{"id":"a","max_input_tokens":9}],"has_more":true,"last_id":"a"}"#),
                Exchange::json(r#"{"data":[{"id":"b"}],"has_more":false,"last_id":"b"}"#),
            ],
        )
        .await;
        assert_eq!(models, ["a Some(9)", "b None"]);
        assert_eq!(urls, ["http://h/v1/models?limit=1000", "http://h/v1/models?limit=1000&after_id=a"]);
        let (models, urls) = asked(
            "gemini",
            vec![
                Exchange::json(r#"{"models":[{"name":"models/a"}],"nextPageToken":"t"}"#),
                Exchange::json(r#"{"models":[{"name":"models/b","inputTokenLimit":7}]}"#),
            ],
        )
        .await;
        assert_eq!(models, ["a None", "b Some(7)"]);
        assert_eq!(urls, ["http://h/models?pageSize=1000", "http://h/models?pageSize=1000&pageToken=t"]);
    }

    #[tokio::test]
    async fn the_windows_of_ollama_are_those_it_has_loaded() {
        let (models, urls) = asked(
            "ollama",
            vec![
                Exchange::json(
                    r#"{"data":[{"id":"qwen3:latest"},{"id":"other"},{"id":"nomic-embed-text"}]}"#,
                ),
                Exchange::json(r#"{"models":[{"name":"qwen3:latest","context_length":4096}]}"#),
            ],
        )
        .await;
        assert_eq!(models, ["qwen3:latest Some(4096)", "other None"]);
        assert_eq!(urls, ["http://h/models", "http://h/api/ps"]);
    }
}
