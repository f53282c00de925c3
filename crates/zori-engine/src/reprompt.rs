//! Replies that are asked about once: an empty one, and a call written into the text (FOR-11, FOR-13); and calls that fail
//! again and again.

use zori_core::event::{Notice, NoticeLevel, TurnEvent};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::{Block, ToolCall, ToolInput, ToolResult};
use zori_core::outcome::LimitKind;
use zori_core::provider::StopReason;
use zori_core::render::Sink;
use zori_core::tool::{Leniency, ToolSpec};

use crate::limits::LimitReached;
use crate::turn::{Turn, TurnAbort};

/// From this many equal failing calls in a row on, the result says so.
pub(crate) const TOLD_REPEATS: u32 = 3;

/// This many equal failing calls in a row end the turn.
const MAX_REPEATS: u32 = 6;

const EMPTY_PROMPT: &str =
    "Your reply was empty. Go on with the task, or say in a sentence what was done and what is left.";

/// What a turn remembers of the model's mistakes.
#[derive(Default)]
pub(crate) struct Mistakes {
    asked_after_empty: bool,
    asked_for_native_call: bool,
    /// Whether a reply that could not be read was asked for again.
    pub(crate) retried_broken: bool,
    /// Whether the last attempt ended inside a reply that had begun and did not contradict itself.
    pub(crate) broken: bool,
    /// How often this request was made again although words of its reply had been shown.
    pub(crate) retried_after_words: u32,
    /// The call that failed last, by name and input, and how often in a row.
    failing: Option<(String, String)>,
    repeats: u32,
}

impl Mistakes {
    /// Returns how often in a row this call will have failed if it fails again.
    pub(crate) fn repeats_of(&self, call: &ToolCall) -> u32 {
        if self.failing.is_some() && key(call) == self.failing { self.repeats + 1 } else { 1 }
    }
}

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Asks about a reply without calls that cannot be what the model meant. Returns whether it did; a second empty reply is a
    /// failure.
    pub(crate) fn ask_again(&mut self, stop: &StopReason) -> Result<bool, TurnAbort> {
        let settings = &self.engine.shared.settings;
        if settings.leniency == Leniency::Exact || matches!(stop, StopReason::Other(_)) {
            return Ok(false);
        }
        if self.text.trim().is_empty() {
            if self.ask_after_empty() {
                return Ok(true);
            }
            let text = "the model returned an empty reply, and another one when it was asked to go on";
            return Err(TurnAbort::Failed(ProviderFailure::new(FailureKind::Malformed, text)));
        }
        self.mistakes.asked_after_empty = false;
        let Some(tool) = written_call(&self.text, self.engine.shared.toolbox.specs()) else {
            return Ok(false);
        };
        if std::mem::replace(&mut self.mistakes.asked_for_native_call, true) {
            return Ok(false);
        }
        let prompt = format!(
            "You wrote a call of `{tool}` into your text, where nothing runs it. Make it again as a tool call, or go on \
             without it."
        );
        let notice = format!("The model wrote a call of `{tool}` into its text; it is asked to make it");
        self.reprompt("call_in_text", &notice, &prompt);
        Ok(true)
    }

    /// Asks the model to go on after a reply that says nothing, or that is thinking only. Returns whether it did.
    pub(crate) fn ask_after_empty(&mut self) -> bool {
        if self.engine.shared.settings.leniency == Leniency::Exact
            || !self.text.trim().is_empty()
            || std::mem::replace(&mut self.mistakes.asked_after_empty, true)
        {
            return false;
        }
        self.engine.history.take_back_empty_reply();
        let notice = "The model returned an empty reply; it is asked to go on";
        self.reprompt("empty_reply", notice, EMPTY_PROMPT);
        true
    }

    fn reprompt(&mut self, code: &'static str, notice: &str, prompt: &str) {
        self.emit(Notice { level: NoticeLevel::Info, code, text: notice.to_owned() });
        self.emit(TurnEvent::Steered { text: prompt.into() });
        self.engine.history.push_user(vec![Block::Text(prompt.to_owned())]);
    }

    /// Ends a turn in which the model repeats a call that fails each time.
    pub(crate) fn check_repeated_failures(
        &mut self,
        calls: &[ToolCall],
        failed: &[bool],
    ) -> Result<(), TurnAbort> {
        self.mistakes.asked_after_empty = false;
        if self.engine.shared.settings.leniency == Leniency::Exact {
            return Ok(());
        }
        for (call, failed) in calls.iter().zip(failed) {
            self.mistakes.repeats = if *failed { self.mistakes.repeats_of(call) } else { 0 };
            self.mistakes.failing = if *failed { key(call) } else { None };
            if self.mistakes.repeats == MAX_REPEATS {
                let text = format!("The same call of `{}` failed {MAX_REPEATS} times in a row", call.name);
                return Err(TurnAbort::Limit(LimitReached { kind: LimitKind::Repeats, text }));
            }
        }
        Ok(())
    }
}

