//! Forms of MCP servers, put to an editor that shows forms: `elicitation/create` (MCP-72).

use std::sync::OnceLock;

use serde_json::Value;
use zori_acp::AcpClient;
use zori_core::BoxFuture;
use zori_mcp::client::{Form, Forms};

/// The editor, as whoever fills forms in.
pub(super) struct EditorForms {
    peer: AcpClient,
    /// The session that the forms are for, once it has an id.
    session: OnceLock<String>,
}

impl EditorForms {
    pub(super) fn new(peer: AcpClient) -> Self {
        Self { peer, session: OnceLock::new() }
    }

    /// Says which session the forms are for.
    pub(super) fn belong_to(&self, session: &str) {
        // A session has one id.
        let _ = self.session.set(session.to_owned());
    }
}

impl Forms for EditorForms {
    fn fill_in<'a>(&'a self, form: Form<'a>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            let session = self.session.get().ok_or("the session is not open yet")?;
            let message = format!("The MCP server `{}` asks: {}", form.server, form.message);
            self.peer.fill_in(session, &message, form.schema).await
        })
    }
}
