//! The agent loop: a prompt goes in, events come out, until the model ends the turn.
//!
//! [`parts::Parts::new`] makes what an engine needs, [`engine::Engine`] runs turns. Read `engine.rs` first, then `turn.rs`:
//! the straight line from request to result. Nothing here knows a provider, a tool, a terminal or a file; all of that
//! comes in through the traits of `zori-core`.

#![deny(clippy::print_stdout, clippy::print_stderr)]
#![warn(missing_docs)]

pub mod agent_kinds;
mod agent_registry;
mod assemble;
mod call_ids;
mod catch_panic;
pub mod compact;
pub mod context;
mod control;
mod dispatch;
mod emitter;
pub mod engine;
mod history;
mod hooks;
pub mod image_support;
pub mod limits;
mod partial_reply;
pub mod parts;
mod reprompt;
pub mod retry;
mod session_update;
pub mod settings;
mod shared;
pub mod subagent;
pub mod system;
mod turn;
mod unusable_reply;
pub mod user_shell;

pub use dispatch::before_turn::PreTurnQuestions;

#[cfg(test)]
mod tests;
