//! Text under a cursor that moves by what people see as characters, with undo and a ring of what was cut out.
//!
//! A piece that stands for more than itself, such as a long paste or an image, is one private-use character in the text and an [`Atom`] beside it.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;
use zori_core::image::Image;
use zori_core::input::Prompt;

/// The first character that stands for an atom.
const FIRST: u32 = 0x10_f000;
/// How many steps back there are.
const STEPS: usize = 200;
/// How many cuts are kept.
const CUTS: usize = 20;

/// A piece of the text that is shown as a word or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// What is shown.
    pub label: String,
    /// What is sent in its place.
    pub text: Arc<str>,
    /// The image it stands for.
    pub image: Option<Image>,
}

/// A part of what replaces the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    Text(String),
    Atom(Atom),
}

/// The text.
#[derive(Debug, Default)]
pub struct Buffer {
    text: String,
    cursor: usize,
    atoms: Vec<Atom>,
    undo: Vec<Step>,
    /// How often the text was changed.
    changes: u64,
    /// Whether the last change was typing, which is undone by the word.
    typing: bool,
    cuts: Vec<String>,
    /// The last change was a cut, so that the next one is added to it.
    cutting: bool,
    /// What the last key put back from the ring: where it begins, and which cut it is.
    yanked: Option<(usize, usize)>,
}

/// A change that can be taken back. Only what it took out is kept: a text may be long, and typed key by key.
#[derive(Debug)]
struct Step {
    at: usize,
    removed: String,
    /// How many bytes it put in.
    inserted: usize,
    /// Where the cursor was before.
    cursor: usize,
}

/// Returns whether a character may stand for an atom.
pub fn is_placeholder(c: char) -> bool {
    (FIRST..=0x10_fffd).contains(&(c as u32))
}

impl Buffer {
    /// Returns whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text with placeholders.
    pub fn raw(&self) -> &str {
        &self.text
    }

    /// Returns how often the text was changed since it was empty.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns where the cursor is, in bytes of the raw text.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns the atom that a character stands for.
    pub fn atom(&self, c: char) -> Option<&Atom> {
        self.atoms.get(usize::try_from((c as u32).checked_sub(FIRST)?).ok()?)
    }

    /// Returns how many images there are.
    pub fn images(&self) -> usize {
        self.text.chars().filter(|c| self.atom(*c).is_some_and(|atom| atom.image.is_some())).count()
    }

    /// Returns the text as it is sent.
    pub fn text(&self) -> String {
        self.expanded(&self.text)
    }

    /// Returns raw text with what its atoms stand for.
    fn expanded(&self, raw: &str) -> String {
        let mut out = String::with_capacity(raw.len());
        for c in raw.chars() {
            match self.atom(c) {
                Some(atom) => out.push_str(&atom.text),
                None => out.push(c),
            }
        }
        out
    }

    /// Returns the text with its images.
    pub fn prompt(&self) -> Prompt {
        let images = self.text.chars().filter_map(|c| self.atom(c)?.image.clone()).collect();
        Prompt { text: self.text(), images, uuid: None, scheduled: None }
    }

    /// Returns the same with a dot for every character, for what must not be read.
    pub fn masked(&self) -> Self {
        const DOT: &str = "•";
        let dots = |text: &str| text.graphemes(true).count() * DOT.len();
        let (cursor, all) = (dots(&self.text[..self.cursor]), dots(&self.text));
        Self { text: DOT.repeat(all / DOT.len()), cursor, ..Self::default() }
    }

    /// Puts text in at the cursor.
    pub fn insert(&mut self, text: &str) {
        let by_word = text.chars().all(|c| !c.is_whitespace());
        let goes_on = self.typing && by_word;
        self.changed();
        self.typing = by_word;
        let text: String = text.chars().filter(|c| !is_placeholder(*c)).collect();
        match self.undo.last_mut().filter(|_| goes_on) {
            Some(step) => {
                self.changes += 1;
                step.inserted += text.len();
                self.text.insert_str(self.cursor, &text);
                self.cursor += text.len();
            }
            None => self.splice(self.cursor..self.cursor, &text),
        }
    }

    /// Puts an atom in at the cursor.
    pub fn insert_atom(&mut self, atom: Atom) {
        self.changed();
        match self.new_atom(atom) {
            Ok(c) => self.splice(self.cursor..self.cursor, c.encode_utf8(&mut [0; 4])),
            Err(atom) => self.insert(&atom.text),
        }
    }

