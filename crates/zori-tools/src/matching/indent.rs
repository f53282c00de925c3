//! The last tier: lines that are the same but for their indentation (FOR-4).
//!
//! It needs two lines with text, or one of twelve letters, and one place: a lone `pass` at another depth is another
//! function. The unit is learnt from how the lines differ, so that levels only the new text has are converted too.

use std::collections::BTreeMap;
use std::ops::Range;

use super::change::{Change, Part};
use super::{Bounds, Found, Miss, with_ends_of};

const NAME: &str = "indentation";

/// A lone line with fewer letters and digits may stand anywhere.
const LONE_LINE: usize = 12;

pub fn find(text: &str, change: &Change, bounds: Bounds) -> Result<Found, Miss> {
    let old = change.old();
    let wanted: Vec<&str> = old.lines().collect();
    let said: Vec<&&str> = wanted.iter().filter(|line| !line.trim().is_empty()).collect();
    let enough = match said[..] {
        [] => false,
        [line] => line.chars().filter(|c| c.is_alphanumeric()).count() >= LONE_LINE,
        _ => true,
    };
    if !enough {
        return Err(Miss::Nowhere);
    }
    let from = match bounds {
        Bounds::Anywhere => 0,
        Bounds::Lines { from } => from,
    };
    let lines = line_ranges(text);
    let same = |at: usize| {
        lines[at].start >= from
            && wanted
                .iter()
                .zip(&lines[at..])
                .all(|(wanted, line)| wanted.trim() == text[line.clone()].trim())
    };
    let last = (lines.len() + 1).saturating_sub(wanted.len());
    let places: Vec<usize> = (0..last).filter(|&at| same(at)).collect();
    let at = match places[..] {
        [] => return Err(Miss::Nowhere),
        [at] => at,
        _ => {
            let starts = places.iter().map(|&at| lines[at].start).collect();
            return Err(Miss::Several { tolerated: NAME, starts });
        }
    };
    let place = &lines[at..at + wanted.len()];
    let theirs: Vec<&str> = place.iter().map(|line| &text[line.clone()]).collect();
    let new = change.new_text();
    let map = IndentMap::learn(&wanted, &theirs, &new).ok_or(Miss::Nowhere)?;
    replaced(text, change, place, &map).ok_or(Miss::Nowhere)
}

/// Writes the new text in the file's indentation; lines that stay keep the file's bytes.
fn replaced(text: &str, change: &Change, place: &[Range<usize>], map: &IndentMap) -> Option<Found> {
    let (first, last) = (place.first()?, place.last()?);
    let whole = change.old().ends_with('\n');
    let end = match text[last.end..].find('\n') {
        Some(newline) if whole => last.end + newline + 1,
        _ => last.end,
    };
    let parts = match change {
        Change::Lines(parts) => parts.clone(),
        Change::Text { old, new } => line_parts(old, new),
    };
    let mut new = String::new();
    let mut at = 0;
    for part in &parts {
        match part {
            Part::Keep(line) => {
                let start = place[at].start;
                let stop = place.get(at + 1).map_or(end, |next| next.start);
                at += 1;
                match line.ends_with('\n') || stop == end {
                    true => new.push_str(&text[start..stop]),
                    false => new.push_str(&text[place[at - 1].clone()]),
                }
            }
            Part::Remove(_) => at += 1,
            Part::Add(line) => {
                let line = map.apply(line)?;
                new.push_str(&with_ends_of(
                    text,
                    first.start.max(place[at.saturating_sub(1)].start),
                    &line,
                    change.has_returns(),
                ));
            }
        }
    }
    // The last line of the old text had no newline, so neither has the new one.
    if !whole && !change.new_text().ends_with('\n') {
        new.truncate(new.trim_end_matches(['\n', '\r']).len());
    }
    Some(Found { range: first.start..end, new, tolerated: NAME })
}

