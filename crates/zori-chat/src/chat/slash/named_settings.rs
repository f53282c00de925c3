//! `/project` and `/agent`: settings that the user gave a name (UI-13, UI-14).

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_providers::agent_zero::NAME;

use super::{Elsewhere, Next};
use crate::chat::Chat;
use zori_setup::agent_zero::project::{self, ActiveNames};
use zori_setup::config::Config;

/// Shows the projects, or goes on with another one, in a new session.
pub(super) fn project(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let (known, now) = (project::names(&config(chat)?, "projects"), &chat.plain.run.names.project);
    let name = unquoted(rest);
    if name.is_empty() || name == now {
        let lines = [format!("Project: {now}"), list("/project NAME", &known)];
        lines.iter().for_each(|line| chat.cx.ui.say(line));
        return Ok(Next::Done);
    }
    if !known.iter().any(|known| known == name) {
        return Err(project::unknown(name, &known));
    }
    Ok(Next::Elsewhere(Elsewhere::Project(name.to_owned())))
}

/// Shows the agent profiles, or tells the server's agent the words of another one. The conversation goes on.
pub(super) fn agent(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let Some(setup) = &chat.plain.run.agent_zero else {
        return Err(not_agent_zero(chat, "an agent profile"));
    };
    let config = config(chat)?;
    let ActiveNames { agent: now, .. } = &chat.plain.run.names;
    let name = unquoted(rest);
    if name.is_empty() || name == now {
        let known = project::names(&config, "agent_profiles");
        let lines = [format!("Agent: {now}"), list("/agent NAME", &known)];
        lines.iter().for_each(|line| chat.cx.ui.say(line));
        return Ok(Next::Done);
    }
    let words = project::profile_prompt(&config, name)?;
    let told = match setup.preface.set_profile(name, words) {
        true => "the server is told with the next prompt",
        false => "the server is not told, because `context.mode` or `context.enabled` says so",
    };
    chat.cx.ui.say(&format!("Agent: {name}; {told}"));
    chat.plain.run.names.agent = name.to_owned();
    for args in [&mut chat.args, &mut chat.typed].into_iter().flatten() {
        args.overlay.agent = Some(name.to_owned());
    }
    Ok(Next::Done)
}

/// Returns the error for something that only an Agent Zero server knows.
pub(super) fn not_agent_zero(chat: &Chat<'_, '_>, what: &str) -> Failure {
    let here = chat.plain.host.settings.model.facts.name;
    let message = format!("{what} is for an Agent Zero server; this provider is `{here}`");
    Failure::new(&VALIDATION_ERROR, message).hint(format!("`/provider {NAME}` goes on with one"))
}

/// Reads the settings anew.
pub(super) fn config(chat: &Chat<'_, '_>) -> Result<Config, Failure> {
    match &chat.plain.run.base {
        Some(base) => base.read_config(),
        None => Ok(Config::default()),
    }
}

fn list(usage: &str, known: &[String]) -> String {
    format!("`{usage}` goes on with another one; there are: {}", known.join(", "))
}

/// Returns a name without the quotes around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_around_a_name() {
        assert_eq!(unquoted(" \"my project\" "), "my project");
        assert_eq!(unquoted("'x'"), "x");
        assert_eq!(unquoted("it's"), "it's");
        assert_eq!(unquoted("\""), "\"");
    }
}
