//! The chat on a terminal (`docs/contracts/interactive.md`): what is drawn, and what keys do, as values.
//!
//! Nothing here touches the outside: bytes of the terminal, events of the session and ticks come in, inputs and frames go out. Read `row` first, it
//! is the vocabulary of all that is drawn; `cell` says what a piece of the transcript is.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod ascii;
pub mod cell;
pub mod cells;
pub mod chat;
pub mod clean;
pub mod commands;
pub mod completion;
pub mod composer;
pub mod confirm;
pub mod footer;
pub mod fuzzy;
pub mod highlight;
pub mod keymap;
pub mod keys;
pub mod markdown;
pub mod pager;
pub mod panel;
pub mod plain;
pub mod question;
pub mod row;
pub mod shortcuts;
pub mod state;
pub mod status;
pub mod terminal;
pub mod theme;
pub mod transcript;
pub mod update;
pub mod wrap;

/// The README's code, kept true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
