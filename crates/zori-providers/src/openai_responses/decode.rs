//! A Responses answer to chunks: a state machine over its events, and the same for an answer in one piece.
//!
//! Unknown events and items are skipped; events that contradict each other end the answer, because what follows
//! could not be trusted (NET-9). A call's arguments come three times, in deltas, at their end and with the whole
//! item: they must be the same.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::Opaque;
use zori_core::provider::{Chunk, StopReason};

use super::{NAME, wire};
use crate::answer::{self, Decode, EVENT_COST, ReplySize, parse, protocol_error};
use crate::borrowed_json::BorrowedText;
use crate::failure;

/// How many items may be open at once.
const MAX_OPEN: usize = 256;

/// Decodes one streamed answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    stage: Stage,
    /// The items that were added and are not done, in order.
    open: Vec<Open>,
    /// The index behind the last item that was added; indices only grow.
    next_index: u64,
    /// The number behind the last delta's, where the server numbers its events.
    next_number: u64,
    calls: u32,
    refused: bool,
    reply_size: ReplySize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Waiting,
    Started,
    Done,
}

/// An item whose end has not come.
#[derive(Debug)]
struct Open {
    index: Option<u64>,
    id: Option<String>,
    item: OpenItem,
}

#[derive(Debug)]
enum OpenItem {
    Message {
        empty: bool,
    },
    Reasoning {
        empty: bool,
        /// Which part of the summary came last.
        part: u64,
    },
    Call {
        call: u32,
        arguments: String,
    },
    /// Of a type we do not know.
    Skipped,
}

impl Decode for Decoder {
    fn event(&mut self, name: &[u8], data: &[u8], out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        // What other servers of OpenAI's kind close a stream with.
        if data == b"[DONE]" {
            return Ok(());
        }
        let text = answer::utf8(data)?;
        if !name.is_empty() {
            return self.named(name, text, out);
        }
        let tag: wire::Tagged<'_> = parse(text)?;
        if tag.kind.is_empty() {
            return read_error(text).map_or(Ok(()), Err);
        }
        self.named(tag.kind.as_bytes(), text, out)
    }

    fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    fn whole(mut self, body: &[u8]) -> Result<VecDeque<Chunk>, ProviderFailure> {
        let text = answer::utf8(body)?;
        let response: wire::Response<'_> = parse(text)?;
        if let Some(error) = &response.error {
            return Err(api_error(error));
        }
        let items = response
            .output
            .as_ref()
            .ok_or_else(|| failure::unreadable("the provider's answer has no output", body))?;
        let mut out = VecDeque::new();
        self.stage = Stage::Started;
        out.push_back(Chunk::Started { model: response.model.clone().unwrap_or_default() });
        for raw in items {
            self.add(&wire::ItemEvent { output_index: None, item: raw }, &mut out)?;
            self.finish(&wire::ItemEvent { output_index: None, item: raw }, &mut out)?;
        }
        self.conclude(&response, &mut out)?;
        Ok(out)
    }
}

impl Decoder {
    fn named(&mut self, name: &[u8], text: &str, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        match name {
            b"response.output_text.delta" | b"response.refusal.delta" => {
                self.refused |= name == b"response.refusal.delta";
                self.text_delta(parse(text)?, out)
            }
            b"response.function_call_arguments.delta" => self.arguments_delta(parse(text)?, out),
            b"response.function_call_arguments.done" => self.arguments_done(&parse(text)?, out),
            b"response.reasoning_summary_text.delta" | b"response.reasoning_text.delta" => {
                self.reasoning_delta(parse(text)?, out)
            }
            b"response.output_item.added" => self.add(&parse(text)?, out),
            b"response.output_item.done" => self.finish(&parse(text)?, out),
            b"response.created" => self.created(parse(text)?, out),
            b"response.completed" | b"response.incomplete" | b"response.failed" => {
                let event: wire::ResponseEvent<'_> = parse(text)?;
                self.require_started("an end")?;
                if event.response.status.as_deref().is_some_and(|s| s.as_bytes() != &name[9..]) {
                    return Err(protocol_error("an end that is named otherwise than its status"));
                }
                self.conclude(&event.response, out)
            }
            b"error" => Err(read_error(text).unwrap_or_else(|| {
                failure::unreadable("the provider's answer is an error without words", text.as_bytes())
            })),
            // `response.in_progress`, content parts, and whatever comes to be.
            _ => Ok(()),
        }
    }

