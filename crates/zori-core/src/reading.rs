//! A tool's result as people read it: why it failed, what a command printed, a file's content, else the data as JSON.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::tool::{ToolKind, ToolOutput};

impl ToolOutput {
    /// Returns the result for reading. `kind`: which tool it is of.
    pub fn readable(&self, kind: Option<ToolKind>) -> Cow<'_, str> {
        match &self.failure {
            Some(failure) => Cow::Borrowed(&failure.message),
            None => readable(kind, self.envelope.get(), self.text.as_deref()),
        }
    }
}

/// Returns the result in an envelope for reading; `text`: what the model read in its place, if anything.
pub fn readable<'a>(kind: Option<ToolKind>, envelope: &'a str, text: Option<&'a str>) -> Cow<'a, str> {
    let parts = Fields::of(envelope);
    if let Some(why) = parts.get("error").and_then(|error| Fields::of(error).text("message")) {
        return Cow::Owned(why);
    }
    let data = parts.get("data").unwrap_or(envelope);
    let fields = Fields::of(data);
    if kind == Some(ToolKind::Bash)
        && let (Some(stdout), Some(stderr)) = (fields.text("stdout"), fields.text("stderr"))
    {
        let gap = if stdout.is_empty() || stderr.is_empty() || stdout.ends_with('\n') { "" } else { "\n" };
        let printed = stdout + gap + &stderr;
        return Cow::Owned(match fields.text("job_id") {
            Some(job) if printed.is_empty() || printed.ends_with('\n') => {
                format!("{printed}(goes on as {job})")
            }
            Some(job) => format!("{printed}\n(goes on as {job})"),
            None => printed,
        });
    }
    match (fields.text("content"), text) {
        (Some(content), _) => Cow::Owned(content),
        (None, Some(text)) => Cow::Borrowed(text),
        (None, None) => Cow::Borrowed(data),
    }
}

/// The fields of a JSON object, each as raw JSON; empty for any other value.
struct Fields<'a>(HashMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    fn of(json: &'a str) -> Self {
        Self(serde_json::from_str(json).unwrap_or_default())
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.get())
    }

    fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolCode;

    #[test]
    fn results_for_reading() {
        let text = Some("as the model reads it");
        for (kind, data, text, wanted) in [
            (Some(ToolKind::Bash), r#"{"stdout":"out","stderr":"err"}"#, None, "out\nerr"),
            (Some(ToolKind::Bash), r#"{"stdout":"out\n","stderr":"err"}"#, text, "out\nerr"),
            (Some(ToolKind::Bash), r#"{"stdout":"","stderr":"err"}"#, None, "err"),
            (
                Some(ToolKind::Bash),
                r#"{"job_id":"job_1","stdout":"","stderr":""}"#,
                None,
                "(goes on as job_1)",
            ),
            (
                Some(ToolKind::Bash),
                r#"{"job_id":"job_1","stdout":"a","stderr":""}"#,
                text,
                "a\n(goes on as job_1)",
            ),
            (Some(ToolKind::Read), r#"{"content":"one\ntwo"}"#, None, "one\ntwo"),
            (Some(ToolKind::Read), r#"{"content":"one"}"#, text, "one"),
            (Some(ToolKind::Ls), r#"{"entries":[]}"#, text, "as the model reads it"),
            (Some(ToolKind::Ls), r#"{"entries":[]}"#, None, r#"{"entries":[]}"#),
            (None, "[1]", None, "[1]"),
        ] {
            let envelope = format!(r#"{{"ok":true,"data":{data}}}"#);
            assert_eq!(readable(kind, &envelope, text), wanted, "{envelope}");
        }
        let failed = ToolOutput::failure(ToolCode::PathError, "there is no `x`");
        assert_eq!(failed.readable(Some(ToolKind::Read)), "there is no `x`");
        assert_eq!(readable(None, failed.envelope.get(), text), "there is no `x`");
        assert_eq!(readable(None, "17", None), "17");
    }
}
