//! What is being typed (CMP-1 to CMP-10): the text with its atoms, the history behind it, and how it is drawn.

pub mod buffer;
pub mod history;
pub mod layout;
pub mod vim;

use zori_core::image::Image;
use zori_core::input::Prompt;

use crate::composer::buffer::{Atom, Buffer};
use crate::composer::history::History;

/// From so many lines on, a paste is one piece.
const LINES_OF_ATOM: usize = 5;
/// From so many characters on, a paste is one piece.
const CHARS_OF_ATOM: usize = 800;

/// What is being typed.
#[derive(Debug, Default)]
pub struct Composer {
    pub buffer: Buffer,
    pub history: History,
    /// Vim's keys, where they are wanted.
    pub vim: vim::Vim,
}

impl Composer {
    /// Returns whether nothing has been typed.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Puts pasted text in, as one piece if it is long (CMP-2).
    pub fn paste(&mut self, text: &str) {
        let lines = text.lines().count();
        let long = lines > LINES_OF_ATOM || text.chars().count() > CHARS_OF_ATOM;
        match long || text.chars().any(buffer::is_placeholder) {
            true => {
                let label = match lines {
                    0 | 1 => format!("[{} characters pasted]", text.chars().count()),
                    lines => format!("[{lines} lines pasted]"),
                };
                self.buffer.insert_atom(Atom { label, text: text.to_owned(), image: None });
            }
            false => self.buffer.insert(text),
        }
    }

    /// Puts an image in.
    pub fn attach(&mut self, image: Image) {
        let number = self.buffer.images() + 1;
        let (width, height, format) = (image.width(), image.height(), image.format().as_str());
        let label = format!("[image {number}: {width}x{height} {format}]");
        self.buffer.insert_atom(Atom { label, text: String::new(), image: Some(image) });
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

    /// Replaces everything that was typed, as one step that can be undone.
    pub fn set(&mut self, text: &str) {
        self.history.leave();
        self.buffer.replace_all(text);
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
                self.buffer.replace_all(&text);
                true
            }
            None => false,
        }
    }

    /// Shows the entry behind this one, at last what was being typed.
    pub fn newer(&mut self) -> bool {
        match self.history.newer() {
            Some(text) => {
                self.buffer.replace_all(&text);
                true
            }
            None => false,
        }
    }
}