    fn created(
        &mut self,
        event: wire::ResponseEvent<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        if self.stage != Stage::Waiting {
            return Err(protocol_error("a second response.created"));
        }
        self.stage = Stage::Started;
        out.push_back(Chunk::Started { model: event.response.model.unwrap_or_default() });
        Ok(())
    }

    fn add(&mut self, event: &wire::ItemEvent<'_>, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        self.require_started("an item")?;
        if self.open.len() == MAX_OPEN {
            return Err(protocol_error("too many open items"));
        }
        if let Some(index) = event.output_index {
            if index < self.next_index {
                return Err(protocol_error("an item that is added twice"));
            }
            self.next_index = index.saturating_add(1);
        }
        self.reply_size.add(EVENT_COST)?;
        let item = wire::Item::read(event.item.get())?;
        let id = item.id.map(BorrowedText::into_string);
        if id.is_some() && self.open.iter().any(|open| open.id == id) {
            return Err(protocol_error("an item that is added twice"));
        }
        let item = match &*item.kind {
            "message" => OpenItem::Message { empty: true },
            "reasoning" => OpenItem::Reasoning { empty: true, part: 0 },
            "function_call" => {
                let name = item.name.ok_or_else(|| protocol_error("a function call without a name"))?;
                let call = self.calls;
                self.calls += 1;
                out.push_back(Chunk::CallStart { index: call, id: item.call_id, name, replay: None });
                OpenItem::Call { call, arguments: String::new() }
            }
            _ => OpenItem::Skipped,
        };
        self.open.push(Open { index: event.output_index, id, item });
        Ok(())
    }

    fn text_delta(
        &mut self,
        event: wire::PartEvent<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        let at = self.find_part(&event)?;
        let delta = self.counted(event.delta)?;
        match &mut self.open[at].item {
            OpenItem::Message { empty } => {
                if !delta.is_empty() {
                    *empty = false;
                    out.push_back(Chunk::Text(delta));
                }
                Ok(())
            }
            OpenItem::Skipped => Ok(()),
            _ => Err(protocol_error("text that does not belong to a message")),
        }
    }

    fn reasoning_delta(
        &mut self,
        event: wire::PartEvent<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        let at = self.find_part(&event)?;
        let delta = self.counted(event.delta)?;
        match &mut self.open[at].item {
            OpenItem::Reasoning { empty, part } => {
                let index = event.summary_index.unwrap_or(*part);
                if index != *part && !*empty {
                    out.push_back(Chunk::Thinking("\n\n".to_owned()));
                }
                *part = index;
                if !delta.is_empty() {
                    *empty = false;
                    out.push_back(Chunk::Thinking(delta));
                }
                Ok(())
            }
            OpenItem::Skipped => Ok(()),
            _ => Err(protocol_error("reasoning that does not belong to a reasoning item")),
        }
    }

    fn arguments_delta(
        &mut self,
        event: wire::PartEvent<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        let at = self.find_part(&event)?;
        let delta = self.counted(event.delta)?;
        match &mut self.open[at].item {
            OpenItem::Call { call, arguments } => {
                if !delta.is_empty() {
                    arguments.push_str(&delta);
                    out.push_back(Chunk::CallInput { index: *call, json: delta });
                }
                Ok(())
            }
            OpenItem::Skipped => Ok(()),
            _ => Err(protocol_error("arguments that do not belong to a call")),
        }
    }

    fn arguments_done(
        &mut self,
        event: &wire::PartEvent<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        let at = self.find_part(event)?;
        self.settle(at, event.arguments.as_ref().map(BorrowedText::as_str), out)
    }

