//! The chat's slash commands, as one table: what is listed is what runs (`docs/contracts/command-line.md`).

mod attached;
mod image;
pub mod jobs;
pub mod mcp;
mod model;
mod named_settings;
mod observer;
pub mod report;
mod session;
pub mod upload;
mod usage;

use zori_contract::error::{IO_ERROR, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_serve::is_slash_command;
use zori_tui::state::Phase;

pub use self::mcp::ServerLogin;
use super::Chat;
use super::undo::UndoPlan;
pub use report::Report;

/// What to do after a line was looked at.
pub enum Next {
    /// It is no command: the model gets it.
    Prompt,
    /// It was a command, and this is for the model.
    Ask(String),
    /// The lines that come next are one message, with this before them (`/ml`).
    Lines(String),
    /// It was a command.
    Done,
    /// The conversation is to be summarised, with this in focus.
    Compact(Option<String>),
    /// The session is to be summed up.
    Recap,
    /// The chat goes on elsewhere.
    Elsewhere(Elsewhere),
    /// Somebody logs in to an MCP server, in a terminal that the chat has let go.
    LogIn(ServerLogin),
    /// What helps to understand a problem is to be put together.
    Feedback,
    /// The program itself is asked for this.
    Report(Report),
    /// Files go back, if the person says so.
    Undo(UndoPlan),
    /// The conversation went back, to before this prompt.
    WentBack(Option<String>),
    /// The chat is over.
    Quit,
}

/// Where a chat goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// With a model of another provider, as `provider:model`.
    Model(String),
    /// In this folder.
    Folder(String),
    /// With a key that is about to be stored, of this provider or the present one.
    Login(String),
    /// After the demo.
    Demo,
    /// With the settings of this project, in a new session.
    Project(String),
}

impl Elsewhere {
    /// Says how the same is had from outside, for a chat that cannot be opened anew by itself.
    pub fn by_hand(&self, name: &str, session: Option<&str>) -> String {
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
            Self::Project(project) => {
                format!("leave the chat and run `AGENTZERO_PROJECT={} {name}`", sh_word(project))
            }
        }
    }
}

/// Returns a name as a shell reads it back.
fn sh_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
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
    pub fn run_here(&self, chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
        match self.run(chat, rest)? {
            Next::Elsewhere(Elsewhere::Project(name)) if chat.can_reopen() => {
                chat.with_project(&name)?;
                Ok(Next::Done)
            }
            Next::Elsewhere(wanted) => {
                let session = chat.plain.session();
                let id = session.is_saved().then(|| session.id().to_string());
                let words = wanted.by_hand(chat.cx.profile.name, id.as_deref());
                chat.cx.ui.say(&format!("To go on so, {words}."));
                Ok(Next::Done)
            }
            Next::LogIn(login) => {
                chat.cx.ui.say(&login.by_hand(chat.cx.profile.name));
                Ok(Next::Done)
            }
            Next::Feedback => {
                let folder = super::feedback::write(&super::feedback::Subject::of(chat), &[])?;
                chat.cx.ui.say(&folder);
                Ok(Next::Done)
            }
            Next::Report(report) => {
                match report.make(&chat.cx.app.env) {
                    Ok(text) => text.lines().for_each(|line| chat.cx.ui.say(line)),
                    Err(why) => return Err(Failure::new(&IO_ERROR, why)),
                }
                Ok(Next::Done)
            }
            Next::Undo(plan) => {
                plan.ask(chat)?;
                Ok(Next::Done)
            }
            next => Ok(next),
        }
    }

    /// Runs it with what stands behind its name.
    pub fn run(&self, chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
        (self.run)(chat, rest)
    }
}

