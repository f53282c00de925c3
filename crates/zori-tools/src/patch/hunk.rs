//! Applies hunks to a file's text. Pure.
//!
//! Line ends are the file's: a patch never turns CRLF into LF. A hunk is looked for exactly, near the line it names;
//! failing that, without regard to blanks at line ends, where only one place can be meant.

use super::parse::{Hunk, HunkLine};

/// A text with its hunks applied.
#[derive(Debug, PartialEq, Eq)]
pub struct Patched {
    /// The new text.
    pub text: String,
    /// How many hunks were placed without regard to blanks at line ends.
    pub tolerated: usize,
}

/// A hunk that does not fit.
#[derive(Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Which one, from 1.
    pub hunk: usize,
    /// The lines that were looked for.
    pub wanted: String,
}

/// Applies all hunks, or says which one does not fit.
pub fn apply(text: &str, hunks: &[Hunk]) -> Result<Patched, Misfit> {
    let mut file = Lines::new(text);
    let mut tolerated = 0;
    for (n, hunk) in hunks.iter().enumerate() {
        let misfit = |wanted: String| Misfit { hunk: n + 1, wanted };
        for seek in &hunk.seek {
            file.cursor = file.seek(seek).ok_or_else(|| misfit(seek.clone()))? + 1;
        }
        let mut lines = hunk.lines.as_slice();
        let (at, old_len) = loop {
            let old = old_lines(lines);
            match file.locate(&old, hunk) {
                Some((at, exact)) => {
                    tolerated += usize::from(!exact);
                    break (at, old.len());
                }
                // An empty line before the next header may belong to the patch and not to the file.
                None => match lines.split_last() {
                    Some((HunkLine::Keep(last), rest)) if last.is_empty() && !rest.is_empty() => lines = rest,
                    _ => return Err(misfit(old_lines(&hunk.lines).join("\n"))),
                },
            }
        };
        file.splice(at, old_len, lines, hunk.bare_end);
    }
    Ok(Patched { text: file.lines.concat(), tolerated })
}

fn old_lines(lines: &[HunkLine]) -> Vec<&str> {
    lines
        .iter()
        .filter_map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text.as_str()),
            HunkLine::Add(_) => None,
        })
        .collect()
}

struct Lines {
    /// Each with its line end.
    lines: Vec<String>,
    ending: &'static str,
    /// Where the last hunk ended.
    cursor: usize,
    /// How many lines the hunks so far added, less those they removed.
    shift: isize,
}

impl Lines {
    fn new(text: &str) -> Self {
        let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let ending = if lines.first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
        Self { lines, ending, cursor: 0, shift: 0 }
    }

    /// Returns a line without its end.
    fn body(&self, at: usize) -> &str {
        let line = &self.lines[at];
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    }

    fn seek(&self, wanted: &str) -> Option<usize> {
        let after =
            |same: &dyn Fn(&str) -> bool| (self.cursor..self.lines.len()).find(|&at| same(self.body(at)));
        after(&|line| line == wanted).or_else(|| after(&|line| line.trim() == wanted.trim()))
    }

    /// Returns where the lines stand, and whether exactly so.
    fn locate(&self, old: &[&str], hunk: &Hunk) -> Option<(usize, bool)> {
        // The line a header names, moved by what was added above it.
        let hint = hunk.line.and_then(|line| line.saturating_sub(1).checked_add_signed(self.shift));
        if old.is_empty() {
            let at = match (hunk.line, hunk.seek.is_empty()) {
                // Nothing is removed: the header names the line before.
                (Some(line), _) => line.checked_add_signed(self.shift)?.min(self.lines.len()),
                (None, false) => self.cursor,
                (None, true) => self.lines.len(),
            };
            return Some((at, true));
        }
        let exact = self.places(old, |a, b| a == b);
        let place = if hunk.at_end { exact.last().copied() } else { self.choose(&exact, hint) };
        if let Some(at) = place {
            return Some((at, true));
        }
        match self.places(old, |a, b| a.trim_end() == b.trim_end())[..] {
            [at] => Some((at, false)),
            _ => None,
        }
    }

