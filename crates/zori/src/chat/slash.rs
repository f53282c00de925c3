//! The chat's slash commands, as one table: what is listed is what runs (`docs/contracts/command-line.md`).

use zori_contract::error::{IO_ERROR, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_core::message::{Block, Role};
use zori_core::provider::Effort;
use zori_core::text;
use zori_host::settings::WorkspaceSettings;
use zori_host::{ModelError, ModelGate, Which, session_id, summary};
use zori_serve::{is_slash_command, parse_session};
use zori_store::SessionDir;

use super::Chat;
use crate::attachment::{self, Viewer};
use crate::commands::{copy_session, latest_session};
use crate::host_failure::of_model;

/// What to do after a line was looked at.
pub(crate) enum Next {
    /// It is no command: the model gets it.
    Prompt,
    /// It was a command, and this is for the model.
    Ask(String),
    /// It was a command.
    Done,
    /// The conversation is to be summarised, with this in focus.
    Compact(Option<String>),
    /// The session is to be summed up.
    Recap,
    /// The chat goes on elsewhere.
    Elsewhere(Elsewhere),
    /// What helps to understand a problem is to be put together.
    Feedback,
    /// The chat is over.
    Quit,
}

/// Where a chat goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// With a model of another provider, as `provider:model`.
    Model(String),
    /// In this folder.
    Folder(String),
    /// With a key that is about to be stored, of this provider or the present one.
    Login(String),
    /// After the demo.
    Demo,
}

impl Elsewhere {
    /// Says how the same is had from outside, for a chat that cannot be opened anew by itself.
    pub(crate) fn by_hand(&self, name: &str, session: Option<&str>) -> String {
        let on = session.map_or_else(String::new, |id| format!(" --resume {id}"));
        match self {
            Self::Model(model) => format!("leave the chat and run `{name}{on} --model {model}`"),
            Self::Folder(folder) => format!("leave the chat and run `{name}{on} --root {folder}`"),
            Self::Login(provider) if provider.is_empty() => {
                format!("leave the chat and run `{name} auth login`")
            }
            Self::Login(provider) => {
                format!("leave the chat and run `{name} auth login --provider {provider}`")
            }
            Self::Demo => format!("leave the chat and run `{name} demo`"),
        }
    }
}

/// A slash command.
pub struct Slash {
    /// Its names, with the slash; the first is shown.
    pub names: &'static [&'static str],
    /// What it takes.
    pub args: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What kind of thing it is.
    pub category: &'static str,
    pub(super) run: fn(&mut Chat<'_, '_>, &str) -> Result<Next, Failure>,
}

impl Slash {
    /// Runs it where the chat cannot be opened anew: what would need that is told.
    pub(crate) fn run_here(&self, chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
        match self.run(chat, rest)? {
            Next::Elsewhere(wanted) => {
                let session = chat.plain.session();
                let id = session.is_saved().then(|| session.id().to_string());
                let words = wanted.by_hand(chat.cx.profile.name, id.as_deref());
                chat.cx.ui.say(&format!("To go on so, {words}."));
                Ok(Next::Done)
            }
            Next::Feedback => {
                let folder = super::feedback::write(chat, &[])?;
                chat.cx.ui.say(&folder);
                Ok(Next::Done)
            }
            next => Ok(next),
        }
    }

    /// Runs it with what stands behind its name.
    pub(crate) fn run(&self, chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
        (self.run)(chat, rest)
    }
}

