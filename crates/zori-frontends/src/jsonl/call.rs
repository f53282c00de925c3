//! A tool call and its result, as the events have them: an object, and an exit code (D-9).

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};
use zori_core::event::ToolFinished;
use zori_core::message::ToolInput;
use zori_core::tool::ToolCode;
use zori_redact::Redactor;

/// Returns the arguments as one object without secrets, on one line. Anything else is put as text under `raw`.
pub(crate) fn input<'a>(input: &'a ToolInput, redactor: &Redactor) -> Cow<'a, RawValue> {
    match input {
        ToolInput::Json(raw) => redactor.redact_object(raw).unwrap_or_else(|| as_text(raw.get(), redactor)),
        ToolInput::Malformed(text) => as_text(text, redactor),
    }
}

fn as_text(text: &str, redactor: &Redactor) -> Cow<'static, RawValue> {
    let object = serde_json::json!({ "raw": redactor.redact(text) });
    Cow::Owned(to_raw_value(&object).expect("an object of a string is JSON"))
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
