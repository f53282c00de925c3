//! A Chat Completions answer to chunks: a state machine over its events. An answer in one piece is one event.
//!
//! Servers disagree about nearly everything but the deltas, so what is missing is made up for where it can be:
//! ids, indices, the end mark. What contradicts itself ends the answer (NET-9).

use std::collections::VecDeque;

use serde_json::value::RawValue;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::Opaque;
use zori_core::provider::{Chunk, StopReason};

use super::wire;
use crate::answer::{self, Decode, EVENT_COST, ReplySize, parse, protocol_error};
use crate::borrowed_json::BorrowedText;
use crate::failure;
use crate::quirks::{EndMark, ReasoningReplay};
use crate::text_tools::{Piece, Scanner};

/// How many calls one answer may make.
const MAX_CALLS: usize = 256;

/// How an answer is to be read.
#[derive(Debug)]
pub(super) struct DecodeOptions {
    /// Marks the reasoning that goes back.
    pub(super) provider: &'static str,
    pub(super) reasoning_replay: ReasoningReplay,
    pub(super) end_mark: EndMark,
    /// Finds calls in the text, where that is how the model makes them.
    pub(super) prose: Option<Scanner>,
}

/// Decodes one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    options: DecodeOptions,
    started: bool,
    done: bool,
    open: Open,
    calls: Vec<Call>,
    /// Elements of `reasoning_details` that have not been emitted, separated by commas.
    details: String,
    refused: bool,
    stop: Option<StopReason>,
    reply_size: ReplySize,
}

/// The block that text goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Text,
    Thinking,
}

#[derive(Debug)]
struct Call {
    /// Where the server counts it, if it does.
    index: Option<u64>,
    id: Option<String>,
    /// Given out once there is a name.
    started: bool,
    /// Arguments that came before the name.
    early: String,
    /// Whether the arguments so far are complete, as far as brackets and quotes say.
    arguments: Brackets,
}

/// Follows the brackets of JSON that comes in pieces.
#[derive(Clone, Copy, Debug, Default)]
struct Brackets {
    depth: u32,
    in_text: bool,
    escaped: bool,
    /// Whether the first bracket was closed again.
    closed: bool,
}

impl Brackets {
    fn push(&mut self, json: &str) {
        for byte in json.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                b'{' | b'[' if !self.in_text => self.depth += 1,
                b'}' | b']' if !self.in_text => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}

impl Decode for Decoder {
    fn event(&mut self, _name: &[u8], data: &[u8], out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        let text = answer::utf8(data)?.trim();
        if text == "[DONE]" {
            return self.finish(out);
        }
        if self.done {
            return Err(protocol_error("more after the end"));
        }
        self.reply_size.add(EVENT_COST)?;
        self.completion(parse(text)?, out)
    }

    fn end(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        if !self.done && self.stop.is_some() && self.options.end_mark == EndMark::Optional {
            return self.finish(out);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn whole(mut self, body: &[u8]) -> Result<VecDeque<Chunk>, ProviderFailure> {
        let mut out = VecDeque::new();
        let answer: wire::Completion<'_> = parse(answer::utf8(body)?)?;
        self.completion(answer, &mut out)?;
        self.finish(&mut out)?;
        Ok(out)
    }
}

impl Decoder {
    pub(super) fn new(options: DecodeOptions) -> Self {
        Self {
            options,
            started: false,
            done: false,
            open: Open::Nothing,
            calls: Vec::new(),
            details: String::new(),
            refused: false,
            stop: None,
            reply_size: ReplySize::default(),
        }
    }

    fn completion(
        &mut self,
        event: wire::Completion<'_>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        if let Some(error) = event.error {
            return Err(api_error(error));
        }
        let choices = event.choices.unwrap_or_default();
        if !self.started && (event.model.is_some() || !choices.is_empty()) {
            self.started = true;
            let model = event.model.map(BorrowedText::into_string).unwrap_or_default();
            out.push_back(Chunk::Started { model });
        }
        // One choice is asked for; others would be somebody else's.
        for choice in choices.into_iter().filter(|choice| choice.index == 0) {
            self.choice(choice, out)?;
        }
        if let Some(counts) = event.usage {
            out.push_back(Chunk::Usage(counts.usage()));
        }
        Ok(())
    }

    fn choice(&mut self, choice: wire::Choice<'_>, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        if let Some(error) = choice.error {
            return Err(api_error(error));
        }
        if let Some(delta) = choice.delta {
            self.delta(delta, out)?;
        }
        match choice.finish_reason.filter(|reason| !reason.is_empty()) {
            Some(reason) => self.stop(reason, out),
            None => Ok(()),
        }
    }