/// Every command, in the order `/help` lists them.
pub const COMMANDS: &[Slash] = &[
    Slash { names: &["/help"], args: "", about: "Show these commands", category: "Session", run: help },
    Slash {
        names: &["/exit", "/quit"],
        args: "",
        about: "Leave the chat (also :q, Ctrl-D)",
        category: "Session",
        run: exit,
    },
    Slash { names: &["/new"], args: "", about: "Start a new session", category: "Session", run: new },
    Slash {
        names: &["/clear"],
        args: "",
        about: "Clear the screen and start a new session",
        category: "Session",
        run: clear,
    },
    Slash {
        names: &["/resume"],
        args: "[ID]",
        about: "Go on with another session",
        category: "Session",
        run: resume,
    },
    Slash {
        names: &["/rename"],
        args: "TITLE",
        about: "Give this session a title of your own",
        category: "Session",
        run: rename,
    },
    Slash {
        names: &["/fork"],
        args: "",
        about: "Go on in a copy of this session",
        category: "Session",
        run: fork,
    },
    Slash { names: &["/cd"], args: "FOLDER", about: "Go on in another folder", category: "Session", run: cd },
    Slash {
        names: &["/history"],
        args: "",
        about: "Show this conversation",
        category: "Session",
        run: history,
    },
    Slash {
        names: &["/compact"],
        args: "[FOCUS]",
        about: "Summarise older messages; undo: take that back",
        category: "Session",
        run: compact,
    },
    Slash {
        names: &["/recap"],
        args: "",
        about: "Sum this session up: decisions, facts, open questions",
        category: "Session",
        run: |_, _| Ok(Next::Recap),
    },
    Slash {
        names: &["/loop"],
        args: "[PROMPT]",
        about: "Ask after every turn whether to continue",
        category: "Session",
        run: supervise,
    },
    Slash {
        names: &["/undo"],
        args: "[N]",
        about: "Take the last turns back: files and conversation",
        category: "Look",
        run: super::undo::undo,
    },
    Slash {
        names: &["/redo"],
        args: "",
        about: "Take the last undo back",
        category: "Look",
        run: super::undo::redo,
    },
    Slash {
        names: &["/rewind"],
        args: "[TURN]",
        about: "List the turns, or go back to before one; behind it: files, chat",
        category: "Look",
        run: super::undo::rewind,
    },
    Slash {
        names: &["/diff"],
        args: "[TURN]",
        about: "Show what the last turn changed; session: all of them",
        category: "Look",
        run: super::undo::diff,
    },
    Slash {
        names: &["/review"],
        args: "[REF]",
        about: "Review uncommitted changes, or what a branch or commit changed",
        category: "Look",
        run: super::prompts::review,
    },
    Slash {
        names: &["/model"],
        args: "[NAME]",
        about: "Show or change the model",
        category: "Configuration",
        run: model,
    },
    Slash {
        names: &["/effort"],
        args: "[LEVEL]",
        about: "Show or change how much the model thinks",
        category: "Configuration",
        run: effort,
    },
    Slash {
        names: &["/login"],
        args: "[PROVIDER]",
        about: "Store a key, or log in, and go on with it",
        category: "Configuration",
        run: |_, provider| Ok(Next::Elsewhere(Elsewhere::Login(provider.to_owned()))),
    },
    Slash {
        names: &["/mode"],
        args: "[NAME]",
        about: "Show or change the permission mode",
        category: "Configuration",
        run: super::permissions::mode,
    },
    Slash {
        names: &["/permissions"],
        args: "",
        about: "Show the mode and the rules, and where they come from",
        category: "Configuration",
        run: super::permissions::permissions,
    },
    Slash {
        names: &["/init"],
        args: "",
        about: "Have the model write AGENTS.md for this project",
        category: "Context",
        run: super::prompts::init,
    },
    Slash {
        names: &["/image"],
        args: "PATH",
        about: "Show the model an image with the next prompt, or with words behind the path",
        category: "Context",
        run: image,
    },
    Slash {
        names: &["/jobs"],
        args: "[kill ID]",
        about: "List the commands that run in the background, or end one",
        category: "Look",
        run: jobs,
    },
    Slash {
        names: &["/status"],
        args: "",
        about: "Show model, session, root, sandbox and usage",
        category: "Debugging",
        run: status,
    },
    Slash {
        names: &["/context"],
        args: "",
        about: "Show how much of the model's window is used, and by what",
        category: "Context",
        run: context,
    },
    Slash {
        names: &["/feedback"],
        args: "",
        about: "Put together a folder that helps to understand a problem; nothing is sent",
        category: "Debugging",
        run: |_, _| Ok(Next::Feedback),
    },
    Slash {
        names: &["/demo"],
        args: "",
        about: "Watch a scripted model at work; needs no key",
        category: "Session",
        run: |_, _| Ok(Next::Elsewhere(Elsewhere::Demo)),
    },
    Slash {
        names: &["/cost"],
        args: "",
        about: "Show tokens, cache hits and money of this session",
        category: "Debugging",
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
    match command.run_here(chat, rest) {
        Ok(Next::Compact(focus)) => {
            chat.plain.compact(focus.as_deref(), &chat.signals);
            Ok(Next::Done)
        }
        Ok(next) => Ok(next),
        // What cannot be done does not end the chat.
        Err(error) => {
            chat.cx.ui.report(&error);
            Ok(Next::Done)
        }
    }
}

/// What a line is.
pub(crate) enum Found<'l> {
    /// No command.
    Nothing,
    /// One that does not exist, and what to say about it.
    Unknown(String),
    /// A command, and what is behind it.
    Command(&'static Slash, &'l str),
}

