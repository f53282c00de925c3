//! The models a server lists: `GET {base}/models`, which every server that speaks Chat Completions answers.

use bytes::Bytes;
use serde::Deserialize;
use zori_core::failure::ProviderFailure;
use zori_core::time::Timestamp;
use zori_core::transport::{HttpRequest, Method, Redirects, Timeouts, Transport};

use crate::answer::{parse, utf8};
use crate::failure::{self, BodyEnd};

/// How much of a list is read.
const MAX_LIST: usize = 4 * 1024 * 1024;

/// Asks for the list. The ids come in the server's order, models that do not chat last. `now` reads the dates in
/// `Retry-After`.
pub async fn list(
    transport: &dyn Transport,
    base_url: &str,
    headers: Vec<(&'static str, String)>,
    limits: Timeouts,
    now: Timestamp,
) -> Result<Vec<String>, ProviderFailure> {
    let request = HttpRequest {
        method: Method::Get,
        url: format!("{}/models", base_url.trim_end_matches('/')),
        headers,
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
        (body, BodyEnd::Complete) => read(&body),
        (_, BodyEnd::Failed(broken)) => Err(failure::mid_answer(&broken)),
        (body, BodyEnd::TooLong) => Err(failure::unreadable("the list of models is too large", &body)),
    }
}

#[derive(Deserialize)]
struct List {
    /// Ollama has `null` here when it has nothing.
    data: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

fn read(body: &[u8]) -> Result<Vec<String>, ProviderFailure> {
    let list: List = parse(utf8(body)?)?;
    let ids = list.data.unwrap_or_default().into_iter().map(|entry| entry.id);
    let mut ids: Vec<_> = ids.filter(|id| !id.trim().is_empty()).collect();
    // The first one is asked where none is named, and it has to be one that answers. The sort is stable.
    ids.sort_by_key(|id| !converses(id));
    Ok(ids)
}

/// Returns whether the model is made for chat, as far as its name tells.
fn converses(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    !id.contains("embed") && !id.contains("rerank")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let ids = |body: &str| read(body.as_bytes()).map_err(|failure| failure.message);
        assert_eq!(
            ids(r#"{"object":"list","data":[{"id":"a"},{"id":" "},{"id":"b","x":1}]}"#),
            Ok(vec!["a".into(), "b".into()])
        );
        assert_eq!(
            ids(r#"{"data":[{"id":"Nomic-Embed-text"},{"id":"z"},{"id":"bge-ReRanker"},{"id":"a"}]}"#),
            Ok(["z", "a", "Nomic-Embed-text", "bge-ReRanker"].map(String::from).into())
        );
        assert_eq!(ids(r#"{"object":"list","data":null}"#), Ok(vec![]));
        assert_eq!(
            ids("<html>"),
            Err("the provider's answer cannot be read: expected value at line 1 column 1".into())
        );
    }
}
