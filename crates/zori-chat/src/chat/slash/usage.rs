//! What a session uses: `/status`, `/cost`, `/context`.

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::message::Block;
use zori_host::summary;

use super::Next;
use super::named_settings::config;
use crate::chat::{Chat, server_chat};
use zori_setup::agent_zero::preface::{ContextPreface, PrefaceSources};

/// Shows the session, and asks an Agent Zero server whether it is well (SRV-10).
pub(super) fn status(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let well = server_chat::health(&chat.plain);
    show_status(chat, well.as_deref());
    Ok(Next::Done)
}

/// Shows the session; nobody is asked anything. `well`: what is known of the server.
pub fn show_status(chat: &mut Chat<'_, '_>, well: Option<&str>) {
    let lines = summary::status_lines(chat.plain.session(), &chat.plain.host);
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    if let Some(setup) = &chat.plain.run.agent_zero {
        let server = match setup.mock {
            true => "the mock server inside this program",
            false => chat.plain.host.settings.model.base_url.as_str(),
        };
        let well = well.map_or_else(String::new, |well| format!("; {well}"));
        chat.cx.ui.say(&format!("Server:   {server}{well}"));
        chat.cx.ui.say(&format!("Told:     {}", setup.preface.status()));
    }
}

pub(super) fn cost(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let lines = summary::cost_lines(chat.plain.session().totals());
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

pub(super) fn context(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    match rest.trim() {
        "" => {}
        "show" => return workspace(chat),
        other => {
            return Err(Failure::new(&VALIDATION_ERROR, format!("`/context {other}` means nothing"))
                .hint("`/context` shows what fills the window, `/context show` the workspace as text"));
        }
    }
    let session = chat.plain.session();
    let (used, window) = (session.context_tokens(), session.context_window());
    let share = window
        .filter(|window| *window > 0)
        .map_or_else(String::new, |window| format!(" of {window} ({}%)", used * 100 / window));
    let sum = |of: fn(&Block) -> usize| -> usize {
        session.messages().iter().flat_map(|message| &message.blocks).map(of).sum::<usize>() / 4
    };
    let said = sum(|block| if let Block::Text(text) = block { text.len() } else { 0 });
    let thought = sum(|block| if let Block::Thinking(thinking) = block { thinking.text.len() } else { 0 });
    let called = sum(|block| match block {
        Block::ToolCall(call) => call.input.json().len(),
        Block::ToolResult(result) => result.content().len(),
        _ => 0,
    });
    let tools: usize =
        session.tools().iter().map(|tool| tool.description.len() + tool.schema.get().len()).sum();
    let system = chat.plain.host.settings.request.system.as_deref().map_or(0, str::len);
    let lines = [
        format!("Context: {used} tokens{share}"),
        format!("  {:>7}  system prompt and guidelines", system / 4),
        format!("  {:>7}  {} tools", tools / 4, session.tools().len()),
        format!("  {said:>7}  what was said, in {} messages", session.messages().len()),
        format!("  {called:>7}  calls and their results"),
        format!("  {thought:>7}  thinking"),
        "The parts are estimates: about four bytes are a token. `/compact` summarises older messages."
            .to_owned(),
    ];
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Shows the workspace as an Agent Zero server's agent is told of it, whoever the provider is (AZ-9).
fn workspace(chat: &mut Chat<'_, '_>) -> Result<Next, Failure> {
    let shown = match &chat.plain.run.agent_zero {
        Some(setup) => setup.preface.shown(),
        None => {
            let config = config(chat)?;
            let policy = chat.plain.session().policy();
            let sources = PrefaceSources {
                config: &config,
                env: &chat.cx.app.env,
                root: chat.plain.host.settings.workspace.root.clone(),
                mode: policy.mode,
                shell: &policy.shell,
                redactor: chat.cx.app.redactor(),
            };
            ContextPreface::read(sources)?.0.shown()
        }
    };
    let lines = shown.blocks.iter().chain(&shown.status);
    lines.for_each(|text| chat.cx.ui.say(text));
    Ok(Next::Done)
}
