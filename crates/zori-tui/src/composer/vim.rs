//! Vim's keys for the composer (`ui.keys = "vim"`): insert and normal mode, motions, operators with counts, and the last change again.

mod words;

use self::words::{Class, between, class, next_word, word_end, word_start};
use super::buffer::Buffer;
use crate::keys::{Key, KeyCode, Mods};

/// Where the keys go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Insert,
    Normal,
}

/// What was typed of a command so far, and what is kept between commands.
#[derive(Clone, Debug, Default)]
pub struct Vim {
    pub mode: Mode,
    count: Option<usize>,
    operator: Option<Operator>,
    /// `f`, `t`, `F` or `T` waits for its character; `r` and `g`, too.
    waits: Option<char>,
    /// The last search in the line: `;` and `,` repeat it.
    found: Option<(char, char)>,
    /// The keys of the change under way, and of the last one, which `.` repeats.
    typing: Vec<Key>,
    last: Vec<Key>,
    repeating: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Delete,
    Change,
    Yank,
}

/// What the chat has to do about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The text or the cursor changed.
    Here,
    /// It is no key of vim's: it means what it means without it.
    Not,
    /// `k` and `j` at the edge, and `/`: history, as Up, Down and the search have it.
    Older,
    Newer,
    Search,
}

/// A range a motion goes over.
struct Span {
    to: usize,
    /// Whether an operator takes the character at the end, too.
    inclusive: bool,
    /// Whether it takes whole lines.
    lines: bool,
}

impl Vim {
    /// Takes a key.
    pub fn key(&mut self, key: Key, buffer: &mut Buffer) -> Done {
        match self.mode {
            Mode::Insert => self.insert_key(key, buffer),
            Mode::Normal => self.normal_key(key, buffer),
        }
    }

    fn insert_key(&mut self, key: Key, buffer: &mut Buffer) -> Done {
        if key.code == KeyCode::Esc && key.mods == Mods::NONE {
            self.mode = Mode::Normal;
            let at = buffer.cursor();
            if at > buffer.line_start(at) {
                buffer.move_to(buffer.before(at));
            }
            self.typing.push(key);
            self.end_change();
            return Done::Here;
        }
        self.typing.push(key);
        Done::Not
    }

    fn normal_key(&mut self, key: Key, buffer: &mut Buffer) -> Done {
        let KeyCode::Char(c) = key.code else { return self.special(key, buffer) };
        if key.mods.ctrl || key.mods.alt {
            return Done::Not;
        }
        if self.operator.is_none() && self.count.is_none() && self.waits.is_none() {
            self.typing.clear();
        }
        self.typing.push(key);
        if let Some(waits) = self.waits.take() {
            return self.waited(waits, c, buffer);
        }
        match c {
            '1'..='9' => {
                let digit = c as usize - '0' as usize;
                self.count = Some((self.count.unwrap_or(0) * 10 + digit).min(10_000));
                return Done::Here;
            }
            '0' if self.count.is_some() => {
                self.count = self.count.map(|count| (count * 10).min(10_000));
                return Done::Here;
            }
            'f' | 't' | 'F' | 'T' | 'g' | 'r' => {
                self.waits = Some(c);
                return Done::Here;
            }
            'd' | 'c' | 'y' => return self.operate(c, buffer),
            'i' | 'a' if self.operator.is_some() => {
                // The inside of a word, with or without the blanks behind it.
                self.waits = Some(if c == 'i' { '\u{1}' } else { '\u{2}' });
                return Done::Here;
            }
            _ => {}
        }
        let count = self.count.take().unwrap_or(1);
        if let Some(span) = self.motion(c, count, buffer) {
            return self.apply(span, buffer);
        }
        self.operator = None;
        self.command(c, count, buffer)
    }

    fn special(&mut self, key: Key, buffer: &mut Buffer) -> Done {
        let at = buffer.cursor();
        match key.code {
            KeyCode::Esc if self.operator.is_some() || self.count.is_some() || self.waits.is_some() => {
                self.forget();
                Done::Here
            }
            KeyCode::Backspace => {
                buffer.move_to(buffer.before(at));
                Done::Here
            }
            _ => {
                self.forget();
                Done::Not
            }
        }
    }

