//! Applies hunks to a file's text. Pure.
//!
//! Line ends are the file's: a patch never turns CRLF into LF. A hunk is looked for exactly, near the line or below the
//! header it names; without either it must fit in one place only (FOR-6). Failing that, the tolerant tiers of
//! [`crate::matching`] look for the only place that can be meant.

use super::parse::{Hunk, HunkLine};
use crate::edit::echoed;
use crate::matching::change::{Change, Part};
use crate::matching::{self, Bounds, Found, Miss, guard, line_at, with_ends_of};
use zori_core::tool::Leniency;

/// A text with its hunks applied.
#[derive(Debug, PartialEq, Eq)]
pub struct Patched {
    /// The new text.
    pub text: String,
    /// What was overlooked to place hunks, once each.
    pub tolerated: Vec<&'static str>,
    /// The lines of those hunks as they are afterwards.
    pub now: String,
}

/// A hunk that does not fit.
#[derive(Debug, PartialEq, Eq)]
pub struct HunkMismatch {
    /// Which one, from 1.
    pub hunk: usize,
    /// The lines that were looked for.
    pub wanted: String,
    pub why: Mismatch,
}

/// Why a hunk does not fit.
#[derive(Debug, PartialEq, Eq)]
pub enum Mismatch {
    NotFound,
    /// It fits at these lines.
    Several(String),
    /// It would not change anything.
    Nothing,
    /// An added line stands for text it does not hold.
    Placeholder(String),
}

/// Applies all hunks, or says which one does not fit.
pub fn apply(text: &str, hunks: &[Hunk], leniency: Leniency) -> Result<Patched, HunkMismatch> {
    let mut file = File::new(text);
    let (mut tolerated, mut now) = (Vec::new(), String::new());
    for (n, hunk) in hunks.iter().enumerate() {
        let misfit = |wanted: String, why| HunkMismatch { hunk: n + 1, wanted, why };
        for seek in &hunk.seek {
            file.cursor = file.seek(seek).ok_or_else(|| misfit(seek.clone(), Mismatch::NotFound))?;
        }
        if leniency == Leniency::Forgiving
            && let Some(why) = objection(&hunk.lines)
        {
            return Err(misfit(String::new(), why));
        }
        let found = file.locate(hunk, leniency).map_err(|why| misfit(change(&hunk.lines).old(), why))?;
        let exact = found.tolerated.is_empty();
        let (what, place) = (found.tolerated, file.splice(found, hunk.bare_end));
        if !exact {
            now.push_str(&echoed(&file.text, place));
            if !tolerated.contains(&what) {
                tolerated.push(what);
            }
        }
    }
    Ok(Patched { text: file.finish(), tolerated, now })
}

/// Returns why nobody can mean a hunk (FOR-7).
fn objection(lines: &[HunkLine]) -> Option<Mismatch> {
    let change = change(lines);
    let (old, new) = (change.old(), change.new_text());
    if old == new {
        return Some(Mismatch::Nothing);
    }
    let removes = lines.iter().any(|line| matches!(line, HunkLine::Remove(_)));
    let placeholder = guard::placeholder(&old, &new).filter(|_| removes);
    placeholder.map(|line| Mismatch::Placeholder(line.to_owned()))
}

fn change(lines: &[HunkLine]) -> Change {
    let part = |line: &HunkLine| match line {
        HunkLine::Keep(text) => Part::Keep(format!("{text}\n")),
        HunkLine::Remove(text) => Part::Remove(format!("{text}\n")),
        HunkLine::Add(text) => Part::Add(format!("{text}\n")),
    };
    Change::Lines(lines.iter().map(part).collect())
}

/// A file's text while hunks are applied.
struct File {
    /// Each line has its end.
    text: String,
    /// Whether the last line's end is ours.
    lent_end: bool,
    /// Where the last hunk ended.
    cursor: usize,
    /// How many lines the hunks so far added, less those they removed.
    shift: isize,
}

impl File {
    fn new(text: &str) -> Self {
        let lent_end = !text.is_empty() && !text.ends_with('\n');
        let mut file = Self { text: text.to_owned(), lent_end, cursor: 0, shift: 0 };
        if lent_end {
            let end = if matching::is_crlf_at(text, text.len()) { "\r\n" } else { "\n" };
            file.text.push_str(end);
        }
        file
    }