    /// Puts the text of the atom at the cursor in its place; returns whether there was one.
    pub fn unfold(&mut self) -> bool {
        let before = self.text[..self.cursor].chars().next_back().map(|c| (c, self.cursor - c.len_utf8()));
        let at = self.text[self.cursor..].chars().next().map(|c| (c, self.cursor));
        let found = [before, at]
            .into_iter()
            .flatten()
            .find(|(c, _)| self.atom(*c).is_some_and(|atom| atom.image.is_none()));
        let Some((c, start)) = found else { return false };
        let text = self.atom(c).map_or_else(|| "".into(), |atom| atom.text.clone());
        self.changed();
        self.splice(start..start + c.len_utf8(), &text);
        true
    }

    /// Puts an atom in place of what was typed between a place and the cursor, as one step that can be taken back. What an atom right before
    /// that place stands for is its beginning, if `goes_on`.
    pub fn fold(&mut self, from: usize, goes_on: bool, make: impl FnOnce(Arc<str>) -> Atom) {
        let Some(typed) = self.text.get(from..self.cursor).filter(|typed| !typed.is_empty()) else { return };
        let before = self.text[..from].chars().next_back().filter(|c| goes_on && self.atom(*c).is_some());
        let earlier = before.and_then(|c| self.atom(c)).map_or("", |atom| &*atom.text);
        let atom = make(format!("{earlier}{}", self.expanded(typed)).into());
        let (start, c) = match before {
            Some(c) => {
                self.atoms[(c as u32 - FIRST) as usize] = atom;
                (from - c.len_utf8(), c)
            }
            None => match self.new_atom(atom) {
                Ok(c) => (from, c),
                // There are too many of them; the text stays.
                Err(_) => return,
            },
        };
        self.changed();
        self.changes += 1;
        self.undo.truncate(self.undo.iter().rposition(|step| step.at < start).map_or(0, |last| last + 1));
        self.text.replace_range(start..self.cursor, c.encode_utf8(&mut [0; 4]));
        self.undo.push(Step { at: start, removed: String::new(), inserted: c.len_utf8(), cursor: start });
        self.cursor = start + c.len_utf8();
    }

    /// Replaces everything.
    pub fn replace_all_with(&mut self, parts: Vec<Replacement>) {
        self.changed();
        let mut all = String::new();
        for part in parts {
            match part {
                Replacement::Text(text) => all.extend(text.chars().filter(|c| !is_placeholder(*c))),
                Replacement::Atom(atom) => match self.new_atom(atom) {
                    Ok(c) => all.push(c),
                    Err(atom) => all.push_str(&atom.text),
                },
            }
        }
        self.splice(0..self.text.len(), &all);
    }

    /// Takes an atom in; returns the character that stands for it, or the atom if there are too many of them.
    fn new_atom(&mut self, atom: Atom) -> Result<char, Atom> {
        let number = u32::try_from(self.atoms.len()).ok();
        match number.and_then(|n| char::from_u32(FIRST + n)).filter(|c| is_placeholder(*c)) {
            Some(c) => {
                self.atoms.push(atom);
                Ok(c)
            }
            None => Err(atom),
        }
    }

