//! What a command printed, bounded (TRN-3): its first and its last bytes, and how many rows were between them.

use zori_core::text::{prefix, suffix};

use super::words::counted;
use crate::cell::{CellCx, Detail};
use crate::row::{Row, Span};
use crate::wrap::{Break, TAB, expand_tabs, truncate, wrap_spans};

/// How many bytes of each end are kept.
const KEPT: usize = 64 << 10;
/// What stands before each row.
const INDENT: usize = 2;

/// How many rows of a body the transcript shows.
#[derive(Clone, Copy)]
pub struct Shown {
    pub first: usize,
    pub last: usize,
}

impl Shown {
    /// A command that runs, and one that is done.
    pub const LIVE: Self = Self { first: 0, last: 5 };
    pub const COMMAND: Self = Self { first: 2, last: 3 };
    /// Everything else.
    pub const BRIEF: Self = Self { first: 3, last: 0 };
}

/// Bounded text.
#[derive(Clone, Debug, Default)]
pub struct Output {
    head: String,
    tail: String,
    /// How many line ends there were in all, and how many bytes were dropped between the two.
    ends: usize,
    dropped: usize,
}

impl Output {
    /// Returns the output of this text.
    pub fn of(text: &str) -> Self {
        let mut output = Self::default();
        output.push(text);
        output
    }

    /// Adds text.
    pub fn push(&mut self, text: &str) {
        self.ends += text.bytes().filter(|byte| *byte == b'\n').count();
        let room = KEPT.saturating_sub(self.head.len());
        let first = if self.tail.is_empty() && self.dropped == 0 { prefix(text, room) } else { "" };
        self.head.push_str(first);
        self.tail.push_str(&text[first.len()..]);
        if self.tail.len() > 2 * KEPT {
            let kept = suffix(&self.tail, KEPT).len();
            let gone = self.tail.len() - kept;
            self.dropped += gone;
            self.tail.drain(..gone);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.head.trim().is_empty() && self.tail.trim().is_empty()
    }

    /// Returns the text, with a line for what was dropped.
    pub fn text(&self) -> String {
        match self.dropped {
            0 => format!("{}{}", self.head, self.tail),
            dropped => format!("{}\n… {dropped} bytes left out …\n{}", self.head, self.tail),
        }
    }

    /// Returns the rows of the body.
    pub fn rows(&self, width: u16, cx: &CellCx, shown: Shown) -> Vec<Row> {
        let columns = usize::from(width);
        if self.is_empty() {
            return Vec::new();
        }
        if cx.detail == Detail::Whole {
            return self.text().trim_end().lines().flat_map(|line| whole(line, columns)).collect();
        }
        let all = self.lines();
        let fits = shown.first + shown.last;
        // A row that says "one more" takes the place of that one.
        if all <= fits + 1 && (all <= fits || shown.first > 0) {
            return self.text().trim_end().lines().map(|line| short(line, columns)).collect();
        }
        let mut rows: Vec<Row> = self.first(shown.first).iter().map(|line| short(line, columns)).collect();
        rows.push(truncate(&Span::new(format!("  {}", hidden(all - fits, cx))).muted().into(), columns));
        rows.extend(self.last(shown.last).iter().map(|line| short(line, columns)));
        rows
    }

    /// Returns how many lines there were, empty ones at the end left out.
    fn lines(&self) -> usize {
        let blank = |text: &str| ends_of(&text[text.trim_end().len()..]);
        let of_head = if self.tail.trim_end().is_empty() { blank(&self.head) } else { 0 };
        self.ends - blank(&self.tail) - of_head + 1
    }

    /// Returns the first lines. A frame of a running command must not read all it printed (PERF-10).
    fn first(&self, count: usize) -> Vec<String> {
        match self.head.lines().take(count + 1).count() > count || self.tail.is_empty() {
            true => self.head.lines().take(count).map(str::to_owned).collect(),
            false => self.text().lines().take(count).map(str::to_owned).collect(),
        }
    }

    /// Returns the last lines that are not empty at the end.
    fn last(&self, count: usize) -> Vec<String> {
        let of = |text: &str| {
            let mut lines: Vec<String> =
                text.trim_end().rsplit('\n').take(count).map(str::to_owned).collect();
            lines.reverse();
            lines
        };
        match self.tail.trim_end().rsplit('\n').take(count + 1).count() > count {
            true => of(&self.tail),
            false => of(&self.text()),
        }
    }
}

/// Returns the lines of what a program printed as rows, each as a terminal would have left it.
pub fn printed_rows(text: &str) -> Vec<Row> {
    text.trim_end().lines().map(printed_row).collect()
}

/// Returns one such line.
pub fn printed_row(line: &str) -> Row {
    Row::from(Span::new(printed(line)))
}

fn ends_of(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Says how many rows are not shown, and how to see them.
pub fn hidden(rows: usize, cx: &CellCx) -> String {
    let rows = counted(rows, "row", "rows");
    match (cx.running, cx.number) {
        (Some(_), _) => format!("… {rows} above · Ctrl-O opens"),
        (None, Some(number)) => format!("… {rows} · /show {number}"),
        (None, None) => format!("… {rows}"),
    }
}

fn short(line: &str, columns: usize) -> Row {
    // What would be cut off anyway is not looked at: a line may be as long as a file.
    let line = line.trim_end_matches('\r');
    let line = prefix(line.rsplit('\r').next().unwrap_or(line), 64 * (columns + 1));
    let row = Row::empty().with(" ".repeat(INDENT)).with(Span::new(printed(line)));
    truncate(&row, columns)
}

fn whole(line: &str, columns: usize) -> Vec<Row> {
    let rows = wrap_spans(&[Span::new(printed(line))], columns.saturating_sub(INDENT), Break::Anywhere);
    rows.into_iter()
        .map(|row| {
            let mut whole = Row::empty().with(" ".repeat(if row.spans.is_empty() { 0 } else { INDENT }));
            whole.spans.extend(row.spans);
            whole
        })
        .collect()
}

/// Returns a line as a terminal would have left it: what a carriage return went back over is gone, and so are colours (TERM-1).
fn printed(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or(line);
    let plain = without_colours(line);
    expand_tabs(&plain, TAB).trim_end().to_owned()
}

fn without_colours(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("\x1b[") {
        out.push_str(&rest[..at]);
        let parameters =
            rest[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ';' | ':'));
        match parameters.as_bytes().first() {
            // `m` is a colour, `K` erases what a progress line left.
            Some(b'm' | b'K') => rest = &parameters[1..],
            _ => {
                out.push('\x1b');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}