/// Every command, in the order `/help` lists them.
pub const COMMANDS: &[Slash] = &[
    Slash {
        names: &["/help"],
        args: "",
        about: "Show these commands",
        category: "Session",
        run: session::help,
    },
    Slash {
        names: &["/exit", "/quit"],
        args: "",
        about: "Leave the chat (also :q, Ctrl-D)",
        category: "Session",
        run: session::exit,
    },
    Slash {
        names: &["/new"],
        args: "[TITLE]",
        about: "Start a new session",
        category: "Session",
        run: session::new,
    },
    Slash {
        names: &["/clear"],
        args: "",
        about: "Clear the screen and start a new session",
        category: "Session",
        run: session::clear,
    },
    Slash {
        names: &["/resume"],
        args: "[ID]",
        about: "Go on with another session",
        category: "Session",
        run: session::resume,
    },
    Slash {
        names: &["/rename"],
        args: "TITLE",
        about: "Give this session a title of your own",
        category: "Session",
        run: session::rename,
    },
    Slash {
        names: &["/fork"],
        args: "",
        about: "Go on in a copy of this session",
        category: "Session",
        run: session::fork,
    },
    Slash {
        names: &["/cd"],
        args: "FOLDER",
        about: "Go on in another folder",
        category: "Session",
        run: session::cd,
    },
    Slash {
        names: &["/history"],
        args: "",
        about: "Show this conversation",
        category: "Session",
        run: session::history,
    },
    Slash {
        names: &["/compact"],
        args: "[FOCUS]",
        about: "Summarise older messages; undo: take that back",
        category: "Session",
        run: session::compact,
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
        run: session::supervise,
    },
    Slash {
        names: &["/plan"],
        args: "[GOAL]",
        about: "Have the model propose steps, and carry them out; also list, status, resume, cancel",
        category: "Planning",
        run: super::plan::plan,
    },
    Slash {
        names: &["/schedule"],
        args: "[ARGS]",
        about: "List the scheduled jobs of this project; also add, show, rm",
        category: "Planning",
        run: |chat, rest| report::next(chat, "/schedule", rest),
    },
    Slash {
        names: &["/export"],
        args: "[FILE]",
        about: "Write this conversation to a file: .md, .json or .html",
        category: "Session",
        run: |chat, rest| report::next(chat, "/export", rest),
    },
    Slash {
        names: &["/undo"],
        args: "[N|#CELL]",
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
        run: model::model,
    },
    Slash {
        names: &["/provider"],
        args: "[NAME]",
        about: "Show the provider, or go on with the default model of another",
        category: "Configuration",
        run: model::provider,
    },
    Slash {
        names: &["/project"],
        args: "[NAME]",
        about: "Show the projects of the config file, or go on with one, in a new session",
        category: "Configuration",
        run: named_settings::project,
    },
    Slash {
        names: &["/agent"],
        args: "[NAME]",
        about: "Show the agent profiles, or tell an Agent Zero server another one",
        category: "Configuration",
        run: named_settings::agent,
    },
    Slash {
        names: &["/effort"],
        args: "[LEVEL]",
        about: "Show or change how much the model thinks",
        category: "Configuration",
        run: model::effort,
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
        about: "Show or change the permission mode; --save behind it keeps it for later chats",
        category: "Configuration",
        run: super::permissions::mode,
    },
    Slash {
        names: &["/security"],
        args: "[MODE|shell]",
        about: "Show the mode and whether shell commands may run, or change either for this chat",
        category: "Configuration",
        run: super::permissions::security,
    },
    Slash {
        names: &["/permissions"],
        args: "",
        about: "Show the mode and the rules, and where they come from",
        category: "Configuration",
        run: super::permissions::permissions,
    },
    Slash {
        names: &["/config"],
        args: "",
        about: "Show each setting that is set, and where it comes from",
        category: "Configuration",
        run: |chat, rest| report::next(chat, "/config", rest),
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
        run: image::image,
    },
    Slash {
        names: &["/upload"],
        args: "[--send] PATH",
        about: "Copy a file into the folder uploads/ of this project; --send: to an Agent Zero server, too",
        category: "Context",
        run: upload::run,
    },
    Slash {
        names: &["/ml"],
        args: "[TEXT]",
        about: "Write several lines; an empty one sends them as one message",
        category: "Context",
        run: |_, first| Ok(Next::Lines(first.to_owned())),
    },
    Slash {
        names: &["/observer", "/ai_observer"],
        args: "[info|on|off|MODE]",
        about: "Show or change the summary of the workspace that an Agent Zero server is sent",
        category: "Context",
        run: observer::observer,
    },
    Slash {
        names: &["/agents"],
        args: "",
        about: "List the sub-agents that were described",
        category: "Integration",
        run: attached::agents,
    },
    Slash {
        names: &["/skills"],
        args: "",
        about: "List the skills and the custom commands",
        category: "Integration",
        run: attached::skills,
    },
    Slash {
        names: &["/skill"],
        args: "NAME [TASK]",
        about: "Have the model follow a skill",
        category: "Integration",
        run: attached::skill,
    },
    Slash {
        names: &["/hooks"],
        args: "",
        about: "List the programs that are told what happens",
        category: "Integration",
        run: attached::hooks,
    },
    Slash {
        names: &["/jobs"],
        args: "[kill ID]",
        about: "List the commands that run in the background, or end one",
        category: "Look",
        run: jobs::jobs,
    },
    Slash {
        names: &["/mcp"],
        args: "[reconnect|enable|disable|login|logout|log NAME]",
        about: "List the MCP servers, or change one",
        category: "Look",
        run: mcp::run,
    },
    Slash {
        names: &["/status"],
        args: "",
        about: "Show model, session, root, sandbox and usage",
        category: "Debugging",
        run: usage::status,
    },
    Slash {
        names: &["/context"],
        args: "",
        about: "Show how much of the model's window is used, and by what",
        category: "Context",
        run: usage::context,
    },
    Slash {
        names: &["/doctor"],
        args: "",
        about: "Check that everything is there that a run needs",
        category: "Debugging",
        run: |chat, rest| report::next(chat, "/doctor", rest),
    },
    Slash {
        names: &["/memory"],
        args: "[WORDS]",
        about: "Find what was said in earlier sessions of this project; without words: list it",
        category: "Memory",
        run: |chat, rest| report::next(chat, "/memory", rest),
    },
    Slash {
        names: &["/graph"],
        args: "[NAME]",
        about: "Show what is known of things in this project, and what sessions were about",
        category: "Memory",
        run: |chat, rest| report::next(chat, "/graph", rest),
    },
    Slash {
        names: &["/index"],
        args: "[WORDS]",
        about: "Find code in the project's index, `build` or `clear` it; without words: how much is indexed",
        category: "Memory",
        run: |chat, rest| report::next(chat, "/index", rest),
    },
    Slash {
        names: &["/log"],
        args: "[N]",
        about: "Show what was decided and what ran, from the audit log",
        category: "Debugging",
        run: |chat, rest| report::next(chat, "/log", rest),
    },
    Slash {
        names: &["/debug-dump"],
        args: "[off]",
        about: "Write every request, response and tool result to a file, or stop doing so",
        category: "Debugging",
        run: debug_dump,
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
        run: usage::cost,
    },
];