    /// Replaces a range of the raw text, and puts the cursor behind it.
    pub fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.changed();
        self.splice(range, text);
    }

    /// Empties it; the atoms go, too.
    pub fn clear(&mut self) {
        let cuts = std::mem::take(&mut self.cuts);
        *self = Self { cuts, ..Self::default() };
    }

    /// Empties it of everything, what was cut out included.
    pub fn wipe(&mut self) {
        *self = Self::default();
    }

    /// Puts the cursor somewhere.
    pub fn move_to(&mut self, at: usize) {
        self.changed();
        self.cursor = self.text.floor_char_boundary(at);
    }

    /// Returns where the cluster before a place begins.
    pub fn before(&self, at: usize) -> usize {
        self.text[..at].grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
    }

    /// Returns where the cluster at a place ends.
    pub fn behind(&self, at: usize) -> usize {
        self.text[at..].graphemes(true).next().map_or(at, |cluster| at + cluster.len())
    }

    /// Returns where the word before a place begins.
    pub fn word_before(&self, at: usize) -> usize {
        let mut words = self.text[..at].split_word_bound_indices();
        words.rfind(|(_, word)| word.chars().any(is_word)).map_or(0, |(start, _)| start)
    }

    /// Returns where the word behind a place ends.
    pub fn word_behind(&self, at: usize) -> usize {
        let mut words = self.text[at..].split_word_bound_indices();
        words
            .find(|(_, word)| word.chars().any(is_word))
            .map_or(self.text.len(), |(start, word)| at + start + word.len())
    }

    /// Returns where the line of a place begins.
    pub fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Returns where the line of a place ends.
    pub fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline)
    }

    /// Takes a range out.
    pub fn delete(&mut self, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.changed();
        self.splice(range, "");
    }

    /// Takes a range out and keeps it for [`yank`](Self::yank); cuts without anything between them become one.
    pub fn cut(&mut self, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        let cut = self.text[range.clone()].to_owned();
        let (joins, backward) = (self.cutting, range.end == self.cursor);
        self.delete(range);
        match self.cuts.last_mut().filter(|_| joins) {
            Some(last) if backward => last.insert_str(0, &cut),
            Some(last) => last.push_str(&cut),
            None => {
                self.cuts.push(cut);
                if self.cuts.len() > CUTS {
                    self.cuts.remove(0);
                }
            }
        }
        self.cutting = true;
    }

    /// Keeps a range for [`yank`](Self::yank) and leaves it where it is.
    pub fn keep(&mut self, range: std::ops::Range<usize>) {
        if !range.is_empty() {
            self.cuts.push(self.text[range].to_owned());
            if self.cuts.len() > CUTS {
                self.cuts.remove(0);
            }
        }
        self.changed();
    }

    /// Puts back what was cut out last.
    pub fn yank(&mut self) {
        let Some(cut) = self.cuts.last().cloned() else { return };
        let start = self.cursor;
        self.replace(start..start, &cut);
        self.yanked = Some((start, self.cuts.len() - 1));
    }

    /// Puts the cut before the one that was just put back in its place.
    pub fn yank_older(&mut self) {
        let Some((start, which)) = self.yanked else { return };
        let which = which.checked_sub(1).unwrap_or(self.cuts.len() - 1);
        let cut = self.cuts[which].clone();
        self.replace(start..self.cursor, &cut);
        self.yanked = Some((start, which));
    }

    /// Takes the last change back.
    pub fn undo(&mut self) {
        if let Some(Step { at, removed, inserted, cursor }) = self.undo.pop() {
            self.changed();
            self.changes += 1;
            self.text.replace_range(at..at + inserted, &removed);
            self.cursor = cursor;
        }
    }

    /// Returns how many bytes are kept for steps back.
    #[cfg(test)]
    pub(crate) fn kept_for_undo(&self) -> usize {
        self.undo.iter().map(|step| step.removed.len()).sum()
    }

    /// Replaces a range by a text, as a step that can be taken back, and puts the cursor behind it.
    fn splice(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.changes += 1;
        let (at, cursor) = (range.start, self.cursor);
        let removed = self.text[range.clone()].to_owned();
        self.undo.push(Step { at, removed, inserted: text.len(), cursor });
        if self.undo.len() > STEPS {
            self.undo.remove(0);
        }
        self.text.replace_range(range, text);
        self.cursor = at + text.len();
    }

    fn changed(&mut self) {
        self.typing = false;
        self.cutting = false;
        self.yanked = None;
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_placeholder(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Buffer {
        let mut buffer = Buffer::default();
        for c in text.chars() {
            buffer.insert(&c.to_string());
        }
        buffer
    }

    #[test]
    fn moves_by_what_people_see() {
        let buffer = typed("ae\u{301}👩\u{200d}🔬b");
        let mut places = vec![buffer.cursor()];
        while let Some(at) = places.last().copied().filter(|at| *at > 0) {
            places.push(buffer.before(at));
        }
        assert_eq!(places, [16, 15, 4, 1, 0]);
        assert_eq!(buffer.behind(4), 15);
        let words = typed("cargo test --workspace");
        assert_eq!((words.word_before(22), words.word_before(11), words.word_behind(5)), (13, 6, 10));
    }

    #[test]
    fn typing_is_undone_by_the_word() {
        let mut buffer = typed("fix it");
        buffer.undo();
        assert_eq!(buffer.text(), "fix ");
        buffer.undo();
        assert_eq!(buffer.text(), "fix");
        buffer.undo();
        assert_eq!(buffer.text(), "");
        buffer.undo();
    }

    #[test]
    fn cuts_come_back() {
        let mut buffer = typed("one two three");
        buffer.cut(8..13);
        buffer.cut(4..8);
        assert_eq!(buffer.text(), "one ");
        buffer.yank();
        assert_eq!(buffer.text(), "one two three", "two cuts in a row are one");
        buffer.move_to(0);
        buffer.cut(0..4);
        buffer.yank();
        buffer.yank_older();
        assert_eq!(buffer.text(), "two threetwo three");
    }

    #[test]
    fn an_atom_is_one_step_wide() {
        let mut buffer = typed("see ");
        buffer.insert_atom(Atom { label: "[2 lines pasted]".into(), text: "a\nb".into(), image: None });
        buffer.insert("!");
        assert_eq!(buffer.text(), "see a\nb!");
        assert_eq!(buffer.raw().chars().count(), 6);
        let at = buffer.before(buffer.cursor());
        buffer.move_to(at);
        assert!(buffer.unfold());
        assert_eq!((buffer.raw(), buffer.cursor()), ("see a\nb!", 7));
        assert!(!buffer.unfold());
    }
}
