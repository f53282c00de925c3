//! Emits the last events of a turn.

use zori_core::event::{MessageEvent, Notice, NoticeLevel, TurnEvent};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::image::{Image, ImageSupport};
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::provider::StopReason;
use zori_core::render::{Sink, Stop};

use super::{Turn, TurnAbort};
use crate::limits::LimitReached;

impl<S: Sink + 'static> Turn<'_, '_, S> {
    /// Emits the events for the end of the turn, and returns its outcome.
    pub(super) fn emit_end(
        &mut self,
        ended: Result<StopReason, TurnAbort>,
        image_hint: Option<String>,
    ) -> Outcome {
        match ended {
            Ok(stop) => {
                if let Some((code, text)) = stop_notice(&stop, self.text.is_empty()) {
                    self.emit(Notice { level: NoticeLevel::Warning, code, text });
                }
                if !self.text.is_empty() {
                    self.emit(MessageEvent::AssistantFinal { text: self.text.clone() });
                }
                Outcome::Completed(stop)
            }
            Err(TurnAbort::Cancelled(cause @ CancelCause::Deadline)) => {
                let text = "The time for this command is over (`--timeout`)".into();
                self.emit(Notice { level: NoticeLevel::Error, code: "timeout", text });
                Outcome::Cancelled(cause)
            }
            Err(TurnAbort::Limit(LimitReached { kind, text })) => {
                self.emit(Notice { level: NoticeLevel::Error, code: kind.as_str(), text });
                Outcome::Limit(kind)
            }
            Err(TurnAbort::Cancelled(cause)) => {
                self.emit(TurnEvent::Interrupted);
                Outcome::Cancelled(cause)
            }
            Err(TurnAbort::Failed(failure)) => {
                if failure.kind == FailureKind::MaxTokens && !self.text.is_empty() {
                    // What was said holds, as far as it goes.
                    self.emit(MessageEvent::AssistantFinal { text: self.text.clone() });
                }
                self.emit(TurnEvent::Error { failure: failure.clone() });
                if let Some(text) = image_hint {
                    self.emit(Notice { level: NoticeLevel::Warning, code: "images_sent", text });
                }
                Outcome::Failed(failure)
            }
            Err(TurnAbort::Stopped(Stop::OutputClosed)) => Outcome::OutputClosed,
            Err(TurnAbort::Stopped(Stop::NotSaved(why))) => Outcome::NotSaved(why),
        }
    }

    /// Returns a hint for a refused request with images, if it is unknown whether the model supports them.
    pub(super) fn image_hint(&self, abort: &TurnAbort) -> Option<String> {
        let TurnAbort::Failed(ProviderFailure { status: Some(400..=422 | 500..=501), .. }) = abort else {
            return None;
        };
        let engine = &*self.engine;
        let model = &engine.shared.settings.model;
        let unknown =
            |image: &Image| (engine.shared.models.image_support)(model, image) == ImageSupport::Unknown;
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

/// Returns the notice for a reply that did not end normally (NET-10, L-7).
fn stop_notice(stop: &StopReason, empty: bool) -> Option<(&'static str, String)> {
    let (code, text) = match stop {
        StopReason::Other(name) => {
            ("unknown_stop", format!("The model stopped for an unknown reason: {name}"))
        }
        _ if empty => ("empty_reply", "The model returned an empty reply".into()),
        _ => return None,
    };
    Some((code, text))
}