    fn forget(&mut self) {
        (self.operator, self.count, self.waits) = (None, None, None);
    }

    /// An operator, or twice the same: whole lines.
    fn operate(&mut self, c: char, buffer: &mut Buffer) -> Done {
        let operator = match c {
            'd' => Operator::Delete,
            'c' => Operator::Change,
            _ => Operator::Yank,
        };
        if self.operator == Some(operator) {
            let count = self.count.take().unwrap_or(1);
            let mut end = buffer.line_end(buffer.cursor());
            for _ in 1..count {
                end = buffer.line_end((end + 1).min(buffer.raw().len()));
            }
            return self.apply(Span { to: end, inclusive: false, lines: true }, buffer);
        }
        self.operator = Some(operator);
        Done::Here
    }

    fn waited(&mut self, waits: char, c: char, buffer: &mut Buffer) -> Done {
        let at = buffer.cursor();
        match waits {
            'r' => {
                let end = buffer.behind(at);
                if end > at && !buffer.raw()[at..end].starts_with('\n') {
                    buffer.replace(at..end, c.encode_utf8(&mut [0; 4]));
                    buffer.move_to(at);
                    self.end_change();
                }
                self.forget();
                Done::Here
            }
            'g' if c == 'g' => self.apply(Span { to: 0, inclusive: false, lines: true }, buffer),
            '\u{1}' | '\u{2}' => self.object(waits == '\u{2}', c, buffer),
            'f' | 't' | 'F' | 'T' => {
                self.found = Some((waits, c));
                self.find(waits, c, buffer)
            }
            _ => {
                self.forget();
                Done::Here
            }
        }
    }

    fn find(&mut self, how: char, c: char, buffer: &mut Buffer) -> Done {
        let (at, count) = (buffer.cursor(), self.count.take().unwrap_or(1));
        let (start, end) = (buffer.line_start(at), buffer.line_end(at));
        let line = &buffer.raw()[start..end];
        let places: Vec<usize> = line.match_indices(c).map(|(place, _)| start + place).collect();
        let forward = how.is_lowercase();
        let mut places: Vec<usize> = match forward {
            true => places.into_iter().filter(|place| *place > at).collect(),
            false => places.into_iter().rev().filter(|place| *place < at).collect(),
        };
        // `t` that stands before one already goes on to the next.
        if how == 't'
            && places.first().is_some_and(|first| *first == buffer.behind(at))
            && places.len() > 1
            && count == 1
            && self.operator.is_none()
        {
            places.remove(0);
        }
        let Some(place) = places.get(count - 1).copied() else {
            self.forget();
            return Done::Here;
        };
        let to = match how {
            't' => buffer.before(place),
            'T' => buffer.behind(place),
            _ => place,
        };
        self.apply(Span { to, inclusive: forward, lines: false }, buffer)
    }

    /// `iw`, `aw` and what stands in quotes or brackets.
    fn object(&mut self, around: bool, c: char, buffer: &mut Buffer) -> Done {
        let at = buffer.cursor();
        let text = buffer.raw();
        let range = match c {
            'w' => {
                let kind = |place: usize| text[place..].chars().next().map(class);
                let mine = kind(at);
                let mut start = at;
                while start > buffer.line_start(at) && kind(buffer.before(start)) == mine {
                    start = buffer.before(start);
                }
                let mut end = at;
                while end < buffer.line_end(at) && kind(end) == mine {
                    end = buffer.behind(end);
                }
                while around && end < buffer.line_end(at) && kind(end) == Some(Class::Blank) {
                    end = buffer.behind(end);
                }
                Some(start..end)
            }
            '"' | '\'' | '`' => {
                let (start, end) = (buffer.line_start(at), buffer.line_end(at));
                let places: Vec<usize> =
                    text[start..end].match_indices(c).map(|(place, _)| start + place).collect();
                places.chunks_exact(2).find(|pair| pair[1] >= at).map(|pair| match around {
                    true => pair[0]..pair[1] + 1,
                    false => pair[0] + 1..pair[1],
                })
            }
            '(' | ')' | 'b' => between(text, at, '(', ')', around),
            '[' | ']' => between(text, at, '[', ']', around),
            '{' | '}' | 'B' => between(text, at, '{', '}', around),
            _ => None,
        };
        match range {
            Some(range) if !range.is_empty() => {
                buffer.move_to(range.start);
                self.count = None;
                self.apply(Span { to: range.end, inclusive: false, lines: false }, buffer)
            }
            _ => {
                self.forget();
                Done::Here
            }
        }
    }

