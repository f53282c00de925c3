//! Changes of files: numbered rows, three of context, changed words marked.

use std::ops::Range;
use std::path::Path;

use similar::{DiffTag, TextDiff};
use zori_core::tool::FileChange;

use super::output::hidden;
use crate::cell::{CellCx, Detail};
use crate::highlight::{self, Highlighter};
use crate::row::{Ground, Role, Row, Span};
use crate::wrap::{Break, CODE_TAB, expand_tabs, truncate, wrap_spans};

/// Rows around a change, and rows that the transcript shows.
const CONTEXT: usize = 3;
const ROWS: usize = 20;
/// Lines that are compared one by one; a larger change is drawn as everything removed and everything added.
const COMPARED: usize = 4000;
/// Lines that are kept of one change.
const KEPT: usize = 2000;

/// The change of one file, ready to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    pub path: String,
    pub verb: &'static str,
    pub added: usize,
    pub removed: usize,
    lines: Vec<Line>,
    /// Lines that were not kept.
    cut: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    kind: LineKind,
    /// The number in the file it is shown from; 0 where lines are left out, and where it is not known.
    number: usize,
    text: String,
    /// The part that differs from the line it replaces.
    changed: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Same,
    Added,
    Removed,
    Gap,
}

/// A change of one file as a call asked for it, where nobody kept the file as it was before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedChange {
    pub path: String,
    pub verb: &'static str,
    pub places: Vec<ChangedPlace>,
}

/// What is replaced in one place of a file, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPlace {
    pub before: String,
    pub after: String,
    /// The number of the first line, where that is known.
    pub line: Option<usize>,
    /// How often this was done.
    pub times: usize,
}

/// Returns how many lines a change adds and removes.
pub fn line_counts(change: &FileChange) -> (usize, usize) {
    let diff = Diff::new(change);
    (diff.added, diff.removed)
}

impl Diff {
    /// Compares a file before and after.
    pub fn new(change: &FileChange) -> Self {
        let before = change.before.as_deref().unwrap_or_default();
        let after = change.after.as_deref().unwrap_or_default();
        let verb = match (&change.before, &change.after) {
            (None, _) => "Create",
            (_, None) => "Delete",
            _ => "Edit",
        };
        let mut diff =
            Self { path: shown(&change.path), verb, added: 0, removed: 0, lines: Vec::new(), cut: 0 };
        diff.compare(before, after);
        diff
    }

    /// Compares what a call asked for, place by place.
    pub fn asked(change: &AskedChange) -> Self {
        let mut all = Self {
            path: change.path.clone(),
            verb: change.verb,
            added: 0,
            removed: 0,
            lines: Vec::new(),
            cut: 0,
        };
        for place in &change.places {
            if !all.lines.is_empty() {
                all.push(LineKind::Gap, 0, "");
            }
            let (added, removed, first) = (all.added, all.removed, all.lines.len());
            all.compare(&place.before, &place.after);
            // The number of times comes from a file that anybody may have written.
            let more = |lines: usize| lines.saturating_mul(place.times.saturating_sub(1));
            all.added = all.added.saturating_add(more(all.added - added));
            all.removed = all.removed.saturating_add(more(all.removed - removed));
            for line in &mut all.lines[first..] {
                line.number = place.line.filter(|_| line.number > 0).map_or(0, |at| at + line.number - 1);
            }
        }
        all
    }

    /// Returns whether it is known how many lines were added and removed.
    pub fn is_counted(&self) -> bool {
        self.added + self.removed > 0 || !matches!(self.verb, "Delete" | "Write")
    }

    fn compare(&mut self, before: &str, after: &str) {
        let old: Vec<&str> = before.lines().collect();
        let new: Vec<&str> = after.lines().collect();
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        let (old_middle, new_middle) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
        let mut changes: Vec<(DiffTag, Range<usize>, Range<usize>)> = Vec::new();
        if old_middle.len().max(new_middle.len()) > COMPARED {
            changes.push((DiffTag::Replace, head..old.len() - tail, head..new.len() - tail));
        } else {
            for op in TextDiff::from_slices(old_middle, new_middle).ops() {
                let (tag, a, b) = op.as_tag_tuple();
                if tag != DiffTag::Equal {
                    changes.push((tag, a.start + head..a.end + head, b.start + head..b.end + head));
                }
            }
        }
        let mut drawn = 0;
        for (i, (_, a, b)) in changes.iter().enumerate() {
            let from = b.start.saturating_sub(CONTEXT).max(drawn);
            if i > 0 && from > drawn {
                self.push(LineKind::Gap, 0, "");
            }
            self.push_all(LineKind::Same, &new, from..b.start);
            let pairs = if a.len() == b.len() { a.len() } else { 0 };
            let start = self.lines.len();
            self.push_all(LineKind::Removed, &old, a.clone());
            self.push_all(LineKind::Added, &new, b.clone());
            for pair in 0..pairs {
                self.mark(start + pair, start + a.len() + pair);
            }
            self.removed += a.len();
            self.added += b.len();
            let next = changes.get(i + 1).map_or(new.len(), |(_, _, b)| b.start);
            drawn = (b.end + CONTEXT).min(next);
            self.push_all(LineKind::Same, &new, b.end..drawn);
        }
    }

    fn push_all(&mut self, kind: LineKind, lines: &[&str], range: Range<usize>) {
        for (line, number) in lines[range.clone()].iter().zip(range.start + 1..) {
            self.push(kind, number, line);
        }
    }