/// Runs a line if it is a command. A mistyped one is not sent to the model.
pub(super) fn run(chat: &mut Chat<'_, '_>, line: &str) -> Result<Next, Failure> {
    match chat.cell_command(line) {
        Ok(Some(next)) => return Ok(next),
        Ok(None) => {}
        Err(error) => {
            chat.cx.ui.report(&error);
            return Ok(Next::Done);
        }
    }
    let (command, rest) = match find(line) {
        Found::Command(command, rest) => (command, rest),
        Found::Nothing => return Ok(Next::Prompt),
        // A command or a skill that somebody brought along is a prompt.
        Found::Unknown(_) if chat.plain.session().extensions().is_call(line) => return Ok(Next::Prompt),
        Found::Unknown(why) => {
            let own =
                chat.cells.as_ref().map(|_| unknown_on_screen(line, crate::screen::own_command_names()));
            chat.cx.ui.say(&own.unwrap_or(why));
            return Ok(Next::Done);
        }
    };
    match command.run_here(chat, rest) {
        Ok(Next::Compact(focus)) => {
            chat.cells_like_a_turn(Phase::Compacting);
            chat.plain.compact(focus.as_deref(), &chat.signals);
            chat.cells_after_turn(None);
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

/// Returns whether a command of this name is one of the program's own.
pub fn is_built_in(name: &str) -> bool {
    COMMANDS.iter().any(|command| command.names.contains(&name)) || crate::screen::is_own_command(name)
}

/// What a line is.
pub enum Found<'l> {
    /// No command.
    Nothing,
    /// One that does not exist, and what to say about it.
    Unknown(String),
    /// A command, and what is behind it.
    Command(&'static Slash, &'l str),
}

/// Looks for a command in a line.
pub fn find(line: &str) -> Found<'_> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // In whichever case (CMD-1).
    let called = |name: &&str| name.eq_ignore_ascii_case(word);
    match COMMANDS.iter().find(|command| command.names.iter().any(called)) {
        Some(command) => Found::Command(command, rest.trim()),
        None if !is_slash_command(word) => Found::Nothing,
        None => Found::Unknown(unknown(word, nearest(word, []))),
    }
}

/// Says that there is no such command on the screen, which has some of its own.
pub fn unknown_on_screen(line: &str, own: impl IntoIterator<Item = &'static str>) -> String {
    let word = line.split_whitespace().next().unwrap_or_default();
    unknown(word, nearest(word, own))
}

fn unknown(word: &str, near: Option<&str>) -> String {
    let near = near.map_or_else(String::new, |name| format!("; did you mean {name}?"));
    format!("Unknown command {word}{near} (/help shows them all)")
}

/// Returns the command that may have been meant, of ours and of these.
fn nearest(word: &str, more: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    let names = COMMANDS.iter().flat_map(|command| command.names).copied();
    zori_spelling::nearest(word, names.chain(more))
}

/// Switches debug dumps on or off.
fn debug_dump(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let on = match rest {
        "" | "on" => true,
        "off" => false,
        other => {
            let message = format!("`/debug-dump {other}`: it takes `on` or `off`");
            return Err(Failure::new(&VALIDATION_ERROR, message));
        }
    };
    let said = match chat.plain.run.dump.switch(on) {
        Ok(folder) if on => format!("Debug dumps go to {}.", folder.display()),
        Ok(_) => "No debug dumps are written.".to_owned(),
        Err(why) => why,
    };
    chat.cx.ui.say(&said);
    Ok(Next::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        assert_eq!(nearest("/hlep", []), Some("/help"));
        assert_eq!(nearest("/modle", []), Some("/model"));
        assert_eq!(nearest("/something-else", []), None);
        assert_eq!(nearest("/tdoo", []), None, "the line chat has none");
        assert_eq!(
            unknown_on_screen("/tdoo now", ["/todo"]),
            "Unknown command /tdoo; did you mean /todo? (/help shows them all)"
        );
    }

    #[test]
    fn lines_that_are_commands() {
        let found = |line| match find(line) {
            Found::Nothing => "nothing",
            Found::Unknown(_) => "unknown",
            Found::Command(command, _) => command.names[0],
        };
        for (line, what) in [
            ("/help", "/help"),
            ("/HELP", "/help"),
            ("/ai_observer info", "/observer"),
            ("/no-such", "unknown"),
            ("/etc/passwd is long", "nothing"),
            ("hello", "nothing"),
            ("/", "nothing"),
        ] {
            assert_eq!(found(line), what, "{line}");
        }
    }

    #[test]
    fn the_contract_names_them_all() {
        let page = include_str!("../../../../docs/contracts/command-line.md");
        let names = COMMANDS.iter().map(|command| command.names[0]);
        let missing: Vec<_> = names.filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert_eq!(missing, [""; 0]);
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
