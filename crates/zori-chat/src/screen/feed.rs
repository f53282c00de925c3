//! The session's events on their way to the screen, without what must not be shown on one (SCR-3).

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zori_core::event::{Event, EventKind, ToolEvent};
use zori_core::message::ToolInput;
use zori_core::question::{Preview, Question, Replaced};
use zori_core::render::Renderer;
use zori_core::tool::ToolOutput;
use zori_redact::Redactor;

/// The renderer of the chat: it hands events on, and the screen draws them when it is their turn.
pub struct Feed {
    events: UnboundedSender<Event>,
    redactor: Redactor,
}

impl Feed {
    /// Returns where events go in, and where they come out.
    pub fn channel() -> (UnboundedSender<Event>, UnboundedReceiver<Event>) {
        unbounded_channel()
    }

    /// Returns a renderer that feeds the screen.
    pub fn new(events: &UnboundedSender<Event>, redactor: Redactor) -> Self {
        Self { events: events.clone(), redactor }
    }
}

impl Renderer for Feed {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        // When the screen is gone, the session ends with it.
        let _ = self.events.send(shown_event(&self.redactor, event));
        Ok(())
    }
}

/// Returns an event as it may be shown; the assistant's own words stay as they are.
pub fn shown_event(redactor: &Redactor, event: &Event) -> Event {
    let mut event = event.clone();
    match &mut event.kind {
        EventKind::Tool(ToolEvent::ToolRequested(requested)) => {
            if let ToolInput::Json(json) = &requested.call.input
                && let Some(shown) = redacted_json(redactor, json.get())
            {
                requested.call.input = ToolInput::Json(shown);
            }
        }
        EventKind::Tool(ToolEvent::ToolChanged { input, .. }) => {
            if let Some(shown) = redacted_json(redactor, input.get()) {
                *input = shown.into();
            }
        }
        EventKind::Tool(ToolEvent::ToolOutputDelta { text, .. }) => redact(redactor, text),
        EventKind::Tool(ToolEvent::ToolFinished(finished)) => output(redactor, &mut finished.output),
        EventKind::Notice(notice) => redact(redactor, &mut notice.text),
        _ => {}
    }
    event
}

/// Returns a question as it may be shown: without secrets, but with everything beside them. What is approved is the call itself.
pub fn shown_question(redactor: &Redactor, question: &Question) -> Question {
    let mut question = question.clone();
    let rules = question.grants.iter_mut().flat_map(|grant| &mut grant.rules);
    rules.chain(&mut question.explanation).for_each(|line| hide(redactor, line));
    match &mut question.preview {
        Preview::Input(input) => hide(redactor, input),
        Preview::Command { command, .. } => hide(redactor, command),
        Preview::Changes(files) => {
            for file in files {
                hide(redactor, &mut file.diff);
                let texts = file.replaced.as_mut().map(|Replaced { old, new }| [old, new]);
                texts.into_iter().flatten().for_each(|text| hide(redactor, text));
            }
        }
        Preview::Choices(choices) => {
            for choice in choices {
                hide(redactor, &mut choice.question);
                choice.header.iter_mut().for_each(|header| hide(redactor, header));
                for option in &mut choice.options {
                    hide(redactor, &mut option.label);
                    option.description.iter_mut().for_each(|about| hide(redactor, about));
                }
            }
        }
        Preview::Fails { input, why } => {
            hide(redactor, input);
            hide(redactor, why);
        }
    }
    question
}

/// Returns a result as it may be shown.
pub fn shown_output(redactor: &Redactor, mut shown: ToolOutput) -> ToolOutput {
    output(redactor, &mut shown);
    shown
}

fn output(redactor: &Redactor, output: &mut ToolOutput) {
    if let Some(shown) = redacted_json(redactor, output.envelope.get()) {
        output.envelope = shown.into();
    }
    if let Some(failure) = &mut output.failure {
        redact(redactor, &mut failure.message);
    }
    let replace = |text: &mut Option<Arc<str>>| {
        if let Some(shown) = text.as_deref().and_then(|text| taken_out(redactor, text)) {
            *text = Some(shown.into());
        }
    };
    replace(&mut output.text);
    for change in &mut output.changes {
        replace(&mut change.before);
        replace(&mut change.after);
    }
}

