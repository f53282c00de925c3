//! Lines from the terminal while a turn runs. Nothing is left behind when nobody waits any more: a thread that sat in
//! a read would take the next line of the chat.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::{QueueSelector, tcflush};

/// Forgets what was typed so far.
pub fn discard() {
    // What is no terminal any more has nothing that could be taken for an answer.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// Waits for a line, as the kernel's own line editing gives it; Ctrl-C stays a signal. `None` means that there will be
/// none: Ctrl-D, or a terminal that is gone.
pub async fn next() -> Option<String> {
    // The thread lets go of the terminal when `waiting` is dropped, which is also when this future is.
    let (over, waiting) = pipe_with(PipeFlags::CLOEXEC).ok()?;
    let line = tokio::task::spawn_blocking(move || line(&over)).await;
    drop(waiting);
    line.ok().flatten()
}

fn line(over: &OwnedFd) -> Option<String> {
    let stdin = io::stdin();
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut fds = [PollFd::new(over, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) if !fds[0].revents().is_empty() => return None,
            Ok(_) | Err(Errno::INTR) if fds[1].revents().is_empty() => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(stdin.as_fd(), &mut bytes) {
            Ok(0) => return None,
            Ok(count) => line.extend_from_slice(&bytes[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return None,
        }
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}
