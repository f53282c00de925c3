//! What a run looks like to an SDK: whole lines, with ids that are counted and a clock that stands still.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::value::RawValue;
use zori_core::ids::SessionId;
use zori_core::message::{Block, IdOrigin, Message, Opaque, Role, Thinking, ToolCall, ToolInput};
use zori_core::permission::Class;
use zori_core::provider::StopReason;
use zori_core::tool::ToolCode;
use zori_redact::Redactor;

use super::*;
use crate::claude::{FrameMode, ModelFacts, SDK_LINE};
use crate::sample::{
    Paper, Saving, Still, delta, event, failed, failure, finished, ok, prompt, requested, session, thinking,
    turn_over,
};

struct Counted(AtomicU64);

impl IdSource for Counted {
    fn session(&self) -> SessionId {
        SessionId::parse("s").unwrap()
    }

    fn random(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// The one place that knows the renderer's API: the lines, without what every one of them has.
fn lines(partial: bool, events: &[Event]) -> String {
    let paper = Paper::default();
    let facts = SdkFacts {
        mcp_servers: vec![McpServer { name: "calc".into(), status: "connected" }],
        mode: "default".into(),
        slash_commands: Vec::new(),
        skills: Vec::new(),
        api_key_source: "none".into(),
        version: "0.0.0",
        max_turns: None,
        partial,
        state: false,
    };
    let tally = Tally::new(Arc::new(Still), Arc::new(|_| ModelFacts::default()));
    let frames = FrameWriter::new(Box::new(paper.clone()), SDK_LINE, FrameMode::All);
    let redactor = Redactor::new(zori_core::secret::Secrets::default());
    let ids = Arc::new(Counted(AtomicU64::new(0)));
    let mut renderer = SdkRenderer::new(frames, redactor, ids, tally, facts, None);
    renderer.on_event(&session(Saving::Nowhere)).unwrap();
    for event in events {
        renderer.on_event(event).unwrap();
    }
    paper.text().lines().map(short).collect::<Vec<_>>().join("\n")
}

/// Leaves out ids and counters that say nothing here.
fn short(line: &str) -> String {
    let mut value: Value = serde_json::from_str(line).unwrap();
    assert!(line.starts_with("{\"type\":\""), "{line}");
    let map = value.as_object_mut().unwrap();
    assert!(map.remove("uuid").is_some() && map.remove("session_id").is_some(), "{line}");
    if map["type"] == "assistant" {
        return format!(
            "assistant {} {}",
            map["message"]["content"],
            map.get("error").unwrap_or(&Value::Null)
        );
    }
    if map["type"] == "stream_event" {
        let event = map["event"].as_object_mut().unwrap();
        event.remove("message");
        event.remove("usage");
        return format!("stream {}", map["event"]);
    }
    value.to_string()
}

fn reply(blocks: Vec<Block>, stop: Option<StopReason>) -> Event {
    let message = Arc::new(Message { role: Role::Assistant, blocks });
    let (model, usage) = ("m".into(), Usage::default());
    event(MessageEvent::MessageFinished(Reply { message, model, usage, stop, discarded: false }))
}

fn call(id: &str, input: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: CallId::new(id),
        name: "Read".into(),
        input: ToolInput::Json(RawValue::from_string(input.to_owned()).unwrap()),
        id_origin: IdOrigin::Provider,
        replay: None,
    })
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn input(id: &str, json: &str) -> Event {
    let (call, name, json) = (CallId::new(id), "Read".into(), json.to_owned());
    event(MessageEvent::ToolInputDelta { index: 0, call, name, json })
}

fn opaque(json: Value) -> Opaque {
    Opaque::new("p", RawValue::from_string(json.to_string()).unwrap())
}

/// What a provider wants back for thinking that can be read, and for some that cannot.
fn signature(text: &str) -> Opaque {
    opaque(json!({ "signature": text }))
}

fn hidden(data: &str) -> Opaque {
    opaque(json!({ "data": data }))
}

#[test]
fn a_turn_with_a_tool() {
    let events = [
        prompt(),
        delta("I look"),
        reply(vec![text("I look"), call("1", "{\n\"file_path\": \"a\"}")], Some(StopReason::ToolUse)),
        requested("1", "Read", 1),
        finished("1", "Read", ok(), None),
        reply(vec![text("done")], Some(StopReason::EndTurn)),
        turn_over(),
    ];
    insta::assert_snapshot!(lines(false, &events), @r#"
    {"type":"system","subtype":"init","cwd":"/ws","provider":"p","tools":["Read"],"mcp_servers":[{"name":"calc","status":"connected"}],"model":"m","permissionMode":"default","slash_commands":[],"apiKeySource":"none","claude_code_version":"2.1.0","output_style":"default","agents":[],"skills":[],"plugins":[],"zori_version":"0.0.0"}
    assistant [{"type":"text","text":"I look"}] null
    assistant [{"type":"tool_use","id":"1","name":"Read","input":{"file_path":"a"}}] null
    {"type":"user","message":{"role":"user","content":[{"tool_use_id":"1","type":"tool_result","content":"{\"ok\":true,\"data\":{}}","is_error":false}]},"parent_tool_use_id":null,"timestamp":"1970-01-01T00:00:00Z"}
    assistant [{"type":"text","text":"done"}] null
    {"type":"result","subtype":"success","is_error":false,"api_error_status":null,"result":"","stop_reason":"end_turn","terminal_reason":"completed","duration_ms":0,"duration_api_ms":0,"ttft_ms":0,"num_turns":2,"permission_denials":[],"total_cost_usd":0.0,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard"},"modelUsage":{"m":{"inputTokens":0,"outputTokens":0,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"webSearchRequests":0,"costUSD":0.0,"contextWindow":0,"maxOutputTokens":0}}}
    "#);
}

/// 4.5: the whole block comes between its last piece and its end.
#[test]
fn pieces() {
    let thought = Block::Thinking(Thinking { text: "hm".into(), replay: Some(signature("s")) });
    let events = [
        event(MessageEvent::RequestStarted),
        event(MessageEvent::MessageStarted { model: "m".into() }),
        thinking("h"),
        thinking("m"),
        event(MessageEvent::ThinkingSigned { replay: signature("s") }),
        event(MessageEvent::BlockFinished),
        delta("a"),
        delta("b"),
        input("1", "{\"file_path\""),
        input("1", ": \"a\"}"),
        reply(vec![thought, text("ab"), call("1", "{\"file_path\": \"a\"}")], Some(StopReason::ToolUse)),
    ];
    insta::assert_snapshot!(lines(true, &events), @r#"
    {"type":"system","subtype":"status","status":"requesting"}
    stream {"type":"message_start"}
    stream {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
    stream {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}
    stream {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}
    stream {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}
    assistant [{"type":"thinking","thinking":"hm","signature":"s"}] null
    stream {"type":"content_block_stop","index":0}
    stream {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
    stream {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}
    stream {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}
    assistant [{"type":"text","text":"ab"}] null
    stream {"type":"content_block_stop","index":1}
    stream {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"1","name":"Read","input":{}}}
    stream {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\""}}
    stream {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":": \"a\"}"}}
    assistant [{"type":"tool_use","id":"1","name":"Read","input":{"file_path":"a"}}] null
    stream {"type":"content_block_stop","index":2}
    stream {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null}}
    stream {"type":"message_stop"}
    "#);
}

/// Of calls that come mixed, the first is told as it comes and the others whole; one without input has no pieces, and
/// blocks of one kind are kept apart.
#[test]
fn pieces_that_are_mixed() {
    let events = [
        event(MessageEvent::MessageStarted { model: "m".into() }),
        delta("a"),
        event(MessageEvent::BlockFinished),
        delta("b"),
        event(MessageEvent::ThinkingSigned { replay: hidden("d") }),
        input("2", "{"),
        input("3", "{"),
        input("2", "}"),
        input("3", "}"),
        input("4", "{}"),
        reply(
            vec![
                text("a"),
                text("b"),
                Block::Thinking(Thinking { text: String::new(), replay: Some(hidden("d")) }),
                call("1", "{}"),
                call("2", "{}"),
                call("3", "{}"),
                call("4", "{}"),
            ],
            Some(StopReason::ToolUse),
        ),
    ];
    let told = lines(true, &events);
    let told: Vec<&str> = told.lines().filter(|line| !line.contains("_delta\",\"index")).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    stream {"type":"message_start"}
    stream {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
    assistant [{"type":"text","text":"a"}] null
    stream {"type":"content_block_stop","index":0}
    stream {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
    assistant [{"type":"text","text":"b"}] null
    stream {"type":"content_block_stop","index":1}
    stream {"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"d"}}
    assistant [{"type":"redacted_thinking","data":"d"}] null
    stream {"type":"content_block_stop","index":2}
    stream {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"2","name":"Read","input":{}}}
    assistant [{"type":"tool_use","id":"2","name":"Read","input":{}}] null
    stream {"type":"content_block_stop","index":3}
    stream {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"4","name":"Read","input":{}}}
    assistant [{"type":"tool_use","id":"4","name":"Read","input":{}}] null
    stream {"type":"content_block_stop","index":4}
    stream {"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"1","name":"Read","input":{}}}
    assistant [{"type":"tool_use","id":"1","name":"Read","input":{}}] null
    stream {"type":"content_block_stop","index":5}
    stream {"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"3","name":"Read","input":{}}}
    assistant [{"type":"tool_use","id":"3","name":"Read","input":{}}] null
    stream {"type":"content_block_stop","index":6}
    stream {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null}}
    stream {"type":"message_stop"}
    "#);
}

/// A message that is cut has its end all the same, and each call that was told has a result.
#[test]
fn pieces_of_a_message_that_is_cut() {
    let begun = || event(MessageEvent::MessageStarted { model: "m".into() });
    let events = [
        begun(),
        event(MessageEvent::Retrying {
            attempt: 1,
            max: 4,
            delay: Duration::ZERO,
            failure: failure("reset", None),
        }),
        begun(),
        input("1", "{}"),
        input("2", "{\"a"),
        event(TurnEvent::Interrupted),
    ];
    insta::assert_snapshot!(lines(true, &events), @r#"
    stream {"type":"message_start"}
    stream {"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null}}
    stream {"type":"message_stop"}
    {"type":"system","subtype":"api_retry","attempt":1,"max_retries":4,"retry_delay_ms":0,"error_status":null,"error":"unknown"}
    stream {"type":"message_start"}
    stream {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"Read","input":{}}}
    stream {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}
    assistant [{"type":"tool_use","id":"1","name":"Read","input":{}}] null
    stream {"type":"content_block_stop","index":0}
    stream {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"2","name":"Read","input":{}}}
    stream {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}
    stream {"type":"content_block_stop","index":1}
    stream {"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null}}
    stream {"type":"message_stop"}
    {"type":"user","message":{"role":"user","content":[{"tool_use_id":"1","type":"tool_result","content":"The reply was cut off, so this call did not run","is_error":true}]},"parent_tool_use_id":null,"timestamp":"1970-01-01T00:00:00Z","tool_use_result":"Error: The reply was cut off, so this call did not run"}
    {"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"parent_tool_use_id":null}
    "#);
}

/// What goes wrong is told in the words clients know.
#[test]
fn trouble() {
    let failure = ProviderFailure { status: Some(529), ..failure("Overloaded", None) };
    let denied = Decision::new(Verdict::Deny, Class::Write, "no");
    let events = [
        event(MessageEvent::Retrying {
            attempt: 1,
            max: 4,
            delay: Duration::from_millis(550),
            failure: failure.clone(),
        }),
        requested("1", "Write", 1),
        event(ToolEvent::ApprovalResolved {
            call: CallId::new("1"),
            decision: denied,
            by: DecidedBy::Policy,
        }),
        finished("1", "Write", failed(ToolCode::PermissionDenied, "no"), None),
        event(StateEvent::ModeChanged { from: "default", to: "yolo" }),
        event(TurnEvent::Error { failure }),
        event(TurnEvent::Interrupted),
    ];
    insta::assert_snapshot!(lines(false, &events), @r#"
    {"type":"system","subtype":"api_retry","attempt":1,"max_retries":4,"retry_delay_ms":550,"error_status":529,"error":"overloaded"}
    {"type":"system","subtype":"permission_denied","tool_name":"Write","tool_use_id":"1","message":"no"}
    {"type":"user","message":{"role":"user","content":[{"tool_use_id":"1","type":"tool_result","content":"no","is_error":true}]},"parent_tool_use_id":null,"timestamp":"1970-01-01T00:00:00Z","tool_use_result":"Error: no"}
    {"type":"system","subtype":"status","status":null,"permissionMode":"bypassPermissions"}
    assistant [{"type":"text","text":"API Error: 529 Overloaded"}] "overloaded"
    {"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]},"parent_tool_use_id":null}
    "#);
}

/// A long wait, and a session that is not saved, are told; remarks that are for people are not.
#[test]
fn notices() {
    let notice = |level, code, text: &str| event(Notice { level, code, text: text.to_owned() });
    let events = [
        notice(NoticeLevel::Info, "waiting", "Waiting for the model; it may take up to 135 s without a word"),
        notice(NoticeLevel::Warning, "session_not_saved", "Failed to save session: /s: full"),
        notice(NoticeLevel::Warning, "undo_off", "Nothing is captured"),
    ];
    insta::assert_snapshot!(lines(false, &events), @r#"
    {"type":"system","subtype":"informational","content":"Waiting for the model; it may take up to 135 s without a word","level":"info"}
    {"type":"system","subtype":"informational","content":"Failed to save session: /s: full","level":"warning"}
    "#);
}

/// Its lines name the call that started it, and an end follows the beginning.
#[test]
fn a_sub_agent() {
    let sub = |event: Event| Event { agent: AgentId(1), parent: Some(CallId::new("1")), ..event };
    let facts = zori_core::agent::AgentFacts {
        description: "count".into(),
        kind: "general-purpose".into(),
        model: "m".into(),
        prompt: "go".into(),
    };
    let events = [
        sub(event(SessionEvent::AgentStarted(facts))),
        sub(prompt()),
        sub(reply(vec![text("three")], Some(StopReason::EndTurn))),
        sub(turn_over()),
        sub(turn_over()),
    ];
    insta::assert_snapshot!(lines(false, &events), @r#"
    {"type":"system","subtype":"task_started","task_id":"agent-1","description":"count","tool_use_id":"1","task_type":"local_agent","subagent_type":"general-purpose","prompt":"go"}
    {"type":"user","message":{"role":"user","content":[{"type":"text","text":"p"}]},"parent_tool_use_id":"1"}
    assistant [{"type":"text","text":"three"}] null
    {"type":"system","subtype":"task_notification","task_id":"agent-1","status":"completed","output_file":"","summary":"count","tool_use_id":"1","usage":{"total_tokens":0,"tool_uses":0,"duration_ms":0}}
    "#);
}