    fn delta(&mut self, delta: wire::Delta<'_>, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        let filled = |text: Option<String>| text.filter(|t| !t.is_empty());
        // Servers that send both fields send the same text twice.
        if let Some(text) = filled(delta.reasoning_content).or_else(|| filled(delta.reasoning)) {
            self.more(text.len())?;
            self.switch(Open::Thinking, out);
            out.push_back(Chunk::Thinking(text));
        }
        if self.options.reasoning_replay == ReasoningReplay::Details {
            for detail in delta.reasoning_details.into_iter().flatten() {
                self.more(detail.get().len())?;
                if !self.details.is_empty() {
                    self.details.push(',');
                }
                self.details.push_str(detail.get());
            }
        }
        if let Some(text) = filled(delta.content) {
            self.more(text.len())?;
            self.text(text, out)?;
        }
        if let Some(text) = filled(delta.refusal) {
            self.more(text.len())?;
            self.refused = true;
            self.say(text, out);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call.index, filled(call.id), call.function, out)?;
        }
        if let Some(function) = delta.function_call {
            self.call(Some(0), None, Some(function), out)?;
        }
        Ok(())
    }

    fn text(&mut self, text: String, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        match &mut self.options.prose {
            None => self.say(text, out),
            Some(scanner) => {
                let mut pieces = Vec::new();
                scanner.push(&text, &mut pieces);
                self.pieces(pieces, out)?;
            }
        }
        Ok(())
    }

