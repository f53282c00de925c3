//! A word after expansion, as far as it is known.

use crate::analysis::Word;

/// One word a command gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// What it certainly starts with; all of it if nothing follows.
    pub text: String,
    /// What follows.
    pub rest: Rest,
    /// What follows as a pattern, if it is one, or the pattern that the last name of each found file fits.
    pub pattern: String,
    /// Whole texts it may be, where it is not known: the blacklist looks at them.
    pub maybe: Vec<String>,
    /// How it was written.
    pub shown: String,
}

/// What follows the known start of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rest {
    Nothing,
    /// A pattern: names of files that exist, none above the known directory.
    Glob,
    /// Names of files below the known directory that a search found; any number of words.
    Found {
        /// Whether the search looks at names that begin with a dot.
        hidden: bool,
        /// Whether links among them are followed: who opens a name follows them, who walks by itself may not.
        follows: bool,
    },
    /// Any text, within the same word.
    Unknown,
    /// Any text, perhaps several words, perhaps none.
    Words,
}

impl Arg {
    /// Returns a word that is known.
    pub fn known(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { shown: text.clone(), text, rest: Rest::Nothing, pattern: String::new(), maybe: Vec::new() }
    }

    /// Returns words nothing is known of.
    pub fn unknown(shown: &str) -> Self {
        Self {
            text: String::new(),
            rest: Rest::Words,
            pattern: String::new(),
            maybe: Vec::new(),
            shown: shown.to_owned(),
        }
    }

    /// Returns words nothing is known of but that they may be one of these.
    pub fn one_of(texts: Vec<String>, shown: &str) -> Self {
        Self { maybe: texts, ..Self::unknown(shown) }
    }

    /// Returns the names that a search below `folder` finds, as it would print them; empty for the current directory
    /// without a name.
    pub fn found(folder: &str, hidden: bool, name: Option<&str>) -> Self {
        let text = match folder {
            "" => String::new(),
            folder if folder.ends_with('/') => folder.to_owned(),
            folder => format!("{folder}/"),
        };
        let shown = format!("(files below {})", if folder.is_empty() { "." } else { folder });
        let pattern = name.unwrap_or_default().to_owned();
        Self { text, rest: Rest::Found { hidden, follows: true }, pattern, maybe: Vec::new(), shown }
    }

    /// Returns the same names, where no link is among them, or none is followed.
    pub fn without_links(self) -> Self {
        match self.rest {
            Rest::Found { hidden, .. } => Self { rest: Rest::Found { hidden, follows: false }, ..self },
            _ => self,
        }
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
            Rest::Glob | Rest::Found { .. } | Rest::Unknown => {
                self.text.is_empty() || self.text.starts_with('-')
            }
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
        Self { text, rest: self.rest, pattern: self.pattern.clone(), maybe: Vec::new(), shown }
    }

    /// Returns the word as the analysis shows it.
    pub fn word(&self) -> Word {
        match self.rest {
            Rest::Nothing => Word::Literal(self.text.clone()),
            _ => Word::Opaque { shown: self.shown.clone() },
        }
    }
}
