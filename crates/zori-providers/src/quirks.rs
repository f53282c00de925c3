//! Where servers that speak Chat Completions differ, as data: one row each. `openai_chat` looks at the row and never at
//! the server's name; a new server is a row, not a branch.

use zori_core::image::ImageFormat;
use zori_core::provider::Effort;

use crate::openai_responses::effort;

/// How one kind of server wants its requests and gives its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// What bounds a reply.
    pub reply_limit: ReplyLimit,
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// Whether a stream must be asked to end with its token counts.
    pub stream_usage: bool,
    /// How thinking is asked for.
    pub effort: EffortField,
    /// What of the reasoning goes back.
    pub reasoning_replay: ReasoningReplay,
    /// Whether `parallel_tool_calls` is sent, for servers that make one call at a time otherwise.
    pub parallel_calls: bool,
    /// What a message of nothing but calls has as its content.
    pub empty_content: EmptyContent,
    /// Headers beside the key.
    pub headers: &'static [(&'static str, &'static str)],
    /// Headers on top, for requests that hold an image.
    pub image_headers: &'static [(&'static str, &'static str)],
    /// The kinds of image that it takes; whether a model sees them is another question.
    pub images: &'static [ImageFormat],
    /// Whether there is an answer without a key.
    pub key: KeyNeed,
    /// How tools are offered and called.
    pub tools: ToolStyle,
    /// Whether a stream that stops without `[DONE]` was cut off.
    pub end_mark: EndMark,
    /// Where the prompt is marked for the cache.
    pub cache: CacheMarks,
    /// Which ids of calls it takes.
    pub call_ids: CallIds,
    /// Whether it leaves the beginning of a prompt that is too long out without a word, and says its window under `/api/ps`.
    pub cuts_unsaid: bool,
}

/// The field that bounds a reply, and when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyLimit {
    /// `max_completion_tokens`, always.
    MaxCompletionTokens,
    /// `max_tokens`, always.
    MaxTokens,
    /// `max_tokens`, if the request has a limit. A local server knows its model's limit, and some refuse a request
    /// whose limit does not fit into the window beside the prompt.
    MaxTokensIfAsked,
}

/// The role of the first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemRole {
    /// `system`, which every server accepts; OpenAI reads it as `developer` where it makes a difference.
    System,
    /// `developer`, for gateways that take nothing else for models that think.
    Developer,
}

/// How a request says how much the model should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortField {
    /// Not at all: the server documents no such field.
    Unsupported,
    /// `"reasoning_effort":"low"`, in the words each of OpenAI's models knows and only where the model takes it:
    /// those that do not think refuse the field, and the newer ones refuse it beside tools.
    OpenAi,
    /// `"reasoning_effort":"low"`; `none` is not understood by all models, so that `off` sends nothing.
    ReasoningEffort,
    /// `"reasoning":{"effort":"low"}`, with `none` and `xhigh` at the ends.
    ReasoningObject,
}

impl EffortField {
    /// Returns whether a level asked for gets to this model while it has tools.
    pub fn reaches(self, model: &str) -> bool {
        match self {
            Self::Unsupported => false,
            Self::OpenAi => effort::chat_level(model, Some(Effort::High), true).is_some_and(|w| w != "none"),
            Self::ReasoningEffort | Self::ReasoningObject => true,
        }
    }
}

/// What of a reply's reasoning is sent back with the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningReplay {
    Nothing,
    /// The elements of `reasoning_details`, byte for byte where they came in one piece.
    Details,
    /// The text, as `reasoning_content`: models that think between calls lose the thread without it, and some servers
    /// refuse the request.
    Content,
}

/// Where a request marks what the cache should keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMarks {
    /// Nowhere: the server caches by itself, or not at all.
    Never,
    /// For the vendors behind a gateway that cache only what is marked, by the name in front of the model's.
    ByVendor(&'static [&'static str]),
}

impl CacheMarks {
    /// Returns whether requests to this model are marked.
    pub(crate) fn wanted(self, model: &str) -> bool {
        match self {
            Self::Never => false,
            Self::ByVendor(vendors) => model
                .split_once('/')
                .is_some_and(|(vendor, _)| vendors.contains(&vendor.trim_start_matches('~'))),
        }
    }
}

/// Which ids of calls a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallIds {
    /// Any of at most 40 characters.
    Any,
    /// Nine letters and digits.
    NineAlphanumeric,
}

/// The `content` of an assistant's message that only calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyContent {
    /// `null`, as OpenAI writes it itself.
    Null,
    /// `""`, for chat templates that stumble over null.
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyNeed {
    /// Without one there is no answer.
    Required,
    /// Sent if there is one.
    Optional,
}

/// How tools are offered and called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStyle {
    /// In fields of the API.
    Native,
    /// In the text, for models that know no others: see `text_tools.rs`.
    Prose,
}

