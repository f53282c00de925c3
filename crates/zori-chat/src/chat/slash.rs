//! The chat's slash commands, as one table: what is listed is what runs (`docs/contracts/command-line.md`).

mod attached;
pub mod debug_dump;
mod image;
pub mod jobs;
pub mod mcp;
mod model;
pub mod named_settings;
pub mod observer;
pub mod report;
mod session;
mod table;
pub mod upload;
pub mod usage;

use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_serve::is_slash_command;
use zori_tui::commands::unquoted;
use zori_tui::state::Phase;

pub use self::mcp::ServerLogin;
use super::Chat;
use super::undo::UndoPlan;
pub use report::Report;
pub use table::COMMANDS;

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
    Reopen(Reopen),
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
pub enum Reopen {
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

impl Reopen {
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
            Next::Reopen(Reopen::Project(name)) if chat.can_reopen() => {
                chat.with_project(&name)?;
                Ok(Next::Done)
            }
            Next::Reopen(wanted) => {
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

/// Commands that take one name, title or path: quotes around it are not part of it (UI-8).
const TAKES_A_NAME: [&str; 10] =
    ["/new", "/resume", "/rename", "/cd", "/export", "/model", "/provider", "/login", "/project", "/agent"];

/// Looks for a command in a line.
pub fn find(line: &str) -> Found<'_> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // In whichever case (CMD-1).
    let called = |name: &&str| name.eq_ignore_ascii_case(word);
    match COMMANDS.iter().find(|command| command.names.iter().any(called)) {
        Some(command) if TAKES_A_NAME.contains(&command.names[0]) => Found::Command(command, unquoted(rest)),
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
