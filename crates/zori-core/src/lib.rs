//! The vocabulary of zori: pure values, and the six traits everything else implements.
//!
//! Nothing here does I/O, reads a clock or the environment, or knows a wire format. Start with [`event`]: the
//! closed list of all that can happen in a run. Then [`provider`] and [`tool`], the two things a turn waits for.

#![deny(clippy::print_stdout, clippy::print_stderr)]
#![warn(missing_docs)]

pub mod agent;
pub mod cancel;
pub mod checkpoint;
pub mod compaction;
pub mod confine;
pub mod cost;
pub mod event;
pub mod failure;
pub mod files;
pub mod hook;
pub mod ids;
pub mod image;
pub mod input;
pub mod lenient_json;
pub mod log;
pub mod message;
pub mod outcome;
pub mod path;
pub mod permission;
pub mod provider;
pub mod question;
pub mod reading;
pub mod render;
pub mod search;
pub mod secret;
pub mod server_recording;
pub mod temp_name;
pub mod terminal;
pub mod text;
pub mod time;
pub mod tool;
pub mod transport;
pub mod usage;

use std::future::Future;
use std::pin::Pin;

/// A boxed future that may move between threads, so that an embedder can use any runtime.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

// The examples of the README compile, and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
