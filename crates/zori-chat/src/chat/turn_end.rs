//! The end of a turn, as the cells of a chat tell it (TRN-5, TRN-6).

use zori_core::cost::Spent;
use zori_core::outcome::Outcome;
use zori_host::TurnEnd;
use zori_tui::update::TurnOver;

use super::Chat;
use crate::plain::PlainSession;
use zori_setup::model_choice;

impl Chat<'_, '_> {
    /// Returns what there is to tell of a turn's end; without one, of something that was no turn of the model's. `again`: how the prompt is sent once
    /// more.
    pub fn turn_over(&self, end: Option<&TurnEnd>, spent: Spent, again: Option<&str>) -> TurnOver {
        let PlainSession { host, run, .. } = &self.plain;
        let redactor = host.redactor();
        let shown = |text: &str| redactor.redact(text).into_owned();
        let mut over = TurnOver {
            outcome: end.map(|end| end.summary.outcome.clone()),
            error: end.and_then(|end| end.error.as_deref()).map(shown),
            details: None,
            ways_out: Vec::new(),
            context: self.plain.session().context_tokens(),
            spent,
        };
        if let Some(Outcome::Failed(failure)) = &over.outcome {
            let raw = failure.details.as_deref().filter(|raw| !raw.trim().is_empty());
            over.details = raw.map(shown);
            over.ways_out.extend(again.map(str::to_owned));
            over.ways_out.push("/model takes another".to_owned());
        }
        if end.is_some_and(TurnEnd::key_refused) {
            let hint = model_choice::key_hint(host.settings.model.facts, &run.key, self.cx.profile.name);
            over.ways_out = vec!["/login stores a key".to_owned(), hint];
        }
        over
    }
}
