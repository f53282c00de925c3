//! Brace expansion, as bash does it before anything else: `{a,b}` and `{1..3}`.

use crate::syntax::{WordPart, WordParts, push_text};

/// The most words one word may become; beyond it nothing is known of them.
const MAX_WORDS: usize = 256;

/// An unquoted character, or a part that is passed on as it is.
#[derive(Clone)]
enum Glyph {
    Char(char),
    WordPart(WordPart),
}

/// Returns the words `parts` becomes, or nothing if they are too many.
pub fn expand(parts: &[WordPart]) -> Option<Vec<WordParts>> {
    let open = |part: &WordPart| matches!(part, WordPart::Text(text) if text.contains('{'));
    if !parts.iter().any(open) {
        return Some(vec![parts.to_vec()]);
    }
    let mut glyphs = Vec::new();
    for part in parts {
        match part {
            WordPart::Text(text) => glyphs.extend(text.chars().map(Glyph::Char)),
            other => glyphs.push(Glyph::WordPart(other.clone())),
        }
    }
    // Nested braces cost time for each level; nobody writes many.
    let braces = glyphs.iter().filter(|glyph| matches!(glyph, Glyph::Char('{'))).count();
    if braces > 16 {
        return None;
    }
    let words = alternatives(&glyphs)?;
    Some(words.into_iter().map(assemble).collect())
}

fn assemble(glyphs: Vec<Glyph>) -> WordParts {
    let mut parts = WordParts::new();
    for glyph in glyphs {
        match glyph {
            Glyph::Char(c) => push_text(&mut parts, c),
            Glyph::WordPart(part) => parts.push(part),
        }
    }
    parts
}

fn alternatives(glyphs: &[Glyph]) -> Option<Vec<Vec<Glyph>>> {
    for start in 0..glyphs.len() {
        if !is(&glyphs[start], '{') {
            continue;
        }
        let Some((end, commas)) = group(glyphs, start) else { continue };
        let inside = &glyphs[start + 1..end];
        let members = if commas.is_empty() {
            match sequence(inside) {
                Some(Sequence::Members(members)) => members,
                Some(Sequence::TooLong) => return None,
                None => continue,
            }
        } else {
            let mut members = Vec::new();
            let mut from = start + 1;
            for at in commas.into_iter().chain([end]) {
                members.extend(alternatives(&glyphs[from..at])?);
                from = at + 1;
            }
            members
        };
        let tails = alternatives(&glyphs[end + 1..])?;
        if members.len().saturating_mul(tails.len()) > MAX_WORDS {
            return None;
        }
        let mut words = Vec::new();
        for member in &members {
            for tail in &tails {
                words.push([&glyphs[..start], member, tail].concat());
            }
        }
        return Some(words);
    }
    Some(vec![glyphs.to_vec()])
}

fn is(glyph: &Glyph, c: char) -> bool {
    matches!(glyph, Glyph::Char(found) if *found == c)
}

/// Where the group that opens at `start` ends, and its commas.
fn group(glyphs: &[Glyph], start: usize) -> Option<(usize, Vec<usize>)> {
    let mut open = 0;
    let mut commas = Vec::new();
    for (at, glyph) in glyphs.iter().enumerate().skip(start) {
        match glyph {
            Glyph::Char('{') => open += 1,
            Glyph::Char('}') => {
                open -= 1;
                if open == 0 {
                    return Some((at, commas));
                }
            }
            Glyph::Char(',') if open == 1 => commas.push(at),
            _ => {}
        }
    }
    None
}

enum Sequence {
    Members(Vec<Vec<Glyph>>),
    TooLong,
}

fn sequence(inside: &[Glyph]) -> Option<Sequence> {
    let mut text = String::new();
    for glyph in inside {
        match glyph {
            Glyph::Char(c) => text.push(*c),
            Glyph::WordPart(_) => return None,
        }
    }
    let mut fields = text.split("..");
    let (first, last, step) = (fields.next()?, fields.next()?, fields.next());
    if fields.next().is_some() || first.is_empty() || last.is_empty() {
        return None;
    }
    let letter = |field: &str| {
        let mut chars = field.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    if let (Some(first), Some(last)) = (letter(first), letter(last)) {
        if step.is_some() {
            return Some(Sequence::TooLong);
        }
        let (low, high) = (first.min(last), first.max(last));
        return Some(Sequence::Members((low..=high).map(|c| vec![Glyph::Char(c)]).collect()));
    }
    let (first, last) = (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?);
    if step.is_some() || first.abs_diff(last) as usize >= MAX_WORDS || text.starts_with('0') {
        return Some(Sequence::TooLong);
    }
    let (low, high) = (first.min(last), first.max(last));
    let members = (low..=high).map(|n| n.to_string().chars().map(Glyph::Char).collect());
    Some(Sequence::Members(members.collect()))
}