/// Returns which of the results are failures.
pub(crate) fn failures(results: &[ToolResult]) -> Vec<bool> {
    results.iter().map(|result| !result.ok).collect()
}

/// Returns the name and the input of a call; one whose arguments cannot be read is counted elsewhere (TOOL-7).
fn key(call: &ToolCall) -> Option<(String, String)> {
    match &call.input {
        ToolInput::Json(input) => Some((call.name.clone(), input.get().to_owned())),
        ToolInput::Malformed(_) => None,
    }
}

/// Returns the offered tool that a text holds a whole call of: in a tag, as a fenced object, or as all there is.
fn written_call<'a>(text: &str, specs: &'a [ToolSpec]) -> Option<&'a str> {
    let named = |name: &str| specs.iter().map(|spec| spec.name.as_str()).find(|own| *own == name.trim());
    let of_object = |body: &str| {
        let object: serde_json::Value = serde_json::from_str(body.trim()).ok()?;
        let holds =
            ["arguments", "parameters", "input", "args"].iter().any(|field| object[*field].is_object());
        named(object["name"].as_str().or(object["tool"].as_str())?).filter(|_| holds)
    };
    if let Some(body) = between(text, "<tool_call>", "</tool_call>") {
        return of_object(body).or_else(|| function(body, named));
    }
    if let Some(tool) = function(text, named).or_else(|| invoked(text, named)) {
        return Some(tool);
    }
    // A whole reply that is a call and nothing else, as some models have it where native calls fail.
    let whole = text.trim();
    let listed = whole.strip_prefix("[TOOL_CALLS]").map(str::trim).unwrap_or(whole);
    let listed = listed.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(listed);
    if let Some(tool) = of_object(listed) {
        return Some(tool);
    }
    text.split("```").skip(1).step_by(2).find_map(|block| {
        let body = block.split_once('\n').map_or(block, |(_, body)| body);
        of_object(body)
    })
}

/// Returns the tool of `<function=NAME>...</function>`.
fn function<'a>(text: &str, named: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    let body = between(text, "<function=", "</function>")?;
    named(body.split_once('>')?.0.trim_matches(['"', '\'']))
}

/// Returns the tool of `<invoke name="NAME">...</invoke>`.
fn invoked<'a>(text: &str, named: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    let body = between(text, "<invoke name=", "</invoke>")?;
    named(body.split_once('>')?.0.trim_matches(['"', '\'']))
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let start = text.find(open)? + open.len();
    let end = text[start..].find(close)?;
    Some(&text[start..start + end])
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn calls_in_text() {
        let schema = RawValue::from_string("{}".to_owned()).unwrap();
        let specs = [ToolSpec { name: "write".to_owned(), description: String::new(), schema }];
        for (text, tool) in [
            ("<tool_call>\n{\"name\": \"write\", \"arguments\": {}}\n</tool_call>", Some("write")),
            ("<tool_call><function=write><parameter=a>b</parameter></function></tool_call>", Some("write")),
            ("I do it. <function=write>\n<parameter=a>b</parameter>\n</function>", Some("write")),
            ("So:\n```json\n{\"tool\": \"write\", \"input\": {\"a\": 1}}\n```\n", Some("write")),
            ("<tool_call>\n{\"name\": \"write\", \"arguments\": {", None),
            ("<tool_call>\n{\"name\": \"other\", \"arguments\": {}}\n</tool_call>", None),
            ("```json\n{\"name\": \"write\", \"version\": 1}\n```", None),
            ("{\"name\": \"write\", \"arguments\": {}}", Some("write")),
            ("[TOOL_CALLS][{\"name\": \"write\", \"arguments\": {}}]", Some("write")),
            ("<invoke name=\"write\">\n<parameter name=\"a\">b</parameter>\n</invoke>", Some("write")),
            ("<invoke name=\"write\">\n<parameter name=\"a\">b", None),
            ("So: {\"name\": \"write\", \"arguments\": {}}", None),
            ("Use `write` for that.", None),
        ] {
            assert_eq!(written_call(text, &specs), tool, "{text}");
        }
    }
}
