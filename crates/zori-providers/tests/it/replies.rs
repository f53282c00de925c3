//! What the fixtures decode to: one table of scenarios, each with the streams of every API.
//!
//! The answers of an API are in `snapshots/it__replies__<api>.snap`, one line per chunk. To add a scenario, put the stream
//! under `fixtures/` and its name here; `cargo insta review` shows what it decodes to.

use std::collections::BTreeSet;

use zori_core::provider::Delivery;
use zori_providers::replay::Exchange;

use crate::ask::fixture;
use crate::chat_ask::{all_chats, chat_reply};
use crate::vendor::Vendor;

use Cell::{In, Lacks};

/// An API with a decoder of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

/// Where an API shows a scenario.
enum Cell {
    /// In these files under `fixtures/`.
    In(&'static [&'static str]),
    /// Nowhere, for this reason.
    Lacks(&'static str),
}

struct Scenario {
    name: &'static str,
    anthropic: Cell,
    chat: Cell,
    responses: Cell,
    gemini: Cell,
}

const SCENARIOS: &[Scenario] = &[
    // A short answer.
    Scenario {
        name: "text",
        anthropic: In(&["anthropic/text.sse"]),
        chat: In(&["openai_chat/text.sse"]),
        responses: In(&["openai_responses/text.sse"]),
        gemini: In(&["gemini/text.sse"]),
    },
    // Text whose letters are cut across events.
    Scenario {
        name: "unicode",
        anthropic: In(&["anthropic/unicode.sse"]),
        chat: In(&["openai_chat/unicode.sse"]),
        responses: In(&["openai_responses/unicode.sse"]),
        gemini: In(&["gemini/unicode.sse"]),
    },
    // One call of a tool.
    Scenario {
        name: "tool_call",
        anthropic: In(&["anthropic/tool_call.sse"]),
        chat: In(&["openai_chat/tool_call.sse"]),
        responses: In(&["openai_responses/tool_call.sse"]),
        gemini: In(&["gemini/tool_call.sse", "gemini/tool_call_with_id.sse"]),
    },
    // Text, then a call.
    Scenario {
        name: "text_then_tool",
        anthropic: In(&["anthropic/text_then_tool.sse"]),
        chat: In(&["openai_chat/text_then_tool.sse"]),
        responses: Lacks("`parallel_tools` begins with text"),
        gemini: Lacks("`parallel_tools` begins with text"),
    },
    // Several calls in one answer.
    Scenario {
        name: "parallel_tools",
        anthropic: In(&["anthropic/parallel_tools.sse"]),
        chat: In(&["openai_chat/parallel_tools.sse"]),
        responses: In(&["openai_responses/parallel_tools.sse"]),
        gemini: In(&["gemini/parallel_tools.sse"]),
    },
    // Reasoning, then a call.
    Scenario {
        name: "thinking_then_tool",
        anthropic: In(&["anthropic/thinking_then_tool.sse"]),
        chat: In(&["openrouter/reasoning_details.sse", "compat/vllm_reasoning.sse"]),
        responses: In(&["openai_responses/reasoning_then_tool.sse"]),
        gemini: In(&["gemini/thoughts_then_tool.sse"]),
    },
    // Reasoning, then text.
    Scenario {
        name: "thinking_then_text",
        anthropic: In(&["anthropic/interleaved_thinking.sse"]),
        chat: In(&["compat/ollama_thinking.sse"]),
        responses: Lacks("`reasoning_hidden` ends in text"),
        gemini: In(&["gemini/signature_on_thought.sse"]),
    },
    // Reasoning that can be sent back and not be read.
    Scenario {
        name: "hidden_thinking",
        anthropic: In(&["anthropic/redacted_thinking.sse", "anthropic/thinking_omitted.sse"]),
        chat: In(&["openrouter/encrypted_details.sse"]),
        responses: In(&["openai_responses/reasoning_hidden.sse"]),
        gemini: In(&["gemini/signature_on_text.sse", "gemini/signature_behind_text.sse"]),
    },
    // The model will not answer.
    Scenario {
        name: "refusal",
        anthropic: In(&["anthropic/refusal.sse"]),
        chat: In(&["openai_chat/refusal.sse"]),
        responses: In(&["openai_responses/refusal.sse"]),
        gemini: In(&["gemini/safety.sse"]),
    },
    // Somebody else stops the answer.
    Scenario {
        name: "content_filter",
        anthropic: Lacks("the API has no such reason; a refusal is one"),
        chat: In(&["openai_chat/content_filter.sse"]),
        responses: In(&["openai_responses/content_filter.sse"]),
        gemini: In(&["gemini/blocked_prompt.sse", "gemini/recitation.sse"]),
    },
    // Text is cut off at the token limit.
    Scenario {
        name: "max_tokens",
        anthropic: In(&["anthropic/max_tokens.sse"]),
        chat: In(&["openai_chat/length.sse"]),
        responses: In(&["openai_responses/max_output_tokens.sse"]),
        gemini: In(&["gemini/max_tokens.sse", "gemini/thought_all_tokens_away.sse"]),
    },
    // A call is cut off at the token limit.
    Scenario {
        name: "max_tokens_in_tool",
        anthropic: In(&["anthropic/max_tokens_in_tool.sse"]),
        chat: In(&["openai_chat/length_in_tool.sse"]),
        responses: In(&["openai_responses/max_tokens_in_tool.sse"]),
        gemini: Lacks("a call arrives in one piece"),
    },
    // An error after the first words.
    Scenario {
        name: "error_mid_stream",
        anthropic: In(&["anthropic/error_mid_stream.sse"]),
        chat: In(&["openai_chat/error_mid_stream.sse", "openrouter/error_mid_stream.sse"]),
        responses: In(&["openai_responses/failed.sse"]),
        gemini: In(&["gemini/error_mid_stream.sse"]),
    },
    // An error in place of the first word.
    Scenario {
        name: "error_first",
        anthropic: Lacks("an error before the first event has an HTTP status: `anthropic_trouble.rs`"),
        chat: Lacks("an error before the first event has an HTTP status: `chat_trouble.rs`"),
        responses: In(&["openai_responses/error_event.sse"]),
        gemini: Lacks("an error before the first event has an HTTP status: `gemini_trouble.rs`"),
    },
    // Tokens that were read from a cache.
    Scenario {
        name: "cached",
        anthropic: In(&["anthropic/cache_usage.sse"]),
        chat: In(&["openai_chat/cached_usage.sse"]),
        responses: Lacks("`reasoning_hidden` counts cached tokens"),
        gemini: In(&["gemini/cached.sse"]),
    },
    // Events, fields or parts that nobody has told us of.
    Scenario {
        name: "unknown",
        anthropic: In(&["anthropic/unknown_events.sse"]),
        chat: In(&["openai_chat/unknown_fields.sse"]),
        responses: In(&["openai_responses/unknown_events.sse"]),
        gemini: In(&["gemini/unknown_parts.sse"]),
    },
    // Events without an `event:` line.
    Scenario {
        name: "unnamed_events",
        anthropic: In(&["anthropic/unnamed_events.sse"]),
        chat: Lacks("no event has a name"),
        responses: In(&["openai_responses/unnamed_events.sse"]),
        gemini: Lacks("no event has a name"),
    },
    // Lines that end as the API's own do not.
    Scenario {
        name: "line_ends",
        anthropic: In(&["anthropic/crlf.sse"]),
        chat: In(&["openai_chat/crlf.sse"]),
        responses: Lacks("the event-stream reader is the same for all"),
        gemini: In(&["gemini/lf.sse"]),
    },
    // A recorded stream of a local server.
    Scenario {
        name: "local_server",
        anthropic: In(&[
            "compat/llama-server/anthropic_text.sse",
            "compat/llama-server/anthropic_length.sse",
        ]),
        chat: In(&["compat/llama-server/chat_text.sse"]),
        responses: In(&["openai_responses/recorded/responses_text.sse"]),
        gemini: Lacks("no local server speaks it"),
    },
    // An answer in one piece.
    Scenario {
        name: "whole",
        anthropic: In(&["anthropic/whole.json", "compat/llama-server/anthropic_plain.json"]),
        chat: In(&["openai_chat/whole.json"]),
        responses: In(&["openai_responses/whole.json"]),
        gemini: In(&["gemini/whole.json"]),
    },
];

