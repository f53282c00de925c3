//! The state of sessions as the client sees it: the saved ones, the options of one, its mode, commands and usage.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    AuthenticateResponse, AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate,
    CloseSessionResponse, ConfigOptionUpdate, ContentBlock, ContentChunk, Cost, CurrentModeUpdate,
    DeleteSessionResponse, ListSessionsResponse, LoadSessionResponse, Meta, NewSessionResponse, Notice,
    NoticeSeverity, ResumeSessionResponse, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOption, SessionInfo, SessionMode, SessionModeState, SessionUpdate,
    SetSessionConfigOptionResponse, SetSessionModeResponse, UnstructuredCommandInput, UsageUpdate,
};
use serde::Serialize;
use serde_json::Value;

use crate::client::AcpClient;

/// A session that was opened.
#[derive(Clone, Debug)]
pub struct OpenedSession {
    pub session: String,
    /// The permission mode and the model.
    pub choices: SessionOptions,
    /// The MCP servers it should have and does without.
    pub missing: Vec<MissingServer>,
}

/// An MCP server that a session does without.
#[derive(Clone, Debug)]
pub struct MissingServer {
    pub name: String,
    pub why: String,
}

/// What can be chosen in a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    pub mode: SessionOption,
    pub model: SessionOption,
}

/// One of several, by their ids.
#[derive(Clone, Debug)]
pub struct SessionOption {
    /// What is chosen: `mode` or `model`.
    pub id: &'static str,
    pub name: &'static str,
    pub current: String,
    /// All there are: id, name, and what it means.
    pub all: Vec<(String, String, Option<String>)>,
}

#[derive(Clone, Debug)]
pub struct SessionList {
    /// The sessions, the newest first.
    pub sessions: Vec<SessionEntry>,
    /// Where the next page begins.
    pub next: Option<String>,
}

#[derive(Clone, Debug)]
pub struct SessionEntry {
    pub id: String,
    /// The folder it works in.
    pub cwd: PathBuf,
    pub title: Option<String>,
    /// When something was last said, as RFC 3339 has it.
    pub updated: String,
}

/// A slash command that can be given as a prompt.
#[derive(Clone, Debug)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: Cow<'static, str>,
    pub about: Cow<'static, str>,
    /// What it takes, if anything.
    pub args: Cow<'static, str>,
}

impl SlashCommand {
    /// A command of a table.
    pub const fn new(name: &'static str, about: &'static str, args: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), about: Cow::Borrowed(about), args: Cow::Borrowed(args) }
    }
}

/// How full the conversation is.
#[derive(Clone, Copy, Debug)]
pub struct ContextUsage {
    pub used: u64,
    pub size: u64,
    /// What the session has cost, in millionths of a dollar.
    pub micro_usd: Option<u64>,
}

impl AcpClient {
    /// Sends the available slash commands.
    pub fn show_commands(&self, session: &str, commands: &[SlashCommand]) -> io::Result<()> {
        let command = |slash: &SlashCommand| {
            let input = (!slash.args.is_empty()).then(|| {
                AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(slash.args.as_ref()))
            });
            AvailableCommand::new(slash.name.as_ref(), slash.about.as_ref()).input(input)
        };
        let commands = AvailableCommandsUpdate::new(commands.iter().map(command).collect());
        self.update(session, SessionUpdate::AvailableCommandsUpdate(commands))
    }

    /// Sends the permission mode in force.
    pub fn show_mode(&self, session: &str, mode: &str) -> io::Result<()> {
        let update = CurrentModeUpdate::new(mode.to_owned());
        self.update(session, SessionUpdate::CurrentModeUpdate(update))
    }

    pub fn show_choices(&self, session: &str, choices: &SessionOptions) -> io::Result<()> {
        let update = ConfigOptionUpdate::new(choices.options());
        self.update(session, SessionUpdate::ConfigOptionUpdate(update))
    }

    /// Sends how full the context window is.
    pub fn show_usage(&self, session: &str, usage: ContextUsage) -> io::Result<()> {
        let cost = usage.micro_usd.map(|micro| Cost::new(micro as f64 / 1e6, "USD"));
        let update = UsageUpdate::new(usage.used, usage.size).cost(cost);
        self.update(session, SessionUpdate::UsageUpdate(update))
    }

    /// Warns of something, where the client shows that.
    pub fn warn(&self, session: &str, text: &str) -> io::Result<()> {
        match self.support().notices {
            true => {
                let notice = Notice::new(NoticeSeverity::Warning, text.to_owned());
                self.update(session, SessionUpdate::Notice(notice))
            }
            false => Ok(()),
        }
    }

    /// Sends a message that is not from the model.
    pub fn say(&self, session: &str, text: &str) -> io::Result<()> {
        let chunk = ContentChunk::new(ContentBlock::from(text));
        self.update(session, SessionUpdate::AgentMessageChunk(chunk))
    }
}

