use std::time::Duration;

use serde_json::{Value, json};
use zori_core::compaction::CompactCause;
use zori_core::event::{SessionFacts, ToolFinished, ToolRequested};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::ids::CallId;
use zori_core::message::{Block, Message, Role, Thinking, ToolResult};
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::tool::{Effect, FileChange, OutputStream, ProcessEnd, ToolCode, ToolKind, ToolOutput};

use super::*;
use crate::sample::{call, client, event, greeted, redactor};

/// The updates a run of events comes to.
fn shown(events: Vec<EventKind>) -> Vec<Value> {
    let (client, paper) = client();
    let mut renderer = AcpRenderer::new(client, "s", redactor());
    let facts = SessionFacts {
        provider: "p".into(),
        model: "m".into(),
        root: Path::new("/w").into(),
        tools: Vec::new(),
        agents: Vec::new(),
        resumed_messages: 0,
        resumed_replies: 0,
        saved: true,
    };
    renderer.on_event(&event(SessionEvent::SessionStarted(facts))).unwrap();
    for kind in events {
        renderer.on_event(&event(kind)).unwrap();
    }
    paper.updates()
}

fn requested(name: &str, input: &str, kind: Option<ToolKind>, effects: Vec<Effect>) -> EventKind {
    EventKind::Tool(ToolEvent::ToolRequested(ToolRequested {
        call: call("c1", name, input),
        kind,
        effects,
        of: 1,
    }))
}

fn finished(kind: ToolKind, output: ToolOutput) -> EventKind {
    EventKind::Tool(ToolEvent::ToolFinished(ToolFinished {
        call: CallId::new("c1"),
        name: "t".into(),
        kind: Some(kind),
        output,
        duration: Some(Duration::ZERO),
    }))
}

#[test]
fn words_and_thoughts() {
    assert_eq!(
        shown(vec![
            EventKind::Message(MessageEvent::ThinkingDelta { text: "hm".to_owned() }),
            EventKind::Message(MessageEvent::AssistantDelta { text: "Hello\n\u{1F600}".to_owned() }),
        ]),
        [
            json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}),
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hello\n\u{1F600}"}}),
        ]
    );
}

#[test]
fn a_call_from_its_request_to_its_result() {
    let changed =
        FileChange { path: "/w/a.rs".into(), before: Some("1\n".into()), after: Some("2\n".into()) };
    let mut output = ToolOutput::success(r#"{"path":"a.rs"}"#);
    output.changes = vec![changed];
    let decision = Decision::new(Verdict::Allow, Class::Write, "because");
    assert_eq!(
        shown(vec![
            requested(
                "edit",
                r#"{"path":"a.rs"}"#,
                Some(ToolKind::Edit),
                vec![Effect::Write("/w/a.rs".into())]
            ),
            EventKind::Tool(ToolEvent::ToolStarted {
                call: CallId::new("c1"),
                name: "edit".into(),
                decision
            }),
            finished(ToolKind::Edit, output),
        ]),
        [
            json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Edit a.rs", "name": "edit",
                "kind": "edit", "locations": [{"path": "/w/a.rs"}], "rawInput": {"path": "a.rs"}}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
                "content": [{"type": "diff", "path": "/w/a.rs", "oldText": "1\n", "newText": "2\n"}],
                "rawOutput": {"ok": true, "data": {"path": "a.rs"}}}),
        ]
    );
}

