//! The Responses API's JSON, as it goes out and as it comes in. Shapes only: `encode` and `decode` know what they
//! mean.
//!
//! Incoming types are flat and tolerate what they do not know. Text that becomes a chunk is owned from the start;
//! what is only looked at is borrowed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::failure::ProviderFailure;
use zori_core::usage::Usage;

use crate::answer::parse;
use crate::borrowed_json::BorrowedText;

// Outgoing.

/// Asks for reasoning that can be sent back although nothing is stored.
pub(super) const INCLUDE: &[u8] = br#","include":["reasoning.encrypted_content"]"#;

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub(super) r#type: &'static str,
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) parameters: &'a RawValue,
    pub(super) strict: bool,
}

#[derive(Serialize)]
pub(super) struct Reasoning {
    pub(super) effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum InputItem<'a> {
    Message {
        role: &'static str,
        content: [Content<'a>; 1],
    },
    /// What the model said, in the form that needs no id of the provider's.
    #[serde(rename = "message")]
    Said {
        role: &'static str,
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Cow<'a, str>>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    #[serde(rename = "message")]
    Shown {
        role: &'static str,
        content: Vec<Content<'a>>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum Content<'a> {
    #[serde(rename = "input_text")]
    Text { text: &'a str },
    #[serde(rename = "input_image")]
    Image { detail: &'static str, image_url: String },
    #[serde(rename = "input_file")]
    File { filename: &'static str, file_data: String },
}

/// Whether a message was a comment on the way or the answer, as it is kept behind the message's text. Newer models want it
/// back.
#[derive(Serialize, Deserialize)]
pub(super) struct Phase<'a> {
    #[serde(borrow)]
    pub(super) phase: Cow<'a, str>,
}

/// What a tool answered: plain text, or a list where there are images.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(&'a str),
    List(Vec<Content<'a>>),
}

// Incoming, streamed: one struct per family of events.

/// Any event: its type, for servers that do not name it in the event stream.
#[derive(Deserialize)]
pub(super) struct Tagged<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Cow<'a, str>,
}

/// `response.created`, `response.completed` and their like.
#[derive(Deserialize)]
pub(super) struct ResponseEvent<'a> {
    #[serde(borrow)]
    pub(super) response: Response<'a>,
}

/// `response.output_item.added` and `.done`.
#[derive(Deserialize)]
pub(super) struct ItemEvent<'a> {
    #[serde(default)]
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item: &'a RawValue,
}

/// Every delta, and the end of a call's arguments.
#[derive(Deserialize)]
pub(super) struct PartEvent<'a> {
    /// Counts all events of an answer.
    #[serde(default)]
    pub(super) sequence_number: Option<u64>,
    #[serde(default)]
    pub(super) output_index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) item_id: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) summary_index: Option<u64>,
    #[serde(default)]
    pub(super) delta: Option<String>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<BorrowedText<'a>>,
}

/// An item of the output, whole or as its start shows it.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) id: Option<BorrowedText<'a>>,
    #[serde(borrow, default)]
    pub(super) status: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) call_id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) content: Option<Vec<ContentPart>>,
    #[serde(default)]
    pub(super) summary: Option<Vec<ContentPart>>,
    #[serde(borrow, default)]
    pub(super) encrypted_content: Option<BorrowedText<'a>>,
    #[serde(borrow, default)]
    pub(super) phase: Option<BorrowedText<'a>>,
}

impl<'a> Item<'a> {
    /// Reads an item. Of one that nobody here knows only the type and the id are looked at: its other fields may have the
    /// same names and other types.
    pub(super) fn read(json: &'a str) -> Result<Self, ProviderFailure> {
        let KnownBy { kind, id } = parse(json)?;
        if matches!(&*kind, "message" | "reasoning" | "function_call") {
            return parse(json);
        }
        Ok(Self {
            kind,
            id,
            status: None,
            call_id: None,
            name: None,
            arguments: None,
            content: None,
            summary: None,
            encrypted_content: None,
            phase: None,
        })
    }
}

/// What every item has.
#[derive(Deserialize)]
struct KnownBy<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<BorrowedText<'a>>,
}

/// A piece of a message or of a summary.
#[derive(Deserialize)]
pub(super) struct ContentPart {
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) refusal: Option<String>,
}

/// The event `error`: flat, or with the object that HTTP errors have.
#[derive(Deserialize)]
pub(super) struct ErrorEvent {
    #[serde(default)]
    pub(super) error: Option<ErrorObject>,
    #[serde(flatten)]
    pub(super) flat: ErrorObject,
}

#[derive(Deserialize)]
pub(super) struct ErrorObject {
    /// A word here, a status at some servers.
    #[serde(default)]
    pub(super) code: Option<serde_json::Value>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) message: Option<String>,
}

/// The whole answer; in a stream, what has arrived so far.
#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) status: Option<String>,
    #[serde(borrow, default)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    pub(super) error: Option<ErrorObject>,
    #[serde(default)]
    pub(super) incomplete_details: Option<IncompleteDetails>,
    #[serde(default)]
    pub(super) usage: Option<Counts>,
}

#[derive(Deserialize)]
pub(super) struct IncompleteDetails {
    #[serde(default)]
    pub(super) reason: Option<String>,
}

/// Token counts; `input_tokens` has those in it that were read from the cache or written to it.
#[derive(Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    cache_write_tokens: Option<u64>,
}

impl Counts {
    /// Returns the counts as all providers' are counted (D-10).
    pub(super) fn usage(&self) -> Usage {
        let details = self.input_tokens_details.as_ref();
        let told = details.and_then(|d| d.cached_tokens);
        let cached = told.unwrap_or(0).min(self.input_tokens);
        let written = details.and_then(|d| d.cache_write_tokens).unwrap_or(0).min(self.input_tokens - cached);
        Usage {
            input: self.input_tokens - cached - written,
            output: self.output_tokens,
            cache_read: cached,
            cache_write: written,
            cache_unknown: if told.is_some() { 0 } else { self.input_tokens },
        }
    }
}
