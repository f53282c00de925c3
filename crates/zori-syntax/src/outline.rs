//! What is kept of a source text: its symbols and chunks.

use crate::chunk::{self, Chunk};
use crate::language::Language;
use crate::unfit::Unfit;

/// Something that has a name in a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    /// What it is: `function`, `struct`, `heading`.
    pub kind: &'static str,
    /// Its head, on one line.
    pub signature: String,
    /// Its first and last line, from 1.
    pub start: u32,
    pub end: u32,
    /// The symbol it is in, by its place in the list.
    pub parent: Option<usize>,
}

/// What is kept of a source text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// In the order of the text.
    pub symbols: Vec<Symbol>,
    pub chunks: Vec<Chunk>,
}

/// Reads source texts, one after another.
#[derive(Default)]
pub struct Reader {
    #[cfg(feature = "grammars")]
    symbols: crate::symbols::SymbolReader,
}

impl Reader {
    /// Returns a reader; a grammar is loaded when its first text comes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a text that is fit for it. `stop` is asked now and then whether to give up, which is an error.
    pub fn read(
        &mut self,
        text: &str,
        language: Language,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Outline, Unfit> {
        #[cfg(feature = "grammars")]
        let (symbols, cuts) = self.symbols.read(text, language, stop)?;
        #[cfg(not(feature = "grammars"))]
        let (symbols, cuts) = {
            let _ = (language, stop);
            (Vec::new(), Vec::new())
        };
        Ok(Outline { symbols, chunks: chunk::cut(text, &cuts) })
    }
}
