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
        return Cow::Owned(stdout + gap + &stderr);
    }
    match (text, fields.text("content")) {
        (Some(text), _) => Cow::Borrowed(text),
        (None, Some(content)) => Cow::Owned(content),
        (None, None) => Cow::Borrowed(data),
    }
}

/// The fields of an object, each as its JSON; none of what is no object.
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
            (Some(ToolKind::Read), r#"{"content":"one\ntwo"}"#, None, "one\ntwo"),
            (Some(ToolKind::Read), r#"{"content":"one"}"#, text, "as the model reads it"),
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
