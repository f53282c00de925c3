//! A question to a provider's own search tool, and its answer as text with the pages it names.
//!
//! The request has no other tool and nothing of the conversation, and its answer comes in one piece: what is found becomes the
//! result of a call, like that of any other tool.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use zori_core::cost::MicroUsd;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::provider::{Chunk, Delivery, StopReason};
use zori_core::search::{SearchAnswer, SearchQuery};
use zori_core::transport::HttpRequest;
use zori_core::usage::Usage;

use crate::answer::{self, Decode, parse, protocol_error};
use crate::endpoint::Endpoint;

/// How long an answer may be.
pub(crate) const MAX_TOKENS: u32 = 4096;
/// How often a provider may search for one question.
const MAX_SEARCHES: u32 = 5;
/// What a search costs beside its tokens, where the usage says how many there were: 10 dollars for a thousand.
const SEARCH_FEE: u64 = 10_000;

/// Reads the answer of one API.
type Read = fn(&str) -> Result<SearchAnswer, ProviderFailure>;

/// Returns what the model is asked to do with its tool.
fn task(search: &SearchQuery) -> String {
    let mut text = format!(
        "Search the web for this, and report what the pages say: facts, numbers, versions and dates as they are, in a few short \
         paragraphs, without advice.\n\n{}",
        search.query
    );
    for (words, domains) in
        [("Only use pages of", &search.allowed_domains), ("Use no pages of", &search.blocked_domains)]
    {
        if !domains.is_empty() {
            text.push_str(&format!("\n\n{words}: {}", domains.join(", ")));
        }
    }
    text
}

/// Sends a question and reads the answer.
pub(crate) async fn ask(
    endpoint: &Endpoint,
    request: HttpRequest,
    read: Read,
) -> Result<SearchAnswer, ProviderFailure> {
    let found = Arc::default();
    let decoder = Decoder { found: Arc::clone(&found), read };
    // What was said is in `found`; there is nothing to wait for.
    let said = endpoint.ask(request, decoder, Delivery::Whole).await;
    drop(said.map_err(|failure| endpoint.without_key(failure))?);
    let answer = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    answer.ok_or_else(|| protocol_error("no answer to a search"))
}

struct Decoder {
    found: Arc<Mutex<Option<SearchAnswer>>>,
    read: Read,
}

impl Decode for Decoder {
    fn event(&mut self, _: &[u8], _: &[u8], _: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        Err(protocol_error("a stream where one answer was asked for"))
    }

    fn is_done(&self) -> bool {
        false
    }

    fn whole(self, body: &[u8]) -> Result<VecDeque<Chunk>, ProviderFailure> {
        let answer = (self.read)(answer::utf8(body)?)?;
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        Ok([Chunk::Done(StopReason::EndTurn)].into())
    }
}

fn bytes(body: &Value) -> Vec<u8> {
    serde_json::to_vec(body).expect("a value is JSON")
}

/// Makes a body for Anthropic.
pub(crate) fn anthropic_body(model: &str, search: &SearchQuery) -> Vec<u8> {
    let mut tool = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": MAX_SEARCHES});
    // The API takes one of the lists.
    if !search.allowed_domains.is_empty() {
        tool["allowed_domains"] = json!(search.allowed_domains);
    } else if !search.blocked_domains.is_empty() {
        tool["blocked_domains"] = json!(search.blocked_domains);
    }
    bytes(&json!({
        "model": model,
        "max_tokens": MAX_TOKENS,
        "tools": [tool],
        "messages": [{"role": "user", "content": task(search)}],
    }))
}

