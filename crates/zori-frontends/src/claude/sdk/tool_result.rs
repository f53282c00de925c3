//! A tool's result in a `user` line: what the model reads, and a form for user interfaces. Secrets are taken out.

use serde_json::{Value, json};
use zori_core::event::ToolFinished;
use zori_core::image::Image;
use zori_core::tool::ToolCode;
use zori_redact::Redactor;

use super::structured::{Known, structured};

/// A result on the wire.
pub(super) struct Line {
    /// The `tool_result` block.
    pub(super) block: Value,
    /// The form for user interfaces, where there is one.
    pub(super) structured: Option<Value>,
}

pub(super) fn line(done: &ToolFinished, known: &Known<'_>, redactor: &Redactor) -> Line {
    let text = redactor.redact(&text(done)).into_owned();
    let foreign = done.kind.is_none() && done.name.starts_with("mcp__");
    let failed = done.output.failure.is_some() || done.output.process.is_some_and(|end| end.exit_code != 0);
    let content = match done.output.images.is_empty() && !foreign {
        true => Value::String(text.clone()),
        false => {
            let words = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
            words.into_iter().chain(done.output.images.iter().map(picture)).collect()
        }
    };
    let block = json!({
        "tool_use_id": done.call.as_str(),
        "type": "tool_result",
        "content": content,
        "is_error": failed,
    });
    let structured = match failed {
        true => Some(format!("Error: {text}").into()),
        false => structured(done, &text, known, redactor),
    };
    Line { block, structured }
}

fn picture(image: &Image) -> Value {
    let source = json!({"type": "base64", "media_type": image.format().media_type(), "data": image.base64()});
    json!({"type": image.format().noun(), "source": source})
}

/// What the model reads. Calls that were none are marked as clients know it.
fn text(done: &ToolFinished) -> String {
    let read = || done.output.text.as_deref().unwrap_or_else(|| done.output.envelope.get()).to_owned();
    match &done.output.failure {
        Some(failure) if failure.code == ToolCode::UnknownTool => {
            format!("<tool_use_error>Error: No such tool available: {}</tool_use_error>", done.name)
        }
        Some(failure) if failure.code == ToolCode::InvalidInput => format!(
            "<tool_use_error>InputValidationError: {} failed due to the following issues: {}</tool_use_error>",
            done.name, failure.message
        ),
        Some(failure) if failure.code == ToolCode::Canceled => {
            "[Request interrupted by user for tool use]".to_owned()
        }
        Some(failure) if done.output.text.is_none() => failure.message.clone(),
        _ => read(),
    }
}
