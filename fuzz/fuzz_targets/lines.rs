//! Any text as lines of a client, in each protocol that is spoken on standard input.
//!
//! What must hold: no panic; what is wrong with a line is said in one line; a request of an editor gets exactly one answer,
//! with its id, and what is written is whole lines of JSON (IO-4, IO-5).

#![no_main]

#[path = "../written.rs"]
mod written;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use zori_acp::{AcpClient, AgentInfo, MessageWriter};
use zori_frontends::claude::input::Line;
use zori_frontends::jsonl::command::{Command, Stream};

use self::written::Written;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1}}"#;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    for line in text.lines() {
        for stream in [Stream::Lines, Stream::Commands] {
            let _ = Command::parse(line, stream).map_err(|why| assert!(!why.is_empty(), "{line:?}"));
        }
        let _ = Line::parse(line).map_err(|why| assert!(!why.is_empty(), "{line:?}"));
    }
    editor(&text);
});

/// An editor that says hello, then these lines.
fn editor(text: &str) {
    let out = Written::default();
    let me = AgentInfo { name: "zori", version: "0", auth: ("key", "Key", String::new()) };
    let client = AcpClient::new(MessageWriter::new(Box::new(out.clone())), me);
    assert!(client.handle_line(HELLO).is_none());
    out.take();
    for line in text.lines() {
        // Dropped, a request is answered with an error, as one is whose session is over.
        drop(client.handle_line(line));
        let said = out.take();
        let answers: Vec<Value> = said
            .lines()
            .map(|said| serde_json::from_str(said).unwrap_or_else(|error| panic!("{said:?}: {error}")))
            .collect();
        assert!(said.is_empty() || said.ends_with('\n'), "{said:?} is not whole");
        let Ok(Value::Object(asked)) = serde_json::from_str::<Value>(line) else { continue };
        let (id, method) = (asked.get("id"), asked.get("method"));
        if asked.get("jsonrpc") == Some(&Value::from("2.0"))
            && let (Some(id @ (Value::String(_) | Value::Number(_))), Some(Value::String(_))) = (id, method)
        {
            assert_eq!(answers.len(), 1, "{line:?} is answered with {said:?}");
            let told = &answers[0]["id"];
            assert!(told == id || told.is_null(), "{line:?} is answered with {said:?}");
        }
    }
}
