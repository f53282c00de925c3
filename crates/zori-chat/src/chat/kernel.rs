//! Lines of a terminal that can do nothing but print and read them (ACC-1): what edits a line is the terminal itself.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use zori_contract::failure::Failure;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;

use super::lines::{Line, More};
use zori_setup::asking::reply;
use zori_setup::signals::Signals;
use zori_setup::ui::Ui;

/// A second Ctrl-C leaves only so soon after the first.
const AGAIN: Duration = Duration::from_secs(3);

/// The terminal.
pub struct Kernel {
    runtime: Arc<Runtime>,
    /// When Ctrl-C was pressed; once more leaves.
    leaving: Option<Instant>,
}

impl Kernel {
    /// Reads lines of standard input on this runtime.
    pub fn new(runtime: Arc<Runtime>) -> Self {
        Self { runtime, leaving: None }
    }

    /// Waits for the next line; a backslash at its end begins another. Ctrl-C puts it away; twice in a row it leaves.
    pub fn next(&mut self, signals: &Signals) -> Result<Line, Failure> {
        let mut text = String::new();
        loop {
            let mark = if text.is_empty() { "you>" } else { "...>" };
            match self.more(mark, signals) {
                More::Text(line) => {
                    self.leaving = None;
                    match line.strip_suffix('\\') {
                        Some(line) => text.push_str(&format!("{line}\n")),
                        None => return Ok(Line::Text(text + &line)),
                    }
                }
                More::End => return Ok(Line::End),
                More::Cancelled if self.leaving.is_some_and(|first| first.elapsed() < AGAIN) => {
                    return Ok(Line::End);
                }
                More::Cancelled => {
                    self.leaving = Some(Instant::now());
                    text.clear();
                    Ui::fixed_words().say("(Ctrl-C again, Ctrl-D or :q to quit)");
                }
            }
        }
    }

    /// Waits for a line behind `mark`.
    pub fn more(&self, mark: &str, signals: &Signals) -> More {
        let mut err = io::stderr();
        // Nothing can be done when standard error is gone.
        let _ = err.write_all(format!("{mark} ").as_bytes()).and_then(|()| err.flush());
        let (sender, mut heard) = mpsc::channel(16);
        let listening = signals.listen(sender);
        let read = self.runtime.block_on(async {
            tokio::select! {
                biased;
                Some(input) = heard.recv() => Err(input),
                line = reply::next() => Ok(line),
            }
        });
        drop(listening);
        match read {
            Ok(Some(line)) => More::Text(line.trim_end_matches(['\r', '\n']).to_owned()),
            Ok(None) => {
                Ui::fixed_words().say("");
                More::End
            }
            Err(Input::Cancel(CancelCause::User)) => {
                Ui::fixed_words().say("");
                More::Cancelled
            }
            Err(_) => {
                Ui::fixed_words().say("");
                More::End
            }
        }
    }
}
