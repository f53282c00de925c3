//! Pieces of a text that are found as a whole: cut at the outermost place where the syntax begins something, within bounds of lines and bytes.
//! Each line is looked at a bounded number of times, whatever the text.

/// The most lines and bytes of a chunk. One line may have more bytes.
const MOST_LINES: usize = 50;
const MOST_BYTES: usize = 3_000;
/// A chunk is not cut before it has this many lines, unless it must be.
const LEAST_LINES: usize = 8;

/// How well a text is cut before a line: smaller is better.
pub(crate) type Weight = u16;
/// Behind an empty line, where the syntax says nothing.
pub(crate) const AFTER_BLANK: Weight = 1_000;
/// Anywhere.
const ANYWHERE: Weight = Weight::MAX;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its first line, from 1.
    pub start: u32,
    /// Its last line.
    pub end: u32,
    pub text: String,
}

/// Cuts a text. `cuts`: how well it is cut before a line (from 0), where the syntax says something about it.
pub(crate) fn cut(text: &str, cuts: &[(usize, Weight)]) -> Vec<Chunk> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut weights = vec![ANYWHERE; lines.len() + 1];
    for line in 1..lines.len() {
        if lines[line - 1].trim().is_empty() {
            weights[line] = AFTER_BLANK;
        }
    }
    for (line, weight) in cuts {
        if let Some(known) = weights.get_mut(*line) {
            *known = (*known).min(*weight);
        }
    }
    weights[lines.len()] = 0;
    let (mut chunks, mut start) = (Vec::new(), 0);
    while start < lines.len() {
        let mut bytes = lines[start].len();
        let (mut best, mut end) = (start + 1, start + 1);
        let mut weight = ANYWHERE;
        loop {
            // The last of the best places.
            if end - start >= LEAST_LINES.min(lines.len() - start) && weights[end] <= weight {
                (best, weight) = (end, weights[end]);
            }
            if end == lines.len() || end - start == MOST_LINES || bytes + lines[end].len() > MOST_BYTES {
                break;
            }
            bytes += lines[end].len();
            end += 1;
        }
        // Long lines fill a chunk before it has the least number of them.
        if weight == ANYWHERE {
            best = end;
        }
        let text = lines[start..best].concat();
        if !text.trim().is_empty() {
            chunks.push(Chunk { start: start as u32 + 1, end: best as u32, text });
        }
        start = best;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(text: &str, cuts: &[(usize, Weight)]) -> Vec<(u32, u32)> {
        let chunks = cut(text, cuts);
        assert_eq!(chunks.iter().map(|chunk| chunk.text.as_str()).collect::<String>().len(), text.len());
        chunks.iter().map(|chunk| (chunk.start, chunk.end)).collect()
    }

    #[test]
    fn at_the_last_of_the_best_places() {
        let text = "line\n".repeat(120);
        assert_eq!(ranges(&text, &[]), [(1, 50), (51, 100), (101, 120)]);
        assert_eq!(ranges(&text, &[(20, 1), (40, 1), (45, 2)]), [(1, 40), (41, 90), (91, 120)]);
        assert_eq!(ranges(&text, &[(3, 0)]), [(1, 50), (51, 100), (101, 120)]);
        assert_eq!(ranges("", &[]), []);
        assert_eq!(ranges("one", &[]), [(1, 1)]);
        let wide = format!("{}\n", "x".repeat(1_400)).repeat(5);
        assert_eq!(ranges(&wide, &[]), [(1, 2), (3, 4), (5, 5)]);
    }
}
