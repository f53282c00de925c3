//! The Agent Client Protocol: editors drive zori by it, over standard input and output.
//!
//! The messages are those of the `agent-client-protocol` crate, and nobody else knows that crate: what an editor says
//! becomes a [`Request`] with a [`Reply`] in it, what happens in a run becomes updates by [`AcpRenderer`]. Which sessions
//! there are, and running them, is the binary's business. Start with [`client`]; `docs/protocols/acp.md` is for readers.
//!
//! The crate's own connection is not used: between it and the pipe are queues without bounds, so a reader that stops
//! reading would fill our memory, and each delta would pass through three of them (ADR 7).

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod call;
mod client;
mod error;
mod files;
mod form;
mod history;
mod initialize;
mod live;
mod outcome;
mod permission;
mod prompt;
mod render;
mod request;
mod responder;
#[cfg(test)]
mod sample;
mod state;
mod terminal;
mod wire;
mod writer;

pub use client::AcpClient;
pub use error::RequestError;
pub use files::EditorFiles;
pub use history::CallLookup;
pub use initialize::{AgentInfo, ClientSupport};
pub use outcome::PromptEnd;
pub use render::AcpRenderer;
pub use request::{OpenMode, Request, SessionSetup};
pub use responder::Responder;
pub use state::{
    ContextUsage, MissingServer, OpenedSession, SessionEntry, SessionList, SessionOption, SessionOptions,
    SlashCommand,
};
pub use terminal::EditorTerminals;
pub use writer::MessageWriter;
