//! Replies that are none (DECISIONS 45): refused, withheld, blocked or malformed. Their calls are never run, and nothing of
//! them goes into the conversation.

use std::sync::Arc;

use zori_core::event::{MessageEvent, Notice, NoticeLevel, Reply};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::{Block, Message};
use zori_core::provider::StopReason;
use zori_core::render::Sink;

use crate::turn::{Turn, TurnAbort};

/// Returns why a reply is none; `None` for one that can be used.
pub(crate) fn fault(reply: &Reply) -> Option<ProviderFailure> {
    let stop = reply.stop.as_ref()?;
    match stop {
        // A reason nobody knows may be another way to refuse.
        StopReason::Other(why) if reply.message.calls().next().is_some() => {
            let message =
                format!("the model stopped for an unknown reason, so its calls were not run ({why})");
            Some(ProviderFailure::new(FailureKind::Malformed, message))
        }
        stop => stop.failure(),
    }
}

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Counts and shows a reply that is none, without its calls. Returns `Ok` where the request should be made once more.
    pub(crate) fn discard_reply(
        &mut self,
        reply: Reply,
        failure: ProviderFailure,
        retried: &mut bool,
    ) -> Result<(), TurnAbort> {
        self.count_reply(reply.usage);
        self.text = reply.message.text().into();
        let said = |block: &&Block| !matches!(block, Block::ToolCall(_));
        let blocks = reply.message.blocks.iter().filter(said).cloned().collect();
        let message = Arc::new(Message { role: reply.message.role, blocks });
        self.emit(MessageEvent::MessageFinished(Reply { message, discarded: true, ..reply }));
        if failure.kind != FailureKind::Malformed || std::mem::replace(retried, true) {
            return Err(TurnAbort::Failed(failure));
        }
        let text = format!("{}; it is asked once more", failure.message);
        self.emit(Notice { level: NoticeLevel::Warning, code: "malformed_reply", text });
        Ok(())
    }
}
