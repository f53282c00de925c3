//! `/observer`: the summary of the workspace that goes before the context block of an Agent Zero server (OBS-1 to OBS-5).

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;

use super::Next;
use super::named_settings::not_agent_zero;
use crate::chat::Chat;
use zori_setup::agent_zero::preface::ContextPreface;

/// Shows the observer's settings, or changes when it speaks for as long as the program runs.
pub(super) fn observer(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let preface = chat.plain.run.agent_zero.as_ref().map(|setup| &*setup.preface);
    let lines = report(preface, chat.plain.host.settings.model.facts.name, rest)?;
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Does the same for whoever knows what goes before the prompts; returns what to say.
pub fn report(preface: Option<&ContextPreface>, provider: &str, rest: &str) -> Result<Vec<String>, Failure> {
    let preface = preface.ok_or_else(|| not_agent_zero(provider, "the observer"))?;
    match rest.trim() {
        "" | "info" | "status" => Ok(vec![
            preface.observer_line(),
            format!("Kept for other clients, without effect here: {}", preface.observer_facts()),
            "`/observer on|off|automatic|always|manual` changes it until the program ends".to_owned(),
        ]),
        word if preface.set_observer(word) => Ok(vec![preface.observer_line()]),
        other => Err(Failure::new(&VALIDATION_ERROR, format!("`/observer {other}` means nothing"))
            .hint("`/observer info`, `/observer on`, `off`, `automatic`, `always` or `manual`")),
    }
}
