//! What is said with MCP servers during a run: written down as it happens, or played back in place of them.

use std::sync::Arc;

use serde_json::Value;

/// Whether what is said with servers is written down, or comes from a recording.
#[derive(Clone, Default)]
pub enum Tape {
    /// Neither.
    #[default]
    Off,
    /// It is written down.
    Recording(Arc<dyn WriteTape>),
    /// Nobody is contacted: a recording answers.
    Playing(Arc<dyn PlayTape>),
}

/// Something that happened on a connection. Messages are those of JSON-RPC.
#[derive(Clone, Debug, PartialEq)]
pub enum TapeEvent {
    /// A message went to the server.
    Sent(Value),
    /// A message came from it.
    Received(Value),
    /// The request of this id failed on its way.
    Failed(u64, TapeFailure),
    /// The connection ended, and not because the run did.
    Closed(TapeFailure),
}

/// Why a request or a connection failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapeFailure {
    /// The server refused it, with a number.
    Refused(i64, String),
    /// The server cannot be reached.
    Gone(String),
    /// The server wants a login.
    NeedsLogin(String),
}

/// Writes down what is said with servers.
pub trait WriteTape: Send + Sync {
    /// Begins a connection to a server, and returns its number: the first of that server is 1.
    fn connect(&self, server: &str) -> u32;

    /// Writes down what happened on a connection.
    fn write(&self, server: &str, connection: u32, event: TapeEvent);
}

/// Answers in place of servers.
pub trait PlayTape: Send + Sync {
    /// Begins a connection to a server; `None` where the recording has no more of them.
    fn connect(&self, server: &str) -> Option<Box<dyn PlayedConnection>>;
}

/// A connection to a server that is not there.
pub trait PlayedConnection: Send {
    /// Takes a message to the server, and returns what happens now.
    fn sent(&mut self, message: &Value) -> Vec<TapeEvent>;
}
