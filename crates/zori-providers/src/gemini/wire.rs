//! Gemini's JSON, as it goes out and as it comes in. Shapes only: `encode` and `decode` know what they mean.
//!
//! Incoming types are flat and tolerate what they do not know. Text that becomes a chunk is owned from the start;
//! what is only looked at is borrowed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::image::Image;
use zori_core::usage::Usage;

use super::effort::ThinkingConfig;
use crate::borrowed_json::{BorrowedText, Ignored, SmallList};

// Outgoing.

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionDeclaration<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    /// The schema as it is; its elder sibling `parameters` takes only a part of the language.
    pub(super) parameters_json_schema: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig {
    pub(super) max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum OutPart<'a> {
    Text(&'a str),
    InlineData(Blob),
    FunctionResponse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: &'a str,
        response: &'a RawValue,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        parts: Vec<OutPart<'a>>,
    },
}

/// An image's bytes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob {
    mime_type: &'static str,
    data: String,
}

impl From<&Image> for Blob {
    fn from(image: &Image) -> Self {
        Self { mime_type: image.format().media_type(), data: image.base64() }
    }
}

/// A call, with the signature beside it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallPart<'a> {
    pub(super) function_call: OutCall<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<&'a RawValue>,
}

#[derive(Serialize)]
pub(super) struct OutCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) args: &'a RawValue,
}

// Incoming. Every event of a stream is a response of its own, with what is new in it.

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response<'a> {
    #[serde(borrow, default)]
    pub(super) candidates: Option<SmallList<Candidate<'a>>>,
    #[serde(default)]
    pub(super) prompt_feedback: Option<PromptFeedback>,
    #[serde(default)]
    pub(super) usage_metadata: Option<Counts>,
    #[serde(borrow, default)]
    pub(super) model_version: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) error: Option<ErrorObject>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(default)]
    pub(super) index: u64,
    #[serde(borrow, default)]
    pub(super) content: Option<Content<'a>>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
    #[serde(default)]
    pub(super) finish_message: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow, default)]
    pub(super) parts: Option<SmallList<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thought: bool,
    #[serde(borrow, default)]
    pub(super) thought_signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) function_call: Option<Call<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Call<'a> {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(borrow, default)]
    pub(super) args: Option<&'a RawValue>,
}

/// What is read back of a part that was kept for its signature.
#[derive(Deserialize)]
pub(super) struct KeptPart<'a> {
    #[serde(borrow, default)]
    pub(super) text: Cow<'a, str>,
    #[serde(default)]
    pub(super) thought: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback {
    #[serde(default)]
    pub(super) block_reason: Option<String>,
    #[serde(default)]
    pub(super) block_reason_message: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ErrorObject {
    #[serde(default)]
    pub(super) code: Option<u16>,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) status: String,
}

/// Token counts; each is cumulative, and one that is missing has not changed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
    #[serde(default)]
    prompt_token_count: Option<u64>,
    #[serde(default)]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(default)]
    cached_content_token_count: Option<u64>,
    #[serde(default)]
    candidates_token_count: Option<u64>,
    #[serde(default)]
    thoughts_token_count: Option<u64>,
    /// What is prompt text, what images: in every event, and the same as above.
    #[serde(default, rename = "promptTokensDetails")]
    _prompt_tokens_details: Option<Ignored>,
    #[serde(default, rename = "cacheTokensDetails")]
    _cache_tokens_details: Option<Ignored>,
    #[serde(default, rename = "candidatesTokensDetails")]
    _candidates_tokens_details: Option<Ignored>,
}

impl Counts {
    /// Writes the counts that are there over the ones known so far.
    pub(super) fn update(&mut self, newer: &Self) {
        self.prompt_token_count = newer.prompt_token_count.or(self.prompt_token_count);
        self.tool_use_prompt_token_count =
            newer.tool_use_prompt_token_count.or(self.tool_use_prompt_token_count);
        self.cached_content_token_count =
            newer.cached_content_token_count.or(self.cached_content_token_count);
        self.candidates_token_count = newer.candidates_token_count.or(self.candidates_token_count);
        self.thoughts_token_count = newer.thoughts_token_count.or(self.thoughts_token_count);
    }

    /// Returns the counts as all providers' are counted (D-10): the prompt has the cached tokens in it, the
    /// candidates do not have the thoughts.
    pub(super) fn usage(&self) -> Usage {
        let count = |value: Option<u64>| value.unwrap_or(0);
        let prompt = count(self.prompt_token_count);
        let cached = count(self.cached_content_token_count).min(prompt);
        Usage {
            input: (prompt - cached).saturating_add(count(self.tool_use_prompt_token_count)),
            output: count(self.candidates_token_count).saturating_add(count(self.thoughts_token_count)),
            cache_read: cached,
            cache_write: 0,
            cache_unknown: if self.cached_content_token_count.is_some() { 0 } else { prompt },
        }
    }
}
