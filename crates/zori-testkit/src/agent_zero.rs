//! An Agent Zero server on a loopback port, as far as its `api_message` handler goes: routes, key, chats and error texts of
//! the real one, by version; or one that streams events, as the document of the API describes it. Facts from the real one's
//! sources; no code of it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::reply::Reply;
use crate::server::{ModelServer, Request};

/// The key it wants.
pub const KEY: &str = "0123456789abcdef";

/// Which server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 0.9: the handler is at `/api_message`.
    Old,
    /// 1.x: the handler is at `/api/api_message`.
    New,
    /// The document's: events while the agent works, at `/api_message`.
    Streaming,
}

impl Version {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Old, Self::New, Self::Streaming];
}

/// Starts a server whose agent answers as the function says: the number of the message in its chat, from 1, and its text.
pub fn start(version: Version, agent: impl Fn(usize, &str) -> String + Send + Sync + 'static) -> ModelServer {
    let chats: Mutex<BTreeMap<String, usize>> = Mutex::default();
    ModelServer::answering(move |request| {
        // Open to everybody, in the newer versions.
        if (version, request.path.as_str()) == (Version::New, "/api/health") {
            return Reply::json(200, json!({"gitinfo": {}, "error": null}));
        }
        let name = match (version, request.path.strip_prefix("/api/")) {
            (Version::New, Some(name)) => name,
            (Version::Old | Version::Streaming, None) => request.path.trim_start_matches('/'),
            _ => return Reply::bytes(404, "text/html", "<!doctype html><title>404 Not Found</title>"),
        };
        handle(version, name, request, &mut chats.lock().expect("no answer panicked"), &agent)
    })
}

fn handle(
    version: Version,
    name: &str,
    request: &Request,
    chats: &mut BTreeMap<String, usize>,
    agent: &dyn Fn(usize, &str) -> String,
) -> Reply {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    match request.header("x-api-key").or(body["api_key"].as_str()) {
        None => return Reply::bytes(401, "text/html", "API key required"),
        Some(key) if key != KEY => return Reply::bytes(401, "text/html", "Invalid API key"),
        Some(_) => {}
    }
    let given = body["context_id"].as_str().unwrap_or_default();
    match name {
        "api_message" => {
            let message = body["message"].as_str().unwrap_or_default();
            if message.is_empty() {
                return Reply::json(400, json!({"error": "Message is required"}));
            }
            if !given.is_empty() && !chats.contains_key(given) {
                return Reply::json(404, json!({"error": "Context not found"}));
            }
            let id = if given.is_empty() { format!("chat{}", chats.len() + 1) } else { given.to_owned() };
            let count = chats.entry(id.clone()).and_modify(|count| *count += 1).or_insert(1);
            match agent(*count, message) {
                // The handler puts the text of an error between quotes as it is.
                text if text.starts_with("raise ") => {
                    let body = format!("{{\"error\": \"Failed to process message: {}\"}}", &text[6..]);
                    Reply::bytes(500, "application/json", body)
                }
                text if text == "forget" => {
                    chats.clear();
                    Reply::json(200, json!({"context_id": id, "response": "gone"}))
                }
                text if version == Version::Streaming => Reply::sse(events(&id, &text)),
                text => Reply::json(200, json!({"context_id": id, "response": text})),
            }
        }
        "api_reset_chat" | "api_terminate_chat" if chats.contains_key(given) => {
            if name == "api_terminate_chat" {
                chats.remove(given);
            }
            Reply::json(200, json!({"success": true, "context_id": given}))
        }
        "api_log_get" if chats.contains_key(given) => {
            Reply::json(200, json!({"context_id": given, "log": {"guid": "g", "items": []}}))
        }
        "api_reset_chat" | "api_terminate_chat" | "api_log_get" => {
            Reply::json(404, json!({"error": "Context not found"}))
        }
        _ => Reply::bytes(404, "text/html", "<!doctype html><title>404 Not Found</title>"),
    }
}

/// What the agent says as events: it works, it thinks, it asks for a tool or answers.
fn events(id: &str, text: &str) -> String {
    let last = match serde_json::from_str::<Value>(text) {
        Ok(request) if request["type"] == "tool_request" => request,
        _ => json!({"type": "final_response", "content": text}),
    };
    let before = [
        json!({"type": "status", "content": "Working", "context_id": id}),
        json!({"type": "thinking", "content": "I think."}),
    ];
    let all = before.iter().chain([&last]).map(|event| format!("data: {event}\n\n"));
    all.collect::<String>() + "data: [DONE]\n\n"
}