/// Looks for a command in a line.
pub(crate) fn find(line: &str) -> Found<'_> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if !is_slash_command(word) {
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

/// Returns the command that may have been meant.
fn nearest(word: &str) -> Option<&'static str> {
    zori_spelling::nearest(word, COMMANDS.iter().flat_map(|command| command.names).copied())
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
    chat.switch(Which::New)?;
    Ok(Next::Done)
}

fn clear(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    if chat.cx.terminal.stderr && chat.cx.front.events().is_none() {
        chat.cx.ui.raw("\x1b[2J\x1b[3J\x1b[H");
    }
    new(chat, "")
}

fn resume(chat: &mut Chat<'_, '_>, id: &str) -> Result<Next, Failure> {
    let Some(base) = &chat.plain.run.base else {
        chat.cx.ui.say("There is no base directory, so there are no sessions.");
        return Ok(Next::Done);
    };
    let sessions = SessionDir::new(base.sessions());
    let current = chat.plain.session().id().clone();
    let id = match id {
        "" => latest_session(&sessions, Some(&current))?,
        id => Some(parse_session(id)?),
    };
    match id {
        Some(id) if id == current => chat.cx.ui.say("This is the session you are in."),
        Some(id) if sessions.file(&id).exists() => chat.switch(Which::Existing(id))?,
        Some(id) => chat.cx.ui.say(&format!("Session '{id}' is empty or not found.")),
        None => chat.cx.ui.say("No sessions found to resume"),
    }
    Ok(Next::Done)
}

fn jobs(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let jobs = chat.plain.session().jobs();
    let mut say = |line: &str| chat.cx.ui.say(line);
    match rest.split_whitespace().collect::<Vec<_>>().as_slice() {
        [] if jobs.is_empty() => say("No jobs were started."),
        [] => {
            for job in jobs {
                say(&format!("  {:<8}{:<12}{}", job.id, job.state(), text::one_line(&job.command)));
            }
        }
        ["kill", id] => match jobs.iter().find(|job| job.id == *id) {
            Some(job) => {
                job.request_kill();
                say(&format!("Asked {id} to end"));
            }
            None => say(&format!("There is no job `{id}` (/jobs shows them all)")),
        },
        _ => say("/jobs lists the jobs, /jobs kill ID ends one"),
    }
    Ok(Next::Done)
}

fn history(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let mut lines = Vec::new();
    for message in chat.plain.session().messages() {
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
        chat.plain.session_mut().undo_compact();
    } else {
        return Ok(Next::Compact((!focus.is_empty()).then(|| focus.to_owned())));
    }
    Ok(Next::Done)
}

/// Enters the loop; the argument is its first prompt.
fn supervise(chat: &mut Chat<'_, '_>, prompt: &str) -> Result<Next, Failure> {
    chat.supervise(true);
    Ok(if prompt.is_empty() { Next::Done } else { Next::Ask(prompt.to_owned()) })
}

fn model(chat: &mut Chat<'_, '_>, name: &str) -> Result<Next, Failure> {
    if !name.is_empty() {
        let models = ModelGate::new(&chat.plain.host.settings);
        match models.check(chat.plain.session().model(), name) {
            Ok((model, max_tokens)) => chat.plain.session_mut().set_model(model, max_tokens),
            Err(error) if error.is_of_this_session() && chat.can_go_on() => {
                return Ok(Next::Elsewhere(Elsewhere::Model(name.to_owned())));
            }
            Err(error) => return Err(elsewhere(error, chat, name)),
        }
    }
    let model = chat.plain.session().model().to_owned();
    chat.cx.ui.say(&format!("Model: {model}"));
    Ok(Next::Done)
}

