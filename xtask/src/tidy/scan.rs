//! Rust source with everything blanked that is not code: comments, literals, and on request what only tests see.
//! Line numbers stay true. A lexer of a hundred lines, not a parser: it knows where literals end and which braces
//! belong together.

/// Blanks comments and string and character literals.
pub fn code_only(source: &str) -> String {
    fill(source, b' ', |_| true)
}

/// Fills string and character literals with `x`, so that what they hold is not taken for layout.
pub fn without_literals(source: &str) -> String {
    fill(source, b'x', |start| start != b'/')
}

/// Replaces each comment or literal whose first byte is `wanted`; line ends stay.
fn fill(source: &str, filler: u8, wanted: fn(u8) -> bool) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let Some(end) = literal_end(bytes, at) else {
            at += 1;
            continue;
        };
        if wanted(bytes[at]) {
            out[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = filler);
        }
        at = end;
    }
    String::from_utf8(out).expect("literals and comments begin and end between characters")
}

/// Blanks every item under `#[cfg(test)]`; expects what [`code_only`] returns.
pub fn without_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    for (start, mark) in code.match_indices("#[cfg(test)]") {
        let end = item_end(code.as_bytes(), start + mark.len());
        out[start..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8(out).expect("items begin and end between characters")
}

/// Returns the names of modules that are compiled for tests only and live in files of their own.
pub fn test_only_modules(code: &str) -> Vec<&str> {
    let items = code.match_indices("#[cfg(test)]").map(|(at, mark)| code[at + mark.len()..].trim_start());
    items
        .filter_map(|item| {
            let item = item.strip_prefix("pub(crate) ").or_else(|| item.strip_prefix("pub ")).unwrap_or(item);
            let name = item.strip_prefix("mod ")?;
            let end = name.find(|c: char| c != '_' && !c.is_alphanumeric())?;
            name[end..].starts_with(';').then_some(&name[..end])
        })
        .collect()
}

/// Returns where the item ends that starts at `at`: after its block, or after its semicolon.
fn item_end(code: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    for (i, byte) in code.iter().enumerate().skip(at) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return i + 1,
            b'}' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return i + 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns where the comment or literal that starts at `at` ends; `None` if none starts there.
fn literal_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    match rest[0] {
        b'/' if rest.starts_with(b"//") => Some(at + find(rest, b"\n").unwrap_or(rest.len())),
        b'/' if rest.starts_with(b"/*") => Some(block_comment_end(bytes, at)),
        b'"' => Some(string_end(bytes, at + 1)),
        b'r' if !continues_word(bytes, at) => raw_string_end(bytes, at),
        b'b' if !continues_word(bytes, at) && rest.starts_with(b"br") => raw_string_end(bytes, at + 1),
        b'\'' => char_end(bytes, at),
        _ => None,
    }
}

/// Whether the byte at `at` is inside a word, so that it cannot start a prefixed literal.
fn continues_word(bytes: &[u8], at: usize) -> bool {
    // `br"` is looked at from its `b`; its `r` follows that very `b`.
    let before = at.checked_sub(1).map(|i| bytes[i]);
    before.is_some_and(|b| b == b'_' || b.is_ascii_alphanumeric())
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if bytes[at..].starts_with(b"*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns where the raw string ends whose `r` is at `at`; `None` if it is just a word.
fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at + 1..].iter().take_while(|b| **b == b'#').count();
    let open = at + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    Some(find(&bytes[open + 1..], &close).map_or(bytes.len(), |n| open + 1 + n + close.len()))
}

/// Returns where the character literal ends; `None` if the quote begins a lifetime or a label.
fn char_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at + 1) == Some(&b'\\') {
        // The escaped character itself may be a quote.
        return find(&bytes[at + 3..], b"'").map(|n| at + 3 + n + 1);
    }
    let first = *bytes.get(at + 1)?;
    let width = match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    (bytes.get(at + 1 + width) == Some(&b'\'')).then_some(at + 2 + width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_are_blanked() {
        let source =
            "a(\"x\\\"y\"); // c\nb(r#\"z\"z\"#, b\"q\", br\"r\", 'é', '\\'', '\"'); /* d /* e */ f */ <'a>";
        let code = code_only(source);
        assert_eq!(code.replace(' ', ""), "a();\nb(,b,,,,);<'a>");
        assert_eq!(code.len(), source.len());
    }

    #[test]
    fn literals_may_hold_what_they_like() {
        assert_eq!(without_literals("a(\" \n \"); // c \n"), "a(xx\nxx); // c \n");
    }

    #[test]
    fn words_that_end_in_r_are_words() {
        assert_eq!(code_only("for r in var {r}"), "for r in var {r}");
    }

    #[test]
    fn what_only_tests_see_is_blanked() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { c(); }\n}\n#[cfg(test)]\nmod sample;\nfn d() {}\n";
        assert_eq!(without_tests(code).split_whitespace().collect::<String>(), "fna(){}fnd(){}");
        assert_eq!(without_tests(code).lines().count(), code.lines().count());
        assert_eq!(test_only_modules(code), ["sample"]);
    }
}
