//! The program behind `--json`: its lines on standard input, and its answers to questions
//! (`docs/contracts/json-events.md`).
//!
//! Lines are read from the first one that is wanted on: behind `-p` that is the first question, so a standard input that
//! belongs to somebody else is left alone.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use zori_core::ids::CallId;
use zori_core::input::{Approval, Input};
use zori_core::outcome::CancelCause;
use zori_core::question::{Choice, Preview};
use zori_frontends::jsonl::command::{Command, Stream};
use zori_frontends::jsonl::{Code, EventWriter, elicitation};
use zori_redact::Redactor;

use crate::{INPUT_ENDED, Lines};

/// So many commands wait for their turn at most; then nothing more is read, an interrupt included.
const MOST_WAITING: usize = 1000;
/// So long a program may take to answer a question (D-18).
const SILENCE: Duration = Duration::from_secs(30);

/// A program that sends lines.
pub struct Client<L> {
    events: EventWriter,
    redactor: Redactor,
    stream: Stream,
    /// A person types: they may think as long as they like, and what they typed before a question is no answer to it.
    terminal: bool,
    silence: Duration,
    lines: L,
    /// What is for later, in the order it came.
    waiting: VecDeque<ParsedLine>,
    ended: bool,
    interrupted: bool,
    /// An empty line is an answer.
    blank_counts: bool,
    /// The question that waits for an answer.
    open: Option<Open>,
}

/// A question about a call, and until when it waits.
struct Open {
    call: CallId,
    until: Instant,
    /// The questions that a call asks; none where it is about the call.
    choices: Vec<Choice>,
}

/// The command on a line, or what is wrong with it.
type ParsedLine = Result<Command, String>;

/// What came of waiting for a line.
enum LineEvent {
    Line(ParsedLine),
    End,
    Timeout,
}

impl<L: Lines> Client<L> {
    /// Returns the program on standard input. What is wrong with its lines is told as events.
    pub fn new(events: EventWriter, lines: L, redactor: Redactor, bare: bool, terminal: bool) -> Self {
        let stream = if bare { Stream::Commands } else { Stream::Lines };
        Self {
            events,
            redactor,
            stream,
            terminal,
            silence: SILENCE,
            lines,
            waiting: VecDeque::new(),
            ended: false,
            interrupted: false,
            blank_counts: false,
            open: None,
        }
    }

    /// Waits for the next command, between turns. `None` means that there are no more.
    pub async fn next(&mut self) -> Option<Command> {
        loop {
            let said = match self.waiting.pop_front() {
                Some(said) => said,
                None => self.read().await?,
            };
            match said {
                Ok(command) => return Some(command),
                Err(why) => self.refuse(&why),
            }
        }
    }

    /// Takes empty lines for answers from now on, or drops them.
    pub fn count_blanks(&mut self, counts: bool) {
        self.blank_counts = counts;
    }

    /// Listens while a turn runs, until the program wants it to end. Everything else waits for the turn's end.
    async fn interrupted(&mut self) {
        loop {
            if !self.lines.begun() || self.ended || self.waiting.len() >= MOST_WAITING {
                return std::future::pending().await;
            }
            match self.read().await {
                Some(Ok(Command::Interrupt)) => {
                    self.interrupted = true;
                    return;
                }
                Some(Ok(Command::Answer(_))) => self.no_question(),
                Some(other) => self.waiting.push_back(other),
                None => {}
            }
        }
    }

    /// Takes a question about a call; what the program says next may answer it.
    pub fn ask(&mut self, call: CallId, preview: &Preview) {
        let choices = if let Preview::Choices(choices) = preview { choices.clone() } else { Vec::new() };
        self.open = Some(Open { call, until: Instant::now() + self.silence, choices });
    }

    /// Puts away a question that nobody waits for any more.
    pub fn turn_over(&mut self) {
        self.open = None;
    }

    /// Waits for what the program says to a turn that runs. Dropping the wait loses nothing.
    pub async fn input(&mut self) -> Input {
        if self.open.is_none() {
            self.interrupted().await;
            return Input::Cancel(CancelCause::User);
        }
        let answer = self.answer().await;
        match (self.open.take(), answer) {
            (Some(Open { call, .. }), Some(answer)) => Input::Approve { call, answer },
            _ => Input::Cancel(CancelCause::User),
        }
    }

    /// Waits for the answer to a question. `None` means that the program wants the turn to end. Without an answer the call does
    /// not run, and nobody is said to have rejected it.
    async fn answer(&mut self) -> Option<Approval> {
        let no = |why: &str| Some(Approval::Unavailable { why: why.to_owned() });
        let choices = self.open.as_ref().map_or_else(Vec::new, |open| open.choices.clone());
        let plain = |line: &str| match choices.is_empty() {
            true => Ok(elicitation::plain(line)),
            false => elicitation::plain_answer(line, &choices),
        };
        let early = self.waiting.iter().position(|command| matches!(command, Ok(Command::Line(_))));
        if let Some(Ok(Command::Line(line))) =
            early.filter(|_| !self.terminal).and_then(|at| self.waiting.remove(at))
        {
            match plain(&line) {
                Ok(answer) => return Some(answer),
                Err(unanswered) => self.refuse(&unanswered.to_string()),
            }
        }
        let until = self.open.as_ref().map_or_else(|| Instant::now() + self.silence, |open| open.until);
        loop {
            match self.read_until(until).await {
                LineEvent::Line(Ok(Command::Answer(response))) => {
                    let answer = match choices.is_empty() {
                        true => response.approval(),
                        false => response.answers(&choices),
                    };
                    match answer {
                        Ok(answer) => return Some(answer),
                        Err(unanswered) => self.refuse(&unanswered.to_string()),
                    }
                }
                LineEvent::Line(Ok(Command::Line(line))) => match plain(&line) {
                    Ok(answer) => return Some(answer),
                    Err(unanswered) => self.refuse(&unanswered.to_string()),
                },
                LineEvent::Line(Ok(Command::Interrupt)) => {
                    self.interrupted = true;
                    return None;
                }
                LineEvent::Line(Ok(Command::Exit)) => {
                    self.waiting.push_front(Ok(Command::Exit));
                    return no("the client ends the session");
                }
                LineEvent::Line(Ok(other)) => self.waiting.push_back(Ok(other)),
                // Perhaps it was to be the answer.
                LineEvent::Line(Err(why)) => self.refuse(&why),
                LineEvent::End => return no(INPUT_ENDED),
                LineEvent::Timeout => return no("nobody has answered in time"),
            }
        }
    }

