//! Questions about calls, and who answers them: a person at the terminal, a program, `-y`, or nobody (DEC-2 to DEC-4,
//! TERM-2).
//!
//! The engine asks by an event; [`Questions`] takes it off the stream and [`Asking::answer`] answers with an input,
//! beside the turn and on the same thread. What a question looks like is `zori_frontends::question`; how a line is
//! read while a turn runs is `asking/reply.rs`.

mod reply;

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use zori_core::event::{Event, EventKind};
use zori_core::ids::CallId;
use zori_core::input::{Approval, Input};
use zori_core::outcome::CancelCause;
use zori_core::permission::Decision;
use zori_core::question::Question;
use zori_core::render::Renderer;
use zori_core::secret::Secrets;
use zori_core::text::one_line;
use zori_frontends::question::{Drawn, draw};
use zori_policy::Asker;
use zori_redact::Redactor;

pub(crate) use crate::asking::reply::discard;
use crate::client::Client;
use crate::config::added_rule;
use crate::ui::Ui;

/// What is said when calls were denied because nobody could be asked.
pub const WAYS_OUT: &str = "Hint: nobody could be asked; `--allow RULE` lets such calls run, `-y` answers yes, \
     `--permission-mode MODE` asks less, and the chat asks you";

/// What is said about a call that a client has not answered for in time.
pub const LATE: &str = "nobody has answered in time (`approval_timeout_secs`)";

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Nobody; what would be asked is denied.
    Nobody,
    /// `-y` has answered every question already.
    Yes,
    /// Somebody at the terminal.
    Person,
    /// The program that reads the events (`--json`).
    Client,
}

impl Answers {
    /// Returns what a decision has to know about it.
    pub fn asker(self) -> Asker {
        match self {
            Self::Nobody => Asker::Absent,
            Self::Yes | Self::Person | Self::Client => Asker::Present,
        }
    }
}

/// What a turn wants to know from somebody.
enum Asked {
    Question {
        call: CallId,
        decision: Decision,
        question: Arc<Question>,
    },
    /// A call was denied because there is nobody.
    InVain,
}

/// Takes the questions off the stream of events.
pub struct Questions(mpsc::UnboundedSender<Asked>);

impl Renderer for Questions {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let asked = match &event.kind {
            EventKind::ApprovalRequested { call, decision, question } => {
                Asked::Question { call: call.clone(), decision: decision.clone(), question: question.clone() }
            }
            EventKind::ApprovalResolved { decision, .. } if decision.is_unasked() => Asked::InVain,
            _ => return Ok(()),
        };
        // When nobody listens any more, the session is over.
        let _ = self.0.send(asked);
        Ok(())
    }
}

/// Answers the questions of a session.
pub struct Asking {
    answers: Answers,
    asked: mpsc::UnboundedReceiver<Asked>,
    redactor: Redactor,
    /// The user's config file, for rules that hold later too; `None` where such rules do not count.
    rules: Option<PathBuf>,
    unasked: bool,
    /// The program on standard input, where one speaks there.
    client: Option<Client>,
}

impl Asking {
    /// Returns who answers, and what hears the questions.
    pub fn new(answers: Answers, redactor: Redactor, rules: Option<PathBuf>) -> (Self, Questions) {
        let (sender, asked) = mpsc::unbounded_channel();
        (Self { answers, asked, redactor, rules, unasked: false, client: None }, Questions(sender))
    }

    /// Nobody is asked here: the front end has its own way.
    pub fn nobody() -> Self {
        let (_, asked) = mpsc::unbounded_channel();
        let redactor = Redactor::new(Secrets::default());
        Self { answers: Answers::Nobody, asked, redactor, rules: None, unasked: false, client: None }
    }

    /// Listens to a program.
    pub fn attend(&mut self, client: Option<Client>) {
        self.client = client;
    }

    /// Returns the program, which may go on with another session.
    pub fn client(&mut self) -> &mut Option<Client> {
        &mut self.client
    }