    fn push(&mut self, kind: LineKind, number: usize, text: &str) {
        match self.lines.len() < KEPT {
            true => {
                let text = expand_tabs(text, CODE_TAB).into_owned();
                self.lines.push(Line { kind, number, text, changed: None });
            }
            false => self.cut += 1,
        }
    }

    /// Marks what differs between a line and the one that replaces it, in whole words.
    fn mark(&mut self, old: usize, new: usize) {
        let (Some(a), Some(b)) = (self.lines.get(old), self.lines.get(new)) else { return };
        let (a, b) = (words(&a.text), words(&b.text));
        let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        let same: usize =
            a[..head].iter().chain(&a[a.len() - tail..]).filter(|word| !word.trim().is_empty()).count();
        // Lines with nothing in common are just two lines.
        if same == 0 {
            return;
        }
        let part = |words: &[&str]| {
            let start: usize = words[..head].iter().map(|word| word.len()).sum();
            let len: usize = words[head..words.len() - tail].iter().map(|word| word.len()).sum();
            (len > 0).then_some((start, start + len))
        };
        let (a, b) = (part(&a), part(&b));
        self.lines[old].changed = a;
        self.lines[new].changed = b;
    }

    /// Returns the rows of the change.
    pub fn rows(&self, width: u16, cx: &CellCx) -> Vec<Row> {
        let columns = usize::from(width);
        let mut highlighter = Highlighter::for_path(&self.path);
        let digits = self.lines.iter().map(|line| line.number).max().unwrap_or(0).to_string().len();
        let margin = 5.max(digits + 2);
        let shown = match cx.detail {
            Detail::Short if self.lines.len() + self.cut > ROWS => ROWS - 1,
            _ => self.lines.len(),
        };
        let mut rows = Vec::new();
        for line in &self.lines[..shown.min(self.lines.len())] {
            let spans = line.spans(highlighter.as_mut());
            let prefix = line.prefix(margin);
            match cx.detail {
                Detail::Short => {
                    let mut row = prefix;
                    row.spans.extend(spans);
                    rows.push(truncate(&row, columns));
                }
                Detail::Whole => {
                    let inner = columns.saturating_sub(prefix.width());
                    for (i, part) in wrap_spans(&spans, inner, Break::Anywhere).into_iter().enumerate() {
                        let mut row =
                            if i == 0 { prefix.clone() } else { Row::empty().with(" ".repeat(margin + 3)) };
                        row.spans.extend(part.spans);
                        rows.push(row);
                    }
                }
            }
        }
        let left = self.lines.len() - shown.min(self.lines.len()) + self.cut;
        if left > 0 {
            rows.push(truncate(&Span::new(format!("  {}", hidden(left, cx))).muted().into(), columns));
        }
        rows
    }
}

impl Line {
    fn prefix(&self, margin: usize) -> Row {
        let (sign, role) = match self.kind {
            LineKind::Same => (" ", Role::Muted),
            LineKind::Added => ("+", Role::Success),
            LineKind::Removed => ("-", Role::Error),
            LineKind::Gap => return Row::empty().with(" ".repeat(margin - 1)).with(Span::new("⋮").muted()),
        };
        let number = if self.number == 0 { String::new() } else { self.number.to_string() };
        let blank = if self.text.is_empty() { "" } else { " " };
        match (self.kind, blank) {
            (LineKind::Same, "") if number.is_empty() => Row::empty(),
            (LineKind::Same, "") => Row::empty().with(Span::new(format!("{number:>margin$}")).muted()),
            _ => Row::empty()
                .with(Span::new(format!("{number:>margin$} ")).muted())
                .with(Span::new(sign).role(role).ground(self.ground()))
                .with(Span::new(blank).ground(self.ground())),
        }
    }

    fn ground(&self) -> Ground {
        match self.kind {
            LineKind::Added => Ground::Added,
            LineKind::Removed => Ground::Removed,
            LineKind::Same | LineKind::Gap => Ground::None,
        }
    }

    fn spans(&self, highlighter: Option<&mut Highlighter>) -> Vec<Span> {
        let word = match self.kind {
            LineKind::Added => Ground::AddedWord,
            _ => Ground::RemovedWord,
        };
        let mut out = Vec::new();
        let mut at = 0;
        for span in highlight::spans(highlighter, &self.text) {
            let text = span.text.as_str().to_owned();
            let end = at + text.len();
            let (from, to) = match self.changed {
                Some((from, to)) => (from.clamp(at, end), to.clamp(at, end)),
                None => (end, end),
            };
            let parts = [(at..from, self.ground()), (from..to, word), (to..end, self.ground())];
            for (range, ground) in parts {
                // What is drawn visibly instead of a control character is longer than that; a part of it is not marked.
                if let Some(part) = text.get(range.start - at..range.end - at).filter(|part| !part.is_empty())
                {
                    out.push(Span::new(part).style(span.style).ground(ground));
                }
            }
            at = end;
        }
        out
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Splits a line into words, blanks and single signs.
fn words(line: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut out = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (i, c) in line.char_indices() {
        if before.is_some_and(|before| before != class(c) || before == 2) {
            out.push(&line[start..i]);
            start = i;
        }
        before = Some(class(c));
    }
    if start < line.len() {
        out.push(&line[start..]);
    }
    out
}
