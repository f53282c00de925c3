//! The program behind `--json`: its lines on standard input, and its answers to questions (`agent-modes.md` section 5).
//!
//! One thread reads and feeds a channel, so that cancelling a turn loses no line (D-19). It starts when the first line is
//! wanted: behind `-p` that is the first question, so a standard input that belongs to somebody else is left alone.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use zori_core::input::Approval;
use zori_frontends::jsonl::command::{Command, Stream};
use zori_frontends::jsonl::{Code, Events, elicitation};

use crate::secrets;
use crate::workers::{Need, Worker, Workers};

/// A line may have this many bytes (IO-4).
const MOST_BYTES: usize = 16 << 20;
/// So many commands wait for their turn at most; then nothing more is read, an interrupt included.
const MOST_WAITING: usize = 1000;
/// So long a program may take to answer a question (D-18).
const SILENCE: Duration = Duration::from_secs(30);

const READER: Worker = Worker { name: "stdin", need: Need::Always };

/// A program that sends lines.
pub struct Client {
    events: Events,
    workers: Workers,
    stream: Stream,
    /// A person types: they may think as long as they like, and what they typed before a question is no answer to it.
    terminal: bool,
    silence: Duration,
    /// `None` until the first line is wanted.
    lines: Option<mpsc::Receiver<Line>>,
    /// What is for later, in the order it came.
    waiting: VecDeque<Said>,
    ended: bool,
    interrupted: bool,
}

/// What the thread has read.
enum Line {
    Text(String),
    /// It is longer than [`MOST_BYTES`].
    TooLong,
    /// It is not UTF-8 from this byte on.
    NotText(usize),
}

/// A line: what it asks for, or what is wrong with it.
type Said = Result<Command, String>;

/// What came, or did not.
enum Heard {
    Said(Said),
    End,
    Silence,
}

