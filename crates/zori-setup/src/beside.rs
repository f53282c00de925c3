//! Asks the model beside the conversation: `/btw`, `/recap` and the explanation of a call. Neither the question nor the answer becomes part of it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use zori_core::cost::Ledger;
use zori_core::provider::{Delivery, Effort, Provider};
use zori_core::usage::Usage;
use zori_host::{Retry, random_number};
use zori_redact::Redactor;

use crate::handoff::model::HandoffRequest;

/// Who can be asked, and how.
#[derive(Clone)]
pub struct Asker {
    pub provider: Arc<dyn Provider>,
    pub model: String,
    /// What the model is called where its requests are paid: with its provider's name where that is another than the session's.
    pub paid_as: String,
    pub redactor: Redactor,
    /// What is asked before a request is sent, where a budget for the day holds.
    pub ledger: Option<Arc<dyn Ledger>>,
    pub max_tokens: Option<u32>,
    pub effort: Option<Effort>,
    pub delivery: Delivery,
    pub retry: Retry,
}

/// A question under way.
pub type Asking<T> = Pin<Box<dyn Future<Output = SideAnswer<T>>>>;

/// What came of a question.
pub struct SideAnswer<T> {
    /// What it was about.
    pub about: T,
    pub answer: Result<String, String>,
    pub usage: Usage,
    /// What the model is called where that is paid.
    pub paid_as: String,
}

impl Asker {
    /// Asks, and waits no longer than `limit`. `read` makes of the answer what is shown; `None` where it says nothing.
    pub fn ask<T: 'static>(
        &self,
        about: T,
        system: &'static str,
        limit: Duration,
        text: String,
        read: impl Fn(&str) -> Option<String> + 'static,
    ) -> Asking<T> {
        let asker = self.clone();
        Box::pin(async move {
            let paid_as = asker.paid_as.clone();
            if let Some(why) = asker.ledger.as_ref().and_then(|ledger| ledger.refuses()) {
                return SideAnswer { about, usage: Usage::NOTHING, answer: Err(why), paid_as };
            }
            let request = HandoffRequest {
                provider: &*asker.provider,
                model: &asker.model,
                system,
                max_tokens: asker.max_tokens,
                effort: asker.effort,
                delivery: asker.delivery,
                retry: asker.retry,
                random: random_number,
            };
            match request.send_within(limit, text).await {
                Ok(answer) => {
                    let read = read(&answer.text).ok_or_else(|| "the model said nothing".to_owned());
                    SideAnswer { about, usage: answer.usage, answer: read, paid_as }
                }
                Err(failure) => {
                    SideAnswer { about, usage: Usage::NOTHING, answer: Err(failure.message), paid_as }
                }
            }
        })
    }
}