/// What ends a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndMark {
    /// `[DONE]`; without it the stream was cut off.
    Required,
    /// `[DONE]`, or the end of the body once there was a finish reason.
    Optional,
}

/// OpenAI itself.
pub const OPENAI: Quirks = Quirks {
    reply_limit: ReplyLimit::MaxCompletionTokens,
    system_role: SystemRole::System,
    stream_usage: true,
    effort: EffortField::OpenAi,
    reasoning_replay: ReasoningReplay::Nothing,
    parallel_calls: false,
    empty_content: EmptyContent::Null,
    headers: &[],
    image_headers: &[],
    images: ImageFormat::WITH_DOCUMENTS,
    key: KeyNeed::Required,
    tools: ToolStyle::Native,
    end_mark: EndMark::Required,
    cache: CacheMarks::Never,
    call_ids: CallIds::Any,
    cuts_unsaid: false,
};

/// OpenRouter. Counts come unasked, but asking does no harm and compatible gateways want it. The title is the one
/// header that names us (PROV-11).
pub const OPENROUTER: Quirks = Quirks {
    reply_limit: ReplyLimit::MaxTokens,
    effort: EffortField::ReasoningObject,
    reasoning_replay: ReasoningReplay::Details,
    headers: &[("x-title", "zori")],
    cache: CacheMarks::ByVendor(&["anthropic", "qwen", "alibaba"]),
    images: ImageFormat::ALL,
    ..OPENAI
};

/// Vendors and gateways that speak Chat Completions as the documents of most say it: `max_tokens`, `reasoning_effort`.
pub const VENDOR: Quirks = Quirks {
    reply_limit: ReplyLimit::MaxTokensIfAsked,
    effort: EffortField::ReasoningEffort,
    end_mark: EndMark::Optional,
    images: ImageFormat::ALL,
    ..OPENAI
};

/// DeepSeek; thinks between calls, and wants that back.
pub const DEEPSEEK: Quirks =
    Quirks { effort: EffortField::Unsupported, reasoning_replay: ReasoningReplay::Content, ..VENDOR };

/// Mistral; takes only ids of its own form.
pub const MISTRAL: Quirks = Quirks { call_ids: CallIds::NineAlphanumeric, ..VENDOR };

/// A LiteLLM proxy; it may be asked without a key.
pub const LITELLM: Quirks = Quirks { key: KeyNeed::Optional, ..VENDOR };

/// Any server that says it is compatible: beside the wish for token counts, nothing is sent that the oldest of them
/// would not know.
pub const COMPAT: Quirks = Quirks {
    reply_limit: ReplyLimit::MaxTokensIfAsked,
    effort: EffortField::Unsupported,
    empty_content: EmptyContent::Text,
    key: KeyNeed::Optional,
    end_mark: EndMark::Optional,
    images: ImageFormat::ALL,
    ..OPENAI
};

/// Ollama; takes `reasoning_effort` for models that think, and no GIF.
pub const OLLAMA: Quirks = Quirks {
    cuts_unsaid: true,
    effort: EffortField::ReasoningEffort,
    end_mark: EndMark::Required,
    images: &[ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Webp],
    ..COMPAT
};

/// llama.cpp's server; makes one call per reply unless asked for more, and cannot decode WebP.
pub const LLAMACPP: Quirks = Quirks {
    parallel_calls: true,
    end_mark: EndMark::Required,
    images: &[ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif],
    ..COMPAT
};

/// LM Studio; takes no GIF.
pub const LMSTUDIO: Quirks = Quirks { end_mark: EndMark::Required, images: OLLAMA.images, ..COMPAT };

/// vLLM; takes `reasoning_effort` for models whose template knows it.
pub const VLLM: Quirks =
    Quirks { effort: EffortField::ReasoningEffort, end_mark: EndMark::Required, ..COMPAT };

/// GitHub Copilot; wants to be told of images.
pub const COPILOT: Quirks = Quirks {
    reply_limit: ReplyLimit::MaxTokens,
    effort: EffortField::Unsupported,
    // What the service demands of every client, in our own name (DECISIONS 48).
    headers: &[
        ("editor-version", concat!("zori/", env!("CARGO_PKG_VERSION"))),
        ("copilot-integration-id", "zori"),
    ],
    image_headers: &[("copilot-vision-request", "true")],
    images: ImageFormat::ALL,
    ..OPENAI
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_level_arrives() {
        for (field, model, expected) in [
            (EffortField::Unsupported, "gpt-5", false),
            (EffortField::ReasoningEffort, "gpt-4.1", true),
            (EffortField::ReasoningObject, "openai/gpt-5.6", true),
            (EffortField::OpenAi, "gpt-4.1", false),
            (EffortField::OpenAi, "gpt-5.1", true),
            (EffortField::OpenAi, "gpt-5.2", false),
            (EffortField::OpenAi, "gpt-5.6", false),
            (EffortField::OpenAi, "o3", true),
        ] {
            assert_eq!(field.reaches(model), expected, "{field:?} {model}");
        }
    }
}
