//! What commands run in: [`Context`] for every command of the table, [`AgentCx`] for the parts of one that runs a model.

use zori_contract::cancel::Cancel;
use zori_frontends::jsonl::EventWriter;

use crate::app::App;
use crate::outcome::Report;
use crate::profile::Profile;
use crate::terminal::Terminal;
use crate::ui::Ui;

/// What a command of the table runs in.
pub type Context<'a> = zori_contract::run::CommandCx<'a, App>;

/// What the parts of an agent command run in.
pub struct AgentCx<'a> {
    /// The name the program was called by.
    pub profile: &'static Profile,
    /// Where the streams go.
    pub terminal: Terminal,
    /// The word that the time of the command is over.
    pub cancel: Cancel,
    /// The way out for words.
    pub ui: &'a mut Ui,
    /// What children find in their environment, so that none of them pages, colours, asks or opens an editor.
    pub child_env: Vec<(String, String)>,
    /// What every command of this process shares.
    pub app: App,
    /// What the last turn came to, for those who asked for an envelope.
    pub report: Option<Report>,
    /// What stdout is for.
    pub front: Front,
}

/// What an agent command writes to stdout.
pub enum Front {
    /// The assistant's text.
    Text,
    /// Events for a program.
    Events(EventWriter),
}

impl Front {
    /// Returns where events go, if that is what is wanted.
    pub fn events(&self) -> Option<&EventWriter> {
        match self {
            Self::Text => None,
            Self::Events(events) => Some(events),
        }
    }
}
