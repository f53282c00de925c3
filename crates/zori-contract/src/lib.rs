//! What makes a command line safe to drive by a program: tables in, a contract out.
//!
//! A program is a [`program::Program`]: a constant with its [`command::Command`]s, flags and error codes. [`run::run`] takes it
//! and a [`world::World`], which is everything the library does not look up by itself, and returns an exit code. Parsing,
//! help, manifest, envelope, checks, gates, time limits and the one way to standard output follow from the tables.
//!
//! Read `README.md` and `examples/notes/` first, then [`run`], which is one run as a straight line.

#![deny(clippy::print_stdout, clippy::print_stderr)]
#![warn(missing_docs)]

pub mod args;
pub mod atomic;
pub mod builtin;
pub mod cancel;
pub mod cap;
mod check;
pub mod child;
pub mod clean;
pub mod command;
mod discover;
pub mod envelope;
pub mod error;
pub mod exit;
pub mod external;
pub mod failure;
pub mod flag;
pub mod gate;
pub mod help;
pub mod hygiene;
pub mod idempotency;
mod injection;
pub mod input;
pub mod invariants;
pub mod kind;
pub mod lock;
pub mod manifest;
pub mod mask;
pub mod mode;
mod output_flags;
pub mod output_streams;
pub mod page;
pub mod parse;
pub mod path;
mod payload;
mod print;
pub mod process;
pub mod program;
pub mod redact;
pub mod reply;
pub mod run;
pub mod shape;
pub mod steps;
pub mod temp;
pub mod time;
pub mod tree;
pub mod walk;
pub mod warning;
mod watchdog;
pub mod world;
