//! A chat on a pseudo terminal, as a person sees and uses it.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::terminal::{Kind, Terminal, forbidden};
use zori_testkit::wait;

pub const SIZE: Size = Size { rows: 24, cols: 100 };

/// A chat with somebody before it.
pub struct Person {
    pub pty: Pty,
    size: Size,
}

impl Person {
    /// Opens a chat that is not saved, and waits for its first frame.
    #[track_caller]
    pub fn open(world: &TestEnv, args: &[&str]) -> Self {
        Self::before(world.screen(args, SIZE), SIZE)
    }

    /// Sits down before a terminal.
    #[track_caller]
    pub fn before(pty: Pty, size: Size) -> Self {
        let mut person = Self::at(pty, size);
        person.sees("›");
        person
    }

    /// The same, without waiting for anything.
    pub fn at(pty: Pty, size: Size) -> Self {
        Self { pty, size }
    }

    /// Everything from the oldest row of the scrollback to the last of the screen.
    pub fn rows(&self) -> Vec<String> {
        Terminal::drawn(Kind::Cutting, self.size, &self.pty.drawn()).rows()
    }

    /// What is on the screen now.
    pub fn screen(&self) -> String {
        Terminal::drawn(Kind::Cutting, self.size, &self.pty.drawn()).screen().join("\n")
    }

    /// Waits until a row has this text.
    #[track_caller]
    pub fn sees(&mut self, text: &str) -> &mut Self {
        let seen = wait::poll(wait::BOUND, || self.rows().iter().any(|row| row.contains(text)).then_some(()));
        assert!(seen.is_some(), "`{text}` is not to be seen:\n{}", self.rows().join("\n"));
        self
    }

    /// Waits until the text is not on the screen any more.
    #[track_caller]
    pub fn sees_no_more(&mut self, text: &str) -> &mut Self {
        let gone = wait::poll(wait::BOUND, || (!self.screen().contains(text)).then_some(()));
        assert!(gone.is_some(), "`{text}` is still there:\n{}", self.screen());
        self
    }

    /// Sends keys as they are.
    pub fn keys(&mut self, keys: &str) -> &mut Self {
        self.pty.send(keys);
        self
    }

    /// Lets so much time pass, as a person does between two keys.
    pub fn pauses(&mut self, millis: u64) -> &mut Self {
        let since = Instant::now();
        wait::until("a pause", || since.elapsed() > Duration::from_millis(millis));
        self
    }

    /// Types a line, sees it, and sends it.
    #[track_caller]
    pub fn says(&mut self, text: &str) -> &mut Self {
        self.types(text).pauses(20).keys("\r")
    }

    /// Types text and waits for its echo, wherever else the same words stand: what comes as fast as a paste is one, Enter included. A list that is
    /// filtered by it may have them less often.
    #[track_caller]
    pub fn types(&mut self, text: &str) -> &mut Self {
        let line = text.lines().next_back().unwrap_or(text);
        let there = |person: &Self| person.rows().iter().map(|row| row.matches(line).count()).sum::<usize>();
        let before = there(self);
        self.keys(text);
        let echoed = wait::poll(wait::BOUND, || (there(self) != before).then_some(()));
        assert!(echoed.is_some(), "`{text}` is not echoed:\n{}", self.rows().join("\n"));
        self
    }

    /// Waits until a question may be answered (SAF-1), and answers it.
    #[track_caller]
    pub fn answers(&mut self, key: &str) -> &mut Self {
        self.sees("wants to").pauses(1300).keys(key)
    }

    pub fn signal(&mut self, signal: Signal) -> &mut Self {
        let pid = Pid::from_raw(self.pty.pid() as i32).expect("a process has a number");
        kill_process(pid, signal).expect("the program is there");
        self
    }

    /// Leaves with Ctrl-D, and looks at the terminal that is left: what may never be in its bytes, and what was switched on.
    #[track_caller]
    pub fn leaves(&mut self) -> String {
        self.sees_no_more("· Esc").sees_no_more("| Esc").pauses(20).keys("\x04");
        let (status, drawn) = self.ends();
        assert!(status.success(), "{status}:\n{drawn}");
        drawn
    }

    /// Waits for the end; returns what was drawn.
    #[track_caller]
    pub fn ends(&mut self) -> (ExitStatus, String) {
        let (status, drawn) = self.pty.ended();
        check_bytes(&drawn);
        (status, drawn)
    }
}

/// UI-30, UI-31, TTY-3: nothing that loses rows is written, every frame is complete, and everything that was switched on is off again.
#[track_caller]
pub fn check_bytes(drawn: &str) {
    assert_eq!(forbidden(drawn), Vec::<String>::new());
    let mut open = false;
    for (at, _) in drawn.match_indices("\x1b[?2026") {
        let begins = drawn[at..].starts_with("\x1b[?2026h");
        // The question whether the terminal knows it is neither.
        if drawn[at..].starts_with("\x1b[?2026$") {
            continue;
        }
        assert_eq!(begins, !open, "a frame within a frame at {at}");
        open = begins;
    }
    assert!(!open, "the last frame has no end");
    let count = |text: &str| drawn.matches(text).count();
    for mode in ["2004", "1004", "2031"] {
        assert_eq!(count(&format!("\x1b[?{mode}h")), count(&format!("\x1b[?{mode}l")), "mode {mode}");
    }
    assert_eq!(count("\x1b[?1049h"), count("\x1b[?1049l"), "the other screen");
    assert_eq!(count("\x1b[>1u"), count("\x1b[<1u"), "the keyboard's flags");
    assert_eq!(count("\x1b[22;2t"), count("\x1b[23;2t"), "the title");
    assert!(drawn.rfind("\x1b[?25l") <= drawn.rfind("\x1b[?25h"), "the cursor is shown");
}
