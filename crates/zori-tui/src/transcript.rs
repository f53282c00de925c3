//! The transcript: events to cells, cells to rows that are committed in the order of what happened (TRN-2), and those that still change.

mod commit;
mod file_links;
mod words;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use zori_core::event::{
    Event, EventKind, MessageEvent, NoticeLevel, SessionEvent, StateEvent, ToolEvent, TurnEvent,
};
use zori_core::ids::{AgentId, CallId};

use crate::cell::{Cell, CellCx, Detail, Signs};
use crate::cells::{AnswerCell, ErrorCell, NoticeCell, ThinkingCell, ToolCell, UserCell, compacted};
use crate::markdown::Stream;
use crate::row::Row;
use crate::state::Thinking;

/// Everything that was said and done.
pub struct Transcript {
    signs: Signs,
    entries: Vec<Entry>,
    /// What is not in the scrollback yet, by its place in `entries`, in order.
    open: VecDeque<Open>,
    numbers: u32,
    /// The last answer.
    answer: Option<Arc<str>>,
    /// What kind of thing was committed last, so that different things stand apart.
    last: Option<Group>,
    thinking: Thinking,
    /// What is added goes to the pager only.
    quiet: bool,
    /// What was committed, in that order, by its place in `entries`.
    order: Vec<usize>,
    /// Nothing more comes of the turn.
    settled: bool,
    /// What the sub-agents are called.
    agents: Vec<(AgentId, String)>,
    /// The folder that relative paths are below, where files are to be linked.
    root: Option<String>,
    /// Whether the times of running calls move by the second (ACC-2).
    motion: bool,
}

/// A cell that is not complete.
pub struct OpenCell<'a> {
    pub number: Option<u32>,
    /// How long it has been running.
    pub running: Option<Duration>,
    cell: OpenContent<'a>,
}

enum OpenContent<'a> {
    There(&'a dyn Cell),
    /// What has come of it so far.
    Made(Box<dyn Cell>),
}

impl OpenCell<'_> {
    pub fn cell(&self) -> &dyn Cell {
        match &self.cell {
            OpenContent::There(cell) => *cell,
            OpenContent::Made(cell) => cell.as_ref(),
        }
    }
}

/// A cell with what people call it.
pub struct Entry {
    pub number: Option<u32>,
    pub cell: Box<dyn Cell + Send>,
    group: Group,
    /// It is in the pager only.
    hidden: bool,
    /// It is in the order of what was committed.
    committed: bool,
}

/// Cells of one group stand without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    User,
    Answer,
    Tools,
    Notice,
    /// It stands apart from all others.
    Beside,
}

/// Something that is not in the scrollback yet.
enum Open {
    /// It is what it is.
    Done(usize),
    Answer {
        stream: Box<Stream>,
        text: String,
        done: bool,
        begun: bool,
    },
    Thinking {
        text: String,
        number: u32,
        started: Duration,
        done: Option<Duration>,
    },
    Tool {
        cell: Box<ToolCell>,
        number: u32,
        started: Option<Duration>,
        done: bool,
        /// The user's own, which runs beside the turn.
        own: bool,
    },
}

impl Open {
    fn is_own(&self) -> bool {
        matches!(self, Self::Tool { own: true, .. })
    }
}

impl Entry {
    /// Returns all it says as text, for the clipboard and the model.
    pub fn text(&self, signs: Signs) -> String {
        text(self.cell.as_ref(), signs)
    }
}

fn text(cell: &dyn Cell, signs: Signs) -> String {
    let cx = CellCx { number: None, detail: Detail::Whole, running: None, signs };
    cell.rows(u16::MAX, &cx).iter().map(Row::text).collect::<Vec<_>>().join("\n")
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transcript({} cells, {} open)", self.entries.len(), self.open.len())
    }
}

