//! The live feed (UI-4): what happened, a line each, the newest last. It has a bound, so that a long session does not make it grow.

use std::collections::{HashMap, VecDeque};

use zori_core::event::{
    CALL_REASON, DecidedBy, Event, EventKind, MessageEvent, PROVIDER_STATUS, SessionEvent, StateEvent,
    ToolEvent, ToolRequested, TurnEvent,
};
use zori_core::ids::CallId;
use zori_core::outcome::Outcome;
use zori_core::permission::Verdict;
use zori_core::time::Timestamp;

use crate::cell::Cell as _;
use crate::cells::ToolCell;
use crate::row::{Role, Row, Span};
use crate::wrap;

/// How many lines are kept.
pub const MOST: usize = 500;
/// How long a line is at most.
const LONGEST: usize = 160;
/// How wide the tag is.
const TAG: usize = 9;
/// How many calls that never ended are remembered.
const MOST_CALLS: usize = 64;

/// Who or what a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    User,
    Status,
    Thinking,
    Agent,
    Tool,
    Approval,
    System,
    Event,
}

impl Tag {
    fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Status => "status",
            Self::Thinking => "thinking",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Approval => "approval",
            Self::System => "system",
            Self::Event => "event",
        }
    }

    fn role(self) -> Role {
        match self {
            Self::User => Role::Primary,
            Self::Status | Self::Event => Role::Muted,
            Self::Thinking => Role::Secondary,
            Self::Agent => Role::Text,
            Self::Tool => Role::Accent,
            Self::Approval => Role::Warning,
            Self::System => Role::Error,
        }
    }
}

/// The newest lines, and what of the next one has come.
#[derive(Debug, Default)]
pub struct Feed {
    lines: VecDeque<Line>,
    /// When the event came that is being told.
    at: Option<Timestamp>,
    answer: String,
    thought: String,
    /// Calls that run, as the line about their end is told.
    calls: HashMap<CallId, String>,
    /// The last call that began, in a few words.
    last_tool: Option<String>,
}

#[derive(Debug)]
struct Line {
    at: Option<Timestamp>,
    tag: Tag,
    words: String,
}