    /// Answers one question after another, until it is dropped with the turn.
    pub async fn answer(&mut self, inputs: &mpsc::Sender<Input>) -> Infallible {
        loop {
            let asked = tokio::select! {
                // A question comes before its answer.
                biased;
                asked = self.asked.recv() => asked,
                () = interrupted(&mut self.client) => {
                    // The turn holds the other end for as long as this is polled.
                    let _ = inputs.send(Input::Cancel(CancelCause::User)).await;
                    continue;
                }
            };
            let input = match asked {
                Some(Asked::Question { call, decision, question }) => match self.answers {
                    Answers::Yes => Input::Approve { call, answer: Approval::Allow },
                    Answers::Person => match self.ask(&decision, &question).await {
                        Some(answer) => Input::Approve { call, answer },
                        None => Input::Cancel(CancelCause::User),
                    },
                    Answers::Client => match ask_client(&mut self.client).await {
                        Some(answer) => Input::Approve { call, answer },
                        None => Input::Cancel(CancelCause::User),
                    },
                    Answers::Nobody => Input::Approve { call, answer: Approval::Reject { reason: None } },
                },
                Some(Asked::InVain) => {
                    self.unasked = true;
                    continue;
                }
                None => std::future::pending().await,
            };
            let _ = inputs.send(input).await;
        }
    }

    /// Returns whether a call was denied since the last time because there was nobody to ask.
    pub fn take_unasked(&mut self) -> bool {
        while let Ok(asked) = self.asked.try_recv() {
            self.unasked |= matches!(asked, Asked::InVain);
        }
        std::mem::take(&mut self.unasked)
    }

    /// Asks the person at the terminal. `None` means that they want the turn to end.
    async fn ask(&self, decision: &Decision, question: &Question) -> Option<Approval> {
        let mut ui = Ui::standard();
        let Drawn { head, shown, mut hidden } = draw(question, decision, &self.redactor);
        ui.say(&format!("? {head}"));
        shown.iter().for_each(|line| ui.say(line));
        // What was typed before the question could be read is no answer to it.
        discard();
        loop {
            if !hidden.is_empty() {
                ui.say(&format!("  ... {} more lines, which `v` shows; `y` counts only then", hidden.len()));
            }
            choices(question, hidden.len(), self.rules.as_deref()).iter().for_each(|line| ui.say(line));
            ui.raw("Run it? [y/N] ");
            match understand(&reply::next().await?, question, hidden.len()) {
                Said::Remember if self.rules.is_none() => ui.say("there is no config file it could go to"),
                Said::Remember => {
                    self.remember(question, &mut ui);
                    return Some(Approval::Always);
                }
                Said::Answer(answer) => return Some(answer),
                Said::Explain => question.explanation.iter().for_each(|line| ui.say(line)),
                Said::View => hidden.drain(..).for_each(|line| ui.say(&line)),
                Said::Unclear(why) => ui.say(&why),
            }
        }
    }
}

impl Asking {
    /// Writes the rule down for later sessions (DEC-2). It holds in this one whether or not that works.
    fn remember(&self, question: &Question, ui: &mut Ui) {
        let (Some(file), Some(rule)) = (&self.rules, &question.always) else { return };
        let file_name = one_line(&file.display().to_string()).into_owned();
        match added_rule::add(file, rule) {
            Ok(()) => ui.say(&format!("Added to {file_name}: {}", one_line(rule))),
            Err(why) => {
                ui.warn(&format!("{file_name} was not changed: {why}; the rule holds in this session"))
            }
        }
    }
}

/// Waits until the program wants the turn to end.
async fn interrupted(client: &mut Option<Client>) {
    match client {
        Some(client) => client.interrupted().await,
        None => std::future::pending().await,
    }
}

/// Waits for the program's answer; without one it is no.
async fn ask_client(client: &mut Option<Client>) -> Option<Approval> {
    match client {
        Some(client) => client.answer().await,
        None => Some(Approval::Reject { reason: None }),
    }
}

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Answer(Approval),
    /// Always, and in later sessions too.
    Remember,
    Explain,
    View,
    Unclear(String),
}