    fn motion(&mut self, c: char, count: usize, buffer: &Buffer) -> Option<Span> {
        let at = buffer.cursor();
        let (mut to, mut inclusive) = (at, false);
        match c {
            'h' => (0..count).for_each(|_| to = buffer.before(to).max(buffer.line_start(at))),
            'l' | ' ' => (0..count).for_each(|_| to = buffer.behind(to).min(buffer.line_end(at))),
            '0' => to = buffer.line_start(at),
            '^' => {
                let (start, end) = (buffer.line_start(at), buffer.line_end(at));
                let line = &buffer.raw()[start..end];
                to = start + (line.len() - line.trim_start().len());
            }
            '$' => to = buffer.line_end(at),
            'w' | 'W' => {
                // `cw` leaves the blanks behind the word.
                if self.operator == Some(Operator::Change) {
                    (0..count).for_each(|_| to = word_end(buffer, to, c == 'W'));
                    inclusive = true;
                } else {
                    (0..count).for_each(|_| to = next_word(buffer, to, c == 'W'));
                }
            }
            'e' | 'E' => {
                (0..count).for_each(|_| to = word_end(buffer, to, c == 'E'));
                inclusive = true;
            }
            'b' | 'B' => (0..count).for_each(|_| to = word_start(buffer, to, c == 'B')),
            'G' => {
                let to = buffer.raw().len();
                return Some(Span { to, inclusive: false, lines: true });
            }
            _ => return None,
        }
        Some(Span { to, inclusive, lines: false })
    }

    /// Moves, or lets the operator act on what the motion goes over.
    fn apply(&mut self, span: Span, buffer: &mut Buffer) -> Done {
        let at = buffer.cursor();
        let Some(operator) = self.operator.take() else {
            self.forget();
            buffer.move_to(match span.lines && span.to == buffer.raw().len() {
                true => buffer.line_start(span.to),
                false => span.to,
            });
            self.keep_on_character(buffer);
            return Done::Here;
        };
        let (mut from, mut to) = (at.min(span.to), at.max(span.to));
        if span.inclusive {
            to = buffer.behind(to);
        }
        if span.lines {
            (from, to) = (buffer.line_start(from), buffer.line_end(to));
            if operator == Operator::Delete {
                // The line end goes, too: the one behind, or the one before at the end of the text.
                match to < buffer.raw().len() {
                    true => to += 1,
                    false => from = from.saturating_sub(1),
                }
            }
        }
        self.count = None;
        match operator {
            Operator::Yank => {
                buffer.keep(from..to);
                buffer.move_to(from);
            }
            Operator::Delete => {
                buffer.cut(from..to);
                self.keep_on_character(buffer);
                self.end_change();
            }
            Operator::Change => {
                buffer.cut(from..to);
                self.mode = Mode::Insert;
            }
        }
        Done::Here
    }

