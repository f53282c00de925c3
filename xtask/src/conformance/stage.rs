//! The model of a conformance run: one server, and on it a script for each case.
//!
//! A case's base URL ends in `/case/NAME`. There its driver leaves replies (`POST …/script`, a JSON list), its client asks
//! the model, and the driver looks at what was asked (`GET …/requests`) and lets a reply that holds go on (`POST
//! …/open`). The replies stand in the drivers, beside what is expected of them:
//!
//! | field | meaning |
//! |---|---|
//! | `content` | the blocks of the message, as the Messages API has them |
//! | `stop`, `usage`, `model` | instead of what follows from the blocks |
//! | `hold` | everything up to the end of the last block, then nothing until the gate is opened |
//! | `cut` | the connection ends after so many events |
//! | `status`, `kind`, `message`, `headers` | an HTTP error instead |
//! | `when` | only for a request whose body contains this text; the others wait their turn |

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use zori_testkit::anthropic::{self, Message};
use zori_testkit::gate::Gate;
use zori_testkit::history;
use zori_testkit::reply::{Disconnect, Reply};
use zori_testkit::server::{ModelServer, Request};

/// The server. It ends when dropped.
pub struct Stage {
    server: ModelServer,
}

/// What is known of a case.
#[derive(Default)]
struct Case {
    replies: Vec<Value>,
    requests: Vec<Value>,
    gate: Gate,
}

impl Stage {
    /// Starts the server.
    pub fn start() -> Self {
        let cases: Mutex<BTreeMap<String, Case>> = Mutex::default();
        let answer = move |request: &Request| {
            let mut cases = cases.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((name, rest)) = place(&request.path) else {
                return anthropic::http_error(404, "not_found_error", "no case has this path");
            };
            cases.entry(name.to_owned()).or_default().answer(request, rest)
        };
        Self { server: ModelServer::answering(answer) }
    }

    /// Returns the URL to which `/case/NAME` is added.
    pub fn url(&self) -> String {
        self.server.url()
    }
}

/// Reads `/case/NAME/REST`.
fn place(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("/case/")?.split_once('/')
}

impl Case {
    fn answer(&mut self, request: &Request, rest: &str) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match rest {
            "script" => {
                self.replies.extend(body.as_array().cloned().unwrap_or_default());
                Reply::json(200, "{}")
            }
            "requests" => Reply::json(200, json!(self.requests)),
            "open" => {
                self.gate.open();
                Reply::json(200, "{}")
            }
            _ => self.play(request, body, rest.ends_with("chat/completions")),
        }
    }

    fn play(&mut self, request: &Request, body: Value, chat: bool) -> Reply {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let verdict = if chat { Ok(()) } else { history::check(&request.body) };
        self.requests.push(body);
        if let Err(why) = verdict {
            return anthropic::http_error(400, "invalid_request_error", &why);
        }
        let wanted = |reply: &Value| reply["when"].as_str().is_none_or(|part| text.contains(part));
        let Some(at) = self.replies.iter().position(wanted) else {
            let why = format!("the case has no reply to request {}", self.requests.len());
            return anthropic::http_error(400, "invalid_request_error", &why);
        };
        let spec = self.replies.remove(at);
        if chat { chat_reply(&spec) } else { reply(&spec, &self.gate) }
    }
}

/// Makes a reply of its description.
fn reply(spec: &Value, gate: &Gate) -> Reply {
    let text = |name: &str| spec[name].as_str().unwrap_or_default();
    if let Some(status) = spec["status"].as_u64() {
        let status = u16::try_from(status).unwrap_or(500);
        let mut reply = anthropic::http_error(status, text("kind"), text("message"));
        for (name, value) in spec["headers"].as_object().into_iter().flatten() {
            reply = reply.header(name, value.as_str().unwrap_or_default());
        }
        return reply;
    }
    let mut message = Message::new().model("claude-haiku-4-5");
    for block in spec["content"].as_array().into_iter().flatten() {
        message = message.block(block.clone());
    }
    if spec["stop"].is_string() {
        message = message.stop(text("stop"));
    }
    if spec["usage"].is_object() {
        message = message.usage(spec["usage"].clone());
    }
    if spec["model"].is_string() {
        message = message.model(text("model"));
    }
    let reply = message.reply();
    if let Some(events) = spec["cut"].as_u64() {
        return reply.cut_after_events(usize::try_from(events).unwrap_or(usize::MAX), Disconnect::Fin);
    }
    if spec["hold"] == true {
        // The end of the last block, of the message, and of the stream are what is held back.
        let events = reply.events().saturating_sub(3);
        return reply.wait_after(events, gate);
    }
    reply
}

/// The same text as a stream of the chat completions API.
fn chat_reply(spec: &Value) -> Reply {
    let mut stream = String::new();
    let mut chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "a-model",
            "choices": choices, "usage": usage,
        });
        stream.push_str(&format!("data: {chunk}\n\n"));
    };
    for block in spec["content"].as_array().into_iter().flatten() {
        let delta = json!({"role": "assistant", "content": block["text"]});
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null);
    }
    chunk(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]), Value::Null);
    chunk(json!([]), json!({"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}));
    stream.push_str("data: [DONE]\n\n");
    Reply::sse(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(case: &mut Case, rest: &str, body: Value) -> String {
        let request = Request {
            method: "POST".to_owned(),
            path: format!("/case/a/{rest}"),
            headers: Vec::new(),
            body: body.to_string().into_bytes(),
        };
        format!("{:?}", case.answer(&request, rest))
    }

    fn prompt(text: &str) -> Value {
        json!({"messages": [{"role": "user", "content": text}]})
    }

    #[test]
    fn replies_are_chosen_by_what_is_asked() {
        let mut case = Case::default();
        let script = json!([{"when": "inner", "content": []}, {"content": []}, {"status": 401}]);
        ask(&mut case, "script", script);
        let left = |case: &Case| case.replies.len();
        ask(&mut case, "v1/messages", prompt("outer"));
        assert_eq!((left(&case), case.replies[0]["when"].as_str()), (2, Some("inner")));
        ask(&mut case, "v1/messages", prompt("an inner one"));
        assert!(ask(&mut case, "v1/messages", prompt("last")).contains("status: 401"));
        assert!(ask(&mut case, "v1/messages", prompt("more")).contains("status: 400"));
        let rejected = json!({"messages": [{"role": "assistant", "content": "x"}]});
        assert!(ask(&mut case, "v1/messages", rejected).contains("status: 400"));
        let asked: Vec<_> = case.requests.iter().map(|r| r["messages"][0]["content"].clone()).collect();
        assert_eq!(asked, ["outer", "an inner one", "last", "more", "x"]);
    }

    #[test]
    fn what_holds_is_let_go() {
        let mut case = Case::default();
        let spec = json!({"content": [{"type": "text", "text": "a b"}], "hold": true});
        // Start, block, two words; then the gate; then the three ends.
        assert_eq!(reply(&spec, &case.gate).events(), 8);
        ask(&mut case, "open", Value::Null);
        assert!(case.gate.is_open());
    }

    #[test]
    fn places() {
        assert_eq!(place("/case/a.b/v1/messages"), Some(("a.b", "v1/messages")));
        assert_eq!(place("/v1/messages"), None);
    }
}