impl Client {
    /// Returns the program on standard input. What is wrong with its lines is told as events.
    pub fn new(events: Events, workers: Workers, bare: bool, terminal: bool) -> Self {
        let stream = if bare { Stream::Commands } else { Stream::Lines };
        let (lines, waiting) = (None, VecDeque::new());
        Self {
            events,
            workers,
            stream,
            terminal,
            silence: SILENCE,
            lines,
            waiting,
            ended: false,
            interrupted: false,
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

    /// Listens while a turn runs, until the program wants it to end. Everything else waits for the turn's end.
    pub async fn interrupted(&mut self) {
        loop {
            if self.lines.is_none() || self.ended || self.waiting.len() >= MOST_WAITING {
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

    /// Waits for the answer to a question. `None` means that the program wants the turn to end. Whoever says nothing says
    /// no.
    pub async fn answer(&mut self) -> Option<Approval> {
        let no = |why: &str| Some(Approval::Reject { reason: Some(why.to_owned()) });
        let early = self.waiting.iter().position(|command| matches!(command, Ok(Command::Line(_))));
        if let Some(Ok(Command::Line(line))) =
            early.filter(|_| !self.terminal).and_then(|at| self.waiting.remove(at))
        {
            return Some(elicitation::plain(&line));
        }
        let until = Instant::now() + self.silence;
        loop {
            match self.read_until(until).await {
                Heard::Said(Ok(Command::Answer(response))) => match response.approval() {
                    Ok(answer) => return Some(answer),
                    Err(unanswered) => self.refuse(&unanswered.to_string()),
                },
                Heard::Said(Ok(Command::Line(line))) => return Some(elicitation::plain(&line)),
                Heard::Said(Ok(Command::Interrupt)) => {
                    self.interrupted = true;
                    return None;
                }
                Heard::Said(Ok(Command::Exit)) => {
                    self.waiting.push_front(Ok(Command::Exit));
                    return no("the client ends the session");
                }
                Heard::Said(Ok(other)) => self.waiting.push_back(Ok(other)),
                // Perhaps it was to be the answer.
                Heard::Said(Err(why)) => self.refuse(&why),
                Heard::End => return no("standard input has ended, so nobody can answer"),
                Heard::Silence => return no("nobody has answered in time"),
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
        let _ = self.events.error(Code::BadCommand, &secrets::redactor().redact(why));
    }

    async fn read_until(&mut self, until: Instant) -> Heard {
        let heard = match self.terminal {
            true => self.read().await,
            false => match timeout_at(until, self.read()).await {
                Ok(heard) => heard,
                Err(_) => return Heard::Silence,
            },
        };
        heard.map_or(Heard::End, Heard::Said)
    }

    /// Waits for a line that says something. Dropping the wait loses nothing.
    async fn read(&mut self) -> Option<Said> {
        while !self.ended {
            let line = self.lines().recv().await;
            let parsed = match line {
                None => {
                    self.ended = true;
                    break;
                }
                Some(Line::Text(text)) => Command::parse(&text, self.stream),
                Some(Line::TooLong) => Err(format!("a line has more than {MOST_BYTES} bytes")),
                Some(Line::NotText(at)) => Err(format!("a line is not UTF-8 text (byte {at})")),
            };
            if let Some(said) = parsed.transpose() {
                return Some(said);
            }
        }
        None
    }

    fn lines(&mut self) -> &mut mpsc::Receiver<Line> {
        self.lines.get_or_insert_with(|| {
            let (sender, lines) = mpsc::channel(64);
            // Without a thread there are no lines, which is the end of them.
            let _ = self.workers.spawn(READER, move || feed(io::stdin().lock(), &sender));
            lines
        })
    }
}

/// Reads lines until they end, or nobody wants them any more.
fn feed(mut input: impl BufRead, lines: &mpsc::Sender<Line>) {
    loop {
        let mut bytes = Vec::new();
        match input.by_ref().take(MOST_BYTES as u64 + 1).read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = if bytes.len() > MOST_BYTES && bytes.last() != Some(&b'\n') {
            if skip_line(&mut input).is_err() {
                return;
            }
            Line::TooLong
        } else {
            match String::from_utf8(bytes) {
                Ok(text) => Line::Text(text),
                Err(error) => Line::NotText(error.utf8_error().valid_up_to()),
            }
        };
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(buffer.len(), |at| at + 1);
        let over = end.is_some() || count == 0;
        input.consume(count);
        if over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

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

    /// A client that says these lines; the end follows unless the sender is kept.
    fn client(lines: &[&str]) -> (Client, mpsc::Sender<Line>, Paper) {
        let paper = Paper::default();
        let workers = Workers::untraced(false);
        let mut client = Client::new(Events::new(Box::new(paper.clone())), workers, false, false);
        let (sender, receiver) = mpsc::channel(64);
        for line in lines {
            sender.try_send(Line::Text((*line).to_owned())).ok().unwrap();
        }
        client.lines = Some(receiver);
        client.silence = Duration::from_millis(20);
        (client, sender, paper)
    }

    fn now<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    fn reject(why: &str) -> Option<Approval> {
        Some(Approval::Reject { reason: Some(why.to_owned()) })
    }

    const YES: &str = r#"{"type":"elicitation_response","action":"accept","content":{"approve":true}}"#;

    /// D-18: only a yes is one; silence, the end and anything else are a no.
    #[test]
    fn answers() {
        for (line, wanted) in [
            ("y", Some(Approval::Allow)),
            ("always", Some(Approval::Always)),
            ("no", Some(Approval::Reject { reason: None })),
            ("use another file", reject("use another file")),
            (YES, Some(Approval::Allow)),
            (r#"{"type":"elicitation_response","action":"decline","content":{"reason":"x"}}"#, reject("x")),
            (r#"{"type":"elicitation_response","action":"cancel"}"#, Some(Approval::Reject { reason: None })),
            (r#"{"type":"exit"}"#, reject("the client ends the session")),
            (r#"{"type":"interrupt"}"#, None),
        ] {
            let (mut client, _kept, _) = client(&[line]);
            assert_eq!(now(client.answer()), wanted, "{line}");
        }
        let (mut silent, kept, _) = client(&[]);
        assert_eq!(now(silent.answer()), reject("nobody has answered in time"));
        drop(kept);
        assert_eq!(now(silent.answer()), reject("standard input has ended, so nobody can answer"));
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

    /// IO-4: a line that is too long or no text costs that line and no other.
    #[test]
    fn lines_are_read_whatever_they_are() {
        let mut input = vec![b'x'; MOST_BYTES + 5];
        input.extend_from_slice(b"\nshort\r\n\xff\xfe\n");
        input.extend_from_slice(&vec![b'y'; MOST_BYTES]);
        input.extend_from_slice(b"\nlast");
        let (sender, mut lines) = mpsc::channel(64);
        feed(io::Cursor::new(input), &sender);
        drop(sender);
        let mut got = Vec::new();
        while let Some(line) = lines.blocking_recv() {
            got.push(match line {
                Line::Text(text) => format!("{} bytes, {:?}", text.len(), text.chars().next()),
                Line::TooLong => "too long".to_owned(),
                Line::NotText(at) => format!("no text at {at}"),
            });
        }
        let whole = format!("{} bytes, Some('y')", MOST_BYTES + 1);
        assert_eq!(got, ["too long", "7 bytes, Some('s')", "no text at 0", &whole, "4 bytes, Some('l')"]);
    }
}