    /// Returns whether it was the program that ended the last turn.
    pub fn take_interrupted(&mut self) -> bool {
        std::mem::take(&mut self.interrupted)
    }

    /// Says that an answer came to no question (IO-7).
    fn no_question(&self) {
        self.refuse("no question is open");
    }

    /// Says what is wrong with a line. A reader that is gone is found out by whoever looks at the events.
    fn refuse(&self, why: &str) {
        let _ = self.events.error(Code::BadCommand, &self.redactor.redact(why));
    }

    async fn read_until(&mut self, until: Instant) -> LineEvent {
        let heard = match self.terminal {
            true => self.read().await,
            false => match timeout_at(until, self.read()).await {
                Ok(heard) => heard,
                Err(_) => return LineEvent::Timeout,
            },
        };
        heard.map_or(LineEvent::End, LineEvent::Line)
    }

    /// Waits for a line that says something. Dropping the wait loses nothing.
    async fn read(&mut self) -> Option<ParsedLine> {
        while !self.ended {
            let parsed = match self.lines.next().await {
                None => {
                    self.ended = true;
                    break;
                }
                Some(Ok(text)) => Command::parse(&text, self.stream),
                Some(Err(why)) => Err(why),
            };
            match parsed.transpose() {
                Some(said) => return Some(said),
                None if self.blank_counts => return Some(Ok(Command::Line(String::new()))),
                None => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tokio::sync::mpsc;

    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Lines that a test sends.
    struct Sent(mpsc::Receiver<String>);

    impl Lines for Sent {
        fn begun(&self) -> bool {
            true
        }

        async fn next(&mut self) -> Option<Result<String, String>> {
            self.0.recv().await.map(Ok)
        }
    }

    /// A client that says these lines; the end follows unless the sender is kept.
    fn client(lines: &[&str]) -> (Client<Sent>, mpsc::Sender<String>, Paper) {
        let paper = Paper::default();
        let (sender, receiver) = mpsc::channel(64);
        let events = EventWriter::new(Box::new(paper.clone()));
        let mut client = Client::new(events, Sent(receiver), Redactor::default(), false, false);
        for line in lines {
            sender.try_send((*line).to_owned()).ok().unwrap();
        }
        client.silence = Duration::from_millis(20);
        (client, sender, paper)
    }

    fn now<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    fn reject(why: &str) -> Option<Approval> {
        Some(Approval::Reject { reason: Some(why.to_owned()) })
    }

    fn unavailable(why: &str) -> Option<Approval> {
        Some(Approval::Unavailable { why: why.to_owned() })
    }

    const YES: &str = r#"{"type":"elicitation_response","action":"accept","content":{"approve":true}}"#;

    /// D-18: only a yes is one; silence, the end and anything else are a no.
    #[test]
    fn answers() {
        for (line, wanted) in [
            ("y", Some(Approval::Allow)),
            ("always", Some(Approval::Grant(0))),
            ("a2", Some(Approval::Grant(1))),
            ("no", Some(Approval::Reject { reason: None })),
            ("use another file", reject("use another file")),
            (YES, Some(Approval::Allow)),
            (r#"{"type":"elicitation_response","action":"decline","content":{"reason":"x"}}"#, reject("x")),
            (r#"{"type":"elicitation_response","action":"cancel"}"#, Some(Approval::Reject { reason: None })),
            (r#"{"type":"exit"}"#, unavailable("the client ends the session")),
            (r#"{"type":"interrupt"}"#, None),
        ] {
            let (mut client, _kept, _) = client(&[line]);
            assert_eq!(now(client.answer()), wanted, "{line}");
        }
        let (mut silent, kept, _) = client(&[]);
        assert_eq!(now(silent.answer()), unavailable("nobody has answered in time"));
        drop(kept);
        assert_eq!(now(silent.answer()), unavailable("standard input has ended, so nobody can answer"));
    }

    /// IO-7: an answer that says nothing leaves the question open, and one that nobody asked for changes nothing.
    #[test]
    fn answers_that_are_none() {
        let empty = r#"{"type":"elicitation_response","action":"accept"}"#;
        let (mut client, _kept, paper) = client(&[empty, r#"{"type":"prompt","text":"later"}"#, YES, YES]);
        assert_eq!(now(client.answer()), Some(Approval::Allow));
        let listening = async { tokio::time::timeout(Duration::from_millis(5), client.interrupted()).await };
        assert!(now(listening).is_err());
        assert_eq!(now(client.next()), Some(Command::Prompt("later".to_owned())));
        let said = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert_eq!(
            said,
            "{\"type\":\"error\",\"schema\":1,\"message\":\"`content.approve` must be true or false; the question \
             is still open\",\"code\":\"bad_command\"}\n\
             {\"type\":\"error\",\"schema\":1,\"message\":\"no question is open\",\"code\":\"bad_command\"}\n"
        );
    }
}
