//! Standard input as lines, read beside a turn.
//!
//! One thread reads and feeds a channel, so that cancelling a turn loses no line (D-19), and interrupts and answers are
//! heard while the model speaks. It starts when the first line is wanted. What a line means is its reader's business.

use std::io::{self, BufRead, Read};

use tokio::sync::mpsc;

use crate::workers::{Need, Worker, Workers};

/// A line may have this many bytes (IO-4).
const MOST_BYTES: usize = 16 << 20;

const READER: Worker = Worker { name: "stdin", need: Need::Always };

/// What the thread has read.
#[derive(Debug)]
pub enum Line {
    /// A line, with its end where it has one.
    Text(String),
    /// It is longer than what is read of one.
    TooLong,
    /// It is not UTF-8 from this byte on.
    NotText(usize),
}

impl Line {
    /// Returns the text, or what is wrong with the line.
    pub fn text(self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::TooLong => Err(format!("a line has more than {MOST_BYTES} bytes")),
            Self::NotText(at) => Err(format!("a line is not UTF-8 text (byte {at})")),
        }
    }
}

/// The program behind `--json`.
pub type Client = zori_serve::jsonl::Client<Lines>;

/// The lines of standard input.
pub struct Lines {
    workers: Workers,
    /// `None` until the first line is wanted.
    lines: Option<mpsc::Receiver<Line>>,
}

impl Lines {
    /// Reads nothing yet.
    pub fn new(workers: Workers) -> Self {
        Self { workers, lines: None }
    }

    /// Returns whether a line was wanted yet.
    pub fn begun(&self) -> bool {
        self.lines.is_some()
    }

    /// Waits for the next line; `None` when there are no more. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Option<Line> {
        let lines = self.lines.get_or_insert_with(|| {
            let (sender, lines) = mpsc::channel(64);
            // Without a thread there are no lines, which is the end of them.
            let _ = self.workers.spawn(READER, move || feed(io::stdin().lock(), &sender));
            lines
        });
        lines.recv().await
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

impl zori_serve::Lines for Lines {
    fn begun(&self) -> bool {
        Lines::begun(self)
    }

    async fn next(&mut self) -> Option<Result<String, String>> {
        Lines::next(self).await.map(Line::text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
