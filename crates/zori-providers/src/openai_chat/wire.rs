//! The JSON of Chat Completions, as it goes out and as it comes in. Shapes only: `encode` and `decode` know what
//! they mean.
//!
//! Incoming types tolerate what they do not know, and take a missing field, `null` and an empty one for the same.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::usage::Usage;

use crate::borrowed_json::{BorrowedText, SmallList};

// Outgoing.

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub(super) r#type: &'static str,
    pub(super) function: ToolFunction<'a>,
}

#[derive(Serialize)]
pub(super) struct ToolFunction<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) parameters: &'a RawValue,
}

#[derive(Serialize)]
pub(super) struct TextMessage<'a> {
    pub(super) role: &'a str,
    pub(super) content: &'a str,
}

/// A message of text and images.
#[derive(Serialize)]
pub(super) struct MultipartMessage<'a> {
    pub(super) role: &'a str,
    pub(super) content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
    File { file: File },
}

/// A document with its bytes.
#[derive(Serialize)]
pub(super) struct File {
    pub(super) filename: &'static str,
    pub(super) file_data: String,
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    pub(super) url: String,
}

/// A tool's answer.
#[derive(Serialize)]
pub(super) struct ToolMessage<'a> {
    pub(super) role: &'static str,
    pub(super) tool_call_id: &'a str,
    pub(super) content: &'a str,
}

/// What the model said and called.
#[derive(Serialize)]
pub(super) struct AssistantMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reasoning_details: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) r#type: &'static str,
    pub(super) function: CallFunction<'a>,
}

#[derive(Serialize)]
pub(super) struct CallFunction<'a> {
    pub(super) name: Cow<'a, str>,
    /// JSON inside a string.
    pub(super) arguments: &'a str,
}

// Incoming.

/// A chunk of a stream, or an answer in one piece: they differ in `delta` and `message` only.
#[derive(Deserialize)]
pub(super) struct Completion<'a> {
    #[serde(borrow, default)]
    pub(super) model: Option<BorrowedText<'a>>,
    #[serde(borrow, default)]
    pub(super) choices: Option<SmallList<Choice<'a>>>,
    #[serde(default)]
    pub(super) usage: Option<Counts>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: u64,
    #[serde(borrow, default, alias = "message")]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) refusal: Option<String>,
    /// What DeepSeek calls it, and after it llama.cpp and vLLM.
    #[serde(default)]
    pub(super) reasoning_content: Option<String>,
    /// What OpenRouter calls it, and after it Ollama and LM Studio.
    #[serde(default)]
    pub(super) reasoning: Option<String>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    /// What `tool_calls` was before there could be several.
    #[serde(borrow, default)]
    pub(super) function_call: Option<FunctionDelta<'a>>,
}

/// Which element of `reasoning_details` a fragment belongs to.
#[derive(Deserialize, PartialEq, Eq)]
pub(super) struct DetailPosition {
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) index: i64,
}

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(default)]
    pub(super) name: Option<String>,
    /// Text of JSON; some servers send the JSON itself.
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct ErrorObject<'a> {
    #[serde(default)]
    pub(super) message: Option<String>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    /// A number or a word.
    #[serde(borrow, default)]
    pub(super) code: Option<&'a RawValue>,
}

/// Total token counts.
#[derive(Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
    /// OpenRouter's, for models whose vendor charges for it.
    #[serde(default)]
    cache_write_tokens: Option<u64>,
}

impl Counts {
    /// Returns the counts as we count: the prompt without what a cache had to do with (D-10).
    pub(super) fn usage(&self) -> Usage {
        let told = self.prompt_tokens_details.as_ref().is_some_and(|d| d.cached_tokens.is_some());
        let detail = |field: fn(&PromptDetails) -> Option<u64>| {
            self.prompt_tokens_details.as_ref().and_then(field).unwrap_or(0)
        };
        let cache_read = detail(|d| d.cached_tokens);
        let cache_write = detail(|d| d.cache_write_tokens);
        let prompt = self.prompt_tokens.unwrap_or(0);
        Usage {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: self.completion_tokens.unwrap_or(0),
            cache_read,
            cache_write,
            cache_unknown: if told { 0 } else { prompt },
        }
    }
}
