//! An Agent Zero server: the agent runs there, and this provider carries messages, tool requests and results.
//!
//! This file holds the settings and answers the engine. `outgoing` finds what is to be sent, `exchange` sends it and
//! waits, `answer` reads the formats of an answer, `normalise` its events, `reply` makes chunks of them. The provider
//! keeps nothing about a conversation: its id on the server travels with the messages, so that each session has its own
//! and a resumed one goes on with it (CTX-2).

mod answer;
mod exchange;
mod log_feed;
pub mod mock;
mod normalise;
mod outgoing;
mod reply;
mod state;
mod stream;
mod tool_request;
mod tool_result;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use zori_core::BoxFuture;
use zori_core::failure::ProviderFailure;
use zori_core::message::Message;
use zori_core::provider::{ChunkStream, Provider, Request};

use self::outgoing::Payload;
use crate::endpoint::Endpoint;

/// The provider's name; also marks the state that only it understands.
pub const NAME: &str = "agent-zero";

/// How the server is spoken to; the keys of `[connection]`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentZeroOptions {
    /// How long the server keeps a chat, in hours.
    pub lifetime_hours: f64,
    /// Whether the answer is asked for as a stream.
    pub stream: bool,
    /// How an answer is read.
    pub stream_mode: StreamMode,
    /// How often a wait is reported; `None`: never.
    pub keepalive: Option<Duration>,
    /// How long an answer may take in all; `None`: for ever.
    pub max_wait: Option<Duration>,
    /// Whether results of tools go back to the server.
    pub send_tool_results: bool,
    /// How many results one prompt may lead to.
    pub max_tool_rounds: usize,
    /// How often the server's log is read while it works; `None`: never.
    pub log_poll: Option<Duration>,
    /// The server's own project, named with the first message.
    pub server_project: Option<String>,
    /// The server's own agent profile, named with the first message.
    pub server_profile: Option<String>,
}

impl Default for AgentZeroOptions {
    fn default() -> Self {
        Self {
            lifetime_hours: 24.0,
            stream: true,
            stream_mode: StreamMode::Auto,
            keepalive: Some(Duration::from_secs(5)),
            max_wait: None,
            send_tool_results: true,
            max_tool_rounds: 50,
            log_poll: Some(Duration::from_secs(1)),
            server_project: None,
            server_profile: None,
        }
    }
}

/// How an answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamMode {
    /// By its content type.
    Auto,
    /// As server-sent events, whatever it says.
    Sse,
    /// As lines of JSON, whatever it says.
    Jsonl,
}

/// What goes before a message: the workspace, as the server should know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preface {
    /// The blocks, in order; none are due where this is empty.
    pub blocks: Vec<String>,
    /// What the workspace looked like; noted where a block is sent.
    pub signature: Option<String>,
    /// Lines for the user.
    pub status: Vec<String>,
    /// Files that go along.
    pub attachments: Vec<Attachment>,
}

/// A file that goes to the server with a message (SRV-3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub filename: String,
    pub bytes: Arc<[u8]>,
}

/// Builds what goes before a message. It may read the disk.
pub trait PrefaceBuilder: Send + Sync {
    /// Returns what is due. `known` is the signature that was sent last in this chat; `None` where the chat is new.
    fn build(&self, known: Option<&str>, new_chat: bool) -> Preface;

    /// So many files of the last [`build`](Self::build) have reached the server, or are not to be sent to it again.
    fn delivered(&self, _attachments: usize) {}
}

/// A server of Agent Zero.
#[derive(Clone)]
pub struct AgentZero {
    connection: Arc<Connection>,
    /// Whether it is asked beside a conversation.
    beside: bool,
}

/// What every exchange with the server needs.
struct Connection {
    endpoint: Endpoint,
    options: AgentZeroOptions,
    preface: Option<Arc<dyn PrefaceBuilder>>,
    /// Whether the server has the handler at its other route (SRV-1).
    other_route: Arc<AtomicBool>,
}

impl AgentZero {
    /// Returns the provider; nothing is sent yet. The endpoint's address is that of the handler itself.
    pub fn new(
        endpoint: Endpoint,
        options: AgentZeroOptions,
        preface: Option<Arc<dyn PrefaceBuilder>>,
    ) -> Self {
        let other_route = Arc::default();
        let connection = Arc::new(Connection { endpoint, options, preface, other_route });
        Self { connection, beside: false }
    }

    /// Returns the same server for questions beside a conversation: each is a chat of its own, which learns nothing of the workspace and gets no
    /// file. The server takes no system prompt, so that what the agent is told of its part stands before the question.
    pub fn beside(&self) -> Self {
        let Connection { endpoint, options, other_route, .. } = &*self.connection;
        let connection = Connection {
            endpoint: endpoint.clone(),
            options: options.clone(),
            preface: None,
            other_route: Arc::clone(other_route),
        };
        Self { connection: Arc::new(connection), beside: true }
    }

    /// Asks whether the server is well (SRV-10).
    pub async fn health(&self) -> Result<(), ProviderFailure> {
        self.connection.health().await
    }

    /// Returns whether the next message of a session goes to a chat that is there.
    pub fn goes_on(&self, messages: &[Arc<Message>]) -> bool {
        state::ChatState::of(messages.iter().map(|message| &**message)).context_id.is_some()
    }

    /// Clears the history of a session's chat on the server; the chat stays (SRV-10). Returns whether there was one.
    pub async fn reset(&self, messages: &[Arc<Message>]) -> Result<bool, ProviderFailure> {
        self.connection.manage("api_reset_chat", messages).await
    }

    /// Deletes a session's chat on the server. Returns whether there was one.
    pub async fn terminate(&self, messages: &[Arc<Message>]) -> Result<bool, ProviderFailure> {
        self.connection.manage("api_terminate_chat", messages).await
    }
}

impl Provider for AgentZero {
    fn name(&self) -> &str {
        NAME
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        let mut outgoing = outgoing::find(request.messages);
        if let (true, Some(system), Payload::Prompt { text, .. }) =
            (self.beside, request.system, &mut outgoing.payload)
        {
            text.insert_str(0, &format!("{system}\n\n"));
        }
        let connection = Arc::clone(&self.connection);
        let made = stream::made_by(move |out| Box::pin(exchange::run(connection, outgoing, out)));
        Box::pin(std::future::ready(Ok(made)))
    }
}

impl fmt::Debug for AgentZero {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentZero").finish_non_exhaustive()
    }
}
