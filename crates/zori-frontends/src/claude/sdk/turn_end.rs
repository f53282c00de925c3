//! The last line of a turn, and whether it is the last.

use std::io;
use std::sync::PoisonError;

use zori_core::event::{Event, TurnSummary};
use zori_core::outcome::{LimitKind, Outcome};

use super::{FinishedTurn, SdkRenderer, TurnCheck, failure_text};

impl SdkRenderer {
    pub(super) fn turn_over(&mut self, event: &Event, summary: &TurnSummary) -> io::Result<()> {
        let mut ending = self.tally.ending(summary, failure_text);
        if let (Outcome::Limit(LimitKind::Turns), Some(most)) = (&summary.outcome, self.facts.max_turns) {
            // Clients know the sentence.
            ending.errors = vec![format!("Reached maximum number of turns ({most})")];
        }
        let mut value = None;
        if let Some(judge) = self.judge.as_ref().filter(|_| !ending.is_error) {
            match judge(summary) {
                TurnCheck::Done => {}
                TurnCheck::Value(raw) => value = Some(raw),
                TurnCheck::Failed(other) => ending = other,
                TurnCheck::Retry => {
                    self.again = true;
                    self.carried.0 += summary.usage;
                    self.carried.1 += summary.duration;
                    return Ok(());
                }
            }
        }
        if let Some(text) = &mut ending.result {
            // Texts of failures may quote what a server said.
            if ending.is_error {
                *text = self.redactor.redact(text).into_owned();
            }
        }
        ending.errors = ending.errors.iter().map(|text| self.redactor.redact(text).into_owned()).collect();
        let uuid = self.uuid();
        let (mut usage, before) = std::mem::take(&mut self.carried);
        usage += summary.usage;
        let summary = TurnSummary { usage, duration: summary.duration + before, ..summary.clone() };
        let result =
            self.tally.result(&ending, Some(&summary), event.session.as_str(), &uuid, value.as_deref());
        let line = serde_json::value::to_raw_value(&result).expect("a result is made of JSON");
        let written = self.frames.write(&line);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(FinishedTurn { ending, line });
        written?;
        if self.facts.state {
            self.state(event, "idle")?;
        }
        Ok(())
    }
}
