//! Source text to what a code index keeps of it: symbols with their signatures, and chunks that end where the syntax does.
//!
//! Pure: a text and its language in, an [`Outline`] out. [`Reader`] owns `tree-sitter` and the grammars, which are a cargo feature; without
//! them there are no symbols, and chunks are cut by lines. What a text may not be is in [`unfit`]; the languages are a table in [`language`],
//! what of them is a symbol another one in `definitions.rs`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod chunk;
#[cfg(feature = "grammars")]
mod definitions;
pub mod language;
mod outline;
#[cfg(feature = "grammars")]
mod symbols;
pub mod unfit;
pub mod words;

pub use chunk::Chunk;
pub use language::Language;
pub use outline::{Outline, Reader, Symbol};

/// Whether the grammars are built in.
pub const GRAMMARS: bool = cfg!(feature = "grammars");

// The examples of the README compile, and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
