//! Finds the lines of a file that look most like a text that was not found, so that the model can correct itself.

use serde::Serialize;
use zori_core::text::prefix;

/// How much of a file is looked at; a hint must not cost more than the edit.
const MAX_SEARCHED: usize = 4 << 20;
/// How many lines are shown.
const MAX_LINES: usize = 6;
/// How much of a line is shown.
const MAX_LINE: usize = 120;
/// How many places are compared as a whole after the single-line search.
const CANDIDATES: usize = 8;

/// A line of the file.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its number, from 1.
    pub line: usize,
    /// Its text, cut where it is very long.
    pub text: String,
}

/// Returns the lines that look most like `old`; empty when none does.
pub fn nearest(text: &str, old: &str) -> Vec<Line> {
    let wanted: Vec<&str> = old.lines().collect();
    // The longest line says most about where it is.
    let Some((anchor_at, anchor)) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len())
    else {
        return Vec::new();
    };
    let lines: Vec<&str> = prefix(text, MAX_SEARCHED).lines().collect();
    let mut likeness = Similarity::new(anchor);
    let mut best: Vec<(u32, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let score = likeness.of(line);
        if score >= 500 && (best.len() < CANDIDATES || best.last().is_some_and(|last| score > last.0)) {
            let place = best.partition_point(|other| other.0 >= score);
            best.insert(place, (score, at));
            best.truncate(CANDIDATES);
        }
    }
    let mut wanted_lines: Vec<Similarity> =
        wanted.iter().take(MAX_LINES).map(|line| Similarity::new(line)).collect();
    let start = best
        .into_iter()
        .map(|(score, at)| (at.saturating_sub(anchor_at), score))
        .max_by_key(|&(start, score)| {
            let others: u32 = wanted_lines.iter_mut().zip(&lines[start..]).map(|(w, line)| w.of(line)).sum();
            (others + score, usize::MAX - start)
        })
        .map(|(start, _)| start);
    let Some(start) = start else { return Vec::new() };
    lines
        .iter()
        .enumerate()
        .skip(start)
        .take(wanted.len().clamp(1, MAX_LINES))
        .map(|(at, line)| Line { line: at + 1, text: prefix(line, MAX_LINE).to_owned() })
        .collect()
}

/// How alike lines are to one given line, by the pairs of bytes they share.
struct Similarity {
    /// How often each pair occurs in the given line.
    pairs: Box<[u16]>,
    count: u32,
    taken: Vec<usize>,
}

impl Similarity {
    fn new(line: &str) -> Self {
        let mut pairs = vec![0; 1 << 16].into_boxed_slice();
        let mut count = 0;
        for pair in pairs_of(line) {
            pairs[pair] += 1;
            count += 1;
        }
        Self { pairs, count, taken: Vec::new() }
    }

    /// Returns how alike a line is, in thousandths.
    fn of(&mut self, line: &str) -> u32 {
        let mut shared = 0_u32;
        let mut count = 0;
        for pair in pairs_of(line) {
            count += 1;
            if self.pairs[pair] > 0 {
                self.pairs[pair] -= 1;
                self.taken.push(pair);
                shared += 1;
            }
        }
        for pair in self.taken.drain(..) {
            self.pairs[pair] += 1;
        }
        (2000 * shared).checked_div(self.count + count).unwrap_or(0)
    }
}

/// Returns the pairs of neighbouring bytes, blanks at the ends left out, of a line as far as it matters.
fn pairs_of(line: &str) -> impl Iterator<Item = usize> {
    let bytes = prefix(line.trim(), 1000).as_bytes();
    bytes.windows(2).map(|pair| usize::from(pair[0]) << 8 | usize::from(pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, old: &str) -> String {
        nearest(text, old).iter().map(|line| format!("{}|{}\n", line.line, line.text)).collect()
    }

    const FILE: &str = "use std::io;\n\nfn main() {\n    let total = count(1);\n    print(total);\n}\n\nfn other() {\n    let totals = 2;\n    print(totals);\n}\n";

    #[test]
    fn a_line_that_differs_a_little() {
        assert_eq!(check(FILE, "let total = count(2);"), "4|    let total = count(1);\n");
    }

    #[test]
    fn the_neighbours_decide_between_places() {
        assert_eq!(
            check(FILE, "fn other() {\n    let total = 2;\n    print(total);"),
            "8|fn other() {\n9|    let totals = 2;\n10|    print(totals);\n"
        );
    }

    #[test]
    fn nothing_alike() {
        assert_eq!(check(FILE, "zebra quux wholly different"), "");
        assert_eq!(check("", "x"), "");
        assert_eq!(check(FILE, ""), "");
    }

    #[test]
    fn long_lines_are_cut() {
        let long = "ab".repeat(1000);
        assert_eq!(nearest(&long, &long[1..]), vec![Line { line: 1, text: "ab".repeat(60) }]);
    }
}
