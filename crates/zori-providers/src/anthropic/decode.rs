//! Anthropic's answer to chunks: a state machine over its events, and the same for an answer in one piece.
//!
//! Unknown events, blocks and deltas are skipped; events that contradict each other end the answer, because what
//! follows could not be trusted (NET-9).

use std::collections::VecDeque;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::Opaque;
use zori_core::provider::{Chunk, StopReason};
use zori_core::usage::Usage;

use super::{NAME, wire};
use crate::answer::{self, Decode, EVENT_COST, ReplySize, parse, protocol_error};
use crate::failure;

/// How many blocks may be open at once.
const MAX_OPEN: usize = 256;

/// Decodes one streamed answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    stage: Stage,
    /// The blocks that have started and not stopped; one, except for servers that interleave.
    open: Vec<Open>,
    /// The index behind the last block that started; indices only grow.
    next_index: u64,
    calls: u32,
    usage: Usage,
    stop: Option<StopReason>,
    reply_size: ReplySize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Waiting,
    Started,
    Done,
}

#[derive(Debug)]
struct Open {
    index: u64,
    block: OpenBlock,
}

#[derive(Debug)]
enum OpenBlock {
    Text {
        empty: bool,
    },
    Thinking {
        text: String,
        signature: String,
    },
    Redacted,
    Call {
        call: u32,
        /// Arguments that came with the start; they hold if no delta follows.
        at_start: Option<String>,
    },
    /// Of a type we do not know.
    Skipped,
}

impl Decode for Decoder {
    fn event(&mut self, name: &[u8], data: &[u8], out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        let text = answer::utf8(data)?;
        if name.is_empty() {
            let tag: wire::Tagged<'_> = parse(text)?;
            return self.named(tag.kind.as_bytes(), text, out);
        }
        self.named(name, text, out)
    }

    fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    fn whole(self, body: &[u8]) -> Result<VecDeque<Chunk>, ProviderFailure> {
        whole(self, answer::utf8(body)?)
    }
}

impl Decoder {
    fn named(&mut self, name: &[u8], text: &str, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        match name {
            b"content_block_delta" => self.delta(parse(text)?, out),
            b"content_block_start" => self.block_start(&parse(text)?, out),
            b"content_block_stop" => self.block_stop(&parse(text)?, out),
            b"message_start" => self.message_start(parse(text)?, out),
            b"message_delta" => self.message_delta(parse(text)?, out),
            // The data says nothing more, but data that is cut off is no end.
            b"message_stop" => parse(text).and_then(|_: IgnoredAny| self.message_stop(out)),
            b"error" => Err(api_error(&parse::<wire::ErrorEvent>(text)?.error)),
            // `ping`, and whatever comes to be.
            _ => Ok(()),
        }
    }

    fn message_start(
        &mut self,
        event: wire::MessageStart,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        if self.stage != Stage::Waiting {
            return Err(protocol_error("a second message_start"));
        }
        self.stage = Stage::Started;
        out.push_back(Chunk::Started { model: event.message.model });
        self.count(event.message.usage, out);
        Ok(())
    }

    fn block_start(
        &mut self,
        event: &wire::BlockStart<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        self.require_started("content_block_start")?;
        if event.index < self.next_index {
            return Err(protocol_error("a block that starts twice"));
        }
        if self.open.len() == MAX_OPEN {
            return Err(protocol_error("too many open blocks"));
        }
        self.next_index = event.index.saturating_add(1);
        self.receive(EVENT_COST)?;
        let block = self.opened(event.content_block, out)?;
        self.open.push(Open { index: event.index, block });
        Ok(())
    }

