//! The chat on the terminal: what comes in changes the state, and what changed is drawn (CRT-1).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use zori_core::event::Event;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_tools::process::heap;
use zori_tui::cell::Signs;
use zori_tui::panel::{self, Panel};
use zori_tui::row::Row;
use zori_tui::state::State;
use zori_tui::terminal::decode::{Answer, Decoder, TermEvent};
use zori_tui::terminal::inline::{Brush, Commit, Inline};
use zori_tui::terminal::screen::Screen as WholeScreen;
use zori_tui::terminal::{modes, paint, probe};
use zori_tui::theme::{Paint, Theme};
use zori_tui::update::{self, Effect, Msg};
use zori_tui::{ascii, chat};

use super::tty::{Read, Tty};

/// What changes by itself is drawn so often at most (PERF-10).
const FRAME: Duration = Duration::from_millis(33);
/// How long an escape may stand alone before it is the key.
const ESCAPE: Duration = Duration::from_millis(30);
/// The same while the terminal still owes answers, which begin with one.
const ESCAPE_DUE: Duration = Duration::from_millis(120);
/// The same for an escape with a bracket, which a slow line may have cut.
const ESCAPE_HALF: Duration = Duration::from_millis(300);
/// How long a resize has to be over before anything is drawn (UI-32).
const SETTLED: Duration = Duration::from_millis(30);

/// The chat on its terminal.
pub struct Display {
    pub state: State,
    pub tty: Tty,
    pub terminal: probe::Terminal,
    pub paint: Paint,
    decoder: Decoder,
    inline: Inline,
    /// The panel, where that is the layout.
    pub face: Option<Face>,
    pub events: UnboundedReceiver<Event>,
    began: Instant,
    /// When the last frame was drawn.
    drawn: Option<Instant>,
    dirty: Dirty,
    /// A turn is over; what it needed goes back behind the frame that shows so.
    gives_back: bool,
    escape: Option<Instant>,
    resized: Option<Instant>,
    pager_shown: bool,
    /// Another program has the terminal.
    lent: bool,
    /// The title of the window, as it was set last, and whether it is set at all.
    title: String,
    pub titled: bool,
    /// What the running turn is told.
    pub inputs: VecDeque<Input>,
    /// What the driver has to do.
    pub effects: VecDeque<Effect>,
    /// The terminal is gone.
    pub gone: bool,
    /// Signals that end the program.
    pub signals: UnboundedReceiver<i32>,
    pub ending: Option<i32>,
    /// The turn that runs is not waited for any longer.
    pub given_up: Arc<Notify>,
    /// A test wants to see what a defect in the view does, or a turn that does not hear of its end; never in a release.
    pub panics: bool,
    pub deaf: bool,
}

/// The panel, and the screen it is drawn on.
pub struct Face {
    pub panel: Panel,
    screen: WholeScreen,
}

/// Whether something has to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dirty {
    No,
    /// With the next frame.
    Soon,
    Now,
}

impl Display {
    /// Puts the chat on the terminal; the first frame is drawn with the first wait.
    pub fn new(
        state: State,
        mut tty: Tty,
        terminal: probe::Terminal,
        paint: Paint,
        events: UnboundedReceiver<Event>,
        signals: UnboundedReceiver<i32>,
    ) -> Self {
        let mut decoder = Decoder::default();
        decoder.expect_answers(probe::ANSWERS);
        tty.write(probe::QUESTIONS);
        Self {
            state,
            tty,
            terminal,
            paint,
            decoder,
            inline: Inline::default(),
            face: None,
            events,
            began: Instant::now(),
            drawn: None,
            dirty: Dirty::Now,
            gives_back: false,
            escape: None,
            resized: None,
            pager_shown: false,
            lent: false,
            title: String::new(),
            titled: true,
            inputs: VecDeque::new(),
            effects: VecDeque::new(),
            gone: false,
            signals,
            ending: None,
            given_up: Arc::new(Notify::new()),
            panics: false,
            deaf: false,
        }
    }

    /// Shows the panel from now on, on the other screen.
    pub fn use_panel(&mut self, panel: Panel) {
        self.tty.use_other_screen(true);
        self.face = Some(Face { panel, screen: WholeScreen::default() });
        self.dirty = Dirty::Now;
    }

    /// Leaves the other screen for good, and prints these rows where the shell goes on.
    pub fn leave_panel(&mut self, rows: &[Row]) {
        if self.face.take().is_none() {
            return;
        }
        self.tty.use_other_screen(false);
        let own = Paint { theme: Theme::terminal(false, None), depth: self.paint.depth };
        let mut out = String::new();
        for row in rows {
            let ascii = (self.state.options.signs == Signs::Ascii).then(|| ascii::row(row.clone()));
            paint::row(ascii.as_ref().unwrap_or(row), &own, self.terminal.links(), &mut out);
            out.push_str("\r\n");
        }
        self.tty.write(&out);
    }

