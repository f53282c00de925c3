//! A run on a pseudo terminal: keys go in, and everything the program draws comes out, nothing stripped.
//!
//! There is no screen model. The one thing a terminal must answer, the question where the cursor is, is answered
//! with the top left corner, so that line editors start.

#![expect(unsafe_code, reason = "a controlling terminal can only be set between fork and exec")]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize};

use crate::capture::Capture;
pub use crate::capture::Seen;
use crate::gate::Gate;
use crate::rewrite::Rewrite;
use crate::wait::{self, BOUND};

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub cols: u16,
}

impl Size {
    /// The classic size.
    pub const CLASSIC: Self = Self { rows: 24, cols: 80 };
}

/// A process on a pseudo terminal of its own. Dropping it kills it.
#[derive(Debug)]
pub struct Pty {
    child: Child,
    keys: File,
    drawn: Capture,
    held: Arc<Mutex<()>>,
    /// How many bytes a second are taken at most; 0 for as many as come.
    rate: Arc<AtomicU32>,
    rewrite: Rewrite,
}

impl Pty {
    /// Starts the command with the terminal as stdin, stdout, stderr and controlling terminal.
    ///
    /// # Panics
    ///
    /// When there is no pseudo terminal or the command cannot be started.
    #[track_caller]
    pub fn start(mut command: Command, size: Size, rewrite: Rewrite) -> Self {
        let (ours, theirs) = open(size).expect("a pseudo terminal can be opened");
        let clone = |fd: &OwnedFd| fd.try_clone().expect("a descriptor can be copied");
        command.stdin(clone(&theirs)).stdout(clone(&theirs)).stderr(theirs);
        // SAFETY: between fork and exec only two system calls are made; nothing is allocated and no lock is taken.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("cannot start {command:?}: {error}"),
        };
        // The command holds our copies of the terminal; without this its end would never be seen.
        drop(command);
        let mut answers = File::from(clone(&ours));
        let keys = File::from(clone(&ours));
        let held = Arc::new(Mutex::new(()));
        let holding = Arc::clone(&held);
        let rate = Arc::new(AtomicU32::new(0));
        let slow = Arc::clone(&rate);
        let drawn = Capture::start(File::from(ours), usize::MAX, move |piece| {
            drop(holding.lock().unwrap_or_else(PoisonError::into_inner));
            if piece.windows(CURSOR_QUESTION.len()).any(|w| w == CURSOR_QUESTION) {
                // A process that has ended in the meantime needs no answer.
                let _ = answers.write_all(b"\x1b[1;1R");
            }
            let rate = slow.load(Ordering::Relaxed);
            if rate > 0 {
                std::thread::sleep(Duration::from_secs_f64(piece.len() as f64 / f64::from(rate)));
            }
        });
        Self { child, keys, drawn, held, rate, rewrite }
    }

    /// Types the keys: text as it is, `\r` for Enter, `\x03` for Ctrl-C, `\x04` for Ctrl-D.
    ///
    /// # Panics
    ///
    /// When the terminal is gone.
    #[track_caller]
    pub fn send(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
        self
    }

    /// Returns everything drawn so far, with escape sequences, rewritten.
    pub fn drawn(&self) -> String {
        self.rewrite.apply(&self.drawn.text())
    }

    /// Returns how many bytes were drawn so far.
    pub fn drawn_len(&self) -> usize {
        self.drawn.len()
    }

    /// Waits until the text is drawn behind the first `from` bytes, nothing rewritten; `None` when the time is over or the program has ended. The
    /// wait costs next to nothing, however much was drawn: it is for who measures.
    pub fn seen(&self, from: usize, text: &str, bound: Duration) -> Option<Seen> {
        self.drawn.wait_for(from, text, bound)
    }

    /// Waits until what was drawn contains the text. It must not be interrupted by escape sequences.
    ///
    /// # Panics
    ///
    /// After [`BOUND`], or when the program ends without it, showing what was drawn.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> &mut Self {
        let found = wait::poll(BOUND, || {
            let ended = self.drawn.has_ended();
            if self.drawn().contains(text) { Some(true) } else { ended.then_some(false) }
        });
        assert!(found == Some(true), "`{text}` was not drawn; drawn so far:\n{}", self.drawn());
        self
    }

    /// Stops taking what the program draws, as a terminal does that was stopped with Ctrl-S, until the guard is dropped. What is on its way
    /// already is taken.
    pub fn hold(&self) -> Held {
        let (held, taken) = (Arc::clone(&self.held), Gate::new());
        let letting_go = Gate::new();
        let (holding, open) = (taken.clone(), letting_go.clone());
        std::thread::spawn(move || {
            let _guard = held.lock().unwrap_or_else(PoisonError::into_inner);
            holding.open();
            open.pass(|| false);
        });
        taken.pass(|| false);
        Held(letting_go)
    }

    /// Takes so many bytes a second from now on, as a slow line does; 0 for as many as come.
    pub fn slow_down(&self, bytes_per_second: u32) {
        self.rate.store(bytes_per_second, Ordering::Relaxed);
    }

    /// Returns whether the terminal shows what is typed.
    pub fn echoes(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.keys).expect("a terminal has modes");
        modes.local_modes.contains(LocalModes::ECHO)
    }

    /// Changes the size; the program gets SIGWINCH.
    pub fn resize(&mut self, size: Size) -> &mut Self {
        set_size(&self.keys, size).expect("a terminal has a size");
        self
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the program; returns its status and everything it drew.
    ///
    /// # Panics
    ///
    /// After [`BOUND`], showing what was drawn.
    #[track_caller]
    pub fn finish(mut self) -> (ExitStatus, String) {
        self.ended()
    }

    /// The same, for whoever goes on with it.
    #[track_caller]
    pub fn ended(&mut self) -> (ExitStatus, String) {
        let status = wait::poll(BOUND, || self.child.try_wait().expect("the child is ours to wait for"));
        let Some(status) = status else {
            panic!("the program did not end within {BOUND:?}; drawn so far:\n{}", self.drawn());
        };
        wait::until("the terminal to close", || self.drawn.has_ended());
        (status, self.drawn())
    }
}

