//! What the line chat shows of the conversation (ACC-1): the cells of the screen as rows that are only appended. Answers go to standard output,
//! everything else to standard error (OUT-1).

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::termios::tcgetwinsize;
use zori_contract::failure::Failure;
use zori_core::event::{DecidedBy, Event, EventKind, MessageEvent, ToolEvent};
use zori_core::render::Renderer;
use zori_host::SessionSettings;
use zori_redact::Redactor;
use zori_tui::ascii;
use zori_tui::cell::Signs;
use zori_tui::plain::PlainChat;
use zori_tui::row::Row;
use zori_tui::state::{Facts, Options, Size, State};
use zori_tui::terminal::inline::{Commit, Voice};
use zori_tui::terminal::paint::{self, Links};
use zori_tui::theme::Paint;
use zori_tui::update::{Effect, Msg};

use crate::frontend;
use crate::plain::{Parts, PlainSession};
use crate::screen::{self, Look};
use zori_setup::agent_cx::AgentCx;
use zori_setup::environment::Environment;
use zori_setup::terminal;

/// The width of a terminal that does not tell its own.
const COLUMNS: u16 = 80;

/// The cells of a line chat. The renderer of its session adds to them, the chat asks for them.
#[derive(Clone)]
pub struct Cells(Arc<Mutex<Shown>>);

struct Shown {
    chat: PlainChat,
    answers: PaintedStream,
    words: PaintedStream,
    look: Option<Look>,
    env: Environment,
    began: Instant,
    /// The line in which a turn was stopped is over.
    line_ended: bool,
}

/// A stream, and what its rows are painted with.
struct PaintedStream {
    stream: Box<dyn Write + Send>,
    painted: bool,
}

impl Cells {
    /// Opens the two streams. The state is that of nothing until [`begin`](Self::begin).
    pub fn new(cx: &AgentCx<'_>, line_keys: &'static str) -> Result<Self, Failure> {
        let (colour, at) = (cx.terminal.colour, cx.terminal);
        let stdout: File = terminal::stdout()?;
        let answers = PaintedStream { stream: Box::new(stdout), painted: colour && at.stdout };
        let words = PaintedStream { stream: frontend::words(cx)?, painted: colour && at.stderr };
        let state = State::new(size(), Options::default(), Facts::default());
        let chat = PlainChat::new(state, line_keys);
        let (env, began) = (cx.app.env.clone(), Instant::now());
        Ok(Self(Arc::new(Mutex::new(Shown {
            chat,
            answers,
            words,
            look: None,
            env,
            began,
            line_ended: false,
        }))))
    }

