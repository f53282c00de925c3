//! Front ends that need no screen, and the outlet that feeds them.
//!
//! Each renderer is one file or folder and a pure projection of [`zori_core::event`]: it sees events and writes bytes, and
//! holds no engine, no session and no terminal. [`Fanout`] gives each event to the log first, then to the
//! renderers.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod claude;
mod fanout;
pub mod jsonl;
pub mod question;
#[cfg(test)]
mod sample;
mod text;

pub use fanout::{Fanout, FinishReport};
pub use text::{TextRenderer, TextStyle};
