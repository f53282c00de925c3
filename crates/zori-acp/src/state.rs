//! What a client is told about sessions: which there are, what can be chosen in one, and what it is like right now.

use std::io;
use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    AuthenticateResponse, AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate,
    CloseSessionResponse, ConfigOptionUpdate, ContentBlock, ContentChunk, Cost, CurrentModeUpdate,
    ListSessionsResponse, LoadSessionResponse, NewSessionResponse, ResumeSessionResponse,
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionInfo, SessionMode,
    SessionModeState, SessionUpdate, SetSessionConfigOptionResponse, SetSessionModeResponse,
    UnstructuredCommandInput, UsageUpdate,
};
use serde::Serialize;
use serde_json::Value;

use crate::peer::Peer;

/// A session that was opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its id.
    pub session: String,
    /// The permission mode and the model.
    pub choices: Choices,
}

/// What can be chosen in a session.
#[derive(Clone, Debug)]
pub struct Choices {
    /// The permission mode.
    pub mode: Choice,
    /// The model.
    pub model: Choice,
}

/// One of several, by their ids.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What is chosen: `mode` or `model`.
    pub id: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// The one that holds.
    pub current: String,
    /// All there are: id, name, and what it means.
    pub all: Vec<(String, String, Option<String>)>,
}

/// A page of sessions.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The sessions, the newest first.
    pub sessions: Vec<Listed>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// A saved session.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// The folder it works in.
    pub cwd: PathBuf,
    /// How it began.
    pub title: Option<String>,
    /// When something was last said, as RFC 3339 has it.
    pub updated: String,
}

/// A slash command that can be given as a prompt.
#[derive(Clone, Copy, Debug)]
pub struct Slash {
    /// Its name, without the slash.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What it takes, if anything.
    pub args: &'static str,
}

/// How full the conversation is.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Tokens in it.
    pub used: u64,
    /// Tokens the model takes.
    pub size: u64,
    /// What the session has cost, in millionths of a dollar.
    pub micro_usd: Option<u64>,
}

impl Peer {
    /// Says which slash commands there are.
    pub fn show_commands(&self, session: &str, commands: &[Slash]) -> io::Result<()> {
        let command = |slash: &Slash| {
            let input = (!slash.args.is_empty())
                .then(|| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(slash.args)));
            AvailableCommand::new(slash.name, slash.about).input(input)
        };
        let commands = AvailableCommandsUpdate::new(commands.iter().map(command).collect());
        self.update(session, SessionUpdate::AvailableCommandsUpdate(commands))
    }

    /// Says which permission mode holds.
    pub fn show_mode(&self, session: &str, mode: &str) -> io::Result<()> {
        let update = CurrentModeUpdate::new(mode.to_owned());
        self.update(session, SessionUpdate::CurrentModeUpdate(update))
    }

    /// Says what is chosen.
    pub fn show_choices(&self, session: &str, choices: &Choices) -> io::Result<()> {
        let update = ConfigOptionUpdate::new(choices.options());
        self.update(session, SessionUpdate::ConfigOptionUpdate(update))
    }

    /// Says how full the conversation is.
    pub fn show_usage(&self, session: &str, usage: Usage) -> io::Result<()> {
        let cost = usage.micro_usd.map(|micro| Cost::new(micro as f64 / 1e6, "USD"));
        let update = UsageUpdate::new(usage.used, usage.size).cost(cost);
        self.update(session, SessionUpdate::UsageUpdate(update))
    }

    /// Says something that no model said.
    pub fn say(&self, session: &str, text: &str) -> io::Result<()> {
        let chunk = ContentChunk::new(ContentBlock::from(text));
        self.update(session, SessionUpdate::AgentMessageChunk(chunk))
    }
}

impl Choices {
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

impl Choice {
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

impl Opened {
    pub(crate) fn created(self) -> Value {
        let (modes, options) = (self.choices.modes(), self.choices.options());
        json(&NewSessionResponse::new(self.session).modes(modes).config_options(options))
    }

    pub(crate) fn loaded(self) -> Value {
        json(&LoadSessionResponse::new().modes(self.choices.modes()).config_options(self.choices.options()))
    }

    pub(crate) fn resumed(self) -> Value {
        json(&ResumeSessionResponse::new().modes(self.choices.modes()).config_options(self.choices.options()))
    }
}

impl Listing {
    pub(crate) fn json(self) -> Value {
        let info = |listed: Listed| {
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

pub(crate) fn mode_set() -> Value {
    json(&SetSessionModeResponse::new())
}

pub(crate) fn choice_set(choices: Vec<Choice>) -> Value {
    json(&SetSessionConfigOptionResponse::new(choices.iter().map(Choice::option).collect::<Vec<_>>()))
}

fn json(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).expect("an answer is JSON")
}