    fn pieces(&mut self, pieces: Vec<Piece>, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.say(text, out),
                Piece::Call { name, arguments } => {
                    let at = self.add_call(None, None)?;
                    self.start_call(at, name, out);
                    out.push_back(Chunk::CallInput { index: index(at), json: arguments });
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, text: String, out: &mut VecDeque<Chunk>) {
        self.switch(Open::Text, out);
        out.push_back(Chunk::Text(text));
    }

    fn call(
        &mut self,
        wire_index: Option<u64>,
        id: Option<String>,
        function: Option<wire::FunctionDelta<'_>>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderFailure> {
        let (name, arguments) = function.map_or((None, None), |f| (f.name, f.arguments));
        let name = name.filter(|n| !n.is_empty());
        let arguments = arguments.map(argument_text).transpose()?.unwrap_or_default();
        self.more(arguments.len())?;
        let at = match self.find_call(wire_index, id.as_deref(), name.is_some()) {
            Some(at) => at,
            None => self.add_call(wire_index, id)?,
        };
        if let Some(name) = name.filter(|_| !self.calls[at].started) {
            self.start_call(at, name, out);
        }
        let call = &mut self.calls[at];
        call.arguments.push(&arguments);
        if !call.started {
            call.early.push_str(&arguments);
        } else if !arguments.is_empty() {
            out.push_back(Chunk::CallInput { index: index(at), json: arguments });
        }
        Ok(())
    }

    /// Returns the call a delta belongs to. Servers that do not count, or count all calls as the first, begin the
    /// next one with another id, or with a name behind complete arguments.
    fn find_call(&self, wire_index: Option<u64>, id: Option<&str>, named: bool) -> Option<usize> {
        let last = self.calls.iter().rposition(|call| wire_index.is_none() || call.index == wire_index)?;
        let call = &self.calls[last];
        let other_id = id.is_some_and(|id| call.id.as_deref().is_some_and(|known| known != id));
        let complete = call.arguments.closed || (wire_index.is_none() && id.is_none());
        let same_id = id.is_some() && call.id.as_deref() == id;
        let begun_again = named && call.started && !same_id && (other_id || complete);
        (!begun_again).then_some(last)
    }

    fn add_call(&mut self, index: Option<u64>, id: Option<String>) -> Result<usize, ProviderFailure> {
        if self.calls.len() == MAX_CALLS {
            return Err(protocol_error("too many calls"));
        }
        let (early, arguments) = (String::new(), Brackets::default());
        self.calls.push(Call { index, id, started: false, early, arguments });
        Ok(self.calls.len() - 1)
    }

    fn start_call(&mut self, at: usize, name: String, out: &mut VecDeque<Chunk>) {
        self.switch(Open::Nothing, out);
        let call = &mut self.calls[at];
        call.started = true;
        let early = std::mem::take(&mut call.early);
        out.push_back(Chunk::CallStart { index: index(at), id: call.id.clone(), name, replay: None });
        if !early.is_empty() {
            out.push_back(Chunk::CallInput { index: index(at), json: early });
        }
    }

    /// Closes the open block if the next one is another.
    fn switch(&mut self, next: Open, out: &mut VecDeque<Chunk>) {
        if self.open == next {
            return;
        }
        if self.open == Open::Thinking {
            self.give_details(out);
        }
        if self.open != Open::Nothing {
            out.push_back(Chunk::BlockEnd);
        }
        self.open = next;
    }

    /// Emits the reasoning that goes back, unchanged. Where its text is what goes back, only that it does is noted.
    fn give_details(&mut self, out: &mut VecDeque<Chunk>) {
        if self.options.reasoning_replay == ReasoningReplay::Content && self.open == Open::Thinking {
            let raw = RawValue::from_string("true".to_owned()).expect("`true` is JSON");
            out.push_back(Chunk::ThinkingReplay(Opaque::new(self.options.provider, raw)));
        }
        if !self.details.is_empty() {
            let array = format!("[{}]", std::mem::take(&mut self.details));
            let raw = RawValue::from_string(array).expect("an array of JSON is JSON");
            out.push_back(Chunk::ThinkingReplay(Opaque::new(self.options.provider, raw)));
        }
    }

    /// Settles everything but the counts, which may follow.
    fn stop(&mut self, reason: String, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        if let Some(scanner) = &mut self.options.prose {
            let mut pieces = Vec::new();
            scanner.finish(&mut pieces);
            self.pieces(pieces, out)?;
        }
        self.switch(Open::Nothing, out);
        if !self.details.is_empty() {
            self.give_details(out);
            out.push_back(Chunk::BlockEnd);
        }
        if self.calls.iter().any(|call| !call.started) {
            return Err(protocol_error("a call without a name"));
        }
        let reason = self.meaning(reason);
        match &self.stop {
            None => {}
            Some(stop) if *stop == reason => return Ok(()),
            Some(_) => return Err(protocol_error("two finish reasons")),
        }
        // Where the model was cut off, so was its last call; without arguments it would look complete.
        let whole = match reason {
            StopReason::ToolUse | StopReason::EndTurn => self.calls.len(),
            _ => self.calls.len().saturating_sub(1),
        };
        out.extend((0..whole).map(|at| Chunk::CallEnd { index: index(at) }));
        self.stop = Some(reason);
        Ok(())
    }

    fn meaning(&self, reason: String) -> StopReason {
        match reason.as_str() {
            // What was refused is refused, whatever else the reply holds.
            "stop" | "tool_calls" | "function_call" if self.refused => StopReason::Refusal(None),
            // Not every server has a reason of its own for calls.
            "stop" | "tool_calls" | "function_call" if !self.calls.is_empty() => StopReason::ToolUse,
            "stop" => StopReason::EndTurn,
            "length" => StopReason::MaxTokens,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "content_filter" => StopReason::ContentFilter(None),
            _ => StopReason::Other(reason),
        }
    }

    fn finish(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), ProviderFailure> {
        if self.done {
            return Err(protocol_error("two ends"));
        }
        let stop = self.stop.take().ok_or_else(|| protocol_error("an end without a finish reason"))?;
        self.done = true;
        out.push_back(Chunk::Done(stop));
        Ok(())
    }

    /// Counts content, which must not come any more once there is a finish reason.
    fn more(&mut self, bytes: usize) -> Result<(), ProviderFailure> {
        if self.stop.is_some() {
            return Err(protocol_error("more content after the finish reason"));
        }
        self.reply_size.add(bytes)
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).expect("there are few calls")
}

fn argument_text(raw: &RawValue) -> Result<String, ProviderFailure> {
    if raw.get().starts_with('"') { parse(raw.get()) } else { Ok(raw.get().to_owned()) }
}

/// An error the server reports inside an answer (PERR-4): an object, or a mere sentence.
fn api_error(raw: &RawValue) -> ProviderFailure {
    let sentence = |text: String| wire::ErrorObject { message: Some(text), kind: None, code: None };
    let object = serde_json::from_str::<wire::ErrorObject<'_>>(raw.get())
        .or_else(|_| serde_json::from_str::<String>(raw.get()).map(sentence))
        .unwrap_or_else(|_| sentence(raw.get().to_owned()));
    let code = object.code.map(|code| code.get().trim_matches('"')).unwrap_or_default();
    let kind = object.kind.as_deref().filter(|kind| !kind.is_empty()).unwrap_or(code);
    let message = failure::details(object.message.unwrap_or_default().as_bytes()).unwrap_or_default();
    let status = status(code).or_else(|| status(kind));
    let kind = if kind.is_empty() || kind == "null" { "error" } else { kind };
    let error = ProviderFailure::new(FailureKind::ApiError, format!("{kind}: {message}"));
    failure::sorted(ProviderFailure { status, ..error }, code)
}

/// Returns the status that the same error has outside of an answer.
fn status(word: &str) -> Option<u16> {
    Some(match word {
        "invalid_request_error" | "context_length_exceeded" | "exceed_context_size_error" => 400,
        "authentication_error" | "invalid_api_key" => 401,
        "insufficient_quota" | "rate_limit_exceeded" | "rate_limit_error" => 429,
        "server_error" | "internal_server_error" => 500,
        "overloaded_error" | "unavailable_error" => 503,
        "timeout" => 504,
        _ => return word.parse().ok().filter(|code| (400..600).contains(code)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls that a stream of such deltas makes: name and arguments each.
    fn calls(deltas: &[&str]) -> Vec<String> {
        let mut decoder = Decoder::new(DecodeOptions {
            provider: "p",
            reasoning_replay: ReasoningReplay::Nothing,
            end_mark: EndMark::Required,
            prose: None,
        });
        let mut out = VecDeque::new();
        for delta in deltas {
            let event = format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{delta}]}}}}]}}"#);
            decoder.event(b"", event.as_bytes(), &mut out).unwrap();
        }
        let end = br#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
        decoder.event(b"", end, &mut out).unwrap();
        let mut made: Vec<String> = Vec::new();
        for chunk in out {
            match chunk {
                Chunk::CallStart { name, .. } => made.push(name),
                Chunk::CallInput { index, json } => made[index as usize].push_str(&json),
                _ => {}
            }
        }
        made
    }

    /// Servers that count all calls as the first, or give no ids: two calls stay two.
    #[test]
    fn calls_that_nobody_counts() {
        let a = r#"{"index":0,"function":{"name":"read","arguments":"{\"path\":\"a}\"}"}}"#;
        let b = r#"{"index":0,"function":{"name":"read","arguments":"{\"path\":\"b\"}"}}"#;
        let both = [r#"read{"path":"a}"}"#, r#"read{"path":"b"}"#];
        assert_eq!(calls(&[a, b]), both);
        assert_eq!(calls(&[&a.replace(r#""index":0,"#, ""), &b.replace(r#""index":0,"#, "")]), both);
        let with_id = |call: &str, id: &str| call.replacen('{', &format!(r#"{{"id":"{id}","#), 1);
        assert_eq!(calls(&[&with_id(a, "1"), &with_id(b, "2")]), both);
        assert_eq!(calls(&[a, &with_id(b, "2")]), both);
        // A name that is repeated with every piece is the same call's.
        let first = r#"{"index":0,"function":{"name":"read","arguments":"{\"path\":"}}"#;
        let second = r#"{"index":0,"function":{"name":"read","arguments":"\"a\"}"}}"#;
        assert_eq!(calls(&[first, second]), [r#"read{"path":"a"}"#]);
    }
}