    fn places(&self, old: &[&str], same: impl Fn(&str, &str) -> bool) -> Vec<usize> {
        let Some(last) = self.lines.len().checked_sub(old.len()) else { return Vec::new() };
        (0..=last).filter(|&at| old.iter().enumerate().all(|(n, old)| same(old, self.body(at + n)))).collect()
    }

    /// Picks the place nearest to the hint, else the first one below the last hunk, else the only one.
    fn choose(&self, places: &[usize], hint: Option<usize>) -> Option<usize> {
        match hint {
            Some(hint) => places.iter().copied().min_by_key(|at| at.abs_diff(hint)),
            None => places.iter().copied().find(|&at| at >= self.cursor).or(match places {
                [only] => Some(*only),
                _ => None,
            }),
        }
    }

    fn splice(&mut self, at: usize, old_len: usize, lines: &[HunkLine], bare_end: bool) {
        let mut old = at;
        let mut new: Vec<String> = Vec::new();
        for line in lines {
            match line {
                HunkLine::Keep(_) => {
                    new.push(std::mem::take(&mut self.lines[old]));
                    old += 1;
                }
                HunkLine::Remove(_) => old += 1,
                HunkLine::Add(text) => new.push(format!("{text}{}", self.ending)),
            }
        }
        let is_end = at + old_len == self.lines.len();
        // A file without a last newline gets one before a line that is added after it.
        let mut before: Vec<&mut String> = Vec::new();
        if at > 0 && !new.is_empty() {
            before.push(&mut self.lines[at - 1]);
        }
        let inner = new.len().saturating_sub(usize::from(is_end));
        for line in before.into_iter().chain(&mut new[..inner]) {
            if !line.ends_with('\n') {
                line.push_str(self.ending);
            }
        }
        if is_end
            && bare_end
            && let Some(last) = new.last_mut()
        {
            last.truncate(last.trim_end_matches(['\n', '\r']).len());
        }
        self.cursor = at + new.len();
        self.shift += new.len().cast_signed() - old_len.cast_signed();
        self.lines.splice(at..at + old_len, new);
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
        match apply(text, hunks) {
            Ok(Patched { text, tolerated: 0 }) => format!("{text:?}"),
            Ok(Patched { text, tolerated }) => format!("{tolerated} tolerated {text:?}"),
            Err(Misfit { hunk, wanted }) => format!("hunk {hunk} wants {wanted:?}"),
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
        assert_eq!(check(file, "@@\n-  x\n+  y"), r#""fn a() {\n  y\n}\nfn b() {\n  x\n}\n""#);
        assert_eq!(check(file, "-}\n+};\n*** End of File"), r#""fn a() {\n  x\n}\nfn b() {\n  x\n};\n""#);
        // Counts and numbers that are off by some lines.
        assert_eq!(check("a\nx\nb\nc\nx\nd\n", "@@ -4,9 +4,9 @@\n-x\n+y"), r#""a\nx\nb\nc\ny\nd\n""#);
        assert_eq!(check(file, "@@ fn c() {\n-  x\n+  y"), r#"hunk 1 wants "fn c() {""#);
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
        assert_eq!(check("a  \nb\n", " a\n-b\n+B"), r#"1 tolerated "a  \nB\n""#);
        assert_eq!(check("a  \na\t\n", "-a\n+A"), r#"hunk 1 wants "a""#);
        assert_eq!(check("  a\n", "-a\n+A"), r#"hunk 1 wants "a""#);
        // An empty line at the end of the patch is not looked for in the file.
        assert_eq!(check("a\nb\n", "-b\n+c\n\n"), r#""a\nc\n""#);
    }

    #[test]
    fn the_second_misfit_is_named() {
        assert_eq!(check("a\nb\n", "-a\n+A\n@@\n-x\n-y"), r#"hunk 2 wants "x\ny""#);
    }
}
