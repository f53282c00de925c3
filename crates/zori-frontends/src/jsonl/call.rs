//! A tool call and its result, as the events have them: an object, readable text, and an exit code (D-9).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use zori_core::event::ToolFinished;
use zori_core::message::ToolInput;
use zori_core::tool::{ToolCode, ToolKind};
use zori_redact::Redactor;

/// Returns the arguments as one object without secrets, on one line. What is no object is the text in `raw`.
pub(crate) fn input<'a>(input: &'a ToolInput, redactor: &Redactor) -> Cow<'a, RawValue> {
    match input {
        ToolInput::Json(raw) => object(raw, redactor).unwrap_or_else(|| as_text(raw.get(), redactor)),
        ToolInput::Malformed(text) => as_text(text, redactor),
    }
}

fn as_text(text: &str, redactor: &Redactor) -> Cow<'static, RawValue> {
    let object = serde_json::json!({ "raw": redactor.redact(text) });
    Cow::Owned(to_raw_value(&object).expect("an object of a string is JSON"))
}

fn object<'a>(raw: &'a RawValue, redactor: &Redactor) -> Option<Cow<'a, RawValue>> {
    let mut value: Value = serde_json::from_str(raw.get()).ok()?;
    if !value.is_object() {
        return None;
    }
    // A secret may stand in a string as it is, or only in the text: as a name, or beside one that gives it away.
    let changed = redact(&mut value, redactor);
    let text = match changed || raw.get().contains(['\n', '\r']) {
        true => Cow::Owned(value.to_string()),
        false => Cow::Borrowed(raw.get()),
    };
    match (redactor.redact(&text), &text) {
        (Cow::Borrowed(_), Cow::Borrowed(_)) => Some(Cow::Borrowed(raw)),
        (clean, _) => RawValue::from_string(clean.into_owned()).ok().map(Cow::Owned),
    }
}

/// Takes secrets out of every string; returns whether there were any.
fn redact(value: &mut Value, redactor: &Redactor) -> bool {
    match value {
        Value::String(text) => match redactor.redact(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(clean) => {
                *text = clean;
                true
            }
        },
        Value::Array(items) => items.iter_mut().fold(false, |changed, item| redact(item, redactor) | changed),
        Value::Object(map) => map.values_mut().fold(false, |changed, item| redact(item, redactor) | changed),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct Streams<'a> {
    #[serde(borrow)]
    stdout: Cow<'a, str>,
    #[serde(borrow)]
    stderr: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// Returns a result for reading: what a command printed, a file's content, why it failed, else the data as JSON.
pub(super) fn output(done: &ToolFinished) -> Cow<'_, str> {
    if let Some(failure) = &done.output.failure {
        return Cow::Borrowed(&failure.message);
    }
    let data =
        serde_json::from_str::<Envelope<'_>>(done.output.envelope.get()).map(|envelope| envelope.data.get());
    let data = data.unwrap_or_else(|_| done.output.envelope.get());
    if done.kind == Some(ToolKind::Bash)
        && let Ok(Streams { stdout, stderr }) = serde_json::from_str(data)
    {
        let gap = if stdout.is_empty() || stderr.is_empty() || stdout.ends_with('\n') { "" } else { "\n" };
        return Cow::Owned(format!("{stdout}{gap}{stderr}"));
    }
    match (&done.output.text, serde_json::from_str::<Content<'_>>(data)) {
        (Some(text), _) => Cow::Borrowed(text),
        (None, Ok(Content { content })) => content,
        (None, Err(_)) => Cow::Borrowed(data),
    }
}

/// Returns how it ended, as shells count.
pub(super) fn exit_code(done: &ToolFinished) -> i32 {
    match (&done.output.failure, done.output.process) {
        (Some(failure), _) => match failure.code {
            ToolCode::Timeout => 124,
            ToolCode::Canceled => 125,
            ToolCode::PermissionDenied => 126,
            ToolCode::UnknownTool => 127,
            _ => 1,
        },
        (None, Some(end)) if end.timed_out => 124,
        (None, Some(end)) => end.signal.map_or(end.exit_code, |signal| 128 + signal),
        (None, None) => 0,
    }
}
