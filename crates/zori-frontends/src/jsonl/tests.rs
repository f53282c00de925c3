//! A run in, lines out: whole streams compared, and the rules of the schema held over streams nobody would think of.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use serde_json::value::RawValue;
use zori_core::cost::MicroUsd;
use zori_core::event::TurnSummary;
use zori_core::ids::CallId;
use zori_core::message::{IdOrigin, ToolCall, ToolInput};
use zori_core::permission::{Class, Verdict};
use zori_core::provider::StopReason;
use zori_core::question::{Preview, Question};
use zori_core::tool::{ProcessEnd, ToolCode, ToolOutput};
use zori_core::usage::Usage;
use zori_testkit::random::{Random, cases};

use super::*;
use crate::sample::{
    Broken, Paper, Saving, delta, event, failed, failure, finished, ok, prompt, session, turn_over, warning,
};

/// The one place that knows the renderer: what it writes about these events.
fn rendered(events: &[Event]) -> String {
    let paper = Paper::default();
    let out = EventWriter::new(Box::new(paper.clone()));
    let mut renderer = JsonlRenderer::new(out, Redactor::default(), Questions::ToClient);
    events.iter().for_each(|event| renderer.on_event(event).unwrap());
    renderer.finish().unwrap();
    paper.text()
}

fn requested(id: &str, name: &str, input: ToolInput) -> Event {
    let id = CallId::new(id);
    let call = ToolCall { id, name: name.to_owned(), input, id_origin: IdOrigin::Provider, replay: None };
    event(ToolEvent::ToolRequested(ToolRequested { call, kind: None, effects: Vec::new(), of: 1 }))
}

fn json(text: &str) -> ToolInput {
    ToolInput::parse(text.to_owned())
}

fn over(outcome: Outcome, usage: Usage, cost: Option<u64>) -> Event {
    let cost = cost.map(MicroUsd);
    let EventKind::Turn(TurnEvent::TurnFinished(usual)) = turn_over().kind else {
        unreachable!("it is what its name says")
    };
    event(TurnEvent::TurnFinished(TurnSummary { outcome, usage, cost, ..usual }))
}

fn done(cost: Option<u64>) -> Event {
    over(Outcome::Completed(StopReason::EndTurn), Usage::NOTHING, cost)
}

