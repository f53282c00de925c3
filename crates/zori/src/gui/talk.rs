//! What a GUI says on standard input (`stream-json.md` chapter 6): prompts, answers to questions, interrupts, modes.
//!
//! Lines are heard while a turn runs. A question is about a call that the GUI was told of; only such a call can be
//! answered, once. Prompts that come during a turn wait for its end.

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::io;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use zori_core::event::{Event, EventKind};
use zori_core::ids::CallId;
use zori_core::input::{Approval, Input, Prompt};
use zori_core::outcome::CancelCause;
use zori_core::render::Renderer;
use zori_frontends::claude::control::{self, Request};
use zori_frontends::claude::input::Line;
use zori_frontends::claude::{Frames, flat};
use zori_redact::Redactor;

use crate::asking::{Answers, LATE};
use crate::mode_gate::ModeGate;
use crate::stdin::{self, Lines};
use crate::ui::Ui;
use crate::workers::Workers;

/// So many prompts wait for their turn at most; then nothing more is read, an interrupt included.
const MOST_WAITING: usize = 1000;
/// A prompt that is text may have this many bytes (DECISIONS 22).
const MOST_TEXT: usize = 10 << 20;

const NOBODY: &str = "nobody can be asked: this run takes no `tool_approval`; choose another permission mode";
const GONE: &str = "standard input has ended, so nobody can answer";

/// What talk is made from.
pub(super) struct Parts {
    pub(super) frames: Frames,
    pub(super) redactor: Redactor,
    pub(super) workers: Workers,
    pub(super) gate: ModeGate,
    pub(super) answers: Answers,
    /// How long the GUI may take to answer.
    pub(super) patience: Option<Duration>,
    pub(super) quiet: bool,
}

/// What there is to do between turns.
pub(super) enum Heard {
    /// A turn.
    Prompt(Prompt),
    /// Another permission mode.
    Mode(String),
}

/// What standard input holds; known when its first character is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Unknown,
    /// A line each.
    Frames,
    /// One prompt.
    Text,
}

/// The GUI's side of a run.
pub(super) struct Talk {
    frames: Frames,
    redactor: Redactor,
    gate: ModeGate,
    answers: Answers,
    patience: Option<Duration>,
    ui: Ui,
    lines: Lines,
    holds: Holds,
    ended: bool,
    waiting: VecDeque<Heard>,
    told: mpsc::UnboundedReceiver<Told>,
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

/// What became of a call.
enum Told {
    Requested(CallId),
    Asked(CallId),
    Finished(CallId),
}

/// Takes the calls off the stream of events.
pub(super) struct Questions(mpsc::UnboundedSender<Told>);

impl Renderer for Questions {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let told = match &event.kind {
            EventKind::ToolRequested(request) => Told::Requested(request.call.id.clone()),
            EventKind::ApprovalRequested { call, .. } => Told::Asked(call.clone()),
            EventKind::ToolFinished(done) => Told::Finished(done.call.clone()),
            _ => return Ok(()),
        };
        // When nobody listens any more, the session is over.
        let _ = self.0.send(told);
        Ok(())
    }
}

impl Talk {
    /// Returns the GUI's side, and what hears of calls for it. Nothing is read yet.
    pub(super) fn new(parts: Parts) -> (Self, Questions) {
        let Parts { frames, redactor, workers, gate, answers, patience, quiet } = parts;
        let (sender, told) = mpsc::unbounded_channel();
        let talk = Self {
            frames,
            redactor,
            gate,
            answers,
            patience,
            ui: if quiet { Ui::silent() } else { Ui::standard() },
            lines: Lines::new(workers),
            holds: Holds::Unknown,
            ended: false,
            waiting: VecDeque::new(),
            told,
            calls: VecDeque::new(),
            asked: Vec::new(),
            answered: HashSet::new(),
            interrupted: false,
        };
        (talk, Questions(sender))
    }

    /// Returns whether standard input had lines of the protocol.
    pub(super) fn spoke_frames(&self) -> bool {
        self.holds == Holds::Frames
    }

