//! What is being typed (CMP-1 to CMP-10): the text with its atoms, the history behind it, and how it is drawn.

pub mod buffer;
pub mod history;
pub mod layout;
pub mod vim;

use std::sync::Arc;

use zori_core::image::Image;
use zori_core::input::Prompt;

use crate::composer::buffer::{Atom, Buffer, Replacement};
use crate::composer::history::History;

/// From so many lines on, a paste is one piece.
const LINES_OF_ATOM: usize = 5;
/// From so many characters on, a paste is one piece.
const CHARS_OF_ATOM: usize = 800;

/// A text that is put in as a whole and is longer than this is one piece, too: nobody reads it there, and it is laid out with every key.
pub const LONG: usize = 16 << 10;
/// How many pastes are remembered, to be one piece again when they come back.
const PASTES: usize = 20;
/// How many bytes these may have.
const PASTED: usize = 32 << 20;

/// What is being typed.
#[derive(Debug, Default)]
pub struct Composer {
    pub buffer: Buffer,
    pub history: History,
    /// Vim's keys, where they are wanted.
    pub vim: vim::Vim,
    /// What was pasted as one piece, newest last.
    pastes: Vec<Arc<str>>,
}

impl Composer {
    /// Returns whether nothing has been typed.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Puts pasted text in, as one piece if it is long (CMP-2).
    pub fn paste(&mut self, text: &str) {
        match is_long(text) || text.chars().any(buffer::is_placeholder) {
            true => {
                let text: Arc<str> = text.into();
                self.buffer.insert_atom(piece(text.clone()));
                self.pastes.retain(|known| *known != text);
                self.pastes.push(text);
                let bytes = |pastes: &[Arc<str>]| pastes.iter().map(|paste| paste.len()).sum::<usize>();
                while self.pastes.len() > PASTES || bytes(&self.pastes) > PASTED {
                    self.pastes.remove(0);
                }
            }
            false => self.buffer.insert(text),
        }
    }

    /// Makes one piece of what came as fast as a paste, from a place up to the cursor, if it is long enough for that; returns whether it is. `goes_on`:
    /// it is the rest of the piece before it.
    pub fn fold(&mut self, from: usize, goes_on: bool) -> bool {
        let Some(typed) = self.buffer.raw().get(from..self.buffer.cursor()) else { return false };
        let folds = goes_on || is_long(typed);
        if folds {
            self.buffer.fold(from, goes_on, piece);
        }
        folds
    }

    /// Returns a text with the pastes in it as pieces again, and what else is too long to be edited here.
    fn folded(&self, text: &str) -> Vec<Replacement> {
        let mut parts = vec![Replacement::Text(text.to_owned())];
        for paste in self.pastes.iter().rev() {
            parts = parts.into_iter().flat_map(|part| split(part, paste)).collect();
        }
        let fold = |part| match part {
            Replacement::Text(text) if text.len() > LONG => Replacement::Atom(piece(text.into())),
            part => part,
        };
        parts.into_iter().map(fold).collect()
    }

    /// Puts an image in.
    pub fn attach(&mut self, image: Image) {
        let number = self.buffer.images() + 1;
        let (width, height, format) = (image.width(), image.height(), image.format().as_str());
        let label = format!("[image {number}: {width}x{height} {format}]");
        self.buffer.insert_atom(Atom { label, text: "".into(), image: Some(image) });
    }

    /// Puts pasted text in that nobody may find again (KEY-6).
    pub fn paste_secret(&mut self, text: &str) {
        let remembered = std::mem::take(&mut self.pastes);
        self.paste(text);
        self.pastes = remembered;
    }

    /// Takes everything that was typed, and remembers it.
    pub fn take(&mut self) -> Prompt {
        let prompt = self.buffer.prompt();
        if !prompt.text.trim().is_empty() {
            self.history.add(&prompt.text);
        }
        self.history.leave();
        self.buffer.clear();
        self.vim = vim::Vim::default();
        prompt
    }

    /// Replaces everything that was typed, as one step that can be undone. What was one piece is one again.
    pub fn set(&mut self, text: &str) {
        self.history.leave();
        self.put(text);
    }

    /// Puts an older message in place of what was typed, which is one itself then (UI-36). A message has words only; images stay.
    pub fn exchange(&mut self, text: &str) {
        let typed = self.buffer.prompt();
        if !typed.text.trim().is_empty() && !self.history.is_browsing() {
            self.history.add(&typed.text);
        }
        self.set(text);
        typed.images.into_iter().for_each(|image| self.attach(image));
    }

    fn put(&mut self, text: &str) {
        let parts = self.folded(text);
        self.buffer.replace_all_with(parts);
    }

    /// Shows the entry before this one.
    pub fn older(&mut self) -> bool {
        // The history has words only; an image is not exchanged for them.
        if self.buffer.images() > 0 {
            return false;
        }
        let draft = self.buffer.text();
        match self.history.older(&draft) {
            Some(text) => {
                self.put(&text);
                true
            }
            None => false,
        }
    }

    /// Shows the entry behind this one, at last what was being typed.
    pub fn newer(&mut self) -> bool {
        match self.history.newer() {
            Some(text) => {
                self.put(&text);
                true
            }
            None => false,
        }
    }
}

/// Returns whether a pasted text is one piece.
fn is_long(text: &str) -> bool {
    text.lines().count() > LINES_OF_ATOM || text.chars().count() > CHARS_OF_ATOM
}

/// Makes pieces of what a part has of a paste.
fn split(part: Replacement, paste: &Arc<str>) -> Vec<Replacement> {
    let Replacement::Text(text) = part else { return vec![part] };
    let mut parts = Vec::new();
    for (i, between) in text.split(&**paste).enumerate() {
        if i > 0 {
            parts.push(Replacement::Atom(piece(paste.clone())));
        }
        if !between.is_empty() {
            parts.push(Replacement::Text(between.to_owned()));
        }
    }
    parts
}

/// Returns what a long text is shown as.
fn piece(text: Arc<str>) -> Atom {
    let label = match text.lines().count() {
        0 | 1 => format!("[{} characters pasted]", text.chars().count()),
        lines => format!("[{lines} lines pasted]"),
    };
    Atom { label, text, image: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CMP-2: a paste that comes back, from the history, the queue or a stopped turn, is one piece again, and so is what is very long.
    #[test]
    fn a_paste_comes_back_as_one_piece() {
        let mut composer = Composer::default();
        composer.buffer.insert("why ");
        let log = "line\n".repeat(9);
        composer.paste(&log);
        composer.buffer.insert(" so?");
        let shown = |composer: &Composer| composer.buffer.raw().chars().count();
        assert_eq!(shown(&composer), 9);
        let sent = composer.take().text;
        assert!(composer.older());
        assert_eq!((shown(&composer), composer.buffer.text()), (9, sent.clone()));
        composer.buffer.undo();
        assert_eq!(composer.buffer.text(), "");
        composer.set(&sent);
        assert_eq!((shown(&composer), composer.buffer.text()), (9, sent));
        composer.set(&"x".repeat(LONG + 1));
        assert_eq!((shown(&composer), composer.buffer.text().len()), (1, LONG + 1));
        composer.set("six\nshort\nlines\nof\none's\nown");
        assert_eq!(shown(&composer), 28, "they were typed");
    }
}
