//! What vim takes for a word, and what stands between brackets.

use crate::composer::buffer::Buffer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Blank,
    Word,
    Sign,
}

pub(super) fn class(c: char) -> Class {
    match c {
        c if c.is_whitespace() => Class::Blank,
        c if c.is_alphanumeric() || c == '_' || crate::composer::buffer::is_placeholder(c) => Class::Word,
        _ => Class::Sign,
    }
}

fn class_at(buffer: &Buffer, at: usize, big: bool) -> Option<Class> {
    let found = buffer.raw()[at..].chars().next().map(class)?;
    Some(if big && found == Class::Sign { Class::Word } else { found })
}

pub(super) fn next_word(buffer: &Buffer, at: usize, big: bool) -> usize {
    let (mut to, mine) = (at, class_at(buffer, at, big));
    while mine.is_some_and(|mine| mine != Class::Blank) && class_at(buffer, to, big) == mine {
        to = buffer.behind(to);
    }
    while class_at(buffer, to, big) == Some(Class::Blank) {
        to = buffer.behind(to);
    }
    to
}

pub(super) fn word_end(buffer: &Buffer, at: usize, big: bool) -> usize {
    let mut to = buffer.behind(at);
    while class_at(buffer, to, big) == Some(Class::Blank) {
        to = buffer.behind(to);
    }
    let Some(mine) = class_at(buffer, to, big) else { return buffer.before(buffer.raw().len()).max(at) };
    while class_at(buffer, buffer.behind(to), big) == Some(mine) {
        to = buffer.behind(to);
    }
    to
}

pub(super) fn word_start(buffer: &Buffer, at: usize, big: bool) -> usize {
    let mut to = buffer.before(at);
    while to > 0 && class_at(buffer, to, big) == Some(Class::Blank) {
        to = buffer.before(to);
    }
    let mine = class_at(buffer, to, big);
    while to > 0 && class_at(buffer, buffer.before(to), big) == mine {
        to = buffer.before(to);
    }
    to
}

/// Returns what stands between the brackets around a place.
pub(super) fn between(
    text: &str,
    at: usize,
    open: char,
    close: char,
    around: bool,
) -> Option<std::ops::Range<usize>> {
    let mut depth = 0;
    let start = text[..at].char_indices().rev().chain(None).find_map(|(place, c)| {
        match c {
            c if c == close => depth += 1,
            c if c == open && depth == 0 => return Some(place),
            c if c == open => depth -= 1,
            _ => {}
        }
        None
    });
    let start = match text[at..].starts_with(open) {
        true => at,
        false => start?,
    };
    depth = 0;
    let end = text[start + 1..].char_indices().find_map(|(place, c)| {
        match c {
            c if c == open => depth += 1,
            c if c == close && depth == 0 => return Some(start + 1 + place),
            c if c == close => depth -= 1,
            _ => {}
        }
        None
    })?;
    Some(if around { start..end + 1 } else { start + 1..end })
}
