//! What the tools of a project have in common, those of its memory, its code index and its schedule: how they are described, and how an answer
//! of the database becomes theirs.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::JoinError;
use zori_core::tool::{ToolCode, ToolOutput, ToolSpec};

/// Describes a tool.
pub(crate) fn spec(name: &str, description: &str, schema: &Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: RawValue::from_string(schema.to_string()).expect("a value is JSON"),
    }
}

/// Returns an answer, and what the model reads of it.
pub(crate) fn answer(data: &Value, text: impl Into<Arc<str>>) -> ToolOutput {
    let mut output = ToolOutput::success(&data.to_string());
    output.text = Some(text.into());
    output
}

/// Returns the answer to arguments that make no sense.
pub(crate) fn invalid(why: impl Into<String>) -> ToolOutput {
    ToolOutput::failure(ToolCode::InvalidInput, why.into())
}

/// Adds a warning to what the model reads.
pub(crate) fn with_warning(mut output: ToolOutput, warning: Option<String>) -> ToolOutput {
    if let (Some(warning), Some(text)) = (warning, &output.text) {
        output.text = Some(format!("{text}\n{warning}").into());
    }
    output
}

/// Returns what came of work on another thread; an error says why `what` cannot be used.
pub(crate) fn finished(what: &str, ended: Result<Result<ToolOutput, String>, JoinError>) -> ToolOutput {
    match ended {
        Ok(Ok(output)) => output,
        Ok(Err(why)) => ToolOutput::failure(ToolCode::ReadError, format!("{what} cannot be used: {why}")),
        Err(_) => ToolOutput::failure(ToolCode::Panic, format!("{what} broke off because of a defect")),
    }
}