impl Feed {
    /// Adds a line.
    pub fn add(&mut self, tag: Tag, words: &str) {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            return;
        }
        let words: String = match words.chars().count() > LONGEST {
            true => words.chars().take(LONGEST - 1).chain(['…']).collect(),
            false => words,
        };
        if self.lines.len() == MOST {
            self.lines.pop_front();
        }
        self.lines.push_back(Line { at: self.at, tag, words });
    }

    /// Returns how many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether nothing has happened.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the call that began last.
    pub fn last_tool(&self) -> Option<&str> {
        self.last_tool.as_deref()
    }

    /// Takes an event of the session.
    pub fn event(&mut self, event: &Event) {
        self.at = Some(event.at);
        if event.parent.is_some() {
            return self.nested(event);
        }
        match &event.kind {
            EventKind::Turn(turn) => self.turn(turn),
            EventKind::Message(message) => self.message(message),
            EventKind::Tool(call) => self.call(call),
            EventKind::State(change) => match change {
                StateEvent::ModelChanged { model } => self.add(Tag::Status, &format!("model {model}")),
                StateEvent::ModeChanged { from, to } => self.add(Tag::Status, &format!("mode {from} → {to}")),
                StateEvent::ContextCompacted(compaction) => self.add(Tag::Status, &compaction.words()),
                StateEvent::TodosChanged { .. }
                | StateEvent::FilesChanged(_)
                | StateEvent::FilesRewound(_) => {}
            },
            EventKind::Notice(notice) if [PROVIDER_STATUS, CALL_REASON].contains(&notice.code) => {
                self.add(Tag::Status, &notice.text);
            }
            EventKind::Notice(notice) => self.add(Tag::System, &notice.text),
            EventKind::Session(_) => {}
        }
    }

    fn turn(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::TurnStarted { prompt, scheduled: None, .. } => self.add(Tag::User, prompt),
            TurnEvent::TurnStarted { prompt, scheduled: Some(job), .. } => {
                self.add(Tag::User, &format!("scheduled job `{job}`: {prompt}"));
            }
            TurnEvent::Steered { text } => self.add(Tag::User, text),
            TurnEvent::HookContext { event, .. } => self.add(Tag::Event, &format!("hook {event:?}")),
            TurnEvent::Interrupted => self.flush(),
            TurnEvent::Error { failure } => {
                self.flush();
                self.add(Tag::System, &failure.message);
            }
            TurnEvent::TurnFinished(summary) => {
                self.flush();
                let how = match summary.outcome {
                    Outcome::Completed(_) => "done",
                    Outcome::Cancelled(_) => "stopped",
                    _ => "failed",
                };
                self.add(Tag::Status, &format!("{how} after {}s", summary.duration.as_secs()));
            }
        }
    }

    fn message(&mut self, event: &MessageEvent) {
        match event {
            MessageEvent::RequestStarted => self.add(Tag::Status, "waiting for the model"),
            MessageEvent::Retrying { attempt, max, failure, .. } => {
                self.add(Tag::Status, &format!("retry {attempt} of {max}: {}", failure.message));
            }
            MessageEvent::AssistantDelta { text } => {
                self.end_thought();
                collect(&mut self.answer, text);
            }
            MessageEvent::ThinkingDelta { text } => collect(&mut self.thought, text),
            MessageEvent::BlockFinished | MessageEvent::MessageFinished(_) => self.flush(),
            MessageEvent::MessageStarted { .. }
            | MessageEvent::ThinkingSigned { .. }
            | MessageEvent::ToolInputDelta { .. }
            | MessageEvent::AssistantFinal { .. } => {}
        }
    }

    fn call(&mut self, event: &ToolEvent) {
        match event {
            ToolEvent::ToolRequested(requested) => {
                self.flush();
                let words = short(requested);
                if self.calls.len() < MOST_CALLS {
                    self.calls.insert(requested.call.id.clone(), words.clone());
                }
                self.last_tool = Some(words);
            }
            ToolEvent::ApprovalResolved { call, decision, by } => {
                let who = match by {
                    DecidedBy::User => "you",
                    DecidedBy::Policy => "the rules",
                    DecidedBy::Cancelled => "nobody",
                };
                let verdict = if decision.verdict == Verdict::Deny { "rejected" } else { "approved" };
                let words = self.calls.get(call).cloned().unwrap_or_default();
                self.add(Tag::Approval, &format!("{words}: {verdict} by {who}"));
            }
            ToolEvent::ToolFinished(finished) => {
                let words = self.calls.remove(&finished.call).unwrap_or_else(|| finished.name.to_string());
                let end = match (&finished.output.process, &finished.output.failure) {
                    (Some(process), _) => format!(" exit {}", process.exit_code),
                    (None, Some(failure)) => format!(": {}", failure.message),
                    (None, None) => String::new(),
                };
                self.add(Tag::Tool, &format!("{words}{end}"));
            }
            ToolEvent::ToolChanged { .. }
            | ToolEvent::ApprovalRequested { .. }
            | ToolEvent::ToolStarted { .. }
            | ToolEvent::ToolOutputDelta { .. } => {}
        }
    }

    /// What a sub-agent does is told in short.
    fn nested(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Session(SessionEvent::AgentStarted(_)) => self.add(Tag::Event, "a sub-agent begins"),
            EventKind::Tool(ToolEvent::ToolRequested(requested)) => {
                let words = short(requested);
                self.add(Tag::Event, &format!("sub-agent: {words}"));
            }
            _ => {}
        }
    }

    fn end_thought(&mut self) {
        let thought = std::mem::take(&mut self.thought);
        self.add(Tag::Thinking, &thought);
    }

    fn flush(&mut self) {
        self.end_thought();
        let answer = std::mem::take(&mut self.answer);
        self.add(Tag::Agent, &answer);
    }

    /// Returns the newest lines that fit, the newest last. `timestamps`: how far the person's clock is ahead of UTC, where they are shown.
    pub fn rows(&self, width: usize, most: usize, timestamps: Option<i32>) -> Vec<Row> {
        let skipped = self.lines.len().saturating_sub(most);
        let row = |Line { at, tag, words }: &Line| {
            let mut row = Row::empty().with(" ");
            if let (Some(at), Some(ahead)) = (at, timestamps) {
                let local = Timestamp(at.0 + i64::from(ahead));
                row.push(Span::new(format!("{} ", local.time_of_day())).muted());
            }
            row.push(Span::new(format!("{:<TAG$} ", tag.word())).role(tag.role()));
            row.push(words.as_str());
            wrap::truncate(&row, width)
        };
        self.lines.iter().skip(skipped).map(row).collect()
    }
}

/// Returns a call in a row, without the sign before it: the tag says what it is.
fn short(requested: &ToolRequested) -> String {
    let words = ToolCell::new(requested).summary().text();
    words.trim_start_matches(|c: char| !c.is_ascii()).trim_start().to_owned()
}

/// Keeps as much of a text as a line may have.
fn collect(kept: &mut String, text: &str) {
    if kept.len() < 4 * LONGEST {
        kept.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use zori_core::ids::{AgentId, SessionId};

    use super::*;

    /// Ten thousand events, and no more lines than the bound.
    #[test]
    fn it_does_not_grow() {
        let mut feed = Feed::default();
        for number in 0..10_000 {
            feed.add(Tag::Event, &format!("event {number}\nand  more {}", "x".repeat(400)));
        }
        assert_eq!(feed.len(), MOST);
        let rows = feed.rows(60, 2, None);
        assert!(rows[1].text().starts_with(" event     event 9999 and more xxx"), "{}", rows[1].text());
        assert!(feed.lines.iter().all(|line| line.words.chars().count() <= LONGEST));
    }

    /// UI-4: the person's time of day, where it is asked for.
    #[test]
    fn times() {
        let mut feed = Feed::default();
        let at = |at| Event {
            seq: 1,
            at: Timestamp(at),
            session: SessionId::parse("s").unwrap(),
            agent: AgentId::MAIN,
            parent: None,
            kind: EventKind::Message(MessageEvent::RequestStarted),
        };
        feed.event(&at(86_399));
        feed.event(&at(86_400));
        let shown =
            |timestamps| feed.rows(60, 9, timestamps).iter().map(|row| row.text()).collect::<Vec<_>>();
        let plain = " status    waiting for the model";
        assert_eq!(shown(None), [plain, plain]);
        assert_eq!(
            shown(Some(0)),
            [" 23:59:59 status    waiting for the model", " 00:00:00 status    waiting for the model"]
        );
        assert_eq!(shown(Some(-3600))[1], " 23:00:00 status    waiting for the model");
    }
}
