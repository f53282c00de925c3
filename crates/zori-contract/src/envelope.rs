//! The response envelope: one line of JSON with the same five keys whatever happened.
//!
//! [`Facts`] is what the framework knows of a run; a command adds to `meta` only through [`crate::reply::Reply`].
//! The size of the line is the business of `cap.rs`, harmless strings that of `clean.rs` and `mask.rs`.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::path::AbsPath;
use crate::warning::Warning;

/// The version of the envelope itself.
pub const SCHEMA_VERSION: &str = "1.0";

/// The envelope, in the order of its keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Envelope<D = Value> {
    /// Follows from the exit code; a command cannot set it.
    pub ok: bool,
    /// An object, an array or null.
    pub data: D,
    /// Null if and only if `ok`.
    pub error: Value,
    /// `CODE: text`.
    pub warnings: Vec<String>,
    /// Facts of the run.
    pub meta: Map<String, Value>,
}

impl Envelope {
    /// Puts the answer together. `error` is null for [`Exit::Success`] and an object otherwise.
    pub fn new(
        exit: Exit,
        data: Value,
        error: Value,
        warnings: &[Warning],
        meta: Map<String, Value>,
    ) -> Self {
        debug_assert!(matches!(data, Value::Null | Value::Object(_) | Value::Array(_)), "bare data: {data}");
        debug_assert_eq!(exit == Exit::Success, error.is_null(), "an error if and only if it failed");
        let mut meta = meta;
        if !warnings.is_empty() {
            meta.insert("warning_details".into(), json!(warnings));
        }
        Self {
            ok: exit == Exit::Success,
            data,
            error,
            warnings: warnings.iter().map(Warning::line).collect(),
            meta,
        }
    }

    /// Returns the line with other data, which is JSON already.
    pub fn around(self, data: &RawValue) -> String {
        let Self { ok, error, warnings, meta, .. } = self;
        Envelope { ok, data, error, warnings, meta }.line()
    }
}

impl<D: Serialize> Envelope<D> {
    /// Returns the line, with its newline.
    pub fn line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("JSON values can be written");
        line.push('\n');
        line
    }
}

/// What the framework knows of a run and says in `meta`.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The command, such as `notes list`; empty before it is known.
    pub command: String,
    /// The version of the command's `data`.
    pub command_schema_version: &'static str,
    /// The program's version, as `--version` says it.
    pub tool_version: &'static str,
    /// How long the command may take; 0: as long as it likes.
    pub timeout_ms: u64,
    /// The folder it works in.
    pub cwd: AbsPath,
    /// The project around it.
    pub project_root: Option<AbsPath>,
    /// Where this run is written down.
    pub audit_log: Option<AbsPath>,
    /// Which files configured it, the strongest first.
    pub config_sources: Vec<AbsPath>,
    /// A short hash of what came out of them.
    pub effective_config_hash: String,
    /// A name for this run.
    pub request_id: String,
    /// The caller's name for it.
    pub trace_id: Option<String>,
    /// When it began, in ISO 8601.
    pub timestamp: String,
    /// No screen that a person sees.
    pub headless: bool,
    /// `--stable-output`: nothing that differs from run to run.
    pub stable: bool,
}

impl Facts {
    /// Returns `meta` for a run that took `duration_ms` and ends with `exit`.
    pub fn meta(&self, exit: Exit, duration_ms: u64) -> Map<String, Value> {
        let mut meta = Map::new();
        let mut put = |name: &str, value: Value| {
            meta.insert(name.to_owned(), value);
        };
        put("ok", json!(exit == Exit::Success));
        put("exit_code", json!(exit.code()));
        put("command", json!(self.command));
        put("schema_version", json!(SCHEMA_VERSION));
        put("command_schema_version", json!(self.command_schema_version));
        put("tool_version", json!(self.tool_version));
        put("timeout_ms", json!(self.timeout_ms));
        put("cwd", json!(self.cwd));
        put("config_sources", json!(self.config_sources));
        put("effective_config_hash", json!(self.effective_config_hash));
        // The schema wants a duration in every envelope; a stable one is the same each time.
        put("duration_ms", json!(if self.stable { 0 } else { duration_ms }));
        if !self.stable {
            put("request_id", json!(self.request_id));
            put("timestamp", json!(self.timestamp));
        }
        if let Some(trace) = &self.trace_id {
            put("trace_id", json!(trace));
        }
        if let Some(root) = &self.project_root {
            put("project_root", json!(root));
        }
        if let Some(log) = &self.audit_log {
            put("audit_log_path", json!(log));
        }
        if self.headless {
            put("headless", json!(true));
        }
        meta
    }
}