    /// Takes a call's arguments in one piece: they are the ones the deltas brought, or the only ones.
    fn settle(
        &mut self,
        at: usize,
        whole: Option<&str>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        let OpenItem::Call { call, arguments } = &mut self.open[at].item else { return Ok(()) };
        match whole {
            Some(text) if arguments.is_empty() && !text.is_empty() => {
                self.reply_size.add(text.len())?;
                arguments.push_str(text);
                out.push_back(Chunk::CallInput { index: *call, json: text.to_owned() });
                Ok(())
            }
            Some(text) if text != arguments => Err(protocol_error("arguments that differ from their deltas")),
            _ => Ok(()),
        }
    }

    fn finish(
        &mut self,
        event: &wire::ItemEvent<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        let item = wire::Item::read(event.item.get())?;
        let at = self.find(event.output_index, item.id.as_ref().map(BorrowedText::as_str))?;
        if matches!(self.open[at].item, OpenItem::Call { .. }) {
            self.settle(at, item.arguments.as_ref().map(BorrowedText::as_str), out)?;
        }
        match self.open.remove(at).item {
            OpenItem::Message { empty } => {
                let said = !empty || self.late_text(item.content, out)?;
                if said {
                    out.push_back(Chunk::BlockEnd);
                    if let Some(phase) = item.phase {
                        let phase = wire::Phase { phase: phase.as_str().into() };
                        let raw = serde_json::value::to_raw_value(&phase).expect("a word is JSON");
                        out.push_back(Chunk::ThinkingReplay(opaque(&raw)));
                        out.push_back(Chunk::BlockEnd);
                    }
                }
            }
            OpenItem::Reasoning { empty, .. } => {
                let mut thought = !empty;
                if empty {
                    thought = self.late_summary(item.summary, out)?;
                }
                // Without its encrypted content the item means nothing to a provider that stores nothing.
                if item.encrypted_content.is_some() && &*item.kind == "reasoning" {
                    self.reply_size.add(event.item.get().len())?;
                    out.push_back(Chunk::ThinkingReplay(opaque(event.item)));
                    thought = true;
                }
                if thought {
                    out.push_back(Chunk::BlockEnd);
                }
            }
            // A call that was cut off has no end, so that nobody runs it.
            OpenItem::Call { .. } if item.status.as_ref().map(BorrowedText::as_str) == Some("incomplete") => {
            }
            OpenItem::Call { call, .. } => out.push_back(Chunk::CallEnd { index: call }),
            OpenItem::Skipped => {}
        }
        Ok(())
    }

