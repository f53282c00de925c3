//! Places in files as links (MD-1): `src/main.rs:14` leads to the file below the project's folder, where the terminal takes links.

use crate::clean::CleanText;
use crate::row::{Row, Span};

/// Returns the row with its places in files linked; what is a link already stays one.
pub(super) fn linked(row: Row, root: &str) -> Row {
    if !row.spans.iter().any(|span| span.link.is_none() && span.text.as_str().contains(':')) {
        return row;
    }
    Row { spans: row.spans.into_iter().flat_map(|span| of_span(span, root)).collect() }
}

fn of_span(span: Span, root: &str) -> Vec<Span> {
    let text = span.text.as_str();
    let mut spans = Vec::new();
    let mut done = 0;
    for (from, word) in words(text) {
        let Some((path, to)) = place(word).filter(|_| span.link.is_none()) else { continue };
        let piece = |range: std::ops::Range<usize>| Span { text: span.text.slice(range), ..span.clone() };
        if from > done {
            spans.push(piece(done..from));
        }
        let link = Some(CleanText::new(&target(path, root)));
        spans.push(Span { link, ..piece(from..from + to) });
        done = from + to;
    }
    match done {
        0 => vec![span],
        done if done < text.len() => {
            spans.push(Span { text: span.text.slice(done..text.len()), ..span });
            spans
        }
        _ => spans,
    }
}

/// Returns the words that may be paths, with where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |c: char| c.is_alphanumeric() || "._-/+~:".contains(c);
    let mut rest = 0;
    std::iter::from_fn(move || {
        let from = rest + text[rest..].find(part)?;
        let to = text[from..].find(|c| !part(c)).map_or(text.len(), |end| from + end);
        rest = to;
        Some((from, &text[from..to]))
    })
}

/// Returns the path of a word that is `path.ext:12` or `path.ext:12:5`, and how long that is.
fn place(word: &str) -> Option<(&str, usize)> {
    let (path, behind) = word.split_once(':')?;
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let line = digits(behind);
    if line == 0 || line > 7 || path.starts_with('~') {
        return None;
    }
    let name = path.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let named = !stem.is_empty()
        && (1..=8).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    // A host with a port has no folder and ends in a known way; `127.0.0.1:80` begins with no letter.
    let host = !path.contains('/') && ["com", "org", "net", "io", "dev", "local"].contains(&ending);
    if !named || host {
        return None;
    }
    let mut to = path.len() + 1 + line;
    if let Some(column) = word[to..].strip_prefix(':').map(digits).filter(|column| *column > 0) {
        to += 1 + column;
    }
    Some((path, to))
}

/// Returns where a path leads, as a terminal wants it.
fn target(path: &str, root: &str) -> String {
    let whole = match path.strip_prefix('/') {
        Some(_) => path.to_owned(),
        None => format!("{}/{}", root.trim_end_matches('/'), path.trim_start_matches("./")),
    };
    let mut out = "file://".to_owned();
    for byte in whole.bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'~' | b'+' => out.push(byte as char),
            byte if byte.is_ascii_alphanumeric() => out.push(byte as char),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_files() {
        let shown = |text: &str| {
            let row = linked(Row::from(Span::new(text)), "/my proj");
            let spans = row.spans.iter().map(|span| match &span.link {
                Some(link) => format!("[{}]({})", span.text.as_str(), link.as_str()),
                None => span.text.as_str().to_owned(),
            });
            spans.collect::<String>()
        };
        for (text, wanted) in [
            ("see src/main.rs:14, or", "see [src/main.rs:14](file:///my%20proj/src/main.rs), or"),
            ("(./a.py:3:7)", "([./a.py:3:7](file:///my%20proj/a.py))"),
            ("/etc/x.conf:1", "[/etc/x.conf:1](file:///etc/x.conf)"),
            ("Makefile:3 at 10:45, v1.2:3", "Makefile:3 at 10:45, v1.2:3"),
            ("localhost:80 example.com:443 127.0.0.1:80", "localhost:80 example.com:443 127.0.0.1:80"),
            ("http://x.org/a.html:8", "http://x.org/a.html:8"),
            ("a.rs:", "a.rs:"),
            ("gr\u{fc}n.rs:2: x", "[gr\u{fc}n.rs:2](file:///my%20proj/gr%C3%BCn.rs): x"),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }
}