/// The JSON Schema of the envelope as this crate writes it, around the schema of a command's `data`.
pub fn schema(data: &Value) -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "required": ["ok", "data", "error", "warnings", "meta"],
        "additionalProperties": false,
        "properties": {
            "ok": {"type": "boolean"},
            "data": {"anyOf": [{"type": "null"}, data]},
            "error": {"anyOf": [{"type": "null"}, {
                "type": "object",
                "required": ["code", "message", "phase", "exit_code", "retryable"],
                "properties": {
                    "code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]+$"},
                    "message": {"type": "string", "minLength": 1},
                    "phase": {"enum": ["validation", "execution", "cleanup"]},
                    "exit_code": {"type": "integer"},
                    "retryable": {"type": "boolean"},
                    "retry_after_ms": {"type": "integer", "minimum": 0},
                    "retry_strategy": {"enum": ["immediate", "linear_backoff", "exponential_backoff"]},
                    "fix_required": {"type": "string"},
                    "fix_command": {"type": "string"},
                    "suggestion": {"type": "string"},
                },
            }]},
            "warnings": {"type": "array", "items": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]+: "}},
            "meta": {
                "type": "object",
                "required": ["ok", "exit_code", "command", "schema_version", "command_schema_version",
                             "tool_version", "timeout_ms", "cwd", "config_sources", "effective_config_hash",
                             "duration_ms"],
                "properties": {
                    "duration_ms": {"type": "integer", "minimum": 0},
                    "schema_version": {"type": "string", "pattern": "^\\d+\\.\\d+$"},
                    "cwd": {"type": "string", "pattern": "^/"},
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn facts(stable: bool) -> Facts {
        Facts {
            command: "list".into(),
            command_schema_version: "1.0.0",
            tool_version: "0.1.0",
            timeout_ms: 30_000,
            cwd: AbsPath::new(Path::new("/w")).unwrap(),
            project_root: None,
            audit_log: None,
            config_sources: Vec::new(),
            effective_config_hash: "e3b0c442".into(),
            request_id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".into(),
            trace_id: Some("t".into()),
            timestamp: "2026-11-16T00:00:00Z".into(),
            headless: true,
            stable,
        }
    }

    #[test]
    fn five_keys_on_one_line() {
        let meta = facts(false).meta(Exit::Success, 12);
        let warnings = [Warning::new("DEPRECATED", "use `b`").field("a").removed_in("2.0")];
        let line = Envelope::new(Exit::Success, json!([1]), Value::Null, &warnings, meta).line();
        assert_eq!(
            line,
            "{\"ok\":true,\"data\":[1],\"error\":null,\"warnings\":[\"DEPRECATED: use `b`\"],\"meta\":{\
             \"ok\":true,\"exit_code\":0,\"command\":\"list\",\"schema_version\":\"1.0\",\
             \"command_schema_version\":\"1.0.0\",\"tool_version\":\"0.1.0\",\"timeout_ms\":30000,\"cwd\":\"/w\",\
             \"config_sources\":[],\"effective_config_hash\":\"e3b0c442\",\"duration_ms\":12,\
             \"request_id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"timestamp\":\"2026-11-16T00:00:00Z\",\"trace_id\":\"t\",\
             \"headless\":true,\"warning_details\":[{\"code\":\"DEPRECATED\",\"message\":\"use `b`\",\"field\":\"a\",\
             \"removed_in\":\"2.0\"}]}}\n"
        );
    }

    #[test]
    fn stable_output_has_nothing_of_the_moment() {
        let (a, b) = (facts(true).meta(Exit::Success, 1), facts(true).meta(Exit::Success, 2));
        assert_eq!(a, b);
        assert!(!a.contains_key("timestamp") && !a.contains_key("request_id"));
    }
}
