//! What commands have printed so far, while they run. An update replaces what was shown before, so it is the end of it,
//! again and again, in a bounded length.

use std::collections::HashMap;

use agent_client_protocol::v1::schema::{ContentBlock, ToolCallUpdate, ToolCallUpdateFields};
use zori_core::ids::CallId;
use zori_redact::Redactor;

/// The most output of a running command that is shown: a screen or two.
const MAX_SHOWN: usize = 16 << 10;
/// The most output that is kept. It is more than is shown, so that a secret whose start is no longer shown is still found.
const MAX_KEPT: usize = 64 << 10;
/// What stands for the rest.
const ELLIPSIS: &str = "[...]\n";

/// The output of the calls that run.
#[derive(Default)]
pub(crate) struct LiveOutput(HashMap<CallId, String>);

impl LiveOutput {
    /// Adds output of a call, and returns the update that shows it.
    pub(crate) fn push(&mut self, call: &CallId, text: &str, redactor: &Redactor) -> ToolCallUpdate {
        let said = self.0.entry(call.clone()).or_default();
        said.push_str(text);
        let before = said.len();
        said.drain(..said.len() - end(said, MAX_KEPT).len());
        let clean = redactor.redact(said);
        let shown = end(&clean, MAX_SHOWN);
        let cut = if before > said.len() || shown.len() < clean.len() { ELLIPSIS } else { "" };
        let content = ContentBlock::from(format!("{cut}{shown}"));
        let fields = ToolCallUpdateFields::new().content(vec![content.into()]);
        ToolCallUpdate::new(call.as_str().to_owned(), fields)
    }

    /// Forgets a call that is over.
    pub(crate) fn remove(&mut self, call: &CallId) {
        self.0.remove(call);
    }
}

/// Returns the end of a text, from the beginning of a line if it has one there.
fn end(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let rest = &text[text.ceil_char_boundary(text.len() - max)..];
    rest.split_once('\n').map_or(rest, |(_, lines)| if lines.is_empty() { rest } else { lines })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::redactor;

    fn shown(live: &mut LiveOutput, text: &str) -> String {
        let update = serde_json::to_value(live.push(&CallId::new("c"), text, &redactor())).unwrap();
        update["content"][0]["content"]["text"].as_str().unwrap().to_owned()
    }

    #[test]
    fn all_of_a_little_and_the_end_of_much() {
        let mut live = LiveOutput::default();
        assert_eq!(shown(&mut live, "one\n"), "one\n");
        assert_eq!(shown(&mut live, "two\n"), "one\ntwo\n");
        let flood: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let told = shown(&mut live, &flood);
        assert!(told.starts_with("[...]\nline 18") && told.ends_with("line 19999\n"), "{}", &told[..40]);
        assert!(told.len() <= MAX_SHOWN + ELLIPSIS.len(), "{}", told.len());
        assert!(live.0[&CallId::new("c")].len() <= MAX_KEPT);
        live.remove(&CallId::new("c"));
        assert_eq!(shown(&mut live, "new\n"), "new\n");
        // One line without an end is cut, too.
        assert_eq!(shown(&mut live, &"é".repeat(MAX_KEPT)).len(), MAX_SHOWN + ELLIPSIS.len());
    }

    /// A secret whose beginning is not shown any more is still known by it.
    #[test]
    fn a_secret_that_is_half_out_of_sight() {
        let mut live = LiveOutput::default();
        let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{}", "MIIEowIBAAKCAQEA7\n".repeat(1000));
        let told = shown(&mut live, &key);
        assert!(told.contains("[REDACTED]") && !told.contains("MIIE"), "{told}");
    }
}
