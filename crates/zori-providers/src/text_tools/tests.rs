use std::sync::Arc;

use zori_core::ids::CallId;
use zori_core::message::{IdOrigin, ToolInput, ToolResult};

use super::*;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        schema: raw(r#"{"type":"object"}"#),
    };
    vec![tool("read"), tool("ls")]
}

/// Scans text that comes in pieces of this many characters; text in a row is joined.
fn scan(text: &str, size: usize) -> String {
    let mut scanner = Scanner::new(&tools());
    let mut pieces = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(size) {
        scanner.push(&piece.iter().collect::<String>(), &mut pieces);
    }
    scanner.finish(&mut pieces);
    let mut out: Vec<String> = Vec::new();
    let mut said = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => said.push_str(&text),
            Piece::Call { name, arguments } => {
                if !said.is_empty() {
                    out.push(format!("{:?}", std::mem::take(&mut said)));
                }
                out.push(format!("{name} {arguments}"));
            }
        }
    }
    if !said.is_empty() {
        out.push(format!("{said:?}"));
    }
    out.join(" | ")
}

/// What texts become, however they are cut.
#[test]
fn calls_in_text() {
    let call = r#"{"tool":"read","arguments":{"path":"a`b"}}"#;
    let cases = [
        ("Just text.\nTwo lines < three > four.".to_owned(), r#""Just text.\nTwo lines < three > four.""#),
        (format!("```json\n{call}\n```"), r#"read {"path":"a`b"}"#),
        (format!("Let me see.\n\n```json\n{call}\n```\n"), r#""Let me see.\n\n" | read {"path":"a`b"}"#),
        (
            format!("```\n{call}\n```\n```tool_call\n{call}\n```"),
            r#"read {"path":"a`b"} | read {"path":"a`b"}"#,
        ),
        (format!("a<tool_call>\n{call}\n</tool_call>b"), r#""a" | read {"path":"a`b"} | "b""#),
        (format!("<tool_call>{call}"), r#"read {"path":"a`b"}"#),
        (format!("```json\n{call}"), r#"read {"path":"a`b"}"#),
        (format!("So:\n{call}\nDone."), r#""So:\n" | read {"path":"a`b"} | "Done.""#),
        (format!("So: {call}"), r#""So: {\"tool\":\"read\",\"arguments\":{\"path\":\"a`b\"}}""#),
        (r#"[{"tool":"ls"},{"tool":"ls"}]"#.to_owned(), "ls {} | ls {}"),
        (r#"{"name":"ls","arguments":{}}"#.to_owned(), "ls {}"),
        // The same shape, but no tool of ours.
        (r#"{"name":"zori","version":1}"#.to_owned(), r#""{\"name\":\"zori\",\"version\":1}""#),
        (r#"<tool_call>{"name":"zori"}</tool_call>"#.to_owned(), "zori {}"),
        ("{\"a\":\n{\"b\":1}}".to_owned(), r#""{\"a\":\n{\"b\":1}}""#),
        ("<tool_call>no JSON</tool_call>".to_owned(), r#""<tool_call>no JSON</tool_call>""#),
        ("```json\n{\"a\": 1}\n```\nthat".to_owned(), r#""```json\n{\"a\": 1}\n```\nthat""#),
        (
            format!("```rust\n{call}\n```\n{call}"),
            r#""```rust\n{\"tool\":\"read\",\"arguments\":{\"path\":\"a`b\"}}\n```\n" | read {"path":"a`b"}"#,
        ),
        ("```json\n{'tool': 'ls',}\n```".to_owned(), "ls {}"),
        ("größe <tool_cal 日本 `x` ``".to_owned(), r#""größe <tool_cal 日本 `x` ``""#),
        (String::new(), ""),
    ];
    for (text, expected) in cases {
        for size in [1, 2, 3, 5, 7, 1000] {
            assert_eq!(scan(&text, size), expected, "{text:?} in pieces of {size}");
        }
    }
}

#[test]
fn text_is_not_held_longer_than_needed() {
    let mut scanner = Scanner::new(&tools());
    let mut given = |text: &str| {
        let mut pieces = Vec::new();
        scanner.push(text, &mut pieces);
        pieces
    };
    let text = |text: &str| vec![Piece::Text(text.to_owned())];
    assert_eq!(given("Hello, "), text("Hello, "));
    assert_eq!(given("you\n<tool"), text("you\n"));
    assert_eq!(given("box>"), text("<toolbox>"));
    assert_eq!(given("\n```rust\nlet "), [text("\n"), text("```rust\n"), text("let ")].concat());
    assert_eq!(given("a = {"), text("a = {"));
}

/// Each byte is looked at a few times at most; otherwise this test would not end.
#[test]
fn long_texts_take_no_longer_than_they_are() {
    let long = "x".repeat(1 << 20);
    let call = format!(r#"{{"tool":"read","arguments":{{"path":"{long}"}}}}"#);
    for size in [4, usize::MAX] {
        assert_eq!(scan(&call, size), format!(r#"read {{"path":"{long}"}}"#));
        assert_eq!(scan(&format!("```json\n{call}\n```"), size), format!(r#"read {{"path":"{long}"}}"#));
        for other in [
            "{\"a\":1}\n".repeat(1 << 17),
            "[".repeat(1 << 20),
            format!("```{}", " ".repeat(1 << 20)),
            format!("```rust\n```{long}"),
            format!("```rust\n{}", " ".repeat(1 << 20)),
            "<tool_call".repeat(1 << 17),
        ] {
            assert_eq!(scan(&other, size), format!("{other:?}"));
        }
    }
}

#[test]
fn what_the_model_is_told() {
    insta::assert_snapshot!(describe(&tools()), @r#"
    # Tools

    You can use the tools below. To use one, write a block of exactly this form and stop there:

    ```json
    {"tool": "NAME", "arguments": {"PARAMETER": "VALUE"}}
    ```

    Several blocks make several calls. The results come in the next message. Never write a result yourself.

    {"name":"read","description":"Does read.","parameters":{"type":"object"}}
    {"name":"ls","description":"Does ls.","parameters":{"type":"object"}}
    "#);
}

#[test]
fn the_conversation_as_text() {
    let call = Block::ToolCall(ToolCall {
        id: CallId::new("call_1"),
        name: "read".into(),
        input: ToolInput::parse(r#"{"path": "x"}"#.to_owned()),
        id_origin: IdOrigin::Made,
        replay: None,
    });
    let said = assistant_text(&[Block::Text("Let me see.\n".into()), call.clone()]);
    assert_eq!(said, "Let me see.\n\n```json\n{\"tool\":\"read\",\"arguments\":{\"path\": \"x\"}}\n```");
    assert_eq!(scan(&said, 1), r#""Let me see.\n\n" | read {"path": "x"}"#, "what is written is read again");
    let result = Block::ToolResult(ToolResult {
        call: CallId::new("call_1"),
        name: "read".into(),
        ok: true,
        envelope: Arc::from(raw(r#"{"ok":true}"#)),
        text: None,
        images: Vec::new(),
    });
    assert_eq!(
        user_text(&[Block::Text("Go on.".into()), Block::Text(" ".into()), result]),
        "<tool_result tool=\"read\">\n{\"ok\":true}\n</tool_result>\n\nGo on."
    );
}
