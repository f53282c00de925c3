//! An Agent Zero server on a loopback port, as far as its `api_message` handler goes: routes, key, chats and error texts of
//! the real one, by version; or one that streams events, as the document of the API describes it. Facts from the real one's
//! sources; no code of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

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

/// A chat on the server: how many messages it had, and its log.
#[derive(Default)]
struct Chat {
    messages: usize,
    log: Vec<Value>,
}

type Chats = Arc<Mutex<BTreeMap<String, Chat>>>;

/// The log of a chat while its agent works, in the format of the real server.
pub struct Log {
    chats: Chats,
    id: String,
}

impl Log {
    /// Adds an item, and returns its number.
    pub fn add(&self, kind: &str, heading: &str, content: &str, kvps: Value) -> usize {
        self.with(|log| {
            let no = log.len();
            log.push(json!({
                "no": no, "id": null, "type": kind, "heading": heading, "content": content, "kvps": kvps,
                "timestamp": 1_700_000_000.5, "agentno": 0,
            }));
            no
        })
    }

    /// Changes an item where it stands.
    pub fn change(&self, no: usize, field: &str, value: impl Into<Value>) {
        self.with(|log| log[no][field] = value.into());
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Value>) -> T) -> T {
        let mut chats = self.chats.lock().expect("no answer panicked");
        work(&mut chats.entry(self.id.clone()).or_default().log)
    }
}

/// Starts a server whose agent answers as the function says: the number of the message in its chat, from 1, and its text.
pub fn start(version: Version, agent: impl Fn(usize, &str) -> String + Send + Sync + 'static) -> ModelServer {
    working(version, move |count, message, _| agent(count, message))
}

/// The same with an agent that writes its log while it works.
pub fn working(
    version: Version,
    agent: impl Fn(usize, &str, &Log) -> String + Send + Sync + 'static,
) -> ModelServer {
    let chats = Chats::default();
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
        handle(version, name, request, &chats, &agent)
    })
}

fn handle(
    version: Version,
    name: &str,
    request: &Request,
    chats: &Chats,
    agent: &dyn Fn(usize, &str, &Log) -> String,
) -> Reply {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    match request.header("x-api-key").or(body["api_key"].as_str()) {
        None => return Reply::bytes(401, "text/html", "API key required"),
        Some(key) if key != KEY => return Reply::bytes(401, "text/html", "Invalid API key"),
        Some(_) => {}
    }
    let given = body["context_id"].as_str().unwrap_or_default();
    let mut open = chats.lock().expect("no answer panicked");
    match name {
        "api_message" => {
            let message = body["message"].as_str().unwrap_or_default();
            if message.is_empty() {
                return Reply::json(400, json!({"error": "Message is required"}));
            }
            if !given.is_empty() && !open.contains_key(given) {
                return Reply::json(404, json!({"error": "Context not found"}));
            }
            let id = if given.is_empty() { format!("chat{}", open.len() + 1) } else { given.to_owned() };
            let chat = open.entry(id.clone()).or_default();
            chat.messages += 1;
            let count = chat.messages;
            // The log is read while the agent works.
            drop(open);
            let log = Log { chats: chats.clone(), id: id.clone() };
            log.add("user", "", message, json!({"attachments": []}));
            match agent(count, message, &log) {
                // The handler puts the text of an error between quotes as it is.
                text if text.starts_with("raise ") => {
                    let body = format!("{{\"error\": \"Failed to process message: {}\"}}", &text[6..]);
                    Reply::bytes(500, "application/json", body)
                }
                text if text == "forget" => {
                    chats.lock().expect("no answer panicked").clear();
                    Reply::json(200, json!({"context_id": id, "response": "gone"}))
                }
                text if version == Version::Streaming => Reply::sse(events(&id, &text)),
                text => {
                    log.add("response", "icon://chat A0: Responding", &text, json!({"finished": true}));
                    Reply::json(200, json!({"context_id": id, "response": text}))
                }
            }
        }
        "api_reset_chat" | "api_terminate_chat" if open.contains_key(given) => {
            if name == "api_terminate_chat" {
                open.remove(given);
            }
            Reply::json(200, json!({"success": true, "context_id": given}))
        }
        "api_log_get" if open.contains_key(given) => {
            let log = &open[given].log;
            let length = body["length"].as_u64().unwrap_or(100) as usize;
            let start = log.len().saturating_sub(length);
            Reply::json(
                200,
                json!({"context_id": given, "log": {
                    "guid": format!("guid-{given}"), "total_items": log.len(), "returned_items": log.len() - start,
                    "start_position": start, "progress": "", "progress_active": true, "items": log[start..],
                }}),
            )
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
