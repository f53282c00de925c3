//! The `web_search` tool: the search tool that the session's provider runs itself, asked in a request of its own. Its answer is
//! text with the pages it names, and a result like any other (TOOL-1).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::search::SearchQuery;
use zori_core::text::prefix;
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;

/// How much of an answer the model reads, and how many pages.
const MAX_TEXT: usize = 32 << 10;
const MAX_SOURCES: usize = 20;

/// The definition of `web_search`.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::WebSearch,
    about: "Search the web; the result says what the pages say, and names them.",
    params: &[
        Param {
            name: "query",
            aliases: &["q", "search_term"],
            ty: Ty::Text,
            need: Need::Required,
            about: "",
        },
        Param {
            name: "allowed_domains",
            aliases: &[],
            ty: Ty::TextList,
            need: Need::Optional,
            about: "only pages of these hosts",
        },
        Param {
            name: "blocked_domains",
            aliases: &[],
            ty: Ty::TextList,
            need: Need::Optional,
            about: "no pages of these",
        },
    ],
};

pub struct WebSearch {
    env: Arc<ToolEnv>,
    /// Whether the tool is listed: once a call was allowed, it is.
    listed: Arc<AtomicBool>,
}

impl WebSearch {
    pub fn new(env: Arc<ToolEnv>, listed: Arc<AtomicBool>) -> Self {
        Self { env, listed }
    }
}

#[derive(Deserialize)]
struct Args {
    query: String,
    allowed_domains: Option<Vec<String>>,
    blocked_domains: Option<Vec<String>>,
}

impl Tool for WebSearch {
    fn kind(&self) -> Option<ToolKind> {
        Some(DEF.kind)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: Args = crate::args::typed(args);
        // No address: what is searched for is not contacted.
        vec![Effect::Net { url: format!("search:{}", args.query.replace("://", ":")) }]
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: Args = crate::args::typed(args);
        Box::pin(async move {
            if cx.search.is_some() {
                self.listed.store(true, Ordering::Relaxed);
            }
            crate::blocking::within(self.env.timeout, search(cx, args)).await
        })
    }
}

async fn search(cx: ToolCx, args: Args) -> ToolOutput {
    let query = SearchQuery {
        query: args.query.trim().to_owned(),
        allowed_domains: args.allowed_domains.unwrap_or_default(),
        blocked_domains: args.blocked_domains.unwrap_or_default(),
    };
    if query.query.is_empty() {
        return ToolOutput::failure(ToolCode::InvalidInput, "`query` is empty; say what to search for");
    }
    if !query.allowed_domains.is_empty() && !query.blocked_domains.is_empty() {
        let message = "`allowed_domains` and `blocked_domains` exclude each other; give one of them";
        return ToolOutput::failure(ToolCode::InvalidInput, message);
    }
    let Some(search) = cx.search else {
        let message = "The model's provider has no search of its own; fetch a page whose address you know";
        return ToolOutput::failure(ToolCode::FetchError, message);
    };
    let words = query.query.clone();
    match search.search(query).await {
        Ok(answer) => {
            let text = prefix(&answer.text, MAX_TEXT);
            let sources: Vec<_> = answer
                .sources
                .iter()
                .take(MAX_SOURCES)
                .map(|source| json!({"url": source.url, "title": source.title}))
                .collect();
            let data = json!({
                "query": words,
                "text": text,
                "truncated": text.len() < answer.text.len(),
                "sources": sources,
            });
            ToolOutput::success(&data.to_string())
        }
        Err(failure) => {
            ToolOutput::failure(ToolCode::FetchError, format!("the search failed: {}", failure.message))
        }
    }
}

#[cfg(test)]
mod tests {
    use zori_core::failure::{FailureKind, ProviderFailure};
    use zori_core::search::{self, SearchAnswer};

    use super::*;
    use crate::testing::{cx, env, runtime};

    struct Found(Result<SearchAnswer, String>);

    impl search::WebSearch for Found {
        fn search(&self, query: SearchQuery) -> BoxFuture<'_, Result<SearchAnswer, ProviderFailure>> {
            let answer = self.0.clone().map(|answer| SearchAnswer {
                text: format!("{} ({:?} {:?})", answer.text, query.allowed_domains, query.blocked_domains),
                ..answer
            });
            let answer = answer.map_err(|why| ProviderFailure::new(FailureKind::ApiError, why));
            Box::pin(std::future::ready(answer))
        }
    }

    fn result(found: Option<Result<SearchAnswer, String>>, args: &str) -> String {
        let args = RawValue::from_string(args.to_owned()).unwrap();
        let search = found.map(|found| -> Arc<dyn search::WebSearch> { Arc::new(Found(found)) });
        let cx = ToolCx { search, ..cx() };
        let folder = tempfile::tempdir().unwrap();
        let tool = WebSearch::new(Arc::new(env(folder.path())), Arc::default());
        runtime().block_on(tool.run(cx, &args)).envelope.get().to_owned()
    }

    #[test]
    fn what_is_found() {
        let mut answer = SearchAnswer { text: "It says so.".into(), ..SearchAnswer::default() };
        answer.add_source("https://a.org/x", "A");
        insta::assert_snapshot!(result(Some(Ok(answer)), r#"{"query":" x ","allowed_domains":["a.org"]}"#), @r#"{"ok":true,"data":{"query":"x","text":"It says so. ([\"a.org\"] [])","truncated":false,"sources":[{"url":"https://a.org/x","title":"A"}]}}"#);
    }

    #[test]
    fn what_is_not() {
        insta::assert_snapshot!(result(Some(Err("busy".into())), r#"{"query":"x"}"#), @r#"{"ok":false,"error":{"code":"fetch_error","message":"the search failed: busy"}}"#);
        insta::assert_snapshot!(result(None, r#"{"query":"x"}"#), @r#"{"ok":false,"error":{"code":"fetch_error","message":"The model's provider has no search of its own; fetch a page whose address you know"}}"#);
        insta::assert_snapshot!(result(None, r#"{"query":" "}"#), @r#"{"ok":false,"error":{"code":"invalid_input","message":"`query` is empty; say what to search for"}}"#);
        insta::assert_snapshot!(result(None, r#"{"query":"x","allowed_domains":["a"],"blocked_domains":["b"]}"#), @r#"{"ok":false,"error":{"code":"invalid_input","message":"`allowed_domains` and `blocked_domains` exclude each other; give one of them"}}"#);
    }

    /// What is searched for is judged as a search, whatever address stands in it.
    #[test]
    fn its_effect() {
        let args = RawValue::from_string(r#"{"query":"http://127.0.0.1/ x"}"#.to_owned()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let tool = WebSearch::new(Arc::new(env(folder.path())), Arc::default());
        assert_eq!(tool.effects(&args), [Effect::Net { url: "search:http:127.0.0.1/ x".into() }]);
    }
}
