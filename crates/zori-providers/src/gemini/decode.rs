//! Gemini's answer to chunks: each event is a response with what is new in it; the one that says why the model
//! finished is the last.
//!
//! Unknown parts and fields are skipped. Calls come whole. A signature is kept with its part, byte for byte.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::Opaque;
use zori_core::provider::{Chunk, StopReason};
use zori_core::usage::Usage;

use super::{NAME, wire};
use crate::answer::{self, Decode, EVENT_COST, ReplySize, parse, protocol_error};
use crate::borrowed_json::BorrowedText;
use crate::failure;

/// Decodes one answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    stage: Stage,
    open: Option<Open>,
    calls: u32,
    counts: wire::Counts,
    usage: Option<Usage>,
    reply_size: ReplySize,
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
        if self.is_done() { Ok(out) } else { Err(protocol_error("an answer without a finish reason")) }
    }
}

impl Decoder {
    fn response(&mut self, text: &str, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        let response: wire::Response<'_> = parse(text)?;
        if let Some(error) = &response.error {
            return Err(api_error(error));
        }
        if self.stage == Stage::Done {
            return Err(protocol_error("more after the finish reason"));
        }
        self.reply_size.add(EVENT_COST)?;
        if self.stage == Stage::Waiting {
            self.stage = Stage::Started;
            let model = response.model_version.map(BorrowedText::into_string).unwrap_or_default();
            out.push_back(Chunk::Started { model });
        }
        let mut stop = None;
        // Only one candidate was asked for.
        let candidate = response.candidates.into_iter().flatten().find(|c| c.index == 0);
        if let Some(candidate) = candidate {
            for raw in candidate.content.and_then(|c| c.parts).into_iter().flatten() {
                self.part(raw, out)?;
            }
            let said = candidate.finish_message;
            stop = candidate
                .finish_reason
                .filter(|r| !matches!(r.as_str(), "" | "FINISH_REASON_UNSPECIFIED"))
                .map(|reason| self.stop_reason(reason, said));
        }
        if let Some(feedback) = response.prompt_feedback
            && let Some(reason) = feedback.block_reason
            && !matches!(reason.as_str(), "" | "BLOCKED_REASON_UNSPECIFIED" | "BLOCK_REASON_UNSPECIFIED")
        {
            stop = Some(StopReason::Blocked(Some(explained(reason, feedback.block_reason_message))));
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
            self.reply_size.add(text.len())?;
            if self.open != Some(kind) {
                self.close(out);
                self.open = Some(kind);
            }
            out.push_back(if part.thought { Chunk::Thinking(text) } else { Chunk::Text(text) });
        }
        if part.thought_signature.is_some() {
            self.reply_size.add(raw.get().len())?;
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
        let name = call.name.ok_or_else(|| protocol_error("a function call without a name"))?;
        let args = call.args.map(RawValue::get).filter(|json| *json != "null");
        self.reply_size
            .add(EVENT_COST + args.map_or(0, str::len) + signature.map_or(0, |s| s.get().len()))?;
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
    fn stop_reason(&self, reason: String, said: Option<String>) -> StopReason {
        match reason.as_str() {
            "STOP" if self.calls > 0 => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            // A reply that could be continued by a token of the provider's is continued like any other.
            "MAX_TOKENS" | "CONTINUATION" => StopReason::MaxTokens,
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "ESCALATION"
            | "PUP_LIMITED_DISABLED"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => StopReason::ContentFilter(Some(explained(reason, said))),
            "MALFORMED_FUNCTION_CALL"
            | "MALFORMED_RESPONSE"
            | "MISSING_THOUGHT_SIGNATURE"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "NO_IMAGE"
            | "IMAGE_OTHER" => StopReason::Malformed(explained(reason, said)),
            // `OTHER`, and whatever comes to be, in the provider's words.
            _ => StopReason::Other(explained(reason, said)),
        }
    }
}

/// Returns the provider's word for a reason, with its sentence where there is one.
fn explained(reason: String, said: Option<String>) -> String {
    match said.and_then(|text| failure::details(text.as_bytes())) {
        Some(text) => format!("{reason}: {text}"),
        None => reason,
    }
}

fn opaque(raw: &RawValue) -> Opaque {
    Opaque::new(NAME, raw.to_owned())
}

/// An error the provider reports inside an answer (PERR-4).
fn api_error(error: &wire::ErrorObject) -> ProviderFailure {
    let kind = if error.status.is_empty() { "error" } else { &error.status };
    let message = failure::details(error.message.as_bytes()).unwrap_or_default();
    let failure = ProviderFailure::new(FailureKind::ApiError, format!("{kind}: {message}"));
    failure::sorted(ProviderFailure { status: error.code, ..failure }, "")
}
