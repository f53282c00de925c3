//! The models a server lists: `GET {base}/models`, which everybody answers who speaks Chat Completions.

use bytes::Bytes;
use serde::Deserialize;
use zori_core::failure::ProviderFailure;
use zori_core::time::Timestamp;
use zori_core::transport::{HttpRequest, Limits, Method, Redirects, Transport};

use crate::answer::{parse, utf8};
use crate::failure::{self, BodyEnd};

/// How much of a list is read.
const MAX_LIST: usize = 4 * 1024 * 1024;

/// Asks for the list; the ids come in the server's order. `now` reads the dates in `Retry-After`.
pub async fn list(
    transport: &dyn Transport,
    base_url: &str,
    headers: Vec<(&'static str, String)>,
    limits: Limits,
    now: Timestamp,
) -> Result<Vec<String>, ProviderFailure> {
    let request = HttpRequest {
        method: Method::Get,
        url: format!("{}/models", base_url.trim_end_matches('/')),
        headers,
        body: Bytes::new(),
        limits,
        redirects: Redirects::SameOrigin,
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
    Ok(ids.filter(|id| !id.trim().is_empty()).collect())
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
        assert_eq!(ids(r#"{"object":"list","data":null}"#), Ok(vec![]));
        assert_eq!(
            ids("<html>"),
            Err("the provider's answer cannot be read: expected value at line 1 column 1".into())
        );
    }
}
