use serde_json::json;

use super::*;

fn shown(value: Value) -> String {
    let mut events = Vec::new();
    normalise(&value, &mut events);
    let show = |event: &ServerEvent| match event {
        ServerEvent::ToolRequest(request) => {
            let id = request.tool_call_id.as_deref().unwrap_or("-");
            format!(
                "request {} {} [{}] ({}) {id}",
                request.tool_name, request.payload, request.command, request.reason
            )
        }
        ServerEvent::Unknown(kind, text) => format!("unknown {kind} {text:?}"),
        other => format!("{other:?}"),
    };
    events.iter().map(show).collect::<Vec<_>>().join(" | ")
}

/// Every row of the table in `docs/contracts/agent-zero.md`, in its order.
#[test]
fn every_row() {
    let fence = "```json\n{\"tool_name\":\"read_file\",\"type\":\"tool_request\",\"path\":\"a\"}\n```";
    let rows = [
        ("1", json!(null)),
        ("2", json!("  {\"type\":\"status\",\"content\":\"busy\"}")),
        ("2 no meaning", json!("{\"a\": 1}")),
        ("2 a list of numbers", json!("[1, 2]")),
        ("2a", json!(fence)),
        ("2a no request", json!("```json\n{\"a\":1}\n```")),
        ("2a more text", json!(format!("Look:\n{fence}"))),
        ("3", json!("Hello")),
        ("4", json!(["a", {"type": "thinking", "content": "b"}])),
        ("5", json!({"choices": [{"delta": {"content": "pi"}}, {"message": {"content": "pie"}}]})),
        (
            "6",
            json!({"content": "so", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{\"path\":\"src\"}"}},
                {"id": "c2", "function": {"name": "shell", "arguments": "ls -l"}},
            ]}),
        ),
        ("7", json!({"tool_call": {"tool": "rg", "arguments": {"query": "x"}}})),
        ("8", json!({"type": "tool_use", "name": "read_file", "input": {"path": "a"}, "id": "t1"})),
        ("9", json!({"delta": {"content": "pi"}})),
        ("10", json!({"events": [{"type": "status", "content": "s"}, "done"]})),
        ("11", json!({"tool_request": {"tool_name": "tree"}})),
        ("12", json!({"type": "tool", "name": "write_file", "path": "a", "content": "é", "reason": "why"})),
        ("12 shell", json!({"type": "tool_request", "tool_name": "shell", "command": "ls", "payload": {}})),
        (
            "12 an empty payload",
            json!({"type": "tool_request", "tool_name": "read_file", "path": "a", "payload": {}, "id": 7}),
        ),
        ("12 no name", json!({"type": "tool_request", "payload": {}})),
        ("13", json!({"type": "text", "text": "t"})),
        ("14", json!([{"type": "final_response", "content": "c"}, {"type": "answer", "text": "t"}])),
        ("14 the others", json!([{"type": "message", "message": "m"}, {"type": "response", "content": "r"}])),
        ("14a", json!([{"type": "thought", "content": "t"}, {"type": "reasoning", "text": "r"}])),
        ("14b", json!([{"type": "error", "message": "bad"}, {"error": "worse", "context_id": "c"}])),
        ("14b an object", json!({"error": {"message": "deep"}})),
        ("14b beside no answer", json!({"response": null, "error": "worst", "context_id": "c"})),
        ("15", json!([{"type": "status", "content": "s"}, {"type": "progress", "content": "p"}])),
        ("16", json!({"type": "tick", "n": 1})),
        ("17", json!([{"response": "r"}, {"message": "{\"type\":\"text\",\"text\":\"inner\"}"}])),
        ("18", json!({"foo": 1})),
        ("no answer", json!({"context_id": "c", "response": null})),
        ("a chat's id alone", json!({"context_id": "c"})),
    ];
    let lines: Vec<_> = rows.into_iter().map(|(row, value)| format!("{row}: {}", shown(value))).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn ids_in_any_spelling_and_place() {
    for (value, id) in [
        (json!({"context_id": "a"}), Some("a")),
        (json!({"contextId": "a"}), Some("a")),
        (json!({"conversation_id": "a"}), Some("a")),
        (json!({"conversationId": "a"}), Some("a")),
        (json!({"x": {"context_id": "deep"}, "contextId": "outer"}), Some("outer")),
        (json!({"events": [{"n": 1}, {"meta": {"conversation_id": "list"}}]}), Some("list")),
        (json!({"context_id": ""}), None),
        (json!({"context_id": 7}), None),
        (json!("context_id"), None),
    ] {
        assert_eq!(context_id(&value), id, "{value}");
    }
}

#[test]
fn values_in_one_another_have_a_bound() {
    let mut value = json!("core");
    for _ in 0..200 {
        value = json!({ "message": value });
    }
    assert!(shown(value).starts_with("Final("));
}
