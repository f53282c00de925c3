//! What a run looks like to a GUI: whole lines, with ids and a clock that stand still.

use std::time::Duration;

use zori_core::outcome::{CancelCause, Outcome};
use zori_core::permission::{Class, Decision};
use zori_core::provider::StopReason;
use zori_core::secret::Secrets;
use zori_core::tool::ToolCode;

use super::*;
use crate::claude::{FrameMode, ModelFacts, YUME_LINE};
use crate::sample::{
    Paper, Saving, Still, delta, event, exited, failed, failure, finished, ok, prompt, replied, requested,
    session, thinking, turn_over,
};

fn parts(paper: &Paper, previous: Option<SessionId>) -> FlatParts {
    FlatParts {
        frames: FrameWriter::new(Box::new(paper.clone()), YUME_LINE, FrameMode::All),
        redactor: Redactor::new(Secrets::default()),
        ids: Arc::new(Still),
        tally: Tally::new(Arc::new(Still), Arc::new(|_| ModelFacts::default())),
        names: ClientNames {
            call: |name, _| ClientCall { name: name.to_uppercase(), input: None },
            mode: |_| "interactive",
        },
        init: InitFacts {
            permission_mode: "default".to_owned(),
            api_key_source: "none".to_owned(),
            version: "0.0.0",
            previous,
        },
    }
}

/// The one place that knows the renderer's API: the lines of a run, without those of its start.
fn lines(events: &[Event]) -> String {
    let paper = Paper::default();
    let mut renderer = FlatRenderer::new(parts(&paper, None));
    for event in events {
        renderer.on_event(event).unwrap();
    }
    paper.text()
}

fn ended(outcome: Outcome) -> Event {
    let EventKind::Turn(TurnEvent::TurnFinished(summary)) = turn_over().kind else {
        unreachable!("it is one")
    };
    event(TurnEvent::TurnFinished(TurnSummary { outcome, ..summary }))
}

