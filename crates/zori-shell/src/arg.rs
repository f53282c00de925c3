//! A word after expansion, as far as it is known.

use crate::analysis::Word;

/// One word a command gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// What it certainly starts with; all of it if nothing follows.
    pub text: String,
    /// What follows.
    pub rest: Rest,
    /// How it was written.
    pub shown: String,
}

/// What follows the known start of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// A pattern: names of files that exist, none above the known directory.
    Glob,
    /// Any text, within the same word.
    Unknown,
    /// Any text, perhaps several words, perhaps none.
    Words,
}

impl Arg {
    /// Returns a word that is known.
    pub fn known(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { shown: text.clone(), text, rest: Rest::Nothing }
    }

    /// Returns words nothing is known of.
    pub fn unknown(shown: &str) -> Self {
        Self { text: String::new(), rest: Rest::Words, shown: shown.to_owned() }
    }

    /// Returns the whole text, if it is known.
    pub fn literal(&self) -> Option<&str> {
        (self.rest == Rest::Nothing).then_some(self.text.as_str())
    }

    /// Whether the program might take it for an option.
    pub fn may_be_option(&self) -> bool {
        match self.rest {
            Rest::Nothing => false,
            Rest::Words => true,
            Rest::Glob | Rest::Unknown => self.text.is_empty() || self.text.starts_with('-'),
        }
    }

    /// Returns what is left behind the first `skip` bytes of the known start.
    pub fn tail(&self, skip: usize) -> Self {
        let text = self.text.get(skip..).unwrap_or_default().to_owned();
        let shown = match self.rest {
            Rest::Nothing => text.clone(),
            _ => self.shown.get(skip..).unwrap_or(&self.shown).to_owned(),
        };
        // Behind an option's sign the value no longer starts the word, but it is still split where the word is.
        Self { text, rest: self.rest, shown }
    }

    /// Returns the word as the analysis shows it.
    pub fn word(&self) -> Word {
        match self.rest {
            Rest::Nothing => Word::Literal(self.text.clone()),
            _ => Word::Opaque { shown: self.shown.clone() },
        }
    }
}
