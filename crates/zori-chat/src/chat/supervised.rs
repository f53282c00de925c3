//! `/loop`: after every turn, whatever came of it, the person says whether there is another (`docs/contracts/loop-and-recap.md`).

use zori_frontends::jsonl::EventWriter;
use zori_frontends::jsonl::command::Command;
use zori_frontends::jsonl::elicitation::Action;

use super::Chat;
use super::lines::{Line, Lines};
use zori_contract::failure::Failure;

/// What is asked.
pub const QUESTION: &str = "Continue? [y/N]";

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The next line is the next prompt.
    Continue,
    Leave,
    /// It was neither; the question stands.
    Unclear,
}

/// Reads an answer.
pub fn answer(line: &str) -> Answer {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Answer::Continue,
        "n" | "no" | "" => Answer::Leave,
        _ => Answer::Unclear,
    }
}

impl Chat<'_, '_> {
    /// Enters the loop, or leaves it. Meanwhile an empty line is an answer, also one that comes early.
    pub(super) fn supervise(&mut self, on: bool) {
        self.supervised = on;
        if let Some(client) = self.plain.peer.client() {
            client.count_blanks(on);
        }
    }

    /// Asks at the terminal, or on the pipe of `zdx`. The end of the input, and Ctrl-C, leave the loop.
    pub(super) fn ask_to_continue(&mut self, lines: &mut Lines) -> Result<(), Failure> {
        while self.supervised {
            let said = match lines.ask(QUESTION, &self.signals)? {
                Line::Text(text) => answer(&text),
                Line::End => Answer::Leave,
            };
            match said {
                Answer::Continue => return Ok(()),
                Answer::Leave => self.supervised = false,
                Answer::Unclear => {}
            }
        }
        Ok(())
    }

    /// Asks the program behind `--json`. Returns whether it wants the session to end.
    pub(super) fn ask_client_to_continue(&mut self, events: &EventWriter) -> bool {
        while self.supervised {
            let Some(said) = self.ask_client(events, QUESTION) else {
                self.supervise(false);
                return true;
            };
            match said {
                Answer::Continue => return false,
                Answer::Leave => self.supervise(false),
                Answer::Unclear => {}
            }
            if events.is_closed() {
                return true;
            }
        }
        false
    }

    /// Asks the program behind `--json` once whether to go on. `None`: it wants the session to end.
    pub(super) fn ask_client(&mut self, events: &EventWriter, question: &str) -> Option<Answer> {
        // Whether the reader is gone is looked at after each command.
        let _ = events.elicit_continue(question);
        Some(match self.plain.next_command() {
            None | Some(Command::Interrupt) => Answer::Leave,
            Some(Command::Exit) => return None,
            Some(Command::Line(line)) => answer(&line),
            Some(Command::Answer(response)) => match (response.action, response.content.go_on()) {
                (Action::Accept, Some(true)) => Answer::Continue,
                (Action::Accept, None) => Answer::Unclear,
                _ => Answer::Leave,
            },
            Some(Command::Prompt(_) | Command::Slash(_)) => Answer::Unclear,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        for line in ["y", "YES", " Yes \n"] {
            assert_eq!(answer(line), Answer::Continue, "{line}");
        }
        for line in ["n", "No", "", " \n"] {
            assert_eq!(answer(line), Answer::Leave, "{line}");
        }
        for line in ["maybe", "yy", "fix it"] {
            assert_eq!(answer(line), Answer::Unclear, "{line}");
        }
    }
}
