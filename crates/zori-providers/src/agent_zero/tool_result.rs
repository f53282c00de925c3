//! A tool's result as the server gets it (TR-2): the content in `output`, the facts in `details`.

use serde_json::{Map, Value, json};
use zori_core::message::{IdOrigin, ToolCall, ToolResult};

/// The tools, by every name they have.
const TOOLS: &[(&str, &[&str])] = &[
    ("read_file", &["read_file", "read", "Read"]),
    ("list_files", &["list_files", "tree", "ls", "LS"]),
    ("search_text", &["search_text", "search", "rg", "grep", "Grep"]),
    ("write_file", &["write_file", "file_write", "write", "Write"]),
    ("replace_text", &["replace_text", "replace", "edit", "Edit"]),
    ("apply_patch", &["apply_patch", "patch"]),
    ("shell", &["shell", "terminal", "command", "bash", "Bash"]),
];

/// Returns the result of a call.
pub(super) fn encode(call: Option<&ToolCall>, result: &ToolResult) -> Value {
    let asked: Map<String, Value> =
        call.and_then(|call| serde_json::from_str(call.input.json()).ok()).unwrap_or_default();
    let envelope: Value = serde_json::from_str(result.envelope.get()).unwrap_or_default();
    let name = call.map_or(result.name.as_str(), |call| call.name.as_str());
    let tool = TOOLS.iter().find(|(_, names)| names.contains(&name)).map_or(name, |(tool, _)| *tool);
    let (mut ok, data) = (result.ok, &envelope["data"]);
    let details = match (ok, &envelope["error"]) {
        (true, _) => facts(tool, &asked, data),
        (false, error) => refused(tool, &asked, error),
    };
    if tool == "shell" && ok {
        ok = data["exit_code"] == 0;
    }
    let mut out = json!({ "tool_name": name, "ok": ok, "output": result.content(), "details": details });
    // Ids that the engine made mean nothing to the server.
    if let Some(call) = call.filter(|call| call.id_origin == IdOrigin::Provider) {
        out["tool_call_id"] = json!(call.id.to_string());
    }
    out
}

/// The details of a success (AT-2). What the tool does not count is left out.
fn facts(tool: &str, asked: &Map<String, Value>, data: &Value) -> Value {
    let arg = |names: &[&str]| names.iter().find_map(|name| asked.get(*name)).cloned().unwrap_or_default();
    let count = |field: &str| data[field].as_array().map_or(0, Vec::len);
    let picked = |fields: &[&str]| {
        let present = fields.iter().filter_map(|&field| Some((field.to_owned(), data.get(field)?.clone())));
        Value::Object(present.collect())
    };
    let mut details = match tool {
        "read_file" => picked(&["path", "bytes", "truncated", "start_line", "end_line"]),
        "list_files" => {
            let files = data["entries"].as_array().map_or(0, |entries| {
                entries.iter().filter(|entry| !entry["name"].as_str().unwrap_or("/").ends_with('/')).count()
            });
            json!({ "path": data["path"], "files": files, "truncated": data["truncated"] })
        }
        "search_text" => {
            let path = match arg(&["path", "dir"]) {
                Value::Null => json!("."),
                path => path,
            };
            json!({ "query": arg(&["query", "pattern", "text"]), "path": path, "matches": count("matches"),
                    "files_scanned": data["files_searched"] })
        }
        "write_file" => picked(&["path", "bytes"]),
        "replace_text" => {
            let replacements = data["replacements"].as_u64().unwrap_or(0);
            json!({ "path": data["path"], "changed": replacements > 0, "replacements": replacements })
        }
        "apply_patch" => {
            let files = data["files"].as_array().into_iter().flatten();
            json!({ "paths": files.map(|file| file["path"].clone()).collect::<Vec<_>>() })
        }
        "shell" => json!({ "command": arg(&["command"]), "returncode": data["exit_code"] }),
        _ => Value::Object(Map::new()),
    };
    // The server knows files by the paths it asked for, which are relative.
    if let (path @ Value::String(_), Some(shown)) =
        (arg(&["path", "file", "target", "dir"]), details.get_mut("path"))
    {
        *shown = path;
    }
    details
}

/// The details of a call that failed or was rejected (TR-5).
fn refused(tool: &str, asked: &Map<String, Value>, error: &Value) -> Value {
    let command = match asked.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => match asked.get("path").and_then(Value::as_str) {
            Some(path) => format!("{tool} {path}"),
            None => tool.to_owned(),
        },
    };
    json!({ "command": command, "reason": error["message"], "code": error["code"] })
}
