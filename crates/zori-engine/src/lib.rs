//! The agent loop: a prompt goes in, events come out, until the model ends the turn.
//!
//! Start with [`engine`], then `turn`: the straight line from request to result. Nothing here knows a provider, a
//! tool, a terminal, a file or a JSON shape; all of that comes in through the traits of `zori-core`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod assemble;
mod catch;
pub mod compact;
pub mod context;
mod control;
mod crew;
mod cut;
mod dispatch;
mod emitter;
pub mod engine;
mod history;
mod hooks;
pub mod kinds;
pub mod limits;
mod names;
pub mod retry;
mod shared;
pub mod sight;
pub mod subagent;
mod tries;
mod turn;
mod wishes;

#[cfg(test)]
mod tests;
