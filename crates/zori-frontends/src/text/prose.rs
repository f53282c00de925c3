//! Stdout: the assistant's text as it came, except that exactly one newline ends each message (OUT-3).

use std::io::{self, Write};

use zori_core::text::neutral;

/// Collects text and writes it when told to, or when there is much of it.
pub(super) struct Prose {
    out: Box<dyn Write + Send>,
    /// Whether control characters have to be made visible.
    neutralise: bool,
    pending: String,
    /// Newlines that are written only if more text follows.
    held: usize,
    /// Whether a CR came last, which is harmless only if a newline follows.
    held_cr: bool,
    /// Whether this message has said anything.
    said: bool,
    /// Whether the last byte written was no newline.
    mid_line: bool,
}

/// The most text that is collected before it is written.
const MAX_PENDING: usize = 8 << 10;

impl Prose {
    pub(super) fn new(out: Box<dyn Write + Send>, neutralise: bool) -> Self {
        Self {
            out,
            neutralise,
            pending: String::new(),
            held: 0,
            held_cr: false,
            said: false,
            mid_line: false,
        }
    }

    pub(super) fn push(&mut self, text: &str) -> io::Result<()> {
        if !self.neutralise {
            return self.add(text);
        }
        let joined;
        let mut text = text;
        if std::mem::take(&mut self.held_cr) {
            joined = format!("\r{text}");
            text = &joined;
        }
        match text.strip_suffix('\r') {
            Some(before) => {
                self.held_cr = true;
                self.add(&neutral(before))
            }
            None => self.add(&neutral(text)),
        }
    }

    fn add(&mut self, text: &str) -> io::Result<()> {
        let body = text.trim_end_matches('\n');
        if !body.is_empty() {
            self.pending.extend(std::iter::repeat_n('\n', self.held));
            self.held = 0;
            self.said = true;
            self.pending.push_str(body);
        }
        self.held += text.len() - body.len();
        if self.pending.len() > MAX_PENDING { self.write() } else { Ok(()) }
    }

    pub(super) fn end_message(&mut self) {
        if std::mem::take(&mut self.held_cr) {
            self.pending.push_str(&neutral("\r"));
            self.said = true;
        }
        if std::mem::take(&mut self.said) {
            self.pending.push('\n');
        }
        self.held = 0;
    }

    /// Writes what was collected. What could not be written is not tried again: the reader would see it twice.
    pub(super) fn write(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.mid_line = !self.pending.ends_with('\n');
        let written = self.out.write_all(self.pending.as_bytes()).and_then(|()| self.out.flush());
        self.pending.clear();
        written
    }

    /// Returns whether the cursor stands in a line of text, which the caller is about to end.
    pub(super) fn leave_line(&mut self) -> bool {
        std::mem::take(&mut self.mid_line)
    }
}
