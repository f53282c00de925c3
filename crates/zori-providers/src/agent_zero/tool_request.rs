//! A request for a local tool, in the spellings servers have for it (NRM-1, NRM-2).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is said where the server gives no reason.
const NO_REASON: &str = "No reason given";

/// The names of the tool that runs commands.
const SHELL: &[&str] = &["shell", "terminal", "command", "bash"];

/// Fields that are no arguments.
const OWN_FIELDS: &[&str] = &[
    "type",
    "tool_name",
    "name",
    "tool",
    "tool_call_id",
    "id",
    "reason",
    "summary",
    "context_id",
    "contextId",
    "conversation_id",
    "conversationId",
    "index",
];

/// Where arguments may be, in order.
const ARGUMENTS: &[&str] = &["arguments", "input", "payload", "args", "tool_args", "parameters"];

/// A request with all its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolRequest {
    pub(super) tool_name: String,
    /// One line that says what it does.
    pub(super) command: String,
    pub(super) reason: String,
    /// The arguments.
    pub(super) payload: Value,
    /// The server's id of it, which its result repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
}

impl ToolRequest {
    /// Reads an object; `None` where it names no tool.
    pub(super) fn read(object: &Map<String, Value>) -> Option<Self> {
        let function = object.get("function").and_then(Value::as_object);
        let text = |from: &Map<String, Value>, name: &str| {
            from.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
        };
        let first = |names: &[&str]| names.iter().find_map(|name| text(object, name));
        // Some servers count their calls.
        let id = |name: &&str| match object.get(*name)? {
            Value::Number(number) => Some(number.to_string()),
            _ => text(object, name),
        };
        let tool_name =
            first(&["tool_name", "name", "tool"]).or_else(|| text(function?, "name"))?.trim().to_owned();
        let is_shell = SHELL.contains(&tool_name.as_str());
        // Those without anything in them say nothing, and the fields beside them count.
        let says = |value: &&Value| match value {
            Value::Null => false,
            Value::Object(fields) => !fields.is_empty(),
            _ => true,
        };
        let given = function
            .and_then(|function| function.get("arguments"))
            .into_iter()
            .chain(ARGUMENTS.iter().filter_map(|name| object.get(*name)))
            .find(says);
        let mut payload = match given {
            Some(Value::String(json)) => match serde_json::from_str::<Value>(json) {
                Ok(value @ Value::Object(_)) => value,
                _ if is_shell => serde_json::json!({ "command": json }),
                _ => Value::String(json.clone()),
            },
            Some(value) => value.clone(),
            None => {
                let own = |name: &str| OWN_FIELDS.contains(&name) || ARGUMENTS.contains(&name);
                let fields = object.iter().filter(|(name, _)| !own(name.as_str()) && *name != "function");
                let direct = fields.filter(|(name, _)| is_shell || *name != "command");
                Value::Object(direct.map(|(name, value)| (name.clone(), value.clone())).collect())
            }
        };
        if let (true, Some(command), Value::Object(fields)) =
            (is_shell, text(object, "command"), &mut payload)
        {
            fields.entry("command").or_insert(Value::String(command));
        }
        let command = first(&["command", "summary"]).unwrap_or_else(|| summary(&tool_name, &payload));
        Some(Self {
            command,
            reason: first(&["reason"]).unwrap_or_else(|| NO_REASON.to_owned()),
            tool_call_id: ["tool_call_id", "id"].iter().find_map(id),
            tool_name,
            payload,
        })
    }

    /// Returns the line that tells the user why it is made; `None` where the server did not say.
    pub(super) fn reason_line(&self) -> Option<String> {
        (self.reason != NO_REASON).then(|| format!("The server asks for `{}`: {}", self.command, self.reason))
    }
}

fn summary(tool: &str, payload: &Value) -> String {
    let text = |names: &[&str]| names.iter().find_map(|name| payload.get(*name)?.as_str()).unwrap_or("");
    match tool {
        "write_file" | "file_write" => {
            let count = text(&["content", "text"]).chars().count();
            format!("write_file {} ({count} chars)", text(&["path"]))
        }
        "replace_text" | "replace" => format!("replace_text {}", text(&["path"])),
        "apply_patch" | "patch" => {
            format!("apply_patch ({} chars)", text(&["patch", "diff"]).chars().count())
        }
        name if SHELL.contains(&name) && !text(&["command"]).is_empty() => text(&["command"]).to_owned(),
        name => name.to_owned(),
    }
}
