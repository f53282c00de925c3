//! Questions that calls put to the user while they run, such as the forms of MCP servers.

use tokio::sync::{mpsc, oneshot};
use zori_core::BoxFuture;
use zori_core::ids::CallId;
use zori_core::question::Choice;
use zori_core::tool::AskUser;

/// What a running call says.
pub(super) enum Asked {
    /// It asks.
    Question(CallQuestion),
    /// It warns.
    Warning(String),
}

/// A question of a running call.
pub(super) struct CallQuestion {
    pub(super) call: CallId,
    pub(super) choices: Vec<Choice>,
    pub(super) reply: oneshot::Sender<Option<Vec<String>>>,
}

/// Asks for one call.
pub(super) struct CallAsker {
    pub(super) call: CallId,
    pub(super) queue: mpsc::UnboundedSender<Asked>,
    /// Whether somebody answers.
    pub(super) somebody: bool,
}

impl AskUser for CallAsker {
    fn answers(&self) -> bool {
        self.somebody
    }

    fn ask(&self, choices: Vec<Choice>) -> BoxFuture<'_, Option<Vec<String>>> {
        let (reply, answer) = oneshot::channel();
        let question = CallQuestion { call: self.call.clone(), choices, reply };
        let sent = if self.somebody { self.queue.send(Asked::Question(question)).ok() } else { None };
        Box::pin(async move {
            sent?;
            answer.await.ok().flatten()
        })
    }

    fn warn(&self, text: String) {
        let _ = self.queue.send(Asked::Warning(text));
    }
}