#[derive(Deserialize)]
struct AnthropicAnswer {
    #[serde(default)]
    content: Vec<AnthropicBlock>,
    #[serde(default)]
    usage: AnthropicUsage,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct AnthropicBlock {
    r#type: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    citations: Option<Vec<Page>>,
    /// The pages that were found, or an error.
    #[serde(default)]
    content: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AnthropicUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    server_tool_use: Option<ServerTools>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ServerTools {
    web_search_requests: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Page {
    #[serde(alias = "uri")]
    url: String,
    title: Option<String>,
}

impl Page {
    fn add_to(&self, answer: &mut SearchAnswer) {
        answer.add_source(&self.url, self.title.as_deref().unwrap_or_default());
    }
}

/// Reads an answer of Anthropic.
pub(crate) fn anthropic_answer(text: &str) -> Result<SearchAnswer, ProviderFailure> {
    let read: AnthropicAnswer = parse(text)?;
    if let Some(error) = &read.error {
        return Err(failed(error["message"].as_str()));
    }
    let (mut answer, mut problem) = (SearchAnswer::default(), None);
    for block in &read.content {
        answer.text.push_str(&block.text);
        block.citations.iter().flatten().for_each(|page| page.add_to(&mut answer));
    }
    // What was found and not cited comes behind what was.
    for block in read.content.iter().filter(|block| block.r#type == "web_search_tool_result") {
        match serde_json::from_value::<Vec<Page>>(block.content.clone()) {
            Ok(pages) => pages.iter().for_each(|page| page.add_to(&mut answer)),
            Err(_) => problem = block.content["error_code"].as_str().map(str::to_owned),
        }
    }
    let used = &read.usage;
    answer.usage = Usage {
        input: used.input_tokens,
        output: used.output_tokens,
        cache_read: used.cache_read_input_tokens,
        cache_write: used.cache_creation_input_tokens,
        cache_unknown: 0,
    };
    answer.fee =
        MicroUsd(SEARCH_FEE * used.server_tool_use.as_ref().map_or(0, |tools| tools.web_search_requests));
    match problem {
        Some(problem) if answer.sources.is_empty() => {
            Err(failed(Some(&format!("the search failed ({problem})"))))
        }
        _ => with_text(answer),
    }
}

/// Makes a body for OpenAI's Responses API.
pub(crate) fn responses_body(model: &str, search: &SearchQuery) -> Vec<u8> {
    let mut tool = json!({"type": "web_search"});
    if !search.allowed_domains.is_empty() {
        tool["filters"] = json!({"allowed_domains": search.allowed_domains});
    }
    bytes(&json!({
        "model": model,
        "store": false,
        "max_output_tokens": MAX_TOKENS,
        "tools": [tool],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": task(search)}]}],
    }))
}

#[derive(Deserialize)]
struct ResponsesAnswer {
    #[serde(default)]
    output: Vec<ResponsesItem>,
    usage: Option<ResponsesUsage>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsesItem {
    r#type: String,
    content: Vec<ResponsesPart>,
    /// What a search looked at.
    action: Option<ResponsesAction>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsesAction {
    sources: Vec<Page>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsesPart {
    text: String,
    refusal: Option<String>,
    annotations: Vec<Page>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsesUsage {
    input_tokens: u64,
    output_tokens: u64,
    input_tokens_details: Option<CachedTokens>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CachedTokens {
    cached_tokens: u64,
}

/// Reads an answer of OpenAI's Responses API.
pub(crate) fn responses_answer(text: &str) -> Result<SearchAnswer, ProviderFailure> {
    let read: ResponsesAnswer = parse(text)?;
    if let Some(error) = read.error.as_ref().filter(|error| !error.is_null()) {
        return Err(failed(error["message"].as_str()));
    }
    let mut answer = SearchAnswer::default();
    let messages = || read.output.iter().filter(|item| item.r#type == "message");
    for part in messages().flat_map(|item| &item.content) {
        answer.text.push_str(&part.text);
        answer.text.push_str(part.refusal.as_deref().unwrap_or_default());
        part.annotations.iter().for_each(|page| page.add_to(&mut answer));
    }
    let searches = read.output.iter().filter(|item| item.r#type == "web_search_call");
    searches
        .flat_map(|item| &item.action)
        .flat_map(|action| &action.sources)
        .for_each(|page| page.add_to(&mut answer));
    if let Some(used) = read.usage {
        let cached =
            used.input_tokens_details.map_or(0, |details| details.cached_tokens).min(used.input_tokens);
        answer.usage = Usage {
            input: used.input_tokens - cached,
            output: used.output_tokens,
            cache_read: cached,
            ..Usage::NOTHING
        };
    }
    with_text(answer)
}

/// Makes a body for Gemini.
pub(crate) fn gemini_body(search: &SearchQuery) -> Vec<u8> {
    bytes(&json!({
        "tools": [{"google_search": {}}],
        "generationConfig": {"maxOutputTokens": MAX_TOKENS},
        "contents": [{"role": "user", "parts": [{"text": task(search)}]}],
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiAnswer {
    #[serde(default)]
    candidates: Vec<GeminiCandidate>,
    usage_metadata: Option<GeminiUsage>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GeminiCandidate {
    content: GeminiContent,
    grounding_metadata: GeminiGrounding,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GeminiContent {
    parts: Vec<GeminiPart>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GeminiPart {
    text: String,
    thought: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GeminiGrounding {
    grounding_chunks: Vec<GeminiChunk>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GeminiChunk {
    web: Option<Page>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GeminiUsage {
    prompt_token_count: u64,
    tool_use_prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

/// Reads an answer of Gemini.
pub(crate) fn gemini_answer(text: &str) -> Result<SearchAnswer, ProviderFailure> {
    let read: GeminiAnswer = parse(text)?;
    if let Some(error) = &read.error {
        return Err(failed(error["message"].as_str()));
    }
    let mut answer = SearchAnswer::default();
    if let Some(candidate) = read.candidates.first() {
        let said = candidate.content.parts.iter().filter(|part| !part.thought);
        said.for_each(|part| answer.text.push_str(&part.text));
        let pages =
            candidate.grounding_metadata.grounding_chunks.iter().filter_map(|chunk| chunk.web.as_ref());
        pages.for_each(|page| page.add_to(&mut answer));
    }
    if let Some(used) = read.usage_metadata {
        let cached = used.cached_content_token_count.min(used.prompt_token_count);
        answer.usage = Usage {
            input: used.prompt_token_count - cached + used.tool_use_prompt_token_count,
            output: used.candidates_token_count + used.thoughts_token_count,
            cache_read: cached,
            ..Usage::NOTHING
        };
    }
    with_text(answer)
}

/// An answer says something.
fn with_text(mut answer: SearchAnswer) -> Result<SearchAnswer, ProviderFailure> {
    answer.text = answer.text.trim().to_owned();
    match answer.text.is_empty() && answer.sources.is_empty() {
        true => Err(failed(Some("the search came to nothing"))),
        false => Ok(answer),
    }
}

fn failed(why: Option<&str>) -> ProviderFailure {
    ProviderFailure::new(FailureKind::ApiError, why.unwrap_or("the search failed"))
}

#[cfg(test)]
mod tests;
