//! What a GUI says on standard input (`docs/contracts/claude-protocol.md`): prompts, answers to questions, interrupts,
//! modes.
//!
//! Lines are heard while a turn runs. A question is about a call that the GUI was told of; only such a call can be
//! answered, once. Prompts that come during a turn wait for its end.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use zori_core::event::{Event, EventKind, ToolEvent};
use zori_core::ids::CallId;
use zori_core::input::{Approval, Input, Prompt};
use zori_core::outcome::CancelCause;
use zori_frontends::claude::control::{self, Request};
use zori_frontends::claude::input::Line;
use zori_frontends::claude::{FrameWriter, flat};
use zori_host::{Answers, ModeGate, Peer, PeerRequest};
use zori_redact::Redactor;

use crate::{INPUT_ENDED, LATE, Lines, NoticePrinter};

/// What is said about a question that this dialect cannot show.
const NOT_SHOWN: &str = "the GUI's protocol has no way to show this question";
/// So many prompts wait for their turn at most; then nothing more is read, an interrupt included.
const MOST_WAITING: usize = 1000;
/// A prompt that is text may have this many bytes (DECISIONS 22).
const MOST_TEXT: usize = 10 << 20;

const NOBODY: &str = "nobody can be asked: this run takes no `tool_approval`; choose another permission mode";

/// What the GUI's side is made from.
pub struct Parts<L> {
    pub frames: FrameWriter,
    pub redactor: Redactor,
    /// What it says.
    pub lines: L,
    pub gate: ModeGate,
    pub answers: Answers,
    /// How long the GUI may take to answer.
    pub approval_timeout: Option<Duration>,
    /// The way to people.
    pub people: NoticePrinter,
}

/// What there is to do between turns.
pub enum Task {
    /// A turn.
    Prompt(Prompt),
    /// Another permission mode.
    Mode(String),
}

/// What standard input holds; known when its first character is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StdinKind {
    Unknown,
    /// A line each.
    Frames,
    /// One prompt.
    Text,
}

/// The GUI's side of a run.
pub struct GuiPeer<L> {
    frames: FrameWriter,
    redactor: Redactor,
    gate: ModeGate,
    answers: Answers,
    approval_timeout: Option<Duration>,
    people: NoticePrinter,
    lines: L,
    stdin: StdinKind,
    ended: bool,
    waiting: VecDeque<Task>,
    /// What the turn is told next.
    ready: VecDeque<Input>,
    /// The calls without a result, in order. The first one has been told, so that it may be answered for before it is asked
    /// about.
    calls: VecDeque<CallId>,
    /// Those that wait for an answer.
    asked: Vec<Open>,
    /// Those that have one.
    answered: HashSet<CallId>,
    interrupted: bool,
}

/// A call that waits for an answer, and until when.
struct Open {
    call: CallId,
    until: Option<Instant>,
}

impl<L: Lines> GuiPeer<L> {
    /// Returns the GUI's side. Nothing is read yet.
    pub fn new(parts: Parts<L>) -> Self {
        let Parts { frames, redactor, lines, gate, answers, approval_timeout, people } = parts;
        Self {
            people,
            frames,
            redactor,
            gate,
            answers,
            approval_timeout,
            lines,
            stdin: StdinKind::Unknown,
            ended: false,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            calls: VecDeque::new(),
            asked: Vec::new(),
            answered: HashSet::new(),
            interrupted: false,
        }
    }

    /// Waits for the next thing to do; `None` when there is nothing more.
    pub async fn next_task(&mut self) -> Option<Task> {
        loop {
            if let Some(task) = self.waiting.pop_front() {
                return Some(task);
            }
            if self.ended {
                return None;
            }
            match self.lines.next().await {
                Some(line) if self.is_text(&line) => return self.text(line).await,
                // Nothing runs that could be ended, and no question is open.
                Some(line) => {
                    let said = self.line(line);
                    self.interrupted = false;
                    let modes = said.into_iter().filter_map(|input| match input {
                        Input::SetMode(mode) => Some(Task::Mode(mode)),
                        _ => None,
                    });
                    self.waiting.extend(modes);
                }
                None => self.ended = true,
            }
        }
    }

