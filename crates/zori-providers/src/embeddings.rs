//! Texts to vectors, by the endpoint of a provider: OpenAI's, which compatible servers have, too (Ollama, llama.cpp, LM Studio), and Gemini's.
//! What the vectors are for is the caller's business.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::transport::{HttpRequest, Timeouts};

use crate::catalog::{Api, ProviderFacts};
use crate::endpoint::Endpoint;
use crate::failure::{self, BodyEnd};
use crate::models;

/// How many texts one request may have; vendors take 100 and more.
pub const BATCH: usize = 64;
/// How long each phase may take. Nobody waits for a memory as for an answer.
pub const LIMITS: Timeouts = Timeouts {
    connect: Some(Duration::from_secs(5)),
    first_byte: Some(Duration::from_secs(20)),
    idle: Some(Duration::from_secs(5)),
    pings: Some(Duration::from_secs(20)),
};
/// The longest answer: vectors of a batch, written out.
const MAX_ANSWER: usize = 32 << 20;
/// The longest vector.
const MAX_DIMS: usize = 16_384;

/// How many bytes a token has where a server does not count: fewer than most texts have, so that nothing is free by mistake.
const BYTES_A_TOKEN: u64 = 3;

/// Vectors of texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// In the order of the texts. All have the same length.
    pub vectors: Vec<Vec<f32>>,
    /// How many tokens the texts have: as the server counted, else by their length.
    pub tokens: u64,
}

/// A model that turns texts into vectors.
#[derive(Clone, Debug)]
pub struct Embedder {
    facts: &'static ProviderFacts,
    endpoint: Endpoint,
    model: String,
}

impl Embedder {
    /// Returns whether a provider's API has embeddings.
    pub fn has(api: &Api) -> bool {
        matches!(api, Api::OpenAiResponses | Api::OpenAiChat(_) | Api::Gemini)
    }

    /// Returns the model of a provider whose API [has](Self::has) embeddings.
    pub fn new(facts: &'static ProviderFacts, endpoint: Endpoint, model: String) -> Self {
        Self { facts, endpoint, model }
    }

    /// Returns its name: `provider:model`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.facts.name, self.model)
    }

    /// Returns the name of the model alone.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the vectors of at most [`BATCH`] texts.
    pub async fn embed(&self, texts: &[&str]) -> Result<Embedded, ProviderFailure> {
        let body = self.post(texts)?;
        let (vectors, counted) = match self.facts.api {
            Api::Gemini => gemini(&body, self).await?,
            _ => compatible(&body, self).await?,
        };
        let dims = vectors.first().map_or(0, Vec::len);
        let odd = |vector: &Vec<f32>| vector.len() != dims || !vector.iter().all(|value| value.is_finite());
        if vectors.len() != texts.len() || dims == 0 || dims > MAX_DIMS || vectors.iter().any(odd) {
            let message = format!("{} returned something else than a vector for each text", self.name());
            return Err(ProviderFailure::new(FailureKind::Parse, message));
        }
        let bytes: u64 = texts.iter().map(|text| text.len() as u64).sum();
        Ok(Embedded { vectors, tokens: counted.unwrap_or_else(|| bytes.div_ceil(BYTES_A_TOKEN)) })
    }

    fn post(&self, texts: &[&str]) -> Result<HttpRequest, ProviderFailure> {
        let headers = models::headers(self.facts, self.endpoint.key.as_ref())?;
        let (path, body) = match self.facts.api {
            Api::Gemini => {
                let model = format!("models/{}", self.model);
                let requests = texts.iter().map(|text| GeminiRequest {
                    model: &model,
                    content: GeminiContent { parts: [GeminiPart { text }] },
                });
                let body = serde_json::to_vec(&GeminiBatch { requests: requests.collect() });
                (format!("/{model}:batchEmbedContents"), body)
            }
            _ => {
                let body = Request { model: &self.model, input: texts, encoding_format: "float" };
                ("/embeddings".to_owned(), serde_json::to_vec(&body))
            }
        };
        Ok(self.endpoint.post(&path, headers, body.expect("plain values can be written")))
    }

    async fn ask(&self, request: &HttpRequest) -> Result<Vec<u8>, ProviderFailure> {
        let sent = self.endpoint.transport.send(request.clone()).await;
        let mut response = sent.map_err(|failure| failure::before_answer(&failure))?;
        if !(200..300).contains(&response.status) {
            let failure = failure::from_response(response, self.endpoint.clock.now()).await;
            return Err(self.endpoint.without_key(failure));
        }
        match failure::read_bounded(&mut response.body, MAX_ANSWER).await {
            (body, BodyEnd::Complete) => Ok(body),
            (_, BodyEnd::Failed(broken)) => Err(failure::mid_answer(&broken)),
            (body, BodyEnd::TooLong) => Err(failure::unreadable("the vectors are too long", &body)),
        }
    }
}

