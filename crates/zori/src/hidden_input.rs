//! A line that is typed at a terminal and not shown: keys and secrets.

use std::io::{BufRead, Read, stdin};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// Typing is not shown until this is dropped.
pub struct HiddenTyping(());

impl HiddenTyping {
    /// Hides what is typed at standard input.
    pub fn start() -> Self {
        set_echo(false);
        Self(())
    }
}

impl Drop for HiddenTyping {
    fn drop(&mut self) {
        show_typing();
    }
}

/// Shows what is typed again, also in the middle of a line.
pub fn show_typing() {
    set_echo(true);
}

/// Reads a line of at most so many bytes, and one more, by which a longer one is known. It blocks.
pub fn read_line(max_len: usize) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    stdin().lock().take(max_len as u64 + 1).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn set_echo(on: bool) {
    // A terminal that is gone shows nothing any more.
    if let Ok(mut modes) = tcgetattr(stdin()) {
        modes.local_modes.set(LocalModes::ECHO, on);
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
    }
}
