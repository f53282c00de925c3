//! The transport: one message a line, both ways. The binary reads the lines; a bad one costs that line and no more.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::json;
use tokio::sync::{Notify, mpsc};

use crate::handshake::{self, EarlyMessage};

/// What was read: a line, or why it is none.
pub type Lines = mpsc::Receiver<Result<String, String>>;

/// Writes messages to the client: one writer, one lock, one write per line.
#[derive(Clone)]
pub struct MessageWriter(Arc<Mutex<Box<dyn Write + Send>>>);

impl MessageWriter {
    /// Writes to the stream, which must not collect bytes itself.
    pub fn new(stream: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }

    fn write(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
    }
}

pub(crate) struct LineTransport {
    lines: Lines,
    writer: MessageWriter,
    /// The requests that were not answered yet. Standard input may end before they are; their answers still count.
    open: Arc<OpenRequests>,
    /// Whether the dialogue has begun.
    begun: bool,
}

#[derive(Default)]
struct OpenRequests {
    ids: Mutex<HashSet<RequestId>>,
    ended: Notify,
}

impl OpenRequests {
    fn begin(&self, id: &RequestId) {
        self.ids().insert(id.clone());
    }

    fn end(&self, id: &RequestId) {
        self.ids().remove(id);
        self.ended.notify_one();
    }

    /// Waits until everything is answered.
    async fn all_ended(&self) {
        while !self.ids().is_empty() {
            self.ended.notified().await;
        }
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LineTransport {
    pub(crate) fn new(lines: Lines, writer: MessageWriter) -> Self {
        Self { lines, writer, open: Arc::default(), begun: false }
    }

    /// Responds that a line is not a message.
    fn refuse(&self, code: i32, message: &str) {
        // A reader that is gone is found out by the next answer.
        let _ = self
            .writer
            .write(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}}));
    }

    /// Returns whether a message is for the server, which it is not before the dialogue has begun.
    fn admits(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        if self.begun {
            return true;
        }
        match handshake::check(message) {
            EarlyMessage::Starts => {
                self.begun = true;
                true
            }
            EarlyMessage::Allowed => true,
            EarlyMessage::Ignored => false,
            EarlyMessage::Refused(id, error) => {
                let _ = self.writer.write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                false
            }
        }
    }

    fn note(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => self.open.begin(&request.id),
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.end(id);
                }
            }
            _ => {}
        }
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Written at once: messages leave in the order they were sent.
        let written = self.writer.write(&item);
        match &item {
            JsonRpcMessage::Response(response) => self.open.end(&response.id),
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.open.end(id);
                }
            }
            _ => {}
        }
        std::future::ready(written)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while let Some(line) = self.lines.recv().await {
            let text = match line {
                Ok(text) if text.trim().is_empty() => continue,
                Ok(text) => text,
                Err(why) => {
                    self.refuse(-32700, &why);
                    continue;
                }
            };
            match serde_json::from_str(&text) {
                Ok(message) => {
                    if self.admits(&message) {
                        self.note(&message);
                        return Some(message);
                    }
                }
                Err(_) => match serde_json::from_str::<serde_json::Value>(&text) {
                    Ok(_) => self.refuse(-32600, "this line is no JSON-RPC message"),
                    Err(error) => self.refuse(-32700, &format!("this line is not JSON: {error}")),
                },
            }
        }
        // What was asked before the end is answered before it.
        self.open.all_ended().await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