    /// Reads the start of a block, or a whole one, and emits what it already holds.
    fn opened(&mut self, raw: &RawValue, out: &mut VecDeque<Chunk>) -> Result<OpenBlock, ProviderFailure> {
        let start: wire::ContentBlock<'_> = parse(raw.get())?;
        Ok(match &*start.kind {
            "text" => {
                let empty = !self.push_text(start.text, Chunk::Text, out)?;
                OpenBlock::Text { empty }
            }
            "thinking" => {
                let text = start.thinking.unwrap_or_default();
                self.push_text(Some(text.clone()), Chunk::Thinking, out)?;
                OpenBlock::Thinking { text, signature: start.signature.unwrap_or_default() }
            }
            "redacted_thinking" => {
                self.receive(raw.get().len())?;
                out.push_back(Chunk::ThinkingReplay(opaque(raw.to_owned())));
                OpenBlock::Redacted
            }
            "tool_use" => {
                let name = start.name.ok_or_else(|| protocol_error("a tool_use block without a name"))?;
                let call = self.calls;
                self.calls += 1;
                out.push_back(Chunk::CallStart { index: call, id: start.id, name, replay: None });
                let at_start =
                    start.input.map(RawValue::get).filter(|json| !matches!(*json, "{}" | "null" | "\"\""));
                self.receive(at_start.map_or(0, str::len))?;
                OpenBlock::Call { call, at_start: at_start.map(str::to_owned) }
            }
            _ => OpenBlock::Skipped,
        })
    }

    fn delta(
        &mut self,
        event: wire::BlockDelta<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        self.require_started("content_block_delta")?;
        let at = self.find(event.index, "a delta for a block that is not open")?;
        let delta = event.delta;
        let bytes = [&delta.text, &delta.thinking, &delta.signature, &delta.partial_json]
            .iter()
            .map(|field| field.as_deref().map_or(0, str::len))
            .sum();
        self.receive(bytes)?;
        match (&*delta.kind, &mut self.open[at].block) {
            (_, OpenBlock::Skipped) => {}
            ("text_delta", OpenBlock::Text { empty }) => {
                if let Some(text) = delta.text.filter(|t| !t.is_empty()) {
                    *empty = false;
                    out.push_back(Chunk::Text(text));
                }
            }
            ("thinking_delta", OpenBlock::Thinking { text, .. }) => {
                if let Some(more) = delta.thinking.filter(|t| !t.is_empty()) {
                    text.push_str(&more);
                    out.push_back(Chunk::Thinking(more));
                }
            }
            ("signature_delta", OpenBlock::Thinking { signature, .. }) => {
                *signature = delta.signature.unwrap_or_default();
            }
            ("input_json_delta", OpenBlock::Call { call, at_start }) => {
                if let Some(json) = delta.partial_json.filter(|t| !t.is_empty()) {
                    *at_start = None;
                    out.push_back(Chunk::CallInput { index: *call, json });
                }
            }
            ("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta", _) => {
                return Err(protocol_error("a delta that does not fit its block"));
            }
            _ => {}
        }
        Ok(())
    }

    fn block_stop(
        &mut self,
        event: &wire::BlockStop,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        self.require_started("content_block_stop")?;
        let at = self.find(event.index, "a stop for a block that is not open")?;
        let block = self.open.remove(at).block;
        close(block, out);
        Ok(())
    }

    fn message_delta(
        &mut self,
        event: wire::MessageDelta,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        self.require_started("message_delta")?;
        self.receive(EVENT_COST)?;
        if let Some(stop) = stop_reason(event.delta) {
            self.stop = Some(stop);
        }
        self.count(event.usage, out);
        Ok(())
    }

    fn message_stop(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        self.require_started("message_stop")?;
        if !self.open.is_empty() {
            return Err(protocol_error("message_stop while a block is open"));
        }
        let stop = self.stop.take().ok_or_else(|| protocol_error("message_stop without a stop reason"))?;
        self.stage = Stage::Done;
        out.push_back(Chunk::Done(stop));
        Ok(())
    }

    fn require_started(&self, event: &str) -> Result<(), ProviderFailure> {
        match self.stage {
            Stage::Started => Ok(()),
            Stage::Waiting => Err(protocol_error(&format!("{event} before message_start"))),
            Stage::Done => Err(protocol_error(&format!("{event} after message_stop"))),
        }
    }

    fn find(&self, index: u64, problem: &str) -> Result<usize, ProviderFailure> {
        self.open.iter().position(|o| o.index == index).ok_or_else(|| protocol_error(problem))
    }

    fn count(&mut self, counts: Option<wire::Counts>, out: &mut VecDeque<Chunk>) {
        if let Some(counts) = counts {
            counts.update(&mut self.usage);
            out.push_back(Chunk::Usage(self.usage));
        }
    }