/// The title and the kind of a call.
#[test]
fn titles() {
    let read = |path: &str| vec![Effect::Read(path.into())];
    let exec = |command: &str| vec![Effect::Exec { command: command.to_owned(), cwd: "/w".into() }];
    let net = vec![Effect::Net { url: "https://example.org".to_owned() }];
    for (kind, input, effects, title, shown_kind) in [
        (Some(ToolKind::Read), r#"{"path":"a","offset":7}"#, read("/w/src/a"), "Read src/a", "read"),
        (Some(ToolKind::Ls), "{}", read("/w"), "List .", "read"),
        (Some(ToolKind::Write), "{}", vec![Effect::Write("/other/a".into())], "Write /other/a", "edit"),
        (Some(ToolKind::Grep), r#"{"pattern":"fn \\w+"}"#, read("/w"), "Search for `fn \\w+`", "search"),
        (Some(ToolKind::Glob), r#"{"pattern":"*.rs"}"#, read("/w"), "Find `*.rs`", "search"),
        (Some(ToolKind::Bash), "{}", exec("cargo test\n  --all"), "`cargo test\\n  --all`", "execute"),
        (Some(ToolKind::Fetch), "{}", net, "Fetch https://example.org", "fetch"),
        (Some(ToolKind::Todo), "{}", vec![Effect::Internal], "Update the task list", "think"),
    ] {
        let told = &shown(vec![requested("t", input, kind, effects)])[0];
        assert_eq!((&told["title"], &told["kind"]), (&json!(title), &json!(shown_kind)));
    }
    let unknown = &shown(vec![requested("frobnicate", "{", None, Vec::new())])[0];
    assert_eq!(
        unknown,
        &json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "frobnicate", "name": "frobnicate",
            "rawInput": {"raw": "{"}})
    );
}

#[test]
fn results() {
    let bash = |code| {
        let mut output = ToolOutput::success(r#"{"stdout":"out","stderr":"err"}"#);
        output.process = Some(ProcessEnd { exit_code: code, signal: None, timed_out: false });
        output
    };
    let failed = ToolOutput::failure(ToolCode::PathError, "there is no `x`");
    let text = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    for (kind, output, status, content) in [
        (ToolKind::Bash, bash(0), "completed", text("out\nerr")),
        (ToolKind::Bash, bash(3), "failed", text("out\nerr")),
        (ToolKind::Read, ToolOutput::success(r#"{"content":"one\ntwo"}"#), "completed", text("one\ntwo")),
        (ToolKind::Read, failed, "failed", text("there is no `x`")),
        (ToolKind::Ls, ToolOutput::success(r#"{"entries":[]}"#), "completed", text(r#"{"entries":[]}"#)),
    ] {
        let raw: Value = serde_json::from_str(output.envelope.get()).unwrap();
        assert_eq!(
            shown(vec![finished(kind, output)]),
            [json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": status,
                "content": content, "rawOutput": raw})]
        );
    }
}

#[test]
fn plans_modes_and_remarks() {
    let todo = |content: &str, status| Todo { content: content.to_owned(), status };
    let todos =
        [todo("a", TodoStatus::Completed), todo("b", TodoStatus::InProgress), todo("c", TodoStatus::Pending)];
    let failure = ProviderFailure::new(FailureKind::Transport, "gone");
    let entry =
        |content: &str, status: &str| json!({"content": content, "priority": "medium", "status": status});
    assert_eq!(
        shown(vec![
            EventKind::State(StateEvent::TodosChanged { todos: todos.into() }),
            EventKind::State(StateEvent::ModeChanged { from: "default", to: "plan" }),
            EventKind::Notice(zori_core::event::Notice {
                level: NoticeLevel::Warning,
                code: "w",
                text: "careful".to_owned()
            }),
            EventKind::Message(MessageEvent::Retrying { attempt: 1, max: 3, delay: Duration::ZERO, failure }),
        ]),
        [
            json!({"sessionUpdate": "plan", "entries":
                [entry("a", "completed"), entry("b", "in_progress"), entry("c", "pending")]}),
            json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}),
            json!({"sessionUpdate": "notice", "severity": "warning", "title": "careful"}),
            json!({"sessionUpdate": "notice", "severity": "warning", "title": "transport: gone; trying again (1 of 3)"}),
        ]
    );
}

/// Output of a command that runs is shown whole each time, because an update replaces the one before.
#[test]
fn output_while_a_command_runs() {
    let more = |text: &str| {
        EventKind::Tool(ToolEvent::ToolOutputDelta {
            call: CallId::new("c1"),
            stream: OutputStream::Stdout,
            text: text.to_owned(),
        })
    };
    let text = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    let told = shown(vec![
        more("one\n"),
        more("two\n"),
        finished(ToolKind::Ls, ToolOutput::success("{}")),
        more("x"),
    ]);
    let contents: Vec<_> = told.iter().map(|told| told["content"].clone()).collect();
    assert_eq!(contents, [text("one\n"), text("one\ntwo\n"), text("{}"), text("x")]);
    assert_eq!(
        told[0],
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "content": text("one\n")})
    );
}