    /// Emits a message that came without deltas; returns whether it has text.
    fn late_text(
        &mut self,
        content: Option<Vec<wire::ContentPart>>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<bool, ProviderFailure> {
        let mut said = false;
        for part in content.into_iter().flatten() {
            self.refused |= part.kind == "refusal";
            let text = self.counted(part.text.or(part.refusal))?;
            if !text.is_empty() {
                said = true;
                out.push_back(Chunk::Text(text));
            }
        }
        Ok(said)
    }

    /// Emits a summary that came without deltas; returns whether it has text.
    fn late_summary(
        &mut self,
        summary: Option<Vec<wire::ContentPart>>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<bool, ProviderFailure> {
        let texts: Vec<_> = summary.into_iter().flatten().filter_map(|part| part.text).collect();
        let text = self.counted(Some(texts.join("\n\n")))?;
        let said = !text.is_empty();
        if said {
            out.push_back(Chunk::Thinking(text));
        }
        Ok(said)
    }

    fn conclude(
        &mut self,
        response: &wire::Response<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        let stop = match response.status.as_deref() {
            Some("completed") => self.completed()?,
            Some("incomplete") => {
                let reason = response.incomplete_details.as_ref().and_then(|d| d.reason.as_deref());
                incomplete(reason.unwrap_or("incomplete"))
            }
            Some("failed") => {
                return Err(response.error.as_ref().map_or_else(
                    || ProviderFailure::new(FailureKind::ApiError, "error: the response failed"),
                    api_error,
                ));
            }
            Some(other) => return Err(protocol_error(&format!("an end with the status `{other}`"))),
            None => return Err(protocol_error("an end without a status")),
        };
        if let Some(counts) = &response.usage {
            out.push_back(Chunk::Usage(counts.usage()));
        }
        self.stage = Stage::Done;
        out.push_back(Chunk::Done(stop));
        Ok(())
    }

    fn completed(&self) -> Result<StopReason, ProviderFailure> {
        if self.open.iter().any(|open| matches!(open.item, OpenItem::Call { .. })) {
            return Err(protocol_error("a completed response with an open call"));
        }
        Ok(match (self.calls, self.refused) {
            (_, true) => StopReason::Refusal(None),
            (0, false) => StopReason::EndTurn,
            (_, false) => StopReason::ToolUse,
        })
    }

    fn require_started(&self, event: &str) -> Result<(), ProviderFailure> {
        match self.stage {
            Stage::Started => Ok(()),
            Stage::Waiting => Err(protocol_error(&format!("{event} before response.created"))),
            Stage::Done => Err(protocol_error(&format!("{event} after the end"))),
        }
    }

    /// Finds the open item that a part belongs to. A part that comes twice, or behind a later one, would put
    /// something else together than the model wrote.
    fn find_part(&mut self, event: &wire::PartEvent<'_>) -> Result<usize, ProviderFailure> {
        if let Some(number) = event.sequence_number {
            if number < self.next_number {
                return Err(protocol_error("a part that comes twice or too late"));
            }
            self.next_number = number.saturating_add(1);
        }
        self.find(event.output_index, event.item_id.as_ref().map(BorrowedText::as_str))
    }

    /// Finds the open item that an event speaks of: by index, which every vendor's event has, else by id, else
    /// the last one.
    fn find(&self, index: Option<u64>, id: Option<&str>) -> Result<usize, ProviderFailure> {
        self.require_started("a part of an item")?;
        let found = if index.is_some() {
            self.open.iter().position(|open| open.index == index)
        } else if id.is_some() {
            self.open.iter().position(|open| open.id.as_deref() == id)
        } else {
            self.open.len().checked_sub(1)
        };
        found.ok_or_else(|| protocol_error("a part of an item that is not open"))
    }

    fn counted(&mut self, text: Option<String>) -> Result<String, ProviderFailure> {
        let text = text.unwrap_or_default();
        self.reply_size.add(text.len())?;
        Ok(text)
    }
}

fn opaque(raw: &RawValue) -> Opaque {
    Opaque::new(NAME, raw.to_owned())
}

fn incomplete(reason: &str) -> StopReason {
    match reason {
        "max_output_tokens" => StopReason::MaxTokens,
        "content_filter" => StopReason::ContentFilter(None),
        other => StopReason::Other(other.to_owned()),
    }
}

/// Parses an error event; `None` if the text is not one.
fn read_error(text: &str) -> Option<ProviderFailure> {
    let event: wire::ErrorEvent = serde_json::from_str(text).ok()?;
    match event.error {
        Some(error) => Some(api_error(&error)),
        None => event.flat.message.is_some().then(|| {
            // Flat, `type` is the event's and says nothing.
            api_error(&wire::ErrorObject { kind: None, ..event.flat })
        }),
    }
}

/// An error the provider reports inside an answer (PERR-4), with the status the same error has outside of one.
fn api_error(error: &wire::ErrorObject) -> ProviderFailure {
    let words = [error.code.as_ref().and_then(|c| c.as_str()), error.kind.as_deref()];
    let kind = words.into_iter().flatten().find(|word| !word.is_empty()).unwrap_or("error");
    let status = match kind {
        "invalid_prompt" | "invalid_request_error" | "context_length_exceeded" => Some(400),
        "bio_policy" | "misalignment_policy_violation" | "image_content_policy_violation" => Some(400),
        "invalid_api_key" | "authentication_error" => Some(401),
        "insufficient_quota" | "rate_limit_exceeded" | "rate_limit_error" => Some(429),
        "server_error" => Some(500),
        "server_is_overloaded" | "slow_down" => Some(503),
        "vector_store_timeout" => Some(504),
        _ => error.code.as_ref().and_then(|c| c.as_u64()).and_then(|c| u16::try_from(c).ok()),
    };
    let message = error.message.as_deref().unwrap_or_default();
    let message = failure::details(message.as_bytes()).unwrap_or_default();
    let error = ProviderFailure::new(FailureKind::ApiError, format!("{kind}: {message}"));
    failure::sorted(ProviderFailure { status, ..error }, kind)
}