fn redact(redactor: &Redactor, text: &mut String) {
    if let Some(shown) = taken_out(redactor, text) {
        *text = shown;
    }
}

/// Takes the secrets out of a text that somebody is asked about.
fn hide(redactor: &Redactor, text: &mut String) {
    if let Cow::Owned(shown) = redactor.redact_words(text) {
        *text = shown;
    }
}

/// Returns the text without what must not be shown; `None` if there is nothing to take out.
fn taken_out(redactor: &Redactor, text: &str) -> Option<String> {
    match redactor.redact(text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(shown) => Some(shown),
    }
}

/// Returns JSON without what must not be shown; `None` if there is nothing to take out. What would no longer be JSON is left out whole.
fn redacted_json(redactor: &Redactor, json: &str) -> Option<Box<RawValue>> {
    let shown = taken_out(redactor, json)?;
    // String by string: one that has a secret at its end would take the end of the text along.
    let raw = serde_json::from_str::<&RawValue>(json).ok();
    if let Some(object) = raw.and_then(|raw| redactor.redact_object(raw)) {
        return Some(object.into_owned());
    }
    let whole = || RawValue::from_string("\"[REDACTED]\"".to_owned()).expect("a string is JSON");
    Some(RawValue::from_string(shown).unwrap_or_else(|_| whole()))
}

#[cfg(test)]
mod tests {
    use zori_core::question::{Choice, ChoiceOption, FileAction, FileDiff, Grant, GrantScope};

    use super::*;

    /// SCR-3: nothing of a question shows a secret: neither what would run or change, nor the rules that are offered for it.
    #[test]
    fn a_question_without_secrets() {
        let key = format!("sk-ant-{}", "a".repeat(40));
        let grant = |rule: String| Grant {
            rules: vec![rule],
            words: "these words".to_owned(),
            scope: GrantScope::Call,
            past: 0,
        };
        let replaced = Some(Replaced { old: key.clone(), new: format!("new {key}") });
        let file = FileDiff { replaced, ..FileDiff::new("/w/a", FileAction::Change, format!("-{key}\n")) };
        let option = ChoiceOption { label: format!("use {key}"), description: Some(format!("it is {key}")) };
        let choice = Choice {
            question: format!("{key}?"),
            header: Some(key.clone()),
            options: vec![option],
            multiple: false,
            secret: false,
            form: None,
        };
        for preview in [
            Preview::Input(format!("{{\"key\":\"{key}\"}}")),
            Preview::Command { command: format!("echo {key}"), cwd: "/w".into(), sandbox: None },
            Preview::Changes(vec![file]),
            Preview::Choices(vec![choice]),
            Preview::Fails { input: key.clone(), why: key.clone() },
        ] {
            let question = Question {
                tool: "t".to_owned(),
                preview,
                grants: vec![grant(format!("Bash(echo {key})")), grant("Bash(echo:*)".to_owned())],
                explanation: vec![format!("no rule covers {key}")],
            };
            let shown = shown_question(&Redactor::default(), &question);
            assert!(!format!("{shown:?}").contains(&key), "{shown:?}");
            assert_eq!(shown.grants[1], question.grants[1]);
        }
    }

    #[test]
    fn json_stays_json() {
        let redactor = Redactor::default();
        let key = format!("sk-ant-{}", "a".repeat(40));
        let shown = redacted_json(&redactor, &format!(r#"{{"command":"echo {key}"}}"#))
            .expect("something is taken out");
        assert_eq!(shown.get(), r#"{"command":"echo [REDACTED]"}"#);
        let header = r#"{"command":"curl -H \"Authorization: Bearer abcdefgh12345678\" x","path":"a"}"#;
        let shown = redacted_json(&redactor, header).expect("something is taken out");
        assert_eq!(shown.get(), r#"{"command":"curl -H \"Authorization: [REDACTED]","path":"a"}"#);
        assert!(redacted_json(&redactor, "{}").is_none());
    }
}
