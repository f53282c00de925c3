//! Questions that calls put to the user while they run, such as the forms of MCP servers.

use tokio::sync::{mpsc, oneshot};
use zori_core::BoxFuture;
use zori_core::ids::CallId;
use zori_core::question::Choice;
use zori_core::tool::AskUser;

/// A question of a running call.
pub(super) struct Asked {
    pub(super) call: CallId,
    pub(super) choices: Vec<Choice>,
    pub(super) reply: oneshot::Sender<Option<Vec<String>>>,
}

/// Asks for one call.
pub(super) struct CallAsker {
    pub(super) call: CallId,
    pub(super) queue: mpsc::UnboundedSender<Asked>,
}

impl AskUser for CallAsker {
    fn ask(&self, choices: Vec<Choice>) -> BoxFuture<'_, Option<Vec<String>>> {
        let (reply, answer) = oneshot::channel();
        let sent = self.queue.send(Asked { call: self.call.clone(), choices, reply });
        Box::pin(async move {
            sent.ok()?;
            answer.await.ok().flatten()
        })
    }
}
