//! A call of a tool, as the binary gets it.

use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use serde_json::Value;
use tokio::sync::oneshot;
use zori_core::image::Image;

use crate::ask::Asker;

/// A tool that is to be called.
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments, as JSON text of an object.
    pub arguments: String,
    /// The way to ask about it, where the client has one.
    pub asker: Option<Asker>,
    /// The way to say how far it is, where the client wants to know.
    pub progress: Option<Progress>,
    /// Where the answer goes. It is closed when nobody waits any more: then the call is to end.
    pub reply: oneshot::Sender<Answer>,
}

/// What a call came to.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether it worked.
    pub ok: bool,
    /// What the model is to read.
    pub text: String,
    /// The same as data, where it has a shape.
    pub data: Option<Value>,
    /// What it is to see.
    pub images: Vec<Image>,
}

impl Answer {
    /// It did not work.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { ok: false, text: text.into(), data: None, images: Vec::new() }
    }

    pub(crate) fn result(self) -> CallToolResult {
        let images =
            self.images.iter().map(|image| ContentBlock::image(image.base64(), image.format().media_type()));
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

/// The way to say how far a call is.
pub struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    said: u32,
}

impl Progress {
    pub(crate) fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token, said: 0 }
    }

    /// Says one more thing.
    pub async fn say(&mut self, message: String) {
        self.said += 1;
        let mut progress = ProgressNotificationParam::new(self.token.clone(), f64::from(self.said));
        progress.message = Some(message);
        // Whoever does not hear it is not waiting for it.
        let _ = self.peer.notify_progress(progress).await;
    }
}
