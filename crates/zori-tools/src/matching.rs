//! Finds the one place in a text that a model means, exactly or by a tolerant tier, and what stands there afterwards
//! (FOR-3 to FOR-6). Pure; the only matching there is: `edit`, `multi_edit` and `apply_patch` use it.
//!
//! A tier overlooks one kind of difference. It counts only where it finds a single place, and the result names it. What
//! the model kept keeps the file's own bytes: only what it changed is written.

pub mod change;
pub mod fold;
pub mod guard;
mod indent;
mod undo;

use std::ops::Range;

use self::change::{Change, Part};
use self::fold::{Fold, Folded};
use zori_core::tool::Leniency;

/// Larger texts are matched exactly only: the tolerant tiers hold a map of every byte.
const MAX_TOLERANT: usize = 8 << 20;

/// Text with fewer letters and digits than this means no particular place; only line ends are overlooked in it.
const MIN_WORD: usize = 3;

/// A place that was found.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The bytes that are replaced.
    pub range: Range<usize>,
    /// What replaces them.
    pub new: String,
    /// What was overlooked to find it.
    pub tolerated: &'static str,
}

/// Why no place was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Miss {
    /// Nothing fits.
    Nowhere,
    /// A tolerant tier fits in several places, which begin at these bytes.
    Several { tolerated: &'static str, starts: Vec<usize> },
}

/// Where a place may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    Anywhere,
    /// From the start of a line to the end of one, from this byte on.
    Lines {
        from: usize,
    },
}

/// A kind of difference that is overlooked.
struct Tier {
    /// What it is called in results.
    name: &'static str,
    /// Undoes what the model did to the text; `None` where it did nothing of the kind.
    undo: fn(&Change) -> Option<Change>,
    /// How the file is compared.
    file: Fold,
    /// How the model's text is compared.
    old: Fold,
    /// Whether only whole lines count.
    whole_lines: bool,
    /// Whether added text may be written there as it is.
    fits: fn(&str) -> bool,
}

const fn tier(name: &'static str, undo: fn(&Change) -> Option<Change>, fold: Fold) -> Tier {
    Tier { name, undo, file: fold, old: fold, whole_lines: false, fits: |_| true }
}

/// The tiers, from the strictest on. Indentation comes last, by [`indent`].
const TIERS: &[Tier] = &[
    tier("line ends (CRLF)", undo::nothing, Fold::Returns),
    Tier { whole_lines: true, ..tier("blanks at line ends", undo::nothing, Fold::LineEnds) },
    tier("quotes, dashes, blanks or composed letters", undo::nothing, Fold::Typographic),
    tier("literal `\\n` and `\\\"`", undo::escapes, Fold::Returns),
    tier("HTML entities", undo::entities, Fold::Returns),
    Tier {
        file: Fold::Escapes,
        old: Fold::Returns,
        fits: |added| !added.contains(['\n', '\t', '"', '\\']),
        ..tier("literal `\\n` and `\\\"` in the file", undo::nothing, Fold::Returns)
    },
    Tier {
        file: Fold::Entities,
        old: Fold::Returns,
        fits: |added| !added.contains(['<', '>', '&', '"']),
        ..tier("HTML entities in the file", undo::nothing, Fold::Returns)
    },
    Tier { whole_lines: true, ..tier("blank lines around it", undo::blank_lines, Fold::LineEnds) },
    Tier { whole_lines: true, ..tier("line numbers before the lines", undo::line_numbers, Fold::LineEnds) },
];

/// How many of the tiers overlook line ends only.
const LINE_END_TIERS: usize = 2;

/// Finds the place of a change that does not fit exactly. With [`Leniency::Exact`] only line ends are overlooked.
pub fn tolerant(text: &str, change: &Change, bounds: Bounds, leniency: Leniency) -> Result<Found, Miss> {
    let old = change.old();
    if text.len() > MAX_TOLERANT || old.trim().is_empty() {
        return Err(Miss::Nowhere);
    }
    let strict =
        leniency == Leniency::Exact || old.chars().filter(|c| c.is_alphanumeric()).count() < MIN_WORD;
    for tier in TIERS.iter().take(if strict { LINE_END_TIERS } else { TIERS.len() }) {
        let Some(change) = (tier.undo)(change) else { continue };
        let search = Search::new(tier, text, &change);
        match search.places(bounds)[..] {
            [] => {}
            [at] => match search.replaced(at) {
                Some(found) => return Ok(found),
                None => return Err(Miss::Nowhere),
            },
            ref places => {
                let starts = places.iter().map(|&at| search.file.source(at)).collect();
                return Err(Miss::Several { tolerated: tier.name, starts });
            }
        }
    }
    if strict {
        return Err(Miss::Nowhere);
    }
    let numbered = undo::line_numbers(change);
    indent::find(text, numbered.as_ref().unwrap_or(change), bounds)
}