    /// Puts the questions of a turn away. Returns whether the GUI has ended it.
    pub fn turn_over(&mut self) -> bool {
        self.ready.clear();
        self.calls.clear();
        self.asked.clear();
        self.answered.clear();
        std::mem::take(&mut self.interrupted)
    }

    /// Answers open questions, because nobody else will.
    fn unanswered(&mut self, why: &str, which: impl Fn(&Open) -> bool) -> Vec<Input> {
        let over: Vec<Open> = self.asked.extract_if(.., |open| which(open)).collect();
        let refuse = |Open { call, .. }| {
            self.answered.insert(call.clone());
            Input::Approve { call, answer: refusal(why) }
        };
        over.into_iter().map(refuse).collect()
    }

    /// Understands a line. Returns what the turn is told.
    fn line(&mut self, line: Result<String, String>) -> Vec<Input> {
        let parsed = line.and_then(|text| Line::parse(&text));
        let line = match parsed {
            Ok(Some(line)) => line,
            Ok(None) => return Vec::new(),
            Err(why) => {
                self.refuse(&why, "bad_input");
                return Vec::new();
            }
        };
        match line {
            Line::User(user) => {
                user.left_out.iter().for_each(|why| self.people.warn(why));
                match user.prompt.text.trim().is_empty() && user.prompt.images.is_empty() {
                    true => self.refuse("a prompt is empty", "bad_input"),
                    false => self.waiting.push_back(Task::Prompt(user.prompt)),
                }
                Vec::new()
            }
            Line::Interrupt => self.interrupt(),
            Line::SetPermissionMode { mode } => match self.gate.check(&mode) {
                Ok(_) => vec![Input::SetMode(mode)],
                Err(why) => {
                    self.refuse(&why.with_hints(), "bad_mode");
                    Vec::new()
                }
            },
            Line::ToolApproval { id, approved, message } => self.answer(CallId::new(id), approved, message),
            Line::Request { id, request } => self.request(&id, request),
            Line::Response(_) | Line::CancelRequest { .. } | Line::KeepAlive => Vec::new(),
            Line::Other { kind } => {
                let kind = self.redactor.redact(&kind);
                self.people.warn(format!("a line of the unknown type `{}` is ignored", kind.escape_debug()));
                Vec::new()
            }
        }
    }

    fn interrupt(&mut self) -> Vec<Input> {
        self.interrupted = true;
        vec![Input::Cancel(CancelCause::User)]
    }

    /// Answers for a call, if there is one to answer for.
    fn answer(&mut self, call: CallId, approved: bool, message: Option<String>) -> Vec<Input> {
        let waits = self.calls.front() == Some(&call) || self.asked.iter().any(|open| open.call == call);
        if !waits || !self.answered.insert(call.clone()) {
            self.people.warn(format!("no call `{}` waits for an answer", call.as_str().escape_debug()));
            return Vec::new();
        }
        self.asked.retain(|open| open.call != call);
        let answer = match approved {
            // What a GUI says along with a yes is the answer to what the model asked, a line for each question.
            true => match message {
                Some(said) => Approval::answers(said.lines().map(str::to_owned).collect()),
                None => Approval::Allow,
            },
            false => Approval::Reject { reason: message },
        };
        vec![Input::Approve { call, answer }]
    }

    /// Answers a request of the other dialect, because none may stay without an answer.
    fn request(&mut self, id: &str, request: Request) -> Vec<Input> {
        let (error, said) = match request {
            Request::Interrupt => (None, self.interrupt()),
            Request::SetPermissionMode { mode } => match self.gate.check(&mode) {
                Ok(_) => (None, vec![Input::SetMode(mode)]),
                Err(why) => (Some(why.with_hints()), Vec::new()),
            },
            _ => (Some("this request is not known in the flat dialect".to_owned()), Vec::new()),
        };
        // A reader that is gone is found out by whoever looks at the frames.
        let _ = match error {
            None => self.frames.write(&control::success_response(id, None::<()>)),
            Some(error) => self.frames.write(&control::error_response(id, &self.redactor.redact(&error))),
        };
        said
    }