/// The answers that are possible; the rule of "always" has a line of its own, because it has to be read.
fn choices(question: &Question, hidden: usize, rules: Option<&Path>) -> Vec<String> {
    let always =
        question.always.as_ref().map(|rule| format!("  a: always in this session: {}", one_line(rule)));
    let later = rules.filter(|_| always.is_some()).map(|file| {
        format!(
            "  u: always, and in later sessions: the same rule goes to {}",
            one_line(&file.display().to_string())
        )
    });
    let view = if hidden > 0 { "; v: view the rest" } else { "" };
    let others = format!("  y: yes, once; n: no, or `n WHY` to tell the model; e: explain{view}");
    always.into_iter().chain(later).chain([others]).collect()
}

fn understand(line: &str, question: &Question, hidden: usize) -> Said {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let unclear = |why: &str| Said::Unclear(why.to_owned());
    match (word.to_lowercase().as_str(), rest.trim()) {
        ("", _) | ("n" | "no" | "r" | "reject", "") => Said::Answer(Approval::Reject { reason: None }),
        ("n" | "no" | "r" | "reject", reason) => {
            Said::Answer(Approval::Reject { reason: Some(reason.to_owned()) })
        }
        ("y" | "yes" | "approve" | "a" | "always" | "u" | "user", "") if hidden > 0 => {
            Said::Unclear(format!("{hidden} lines have not been shown; `v` shows them"))
        }
        ("y" | "yes" | "approve", "") => Said::Answer(Approval::Allow),
        ("a" | "always", "") if question.always.is_some() => Said::Answer(Approval::Always),
        ("u" | "user", "") if question.always.is_some() => Said::Remember,
        ("a" | "always" | "u" | "user", "") => unclear("\"always\" is not possible for this call"),
        ("e" | "explain", "") => Said::Explain,
        ("v" | "view", "") if hidden > 0 => Said::View,
        ("v" | "view", "") => unclear("everything has been shown"),
        _ => unclear("that is none of the answers; Enter alone means no"),
    }
}

#[cfg(test)]
mod tests {
    use zori_core::question::Preview;

    use super::*;

    fn question(always: Option<&str>) -> Question {
        let preview = Preview::Input("{}".to_owned());
        let always = always.map(str::to_owned);
        Question { tool: "t".to_owned(), preview, always, explanation: Vec::new() }
    }

    /// Only a plain yes is one, and only to what was shown.
    #[test]
    fn what_answers_mean() {
        let reject =
            |reason: Option<&str>| Said::Answer(Approval::Reject { reason: reason.map(str::to_owned) });
        let with = question(Some("Bash(ls)"));
        for (line, said) in [
            ("\n", reject(None)),
            (" n \n", reject(None)),
            ("No\n", reject(None)),
            ("n not  here\n", reject(Some("not  here"))),
            ("y\n", Said::Answer(Approval::Allow)),
            ("YES\n", Said::Answer(Approval::Allow)),
            ("a\n", Said::Answer(Approval::Always)),
            ("u\n", Said::Remember),
            ("e\n", Said::Explain),
        ] {
            assert_eq!(understand(line, &with, 0), said, "{line}");
        }
        for line in ["yy", "y please", "ja", "a lot", "v", "1"] {
            assert!(matches!(understand(line, &with, 0), Said::Unclear(_)), "{line}");
        }
        for line in ["y", "a", "u"] {
            let said = Said::Unclear("7 lines have not been shown; `v` shows them".to_owned());
            assert_eq!(understand(line, &with, 7), said, "{line}");
        }
        assert_eq!(understand("v", &with, 7), Said::View);
        for line in ["a", "u"] {
            assert!(matches!(understand(line, &question(None), 0), Said::Unclear(_)), "it was not offered");
        }
    }
}