    /// Has everything drawn anew: the colours changed, or another tab is shown.
    pub fn forget(&mut self) {
        if let Some(face) = &mut self.face {
            face.screen.forget();
        }
        self.dirty = Dirty::Now;
    }

    /// Returns the time since the chat began.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Takes a message; what is to be done about it is kept.
    pub fn take(&mut self, msg: Msg<'_>) {
        self.take_at(self.now(), msg);
    }

    fn take_at(&mut self, now: Duration, msg: Msg<'_>) {
        self.gives_back |= matches!(msg, Msg::TurnOver(_));
        for effect in update::update(&mut self.state, now, msg) {
            match effect {
                Effect::Input(input) => self.inputs.push_back(input),
                effect => self.effects.push_back(effect),
            }
        }
        self.dirty = Dirty::Now;
    }

    /// Takes the events that have come so far.
    pub fn drain_events(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.event(&event);
        }
    }

    fn event(&mut self, event: &Event) {
        let before = self.dirty;
        self.take(Msg::Event(event));
        if before != Dirty::Now {
            self.dirty = Dirty::Soon;
        }
    }

    /// Waits until something has to be done: an input for the turn, or an effect. A wait that is dropped loses nothing.
    pub async fn wait(&mut self) {
        while self.inputs.is_empty() && self.effects.is_empty() && !self.gone && self.ending.is_none() {
            if self.lent {
                self.while_lent().await;
                continue;
            }
            self.draw();
            if self.dirty == Dirty::No && std::mem::take(&mut self.gives_back) {
                heap::give_back();
            }
            let next = self.next_time();
            let sleep = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                read = self.tty.next() => self.read(read),
                Some(signal) = self.signals.recv() => self.signal(signal),
                Some(event) = self.events.recv() => {
                    self.event(&event);
                    // The others that are there already make one frame with it.
                    self.drain_events();
                }
                () = sleep => self.time(),
            }
        }
    }

    /// Waits, while another program has the terminal, until a signal ends this one.
    pub async fn lent(&mut self) {
        while self.ending.is_none() {
            self.while_lent().await;
        }
    }

    /// Takes what comes while another program has the terminal: its keys and its Ctrl-C are not ours.
    async fn while_lent(&mut self) {
        tokio::select! {
            biased;
            () = self.tty.suspension() => {
                // The program stopped, and its shell waits for us to do the same.
                let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
            }
            Some(signal) = self.signals.recv() => {
                if matches!(signal, signal_hook::consts::SIGHUP | signal_hook::consts::SIGTERM) {
                    self.signal(signal);
                }
            }
            Some(event) = self.events.recv() => {
                self.event(&event);
                self.drain_events();
            }
        }
    }

    fn signal(&mut self, signal: i32) {
        let cause = match signal {
            signal_hook::consts::SIGHUP => CancelCause::Hangup,
            signal_hook::consts::SIGTERM => CancelCause::Terminate,
            _ => {
                let key = zori_tui::keys::Key::parse("ctrl+c").expect("it is a key");
                return self.take(Msg::Term(TermEvent::Key(key)));
            }
        };
        self.ending = Some(signal);
        self.tty.hurry();
        self.inputs.push_back(Input::Cancel(cause));
    }

    fn read(&mut self, read: Read) {
        match read {
            Read::Bytes(bytes) => {
                // What was read together came together, however long each key takes here.
                let came = self.now();
                for event in self.decoder.feed(&bytes) {
                    self.term(event, came);
                }
                let wait = match (self.decoder.answers_due(), self.decoder.is_half()) {
                    (true, _) => ESCAPE_DUE,
                    (false, true) => ESCAPE_HALF,
                    (false, false) => ESCAPE,
                };
                self.escape = self.decoder.is_waiting().then(|| Instant::now() + wait);
            }
            Read::Resized => self.resized = Some(Instant::now() + SETTLED),
            Read::Suspended => self.effects.push_back(Effect::Suspend),
            Read::Continued => self.continued(),
            Read::Written => self.dirty = Dirty::Now,
            Read::End => {
                self.gone = true;
                self.inputs.push_back(Input::Cancel(CancelCause::Hangup));
            }
        }
    }

    fn term(&mut self, event: TermEvent, came: Duration) {
        if let TermEvent::Answer(answer) = &event {
            self.terminal.learn(answer);
            self.state.options.shift_enter = self.terminal.kitty_keys;
            self.state.options.brackets_pastes = self.terminal.brackets_pastes;
            if let Answer::Mode { mode: 2027, known: true, set: false } = answer {
                self.tty.use_clusters();
            }
            if let Answer::Background { .. } | Answer::ColourScheme { .. } = answer {
                self.effects.push_back(Effect::LookAround);
            }
            return;
        }
        if let (Some(face), TermEvent::Key(key)) = (&mut self.face, &event) {
            self.state.now = came;
            let mut effects = Vec::new();
            if face.panel.key(&mut self.state, *key, &mut effects) {
                self.effects.extend(effects);
                self.dirty = Dirty::Now;
                return;
            }
        }
        if let (Some(face), TermEvent::Wheel { up }) = (&self.face, &event) {
            face.panel.wheel(&mut self.state, *up);
            self.dirty = Dirty::Now;
            return;
        }
        self.take_at(came, Msg::Term(event));
    }

    /// The time for something has come.
    fn time(&mut self) {
        let now = Instant::now();
        if self.escape.is_some_and(|at| now >= at) {
            self.escape = None;
            if let Some(event) = self.decoder.flush() {
                self.term(event, self.now());
            }
        }
        if self.resized.is_some_and(|at| now >= at) {
            self.resized = None;
            let size = self.tty.size();
            self.inline.resized(size.columns, self.terminal.reflow());
            self.forget();
            self.take(Msg::Resized(size));
        }
        let moves = self.face.as_ref().and_then(|face| face.panel.next_tick(&self.state));
        if update::next_tick(&self.state).into_iter().chain(moves).any(|at| self.now() >= at) {
            self.take(Msg::Tick);
            if let Some(face) = &mut self.face {
                face.panel.tick(&self.state);
            }
        }
    }

    fn next_time(&self) -> Option<Instant> {
        let moves = self.face.as_ref().and_then(|face| face.panel.next_tick(&self.state));
        let tick = update::next_tick(&self.state).into_iter().chain(moves).min().map(|at| self.began + at);
        let frame = match (self.dirty, self.drawn) {
            (Dirty::Soon, Some(drawn)) if self.tty.is_free() => Some(drawn + FRAME),
            _ => None,
        };
        [tick, frame, self.escape, self.resized].into_iter().flatten().min()
    }

    /// Draws what changed, if it is time for it and the terminal takes it.
    pub fn draw(&mut self) {
        let due = match self.dirty {
            Dirty::No => false,
            Dirty::Now => true,
            Dirty::Soon => self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME),
        };
        // While the terminal changes its size nothing is known of where things are.
        if !due
            || self.lent
            || !self.tty.is_free()
            || self.resized.is_some()
            || !self.state.size.is_drawable()
        {
            return;
        }
        self.dirty = Dirty::No;
        self.drawn = Some(Instant::now());
        self.state.now = self.now();
        // What is drawn is one write: nobody sees half of it (UI-31).
        let mut out = String::new();
        if self.face.is_some() {
            self.panel(&mut out);
        } else if self.state.pager.is_some() {
            self.pager(&mut out);
        } else {
            if std::mem::take(&mut self.pager_shown) {
                out.push_str(modes::OWN_SCREEN);
            }
            let commits = self.commits();
            assert!(!self.panics, "a test wants this panic");
            out.push_str(&self.chat_frame(&commits));
        }
        let title = self.state.title();
        if self.titled && title != self.title {
            out.push_str(&modes::title(&title.as_str().into()));
            self.title = title;
        }
        if !out.is_empty() {
            self.tty.write(&out);
        }
        if self.state.pager.is_some() {
            return;
        }
        let asks = self.state.questions.front().is_some_and(|asked| asked.drawn.is_none())
            || self.state.confirm.as_ref().is_some_and(|confirm| confirm.drawn.is_none());
        if asks && self.tty.is_free() {
            let now = self.now();
            let _ = update::update(&mut self.state, now, Msg::Drawn);
        }
    }

    /// Takes out the rows that will not change any more, as this terminal can show them.
    fn commits(&mut self) -> Vec<Commit> {
        let mut commits = self.state.transcript.drain(self.state.size.width());
        if self.state.options.signs == Signs::Ascii {
            commits.iter_mut().for_each(|commit| commit.row = ascii::row(std::mem::take(&mut commit.row)));
        }
        commits
    }

    /// Returns the bytes that commit these rows and show the viewport below them.
    fn chat_frame(&mut self, commits: &[Commit]) -> String {
        let mut view = chat::view(&self.state);
        if self.state.options.signs == Signs::Ascii {
            view.rows = view.rows.into_iter().map(ascii::row).collect();
        }
        let brush = Brush { paint: &self.paint, links: self.terminal.links() };
        self.inline.frame(commits, view, brush)
    }

    /// Draws the panel, or what is leafed through in it.
    fn panel(&mut self, out: &mut String) {
        let Some(face) = &mut self.face else { return };
        let mut effects = Vec::new();
        face.panel.settle(&self.state, &mut effects);
        self.effects.extend(effects);
        face.panel.tick(&self.state);
        let width = panel::chat_width(&self.state);
        panel::lay_out(&mut self.state, width);
        assert!(!self.panics, "a test wants this panic");
        if let Some(tab) = &mut self.state.tab {
            tab.unread = false;
        }
        let active = face.panel.active;
        if let Some(sign) = face.panel.tabs.get_mut(active) {
            *sign = panel::TabSign::of(&self.state);
        }
        let (mut rows, caret) = match self.state.pager.is_some() {
            true => (zori_tui::pager::screen(&self.state), None),
            false => {
                let view = panel::view(&self.state, &face.panel);
                (view.rows, view.caret)
            }
        };
        if self.state.options.signs == Signs::Ascii {
            rows = rows.into_iter().map(ascii::row).collect();
        }
        let brush = Brush { paint: &self.paint, links: self.terminal.links() };
        out.push_str(&face.screen.frame(rows, caret, brush));
    }

    fn pager(&mut self, out: &mut String) {
        out.push_str("\x1b[?2026h");
        if !std::mem::replace(&mut self.pager_shown, true) {
            out.push_str(modes::OTHER_SCREEN);
        }
        out.push_str("\x1b[H");
        let mut rows = zori_tui::pager::screen(&self.state);
        if self.state.options.signs == Signs::Ascii {
            rows = rows.into_iter().map(ascii::row).collect();
        }
        for (i, row) in rows.iter().enumerate() {
            if i > 0 {
                out.push_str("\r\n");
            }
            paint::row(row, &self.paint, self.terminal.links(), out);
            out.push_str("\x1b[K");
        }
        out.push_str("\x1b[?2026l");
    }

    /// Has everything drawn with the next frame.
    pub fn touch(&mut self) {
        self.dirty = Dirty::Now;
    }

    /// Lets another program have the terminal; nothing is drawn or read until it is taken back.
    pub fn lend(&mut self) {
        self.release();
        self.lent = true;
    }

    /// Returns whether another program has the terminal.
    pub fn is_lent(&self) -> bool {
        self.lent
    }

    /// Has the terminal again.
    pub fn take_back(&mut self) {
        self.lent = false;
        self.resume();
    }

    /// Takes the viewport off the screen, and lets the terminal go.
    pub fn release(&mut self) {
        if self.lent {
            self.take_back();
        }
        self.drain_events();
        if std::mem::take(&mut self.pager_shown) {
            self.tty.write(modes::OWN_SCREEN);
        }
        // Rows that a terminal does not take are not taken out either: they are there when it is had again.
        self.tty.drain();
        if self.face.is_none() && self.tty.is_free() {
            let commits = self.commits();
            if !commits.is_empty() {
                let frame = self.chat_frame(&commits);
                self.tty.write(&frame);
            }
        }
        if self.face.is_none() {
            let close = self.inline.close();
            self.tty.write(&close);
        }
        if self.decoder.answers_due() {
            let decoder = &mut self.decoder;
            let mut typed = Vec::new();
            self.tty.swallow(|bytes| {
                typed.extend(decoder.feed(bytes));
                decoder.answers_due()
            });
            // Who has not answered by now never will.
            self.decoder.expect_answers(0);
            typed.into_iter().for_each(|event| self.term(event, self.now()));
        }
        self.tty.leave();
    }

    /// Takes the terminal back.
    pub fn resume(&mut self) {
        // A terminal that cannot be had again shows itself with the next read.
        let _ = self.tty.enter_again();
        let size = self.tty.size();
        self.inline.forget();
        self.forget();
        self.take(Msg::Resized(size));
    }

    /// Goes on after a stop that nobody announced: what stood on the screen may be anywhere, so it is drawn below.
    fn continued(&mut self) {
        self.pager_shown = false;
        self.resume();
    }

    /// Moves everything into the scrollback by plain scrolling, and goes on at the top of the window.
    pub fn clear(&mut self) {
        if self.face.is_some() {
            return self.forget();
        }
        let rows = usize::from(self.state.size.rows).saturating_sub(1);
        let mut out = self.inline.close();
        out.extend(std::iter::repeat_n("\r\n", rows));
        out.push_str(&format!("\x1b[{}A", rows.max(1)));
        self.tty.write(&out);
        self.touch();
    }

    /// Prints the last cells once more, at this width, below what is there (KEY table, Ctrl-L).
    pub fn repaint(&mut self) {
        if self.face.is_some() {
            return self.forget();
        }
        let size = self.state.size;
        self.state.transcript.again(size.width(), usize::from(size.rows).saturating_sub(size.viewport()));
        self.inline.invalidate();
        self.touch();
    }
}
