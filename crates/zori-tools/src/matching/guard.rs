//! Changes that nobody means (FOR-7): a placeholder in place of the text it stands for.

/// What opens a comment, in the languages people write.
const COMMENTS: &[&str] = &["//", "#", "/*", "*", "--", "<!--", "{/*", ";", "%", "\"\"\"", "'''"];

/// What says by itself that text is left out.
const PHRASES: &[&str] = &[
    "existing code",
    "rest of the code",
    "rest of code",
    "rest of the file",
    "rest of file",
    "rest of the function",
    "rest of the class",
    "rest of the implementation",
    "rest unchanged",
    "rest remains",
    "remaining code",
    "unchanged code",
    "code unchanged",
    "remains unchanged",
    "remain unchanged",
    "remains the same",
    "remain the same",
    "other methods",
    "other functions",
];

/// What says so beside three dots.
const WORDS: &[&str] =
    &["rest", "existing", "unchanged", "remaining", "same as", "previous", "omitted", "as before"];

/// Returns the first line of `new` that stands for text it does not hold, and that `old` does not have.
pub fn placeholder<'a>(old: &str, new: &'a str) -> Option<&'a str> {
    let found = |line: &&str| is_placeholder(line) && !old.lines().any(|own| own.trim() == *line);
    new.lines().map(str::trim).find(found)
}

fn is_placeholder(line: &str) -> bool {
    let dots = line.contains("...") || line.contains('…');
    // A line of dots and words in brackets is a placeholder in any language.
    let bracketed = line.starts_with("[...") || line.starts_with("(...") && line.ends_with(')');
    if line.len() > 120 || !(COMMENTS.iter().any(|open| line.starts_with(open)) || bracketed) {
        return false;
    }
    let lower = line.to_lowercase();
    let short = lower.split_whitespace().count() <= 9;
    short
        && (dots
            && (WORDS.iter().any(|word| lower.contains(word)) || PHRASES.iter().any(|p| lower.contains(p)))
            || PHRASES.iter().any(|phrase| lower.contains(phrase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_text() {
        for line in [
            "# ... rest unchanged ...",
            "  // ... existing code ...",
            "/* existing code */",
            "<!-- rest of the file -->",
            "# … remaining methods …",
            "// rest of the implementation remains the same",
            "[... existing code ...]",
        ] {
            assert_eq!(placeholder("a\nb", &format!("a\n{line}\n")), Some(line.trim()), "{line}");
            assert_eq!(placeholder(&format!("{line}\nb"), &format!("a\n{line}\n")), None, "{line}");
        }
        for line in [
            "...",
            "def f(): ...",
            "const a = { ...rest };",
            "# Take the rest",
            "// existing callers pass 0",
            "# the rest of this paragraph explains at length why the existing code path cannot be used here any more",
            "print('...')",
        ] {
            assert_eq!(placeholder("a", line), None, "{line}");
        }
    }
}
