//! The Model Context Protocol, used: servers that somebody configured, their life, and their tools for the engine
//! (`docs/contracts/mcp-client.md`).
//!
//! [`McpServers`] is all servers of a run, on a thread of their own. A server is described by a [`ServerConfig`]; its program is started
//! by whoever implements [`Launch`]. What a session is offered of them is [`Offers`].

mod audit;
mod completion;
pub mod config;
mod content;
mod elicitation;
mod form_clock;
mod handshake;
mod http;
mod input_rounds;
mod known;
mod log;
pub mod oauth;
mod offers;
mod peer;
mod pins;
mod prompt;
mod recording;
mod resource;
mod schema_check;
mod search;
mod server;
mod servers;
mod stdio;
mod store;
mod subscription;
mod tool;
mod tool_list;

pub use self::audit::{ServerAudit, ServerRecord};
pub use self::completion::{CompletedArgument, TypedArgument};
pub use self::config::{Defer, ReadServers, ServerConfig, Source, Trust, Variables, Way};
pub use self::elicitation::{Elicits, Form, Forms};
pub use self::known::KnownServers;
pub use self::log::Redact;
pub use self::offers::{CALL, FIND, Offers};
pub use self::pins::{Pin, PinnedTool};
pub use self::prompt::{ListedPrompt, PromptCall};
pub use self::resource::{ListedResource, RESOURCE, ReadResource};
pub use self::server::{Server, ServerState, Status};
pub use self::servers::{Changed, McpParts, McpServers, RequiredFailure};
pub use self::stdio::{Launch, Launched, Program};
pub use self::tool_list::{ListedTool, tool_id};
