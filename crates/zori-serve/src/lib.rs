//! What programs say to a session: the input halves of the machine protocols.
//!
//! Each protocol is a peer of `zori-host` and drives its sessions; [`acp`] serves an editor, [`mcp`] another
//! agent, [`claude`] the SDKs. What only
//! the program around can know (settings, keys, the network, words to people) comes in through a [`Launcher`], lines and
//! signals come in as values.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod acp;
pub mod claude;
mod client_servers;
pub mod gui;
pub mod jsonl;
mod launcher;
pub mod mcp;

pub use launcher::{Launcher, Lines, NoticePrinter, Resolved};

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::ids::SessionId;
use zori_core::outcome::CancelCause;

/// What is said about a call when the client's lines have ended.
pub const INPUT_ENDED: &str = "standard input has ended, so nobody can answer";
/// What is said about a call that a client has not answered for in time.
pub const LATE: &str = "nobody has answered in time (`approval_timeout_secs`)";

/// Checks a session's name.
pub fn parse_session(text: &str) -> Result<SessionId, Failure> {
    SessionId::parse(text).map_err(|error| Failure::new(&VALIDATION_ERROR, error.to_string()))
}

/// Returns whether a word is a slash command: a slash and a word. A path such as `/etc/hosts` is none.
pub fn is_slash_command(word: &str) -> bool {
    let name = word.strip_prefix('/').unwrap_or_default();
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Returns the code of a server that a signal ended.
fn signal_exit(cause: CancelCause) -> Exit {
    if cause == CancelCause::User { Exit::Interrupted } else { Exit::Terminated }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_command() {
        for (word, is) in
            [("/help", true), ("/etc/hosts", false), ("/", false), ("help", false), ("//", false)]
        {
            assert_eq!(is_slash_command(word), is, "{word}");
        }
    }
}
