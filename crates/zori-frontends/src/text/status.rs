//! Stderr: whole lines, and the two kinds of line that grow: a running tool, and reasoning.
//!
//! Nothing here fails. A run whose stderr is closed or full goes on; its answer is on stdout.

use std::io::Write;

use zori_core::ids::CallId;
use zori_core::text::neutral;
use zori_redact::Redactor;

/// Writes lines, and ends a line that is still growing before the next one.
pub(super) struct StatusLines {
    err: Box<dyn Write + Send>,
    colour: bool,
    redactor: Redactor,
    open_line: OpenLine,
    /// Reasoning that is not written yet.
    thoughts: String,
}

/// The line that is not ended yet.
#[derive(PartialEq)]
enum OpenLine {
    Nothing,
    Tool(CallId),
    Thinking,
}

impl StatusLines {
    pub(super) fn new(err: Box<dyn Write + Send>, colour: bool, redactor: Redactor) -> Self {
        Self { err, colour, redactor, open_line: OpenLine::Nothing, thoughts: String::new() }
    }

    pub(super) fn line(&mut self, text: &str) {
        self.close();
        let text = format!("{}\n", self.redactor.redact(text));
        self.raw(&text);
    }

    pub(super) fn dim_line(&mut self, text: &str) {
        self.close();
        let text = format!("{}\n", self.dim(&self.redactor.redact(text)));
        self.raw(&text);
    }

    /// Writes the first half of a tool's line.
    pub(super) fn open_tool(&mut self, call: CallId, text: &str) {
        self.close();
        let text = self.dim(text);
        self.raw(&text);
        self.open_line = OpenLine::Tool(call);
    }

    /// Writes the second half, or returns `false` where something else has been written since the first.
    pub(super) fn end_tool(&mut self, call: &CallId, text: &str) -> bool {
        let open = matches!(&self.open_line, OpenLine::Tool(open_line) if open_line == call);
        if open {
            let text = format!("{}\n", self.dim(text));
            self.raw(&text);
            self.open_line = OpenLine::Nothing;
        }
        open
    }

    /// Starts a new line: ends the one that grows, else leaves an empty one (OUT-8).
    pub(super) fn new_line(&mut self) {
        self.flush();
        self.open_line = OpenLine::Nothing;
        self.raw("\n");
    }

    pub(super) fn think(&mut self, text: &str) {
        if self.open_line != OpenLine::Thinking {
            self.close();
            self.open_line = OpenLine::Thinking;
        }
        self.thoughts.push_str(text);
    }

    pub(super) fn close_thinking(&mut self) {
        if self.open_line == OpenLine::Thinking {
            self.close();
        }
    }

    /// Ends the line that grows, if any.
    pub(super) fn close(&mut self) {
        self.flush();
        if self.open_line != OpenLine::Nothing {
            self.open_line = OpenLine::Nothing;
            self.raw("\n");
        }
    }

    pub(super) fn flush(&mut self) {
        if !self.thoughts.is_empty() {
            let thoughts = std::mem::take(&mut self.thoughts);
            let text = self.dim(&neutral(&thoughts));
            self.raw(&text);
        }
    }

    pub(super) fn raw(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush());
    }

    fn dim(&self, text: &str) -> String {
        if self.colour { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
    }
}