impl SessionOptions {
    /// Returns them one by one.
    pub fn all(self) -> Vec<SessionOption> {
        vec![self.mode, self.model]
    }

    fn modes(&self) -> SessionModeState {
        let mode = |(id, name, about): &(String, String, Option<String>)| {
            SessionMode::new(id.clone(), name.clone()).description(about.clone())
        };
        SessionModeState::new(self.mode.current.clone(), self.mode.all.iter().map(mode).collect())
    }

    fn options(&self) -> Vec<SessionConfigOption> {
        vec![self.mode.option(), self.model.option()]
    }
}

impl SessionOption {
    /// Lets a value hold, which is one of them from then on.
    pub fn choose(&mut self, value: &str) {
        if !self.all.iter().any(|(id, ..)| id == value) {
            self.all.insert(0, (value.to_owned(), value.to_owned(), None));
        }
        value.clone_into(&mut self.current);
    }

    fn option(&self) -> SessionConfigOption {
        let value = |(id, name, about): &(String, String, Option<String>)| {
            SessionConfigSelectOption::new(id.clone(), name.clone()).description(about.clone())
        };
        let category = match self.id {
            "mode" => SessionConfigOptionCategory::Mode,
            _ => SessionConfigOptionCategory::Model,
        };
        let values: Vec<_> = self.all.iter().map(value).collect();
        SessionConfigOption::select(self.id, self.name, self.current.clone(), values).category(category)
    }
}

impl OpenedSession {
    pub(crate) fn created(self) -> Value {
        let (modes, options, meta) = (self.choices.modes(), self.choices.options(), self.meta());
        json(&NewSessionResponse::new(self.session).modes(modes).config_options(options).meta(meta))
    }

    pub(crate) fn loaded(self) -> Value {
        let (modes, options, meta) = (self.choices.modes(), self.choices.options(), self.meta());
        json(&LoadSessionResponse::new().modes(modes).config_options(options).meta(meta))
    }

    pub(crate) fn resumed(self) -> Value {
        let (modes, options, meta) = (self.choices.modes(), self.choices.options(), self.meta());
        json(&ResumeSessionResponse::new().modes(modes).config_options(options).meta(meta))
    }

    /// The protocol has no field for servers that were not started.
    fn meta(&self) -> Option<Meta> {
        let server = |missing: &MissingServer| serde_json::json!({"name": missing.name, "status": "failed", "error": missing.why});
        (!self.missing.is_empty()).then(|| {
            let servers = self.missing.iter().map(server).collect();
            Meta::from_iter([("mcpServers".to_owned(), Value::Array(servers))])
        })
    }
}

impl SessionList {
    pub(crate) fn json(self) -> Value {
        let info = |listed: SessionEntry| {
            SessionInfo::new(listed.id, listed.cwd).title(listed.title).updated_at(listed.updated)
        };
        let sessions = self.sessions.into_iter().map(info).collect();
        json(&ListSessionsResponse::new(sessions).next_cursor(self.next))
    }
}

pub(crate) fn authenticated() -> Value {
    json(&AuthenticateResponse::new())
}

pub(crate) fn closed() -> Value {
    json(&CloseSessionResponse::new())
}

pub(crate) fn deleted() -> Value {
    json(&DeleteSessionResponse::new())
}

pub(crate) fn mode_set() -> Value {
    json(&SetSessionModeResponse::new())
}

pub(crate) fn choice_set(choices: Vec<SessionOption>) -> Value {
    json(&SetSessionConfigOptionResponse::new(choices.iter().map(SessionOption::option).collect::<Vec<_>>()))
}

fn json(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).expect("an answer is JSON")
}
