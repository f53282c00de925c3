//! The chat's slash commands, as one table: what is listed is what runs (`agent-modes.md` 9.11).

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::cost::{MicroUsd, Spent};
use zori_core::input::Input;
use zori_core::message::{Block, Role};
use zori_core::text;
use zori_core::usage::Usage;
use zori_engine::engine::{Engine, Totals};
use zori_frontends::Fanout;
use zori_providers::catalog;
use zori_store::SessionDir;

use super::Chat;
use crate::attachment::{self, Viewer};
use crate::commands::{exec_compact, latest_session};
use crate::model_change;
use crate::sandbox::confinement::Confinement;
use crate::settings::{Settings, parse_session};
use crate::wire_up::Open;

/// What to do after a line was looked at.
pub(super) enum Next {
    /// It is no command: the model gets it.
    Prompt,
    /// It was a command, and this is for the model.
    Ask(String),
    /// It was a command.
    Done,
    /// The chat is over.
    Quit,
}

/// A slash command.
pub struct Slash {
    /// Its names, with the slash; the first is shown.
    pub names: &'static [&'static str],
    /// What it takes.
    pub args: &'static str,
    /// What it does.
    pub about: &'static str,
    pub(super) run: fn(&mut Chat<'_, '_>, &str) -> Result<Next, Failure>,
}

/// Every command, in the order `/help` lists them.
pub const COMMANDS: &[Slash] = &[
    Slash { names: &["/help"], args: "", about: "Show these commands", run: help },
    Slash { names: &["/exit", "/quit"], args: "", about: "Leave the chat (also :q, Ctrl-D)", run: exit },
    Slash { names: &["/new"], args: "", about: "Start a new session", run: new },
    Slash { names: &["/clear"], args: "", about: "Clear the screen and start a new session", run: clear },
    Slash { names: &["/resume"], args: "[ID]", about: "Go on with another session", run: resume },
    Slash { names: &["/history"], args: "", about: "Show this conversation", run: history },
    Slash {
        names: &["/compact"],
        args: "[FOCUS]",
        about: "Summarise older messages; undo: take that back",
        run: compact,
    },
    Slash { names: &["/model"], args: "[NAME]", about: "Show or change the model", run: model },
    Slash {
        names: &["/mode"],
        args: "[NAME]",
        about: "Show or change the permission mode",
        run: super::permissions::mode,
    },
    Slash {
        names: &["/permissions"],
        args: "",
        about: "Show the mode and the rules, and where they come from",
        run: super::permissions::permissions,
    },
    Slash {
        names: &["/image"],
        args: "PATH",
        about: "Show the model an image with the next prompt, or with words behind the path",
        run: image,
    },
    Slash {
        names: &["/status"],
        args: "",
        about: "Show model, session, root, sandbox and usage",
        run: status,
    },
    Slash {
        names: &["/cost"],
        args: "",
        about: "Show tokens, cache hits and money of this session",
        run: cost,
    },
];

/// Runs a line if it is a command. A mistyped one is not sent to the model.
pub(super) fn run(chat: &mut Chat<'_, '_>, line: &str) -> Result<Next, Failure> {
    let (command, rest) = match find(line) {
        Found::Command(command, rest) => (command, rest),
        Found::Nothing => return Ok(Next::Prompt),
        Found::Unknown(why) => {
            chat.cx.ui.say(&why);
            return Ok(Next::Done);
        }
    };
    match (command.run)(chat, rest) {
        Ok(next) => Ok(next),
        // What cannot be done does not end the chat.
        Err(error) => {
            chat.cx.ui.report(&error);
            Ok(Next::Done)
        }
    }
}

/// What a line is.
pub(super) enum Found<'l> {
    /// No command.
    Nothing,
    /// One that does not exist, and what to say about it.
    Unknown(String),
    /// A command, and what is behind it.
    Command(&'static Slash, &'l str),
}

/// Looks for a command in a line.
pub(super) fn find(line: &str) -> Found<'_> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if !is_command_word(word) {
        return Found::Nothing;
    }
    match COMMANDS.iter().find(|command| command.names.contains(&word)) {
        Some(command) => Found::Command(command, rest.trim()),
        None => {
            let near = nearest(word).map_or_else(String::new, |name| format!("; did you mean {name}?"));
            Found::Unknown(format!("Unknown command {word}{near} (/help shows them all)"))
        }
    }
}

/// A slash and a word: a path such as `/etc/hosts` is no command.
pub(crate) fn is_command_word(word: &str) -> bool {
    let name = word.strip_prefix('/').unwrap_or_default();
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Returns the command that may have been meant.
fn nearest(word: &str) -> Option<&'static str> {
    catalog::nearest(word, COMMANDS.iter().flat_map(|command| command.names).copied())
}