    fn command(&mut self, c: char, count: usize, buffer: &mut Buffer) -> Done {
        let at = buffer.cursor();
        match c {
            'i' => self.mode = Mode::Insert,
            'a' => {
                buffer.move_to(buffer.behind(at).min(buffer.line_end(at)));
                self.mode = Mode::Insert;
            }
            'I' => {
                if let Some(span) = self.motion('^', 1, buffer) {
                    buffer.move_to(span.to);
                }
                self.mode = Mode::Insert;
            }
            'A' => {
                buffer.move_to(buffer.line_end(at));
                self.mode = Mode::Insert;
            }
            'o' => {
                let end = buffer.line_end(at);
                buffer.replace(end..end, "\n");
                self.mode = Mode::Insert;
            }
            'O' => {
                let start = buffer.line_start(at);
                buffer.replace(start..start, "\n");
                buffer.move_to(start);
                self.mode = Mode::Insert;
            }
            'x' => {
                let mut end = at;
                (0..count).for_each(|_| end = buffer.behind(end).min(buffer.line_end(at)));
                buffer.cut(at..end);
                self.keep_on_character(buffer);
                self.end_change();
            }
            'X' => {
                let mut start = at;
                (0..count).for_each(|_| start = buffer.before(start).max(buffer.line_start(at)));
                buffer.cut(start..at);
                self.end_change();
            }
            's' => {
                let end = buffer.behind(at).min(buffer.line_end(at));
                buffer.cut(at..end);
                self.mode = Mode::Insert;
            }
            'S' => {
                self.operator = Some(Operator::Change);
                return self.apply(Span { to: buffer.line_end(at), inclusive: false, lines: true }, buffer);
            }
            'D' | 'C' => {
                buffer.cut(at..buffer.line_end(at));
                match c {
                    'C' => self.mode = Mode::Insert,
                    _ => {
                        self.keep_on_character(buffer);
                        self.end_change();
                    }
                }
            }
            'p' => {
                buffer.move_to(buffer.behind(at).min(buffer.line_end(at)));
                (0..count).for_each(|_| buffer.yank());
                self.end_change();
            }
            'P' => {
                (0..count).for_each(|_| buffer.yank());
                self.end_change();
            }
            'J' => {
                let end = buffer.line_end(at);
                if end < buffer.raw().len() {
                    buffer.replace(end..end + 1, " ");
                    self.end_change();
                }
            }
            '~' => {
                let end = buffer.behind(at);
                let old = buffer.raw()[at..end].to_owned();
                let new: String = match old.chars().any(char::is_lowercase) {
                    true => old.to_uppercase(),
                    false => old.to_lowercase(),
                };
                if end > at {
                    buffer.replace(at..end, &new);
                    self.end_change();
                }
            }
            'u' => (0..count).for_each(|_| buffer.undo()),
            ';' | ',' => {
                if let Some((how, wanted)) = self.found {
                    let flipped =
                        if how.is_lowercase() { how.to_ascii_uppercase() } else { how.to_ascii_lowercase() };
                    self.count = Some(count);
                    return self.find(if c == ';' { how } else { flipped }, wanted, buffer);
                }
            }
            '.' if !self.repeating && !self.last.is_empty() => {
                self.repeating = true;
                for key in self.last.clone() {
                    if self.key(key, buffer) == Done::Not
                        && let KeyCode::Char(c) = key.code
                    {
                        buffer.insert(c.encode_utf8(&mut [0; 4]));
                    }
                }
                self.repeating = false;
            }
            'k' | 'j' => return self.vertical(c == 'k', count, buffer),
            '/' => return Done::Search,
            _ => {}
        }
        Done::Here
    }

    fn vertical(&mut self, up: bool, count: usize, buffer: &mut Buffer) -> Done {
        let at = buffer.cursor();
        let column = buffer.raw()[buffer.line_start(at)..at].chars().count();
        let mut start = buffer.line_start(at);
        for _ in 0..count {
            start = match up {
                true if start == 0 => return Done::Older,
                true => buffer.line_start(start - 1),
                false => match buffer.line_end(start) {
                    end if end == buffer.raw().len() => return Done::Newer,
                    end => end + 1,
                },
            };
        }
        let line = &buffer.raw()[start..buffer.line_end(start)];
        let to = start + line.char_indices().nth(column).map_or(line.len(), |(place, _)| place);
        buffer.move_to(to);
        self.keep_on_character(buffer);
        Done::Here
    }

    /// In normal mode the cursor stands on a character, not behind the last one.
    fn keep_on_character(&self, buffer: &mut Buffer) {
        let at = buffer.cursor();
        if self.mode == Mode::Normal && at == buffer.line_end(at) && at > buffer.line_start(at) {
            buffer.move_to(buffer.before(at));
        }
    }

    fn end_change(&mut self) {
        if !self.repeating {
            self.last = std::mem::take(&mut self.typing);
        }
    }
}

#[cfg(test)]
mod tests;
