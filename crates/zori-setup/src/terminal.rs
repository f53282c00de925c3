//! The standard streams of an agent command, and what they allow.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_contract::mode::Verbosity;

use crate::agent_cx::Context;
use crate::environment::Environment;

/// Returns stdout without the standard library's line buffer.
pub fn stdout() -> Result<File, Failure> {
    duplicate(std::io::stdout().as_fd())
}

/// Returns stderr as a file.
pub fn stderr() -> Result<File, Failure> {
    duplicate(std::io::stderr().as_fd())
}

/// How often [`reader_gone`] checks while nothing is written.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Waits until stdout's reader closes the pipe; forever if stdout is not a pipe.
pub async fn reader_gone() {
    loop {
        let stdout = std::io::stdout();
        let mut looked = [PollFd::new(&stdout, PollFlags::empty())];
        let found = poll(&mut looked, Some(&Timespec::default()));
        if found.is_ok() && looked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn duplicate(fd: BorrowedFd<'_>) -> Result<File, Failure> {
    fd.try_clone_to_owned()
        .map(File::from)
        .map_err(|error| Failure::new(&IO_ERROR, format!("cannot use the standard streams: {error}")))
}

/// Returns whether the terminal says of itself that it can do nothing but print.
pub fn is_dumb(env: &Environment) -> bool {
    matches!(env.text("TERM"), None | Some("" | "dumb"))
}

/// Where the three streams go, and what that allows.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Standard input is a terminal.
    pub stdin: bool,
    /// Standard output is a terminal.
    pub stdout: bool,
    /// Standard error is a terminal.
    pub stderr: bool,
    /// Somebody is there: `CI`, `ZORI_AGENT=1` and `--non-interactive` say no (DECISIONS 20).
    pub attended: bool,
    /// Colour is wanted on standard error.
    pub colour: bool,
    /// Nothing is said on standard error: `--quiet`.
    pub quiet: bool,
    /// The answer is for an envelope, not for standard output.
    pub collected: bool,
}

impl Terminal {
    /// Takes what the framework detected.
    pub fn of(cx: &Context<'_>, non_interactive: bool) -> Self {
        Self {
            stdin: cx.inputs.stdin_terminal,
            stdout: cx.inputs.stdout_terminal,
            stderr: cx.inputs.stderr_terminal,
            attended: cx.inputs.attended(cx.program.prefix) && !non_interactive,
            colour: cx.mode.colour_err,
            quiet: cx.mode.verbosity == Verbosity::Silent,
            collected: cx.mode.format.structured(),
        }
    }

    /// Returns whether a person can type and read here (DECISIONS 23).
    pub fn interactive(&self) -> bool {
        self.attended && self.stdin && self.stdout
    }
}