/// What only one API does.
const OWN: &[(Api, &[&str])] = &[
    (
        Api::Anthropic,
        &[
            "anthropic/context_window.sse",
            "anthropic/empty_deltas.sse",
            "anthropic/pause_turn.sse",
            "anthropic/stop_sequence.sse",
            "anthropic/text_with_pings.sse",
        ],
    ),
    (
        Api::Chat,
        &[
            "openai_chat/function_call.sse",
            "compat/compat_prose_fence.sse",
            "compat/compat_prose_tag.sse",
            "compat/compat_without_end.sse",
            "compat/compat_without_ids.sse",
            "compat/ollama_calls.sse",
        ],
    ),
    (Api::Responses, &["openai_responses/no_deltas.sse"]),
    (Api::Gemini, &["gemini/malformed_call.sse", "gemini/other_reason.sse"]),
];

impl Scenario {
    fn of(&self, api: Api) -> &Cell {
        match api {
            Api::Anthropic => &self.anthropic,
            Api::Chat => &self.chat,
            Api::Responses => &self.responses,
            Api::Gemini => &self.gemini,
        }
    }
}

impl Api {
    fn vendor(self) -> Option<Vendor> {
        match self {
            Self::Anthropic => Some(Vendor::Anthropic),
            Self::Responses => Some(Vendor::Responses),
            Self::Gemini => Some(Vendor::Gemini),
            Self::Chat => None,
        }
    }

