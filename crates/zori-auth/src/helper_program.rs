//! Programs of others that know a secret: `gcloud` and `gh` print a token, a credential helper keeps entries. Started
//! by their arguments, never through a shell, and bounded in time (`docs/contracts/providers.md`).

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use zori_core::secret::Secret;

/// How long a program may take that prints a token.
const LIMIT: Duration = Duration::from_secs(10);

/// Starts programs that know a secret, without the variables of ours that are none of their business.
#[derive(Clone, Debug, Default)]
pub struct HelperPrograms {
    withheld: Arc<[OsString]>,
}

/// Why a program was of no help: the second half of a sentence, which holds neither its input nor its output.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// There is no such program.
    #[error("`{program}` is not installed")]
    NotInstalled {
        /// Its name.
        program: String,
    },
    /// It is there and could not be started.
    #[error("`{line}` cannot be started: {source}")]
    Start {
        /// The command line.
        line: String,
        /// What the system said.
        source: io::Error,
    },
    /// Its end could not be waited for.
    #[error("`{line}` was lost: {source}")]
    Lost {
        /// The command line.
        line: String,
        /// What the system said.
        source: io::Error,
    },
    /// It took too long, and was ended.
    #[error("`{line}` did not answer within {} seconds", .limit.as_secs_f32().ceil())]
    Timeout {
        /// The command line.
        line: String,
        /// The time it had.
        limit: Duration,
    },
    /// It ended with a status other than 0.
    #[error("`{line}` failed ({status})")]
    Failed {
        /// The command line.
        line: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// It printed bytes that are not UTF-8.
    #[error("`{line}` printed no text: {source}")]
    NotText {
        /// The command line.
        line: String,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// It printed nothing where a token was expected.
    #[error("`{line}` printed nothing")]
    Nothing {
        /// The command line.
        line: String,
    },
}

impl HelperPrograms {
    /// Returns the way to start programs that do not inherit these variables.
    pub fn new(withheld: Vec<OsString>) -> Self {
        Self { withheld: withheld.into() }
    }

    /// Runs a program that prints a token, and returns it.
    pub fn token(&self, argv: &[&str]) -> Result<Secret, HelperError> {
        let printed = self.run(argv, "", LIMIT)?;
        match printed.reveal().trim() {
            "" => Err(HelperError::Nothing { line: argv.join(" ") }),
            token => Ok(token.into()),
        }
    }

    /// Runs a program with this on its standard input, and returns what it printed.
    pub fn run(&self, argv: &[&str], input: &str, limit: Duration) -> Result<Secret, HelperError> {
        let (program, args) = argv.split_first().expect("a program has a name");
        let line = argv.join(" ");
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        for name in &*self.withheld {
            command.env_remove(name);
        }
        let mut child = command.spawn().map_err(|source| match source.kind() {
            ErrorKind::NotFound => HelperError::NotInstalled { program: (*program).to_owned() },
            _ => HelperError::Start { line: line.clone(), source },
        })?;
        // What a pipe holds at once is more than any input has. One that is not read is the program's business.
        let mut stdin = child.stdin.take().expect("standard input is piped");
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let Some(printed) = printed_at_its_end(&mut child, limit) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(HelperError::Timeout { line, limit });
        };
        let status = child.wait().map_err(|source| HelperError::Lost { line: line.clone(), source })?;
        if !status.success() {
            return Err(HelperError::Failed { line, status });
        }
        printed.map_err(|source| HelperError::NotText { line, source })
    }
}

/// Returns what a child printed once it has ended; `None` if it has not within the limit. The child is still to be
/// waited for, so that its number is nobody else's until then.
fn printed_at_its_end(child: &mut Child, limit: Duration) -> Option<io::Result<Secret>> {
    let mut stdout = child.stdout.take().expect("standard output is piped");
    let pid = Pid::from_child(child);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.read_to_string(&mut text);
        let printed = Secret::from(text);
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        // Nobody listens any more when the time is up.
        let _ = sender.send(read.map(|_| printed));
    });
    receiver.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: Duration) -> String {
        let programs = HelperPrograms::new(vec!["HOME".into()]);
        match programs.run(&["sh", "-c", script], "in\n", limit) {
            Ok(printed) => format!("printed {}", printed.reveal()),
            Err(error) => error.to_string().replace(script, "SCRIPT"),
        }
    }

    #[test]
    fn how_programs_end() {
        let long = Duration::from_secs(60);
        assert_eq!(run("cat; printf %s \"${HOME-none}\"", long), "printed in\nnone");
        assert_eq!(run("echo out; exit 3", long), "`sh -c SCRIPT` failed (exit status: 3)");
        // Its output has ended and it has not.
        let short = Duration::from_millis(50);
        let late = "`sh -c SCRIPT` did not answer within 1 seconds";
        assert_eq!(run("exec >&-; exec sleep 600", short), late);
        assert_eq!(run("exec sleep 600", short), late);
    }

    #[test]
    fn a_program_that_is_not_there() {
        let error =
            HelperPrograms::default().token(&["zori-no-such-program"]).err().expect("it is not there");
        assert_eq!(error.to_string(), "`zori-no-such-program` is not installed");
    }
}