#[test]
fn a_turn_with_a_tool() {
    let usage = Usage { input: 10, output: 5, cache_read: 7, cache_write: 3, cache_unknown: 0 };
    let mut printed =
        ToolOutput::success(r#"{"stdout":"out","stderr":"err\n","exit_code":3,"timed_out":false}"#);
    printed.process = Some(ProcessEnd { exit_code: 3, signal: None, timed_out: false });
    let lines = rendered(&[
        session(Saving::File),
        prompt(),
        delta("I "),
        delta("look."),
        requested("t1", "bash", json(r#"{"command": "x"}"#)),
        finished("t1", "bash", printed, Some(1)),
        warning("not for this stream"),
        delta("Done."),
        over(Outcome::Completed(StopReason::EndTurn), usage, Some(1_500)),
    ]);
    insta::assert_snapshot!(lines, @r#"
    {"type":"response_chunk","schema":1,"text":"I "}
    {"type":"response_chunk","schema":1,"text":"look."}
    {"type":"tool_call","schema":1,"tool":"bash","input":{"command": "x"},"id":"t1"}
    {"type":"tool_result","schema":1,"id":"t1","output":"out\nerr\n","exit_code":3}
    {"type":"response_chunk","schema":1,"text":"Done."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":13,"output_tokens":5,"cache_read_tokens":7,"estimated_usd":0.0015,"session_id":"s"}
    "#);
}

/// D-6, NFR-009: the error, the end of what was said, and the cost, which every turn has.
#[test]
fn how_turns_end() {
    let limit =
        |text: &str| event(Notice { level: NoticeLevel::Error, code: "max_turns", text: text.to_owned() });
    let http = |status, message: &str| {
        let failed = ProviderFailure { status: Some(status), ..failure(message, None) };
        over(Outcome::Failed(failed), Usage::NOTHING, None)
    };
    let kind = |kind| over(Outcome::Failed(ProviderFailure::new(kind, "why")), Usage::NOTHING, Some(0));
    let cancelled = |cause| over(Outcome::Cancelled(cause), Usage::NOTHING, Some(0));
    let lines = rendered(&[
        prompt(),
        delta("Half"),
        http(429, "slow down"),
        prompt(),
        http(401, "who?"),
        prompt(),
        http(500, "oh"),
        prompt(),
        kind(FailureKind::Timeout),
        prompt(),
        kind(FailureKind::Auth),
        prompt(),
        kind(FailureKind::Internal),
        prompt(),
        delta("Some"),
        event(TurnEvent::Interrupted),
        cancelled(CancelCause::User),
        prompt(),
        limit("No more than 1"),
        over(Outcome::Limit(LimitKind::Turns), Usage::NOTHING, Some(0)),
        prompt(),
        limit("Time is over"),
        cancelled(CancelCause::Deadline),
        prompt(),
        over(Outcome::NotSaved("disk full".to_owned()), Usage::NOTHING, Some(0)),
        prompt(),
        done(Some(0)),
    ]);
    let lines: Vec<_> = lines.lines().filter(|line| !line.contains("\"cost\"")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"type":"response_chunk","schema":1,"text":"Half"}
    {"type":"error","schema":1,"message":"slow down","code":"rate_limited"}
    {"type":"response_end","schema":1}
    {"type":"error","schema":1,"message":"who?","code":"auth_error"}
    {"type":"error","schema":1,"message":"oh","code":"provider_error"}
    {"type":"error","schema":1,"message":"why","code":"timeout"}
    {"type":"error","schema":1,"message":"why","code":"auth_error"}
    {"type":"error","schema":1,"message":"why","code":"internal"}
    {"type":"response_chunk","schema":1,"text":"Some"}
    {"type":"error","schema":1,"message":"Interrupted","code":"interrupted"}
    {"type":"response_end","schema":1}
    {"type":"error","schema":1,"message":"No more than 1","code":"budget_exceeded"}
    {"type":"error","schema":1,"message":"Time is over","code":"timeout"}
    {"type":"error","schema":1,"message":"disk full","code":"agent_error"}
    "#);
}

/// D-9: results for reading, and exit codes as shells count.
#[test]
fn results_and_their_codes() {
    let ended = |exit_code, signal, timed_out| {
        let mut output = ToolOutput::success(r#"{"stdout":"a\n","stderr":"b"}"#);
        output.process = Some(ProcessEnd { exit_code, signal, timed_out });
        finished("1", "bash", output, Some(1))
    };
    let content = ToolOutput::success(r#"{"content":"text\n","bytes":5}"#);
    let mut laid_out = ok();
    laid_out.text = Some("Wrote it".into());
    let lines = rendered(&[
        ended(-1, Some(9), false),
        ended(-1, None, true),
        finished("2", "read", content, Some(1)),
        finished("3", "write", laid_out, Some(1)),
        finished("4", "ls", ToolOutput::success(r#"{"entries":[]}"#), Some(1)),
        finished("5", "read", failed(ToolCode::PathError, "no"), Some(1)),
        finished("6", "x", failed(ToolCode::UnknownTool, "no"), None),
        finished("7", "x", failed(ToolCode::PermissionDenied, "no"), None),
        finished("8", "x", failed(ToolCode::Canceled, "no"), None),
        finished("9", "x", failed(ToolCode::Timeout, "no"), None),
    ]);
    insta::assert_snapshot!(lines, @r#"
    {"type":"tool_result","schema":1,"id":"1","output":"a\nb","exit_code":137}
    {"type":"tool_result","schema":1,"id":"1","output":"a\nb","exit_code":124}
    {"type":"tool_result","schema":1,"id":"2","output":"text\n","exit_code":0}
    {"type":"tool_result","schema":1,"id":"3","output":"Wrote it","exit_code":0}
    {"type":"tool_result","schema":1,"id":"4","output":"{\"entries\":[]}","exit_code":0}
    {"type":"tool_result","schema":1,"id":"5","output":"no","exit_code":1}
    {"type":"tool_result","schema":1,"id":"6","output":"no","exit_code":127}
    {"type":"tool_result","schema":1,"id":"7","output":"no","exit_code":126}
    {"type":"tool_result","schema":1,"id":"8","output":"no","exit_code":125}
    {"type":"tool_result","schema":1,"id":"9","output":"no","exit_code":124}
    "#);
}

/// FR-003: arguments are one object on one line, whatever the model wrote.
#[test]
fn arguments() {
    let raw = RawValue::from_string("[1]".to_owned()).unwrap();
    let lines = rendered(&[
        requested("1", "x", json("{\n  \"b\": 1e2,\r\n  \"a\": 12345678901234567890\n}")),
        requested("2", "x", ToolInput::Json(raw)),
        requested("3", "x", json("{\"cut\": ")),
        requested("4", "x", json(r#"{"kept": 1.50, "as": "it is"}"#)),
    ]);
    insta::assert_snapshot!(lines, @r#"
    {"type":"tool_call","schema":1,"tool":"x","input":{"b":100.0,"a":12345678901234567890},"id":"1"}
    {"type":"tool_call","schema":1,"tool":"x","input":{"raw":"[1]"},"id":"2"}
    {"type":"tool_call","schema":1,"tool":"x","input":{"raw":"{\"cut\": "},"id":"3"}
    {"type":"tool_call","schema":1,"tool":"x","input":{"kept": 1.50, "as": "it is"},"id":"4"}
    "#);
}

/// D-14: no secret in input, output, message or prompt; the assistant's own words are its own.
#[test]
fn secrets() {
    let key = format!("sk-ant-{}", "a1B2".repeat(10));
    let escaped = format!(r#"{{"a":["sk-ant-\u0061{}"],"b":1}}"#, &key[8..]);
    let asked = EventKind::Tool(ToolEvent::ApprovalRequested {
        call: CallId::new("1"),
        decision: zori_core::permission::Decision::new(Verdict::Ask, Class::Shell, "because"),
        question: Arc::new(Question {
            tool: "bash".to_owned(),
            preview: Preview::Command { command: format!("echo {key}"), cwd: "/".into(), sandbox: None },
            grants: vec![zori_core::question::Grant {
                rules: vec![format!("Bash(echo {key})")],
                words: "these words".to_owned(),
                scope: zori_core::question::GrantScope::Call,
                past: 0,
            }],
            explanation: Vec::new(),
        }),
    });
    let failed_with = over(Outcome::Failed(failure(&key, None)), Usage::NOTHING, None);
    let lines = rendered(&[
        prompt(),
        requested("1", "bash", json(&format!(r#"{{"command":"echo {key}"}}"#))),
        requested("2", "bash", json(&escaped)),
        requested("3", "bash", ToolInput::Malformed(key.clone())),
        event(asked),
        finished("1", "bash", failed(ToolCode::ExecError, &key), None),
        failed_with,
    ]);
    assert!(!lines.contains(&key[8..]), "{lines}");
    insta::assert_snapshot!(lines, @r#"
    {"type":"tool_call","schema":1,"tool":"bash","input":{"command":"echo [REDACTED]"},"id":"1"}
    {"type":"tool_call","schema":1,"tool":"bash","input":{"a":["[REDACTED]"],"b":1},"id":"2"}
    {"type":"tool_call","schema":1,"tool":"bash","input":{"raw":"[REDACTED]"},"id":"3"}
    {"type":"elicitation","schema":1,"prompt":"bash: because\n  in /\n  | echo [REDACTED]","fields":[{"name":"approve","type":"boolean","required":true,"description":"Run it","sensitive":false},{"name":"always","type":"boolean","required":false,"description":"Also allow in this session: Bash(echo [REDACTED])","sensitive":false},{"name":"reason","type":"string","required":false,"description":"What the model is told when it is declined","sensitive":false}]}
    {"type":"tool_result","schema":1,"id":"1","output":"[REDACTED]","exit_code":1}
    {"type":"error","schema":1,"message":"[REDACTED]","code":"provider_error"}
    {"type":"cost","schema":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"estimated_usd":null}
    "#);
    assert!(rendered(&[prompt(), delta(&key)]).contains(&key));
}

/// A stream that remembers each write by itself.
#[derive(Clone, Default)]
struct Writes(Arc<Mutex<Vec<String>>>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(String::from_utf8(bytes.to_vec()).unwrap());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// NFR-002, TERM-4: one write for each line, and nothing in a text that any reader takes for the end of one.
#[test]
fn a_line_is_one_write() {
    let hostile = "a\nb\r\0\u{2028}c\u{2029}\u{85}\u{1b}[2J{\"type\":\"response_end\"}";
    let writes = Writes::default();
    let events = EventWriter::new(Box::new(writes.clone()));
    let mut renderer = JsonlRenderer::new(events.clone(), Redactor::default(), Questions::Settled);
    for event in [prompt(), delta(hostile), requested("1", hostile, json(r#"{"a":"x y"}"#)), done(None)] {
        renderer.on_event(&event).unwrap();
    }
    events.error(Code::BadCommand, hostile).unwrap();
    events.answer(hostile).unwrap();
    events.answer("").unwrap();
    let writes = writes.0.lock().unwrap().clone();
    assert_eq!(writes.len(), 7, "{writes:?}");
    for line in &writes {
        let body = line.strip_suffix('\n').unwrap();
        assert!(!body.contains(['\n', '\r', '\0', '\u{2028}', '\u{2029}']), "{line:?}");
        let parsed: Value = serde_json::from_str(body).unwrap();
        assert_eq!(parsed["schema"], 1, "{line}");
        for field in ["text", "message", "tool"] {
            assert!(parsed.get(field).is_none_or(|text| text == hostile), "{line}");
        }
    }
}

#[test]
fn a_reader_that_is_gone_is_known() {
    let events = EventWriter::new(Box::new(Broken(io::ErrorKind::BrokenPipe)));
    let mut renderer = JsonlRenderer::new(events.clone(), Redactor::default(), Questions::Settled);
    renderer.on_event(&prompt()).unwrap();
    assert!(!events.is_closed());
    assert_eq!(renderer.on_event(&delta("x")).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert!(events.is_closed());
}

/// FR-004, NFR-003, NFR-006, NFR-009: over any sequence of events, the schema's rules hold.
#[test]
fn the_rules_hold_whatever_comes() {
    for seed in 0..cases(2_000, 200_000) as u64 {
        let mut random = Random::new(seed);
        let mut events = Vec::new();
        let mut turns = 0;
        for _ in 0..random.below(30) {
            events.push(match random.below(8) {
                0 => {
                    turns += 1;
                    prompt()
                }
                1 | 2 => delta("x"),
                3 => delta(""),
                4 => requested("1", "x", json("{}")),
                5 => finished("1", "x", ok(), None),
                6 => over(Outcome::Failed(failure("no", None)), Usage::NOTHING, None),
                _ => done(Some(1)),
            });
        }
        let (mut said, mut costs) = (false, 0);
        for line in rendered(&events).lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["schema"], 1, "seed {seed}");
            match line["type"].as_str().unwrap() {
                "response_chunk" => {
                    assert_ne!(line["text"], "", "seed {seed}");
                    said = true;
                }
                "response_end" => assert!(std::mem::take(&mut said), "an end without a chunk, seed {seed}"),
                "cost" => {
                    assert!(!said, "a turn is over and its answer is not, seed {seed}");
                    costs += 1;
                }
                "error" | "tool_call" | "tool_result" => {}
                other => panic!("{other} is no event, seed {seed}"),
            }
        }
        assert!(costs <= turns, "seed {seed}");
    }
}
