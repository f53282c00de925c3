//! Gemini's answer to chunks: each event is a response with what is new in it; the one that says why the model
//! finished is the last.
//!
//! Unknown parts and fields are skipped. Calls come whole. A signature is kept with its part, byte for byte.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::Opaque;
use zori_core::provider::{Chunk, StopReason};
use zori_core::usage::Usage;

use super::{NAME, wire};
use crate::answer::{self, Decode, EVENT_COST, Received, contradiction, parse};
use crate::failure;
use crate::spare::Looked;

/// Decodes one answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    stage: Stage,
    open: Option<Open>,
    calls: u32,
    counts: wire::Counts,
    usage: Option<Usage>,
    received: Received,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Waiting,
    Started,
    Done,
}

/// The kind of block that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Text,
    Thinking,
}

impl Decode for Decoder {
    fn event(&mut self, name: &[u8], data: &[u8], out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        // The API names no event; one that has a name is a gateway's own, save for `message`, the default.
        if !matches!(name, b"" | b"message" | b"error") {
            return Ok(());
        }
        let text = answer::utf8(data)?;
        self.response(text, out)
    }

    fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    fn whole(mut self, body: &[u8]) -> Result<VecDeque<Chunk>, ProviderFailure> {
        let text = answer::utf8(body)?;
        // A list is what the streaming method answers a server that did not pass on how it was asked.
        let responses: Vec<&RawValue> =
            if text.trim_start().starts_with('[') { parse(text)? } else { vec![parse(text)?] };
        let mut out = VecDeque::new();
        for response in responses {
            self.response(response.get(), &mut out)?;
        }
        if self.is_done() { Ok(out) } else { Err(contradiction("an answer without a finish reason")) }
    }
}

impl Decoder {
    fn response(&mut self, text: &str, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        let response: wire::Response<'_> = parse(text)?;
        if let Some(error) = &response.error {
            return Err(api_error(error));
        }
        if self.stage == Stage::Done {
            return Err(contradiction("more after the finish reason"));
        }
        self.received.add(EVENT_COST)?;
        if self.stage == Stage::Waiting {
            self.stage = Stage::Started;
            let model = response.model_version.map(Looked::into_string).unwrap_or_default();
            out.push_back(Chunk::Started { model });
        }
        let mut stop = None;
        // Only one candidate was asked for.
        let candidate = response.candidates.into_iter().flatten().find(|c| c.index == 0);
        if let Some(candidate) = candidate {
            for raw in candidate.content.and_then(|c| c.parts).into_iter().flatten() {
                self.part(raw, out)?;
            }
            stop = candidate.finish_reason.filter(|r| !r.is_empty()).map(|reason| self.stop_reason(reason));
        }
        let blocked = response.prompt_feedback.and_then(|feedback| feedback.block_reason);
        if blocked.is_some_and(|reason| reason != "BLOCK_REASON_UNSPECIFIED") {
            stop = Some(StopReason::ContentFilter);
        }
        if stop.is_some() {
            self.close(out);
        }
        self.count(response.usage_metadata, out);
        if let Some(stop) = stop {
            self.stage = Stage::Done;
            out.push_back(Chunk::Done(stop));
        }
        Ok(())
    }

    fn part(&mut self, raw: &RawValue, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        let part: wire::Part<'_> = parse(raw.get())?;
        if let Some(call) = part.function_call {
            return self.call(call, part.thought_signature, out);
        }
        let kind = if part.thought { Open::Thinking } else { Open::Text };
        if let Some(text) = part.text.filter(|t| !t.is_empty()) {
            self.received.add(text.len())?;
            if self.open != Some(kind) {
                self.close(out);
                self.open = Some(kind);
            }
            out.push_back(if part.thought { Chunk::Thinking(text) } else { Chunk::Text(text) });
        }
        if part.thought_signature.is_some() {
            self.received.add(raw.get().len())?;
            if kind == Open::Text {
                // The signed part goes behind its text as a block of its own.
                self.close(out);
            }
            self.open = Some(Open::Thinking);
            out.push_back(Chunk::ThinkingReplay(opaque(raw)));
            self.close(out);
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: wire::Call<'_>,
        signature: Option<&RawValue>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        let name = call.name.ok_or_else(|| contradiction("a function call without a name"))?;
        let args = call.args.map(RawValue::get).filter(|json| *json != "null");
        self.received.add(EVENT_COST + args.map_or(0, str::len) + signature.map_or(0, |s| s.get().len()))?;
        self.close(out);
        let index = self.calls;
        self.calls += 1;
        let id = call.id.filter(|id| !id.is_empty());
        out.push_back(Chunk::CallStart { index, id, name, replay: signature.map(opaque) });
        if let Some(json) = args {
            out.push_back(Chunk::CallInput { index, json: json.to_owned() });
        }
        out.push_back(Chunk::CallEnd { index });
        Ok(())
    }

    fn close(&mut self, out: &mut VecDeque<Chunk>) {
        if self.open.take().is_some() {
            out.push_back(Chunk::BlockEnd);
        }
    }

    /// Counts come with every event; only those that say something new are passed on.
    fn count(&mut self, counts: Option<wire::Counts>, out: &mut VecDeque<Chunk>) {
        let Some(counts) = counts else { return };
        self.counts.update(&counts);
        let usage = self.counts.usage();
        if self.usage != Some(usage) {
            self.usage = Some(usage);
            out.push_back(Chunk::Usage(usage));
        }
    }

    /// There is no reason of its own for calls: a regular end with calls means that they should run.
    fn stop_reason(&self, reason: String) -> StopReason {
        match reason.as_str() {
            "STOP" if self.calls > 0 => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" | "MODEL_ARMOR" => StopReason::ContentFilter,
            // `MALFORMED_FUNCTION_CALL`, `OTHER`, and whatever comes to be, in the provider's words.
            _ => StopReason::Other(reason),
        }
    }
}

fn opaque(raw: &RawValue) -> Opaque {
    Opaque { provider: Arc::from(NAME), raw: raw.to_owned() }
}

/// An error the provider reports inside an answer (PERR-4).
fn api_error(error: &wire::ErrorObject) -> ProviderFailure {
    let kind = if error.status.is_empty() { "error" } else { &error.status };
    let message = failure::details(error.message.as_bytes()).unwrap_or_default();
    let failure = ProviderFailure::new(FailureKind::ApiError, format!("{kind}: {message}"));
    failure::sorted(ProviderFailure { status: error.code, ..failure }, "")
}
