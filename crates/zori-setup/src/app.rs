//! What every command of this process shares, decided once when the program starts.

use std::path::Path;

use zori_contract::failure::Failure;
use zori_redact::Redactor;

use crate::audit::CommandRecord;
use crate::data_dir::{DataDir, Locations};
use crate::debug_log::DebugLog;
use crate::environment::Environment;
use crate::network::NetworkOptions;
use crate::profile::Profile;
use crate::secrets;

/// What a command of zori runs on, beside what every command line has: decided once, when the program starts. Clones
/// share what can change.
#[derive(Clone)]
pub struct App {
    /// The name the program was called by.
    pub profile: &'static Profile,
    /// The variables and folders of this process.
    pub env: Environment,
    /// Where data and settings are.
    pub locations: Locations,
    /// Which way requests go.
    pub network: NetworkOptions,
    /// Log lines, where somebody asks for them.
    pub log: DebugLog,
    /// The audit record of this command.
    pub record: CommandRecord,
    /// Whether a word with a slash is a command of the chats: a custom command cannot take its name.
    pub is_slash_command: fn(&str) -> bool,
}

impl App {
    /// Finds the data directory.
    pub fn data_dir(&self) -> Result<DataDir, Failure> {
        self.locations.data_dir()
    }

    /// Returns the place of the administrator's settings.
    pub fn managed_config(&self) -> &'static Path {
        Path::new(self.profile.managed_config)
    }

    /// Returns what takes the keys of the environment, and whatever looks like a secret, out of text.
    pub fn redactor(&self) -> Redactor {
        secrets::redactor(&self.env)
    }
}
