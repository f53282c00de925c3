//! The settings of a run: the model, what its requests have in common, and how turns behave.

use std::sync::Arc;

use zori_core::provider::{Delivery, Effort};
use zori_core::tool::Leniency;
use zori_core::transport::Timeouts;

use crate::compact::CompactAt;
use crate::limits::Limits;
use crate::retry::Retry;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The id of the model.
    pub model: Arc<str>,
    /// The model that finishes a turn if `model` becomes unavailable.
    pub fallback: Option<Arc<str>>,
    /// The system prompt. It never changes within a run, so that providers can cache it.
    pub system: Option<Arc<str>>,
    /// The most tokens of a reply; `None` leaves that to the provider.
    pub max_tokens: Option<u32>,
    /// The sampling temperature; `None` sends none.
    pub temperature: Option<f64>,
    /// How much the model should think; `None` leaves that to the provider.
    pub effort: Option<Effort>,
    /// Whether replies are streamed.
    pub delivery: Delivery,
    /// How failed requests are retried.
    pub retry: Retry,
    /// How long the provider is waited for; only told, since the transport enforces it.
    pub waits: Timeouts,
    /// When a turn ends although the model would continue.
    pub limits: Limits,
    /// When the conversation is compacted.
    pub compact_at: CompactAt,
    /// Whether events carry a tool's output while it runs.
    pub live_output: bool,
    /// Whether the calls of a reply run together.
    pub order: CallOrder,
    /// What happens to a reply that is cut off.
    pub partial_reply: PartialReply,
    /// What becomes of a reply or of arguments that are not as they should be (FOR-10, FOR-11, FOR-13).
    pub leniency: Leniency,
}

impl Settings {
    /// Settings for a model: streamed replies, the default retries, no limits, no system prompt.
    ///
    /// ```
    /// use zori_engine::settings::Settings;
    ///
    /// let settings = Settings { system: Some("Be brief.".into()), ..Settings::new("claude-sonnet-4-5") };
    /// assert_eq!(&*settings.model, "claude-sonnet-4-5");
    /// ```
    pub fn new(model: impl Into<Arc<str>>) -> Self {
        Self {
            model: model.into(),
            fallback: None,
            system: None,
            max_tokens: None,
            temperature: None,
            effort: None,
            delivery: Delivery::Streamed,
            retry: Retry::DEFAULT,
            waits: Timeouts::DEFAULT,
            limits: Limits::NONE,
            compact_at: CompactAt::DEFAULT,
            live_output: true,
            order: CallOrder::Together,
            partial_reply: PartialReply::Drop,
            leniency: Leniency::Forgiving,
        }
    }
}

/// Whether the calls of a reply run together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallOrder {
    /// All calls are decided one after another, then run together.
    #[default]
    Together,
    /// Each call is finished before the next one is decided.
    OneByOne,
}

/// What happens to a reply that is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialReply {
    /// A cancelled reply is left out of the conversation (INT-1).
    Drop,
    /// The text of a cancelled reply stays in the conversation.
    Keep,
    /// As `Keep`; and the model is asked, a few times, to continue a reply that the token limit cut off.
    Continue,
}