    /// Emits text that is not empty; returns whether there was any.
    fn push_text(
        &mut self,
        text: Option<String>,
        chunk: fn(String) -> Chunk,
        out: &mut VecDeque<Chunk>,
    ) -> Result<bool, ProviderFailure> {
        let Some(text) = text.filter(|t| !t.is_empty()) else { return Ok(false) };
        self.receive(text.len())?;
        out.push_back(chunk(text));
        Ok(true)
    }

    fn receive(&mut self, bytes: usize) -> Result<(), ProviderFailure> {
        self.reply_size.add(bytes)
    }
}

/// Decodes an answer that came in one piece.
fn whole(mut decoder: Decoder, text: &str) -> Result<VecDeque<Chunk>, ProviderFailure> {
    if let Ok(event) = serde_json::from_str::<wire::ErrorEvent>(text) {
        return Err(api_error(&event.error));
    }
    let message: wire::WholeMessage<'_> = parse(text)?;
    let mut out = VecDeque::new();
    out.push_back(Chunk::Started { model: message.model });
    decoder.count(message.usage, &mut out);
    for raw in message.content {
        let block = decoder.opened(raw, &mut out)?;
        match block {
            // The block is here as the provider wrote it, so that is what goes back.
            OpenBlock::Thinking { text, signature } if !signature.is_empty() => {
                out.push_back(Chunk::ThinkingReplay(opaque(raw.to_owned())));
                close(OpenBlock::Thinking { text, signature: String::new() }, &mut out);
            }
            block => close(block, &mut out),
        }
    }
    let stop = wire::Stop { stop_reason: message.stop_reason, stop_details: message.stop_details };
    let stop = stop_reason(stop).ok_or_else(|| protocol_error("a message without a stop reason"))?;
    out.push_back(Chunk::Done(stop));
    Ok(out)
}

/// Emits what the end of a block completes.
fn close(block: OpenBlock, out: &mut VecDeque<Chunk>) {
    match block {
        OpenBlock::Text { empty: true } | OpenBlock::Skipped => {}
        OpenBlock::Text { empty: false } | OpenBlock::Redacted => out.push_back(Chunk::BlockEnd),
        OpenBlock::Thinking { text, signature } => {
            // Without a signature the block cannot be sent back; servers other than the vendor's leave it out.
            if !signature.is_empty() {
                let replay =
                    wire::ThinkingReplay { r#type: "thinking", thinking: &text, signature: &signature };
                let raw = serde_json::value::to_raw_value(&replay).expect("strings are JSON");
                out.push_back(Chunk::ThinkingReplay(opaque(raw)));
            }
            out.push_back(Chunk::BlockEnd);
        }
        OpenBlock::Call { call, at_start } => {
            if let Some(json) = at_start {
                out.push_back(Chunk::CallInput { index: call, json });
            }
            out.push_back(Chunk::CallEnd { index: call });
        }
    }
}

fn opaque(raw: Box<RawValue>) -> Opaque {
    Opaque::new(NAME, raw)
}

fn stop_reason(stop: wire::Stop) -> Option<StopReason> {
    let reason = stop.stop_reason?;
    Some(match reason.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal(stop.stop_details.and_then(explanation)),
        "pause_turn" => StopReason::Pause,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        _ => StopReason::Other(reason),
    })
}

/// Returns what the provider says about a refusal: its category, its sentence, or both.
fn explanation(details: wire::StopDetails) -> Option<String> {
    let words = [details.category, details.explanation].map(|text| text.filter(|text| !text.is_empty()));
    let text = words.into_iter().flatten().collect::<Vec<_>>().join(": ");
    failure::details(text.as_bytes())
}

/// An error the provider reports inside an answer (PERR-4), with the status the same error has outside of one.
fn api_error(error: &wire::ErrorObject) -> ProviderFailure {
    let status = match error.kind.as_str() {
        "invalid_request_error" => Some(400),
        "authentication_error" => Some(401),
        "billing_error" => Some(402),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "request_too_large" => Some(413),
        "rate_limit_error" => Some(429),
        "api_error" => Some(500),
        "timeout_error" => Some(504),
        "overloaded_error" => Some(529),
        _ => None,
    };
    let kind = if error.kind.is_empty() { "error" } else { &error.kind };
    let message = failure::details(error.message.as_bytes()).unwrap_or_default();
    let error = ProviderFailure::new(FailureKind::ApiError, format!("{kind}: {message}"));
    failure::sorted(ProviderFailure { status, ..error }, "")
}