fn help(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    for command in COMMANDS {
        let names = command.names.join(", ");
        chat.cx.ui.say(&format!("  {:<18}{}", format!("{names} {}", command.args).trim(), command.about));
    }
    chat.cx
        .ui
        .say("Alt-Enter, Ctrl-J or a backslash at the end of a line starts another one; Tab completes.");
    Ok(Next::Done)
}

fn exit(_: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    Ok(Next::Quit)
}

fn new(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    chat.switch(Open::New)?;
    Ok(Next::Done)
}

fn clear(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    if chat.cx.terminal.stderr && chat.cx.front.events().is_none() {
        chat.cx.ui.raw("\x1b[2J\x1b[3J\x1b[H");
    }
    new(chat, "")
}

fn resume(chat: &mut Chat<'_, '_>, id: &str) -> Result<Next, Failure> {
    let Some(base) = &chat.settings.base else {
        chat.cx.ui.say("There is no base directory, so there are no sessions.");
        return Ok(Next::Done);
    };
    let sessions = SessionDir::new(base.sessions());
    let id = match id {
        "" => latest_session(&sessions, Some(&chat.id))?,
        id => Some(parse_session(id)?),
    };
    match id {
        Some(id) if id == chat.id => chat.cx.ui.say("This is the session you are in."),
        Some(id) if sessions.file(&id).exists() => chat.switch(Open::Existing(id))?,
        Some(id) => chat.cx.ui.say(&format!("Session '{id}' is empty or not found.")),
        None => chat.cx.ui.say("No sessions found to resume"),
    }
    Ok(Next::Done)
}

fn history(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let mut lines = Vec::new();
    for message in chat.session.engine.messages() {
        for block in &message.blocks {
            lines.extend(match (block, message.role) {
                (Block::Text(said), Role::User) => Some(format!("you> {said}")),
                (Block::Text(said), Role::Assistant) => Some(said.clone()),
                (Block::Image(image), _) => Some(format!("you> {image}")),
                (Block::ToolCall(call), _) => {
                    let input = text::one_line(call.input.json());
                    Some(format!("⚙ {} {}", call.name, text::prefix(&input, 200)))
                }
                (Block::Thinking(_) | Block::ToolResult(_), _) => None,
            });
        }
    }
    if lines.is_empty() {
        lines.push("Nothing has been said yet.".into());
    }
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Summarises what was said so far; the argument says what to dwell on.
fn compact(chat: &mut Chat<'_, '_>, focus: &str) -> Result<Next, Failure> {
    if focus == "undo" {
        chat.session.engine.undo_compact();
    } else {
        let focus = (!focus.is_empty()).then_some(focus);
        exec_compact(&mut chat.session, focus, &chat.signals);
    }
    Ok(Next::Done)
}

fn model(chat: &mut Chat<'_, '_>, name: &str) -> Result<Next, Failure> {
    if !name.is_empty() {
        let current = chat.session.engine.model();
        let (model, max_tokens) = model_change::check(&chat.settings, current, name)
            .map_err(|failure| elsewhere(failure, chat, name))?;
        chat.session.engine.wish(Input::SetModel { model, max_tokens });
    }
    let model = chat.session.engine.model().to_owned();
    chat.cx.ui.say(&format!("Model: {model}"));
    Ok(Next::Done)
}

/// Says how the same conversation goes on with a model that a running one cannot change to.
fn elsewhere(mut failure: Failure, chat: &Chat<'_, '_>, name: &str) -> Failure {
    if failure.kind == &VALIDATION_ERROR {
        let command = format!("{} sessions resume {} --model {name}", chat.cx.profile.name, chat.id);
        failure.facts.hints = vec![format!("leave it and run `{command}`")];
    }
    failure
}

/// Attaches an image to the next prompt, which may stand behind the path.
fn image(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let at = |path: &str| match (path.strip_prefix("~/"), &chat.settings.home) {
        (Some(below), Some(home)) => home.join(below),
        _ => chat.settings.root.join(path),
    };
    let (path, words) = path_and_words(rest, |path| at(path).is_file());
    if path.is_empty() {
        let usage = "`/image PATH` attaches an image to the next prompt";
        return Err(Failure::new(&VALIDATION_ERROR, usage).hint("PNG, JPEG, GIF or WebP"));
    }
    let viewer = Viewer { facts: chat.settings.choice.facts, model: chat.session.engine.model() };
    let image = attachment::load(&at(path), viewer)?;
    let all: Vec<_> = chat.attached.iter().cloned().chain([image.clone()]).collect();
    attachment::check_sum(&all)?;
    chat.attached = all;
    if words.is_empty() {
        chat.cx.ui.say(&format!("Attached to the next prompt: {path} {image}"));
        return Ok(Next::Done);
    }
    Ok(Next::Ask(words.to_owned()))
}

/// Tells a path from the words behind it: it is in quotes, or all of it is a file, or it is the first word.
fn path_and_words(rest: &str, is_file: impl Fn(&str) -> bool) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some((path, words)) = rest.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return (path, words.trim());
        }
    }
    if is_file(rest) {
        return (rest, "");
    }
    let (path, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (path, words.trim())
}

