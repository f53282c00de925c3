//! A scripted Agent Zero inside the program, for trying it without a server (`connection.use_mock`). It says what it is.
//!
//! It answers as a server of the document does: events of a stream, one tool request, and a final answer once the result
//! has come. Which tool it asks for depends on a word of the prompt, so that a question about a call can be seen, too.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use serde_json::{Value, json};
use zori_core::BoxFuture;
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};

/// The address that stands for it.
pub const ADDRESS: &str = "http://mock.invalid/api_message";

/// Answers every request from a script; nothing leaves the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct MockServer;

impl Transport for MockServer {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let body = if request.url.ends_with("/api_message") { answer(&asked) } else { json!({}).to_string() };
        let kind =
            if request.url.ends_with("/api_message") { "text/event-stream" } else { "application/json" };
        let response = HttpResponse {
            status: 200,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            url: request.url,
            body: Box::pin(Once(Some(Bytes::from(body)))),
        };
        Box::pin(std::future::ready(Ok(response)))
    }
}

fn answer(asked: &Value) -> String {
    let message = asked["message"].as_str().unwrap_or_default();
    let id = asked["context_id"].as_str().unwrap_or("mock-1");
    let events = match serde_json::from_str::<Value>(message) {
        // A question beside the conversation, which names no tool.
        _ if message.ends_with("</call>") => {
            let text = "I am the mock server inside this program: no model answers, so that nobody explains this call.";
            vec![json!({ "type": "final_response", "content": text })]
        }
        Ok(result) if result.get("tool_result").is_some() => {
            vec![json!({ "type": "final_response", "content": told(&result["tool_result"]) })]
        }
        _ => {
            let (tool, payload, thought) = wanted(message);
            vec![
                json!({ "type": "status", "content": "Mock server: no network, no model" }),
                json!({ "type": "thinking", "content": thought }),
                json!({
                    "type": "tool_request",
                    "tool_name": tool,
                    "reason": "the mock server shows one round of a local tool",
                    "payload": payload,
                }),
            ]
        }
    };
    let mut body = String::new();
    for mut event in events {
        event["context_id"] = json!(id);
        body.push_str(&format!("data: {event}\n\n"));
    }
    body.push_str("data: [DONE]\n\n");
    body
}

/// Returns the tool that the script asks for, by a word of the prompt, and what it thinks meanwhile.
fn wanted(message: &str) -> (&'static str, Value, &'static str) {
    let prompt = message.rsplit("USER: ").next().unwrap_or_default().to_lowercase();
    let has = |word: &str| prompt.split(|c: char| !c.is_alphanumeric()).any(|one| one == word);
    if has("write") {
        let note = json!({ "path": "mock-note.txt", "content": "A note by the mock server.\n" });
        return ("write_file", note, "A note is wanted.");
    }
    if has("run") {
        return ("shell", json!({ "command": "ls" }), "A command is wanted.");
    }
    ("list_files", json!({ "path": ".", "max_depth": 2 }), "I look at the workspace first.")
}

/// Returns what is said of a result.
fn told(result: &Value) -> String {
    let tool = result["tool_name"].as_str().unwrap_or_default();
    let output = result["output"].as_str().unwrap_or_default();
    if result["ok"] != true {
        return format!("I am the mock server inside this program. The tool did not run: {output}");
    }
    let sent = match (tool, result["details"]["files"].as_u64().unwrap_or(0)) {
        ("list_files", 1) => "sent me the name of one file".to_owned(),
        ("list_files", files) => format!("sent me the names of {files} files"),
        _ => format!("sent me: {}", output.lines().next().unwrap_or_default()),
    };
    format!(
        "I am the mock server inside this program: no model answers. Your tool `{tool}` ran here and {sent}. Say `write a note` or \
         `run a command` and I ask for that. Set `connection.api_url` to a real Agent Zero server and `connection.use_mock = false`."
    )
}

struct Once(Option<Bytes>);

impl Stream for Once {
    type Item = Result<Bytes, TransportFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take().map(Ok))
    }
}
