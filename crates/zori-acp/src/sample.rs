//! For tests: a client that remembers what it was told, and terse events.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use zori_core::event::{Event, EventKind};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::message::{IdOrigin, ToolCall, ToolInput};
use zori_core::secret::Secrets;
use zori_core::time::Timestamp;
use zori_redact::Redactor;

use crate::client::AcpClient;
use crate::initialize::AgentInfo;
use crate::writer::MessageWriter;

/// A stream that remembers. Clones share what was written.
#[derive(Clone, Default)]
pub(crate) struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    /// Returns what was written since the last time, message by message.
    pub(crate) fn told(&self) -> Vec<Value> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap());
        String::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the updates among them.
    pub(crate) fn updates(&self) -> Vec<Value> {
        self.told().into_iter().map(|told| told["params"]["update"].clone()).collect()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A client that has said nothing yet.
pub(crate) fn stranger() -> (AcpClient, Paper) {
    let paper = Paper::default();
    let me = AgentInfo { name: "zori", version: "1.2.3", auth: ("key", "A key", "Set it".to_owned()) };
    (AcpClient::new(MessageWriter::new(Box::new(paper.clone())), me), paper)
}

/// A client that has been greeted and shows remarks.
pub(crate) fn client() -> (AcpClient, Paper) {
    greeted(r#"{"session":{"notices":{}}}"#)
}

/// A client that has been greeted and can do this.
pub(crate) fn greeted(capabilities: &str) -> (AcpClient, Paper) {
    let (client, paper) = stranger();
    let params = format!(r#"{{"protocolVersion":1,"clientCapabilities":{capabilities}}}"#);
    let greeting = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#);
    assert!(client.handle_line(&greeting).is_none());
    paper.told();
    (client, paper)
}

pub(crate) fn redactor() -> Redactor {
    Redactor::new(Secrets::default())
}

pub(crate) fn event(kind: impl Into<EventKind>) -> Event {
    let session = SessionId::parse("s").unwrap();
    Event { seq: 0, at: Timestamp(0), session, agent: AgentId::MAIN, parent: None, kind: kind.into() }
}

pub(crate) fn call(id: &str, name: &str, input: &str) -> ToolCall {
    let input = ToolInput::parse(input.to_owned());
    ToolCall {
        id: CallId::new(id),
        name: name.to_owned(),
        input,
        id_origin: IdOrigin::Provider,
        replay: None,
    }
}