/// Vectors, and how many tokens the server counted.
type Read = (Vec<Vec<f32>>, Option<u64>);

async fn compatible(request: &HttpRequest, embedder: &Embedder) -> Result<Read, ProviderFailure> {
    let body = embedder.ask(request).await?;
    let answer: Answer = parse(&body)?;
    let mut data = answer.data;
    // Servers say which text each is of; in which order they come is theirs.
    data.sort_by_key(|vector| vector.index);
    let tokens = answer.usage.and_then(|usage| usage.prompt_tokens).filter(|tokens| *tokens > 0);
    Ok((data.into_iter().map(|vector| vector.embedding).collect(), tokens))
}

async fn gemini(request: &HttpRequest, embedder: &Embedder) -> Result<Read, ProviderFailure> {
    let body = embedder.ask(request).await?;
    let answer: GeminiAnswer = parse(&body)?;
    let tokens = answer.usage.and_then(|usage| usage.prompt_tokens).filter(|tokens| *tokens > 0);
    Ok((answer.embeddings.into_iter().map(|vector| vector.values).collect(), tokens))
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, ProviderFailure> {
    serde_json::from_slice(body)
        .map_err(|error| failure::unreadable(format!("the vectors cannot be read: {error}"), body))
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
    usage: Option<Counted>,
}

/// OpenAI's count, and Gemini's by another name.
#[derive(Deserialize)]
struct Counted {
    #[serde(alias = "promptTokenCount")]
    prompt_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Embedding {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Serialize)]
struct GeminiBatch<'a> {
    requests: Vec<GeminiRequest<'a>>,
}

#[derive(Serialize)]
struct GeminiRequest<'a> {
    model: &'a str,
    content: GeminiContent<'a>,
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    parts: [GeminiPart<'a>; 1],
}

#[derive(Serialize)]
struct GeminiPart<'a> {
    text: &'a str,
}

#[derive(Deserialize)]
struct GeminiAnswer {
    embeddings: Vec<GeminiEmbedding>,
    #[serde(rename = "usageMetadata")]
    usage: Option<Counted>,
}

#[derive(Deserialize)]
struct GeminiEmbedding {
    values: Vec<f32>,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zori_core::time::{Clock, Timestamp};

    use super::*;
    use crate::catalog;
    use crate::key::Credential;
    use crate::replay::{Exchange, ReplayTransport};

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp(0)
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }

    /// Returns what two texts became, the address, and what was sent.
    async fn asked(provider: &str, answer: Exchange) -> String {
        let transport = Arc::new(ReplayTransport::new(vec![answer]));
        let endpoint = Endpoint {
            base_url: "http://h/v1".into(),
            key: Some(Credential::Key("sk-0123456789".into())),
            transport: transport.clone(),
            limits: LIMITS,
            clock: Arc::new(Still),
        };
        let embedder = Embedder::new(catalog::provider(provider).unwrap(), endpoint, "m".into());
        let vectors = match embedder.embed(&["one", "two"]).await {
            Ok(Embedded { vectors, tokens }) => format!("{vectors:?} {tokens}"),
            Err(failure) => failure.message,
        };
        let request = &transport.requests()[0];
        format!("{vectors}\n{}\n{}", request.url, String::from_utf8_lossy(&request.body))
    }

    #[tokio::test]
    async fn the_endpoints() {
        let answer = r#"{"object":"list","data":[{"index":1,"embedding":[0.5,2]},{"index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":7,"total_tokens":7}}"#;
        for provider in ["openai", "ollama"] {
            assert_eq!(
                asked(provider, Exchange::json(answer)).await,
                "[[1.0, 0.0], [0.5, 2.0]] 7\nhttp://h/v1/embeddings\n\
                 {\"model\":\"m\",\"input\":[\"one\",\"two\"],\"encoding_format\":\"float\"}"
            );
        }
        let answer = r#"{"embeddings":[{"values":[1,0]},{"values":[0.5,2]}]}"#;
        assert_eq!(
            asked("gemini", Exchange::json(answer)).await,
            "[[1.0, 0.0], [0.5, 2.0]] 2\nhttp://h/v1/models/m:batchEmbedContents\n\
             {\"requests\":[{\"model\":\"models/m\",\"content\":{\"parts\":[{\"text\":\"one\"}]}},\
             {\"model\":\"models/m\",\"content\":{\"parts\":[{\"text\":\"two\"}]}}]}"
        );
    }

    #[tokio::test]
    async fn answers_that_are_none() {
        for answer in [
            r#"{"data":[{"index":0,"embedding":[1,0]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}"#,
        ] {
            let said = asked("openai", Exchange::json(answer)).await;
            assert!(
                said.starts_with("openai:m returned something else than a vector for each text\n"),
                "{said}"
            );
        }
        let said = asked("openai", Exchange::json("{}")).await;
        assert!(said.starts_with("the vectors cannot be read: missing field `data`"), "{said}");
    }
}