/// Returns every place where whole lines fit but for carriage returns, which count as exact for a hunk.
pub fn exact_lines(text: &str, change: &Change, from: usize) -> Vec<Found> {
    let search = Search::new(&TIERS[0], text, change);
    let places = search.places(Bounds::Lines { from });
    places.into_iter().filter_map(|at| search.replaced(at)).collect()
}

/// How many bytes are compared to find places that overlap. A text that repeats itself further is searched from end to end.
const MOST_COMPARED: usize = 1 << 28;

/// Returns where `wanted` stands. Whole lines may overlap: in `}`, `}`, `}` two of them stand twice, and a hunk that names a line means one.
fn occurrences(text: &str, wanted: &str, whole_lines: bool) -> Vec<usize> {
    let line = wanted.find('\n').filter(|_| whole_lines).map_or(wanted.len(), |end| end + 1);
    let (mut places, mut from) = (Vec::new(), 0);
    while let Some(found) = text[from..].find(wanted) {
        let at = from + found;
        places.push(at);
        from = at + if places.len() * wanted.len() <= MOST_COMPARED { line } else { wanted.len() };
    }
    places
}

/// A tier at work on one text.
struct Search<'a> {
    tier: &'a Tier,
    text: &'a str,
    change: &'a Change,
    file: Folded,
    old: Folded,
}

impl<'a> Search<'a> {
    fn new(tier: &'a Tier, text: &'a str, change: &'a Change) -> Self {
        let (file, old) = (Folded::new(text, tier.file), Folded::new(&change.old(), tier.old));
        Self { tier, text, change, file, old }
    }

    /// Returns where the folded text has the change's.
    fn places(&self, bounds: Bounds) -> Vec<usize> {
        let (file, old) = (&self.file, self.old.text.as_str());
        if old.is_empty() {
            return Vec::new();
        }
        let whole = self.tier.whole_lines || bounds != Bounds::Anywhere;
        let from = match bounds {
            Bounds::Anywhere => 0,
            Bounds::Lines { from } => from,
        };
        let fits = |&at: &usize| {
            let end = at + old.len();
            file.source(at) >= from && file.is_characters(at, end) && (!whole || file.is_lines(at, end))
        };
        occurrences(&file.text, old, whole).into_iter().filter(fits).collect()
    }

    /// Returns what stands at a place afterwards; `None` where added text cannot be written as the file has it.
    fn replaced(&self, at: usize) -> Option<Found> {
        let Self { tier, text, change, file, old } = self;
        let end = at + old.text.len();
        let range = file.source(at)..file.source_end(end);
        let mut new = String::new();
        let mut done = 0;
        let mut from = range.start;
        for part in change.parts() {
            done += part.old_len();
            // What vanishes behind the last character stays in the file.
            let to = match at + old.folded(done) {
                last if last == end => range.end,
                inner => file.source(inner),
            };
            match part {
                Part::Keep(_) => new.push_str(&text[from..to]),
                Part::Remove(_) => {}
                Part::Add(added) if (tier.fits)(&added) => {
                    let added = match tier.file {
                        Fold::Typographic => fold::as_written(&text[range.clone()], &change.old(), &added),
                        _ => added,
                    };
                    new.push_str(&with_ends_of(text, to, &added, change.has_returns()));
                }
                Part::Add(_) => return None,
            }
            from = to;
        }
        Some(Found { range, new, tolerated: tier.name })
    }
}

/// Gives added text the line ends of the place (FOR-3). `foreign`: the model wrote carriage returns that the file does not
/// have there.
pub fn with_ends_of(text: &str, at: usize, added: &str, foreign: bool) -> String {
    match (is_crlf_at(text, at), added.contains('\r')) {
        (true, false) => added.replace('\n', "\r\n"),
        (false, true) if foreign => added.replace("\r\n", "\n"),
        _ => added.to_owned(),
    }
}

/// Returns whether the line at this byte ends with CRLF; at the start of a line, the line before says so.
pub fn is_crlf_at(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let before = || bytes[..at].iter().rposition(|&b| b == b'\n');
    let after = || bytes[at..].iter().position(|&b| b == b'\n').map(|newline| at + newline);
    let newline = match at > 0 && bytes[at - 1] == b'\n' {
        true => before(),
        false => after().or_else(before),
    };
    newline.is_some_and(|newline| newline > 0 && bytes[newline - 1] == b'\r')
}

/// Returns the number of the line at this byte, from 1.
pub fn line_at(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1
}

/// Lists the lines at these bytes, the first ten of them.
pub fn lines_at(text: &str, starts: &[usize]) -> String {
    let shown: Vec<String> = starts.iter().take(10).map(|&at| line_at(text, at).to_string()).collect();
    let more = if starts.len() > shown.len() { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests;