    /// Returns the names of all streams there are.
    fn streams(self) -> Vec<String> {
        let streams = self.vendor().map_or_else(all_chats, Vendor::streams);
        streams.into_iter().map(|(name, _)| format!("{name}.sse")).collect()
    }

    /// Decodes a fixture, one line per chunk.
    async fn decode(self, file: &str) -> String {
        let bytes = fixture(file);
        let (exchange, delivery) = match file.ends_with(".json") {
            true => (Exchange::json(bytes), Delivery::Whole),
            false => (Exchange::event_stream(bytes), Delivery::Streamed),
        };
        match self.vendor() {
            Some(vendor) => vendor.reply_as(exchange, delivery).await,
            None => chat_reply(file, exchange, delivery).await,
        }
    }
}

/// Decodes all that an API has in the tables.
async fn decoded(api: Api) -> String {
    let mut out = String::new();
    for scenario in SCENARIOS {
        match scenario.of(api) {
            Lacks(why) => out += &format!("# {}: none; {why}\n\n", scenario.name),
            In(files) => {
                for file in *files {
                    out += &format!("# {}: {file}\n{}\n", scenario.name, api.decode(file).await);
                }
            }
        }
    }
    for (_, files) in OWN.iter().filter(|(whose, _)| *whose == api) {
        for file in *files {
            out += &format!("# of this API: {file}\n{}\n", api.decode(file).await);
        }
    }
    out
}

#[tokio::test]
async fn anthropic() {
    insta::assert_snapshot!("anthropic", decoded(Api::Anthropic).await);
}

#[tokio::test]
async fn chat_completions() {
    insta::assert_snapshot!("chat", decoded(Api::Chat).await);
}

#[tokio::test]
async fn responses() {
    insta::assert_snapshot!("responses", decoded(Api::Responses).await);
}

#[tokio::test]
async fn gemini() {
    insta::assert_snapshot!("gemini", decoded(Api::Gemini).await);
}

#[test]
fn every_stream_is_in_a_table() {
    for api in [Api::Anthropic, Api::Chat, Api::Responses, Api::Gemini] {
        let shared = SCENARIOS.iter().filter_map(|scenario| match scenario.of(api) {
            In(files) => Some(*files),
            Lacks(_) => None,
        });
        let own = OWN.iter().filter(|(whose, _)| *whose == api).map(|(_, files)| *files);
        let listed: Vec<&str> = shared.chain(own).flatten().copied().collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(listed.len(), once.len(), "{api:?} has a stream twice");
        for name in api.streams() {
            assert!(once.contains(name.as_str()), "{name} is in no scenario");
        }
    }
}
