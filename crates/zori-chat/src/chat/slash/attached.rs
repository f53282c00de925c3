//! What is attached to a session from outside: `/agents` lists the sub-agents that were described, `/hooks` the programs that are told what happens.

use zori_contract::failure::Failure;
use zori_core::text;
use zori_extensions::built_in::BUILT_IN;

use super::Next;
use crate::chat::Chat;

/// Lists the sub-agents that the model can start by name.
pub(super) fn agents(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let settings = &chat.plain.host.settings.agents;
    let mut lines: Vec<String> = settings
        .described
        .iter()
        .map(|agent| {
            let model = agent.model.as_ref().map_or_else(String::new, |model| format!("   model {model}"));
            format!("  {:<18}{}{model}", agent.name, text::one_line(&agent.about))
        })
        .collect();
    lines.insert(
        0,
        match (settings.depth, lines.len()) {
            (0, _) => "Sub-agents are switched off.".to_owned(),
            (_, 0) => "No sub-agent was described; the general one can be started.".to_owned(),
            (_, count) => format!("Sub-agents: the general one, and {count} described:"),
        },
    );
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Lists the skills that a model can load, and the commands that somebody brought along.
pub(super) fn skills(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let extensions = chat.plain.session().extensions();
    let mut lines = Vec::new();
    for skill in extensions.skills.iter().flat_map(|skills| skills.all()) {
        let by_person = if skill.by_person_only { "   only by /skill" } else { "" };
        let about = text::one_line(&skill.description);
        lines.push(format!(
            "  {:<18}{about}   {}{by_person}",
            text::one_line(&skill.name),
            skill.origin.as_str()
        ));
    }
    for skill in BUILT_IN.iter().filter(|_| extensions.built_in) {
        lines.push(format!("  {:<18}{}   built-in   only by /{}", skill.name, skill.about, skill.name));
    }
    lines.insert(0, if lines.is_empty() { "There are no skills.".to_owned() } else { "Skills:".to_owned() });
    if !extensions.commands.is_empty() {
        lines.push("Custom commands:".to_owned());
    }
    for command in extensions.commands.iter() {
        let call = format!("/{}", command.name);
        lines.push(format!("  {call:<18}{}   {}", text::one_line(&command.about), command.origin.as_str()));
    }
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Has the model follow a skill: the session puts its instructions beside the prompt.
pub(super) fn skill(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    if chat.plain.session().extensions().is_call(&format!("/skill {rest}")) {
        return Ok(Next::Prompt);
    }
    let name = rest.split_whitespace().next().unwrap_or_default();
    let why = match name {
        "" => "Name a skill; /skills lists them.".to_owned(),
        name => format!("There is no skill {name}; /skills lists them."),
    };
    chat.cx.ui.say(&text::one_line(&why));
    Ok(Next::Done)
}

/// Lists the hooks, in the order in which they run.
pub(super) fn hooks(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let hooks = &chat.plain.host.settings.tools.hooks;
    let lines: Vec<String> = match hooks.is_empty() {
        true => vec!["There are no hooks.".to_owned()],
        false => hooks
            .iter()
            .map(|hook| {
                let command = text::one_line(&hook.command);
                format!("  {:<18}{command}   from {}", hook.event.as_str(), hook.source)
            })
            .collect(),
    };
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}