fn cost(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let lines = cost_lines(chat.session.engine.totals());
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Says what a session has used.
pub(crate) fn cost_lines(totals: Totals) -> Vec<String> {
    let Totals { spent: Spent { usage, cost }, last_turn, turns } = totals;
    vec![
        format!("Input:        {} tokens", usage.input),
        format!("Output:       {} tokens", usage.output),
        format!("Cache reads:  {} tokens", usage.cache_read),
        format!("Cache writes: {} tokens", usage.cache_write),
        format!("Cache hits:   {}; last turn {}", hits(usage), hits(last_turn)),
        format!("Turns:        {turns}"),
        format!("Cost:         {}", money(cost)),
    ]
}

fn status(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let lines =
        status_lines(&chat.session.engine, &chat.settings, chat.id.as_str(), chat.confinement.as_deref());
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Says what a session is like.
pub(crate) fn status_lines(
    engine: &Engine<Fanout>,
    settings: &Settings,
    id: &str,
    confinement: Option<&Confinement>,
) -> Vec<String> {
    let Totals { spent: Spent { usage, cost }, turns, .. } = engine.totals();
    let window = engine.context_window();
    let saved = if settings.save { "saved" } else { "not saved" };
    let sandbox = confinement.map_or_else(|| "off".into(), Confinement::status);
    vec![
        format!("Model:    {} ({})", engine.model(), settings.choice.facts.name),
        format!("Session:  {id} ({saved})"),
        format!("Root:     {}", settings.root.display()),
        format!("Sandbox:  {sandbox}"),
        format!("Messages: {}", engine.messages().len()),
        format!(
            "Context:  about {} of {} tokens",
            engine.context_tokens(),
            window.map_or_else(|| "an unknown number of".into(), |tokens| tokens.to_string())
        ),
        format!(
            "Tokens:   {} in, {} out, {} read from cache (hits: {}), {} written to cache, in {turns} {}",
            usage.input,
            usage.output,
            usage.cache_read,
            hits(usage),
            usage.cache_write,
            if turns == 1 { "turn" } else { "turns" }
        ),
        format!("Cost:     {}", money(cost)),
    ]
}

/// Says how much of the prompts came from the provider's cache. What a provider does not tell is unknown, not nothing.
fn hits(usage: Usage) -> String {
    usage.cache_hits().map_or_else(|| "unknown".into(), |hits| format!("{hits}% of prompt tokens"))
}

/// Says an amount. Unknown is not nothing (D-11).
fn money(cost: Option<MicroUsd>) -> String {
    cost.map_or_else(
        || "unknown, no price is known for a model that was used".into(),
        |cost| cost.to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_command() {
        for (word, is) in
            [("/help", true), ("/etc/hosts", false), ("/", false), ("help", false), ("//", false)]
        {
            assert_eq!(is_command_word(word), is, "{word}");
        }
    }

    #[test]
    fn paths_and_words() {
        for (rest, expected) in [
            ("", ("", "")),
            ("a.png", ("a.png", "")),
            ("a.png  what is it?", ("a.png", "what is it?")),
            ("my shot.png", ("my shot.png", "")),
            ("\"my shot.png\" what?", ("my shot.png", "what?")),
            ("'b c' d", ("b c", "d")),
            ("\"open", ("\"open", "")),
        ] {
            assert_eq!(path_and_words(rest, |path| path == "my shot.png"), expected, "{rest}");
        }
    }

    #[test]
    fn near_names() {
        assert_eq!(nearest("/hlep"), Some("/help"));
        assert_eq!(nearest("/modle"), Some("/model"));
        assert_eq!(nearest("/something-else"), None);
    }

    #[test]
    fn no_name_is_taken_twice() {
        let mut names: Vec<_> = COMMANDS.iter().flat_map(|command| command.names).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(COMMANDS.iter().all(|command| !command.about.is_empty()));
    }
}
