//! Replies that are cut off, by a cancel or by the token limit. The front end chooses what happens to them.

use std::sync::Arc;

use zori_core::event::{Notice, NoticeLevel, TurnEvent};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::{Block, Message, Role};
use zori_core::provider::StopReason;
use zori_core::render::Sink;
use zori_core::tool::Leniency;

use crate::settings::PartialReply;
use crate::turn::{Turn, TurnAbort};

/// How often in a row the model is asked to continue a reply that the token limit cut off.
const MAX_CONTINUATIONS: u32 = 2;

/// The prompt that asks for the rest.
const CONTINUE_PROMPT: &str = "Your reply was cut off at the token limit. Go on exactly where it ends, without a word about it and \
                     without repeating anything.";

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Asks for the rest of a reply that the token limit cut off, if the settings want that. Returns whether it did.
    pub(crate) fn continue_reply(&mut self) -> bool {
        // Thinking that is cut off cannot be continued.
        let settings = &self.engine.shared.settings;
        let wanted = (settings.partial_reply == PartialReply::Continue
            || settings.leniency == Leniency::Forgiving)
            && !self.text.is_empty();
        if !wanted || self.continuations == MAX_CONTINUATIONS {
            return false;
        }
        self.continuations += 1;
        let text = format!(
            "The reply was cut off at the token limit (`max_tokens`); the model goes on ({} of {MAX_CONTINUATIONS})",
            self.continuations
        );
        self.emit(Notice { level: NoticeLevel::Info, code: "max_tokens", text });
        self.emit(TurnEvent::Steered { text: CONTINUE_PROMPT.into() });
        self.engine.history.push_user(vec![Block::Text(CONTINUE_PROMPT.to_owned())]);
        true
    }

    /// Returns what the model is told about the calls of a reply that the token limit cut off: none of them is run. `None` if
    /// it was not cut off.
    pub(crate) fn cut_inside_call(&mut self, stop: &StopReason) -> Option<String> {
        if !matches!(stop, StopReason::MaxTokens | StopReason::ContextWindow) {
            self.cut_calls = 0;
            return None;
        }
        self.cut_calls += 1;
        let limit = self.limit_reached(stop);
        let text = format!("The reply was cut off inside a tool call at {limit}; the call was not run");
        self.emit(Notice { level: NoticeLevel::Warning, code: "max_tokens", text });
        Some(format!(
            "Your reply was cut off at {limit} before this call was complete. Nothing of it was executed. Send the call \
             again in smaller pieces, for instance a large file in several edits."
        ))
    }

    /// Returns the failure of a turn that the token limit ended.
    pub(crate) fn cut_off(&self, stop: &StopReason) -> ProviderFailure {
        let message = format!("the reply was cut off at {}", self.limit_reached(stop));
        ProviderFailure::new(FailureKind::MaxTokens, message)
    }

    fn limit_reached(&self, stop: &StopReason) -> String {
        match (stop, self.engine.shared.settings.max_tokens) {
            (StopReason::ContextWindow, _) => "the end of the model's context window".to_owned(),
            (_, Some(limit)) => format!("the token limit (`max_tokens` = {limit})"),
            (_, None) => "the token limit (`max_tokens`)".to_owned(),
        }
    }

    /// Adds the text of a cancelled reply to the conversation, if the settings want that.
    pub(crate) fn keep_partial_reply(&mut self, abort: &TurnAbort) {
        let wanted = self.engine.shared.settings.partial_reply != PartialReply::Drop
            && matches!(abort, TurnAbort::Cancelled(_));
        if wanted && !self.text.is_empty() {
            // The rest cannot be sent back: calls without results, thinking without its signature.
            let blocks = vec![Block::Text(self.text.to_string())];
            self.engine.history.push(Arc::new(Message { role: Role::Assistant, blocks }));
            self.kept_partial = true;
        }
    }
}
