//! The bundled demonstration, played without an engine: its tool calls must work in its scratch folder, its test
//! must fail after the first edit and pass after the second.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::message::{Block, Message, Role, ToolResult};
use zori_core::provider::{Chunk, Delivery, Provider, Request};
use zori_providers::scripted::{Pace, ScriptedProvider};

use crate::ask::fixture;

/// The arguments of the three tools that the script uses.
#[derive(Deserialize)]
struct Input {
    path: Option<String>,
    old: Option<String>,
    new: Option<String>,
    command: Option<String>,
}

/// Does what the tool would do, and returns what the model would read.
fn run(folder: &Path, tool: &str, json: &str) -> String {
    let input: Input = serde_json::from_str(json).expect("arguments are JSON");
    let path = input.path.map(|p| folder.join(p));
    match tool {
        "read" => std::fs::read_to_string(path.expect("read has a path")).expect("the file is there"),
        "edit" => {
            let path = path.expect("edit has a path");
            let (old, new) = (input.old.expect("edit has old"), input.new.expect("edit has new"));
            let text = std::fs::read_to_string(&path).expect("the file is there");
            assert_eq!(text.matches(&old).count(), 1, "{old:?} must occur once in\n{text}");
            std::fs::write(&path, text.replace(&old, &new)).expect("the folder is ours");
            String::new()
        }
        "bash" => {
            let command = input.command.expect("bash has a command");
            let output = Command::new("sh").args(["-c", &command]).current_dir(folder).output();
            let output = output.expect("sh is there");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "");
            format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stdout))
        }
        other => panic!("the demo uses {other}, which this test does not know"),
    }
}

fn result(id: &str, name: &str, content: &str) -> Block {
    let envelope = RawValue::from_string("null".to_owned()).expect("null is JSON").into();
    Block::ToolResult(ToolResult {
        call: CallId::new(id),
        name: name.to_owned(),
        ok: true,
        envelope,
        text: Some(content.into()),
        images: Vec::new(),
    })
}

#[tokio::test]
async fn plays_to_the_end_with_real_tools() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["fizz.sh", "test.sh"] {
        std::fs::write(folder.path().join(name), fixture(&format!("scripts/demo/{name}"))).unwrap();
    }
    let script = String::from_utf8(fixture("scripts/demo.jsonl")).unwrap();
    let provider = ScriptedProvider::parse(&script, Pace::Instant).unwrap();
    let prompt = String::from_utf8(fixture("scripts/demo/prompt.txt")).unwrap();
    let mut messages = vec![Arc::new(Message::user(prompt.trim()))];
    let mut tests = Vec::new();
    let mut text = String::new();
    while provider.remaining() > 0 {
        let tools = Arc::default();
        let request = Request {
            model: "scripted",
            system: None,
            tools: &tools,
            messages: &messages,
            max_tokens: None,
            temperature: None,
            effort: None,
            delivery: Delivery::Streamed,
        };
        let mut stream = provider.stream(&request).await.unwrap();
        let mut calls: Vec<(String, String, String)> = Vec::new();
        text.clear();
        while let Some(chunk) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            match chunk.unwrap() {
                Chunk::Text(more) => text += &more,
                Chunk::CallStart { id, name, .. } => calls.push((id.unwrap(), name, String::new())),
                Chunk::CallInput { index, json } => calls[index as usize].2 += &json,
                _ => {}
            }
        }
        messages.push(Arc::new(Message { role: Role::Assistant, blocks: vec![Block::Text(text.clone())] }));
        let mut blocks = Vec::new();
        for (id, name, json) in &calls {
            let content = run(folder.path(), name, json);
            if name == "bash" {
                tests.push(content.clone());
            }
            blocks.push(result(id, name, &content));
        }
        messages.push(Arc::new(Message { role: Role::User, blocks }));
    }
    assert_eq!(
        tests,
        [
            "exit status: 1\nok    1 -> 1\nok    9 -> Fizz\nok    10 -> Buzz\nFAIL  15 -> Fizz, expected FizzBuzz\n",
            "exit status: 0\nok    1 -> 1\nok    9 -> Fizz\nok    10 -> Buzz\nok    15 -> FizzBuzz\n",
        ]
    );
    assert!(text.contains("scripted model"), "it must say what it is: {text}");
}