fn effort(chat: &mut Chat<'_, '_>, name: &str) -> Result<Next, Failure> {
    let request = &mut chat.plain.host.settings.request;
    if !name.is_empty() {
        let effort = match name {
            "default" => None,
            name => Some(Effort::by_name(name).ok_or_else(|| {
                let names = Effort::ALL.iter().map(|effort| effort.as_str()).collect::<Vec<_>>().join(", ");
                Failure::new(&VALIDATION_ERROR, format!("`{name}` is no level"))
                    .hint(format!("default, {names}"))
            })?),
        };
        request.effort = effort;
        if let Some(args) = &mut chat.args {
            args.model.thinking = effort;
        }
        chat.plain.session_mut().set_effort(effort);
    }
    let now = chat.plain.host.settings.request.effort.map_or("as the provider has it", Effort::as_str);
    chat.cx.ui.say(&format!("Effort: {now}"));
    Ok(Next::Done)
}

fn cd(_: &mut Chat<'_, '_>, folder: &str) -> Result<Next, Failure> {
    match folder {
        "" => Err(Failure::new(&VALIDATION_ERROR, "`/cd FOLDER` goes on in another folder")),
        folder => Ok(Next::Elsewhere(Elsewhere::Folder(folder.to_owned()))),
    }
}

fn rename(chat: &mut Chat<'_, '_>, title: &str) -> Result<Next, Failure> {
    let session = chat.plain.session();
    let saved = session.is_saved() && session.totals().turns + session.messages().len() as u32 > 0;
    let Some(base) = chat.plain.run.base.as_ref().filter(|_| saved) else {
        return Err(Failure::new(&VALIDATION_ERROR, "there is no saved session to name yet"));
    };
    let title = text::one_line(title.trim()).into_owned();
    let named = SessionDir::new(base.sessions()).rename(session.id(), &title);
    named.map_err(|error| Failure::new(&IO_ERROR, format!("the title cannot be kept: {error}")))?;
    chat.cx.ui.say(&match title.is_empty() {
        true => "The session has the title of its first prompt again.".to_owned(),
        false => format!("Title: {title}"),
    });
    Ok(Next::Done)
}

fn fork(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let session = chat.plain.session();
    let Some(base) =
        chat.plain.run.base.as_ref().filter(|_| session.is_saved() && !session.messages().is_empty())
    else {
        return Err(Failure::new(&VALIDATION_ERROR, "there is no saved conversation to copy yet"));
    };
    let (sessions, copy) = (SessionDir::new(base.sessions()), session_id());
    let copied = copy_session(&sessions, session.id(), &copy);
    copied.map_err(|why| Failure::new(&IO_ERROR, why))?;
    chat.switch(Which::Existing(copy))?;
    Ok(Next::Done)
}

fn context(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
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

/// Says how the same conversation goes on with a model that a running one cannot change to.
fn elsewhere(error: ModelError, chat: &Chat<'_, '_>, name: &str) -> Failure {
    let elsewhere = error.is_of_this_session();
    let mut failure = of_model(error);
    if elsewhere {
        let id = chat.plain.session().id();
        let command = format!("{} sessions resume {id} --model {name}", chat.cx.profile.name);
        failure.facts.hints = vec![format!("leave it and run `{command}`")];
    }
    failure
}

/// Attaches an image to the next prompt, which may stand behind the path.
fn image(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let WorkspaceSettings { home, root, .. } = &chat.plain.host.settings.workspace;
    let at = |path: &str| match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => root.join(path),
    };
    let (path, words) = path_and_words(rest, |path| at(path).is_file());
    if path.is_empty() {
        let usage = "`/image PATH` attaches an image to the next prompt";
        return Err(Failure::new(&VALIDATION_ERROR, usage).hint("PNG, JPEG, GIF or WebP"));
    }
    let viewer = Viewer { facts: chat.plain.host.settings.model.facts, model: chat.plain.session().model() };
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
    let lines = summary::cost_lines(chat.plain.session().totals());
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

fn status(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let lines = summary::status_lines(chat.plain.session(), &chat.plain.host);
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

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
