//! An answer as events, in each vendor's shape, and events as bytes in every way the format allows.

use serde_json::{Value, json};
use zori_core::provider::StopReason;

use super::{Answer, Dialect, Piece, deltas};
use crate::random::Random;

/// Returns the bytes of a stream that gives this answer.
pub fn stream(random: &mut Random, dialect: Dialect, answer: &Answer) -> Vec<u8> {
    let events = match dialect {
        Dialect::Anthropic => anthropic(random, answer),
        Dialect::Chat => chat(random, answer),
        Dialect::Responses => responses(random, answer),
        Dialect::Gemini => gemini(random, answer),
    };
    let named = matches!(dialect, Dialect::Anthropic | Dialect::Responses) && !random.once_in(4);
    let end = random.one_of(&["\n", "\r\n", "\r"]);
    let colon = random.one_of(&[": ", ":"]);
    let mut out = String::new();
    if random.once_in(8) {
        out.push('\u{feff}');
    }
    for mut event in events {
        noise(random, dialect, end, &mut out);
        if named {
            out += &format!("event{colon}{}{end}", event["type"].as_str().expect("events have a type"));
        }
        if random.once_in(3) {
            widen(random, &mut event);
        }
        out += &format!("data{colon}{event}{end}{end}");
    }
    if dialect == Dialect::Chat {
        out += &format!("data{colon}[DONE]{end}{end}");
    }
    out.into_bytes()
}

/// What may stand between two events and means nothing.
fn noise(random: &mut Random, dialect: Dialect, end: &str, out: &mut String) {
    match random.below(12) {
        0 => *out += &format!(": a comment{end}{end}"),
        1 => *out += &format!("id: 7{end}retry: 100{end}"),
        2 => *out += &format!("novelty: x{end}event: unused{end}{end}"),
        3 if dialect == Dialect::Anthropic => {
            *out += &format!("event: ping{end}data: {{\"type\":\"ping\"}}{end}{end}");
        }
        4 if matches!(dialect, Dialect::Anthropic | Dialect::Responses) => {
            *out +=
                &format!("event: novelty.added{end}data: {{\"type\":\"novelty.added\",\"x\":1}}{end}{end}");
        }
        _ => {}
    }
}

/// Adds a field that nobody knows, at some depth.
fn widen(random: &mut Random, value: &mut Value) {
    let strange = json!({"novel": [1, {"text": "not me"}, null], "type": "novelty"});
    match value {
        Value::Object(fields) => {
            let inner: Vec<String> =
                fields.iter().filter(|(_, v)| v.is_object()).map(|(k, _)| k.clone()).collect();
            // Arguments are the model's, and not ours to widen.
            match inner.iter().find(|name| *name != "args" && !random.once_in(2)) {
                Some(name) => widen(random, &mut fields[name.as_str()]),
                None => drop(fields.insert("x_novelty".to_owned(), strange)),
            }
        }
        _ => unreachable!("events are objects"),
    }
}

fn anthropic(random: &mut Random, answer: &Answer) -> Vec<Value> {
    let usage = json!({"input_tokens": answer.usage.input, "output_tokens": 1});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "usage": usage});
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in answer.blocks.iter().enumerate() {
        let (start, pieces): (Value, Vec<Value>) = match block {
            Piece::Text(text) => (
                json!({"type": "text", "text": ""}),
                deltas(random, text).iter().map(|d| json!({"type": "text_delta", "text": d})).collect(),
            ),
            Piece::Thinking(text) => {
                let mut pieces: Vec<_> = deltas(random, text)
                    .iter()
                    .map(|d| json!({"type": "thinking_delta", "thinking": d}))
                    .collect();
                pieces.push(json!({"type": "signature_delta", "signature": "EqQB"}));
                (json!({"type": "thinking", "thinking": "", "signature": ""}), pieces)
            }
            Piece::Call { id, name, input } => (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                deltas(random, input)
                    .iter()
                    .map(|d| json!({"type": "input_json_delta", "partial_json": d}))
                    .collect(),
            ),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            pieces.into_iter().map(|d| json!({"type": "content_block_delta", "index": index, "delta": d})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let reason = match answer.stop {
        StopReason::MaxTokens => "max_tokens",
        StopReason::ToolUse => "tool_use",
        _ => "end_turn",
    };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": answer.usage.output}}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn chat(random: &mut Random, answer: &Answer) -> Vec<Value> {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    let mut calls = 0;
    for block in &answer.blocks {
        match block {
            Piece::Thinking(text) => {
                events.extend(
                    deltas(random, text).iter().map(|d| chunk(json!({"content": "", "reasoning": d}), None)),
                );
            }
            Piece::Text(text) => {
                events.extend(deltas(random, text).iter().map(|d| chunk(json!({"content": d}), None)));
            }
            Piece::Call { id, name, input } => {
                let call = |function: Value| json!({"tool_calls": [{"index": calls, "function": function}]});
                let mut start = call(json!({"name": name, "arguments": ""}));
                start["tool_calls"][0]["id"] = json!(id);
                start["tool_calls"][0]["type"] = json!("function");
                events.push(chunk(start, None));
                let pieces = deltas(random, input);
                events.extend(pieces.iter().map(|d| chunk(call(json!({"arguments": d})), None)));
                calls += 1;
            }
        }
    }
    let reason = match answer.stop {
        StopReason::MaxTokens => "length",
        StopReason::ToolUse => "tool_calls",
        _ => "stop",
    };
    events.push(chunk(json!({}), Some(reason)));
    events.push(json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": {
        "prompt_tokens": answer.usage.input, "completion_tokens": answer.usage.output}}));
    events
}