    /// Returns what brings the renderer to each session.
    pub fn parts(&self) -> Parts {
        let cells = self.clone();
        Box::new(move |cx: &AgentCx<'_>, settings: &SessionSettings| {
            let mut parts = frontend::screen(cx, settings);
            let redactor = Redactor::new(settings.model.secrets.clone());
            parts.renderers.push(Box::new(CellRenderer { cells: cells.clone(), redactor }));
            Ok(parts)
        })
    }

    /// Takes the settings of the user and the facts of the session; returns what is wrong with the former.
    pub fn begin(&self, cx: &AgentCx<'_>, plain: &PlainSession) -> Vec<String> {
        let (state, look, wrong) = screen::plain_state(cx, plain, size());
        let mut shown = self.lock();
        shown.chat.state = state;
        shown.look = Some(look);
        wrong
    }

    /// Takes something that happened, and writes what it leads to; returns what has to be done.
    pub fn take(&self, msg: Msg<'_>) -> Vec<Effect> {
        let mut shown = self.lock();
        let effects = shown.take(msg);
        shown.write_all();
        effects
    }

    /// Runs a line if it is a command of the chat itself; returns what else has to be done, `None` if it is no such command.
    pub fn command(&self, line: &str) -> Option<Vec<Effect>> {
        let mut shown = self.lock();
        shown.chat.state.size = size();
        let now = shown.began.elapsed();
        let effects = shown.chat.command(now, line);
        shown.write_all();
        effects
    }

    /// Changes or asks the chat, and writes what has come.
    pub fn with<T>(&self, act: impl FnOnce(&mut PlainChat) -> T) -> T {
        let mut shown = self.lock();
        shown.chat.state.now = shown.began.elapsed();
        let result = act(&mut shown.chat);
        shown.write_all();
        result
    }

    /// Takes other colours; returns what is wrong with them.
    pub fn choose_theme(&self, base: Option<&std::path::Path>, name: &str) -> Result<(), String> {
        match &mut self.lock().look {
            Some(look) => look.choose(base, name),
            None => Ok(()),
        }
    }

    /// Ends the line in which a key has stopped the turn, once a turn (OUT-8).
    pub fn end_line(&self) {
        let mut shown = self.lock();
        if !std::mem::replace(&mut shown.line_ended, true) {
            let _ = shown.words.write("\n");
        }
    }

    /// Tells a person who looks elsewhere, by the bell and the command of their own (STA-4).
    pub fn notify(&self, text: &str) {
        let mut shown = self.lock();
        let Some(look) = &shown.look else { return };
        look.run_command(text);
        if look.notifies() && shown.words.painted {
            let _ = shown.words.stream.write_all(b"\x07").and_then(|()| shown.words.stream.flush());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shown {
    fn take(&mut self, msg: Msg<'_>) -> Vec<Effect> {
        self.chat.state.size = size();
        self.line_ended &= !matches!(msg, Msg::TurnOver(_));
        let now = self.began.elapsed();
        self.chat.take(now, msg)
    }

    /// Writes everything; nothing can be done where that fails between turns.
    fn write_all(&mut self) {
        let _ = self.write(|_| true);
    }

    fn write(&mut self, wanted: impl Fn(Voice) -> bool) -> io::Result<()> {
        let ascii = self.chat.state.options.signs == Signs::Ascii;
        let rows = self.chat.drain();
        let paint = self.look.as_ref().map(|look| look.paint_unasked(&self.env));
        let mut written = Ok(());
        for Commit { row, voice } in rows.into_iter().filter(|commit| wanted(commit.voice)) {
            let row = if ascii { ascii::row(row) } else { row };
            let outlet = if voice == Voice::Answer { &mut self.answers } else { &mut self.words };
            let done = outlet.write(&line(&row, paint.as_ref().filter(|_| outlet.painted)));
            // Words that nobody can read do not end a turn; an answer may (OUT-10).
            if voice == Voice::Answer && written.is_ok() {
                written = done;
            }
        }
        written
    }
}

impl PaintedStream {
    fn write(&mut self, line: &str) -> io::Result<()> {
        self.stream.write_all(line.as_bytes()).and_then(|()| self.stream.flush())
    }
}

/// Adds the events of a session to the cells, without what must not be shown.
struct CellRenderer {
    cells: Cells,
    redactor: Redactor,
}

impl CellRenderer {
    /// Writes what has come. What the user said stands on the terminal already.
    fn write(&self) -> io::Result<()> {
        self.cells.lock().write(|voice| !matches!(voice, Voice::Prompt | Voice::User))
    }
}

impl Renderer for CellRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let shown = screen::shown_event(&self.redactor, event);
        if let EventKind::Tool(ToolEvent::ApprovalResolved { by: DecidedBy::Cancelled, .. }) = &event.kind {
            self.cells.end_line();
        }
        let _ = self.cells.lock().take(Msg::Event(&shown));
        match is_delta(&event.kind) {
            true => Ok(()),
            false => self.write(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write()
    }
}

/// Returns a row with its line end, in colours where there are some.
fn line(row: &Row, paint: Option<&Paint>) -> String {
    let mut out = String::new();
    match paint {
        Some(paint) => paint::row(row, paint, Links::Left, &mut out),
        None => out.push_str(&row.text()),
    }
    out.push('\n');
    out
}

/// Returns whether many of these come at once: they are written when no other is due.
fn is_delta(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Message(MessageEvent::AssistantDelta { .. } | MessageEvent::ThinkingDelta { .. })
            | EventKind::Tool(ToolEvent::ToolOutputDelta { .. })
    )
}

/// Returns the size of the terminal, which may change between two rows.
fn size() -> Size {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 => Size { rows: size.ws_row.max(24), columns: size.ws_col },
        _ => Size { rows: 24, columns: COLUMNS },
    }
}