    /// Returns the byte behind the line that a header names: the same, the same but for blanks, or one that begins so.
    fn seek(&self, wanted: &str) -> Option<usize> {
        let wanted = wanted.trim_end();
        let behind = |same: &dyn Fn(&str) -> bool| {
            let mut at = self.cursor;
            for line in self.text[self.cursor..].split_inclusive('\n') {
                at += line.len();
                if same(line.trim_end()) {
                    return Some(at);
                }
            }
            None
        };
        behind(&|line| line == wanted)
            .or_else(|| behind(&|line| line.trim() == wanted.trim()))
            .or_else(|| behind(&|line| line.trim().starts_with(wanted.trim())))
    }

    /// Returns where the hunk's lines stand, and what they become.
    fn locate(&self, hunk: &Hunk, leniency: Leniency) -> Result<Found, Mismatch> {
        let from = if hunk.seek.is_empty() { 0 } else { self.cursor };
        let mut lines = hunk.lines.as_slice();
        if change(lines).old().is_empty() {
            return Ok(self.inserted(hunk));
        }
        loop {
            let found = matching::exact_lines(&self.text, &change(lines), from);
            if let Some(found) = self.choose(found, hunk)? {
                return Ok(Found { tolerated: "", ..found });
            }
            // An empty line before the next header may belong to the patch and not to the file.
            match lines.split_last() {
                Some((HunkLine::Keep(last), rest)) if last.is_empty() && !rest.is_empty() => lines = rest,
                _ => break,
            }
        }
        let place = Bounds::Lines { from };
        matching::tolerant(&self.text, &change(&hunk.lines), place, leniency).map_err(|miss| match miss {
            Miss::Nowhere => Mismatch::NotFound,
            Miss::Several { starts, .. } => Mismatch::Several(matching::lines_at(&self.text, &starts)),
        })
    }

    /// Adds lines without any around them: behind the line or header that is named, else at the end.
    fn inserted(&self, hunk: &Hunk) -> Found {
        let at = match (hunk.line, hunk.seek.is_empty()) {
            // Nothing is removed: the header names the line before.
            (Some(line), _) => self.start_of(line.saturating_add_signed(self.shift)),
            (None, false) => self.cursor,
            (None, true) => self.text.len(),
        };
        let new = with_ends_of(&self.text, at, &change(&hunk.lines).new_text(), false);
        Found { range: at..at, new, tolerated: "" }
    }

    /// Returns where the line after so many begins.
    fn start_of(&self, lines: usize) -> usize {
        self.text.split_inclusive('\n').take(lines).map(str::len).sum()
    }

    /// Picks the place that the hunk's header means. Without one there must be only one (FOR-6).
    fn choose(&self, mut found: Vec<Found>, hunk: &Hunk) -> Result<Option<Found>, Mismatch> {
        // The line a header names, moved by what was added above it.
        let hint = hunk.line.map(|line| line.saturating_add_signed(self.shift));
        Ok(match (hint, found.len()) {
            (_, 0) => None,
            _ if hunk.at_end => found.pop(),
            (Some(hint), _) => {
                found.into_iter().min_by_key(|found| line_at(&self.text, found.range.start).abs_diff(hint))
            }
            (None, 1) => found.pop(),
            (None, _) if !hunk.seek.is_empty() => Some(found.swap_remove(0)),
            (None, _) => {
                let starts: Vec<usize> = found.iter().map(|found| found.range.start).collect();
                return Err(Mismatch::Several(matching::lines_at(&self.text, &starts)));
            }
        })
    }

    /// Puts the new lines in. Returns where they stand.
    fn splice(&mut self, found: Found, bare_end: bool) -> std::ops::Range<usize> {
        let Found { range, mut new, .. } = found;
        let lines = |text: &str| text.matches('\n').count().cast_signed();
        self.shift += lines(&new) - lines(&self.text[range.clone()]);
        if range.end == self.text.len() {
            // The end that was lent stays lent only if the last line is still the file's own.
            let own = self.text[range.clone()].lines().next_back();
            self.lent_end &=
                range.is_empty() && new.is_empty() || own.is_some() && own == new.lines().next_back();
            if bare_end {
                new.truncate(new.trim_end_matches(['\n', '\r']).len());
            }
        }
        self.cursor = range.start + new.len();
        self.text.replace_range(range.clone(), &new);
        range.start..self.cursor
    }

