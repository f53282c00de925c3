//! Rows as bytes for a terminal.

use std::fmt::Write as _;

use crate::row::{Row, Span, Style};
use crate::theme::Paint;
use crate::wrap;

/// Whether links may be written (OSC 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    Shown,
    /// The terminal is not known to take them.
    Left,
}

/// Writes a row, from and to a terminal without a style.
pub fn row(row: &Row, paint: &Paint, links: Links, out: &mut String) {
    spans(&row.spans, paint, links, out);
}

fn spans(spans: &[Span], paint: &Paint, links: Links, out: &mut String) {
    let mut style = Style::default();
    for span in spans {
        if span.style != style {
            match span.style == Style::default() {
                true => out.push_str("\x1b[0m"),
                false => paint.sgr(span.style, out),
            }
            style = span.style;
        }
        match (&span.link, links) {
            (Some(target), Links::Shown) => {
                write!(out, "\x1b]8;;{}\x1b\\{}\x1b]8;;\x1b\\", target.as_str(), span.text.as_str())
                    .expect("a string takes all");
            }
            _ => out.push_str(span.text.as_str()),
        }
    }
    if style != Style::default() {
        out.push_str("\x1b[0m");
    }
}

/// A cluster of a row, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Glyph<'a> {
    column: usize,
    text: &'a str,
    style: Style,
    link: Option<&'a str>,
}

/// Fewer columns than these are written again rather than jumped over: the jump is as long.
const JUMP: usize = 6;

/// Writes what differs of a row that stands there already; the cursor is in the row, at any column.
///
/// Columns that are as they were are jumped over (PERF-2), but only before the first cluster whose width terminals may disagree about: from
/// there on everything is written.
pub fn difference(old: &Row, new: &Row, paint: &Paint, links: Links, out: &mut String) {
    let (before, after) = (glyphs(old), glyphs(new));
    let sure = sure(&before).min(sure(&after));
    let (was, is) = (old.width(), new.width());
    let mut pen = Pen { paint, links, style: Style::default(), column: None, out };
    let mut at = 0;
    while at < after.len() {
        let kept = kept(&before, &after[at..], sure, was);
        let columns = after.get(at + kept).map_or(is, |glyph| glyph.column) - after[at].column;
        // A short way is walked: what stands there is written once more.
        if kept > 0 && (columns >= JUMP || at == 0 || at + kept == after.len()) {
            at += kept;
            continue;
        }
        let look = (after[at].style, after[at].link);
        let alike = after[at..].iter().take_while(|glyph| (glyph.style, glyph.link) == look).count();
        let piece = match kept {
            0 => (1..alike)
                .find(|next| self::kept(&before, &after[at + next..], sure, was) > 0)
                .unwrap_or(alike),
            kept => kept.min(alike),
        };
        pen.write(&after[at..at + piece]);
        at += piece;
    }
    if was > is || sure < usize::MAX {
        pen.style(Style::default());
        pen.to(is);
        pen.out.push_str("\x1b[K");
    }
    pen.style(Style::default());
}

/// Returns how many of the glyphs stand on the screen already.
fn kept(before: &[Glyph<'_>], after: &[Glyph<'_>], sure: usize, was: usize) -> usize {
    let first = after.first().map_or(0, |glyph| glyph.column);
    let mut at = before.partition_point(|glyph| glyph.column < first);
    let stands = |glyph: &&Glyph<'_>| {
        while before.get(at).is_some_and(|before| before.column < glyph.column) {
            at += 1;
        }
        let same = match before.get(at) {
            Some(before) => before == *glyph,
            // Behind the end of the old row there is nothing but blanks.
            None => glyph.column >= was && glyph.text == " " && glyph.style == Style::default(),
        };
        same && glyph.column < sure
    };
    after.iter().take_while(stands).count()
}

/// Takes a row apart. Clusters end with their span, as they are written.
fn glyphs(row: &Row) -> Vec<Glyph<'_>> {
    let mut column = 0;
    let mut glyphs = Vec::new();
    for span in &row.spans {
        let link = span.link.as_ref().map(|link| link.as_str());
        for (_, text) in wrap::clusters(span.text.as_str()) {
            glyphs.push(Glyph { column, text, style: span.style, link });
            column += wrap::width(text);
        }
    }
    glyphs
}

/// Returns the column of the first cluster of several characters.
fn sure(glyphs: &[Glyph<'_>]) -> usize {
    let several = |glyph: &&Glyph<'_>| glyph.text.chars().nth(1).is_some() || wrap::width(glyph.text) == 0;
    glyphs.iter().find(several).map_or(usize::MAX, |glyph| glyph.column)
}

/// What writes, and where it stands.
struct Pen<'a, 'o> {
    paint: &'a Paint,
    links: Links,
    style: Style,
    /// The column of the cursor, where that is known.
    column: Option<usize>,
    out: &'o mut String,
}

impl Pen<'_, '_> {
    fn style(&mut self, style: Style) {
        if style != self.style {
            match style == Style::default() {
                true => self.out.push_str("\x1b[0m"),
                false => self.paint.sgr(style, self.out),
            }
            self.style = style;
        }
    }

    fn to(&mut self, column: usize) {
        if self.column != Some(column) {
            self::column(column, self.out);
            self.column = Some(column);
        }
    }

    /// Writes glyphs of one style that stand side by side.
    fn write(&mut self, glyphs: &[Glyph<'_>]) {
        let (Some(first), Some(last)) = (glyphs.first(), glyphs.last()) else { return };
        self.to(first.column);
        self.style(first.style);
        let link = first.link.filter(|_| self.links == Links::Shown);
        if let Some(target) = link {
            write!(self.out, "\x1b]8;;{target}\x1b\\").expect("a string takes all");
        }
        self.out.extend(glyphs.iter().map(|glyph| glyph.text));
        if link.is_some() {
            self.out.push_str("\x1b]8;;\x1b\\");
        }
        self.column = Some(last.column + wrap::width(last.text));
    }
}

/// Goes to a column of the row the cursor is in.
pub fn column(column: usize, out: &mut String) {
    match column {
        0 => out.push('\r'),
        column => write!(out, "\x1b[{}G", column + 1).expect("a string takes all"),
    }
}

#[cfg(test)]
mod tests;
