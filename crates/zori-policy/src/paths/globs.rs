//! Which names of the tables a shell pattern may mean (SH-17). Pure text: what the folder holds is not looked at.
//!
//! Directly in a root a pattern counts for every name it could match. Below a named folder it counts only if it spells
//! such a name itself, so that `src/*.rs` stays what it is.

/// One piece of a pattern within a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Char(char),
    One,
    Many,
}

/// Where a pattern stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternScope {
    /// In a root of the workspace, or outside of all.
    Open,
    /// In a folder that is named to the letter.
    Bounded,
}

/// Returns whether a pattern may mean one of the names of a table; a name may have several parts.
pub(crate) fn may_mean(pattern: &str, scope: PatternScope, names: &[&str]) -> bool {
    let parts: Vec<Vec<Piece>> =
        pattern.split('/').filter(|part| !part.is_empty() && *part != ".").map(pieces).collect();
    let fits = |name: &&str| {
        let wanted: Vec<Vec<Piece>> = name.split('/').map(pieces).collect();
        (0..parts.len()).any(|at| {
            at + wanted.len() <= parts.len()
                && wanted.iter().zip(&parts[at..]).enumerate().all(|(i, (wanted, part))| {
                    let open = scope == PatternScope::Open && at + i == 0;
                    intersects(part, wanted) && (open || spells(part, wanted))
                })
        })
    };
    names.iter().any(fits)
}

/// Returns whether a name fits a pattern without slashes.
pub(crate) fn fits_name(pattern: &str, name: &str) -> bool {
    let name: Vec<Piece> = name.chars().map(Piece::Char).collect();
    let pattern = pieces(pattern);
    both(&pattern, &name)
}

/// Reads one name of a pattern. A class of several characters counts as any one.
fn pieces(text: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '*' if out.last() == Some(&Piece::Many) => {}
            '*' => out.push(Piece::Many),
            '?' => out.push(Piece::One),
            '[' => {
                let Some(end) = rest.char_indices().skip(1).find(|(_, c)| *c == ']').map(|(at, _)| at) else {
                    out.push(Piece::Char('['));
                    continue;
                };
                let class = &rest[..end];
                let mut inside = class.chars();
                match (inside.next(), inside.next()) {
                    (Some(only), None) => out.push(Piece::Char(folded(only))),
                    _ => out.push(Piece::One),
                }
                rest = &rest[end + 1..];
            }
            '\\' => {
                if let Some(next) = rest.chars().next() {
                    out.push(Piece::Char(folded(next)));
                    rest = &rest[next.len_utf8()..];
                }
            }
            c => out.push(Piece::Char(folded(c))),
        }
    }
    out
}

fn folded(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Whether some name fits both. A name with a dot in front is only meant by a pattern with one.
fn intersects(pattern: &[Piece], wanted: &[Piece]) -> bool {
    let hidden = wanted.first() == Some(&Piece::Char('.'));
    let shows = pattern.first() == Some(&Piece::Char('.'));
    (!hidden || shows) && both(pattern, wanted)
}

fn both(a: &[Piece], b: &[Piece]) -> bool {
    // Row by row: which beginnings of `b` fit the beginning of `a` so far.
    let mut row = vec![false; b.len() + 1];
    row[0] = true;
    for (j, piece) in b.iter().enumerate() {
        row[j + 1] = row[j] && *piece == Piece::Many;
    }
    for piece in a {
        let mut next = vec![false; b.len() + 1];
        next[0] = row[0] && *piece == Piece::Many;
        for (j, other) in b.iter().enumerate() {
            next[j + 1] = match (piece, other) {
                (Piece::Many, _) => row[j + 1] || next[j] || (*other == Piece::Many && row[j]),
                (_, Piece::Many) => next[j] || row[j + 1] || row[j],
                (Piece::One, _) | (_, Piece::One) => row[j],
                (Piece::Char(x), Piece::Char(y)) => x == y && row[j],
            };
        }
        row = next;
    }
    row[b.len()]
}

/// Whether a pattern says the name itself: by how it begins, or because all it matches is of that kind.
fn spells(pattern: &[Piece], wanted: &[Piece]) -> bool {
    let begins = matches!(pattern.first(), Some(Piece::Char(_)));
    let kind = match wanted {
        [Piece::Many, suffix @ ..] => !suffix.is_empty() && pattern.ends_with(suffix),
        _ => false,
    };
    begins || kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_may_mean() {
        let names = &[".env", ".env.*", "*.pem", "*.key", "id_rsa", "hooks/pre-*", ".git", "AGENTS.md"];
        for pattern in
            ["*", ".en?", ".e[n]v", "*.key", "AGENT[S].md", ".gi?/hooks/", "i*", "*.md", "hooks/p*", "[a-z]*"]
        {
            assert!(may_mean(pattern, PatternScope::Open, names), "{pattern}");
        }
        for pattern in ["*.rs", "src/*", "*.txt", "*.o", "?"] {
            assert!(!may_mean(pattern, PatternScope::Open, names), "{pattern}");
        }
        for pattern in ["id_*", ".en*", "*.key", "A*.md", ".gi?/config"] {
            assert!(may_mean(pattern, PatternScope::Bounded, names), "{pattern}");
        }
        for pattern in ["*", "*.rs", "*.md", "**/*.ts", "?"] {
            assert!(!may_mean(pattern, PatternScope::Bounded, names), "{pattern}");
        }
    }
}
