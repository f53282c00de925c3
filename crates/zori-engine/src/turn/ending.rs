//! How a turn ends, in the events that belong to it.

use zori_core::event::{EventKind, NoticeLevel};
use zori_core::failure::ProviderFailure;
use zori_core::image::{Image, Sight};
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::provider::StopReason;
use zori_core::render::{Sink, Stop};

use super::{Cut, Turn};
use crate::limits::Reached;

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Says how the turn ended, in the events that belong to it.
    pub(super) fn close(&mut self, ended: Result<StopReason, Cut>, unsighted: Option<String>) -> Outcome {
        match ended {
            Ok(stop) => {
                if let Some((code, text)) = remark(&stop, self.text.is_empty()) {
                    self.emit(EventKind::Notice { level: NoticeLevel::Warning, code, text });
                }
                if !self.text.is_empty() {
                    self.emit(EventKind::AssistantFinal { text: self.text.clone() });
                }
                Outcome::Completed(stop)
            }
            Err(Cut::Cancelled(cause @ CancelCause::Deadline)) => {
                let text = "The time for this command is over (`--timeout`)".into();
                self.emit(EventKind::Notice { level: NoticeLevel::Error, code: "timeout", text });
                Outcome::Cancelled(cause)
            }
            Err(Cut::Limit(Reached { kind, text })) => {
                self.emit(EventKind::Notice { level: NoticeLevel::Error, code: kind.as_str(), text });
                Outcome::Limit(kind)
            }
            Err(Cut::Cancelled(cause)) => {
                self.emit(EventKind::Interrupted);
                Outcome::Cancelled(cause)
            }
            Err(Cut::Failed(failure)) => {
                self.emit(EventKind::Error { failure: failure.clone() });
                if let Some(text) = unsighted {
                    self.emit(EventKind::Notice { level: NoticeLevel::Warning, code: "images_sent", text });
                }
                Outcome::Failed(failure)
            }
            Err(Cut::Stopped(Stop::OutputClosed)) => Outcome::OutputClosed,
            Err(Cut::Stopped(Stop::NotSaved(why))) => Outcome::NotSaved(why),
        }
    }

    /// Returns what may be behind a refused request: images, sent to a model of which nobody knows whether it sees.
    pub(super) fn unsighted(&self, cut: &Cut) -> Option<String> {
        let Cut::Failed(ProviderFailure { status: Some(400..=422 | 500..=501), .. }) = cut else {
            return None;
        };
        let engine = &*self.engine;
        let model = &engine.shared.settings.model;
        let unknown = |image: &Image| (engine.shared.eyes)(model, image) == Sight::Unknown;
        let mut images = engine.history.messages().iter().flat_map(|message| message.images());
        images.any(unknown).then(|| {
            let provider = engine.shared.provider.name();
            format!(
                "The request had an image, and it is not known whether `{model}` sees images. If it does not, say \
                 `images = false` in a table `[models.\"{provider}:{model}\"]` of the config file"
            )
        })
    }
}

/// What a person should know about the way a reply ended (NET-10, L-7).
fn remark(stop: &StopReason, empty: bool) -> Option<(&'static str, String)> {
    let (code, text) = match stop {
        StopReason::MaxTokens => {
            ("max_tokens", "The reply was cut off at the token limit (`max_tokens`)".into())
        }
        StopReason::Refusal => ("refusal", "The model refused to answer".into()),
        StopReason::ContentFilter => ("content_filter", "The provider withheld the answer".into()),
        StopReason::ContextWindow => {
            ("context_window_exceeded", "The conversation no longer fits the model's context window".into())
        }
        StopReason::Other(name) => {
            ("unknown_stop", format!("The model stopped for an unknown reason: {name}"))
        }
        StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence | StopReason::Pause if empty => {
            ("empty_reply", "The model returned an empty reply".into())
        }
        StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence | StopReason::Pause => {
            return None;
        }
    };
    Some((code, text))
}
