//! What a hook reads on standard input: one JSON object, with the fields of the format that Claude Code and Codex share.
//!
//! Tools have their names and fields of the Claude protocol there, paths absolute, so that a hook that was written for
//! another program works.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use zori_core::hook::{HookCall, HookInput};
use zori_core::tool::ToolKind;

use super::HookContext;
use super::matcher::{source, trigger};
use crate::dialect::{CLAUDE, Source, ZORI};
use crate::paths;

/// The object; what does not belong to a moment is absent.
#[derive(Serialize, Default)]
struct Input<'a> {
    session_id: &'a str,
    transcript_path: String,
    cwd: String,
    permission_mode: &'a str,
    hook_event_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_response: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_instructions: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_hook_active: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_assistant_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// Returns the object for a moment.
pub(super) fn json(moment: &HookInput<'_>, mode: &str, context: &HookContext<'_>) -> String {
    let mut input = Input {
        session_id: context.session.as_str(),
        transcript_path: context.transcript.map(paths::shown).unwrap_or_default(),
        cwd: paths::shown(context.root),
        permission_mode: mode,
        hook_event_name: moment.event().as_str(),
        ..Input::default()
    };
    if let Some(call) = moment.call() {
        input.tool_name = Some(name(call));
        input.tool_input = Some(arguments(call, context));
        input.tool_use_id = Some(call.id.as_str());
    }
    match *moment {
        HookInput::SessionStart { resumed, model } => {
            (input.source, input.model) = (Some(source(resumed)), Some(model));
        }
        HookInput::UserPromptSubmit { prompt } => input.prompt = Some(prompt),
        HookInput::PreToolUse(_) => {}
        HookInput::PostToolUse { result, .. } => input.tool_response = Some(result),
        HookInput::PreCompact { asked, focus } => {
            input.trigger = Some(trigger(asked));
            input.custom_instructions = Some(focus.unwrap_or_default());
        }
        HookInput::Stop { again, text } => {
            (input.stop_hook_active, input.last_assistant_message) = (Some(again), Some(text));
        }
        HookInput::SubagentStop { kind, again, text } => {
            input.agent_type = Some(kind);
            (input.stop_hook_active, input.last_assistant_message) = (Some(again), Some(text));
        }
        HookInput::SessionEnd => input.reason = Some("other"),
    }
    serde_json::to_string(&input).expect("strings and JSON are JSON")
}

fn name<'a>(call: &HookCall<'a>) -> &'a str {
    let shown = call.kind.and_then(|kind| CLAUDE.shows(kind).or_else(|| ZORI.shows(kind)));
    shown.map_or(call.name, |entry| entry.name)
}

/// Returns canonical arguments by the names the Claude protocol has for them.
fn arguments(call: &HookCall<'_>, context: &HookContext<'_>) -> Value {
    let args: Map<String, Value> = serde_json::from_str(call.args.get()).unwrap_or_default();
    let entry = call.kind.and_then(|kind| CLAUDE.shows(kind));
    let fields = entry.map_or(&[][..], |entry| entry.fields);
    let renamed = |(name, value): (String, Value)| {
        let field = fields.iter().find(|f| matches!(f.source, Source::Canonical(own) if own == name));
        let value = match (name.as_str(), value) {
            ("path", Value::String(path)) => {
                paths::shown(&paths::resolve_at(context.root, context.home, &path)).into()
            }
            ("edits", Value::Array(edits)) => edits.into_iter().map(edit).collect(),
            (_, value) => value,
        };
        match (call.kind, name.as_str(), value.as_i64()) {
            (Some(ToolKind::Bash), "timeout_secs", Some(secs)) => {
                ("timeout".to_owned(), Value::from(secs.saturating_mul(1000)))
            }
            _ => (field.map_or(name, |field| field.name.to_owned()), value),
        }
    };
    sorted(args.into_iter().map(renamed))
}

/// One replacement of several.
fn edit(edit: Value) -> Value {
    let Value::Object(edit) = edit else { return edit };
    let renamed = |(name, value): (String, Value)| match name.as_str() {
        "old" => ("old_string".to_owned(), value),
        "new" => ("new_string".to_owned(), value),
        _ => (name, value),
    };
    sorted(edit.into_iter().map(renamed))
}

/// An object whose keys are sorted, whether or not objects keep the order in which they were made.
fn sorted(fields: impl Iterator<Item = (String, Value)>) -> Value {
    Value::Object(fields.collect::<BTreeMap<_, _>>().into_iter().collect())
}