/// Nothing is taken from the program while this is there.
#[derive(Debug)]
pub struct Held(Gate);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.open();
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        // Errors mean that it is gone already, which is what is wanted.
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// "Device status report, cursor position".
const CURSOR_QUESTION: &[u8] = b"\x1b[6n";

/// Returns our side and the program's side.
fn open(size: Size) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let name = rustix::pty::ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    set_size(&ours, size)?;
    Ok((ours, theirs))
}

fn set_size(terminal: impl AsFd, size: Size) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(terminal, size)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Pty {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Pty::start(command, Size { rows: 10, cols: 40 }, Rewrite::default())
    }

    #[test]
    fn is_a_terminal_with_a_size() {
        let (status, drawn) = sh("test -t 0 && test -t 1 && test -t 2 && stty size").finish();
        assert_eq!((status.code(), drawn.as_str()), (Some(0), "10 40\r\n"));
    }

    #[test]
    fn keys_reach_the_program_and_control_c_is_a_signal() {
        let mut pty =
            sh("trap 'echo caught; exit 5' INT; echo ready; read x; echo got $x; while :; do read y; done");
        pty.wait_for("ready").send("hello\r").wait_for("got hello").send("\x03").wait_for("caught");
        assert_eq!(pty.finish().0.code(), Some(5));
    }

    #[test]
    fn answers_where_the_cursor_is() {
        let mut pty = sh(
            "stty raw -echo; printf '\\033[6n'; answer=$(dd bs=1 count=6 2>/dev/null | od -An -tx1); echo $answer",
        );
        pty.wait_for("1b 5b 31 3b 31 52");
    }

    #[test]
    fn can_be_resized() {
        let mut pty = sh("echo ready; read x; stty size");
        pty.wait_for("ready").resize(Size { rows: 5, cols: 20 }).send("\r").wait_for("5 20");
    }
}
