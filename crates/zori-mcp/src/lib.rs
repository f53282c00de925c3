//! The Model Context Protocol, served: other agents call zori's tools, and have it run whole turns.
//!
//! The protocol is `rmcp`'s, and nobody else knows that crate. A call becomes a [`Call`] with its way back in it; whether
//! it may run, and running it, is the binary's business. `docs/protocols/mcp-server.md` is for readers.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod ask;
mod call;
mod gate;
mod lines;
mod server;

pub use ask::Asker;
pub use call::{Answer, Call, Progress};
pub use lines::{Lines, Outlet};
pub use server::{Offer, serve};
