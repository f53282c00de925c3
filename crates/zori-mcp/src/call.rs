//! A call of a tool, as the binary gets it.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use serde_json::Value;
use tokio::sync::oneshot;
use zori_core::image::Image;

use crate::elicit::Elicitor;

/// A tool that is to be called.
pub struct ToolCall {
    pub name: String,
    /// Its arguments, as JSON text of an object.
    pub arguments: String,
    /// Asks the client's user, if the client supports that.
    pub elicitor: Option<Elicitor>,
    /// Reports progress, if the client wants it.
    pub progress: Option<Progress>,
    /// Where the answer goes. It is closed when nobody waits any more: then the call is to end.
    pub reply: oneshot::Sender<ToolAnswer>,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    pub ok: bool,
    /// What the model is to read.
    pub text: String,
    /// The same as data, where it has a shape.
    pub data: Option<Value>,
    /// What it is to see.
    pub images: Vec<Image>,
}

impl ToolAnswer {
    pub fn failed(text: impl Into<String>) -> Self {
        Self { ok: false, text: text.into(), data: None, images: Vec::new() }
    }

    pub(crate) fn result(self) -> CallToolResult {
        // The protocol has pictures, and no documents.
        let pictures = self.images.iter().filter(|image| !image.format().is_document());
        let images = pictures.map(|image| ContentBlock::image(image.base64(), image.format().media_type()));
        let content = std::iter::once(ContentBlock::text(self.text)).chain(images).collect();
        let mut result = match self.ok {
            true => CallToolResult::success(content),
            false => CallToolResult::error(content),
        };
        // The protocol's data is an object; everything else is in the text.
        result.structured_content = self.data.filter(Value::is_object);
        result
    }
}

/// Reports the progress of a call.
pub struct Progress {
    target: ProgressTarget,
    reports: u32,
}

impl Progress {
    pub async fn report(&mut self, message: String) {
        self.reports += 1;
        let Some((peer, token)) = self.target.now() else { return };
        let mut progress = ProgressNotificationParam::new(token, f64::from(self.reports));
        progress.message = Some(message);
        // Whoever does not hear it is not waiting for it.
        let _ = peer.notify_progress(progress).await;
    }
}

/// The client to tell, and the name by which it asked.
type Listener = (Peer<RoleServer>, ProgressToken);

/// The request that waits for a call, if it wants to know how far that is. Between two rounds of a call nobody waits.
#[derive(Clone, Default)]
pub(crate) struct ProgressTarget(Arc<Mutex<Option<Listener>>>);

impl ProgressTarget {
    pub(crate) fn set(&self, target: Option<Listener>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = target;
    }

    /// Returns what reports to it, if somebody wants to know now.
    pub(crate) fn progress(&self) -> Option<Progress> {
        self.now().map(|_| Progress { target: self.clone(), reports: 0 })
    }

    fn now(&self) -> Option<Listener> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