/// Compares two texts by lines.
fn line_parts(old: &str, new: &str) -> Vec<Part> {
    let cut = |text: &str| -> Vec<String> { text.split_inclusive('\n').map(str::to_owned).collect() };
    let (old, new) = (cut(old), cut(new));
    // A last line with and one without its newline are the same line.
    let bare = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| line.trim_end_matches(['\n', '\r']).to_owned()).collect()
    };
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &bare(&old), &bare(&new));
    let mut parts = Vec::new();
    for op in ops {
        let (tag, from, to) = op.as_tag_tuple();
        match tag {
            similar::DiffTag::Equal => parts.extend(new[to].iter().cloned().map(Part::Keep)),
            _ => {
                parts.extend(old[from].iter().cloned().map(Part::Remove));
                parts.extend(new[to].iter().cloned().map(Part::Add));
            }
        }
    }
    parts
}

/// How the model's indentation becomes the file's: a line through the pairs that were seen.
struct IndentMap {
    known: BTreeMap<String, String>,
    /// Characters of the model's and of the file's indentation per level, and one pair to start from.
    unit: Option<Unit>,
}

struct Unit {
    from: (usize, usize),
    model: usize,
    file: usize,
    blank: char,
}

impl IndentMap {
    /// Learns it from lines that are the same but for their indentation; `None` where they differ in no consistent way.
    fn learn(wanted: &[&str], theirs: &[&str], new: &str) -> Option<Self> {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for (wanted, theirs) in wanted.iter().zip(theirs).filter(|(wanted, _)| !wanted.trim().is_empty()) {
            let (from, to) = (indent(wanted), indent(theirs));
            if known.entry(from.to_owned()).or_insert_with(|| to.to_owned()) != to {
                return None;
            }
        }
        let unit = Unit::of(&known, new);
        Some(Self { known, unit })
    }

    /// Rewrites the indentation of every line; `None` where a level is not known and cannot be computed.
    fn apply(&self, text: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len() + 16);
        for line in text.split_inclusive('\n') {
            let own = indent(line);
            if line.trim().is_empty() {
                out.push_str(line);
                continue;
            }
            match self.known.get(own) {
                Some(theirs) => out.push_str(theirs),
                None => out.push_str(&self.unit.as_ref()?.convert(own)?),
            }
            out.push_str(&line[own.len()..]);
        }
        Some(out)
    }
}

impl Unit {
    fn of(known: &BTreeMap<String, String>, new: &str) -> Option<Self> {
        let pairs: Vec<(usize, usize)> = known.iter().map(|(from, to)| (from.len(), to.len())).collect();
        let blank = match known.values().find_map(|to| to.chars().next()) {
            Some(blank) => blank,
            None => known.keys().find_map(|from| from.chars().next()).unwrap_or(' '),
        };
        let mixed = known.values().any(|to| to.chars().any(|c| c != blank));
        let &(from, to) = pairs.first()?;
        if mixed {
            return None;
        }
        let other = pairs.iter().find(|(f, _)| *f != from);
        let model_blank = known.keys().chain([&indent_of_any(new)]).find_map(|key| key.chars().next());
        let (model, file) = match other {
            Some((f, t)) => (f.checked_sub(from)?, t.checked_sub(to)?),
            // The same kind of blank: one level is shifted like another.
            None if model_blank.is_none_or(|c| c == blank) => (1, 1),
            None if from > 0 && to > 0 && from % to == 0 => (from / to, 1),
            None if from > 0 && to > 0 && to % from == 0 => (1, to / from),
            None => return None,
        };
        if model == 0 || file == 0 {
            return None;
        }
        let unit = Self { from: (from, to), model, file, blank };
        pairs.iter().all(|&(f, t)| unit.width(f) == Some(t)).then_some(unit)
    }

    fn width(&self, model: usize) -> Option<usize> {
        let delta = (model.cast_signed() - self.from.0.cast_signed()) * self.file.cast_signed();
        if delta % self.model.cast_signed() != 0 {
            return None;
        }
        usize::try_from(self.from.1.cast_signed() + delta / self.model.cast_signed()).ok()
    }

    fn convert(&self, own: &str) -> Option<String> {
        Some(self.blank.to_string().repeat(self.width(own.len())?))
    }
}

fn indent_of_any(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(indent).find(|indent| !indent.is_empty()).unwrap_or_default().to_owned()
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the lines of a text without their ends.
fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            let range = start..start + bare.strip_suffix('\r').unwrap_or(bare).len();
            start += line.len();
            range
        })
        .collect()
}