fn responses(random: &mut Random, answer: &Answer) -> Vec<Value> {
    let response = |status: &str| json!({"id": "resp_1", "object": "response", "status": status, "model": "m", "output": []});
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress")}),
        json!({"type": "response.in_progress", "response": response("in_progress")}),
    ];
    for (at, block) in answer.blocks.iter().enumerate() {
        let mut add = |event: Value| events.push(event);
        let delta = |kind: &str, delta: &str| json!({"type": kind, "item_id": format!("i_{at}"), "output_index": at, "delta": delta});
        let (added, done, pieces) = match block {
            Piece::Text(text) => (
                json!({"id": format!("i_{at}"), "type": "message", "role": "assistant", "content": []}),
                json!({"id": format!("i_{at}"), "type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]}),
                deltas(random, text)
                    .iter()
                    .map(|d| delta("response.output_text.delta", d))
                    .collect::<Vec<_>>(),
            ),
            Piece::Thinking(text) => (
                json!({"id": format!("i_{at}"), "type": "reasoning", "summary": []}),
                json!({"id": format!("i_{at}"), "type": "reasoning", "encrypted_content": "gAAA",
                    "summary": [{"type": "summary_text", "text": text}]}),
                deltas(random, text)
                    .iter()
                    .map(|d| {
                        let mut event = delta("response.reasoning_summary_text.delta", d);
                        event["summary_index"] = json!(0);
                        event
                    })
                    .collect(),
            ),
            Piece::Call { id, name, input } => (
                json!({"id": format!("i_{at}"), "type": "function_call", "call_id": id, "name": name, "arguments": ""}),
                json!({"id": format!("i_{at}"), "type": "function_call", "call_id": id, "name": name, "arguments": input}),
                deltas(random, input)
                    .iter()
                    .map(|d| delta("response.function_call_arguments.delta", d))
                    .collect(),
            ),
        };
        add(json!({"type": "response.output_item.added", "output_index": at, "item": added}));
        pieces.into_iter().for_each(&mut add);
        add(json!({"type": "response.output_item.done", "output_index": at, "item": done}));
    }
    let cut = answer.stop == StopReason::MaxTokens;
    let mut last = response(if cut { "incomplete" } else { "completed" });
    last["usage"] = json!({"input_tokens": answer.usage.input, "output_tokens": answer.usage.output});
    if cut {
        last["incomplete_details"] = json!({"reason": "max_output_tokens"});
    }
    events.push(
        json!({"type": if cut { "response.incomplete" } else { "response.completed" }, "response": last}),
    );
    events
}

fn gemini(random: &mut Random, answer: &Answer) -> Vec<Value> {
    let mut parts = Vec::new();
    for block in &answer.blocks {
        match block {
            Piece::Thinking(text) => {
                parts.extend(deltas(random, text).iter().map(|d| json!({"text": d, "thought": true})));
            }
            Piece::Text(text) => parts.extend(deltas(random, text).iter().map(|d| json!({"text": d}))),
            Piece::Call { id, name, input } => {
                let args: Value = serde_json::from_str(input).expect("arguments are JSON");
                let mut call = json!({"name": name, "args": args});
                if let Some(id) = id {
                    call["id"] = json!(id);
                }
                parts.push(json!({"functionCall": call}));
            }
        }
    }
    let mut events: Vec<_> = Vec::new();
    let mut rest = parts.as_slice();
    while !rest.is_empty() {
        let (now, later) = rest.split_at(1 + random.below(rest.len().min(3)));
        events.push(json!({"candidates": [{"content": {"role": "model", "parts": now}, "index": 0}], "modelVersion": "m"}));
        rest = later;
    }
    let reason = if answer.stop == StopReason::MaxTokens { "MAX_TOKENS" } else { "STOP" };
    let last = events.last_mut().expect("an answer has a part");
    last["candidates"][0]["finishReason"] = json!(reason);
    last["usageMetadata"] =
        json!({"promptTokenCount": answer.usage.input, "candidatesTokenCount": answer.usage.output});
    events
}
