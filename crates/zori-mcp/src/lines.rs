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

use crate::gate::{self, Early};

/// What was read: a line, or why it is none.
pub type Lines = mpsc::Receiver<Result<String, String>>;

/// The one way to the client: one writer, one lock, one write for each line.
#[derive(Clone)]
pub struct Outlet(Arc<Mutex<Box<dyn Write + Send>>>);

impl Outlet {
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

/// The client.
pub(crate) struct Wire {
    lines: Lines,
    outlet: Outlet,
    /// The requests that were not answered yet. Standard input may end before they are; their answers still count.
    open: Arc<Open>,
    /// Whether the dialogue has begun.
    begun: bool,
}

#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    ended: Notify,
}

impl Open {
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

impl Wire {
    pub(crate) fn new(lines: Lines, outlet: Outlet) -> Self {
        Self { lines, outlet, open: Arc::default(), begun: false }
    }

    /// Says that a line is no message.
    fn refuse(&self, code: i32, message: &str) {
        // A reader that is gone is found out by the next answer.
        let _ = self
            .outlet
            .write(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}}));
    }

    /// Returns whether a message is for the server, which it is not before the dialogue has begun.
    fn admits(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        if self.begun {
            return true;
        }
        match gate::early(message) {
            Early::Begins => {
                self.begun = true;
                true
            }
            Early::Passes => true,
            Early::Ignored => false,
            Early::Refused(id, error) => {
                let _ = self.outlet.write(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
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

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Written at once: messages leave in the order they were sent.
        let written = self.outlet.write(&item);
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