    /// Waits for the next thing to do; `None` when there is nothing more.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some(heard) = self.waiting.pop_front() {
                return Some(heard);
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
                        Input::SetMode(mode) => Some(Heard::Mode(mode)),
                        _ => None,
                    });
                    self.waiting.extend(modes);
                }
                None => self.ended = true,
            }
        }
    }

    /// Listens while a turn runs, until it is dropped with the turn.
    pub(super) async fn listen(&mut self, inputs: &mpsc::Sender<Input>) -> Infallible {
        loop {
            let reads = self.lines.begun() && !self.ended && self.waiting.len() < MOST_WAITING;
            let until = self.asked.iter().filter_map(|open| open.until).min();
            let said = tokio::select! {
                // A question comes before its answer.
                biased;
                told = self.told.recv() => match told {
                    Some(told) => self.note(told),
                    None => std::future::pending().await,
                },
                line = self.lines.next(), if reads => match line {
                    Some(line) => self.line(line),
                    None => {
                        self.ended = true;
                        self.unanswered(GONE, |_| true)
                    }
                },
                now = after(until) => self.unanswered(LATE, |open| open.until.is_some_and(|until| until <= now)),
            };
            for input in said {
                // The turn holds the other end for as long as this is polled.
                let _ = inputs.send(input).await;
            }
        }
    }

    /// Puts the questions of a turn away. Returns whether the GUI has ended it.
    pub(super) fn turn_over(&mut self) -> bool {
        while self.told.try_recv().is_ok() {}
        self.calls.clear();
        self.asked.clear();
        self.answered.clear();
        std::mem::take(&mut self.interrupted)
    }

    /// Takes down what became of a call.
    fn note(&mut self, told: Told) -> Vec<Input> {
        match told {
            Told::Requested(call) => {
                self.calls.push_back(call);
                Vec::new()
            }
            Told::Finished(call) => {
                self.calls.retain(|open| *open != call);
                self.asked.retain(|open| open.call != call);
                Vec::new()
            }
            // The answer came first, and the turn has it.
            Told::Asked(call) if self.answered.contains(&call) => Vec::new(),
            Told::Asked(call) => {
                let answer = match self.answers {
                    Answers::Yes => Approval::Allow,
                    Answers::Client if self.holds == Holds::Frames && !self.ended => {
                        let until = self.patience.map(|patience| Instant::now() + patience);
                        self.asked.push(Open { call, until });
                        return Vec::new();
                    }
                    Answers::Client if self.holds == Holds::Frames => refusal(GONE),
                    Answers::Client | Answers::Nobody | Answers::Person => refusal(NOBODY),
                };
                vec![Input::Approve { call, answer }]
            }
        }
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
    fn line(&mut self, line: stdin::Line) -> Vec<Input> {
        let parsed = line.text().and_then(|text| Line::parse(&text));
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
                user.left_out.iter().for_each(|why| self.ui.warn(why));
                match user.prompt.text.trim().is_empty() && user.prompt.images.is_empty() {
                    true => self.refuse("a prompt is empty", "bad_input"),
                    false => self.waiting.push_back(Heard::Prompt(user.prompt)),
                }
                Vec::new()
            }
            Line::Interrupt => self.interrupt(),
            Line::SetPermissionMode { mode } => match self.gate.check(&mode) {
                Ok(_) => vec![Input::SetMode(mode)],
                Err(why) => {
                    self.refuse(&why, "bad_mode");
                    Vec::new()
                }
            },
            Line::ToolApproval { id, approved, message } => self.answer(CallId::new(id), approved, message),
            Line::Request { id, request } => self.request(&id, request),
            Line::Response(_) | Line::CancelRequest { .. } | Line::KeepAlive => Vec::new(),
            Line::Other { kind } => {
                let kind = self.redactor.redact(&kind);
                self.ui.warn(&format!("a line of the unknown type `{}` is ignored", kind.escape_debug()));
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
            self.ui.warn(&format!("no call `{}` waits for an answer", call.as_str().escape_debug()));
            return Vec::new();
        }
        self.asked.retain(|open| open.call != call);
        let answer = match approved {
            true => Approval::Allow,
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
                Err(why) => (Some(why), Vec::new()),
            },
            _ => (Some("this request is not known in the flat dialect".to_owned()), Vec::new()),
        };
        // A reader that is gone is found out by whoever looks at the frames.
        let _ = match error {
            None => self.frames.write(&control::success(id, None::<()>)),
            Some(error) => self.frames.write(&control::refusal(id, &self.redactor.redact(&error))),
        };
        said
    }

    /// Says what is wrong with a line, to the GUI and to people.
    fn refuse(&mut self, why: &str, code: &str) {
        let why = self.redactor.redact(why).into_owned();
        let _ = flat::error(&self.frames, &why, code);
        self.ui.warn(&why);
    }

    /// Finds out by its first character what standard input holds.
    fn is_text(&mut self, line: &stdin::Line) -> bool {
        if self.holds == Holds::Unknown
            && let stdin::Line::Text(text) = line
        {
            match text.trim_start().chars().next() {
                None => {}
                Some('{') => self.holds = Holds::Frames,
                Some(_) => self.holds = Holds::Text,
            }
        }
        self.holds == Holds::Text
    }

    /// Reads the rest of a prompt that is text.
    async fn text(&mut self, first: stdin::Line) -> Option<Heard> {
        let (mut text, mut line) = (String::new(), Some(first));
        while let Some(part) = line {
            match part.text() {
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
        (!text.is_empty()).then(|| Heard::Prompt(text.into()))
    }
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