#[test]
fn the_start_of_a_run() {
    let paper = Paper::default();
    let mut renderer = FlatRenderer::new(parts(&paper, Some(SessionId::parse("before").unwrap())));
    renderer.on_event(&session(Saving::Nowhere)).unwrap();
    insta::assert_snapshot!(paper.text(), @r#"
    {"type":"system","subtype":"init","cwd":"/ws","session_id":"s","tools":["Read"],"mcp_servers":[],"model":"m","permissionMode":"default","slash_commands":[],"apiKeySource":"none","claude_code_version":"2.1.0","output_style":"default","agents":[],"skills":[],"plugins":[],"zori_version":"0.0.0","provider":"p","uuid":"00000000-0000-4000-8000-000000000000"}
    {"type":"system","subtype":"session_id","previous_session_id":"before","session_id":"s","uuid":"00000000-0000-4000-8000-000000000000"}
    "#);
}

/// Calls that the engine announces together are told one after the other, each with its result.
#[test]
fn a_turn_with_tools() {
    let events = [
        prompt(),
        thinking("hm"),
        delta("I look"),
        delta("."),
        replied(),
        requested("1", "read", 3),
        requested("2", "bash", 3),
        requested("3", "nope", 3),
        finished("3", "nope", failed(ToolCode::UnknownTool, "no such tool"), None),
        finished("1", "read", ok(), Some(1)),
        finished("2", "bash", exited(3, false), Some(1)),
        delta("Done."),
        replied(),
        turn_over(),
    ];
    insta::assert_snapshot!(lines(&events), @r#"
    {"type":"thinking","is_thinking":true,"thought":"hm"}
    {"type":"thinking","is_thinking":false,"thought":""}
    {"type":"text","content":"I look","id":"00000000-0000-4000-8000-000000000000"}
    {"type":"text","content":".","id":"00000000-0000-4000-8000-000000000000"}
    {"type":"usage","input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}
    {"type":"tool_use","id":"1","name":"READ","input":{}}
    {"type":"tool_result","tool_use_id":"1","content":"{\"ok\":true,\"data\":{}}","is_error":false}
    {"type":"tool_use","id":"2","name":"BASH","input":{}}
    {"type":"tool_result","tool_use_id":"2","content":"{\"ok\":true,\"data\":{}}","is_error":true}
    {"type":"tool_use","id":"3","name":"NOPE","input":{}}
    {"type":"tool_result","tool_use_id":"3","content":"no such tool","is_error":true}
    {"type":"text","content":"Done.","id":"00000000-0000-4000-8000-000000000000"}
    {"type":"usage","input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}
    {"type":"result","subtype":"success","is_error":false,"api_error_status":null,"result":"","stop_reason":"end_turn","terminal_reason":"completed","duration_ms":0,"duration_api_ms":0,"ttft_ms":0,"num_turns":4,"session_id":"s","total_cost_usd":0.0,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard"},"modelUsage":{"":{"inputTokens":0,"outputTokens":0,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"webSearchRequests":0,"costUSD":0.0,"contextWindow":0,"maxOutputTokens":0}},"permission_denials":[],"uuid":"00000000-0000-4000-8000-000000000000"}
    {"type":"message_stop"}
    "#);
}

/// The lines without the last two, which every turn has.
fn told(events: &[Event]) -> String {
    let text = lines(events);
    let lines: Vec<&str> = text.lines().collect();
    assert!(text.contains("{\"type\":\"usage\""), "every turn says what it used:\n{text}");
    let (shown, end) = lines.split_at(lines.len() - 2);
    assert!(end[0].starts_with("{\"type\":\"result\"") && end[1] == "{\"type\":\"message_stop\"}", "{text}");
    shown.join("\n")
}

#[test]
fn failures_by_what_a_gui_can_do_about_them() {
    let failed = |status: u16, message: &str| {
        let failure = ProviderFailure { status: Some(status), ..failure(message, None) };
        told(&[
            prompt(),
            event(TurnEvent::Error { failure: failure.clone() }),
            ended(Outcome::Failed(failure)),
        ])
    };
    insta::assert_snapshot!(failed(429, "HTTP 429: slow down"), @r#"
    {"type":"usage","input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}
    {"type":"error","message":"API error 429: slow down","code":"rate_limit"}
    "#);
    insta::assert_snapshot!(failed(500, "HTTP 500"), @r#"
    {"type":"usage","input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}
    {"type":"error","message":"API error 500","code":"server_error"}
    "#);
    insta::assert_snapshot!(failed(401, "HTTP 401: bad key"), @r#"
    {"type":"usage","input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}
    {"type":"system","subtype":"error","message":"API error 401: bad key","code":"AUTH","session_id":"s","uuid":"00000000-0000-4000-8000-000000000000"}
    "#);
}

#[test]
fn an_interrupt_while_the_model_thinks() {
    let events = [
        prompt(),
        thinking("hm"),
        event(TurnEvent::Interrupted),
        ended(Outcome::Cancelled(CancelCause::User)),
    ];
    insta::assert_snapshot!(told(&events), @r#"
    {"type":"thinking","is_thinking":true,"thought":"hm"}
    {"type":"thinking","is_thinking":false,"thought":""}
    {"type":"usage","input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}
    {"type":"interrupt"}
    "#);
    assert!(lines(&events).contains(r#""subtype":"error_during_execution","is_error":true"#));
    assert!(lines(&events).contains(r#""terminal_reason":"aborted_streaming""#));
}

#[test]
fn what_happens_beside_the_answer() {
    let events = [
        prompt(),
        event(MessageEvent::Retrying {
            attempt: 1,
            max: 4,
            delay: Duration::from_millis(250),
            failure: ProviderFailure { status: Some(529), ..failure("HTTP 529", None) },
        }),
        requested("1", "write", 1),
        event(ToolEvent::ApprovalResolved {
            call: zori_core::ids::CallId::new("1"),
            decision: Decision::new(Verdict::Deny, Class::Write, "not here"),
            by: DecidedBy::Policy,
        }),
        finished("1", "write", failed(ToolCode::PermissionDenied, "not here"), None),
        event(StateEvent::ModeChanged { from: "default", to: "paranoid" }),
        ended(Outcome::Completed(StopReason::EndTurn)),
    ];
    insta::assert_snapshot!(told(&events), @r#"
    {"type":"system","subtype":"api_retry","attempt":1,"max_retries":4,"retry_delay_ms":250,"error_status":529,"error":"overloaded","session_id":"s","uuid":"00000000-0000-4000-8000-000000000000"}
    {"type":"tool_use","id":"1","name":"WRITE","input":{}}
    {"type":"system","subtype":"permission_denied","tool_name":"WRITE","tool_use_id":"1","message":"not here","session_id":"s","uuid":"00000000-0000-4000-8000-000000000000"}
    {"type":"tool_result","tool_use_id":"1","content":"not here","is_error":true}
    {"type":"system","subtype":"status","status":null,"permissionMode":"interactive","session_id":"s","uuid":"00000000-0000-4000-8000-000000000000"}
    {"type":"usage","input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}
    "#);
}

/// Calls of a sub-agent say whose they are; its words are not the assistant's.
#[test]
fn a_sub_agent() {
    let of_agent = |mut event: Event| {
        event.agent = AgentId(1);
        event.parent = Some(zori_core::ids::CallId::new("1"));
        event
    };
    let events = [
        prompt(),
        requested("1", "task", 1),
        of_agent(delta("I am somebody else")),
        of_agent(requested("2", "read", 1)),
        of_agent(finished("2", "read", ok(), Some(1))),
        finished("1", "task", ok(), Some(1)),
        turn_over(),
    ];
    insta::assert_snapshot!(told(&events), @r#"
    {"type":"tool_use","id":"1","name":"TASK","input":{}}
    {"type":"tool_use","id":"2","name":"READ","input":{},"parent_tool_use_id":"1"}
    {"type":"tool_result","tool_use_id":"2","content":"{\"ok\":true,\"data\":{}}","is_error":false,"parent_tool_use_id":"1"}
    {"type":"tool_result","tool_use_id":"1","content":"{\"ok\":true,\"data\":{}}","is_error":false}
    {"type":"usage","input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}
    "#);
}

/// Known patterns of secrets are in no result and in no input; a line fits its reader whatever a tool printed.
#[test]
fn results_without_secrets_and_never_too_long() {
    let mut long = ok();
    long.text = Some(format!("key AKIAIOSFODNN7EXAMPLE {}", "x\u{1}".repeat(200_000)).into());
    let text = lines(&[prompt(), requested("1", "read", 1), finished("1", "read", long, Some(1))]);
    assert!(text.contains("key [REDACTED] x") && text.contains("more bytes left out]"), "{}", &text[..200]);
    assert!(text.lines().all(|line| line.len() < YUME_LINE));
}

#[test]
fn a_turn_that_never_began() {
    let paper = Paper::default();
    FlatRenderer::refuse(&parts(&paper, None), "s", "AUTH", "no key").unwrap();
    let text = paper.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"type":"system","subtype":"error","message":"no key","code":"AUTH","session_id":"s","uuid":"00000000-0000-4000-8000-000000000000"}"#
    );
    assert!(lines[1].starts_with(r#"{"type":"result","subtype":"success","is_error":true"#), "{}", lines[1]);
    assert!(lines[1].contains(r#""result":"no key""#), "{}", lines[1]);
    assert!(
        lines[1].contains(r#""errors":["no key"]"#) && lines[1].contains(r#""num_turns":0"#),
        "{}",
        lines[1]
    );
    assert_eq!(lines[2..], [r#"{"type":"message_stop"}"#]);
    let paper = Paper::default();
    FlatRenderer::refuse(&parts(&paper, None), "s", "SESSION_NOT_FOUND", "no session").unwrap();
    assert!(
        paper.text().contains(r#""subtype":"error_during_execution","is_error":true"#),
        "{}",
        paper.text()
    );
}
