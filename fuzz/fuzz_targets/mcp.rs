//! Any text as messages of an MCP client, behind a handshake or as the first words.
//!
//! The first byte of an input says which. What must hold: no panic; the server ends when its lines do; each line it writes is
//! one JSON-RPC message; and no answer is to something that was not asked.

#![no_main]

#[path = "../written.rs"]
mod written;

use std::cell::RefCell;
use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json, value::RawValue};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use zori_core::tool::ToolSpec;
use zori_mcp::{MessageWriter, ServerInfo, ToolAnswer, ToolCall, serve};

use self::written::Written;

thread_local! {
    static RUNTIME: RefCell<Runtime> =
        RefCell::new(Builder::new_current_thread().enable_time().build().expect("a runtime can be had"));
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let mut lines = if choice % 2 == 0 { hello() } else { Vec::new() };
    lines.extend(text.lines().take(64).map(str::to_owned));
    let said = RUNTIME.with_borrow(|runtime| runtime.block_on(dialogue(&lines)));
    let ids =
        lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok()?.get("id").map(same_id));
    let asked: HashSet<String> = ids.collect();
    for line in said.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line:?}");
        if message.get("method").is_none() {
            let id = same_id(&message["id"]);
            assert!(id == "null" || asked.contains(&id), "{line:?} answers nothing of {lines:?}");
        }
    }
    assert!(said.is_empty() || said.ends_with('\n'), "{said:?} is not whole");
});

/// Returns an id as text, in which numbers that are equal are spelt alike: `-0`, `0.0` and `0` are one id.
fn same_id(id: &Value) -> String {
    match id.as_f64() {
        Some(number) if id.is_f64() && number.fract() == 0.0 => format!("{}", number + 0.0),
        _ => id.to_string(),
    }
}

fn hello() -> Vec<String> {
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "fuzz", "version": "1"}});
    vec![
        json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
    ]
}

/// Returns what the server says to these lines. Its tool fails at once.
async fn dialogue(lines: &[String]) -> String {
    let schema = RawValue::from_string(r#"{"type":"object"}"#.to_owned()).expect("the schema is JSON");
    let tool = ToolSpec { name: "read".to_owned(), description: "Read.".to_owned(), schema };
    let secret = || "0123456789abcdef".to_owned();
    let info = ServerInfo { name: "zori", version: "0", about: String::new(), tools: vec![tool], secret };
    let out = Written::default();
    let (sender, input) = mpsc::channel(lines.len().max(1));
    for line in lines {
        sender.try_send(Ok(line.clone())).expect("there is room for all");
    }
    drop(sender);
    let (calls, mut called) = mpsc::channel::<ToolCall>(1);
    let answering = async move {
        while let Some(call) = called.recv().await {
            let _ = call.reply.send(ToolAnswer::failed("not here"));
        }
    };
    let serving = serve(info, input, MessageWriter::new(Box::new(out.clone())), calls);
    let _ = tokio::join!(serving, answering);
    out.take()
}
