//! What a provider demands of a conversation, checked as strictly as the strictest one does (LOG-11), and a
//! conversation written out for comparing.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

/// Checks the `messages` of an Anthropic request: the user begins and ends, roles alternate, nothing is empty,
/// and every call is answered, each once, at the beginning of the next message.
pub fn check(body: &[u8]) -> Result<(), String> {
    let body: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let messages = body["messages"].as_array().ok_or("`messages` is not a list")?;
    let role = |message: &Value| message["role"].as_str().unwrap_or_default().to_owned();
    if messages.first().map(role).as_deref() != Some("user") {
        return Err("the first message is not the user's".to_owned());
    }
    if messages.last().map(role).as_deref() != Some("user") {
        return Err("the last message is not the user's".to_owned());
    }
    let mut seen = BTreeSet::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for (n, message) in messages.iter().enumerate() {
        let expected = if n % 2 == 0 { "user" } else { "assistant" };
        if role(message) != expected {
            return Err(format!("message {n} is not the {expected}'s: roles must alternate"));
        }
        let blocks = blocks(message).map_err(|why| format!("message {n} {why}"))?;
        check_message(&blocks, expected, &mut open, &mut seen).map_err(|why| format!("message {n} {why}"))?;
    }
    Ok(())
}

/// Writes the conversation of a request as one line per block.
pub fn outline(body: &Value) -> String {
    let mut out = String::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or("?");
        for block in blocks(message).unwrap_or_default() {
            let text = match block["type"].as_str() {
                Some("text") => plain(&block["text"]),
                Some("tool_use") => {
                    format!("tool_use {} {} {}", plain(&block["id"]), plain(&block["name"]), block["input"])
                }
                Some("tool_result") => {
                    let mark = if block["is_error"] == true { " (error)" } else { "" };
                    format!("tool_result{mark} {} {}", plain(&block["tool_use_id"]), plain(&block["content"]))
                }
                Some("thinking") => {
                    format!("thinking {} {}", plain(&block["thinking"]), plain(&block["signature"]))
                }
                _ => block.to_string(),
            };
            writeln!(out, "{role}: {text}").expect("writing to a string cannot fail");
        }
    }
    out
}

/// Checks one message; `open` holds the calls of the message before it that wait for an answer.
fn check_message(
    blocks: &[Value],
    role: &str,
    open: &mut BTreeSet<String>,
    seen: &mut BTreeSet<String>,
) -> Result<(), String> {
    let mut results_over = false;
    for block in blocks {
        let kind = block["type"].as_str().ok_or("has a block without `type`")?;
        match (kind, role) {
            ("tool_result", "user") => {
                let id = plain(&block["tool_use_id"]);
                if results_over {
                    return Err(format!("has the result of `{id}` after other content"));
                }
                if !open.remove(&id) {
                    return Err(format!("answers `{id}`, which the message before did not call"));
                }
            }
            ("tool_use", "assistant") => {
                let id = plain(&block["id"]);
                if !block["input"].is_object() {
                    return Err(format!("calls `{id}` with an input that is no object"));
                }
                if id.is_empty() || !seen.insert(id.clone()) {
                    return Err(format!("calls with the empty or used id `{id}`"));
                }
                open.insert(id);
            }
            ("tool_use" | "thinking" | "redacted_thinking", "user") => {
                return Err(format!("of the user has a `{kind}` block"));
            }
            ("tool_result", _) => return Err("of the assistant has a `tool_result` block".to_owned()),
            ("text", _) if plain(&block["text"]).trim().is_empty() => {
                return Err("has an empty text".to_owned());
            }
            _ => {}
        }
        results_over |= kind != "tool_result";
    }
    match open.first() {
        Some(id) if role == "user" => Err(format!("does not answer the call `{id}`")),
        _ => Ok(()),
    }
}

/// Returns the content as blocks; a lone string is one text block.
fn blocks(message: &Value) -> Result<Vec<Value>, String> {
    match &message["content"] {
        Value::String(text) => Ok(vec![serde_json::json!({"type": "text", "text": text})]),
        Value::Array(blocks) if !blocks.is_empty() => Ok(blocks.clone()),
        _ => Err("has no content".to_owned()),
    }
}

/// Returns a string's text, and anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(messages: Value) -> String {
        match check(json!({ "messages": messages }).to_string().as_bytes()) {
            Ok(()) => "fine".to_owned(),
            Err(why) => why,
        }
    }

    fn user(content: Value) -> Value {
        json!({"role": "user", "content": content})
    }

    fn assistant(content: Value) -> Value {
        json!({"role": "assistant", "content": content})
    }

    fn call(id: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "bash", "input": {"command": "ls"}})
    }

    fn result(id: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": "{}"})
    }

    #[test]
    fn histories_that_are_fine() {
        assert_eq!(verdict(json!([user(json!("hi"))])), "fine");
        assert_eq!(
            verdict(json!([
                user(json!("hi")),
                assistant(
                    json!([{"type": "thinking", "thinking": "", "signature": "s"}, call("a"), call("b")])
                ),
                user(json!([result("b"), result("a"), {"type": "text", "text": "and"}])),
                assistant(json!("done")),
                user(json!("more")),
            ])),
            "fine"
        );
    }

    #[test]
    fn histories_a_provider_rejects() {
        let cases = [
            (json!([]), "the first message is not the user's"),
            (json!([user(json!("a")), assistant(json!("b"))]), "the last message is not the user's"),
            (
                json!([user(json!("a")), user(json!("b"))]),
                "message 1 is not the assistant's: roles must alternate",
            ),
            (json!([user(json!([]))]), "message 0 has no content"),
            (json!([user(json!(" "))]), "message 0 has an empty text"),
            (json!([user(json!([call("a")]))]), "message 0 of the user has a `tool_use` block"),
            (
                json!([user(json!([result("a")]))]),
                "message 0 answers `a`, which the message before did not call",
            ),
            (
                json!([user(json!("x")), assistant(json!([call("a")])), user(json!("y"))]),
                "message 2 does not answer the call `a`",
            ),
            (
                json!([
                    user(json!("x")),
                    assistant(json!([call("a")])),
                    user(json!([{"type": "text", "text": "y"}, result("a")]))
                ]),
                "message 2 has the result of `a` after other content",
            ),
            (
                json!([
                    user(json!("x")),
                    assistant(json!([call("a"), call("a")])),
                    user(json!([result("a")]))
                ]),
                "message 1 calls with the empty or used id `a`",
            ),
            (
                json!([user(json!("x")), assistant(json!([result("a")])), user(json!("y"))]),
                "message 1 of the assistant has a `tool_result` block",
            ),
            (
                json!([
                    user(json!("x")),
                    assistant(json!([{"type": "tool_use", "id": "a", "input": "x"}])),
                    user(json!("y"))
                ]),
                "message 1 calls `a` with an input that is no object",
            ),
        ];
        for (messages, expected) in cases {
            assert_eq!(verdict(messages), expected);
        }
    }

    #[test]
    fn outlines() {
        let body = json!({"messages": [
            user(json!("hi")),
            assistant(json!([{"type": "text", "text": "I look."}, call("a")])),
            user(json!([{"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true}])),
        ]});
        assert_eq!(
            outline(&body),
            "user: hi\nassistant: I look.\nassistant: tool_use a bash {\"command\":\"ls\"}\nuser: tool_result (error) a no\n"
        );
    }
}
