//! What a run left behind: both streams and the status, printable as one literal.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::rewrite::Rewrite;

/// The output of a finished run.
///
/// `Display` shows stdout, then stderr under a line of its own, then the status, with everything that differs
/// from run to run rewritten. A stream that does not end in a newline is marked.
#[derive(Clone, Debug)]
pub struct CommandOutput {
    /// The bytes of stdout.
    pub stdout: Vec<u8>,
    /// The bytes of stderr.
    pub stderr: Vec<u8>,
    /// How the process ended.
    pub status: ExitStatus,
    pub(crate) rewrite: Rewrite,
}

impl CommandOutput {
    /// Returns stdout as text, rewritten.
    pub fn stdout(&self) -> String {
        self.rewrite.apply(&String::from_utf8_lossy(&self.stdout))
    }

    /// Returns stderr as text, rewritten.
    pub fn stderr(&self) -> String {
        self.rewrite.apply(&String::from_utf8_lossy(&self.stderr))
    }

    /// Returns the exit code; `None` when a signal ended the process.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Returns the output if the run succeeded.
    ///
    /// # Panics
    ///
    /// When it did not, with all of its output.
    #[track_caller]
    pub fn success(self) -> Self {
        assert!(self.status.success(), "the run failed:\n{self}");
        self
    }
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_stream(f, &self.stdout())?;
        if !self.stderr.is_empty() {
            f.write_str("------- stderr -------\n")?;
            write_stream(f, &self.stderr())?;
        }
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => write!(f, "[exit status: {code}]"),
            (None, Some(signal)) => write!(f, "[signal: {signal}]"),
            (None, None) => write!(f, "[{}]", self.status),
        }
    }
}

fn write_stream(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(text)?;
    if !text.is_empty() && !text.ends_with('\n') {
        f.write_str("[no newline]\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(stdout: &str, stderr: &str, wait_status: i32) -> String {
        let output = CommandOutput {
            stdout: stdout.into(),
            stderr: stderr.into(),
            status: ExitStatus::from_raw(wait_status),
            rewrite: Rewrite::default(),
        };
        output.to_string()
    }

    #[test]
    fn shows_both_streams_and_the_status() {
        assert_eq!(
            shown("Hello\n", "Done. (0.01s)", 2 << 8),
            "Hello\n------- stderr -------\nDone. (X.XXs)[no newline]\n[exit status: 2]"
        );
        assert_eq!(shown("", "", 0), "[exit status: 0]");
        assert_eq!(shown("x\n", "", 15), "x\n[signal: 15]");
    }
}
