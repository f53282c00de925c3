//! The known name that a misspelt one may have meant: one measure and one threshold for commands, flags, models and tools.
//!
//! It depends on nothing, so that every crate may ask it.

#![deny(clippy::print_stdout, clippy::print_stderr)]

/// Returns the name that differs least from what was given, if it differs little: by a third of its letters at
/// most. Case, dashes, dots and blanks count for nothing.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(64).collect()
    };
    let wanted = plain(given);
    let scored = names.into_iter().map(|name| {
        let letters = plain(name);
        (distance(&wanted, &letters), letters.len(), name)
    });
    scored
        .filter(|(far, len, _)| far * 3 <= *len.max(&wanted.len()) && *len > 0)
        .min_by_key(|(far, ..)| *far)
        .map(|(.., name)| name)
}

/// Counts the letters to insert, to delete, to replace or to swap with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_different_name() {
        let names = ["anthropic", "openai", "openrouter", "ollama"];
        for (given, expected) in [
            ("anthropic", Some("anthropic")),
            ("Antrhopic", Some("anthropic")),
            ("openia", Some("openai")),
            ("open ai", Some("openai")),
            ("olama", Some("ollama")),
            ("openrooter", Some("openrouter")),
            ("mistral", None),
            ("", None),
            ("--", None),
        ] {
            assert_eq!(nearest(given, names), expected, "{given}");
        }
        assert_eq!(nearest("a", []), None);
    }
}

// The example of the README compiles, and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
