//! The window of a model on Ollama, which leaves the beginning of longer prompts out without a word: the system prompt and the
//! tools go first. The server says how large it is once the model is loaded.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::transport::{HttpRequest, Method, Redirects, Timeouts, Transport};

use crate::failure::{BodyEnd, read_bounded};

/// A shorter request fits into every window.
pub(super) const ALWAYS_FITS: usize = 8_000;

/// How many bytes of a request are at most a token; less is rare, so nothing is refused that fits.
const BYTES_PER_TOKEN: usize = 5;

/// How much of the answer is read.
const MAX_ANSWER: usize = 1 << 20;

/// A server on this machine answers at once, or is not asked.
const LIMITS: Timeouts = Timeouts {
    connect: Some(Duration::from_secs(1)),
    first_byte: Some(Duration::from_secs(2)),
    idle: Some(Duration::from_secs(2)),
    ..Timeouts::DEFAULT
};

#[derive(Deserialize)]
struct Loaded {
    models: Vec<LoadedModel>,
}

/// A model that is loaded.
#[derive(Deserialize)]
pub(crate) struct LoadedModel {
    name: String,
    /// Older servers do not say.
    context_length: Option<u32>,
}

/// Asks with which window a model is loaded; `None` where it is not, or the server does not say.
pub(super) async fn loaded(transport: &dyn Transport, base_url: &str, model: &str) -> Option<u32> {
    of(&all(transport, base_url).await, model)
}

/// Returns the window of a model, if it is among those that are loaded.
pub(crate) fn of(loaded: &[LoadedModel], model: &str) -> Option<u32> {
    let same = |name: &str| name == model || name.strip_suffix(":latest") == Some(model);
    loaded.iter().find(|loaded| same(&loaded.name))?.context_length
}

/// Asks which models are loaded; none where the server does not say.
pub(crate) async fn all(transport: &dyn Transport, base_url: &str) -> Vec<LoadedModel> {
    asked(transport, base_url).await.unwrap_or_default()
}

async fn asked(transport: &dyn Transport, base_url: &str) -> Option<Vec<LoadedModel>> {
    let root = base_url.trim_end_matches('/');
    let request = HttpRequest {
        method: Method::Get,
        url: format!("{}/api/ps", root.strip_suffix("/v1").unwrap_or(root)),
        headers: Vec::new(),
        body: Bytes::new(),
        limits: LIMITS,
        redirects: Redirects::SameOrigin,
        addresses: Default::default(),
    };
    let mut response = transport.send(request).await.ok().filter(|response| response.status == 200)?;
    let (body, BodyEnd::Complete) = read_bounded(&mut response.body, MAX_ANSWER).await else { return None };
    let Loaded { models } = serde_json::from_slice(&body).ok()?;
    Some(models)
}

/// Returns the failure of a request that would not fit into the window.
pub(super) fn too_small(model: &str, window: u32, body: usize) -> Option<ProviderFailure> {
    let tokens = body / BYTES_PER_TOKEN;
    (tokens > window as usize).then(|| {
        let message = format!(
            "Ollama has loaded `{model}` with a window of {window} tokens and would leave the beginning of the conversation out \
             without a word; start it with OLLAMA_CONTEXT_LENGTH=32768 or more"
        );
        ProviderFailure::new(FailureKind::ContextLength, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{Exchange, ReplayTransport};

    async fn window(answer: &'static str, model: &str) -> Option<u32> {
        let transport = ReplayTransport::new([Exchange::json(answer)]);
        let window = loaded(&transport, "http://127.0.0.1:11434/v1", model).await;
        assert_eq!(transport.requests()[0].url, "http://127.0.0.1:11434/api/ps");
        window
    }

    #[tokio::test]
    async fn what_is_loaded() {
        let answer = r#"{"models":[{"name":"a:1b","context_length":4096},{"name":"b:latest","context_length":8192},{"name":"c"}]}"#;
        assert_eq!(window(answer, "a:1b").await, Some(4096));
        assert_eq!(window(answer, "b").await, Some(8192));
        assert_eq!(window(answer, "c").await, None);
        assert_eq!(window(answer, "d").await, None);
        assert_eq!(window("<html>", "a").await, None);
    }

    #[test]
    fn what_does_not_fit() {
        assert_eq!(too_small("a", 4096, 20_000), None);
        let said = too_small("a", 4096, 20_500).map(|failure| (failure.kind, failure.message));
        let message = "Ollama has loaded `a` with a window of 4096 tokens and would leave the beginning of the conversation out \
                       without a word; start it with OLLAMA_CONTEXT_LENGTH=32768 or more";
        assert_eq!(said, Some((FailureKind::ContextLength, message.to_owned())));
    }
}
