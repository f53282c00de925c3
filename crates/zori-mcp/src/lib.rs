//! The Model Context Protocol, served: other agents call zori's tools, and have it run whole turns. [`client`] is the other direction.
//!
//! The protocol is `rmcp`'s, and nobody else knows that crate. A call becomes a [`ToolCall`] with its way back in it; whether
//! it may run, and running it, is the binary's business. `docs/protocols/mcp-server.md` is for readers.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod call;
pub mod client;
mod elicit;
mod handshake;
mod http;
mod lines;
mod rounds;
mod server;

pub use call::{Progress, ToolAnswer, ToolCall};
pub use elicit::Elicitor;
pub use http::{HttpGate, serve_http};
pub use lines::{Lines, MessageWriter};
pub use server::{ServerInfo, serve};
