//! Finds the tool call that a part of a request belongs to, for any API.

use serde_json::Value;

/// A result of a tool call in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallResult {
    /// Which call of the conversation, from 1.
    pub(super) number: usize,
    /// The tool, where the conversation says it.
    pub(super) name: Option<String>,
}

/// Returns the result that the pointer leads into.
pub(super) fn result_at(body: &Value, pointer: &str) -> Option<CallResult> {
    let mut found = Found::default();
    found.visit(String::new(), body);
    let inside = |place: &str| {
        pointer.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let at = found.results.iter().position(|(place, _)| inside(place))?;
    let id = &found.results[at].1;
    let name = found.calls.iter().find(|(call, _)| call == id).map(|(_, name)| name.clone());
    Some(CallResult { number: at + 1, name })
}

#[derive(Default)]
struct Found {
    /// Where each result is, and the id of its call.
    results: Vec<(String, String)>,
    /// Id and name of each call.
    calls: Vec<(String, String)>,
}

impl Found {
    fn visit(&mut self, place: String, value: &Value) {
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.visit(format!("{place}/{at}"), item);
                }
            }
            Value::Object(fields) => {
                let text = |key: &str| fields.get(key).and_then(Value::as_str);
                if let Some(response) = fields.get("functionResponse") {
                    // Gemini names the tool in the result, and need not have ids.
                    let id = format!("{place}/functionResponse");
                    let name = response["name"].as_str().unwrap_or_default();
                    self.calls.push((id.clone(), name.to_owned()));
                    self.results.push((place, id));
                } else if let Some(id) = text("tool_use_id").or(text("tool_call_id")) {
                    self.results.push((place, id.to_owned()));
                } else if let Some(id) = text("call_id").filter(|_| text("name").is_none()) {
                    self.results.push((place, id.to_owned()));
                } else {
                    let function = fields.get("function").and_then(|function| function["name"].as_str());
                    if let (Some(id), Some(name)) =
                        (text("call_id").or(text("id")), text("name").or(function))
                    {
                        self.calls.push((id.to_owned(), name.to_owned()));
                    }
                    // A call's arguments and a tool's schema are the model's and ours, not the conversation's.
                    for (key, field) in
                        fields.iter().filter(|(key, _)| *key != "input" || field_is_list(fields))
                    {
                        self.visit(format!("{place}/{key}"), field);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The conversation of the Responses API is called as the arguments of Anthropic's calls are, but is a list.
fn field_is_list(fields: &serde_json::Map<String, Value>) -> bool {
    fields.get("input").is_some_and(Value::is_array)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(body: Value, pointer: &str) -> Option<(usize, String)> {
        let found = result_at(&body, pointer)?;
        Some((found.number, found.name.unwrap_or_default()))
    }

    #[test]
    fn in_every_api() {
        let anthropic = json!({"messages": [
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "ls", "input": {"tool_use_id": "x"}},
                {"type": "tool_use", "id": "b", "name": "bash", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "1"},
                {"type": "tool_result", "tool_use_id": "b", "content": "2"},
            ]},
        ]});
        assert_eq!(named(anthropic.clone(), "/messages/1/content/1/content"), Some((2, "bash".into())));
        assert_eq!(named(anthropic, "/messages/0/content/1/input"), None);
        let chat = json!({"messages": [
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "bash", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
        ]});
        assert_eq!(named(chat, "/messages/1/content"), Some((1, "bash".into())));
        let responses = json!({"input": [
            {"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
        ]});
        assert_eq!(named(responses, "/input/1/output"), Some((1, "bash".into())));
        let gemini = json!({"contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"ok": true}}}]},
        ]});
        assert_eq!(
            named(gemini, "/contents/1/parts/0/functionResponse/response/ok"),
            Some((1, "bash".into()))
        );
    }
}
