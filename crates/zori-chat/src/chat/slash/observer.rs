//! `/observer`: the summary of the workspace that goes before the context block of an Agent Zero server (OBS-1 to OBS-5).

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;

use super::Next;
use super::named_settings::not_agent_zero;
use crate::chat::Chat;

/// Shows the observer's settings, or changes when it speaks for as long as the program runs.
pub(super) fn observer(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let Some(setup) = &chat.plain.run.agent_zero else {
        return Err(not_agent_zero(chat, "the observer"));
    };
    let preface = &setup.preface;
    match rest.trim() {
        "" | "info" | "status" => {
            let lines = [
                preface.observer_line(),
                format!("Kept for other clients, without effect here: {}", preface.observer_facts()),
                "`/observer on|off|automatic|always|manual` changes it until the program ends".to_owned(),
            ];
            lines.iter().for_each(|line| chat.cx.ui.say(line));
            Ok(Next::Done)
        }
        word if preface.set_observer(word) => {
            chat.cx.ui.say(&preface.observer_line());
            Ok(Next::Done)
        }
        other => Err(Failure::new(&VALIDATION_ERROR, format!("`/observer {other}` means nothing"))
            .hint("`/observer info`, `/observer on`, `off`, `automatic`, `always` or `manual`")),
    }
}