    /// Says what is wrong with a line, to the GUI and to people.
    fn refuse(&mut self, why: &str, code: &str) {
        let why = self.redactor.redact(why).into_owned();
        let _ = flat::error(&self.frames, &why, code);
        self.people.warn(&why);
    }

    /// Finds out by its first character what standard input holds.
    fn is_text(&mut self, line: &Result<String, String>) -> bool {
        if self.stdin == StdinKind::Unknown
            && let Ok(text) = line
        {
            match text.trim_start().chars().next() {
                None => {}
                Some('{') => self.stdin = StdinKind::Frames,
                Some(_) => self.stdin = StdinKind::Text,
            }
        }
        self.stdin == StdinKind::Text
    }

    /// Reads the rest of a prompt that is text.
    async fn text(&mut self, first: Result<String, String>) -> Option<Task> {
        let (mut text, mut line) = (String::new(), Some(first));
        while let Some(part) = line {
            match part {
                Ok(part) if text.len() + part.len() <= MOST_TEXT => text.push_str(&part),
                Ok(_) => {
                    self.refuse(&format!("a prompt has more than {MOST_TEXT} bytes"), "bad_input");
                    self.ended = true;
                    return None;
                }
                Err(why) => {
                    self.refuse(&why, "bad_input");
                    self.ended = true;
                    return None;
                }
            }
            line = self.lines.next().await;
        }
        self.ended = true;
        let text = text.trim();
        (!text.is_empty()).then(|| Task::Prompt(text.into()))
    }
}

impl<L: Lines> Peer for GuiPeer<L> {
    fn ask(&mut self, request: PeerRequest) {
        let PeerRequest::Approval { call, .. } = request;
        // The answer may have come first, and the turn has it.
        if self.answered.contains(&call) {
            return;
        }
        // A form that a server asks for before a turn belongs to no call, so the dialect has no frame that a GUI could know of it by.
        let known = self.calls.contains(&call);
        let why = match self.answers {
            Answers::Client if self.stdin == StdinKind::Frames && !self.ended && !known => NOT_SHOWN,
            Answers::Client if self.stdin == StdinKind::Frames && !self.ended => {
                let until = self.approval_timeout.map(|approval_timeout| Instant::now() + approval_timeout);
                self.asked.push(Open { call, until });
                return;
            }
            Answers::Client if self.stdin == StdinKind::Frames => INPUT_ENDED,
            Answers::Client | Answers::Nobody | Answers::Person | Answers::Yes => NOBODY,
        };
        self.ready.push_back(Input::Approve { call, answer: refusal(why) });
    }

    fn tell(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Tool(ToolEvent::ToolRequested(request)) => {
                self.calls.push_back(request.call.id.clone())
            }
            EventKind::Tool(ToolEvent::ToolFinished(done)) => {
                self.calls.retain(|open| *open != done.call);
                self.asked.retain(|open| open.call != done.call);
            }
            _ => {}
        }
    }

    async fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.ready.pop_front() {
                return input;
            }
            let reads = self.lines.begun() && !self.ended && self.waiting.len() < MOST_WAITING;
            let until = self.asked.iter().filter_map(|open| open.until).min();
            let said = tokio::select! {
                biased;
                line = self.lines.next(), if reads => match line {
                    Some(line) => self.line(line),
                    None => {
                        self.ended = true;
                        self.unanswered(INPUT_ENDED, |_| true)
                    }
                },
                now = after(until) => self.unanswered(LATE, |open| open.until.is_some_and(|until| until <= now)),
            };
            self.ready.extend(said);
        }
    }
}

/// Returns whether the peer has to know of an event: calls may be answered for before they are asked about.
pub fn listens_for(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Tool(ToolEvent::ToolRequested(_) | ToolEvent::ToolFinished(_)))
}

/// Waits until a moment, and returns when that was over; for ever where there is none.
async fn after(until: Option<Instant>) -> Instant {
    match until {
        Some(until) => {
            sleep_until(until).await;
            Instant::now()
        }
        None => std::future::pending().await,
    }
}

fn refusal(why: &str) -> Approval {
    Approval::Refuse { message: why.to_owned(), interrupt: false }
}
