//! The Agent Client Protocol: editors drive zori by it, over standard input and output.
//!
//! The messages are those of the `agent-client-protocol` crate, and nobody else knows that crate: what an editor says
//! becomes a [`Request`] with a [`Reply`] in it, what happens in a run becomes updates by [`AcpRenderer`]. Which sessions
//! there are, and running them, is the binary's business. Start with [`peer`]; `docs/protocols/acp.md` is for readers.
//!
//! The crate's own connection is not used: between it and the pipe are queues without bounds, so a reader that stops
//! reading would fill our memory, and each delta would pass through three of them (ADR 7).

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod call;
mod files;
mod history;
mod initialize;
mod live;
mod outcome;
mod outlet;
mod peer;
mod permission;
mod prompt;
mod refusal;
mod render;
mod reply;
mod request;
#[cfg(test)]
mod sample;
mod state;
mod terminal;
mod wire;

pub use files::EditorFiles;
pub use history::Known;
pub use initialize::{Can, Me};
pub use outcome::Ended;
pub use outlet::Outlet;
pub use peer::Peer;
pub use refusal::Refusal;
pub use render::AcpRenderer;
pub use reply::Reply;
pub use request::{Opening, Place, Request};
pub use state::{Choice, Choices, Listed, Listing, Missing, Opened, Slash, Usage};
pub use terminal::EditorTerminals;
