//! What is said with MCP servers during a run: written down as it happens, or played back in place of them.

use std::sync::Arc;

use serde_json::Value;

/// The reason that a server is told with `notifications/cancelled` where the time of a request is over. A replay lets that pass again.
pub const TIMED_OUT: &str = "timed out";

/// Whether what is said with servers is written down, or comes from a recording.
#[derive(Clone, Default)]
pub enum ServerRecording {
    /// Neither.
    #[default]
    Off,
    /// It is written down.
    Recording(Arc<dyn RecordServers>),
    /// Nobody is contacted: a recording answers.
    Replaying(Arc<dyn ReplayServers>),
}

/// Something that happened on a connection. Messages are those of JSON-RPC.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionEvent {
    /// A message went to the server.
    Sent(Value),
    /// A message came from it.
    Received(Value),
    /// The request of this id failed on its way.
    Failed(u64, ConnectionFailure),
    /// The connection ended, and not because the run did.
    Closed(ConnectionFailure),
}

/// Why a request or a connection failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionFailure {
    /// The server refused it, with a number.
    Refused(i64, String),
    /// The server cannot be reached.
    Gone(String),
    /// The server wants a login.
    NeedsLogin(String),
}

/// Writes down what is said with servers.
pub trait RecordServers: Send + Sync {
    /// Begins a connection to a server, and returns its number: the first of that server is 1.
    fn connect(&self, server: &str) -> u32;

    /// Writes down what happened on a connection.
    fn write(&self, server: &str, connection: u32, event: ConnectionEvent);
}

/// Answers in place of servers.
pub trait ReplayServers: Send + Sync {
    /// Begins a connection to a server; `None` where the recording has no more of them.
    fn connect(&self, server: &str) -> Option<Box<dyn ReplayedConnection>>;
}

/// A connection to a server that is not there.
pub trait ReplayedConnection: Send {
    /// Takes a message to the server, and returns what happens now.
    fn sent(&mut self, message: &Value) -> Vec<ConnectionEvent>;
}