/// A conversation that was made shorter: shown where it happened, or said, and counted either way.
#[test]
fn compactions() {
    let compacted = |how| {
        EventKind::State(StateEvent::ContextCompacted(Compaction {
            how,
            cause: CompactCause::Asked,
            before: 900,
            after: 100,
            window: Some(1000),
            view: Vec::new().into(),
            summary: None,
        }))
    };
    let usage = json!({"sessionUpdate": "usage_update", "used": 100, "size": 1000});
    let notice = |severity: &str, words: &str| json!({"sessionUpdate": "notice", "severity": severity, "title": words});
    assert_eq!(
        shown(vec![
            compacted(Compacted::Summarised { messages: 7 }),
            compacted(Compacted::Dropped { messages: 7 })
        ]),
        [
            notice("info", "summarised the 7 oldest messages, about 900 -> 100 tokens"),
            usage.clone(),
            notice(
                "warning",
                "the 7 oldest messages are left out without a summary, about 900 -> 100 tokens"
            ),
            usage.clone(),
        ]
    );
    let (client, paper) = greeted(r#"{"session":{"compaction":{}}}"#);
    let mut renderer = AcpRenderer::new(client, "s", redactor());
    for how in [Compacted::Masked { results: 1 }, Compacted::Undone] {
        renderer.on_event(&event(compacted(how))).unwrap();
    }
    let words = "left out 1 older tool output, about 900 -> 100 tokens";
    assert_eq!(
        paper.updates(),
        [
            json!({"sessionUpdate": "compaction_update", "compactionId": "0-0", "status": "completed",
                "summary": [{"type": "text", "text": words}]}),
            usage.clone(),
            usage,
        ]
    );
}

/// A sub-agent's words are its own; its calls are shown below the call that started it.
#[test]
fn sub_agents() {
    let (client, paper) = client();
    let mut renderer = AcpRenderer::new(client, "s", redactor());
    for kind in [
        EventKind::Message(MessageEvent::AssistantDelta { text: "x".to_owned() }),
        requested("ls", "{}", None, Vec::new()),
    ] {
        let event = Event { agent: AgentId(1), parent: Some(CallId::new("outer")), ..event(kind) };
        renderer.on_event(&event).unwrap();
    }
    assert_eq!(
        paper.updates(),
        [
            json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "ls", "name": "ls", "rawInput": {},
            "_meta": {"parentToolCallId": "outer"}})
        ]
    );
}

/// A saved conversation is told as it happened, but for what providers alone understand.
#[test]
fn history() {
    let (client, paper) = client();
    let envelope =
        serde_json::value::RawValue::from_string(r#"{"ok":true,"data":{"content":"x"}}"#.to_owned());
    let result = ToolResult {
        call: CallId::new("c1"),
        name: "read".to_owned(),
        ok: true,
        envelope: envelope.unwrap().into(),
        text: None,
        images: Vec::new(),
    };
    let thought = |text: &str| Block::Thinking(Thinking { text: text.to_owned(), replay: None });
    let messages = [
        Message::user("Hi"),
        Message {
            role: Role::Assistant,
            blocks: vec![
                thought(""),
                thought("hm"),
                Block::Text("Look:".to_owned()),
                Block::ToolCall(call("c1", "read", r#"{"path":"a"}"#)),
            ],
        },
        Message { role: Role::User, blocks: vec![Block::ToolResult(result)] },
    ];
    let known = |_: &zori_core::message::ToolCall| (Some(ToolKind::Read), vec![Effect::Read("/w/a".into())]);
    client.replay("s", &messages, Path::new("/w"), &known, &redactor()).unwrap();
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        paper.updates(),
        [
            json!({"sessionUpdate": "user_message_chunk", "content": text("Hi")}),
            json!({"sessionUpdate": "agent_thought_chunk", "content": text("hm")}),
            json!({"sessionUpdate": "agent_message_chunk", "content": text("Look:")}),
            json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Read a", "name": "read", "kind": "read",
                "locations": [{"path": "/w/a"}], "rawInput": {"path": "a"}}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
                "content": [{"type": "content", "content": text("x")}],
                "rawOutput": {"ok": true, "data": {"content": "x"}}}),
        ]
    );
}