impl Transcript {
    /// Returns an empty transcript.
    pub fn new(signs: Signs, thinking: Thinking) -> Self {
        Self {
            signs,
            entries: Vec::new(),
            open: VecDeque::new(),
            numbers: 0,
            answer: None,
            last: None,
            thinking,
            quiet: false,
            order: Vec::new(),
            settled: false,
            agents: Vec::new(),
            root: None,
            motion: true,
        }
    }

    /// Has the times of running calls stand still for ten seconds.
    pub fn set_still(&mut self) {
        self.motion = false;
    }

    /// Has `src/main.rs:14` become a link to the file below this folder (MD-1).
    pub fn link_files(&mut self, root: &str) {
        self.root = Some(root.to_owned());
    }

    /// Returns what a sub-agent is called; `None` for the one that people talk to.
    pub fn agent(&self, agent: AgentId) -> Option<&str> {
        self.agents.iter().find(|(known, _)| *known == agent).map(|(_, name)| name.as_str())
    }

    /// Has what is added from now on stand in the pager only, because it is above already or too much to show.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Returns all cells that are complete, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the cell with a number.
    pub fn numbered(&self, number: u32) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.number == Some(number))
    }

    /// Returns whether a cell has this number, be it complete or not.
    pub fn has(&self, number: u32) -> bool {
        let open = |open: &Open| matches!(open, Open::Tool { number: known, .. } if *known == number);
        self.numbered(number).is_some() || self.open.iter().any(open)
    }

    /// Returns all that a cell says as text, as far as it has come.
    pub fn text_of(&self, number: u32, now: Duration) -> Option<String> {
        let text = |cell: &dyn Cell| text(cell, self.signs);
        match self.numbered(number) {
            Some(entry) => Some(text(entry.cell.as_ref())),
            None => {
                let open = self.open_cells(now).find(|open| open.number == Some(number))?;
                Some(text(open.cell()))
            }
        }
    }

    /// Returns what is not complete, or not among the complete cells yet, in order.
    pub fn open_cells(&self, now: Duration) -> impl Iterator<Item = OpenCell<'_>> {
        self.open.iter().filter_map(move |open| match open {
            Open::Done(_) => None,
            Open::Answer { text, .. } if text.is_empty() => None,
            Open::Answer { text, .. } => {
                let cell = OpenContent::Made(Box::new(AnswerCell::new(text.as_str())));
                Some(OpenCell { number: None, running: None, cell })
            }
            Open::Thinking { text, started, .. } => {
                let cell = ThinkingCell::new(text, now.saturating_sub(*started)).shown();
                Some(OpenCell { number: None, running: None, cell: OpenContent::Made(Box::new(cell)) })
            }
            Open::Tool { cell, number, started, done, .. } => {
                let running = started.filter(|_| !done).map(|started| now.saturating_sub(started));
                Some(OpenCell { number: Some(*number), running, cell: OpenContent::There(cell.as_ref()) })
            }
        })
    }

    /// Returns the text of the last answer.
    pub fn last_answer(&self) -> Option<String> {
        self.answer.as_deref().map(str::to_owned)
    }

    /// Adds what the user said.
    pub fn user(&mut self, text: &str) {
        self.settle();
        self.add(Box::new(UserCell::new(text)), None, Group::User);
    }

    /// Adds a prompt, and before it who sent it, where nobody typed it.
    pub fn prompt(&mut self, text: &str, scheduled: Option<&str>) {
        if let Some(job) = scheduled {
            self.settle();
            self.notice(NoticeLevel::Info, &format!("Sent by the scheduled job `{job}`, typed by nobody:"));
        }
        self.user(text);
    }

    /// Adds an answer that is complete.
    pub fn answer(&mut self, text: &str) {
        let text: Arc<str> = text.into();
        self.answer = Some(text.clone());
        self.add(Box::new(AnswerCell::new(text)), None, Group::Answer);
    }

    /// Adds a call that is over.
    pub fn tool(&mut self, cell: ToolCell) {
        let number = self.number();
        self.add(Box::new(cell), Some(number), Group::Tools);
    }

    /// Adds a question beside the conversation and its answer (`/btw`).
    pub fn beside(&mut self, question: &str, answer: &str) {
        let number = self.number();
        let cell = AnswerCell::new(format!("> btw: {question}\n\n{answer}"));
        self.add(Box::new(cell), Some(number), Group::Beside);
    }

    /// Adds a word to the user.
    pub fn notice(&mut self, level: NoticeLevel, text: &str) {
        self.add(Box::new(NoticeCell::new(level, text)), None, Group::Notice);
    }

    /// Adds an error with the ways out of it.
    pub fn error(&mut self, text: &str, ways_out: &[String]) {
        self.failed(text, ways_out, None);
    }

    /// Adds an error with what is behind it, which `/show` has (TRN-5).
    pub fn failed(&mut self, text: &str, ways_out: &[String], details: Option<&str>) {
        self.settle();
        let number = self.number();
        self.add(Box::new(ErrorCell::brief(text, ways_out, details)), Some(number), Group::Notice);
    }

    /// Adds rows that are laid out already.
    pub fn rows(&mut self, rows: Vec<Row>) {
        self.settle();
        self.add(Box::new(words::Words(rows)), None, Group::Notice);
    }

    /// Takes an event of the session.
    pub fn event(&mut self, event: &Event, now: Duration) {
        if let Some(parent) = &event.parent {
            if let EventKind::Session(SessionEvent::AgentStarted(facts)) = &event.kind {
                self.agents.push((event.agent, format!("{}: {}", facts.kind, facts.description)));
            }
            // It may be the sub-agent of a sub-agent.
            let _ = self.open.iter_mut().any(|open| match open {
                Open::Tool { cell, .. } => cell.nested(parent, event),
                _ => false,
            });
            return;
        }
        match &event.kind {
            EventKind::Turn(event) => self.turn(event),
            EventKind::Message(event) => self.message(event, now),
            EventKind::Tool(call) => self.call(call, now, event.agent != AgentId::MAIN),
            EventKind::State(StateEvent::ContextCompacted(compaction)) => {
                self.notice(NoticeLevel::Info, &compacted(compaction));
            }
            EventKind::Notice(notice) => match notice.level {
                // It is told with the end of the turn.
                NoticeLevel::Error => {}
                level => self.notice(level, &notice.text),
            },
            EventKind::State(_) | EventKind::Session(_) => {}
        }
    }

    fn turn(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::TurnStarted { prompt, images, scheduled, .. } => {
                let images: String = images.iter().map(|image| format!(" {image}")).collect();
                self.prompt(&format!("{prompt}{images}"), scheduled.as_deref());
            }
            TurnEvent::Steered { text } => self.user(text),
            TurnEvent::HookContext { .. } | TurnEvent::Interrupted | TurnEvent::Error { .. } => {}
            TurnEvent::TurnFinished(_) => self.settle(),
        }
    }

    fn message(&mut self, event: &MessageEvent, now: Duration) {
        match event {
            MessageEvent::AssistantDelta { text } => {
                if !matches!(self.newest(), Some(Open::Answer { done: false, .. })) {
                    self.end_thinking(now);
                    let stream = Box::new(Stream::default());
                    self.open.push_back(Open::Answer {
                        stream,
                        text: String::new(),
                        done: false,
                        begun: false,
                    });
                }
                if let Some(Open::Answer { stream, text: all, .. }) = self.newest() {
                    stream.push(text);
                    all.push_str(text);
                }
            }
            MessageEvent::ThinkingDelta { text } => {
                if !matches!(self.newest(), Some(Open::Thinking { done: None, .. })) {
                    self.end_answer();
                    let number = self.number();
                    let (text, started, done) = (String::new(), now, None);
                    self.open.push_back(Open::Thinking { text, number, started, done });
                }
                if let Some(Open::Thinking { text: all, .. }) = self.newest() {
                    all.push_str(text);
                }
            }
            MessageEvent::BlockFinished | MessageEvent::MessageFinished(_) => {
                self.end_thinking(now);
                self.end_answer();
            }
            _ => {}
        }
    }

    /// Takes an event of a call. `own`: it is the user's, and the answer that is being written goes on.
    fn call(&mut self, event: &ToolEvent, now: Duration, own: bool) {
        match event {
            ToolEvent::ToolRequested(requested) => {
                if !own {
                    self.end_thinking(now);
                    self.end_answer();
                }
                self.settled = false;
                let number = self.number();
                let cell = Box::new(ToolCell::new(requested));
                self.open.push_back(Open::Tool { cell, number, started: None, done: false, own });
            }
            ToolEvent::ToolChanged { call, input, .. } => {
                if let Some(Open::Tool { cell, .. }) = self.running(call) {
                    cell.changed(input);
                }
            }
            ToolEvent::ApprovalRequested { .. } => {}
            ToolEvent::ApprovalResolved { call, decision, by } => {
                if let Some(Open::Tool { cell, .. }) = self.running(call) {
                    cell.resolved(decision, *by);
                }
            }
            ToolEvent::ToolStarted { call, .. } => {
                if let Some(Open::Tool { started, .. }) = self.running(call) {
                    *started = Some(now);
                }
            }
            ToolEvent::ToolOutputDelta { call, stream, text } => {
                if let Some(Open::Tool { cell, .. }) = self.running(call) {
                    cell.output(*stream, text);
                }
            }
            ToolEvent::ToolFinished(finished) => {
                if let Some(Open::Tool { cell, done, .. }) = self.running(&finished.call) {
                    cell.finished(finished);
                    *done = true;
                }
            }
        }
    }

    /// Takes the words with which the user says no to a call.
    pub fn because(&mut self, call: &CallId, why: &str) {
        if let Some(Open::Tool { cell, .. }) = self.running(call) {
            cell.because(why);
        }
    }

    /// Returns whether rows of an answer were given out that is not complete.
    pub fn is_streaming(&self) -> bool {
        self.open.iter().any(|open| matches!(open, Open::Answer { begun: true, .. }))
    }

    /// Ends whatever of the turn is open.
    pub fn settle(&mut self) {
        self.settle_but(false);
    }

    /// Ends whatever is open, the user's own commands included.
    pub fn settle_all(&mut self) {
        self.settle_but(true);
    }

    fn settle_but(&mut self, all: bool) {
        self.settled = true;
        let now = Duration::MAX;
        for open in &mut self.open {
            match open {
                Open::Tool { own: true, .. } if !all => {}
                Open::Answer { done, .. } | Open::Tool { done, .. } => *done = true,
                Open::Thinking { done, started, .. } => {
                    done.get_or_insert(if now == Duration::MAX { *started } else { now });
                }
                Open::Done(_) => {}
            }
        }
    }

    fn add(&mut self, cell: Box<dyn Cell + Send>, number: Option<u32>, group: Group) {
        self.entries.push(Entry { number, cell, group, hidden: self.quiet, committed: false });
        if self.quiet {
            return;
        }
        self.open.push_back(Open::Done(self.entries.len() - 1));
    }

    fn end_answer(&mut self) {
        if let Some(Open::Answer { done, .. }) = self.newest() {
            *done = true;
        }
    }

    fn end_thinking(&mut self, now: Duration) {
        if let Some(Open::Thinking { done, .. }) = self.newest() {
            done.get_or_insert(now);
        }
    }

    /// Returns what the turn added last. A word to the user in between parts no answer.
    fn newest(&mut self) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| !open.is_own() && !matches!(open, Open::Done(_)))
    }

    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    fn running(&mut self, call: &CallId) -> Option<&mut Open> {
        self.open.iter_mut().find(|open| matches!(open, Open::Tool { cell, .. } if cell.call() == call))
    }
}