    fn finish(mut self) -> String {
        if self.lent_end {
            self.text.truncate(self.text.trim_end_matches('\n').len().max(self.text.len() - 1));
            if self.text.ends_with('\r') {
                self.text.pop();
            }
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::parse::{Action, parse};

    /// Applies the hunks of a one-file patch body.
    fn check(text: &str, hunks: &str) -> String {
        let files = parse(&format!("*** Begin Patch\n*** Update File: f\n{hunks}\n*** End Patch")).unwrap();
        let Action::Update { hunks, .. } = &files[0].action else { panic!("an update") };
        match apply(text, hunks, Leniency::Forgiving) {
            Ok(Patched { text, tolerated, .. }) if tolerated.is_empty() => format!("{text:?}"),
            Ok(Patched { text, tolerated, .. }) => format!("{} {text:?}", tolerated.join(", ")),
            Err(HunkMismatch { hunk, wanted, why }) => format!("hunk {hunk} wants {wanted:?}: {why:?}"),
        }
    }

    #[test]
    fn lines_are_replaced_in_place() {
        assert_eq!(check("a\nb\nc\n", " a\n-b\n+B\n c"), r#""a\nB\nc\n""#);
        assert_eq!(check("a\nb\nc\n", "-a\n@@\n-c\n+C\n+D"), r#""b\nC\nD\n""#);
        assert_eq!(check("a\r\nb\r\n", "-b\n+B\n+C"), r#""a\r\nB\r\nC\r\n""#);
        assert_eq!(check("a\n", "-a"), r#""""#);
    }

    #[test]
    fn headers_say_where() {
        let file = "fn a() {\n  x\n}\nfn b() {\n  x\n}\n";
        assert_eq!(check(file, "@@ fn b() {\n-  x\n+  y"), r#""fn a() {\n  x\n}\nfn b() {\n  y\n}\n""#);
        assert_eq!(check(file, "@@ -5 +5 @@\n-  x\n+  y"), r#""fn a() {\n  x\n}\nfn b() {\n  y\n}\n""#);
        assert_eq!(check(file, "@@\n-  x\n+  y"), r#"hunk 1 wants "  x\n": Several("2, 5")"#);
        assert_eq!(check(file, "-}\n+};\n*** End of File"), r#""fn a() {\n  x\n}\nfn b() {\n  x\n};\n""#);
        // Counts and numbers that are off by some lines.
        assert_eq!(check("a\nx\nb\nc\nx\nd\n", "@@ -4,9 +4,9 @@\n-x\n+y"), r#""a\nx\nb\nc\ny\nd\n""#);
        assert_eq!(check(file, "@@ fn c() {\n-  x\n+  y"), r#"hunk 1 wants "fn c() {": NotFound"#);
    }

    /// The fuzz target `patch` found it: the second of two places that overlap was none.
    #[test]
    fn places_that_overlap() {
        let file = "0\n0\n0\n0\n0\n";
        assert_eq!(check(file, "@@ -2,4 +2,5 @@\n 0\n 0\n+1\n 0\n 0"), r#""0\n0\n0\n1\n0\n0\n""#);
        assert_eq!(check(file, " 0\n 0\n 0\n+1\n 0"), r#"hunk 1 wants "0\n0\n0\n0\n": Several("1, 2")"#);
    }

    #[test]
    fn insertions() {
        assert_eq!(check("a\nb\n", "+c"), r#""a\nb\nc\n""#);
        assert_eq!(check("a\nb\n", "@@ a\n+c"), r#""a\nc\nb\n""#);
        assert_eq!(check("a\nb\n", "@@ -1,0 +2 @@\n+c"), r#""a\nc\nb\n""#);
        assert_eq!(check("", "+c"), r#""c\n""#);
    }

    #[test]
    fn files_without_a_last_newline() {
        assert_eq!(check("a\nb", " b\n+c"), r#""a\nb\nc\n""#);
        assert_eq!(check("a\nb", "-a\n+A\n b"), r#""A\nb""#);
        assert_eq!(check("a\nb\n", "-b\n+c\n\\ No newline at end of file"), r#""a\nc""#);
        assert_eq!(check("a\nb", "+c"), r#""a\nb\nc\n""#);
    }

    #[test]
    fn blanks_at_line_ends_are_tolerated_where_unique() {
        assert_eq!(check("aaa  \nb\n", " aaa\n-b\n+B"), r#"blanks at line ends "aaa  \nB\n""#);
        assert_eq!(check("aaa  \naaa\t\n", "-aaa\n+A"), r#"hunk 1 wants "aaa\n": Several("1, 2")"#);
        assert_eq!(check("  aaa\n", "-aaa\n+A"), r#"hunk 1 wants "aaa\n": NotFound"#);
        // An empty line at the end of the patch is not looked for in the file.
        assert_eq!(check("a\nb\n", "-b\n+c\n\n"), r#""a\nc\n""#);
    }

    #[test]
    fn the_second_misfit_is_named() {
        assert_eq!(check("a\nb\n", "-a\n+A\n@@\n-x\n-y"), r#"hunk 2 wants "x\ny\n": NotFound"#);
    }
}
