//! The settings of the provider `agent-zero`: its server, what its agent is told of the workspace, and named projects.
//!
//! `connection` reads how the server is spoken to, `preface` puts the workspace before a message, `redaction` takes
//! secrets out of it, `project` lays a named project over the config, `import` reads the YAML file of another client.

pub mod connection;
pub mod import;
pub mod preface;
pub mod project;
mod redaction;
pub mod yaml;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use zori_core::transport::Timeouts;
use zori_host::TellRights;
use zori_providers::agent_zero::{AgentZero, AgentZeroOptions};
use zori_providers::catalog::{Api, ProviderFacts};

use crate::config::Config;
use crate::environment::Environment;
use preface::ContextPreface;

/// What the provider is made from beside its address and key.
pub struct AgentZeroSetup {
    pub options: AgentZeroOptions,
    /// Whether the server is the scripted one inside this program.
    pub mock: bool,
    /// How long the server may be silent; `None`: for ever (REQ-7).
    pub timeout: Option<Duration>,
    pub preface: Arc<ContextPreface>,
    /// Whether a chat on the server is deleted when it is closed here (SRV-10).
    pub terminate_on_close: bool,
    /// The server's own user interface (F5).
    pub ui_url: Option<String>,
    /// The server, once a session has it.
    pub server: OnceLock<AgentZero>,
}

impl AgentZeroSetup {
    /// Returns who has to know what the tools may do: the next context block says it (CB-5).
    pub fn told(&self) -> TellRights {
        let preface = self.preface.clone();
        Arc::new(move |mode, shell| preface.set_rights(mode, shell))
    }

    /// Returns the limits of a request: an agent's run takes as long as it takes (REQ-8).
    pub fn limits(&self, usual: Timeouts) -> Timeouts {
        Timeouts { connect: usual.connect, first_byte: self.timeout, idle: self.timeout, pings: None }
    }
}

/// Returns whether a provider is an Agent Zero server.
pub fn is_provider(facts: &ProviderFacts) -> bool {
    facts.api == Api::AgentZero
}

/// Returns what a variable says: `1`, `true`, `yes` and `on` mean yes, everything else no (AZ-7).
pub fn flag_variable(env: &Environment, name: &str) -> Option<bool> {
    let value = env.text(name).map(str::trim).filter(|value| !value.is_empty())?;
    Some(["1", "true", "yes", "on"].iter().any(|yes| value.eq_ignore_ascii_case(yes)))
}

/// Reads settings of the config that a variable may replace (AZ-7).
pub struct Reader<'a> {
    pub config: &'a Config,
    pub env: &'a Environment,
    pub warnings: Vec<String>,
}

impl<'a> Reader<'a> {
    pub fn new(config: &'a Config, env: &'a Environment) -> Self {
        Self { config, env, warnings: Vec::new() }
    }

    fn variable(&self, name: &str) -> Option<&'a str> {
        self.env.text(name).map(str::trim).filter(|value| !name.is_empty() && !value.is_empty())
    }

    pub fn text(&self, key: &str, variable: &str) -> Option<&'a str> {
        self.variable(variable)
            .or_else(|| self.config.text(key))
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }

    /// Returns a switch.
    pub fn flag(&self, key: &str, variable: &str, default: bool) -> bool {
        flag_variable(self.env, variable).or_else(|| self.config.flag(key)).unwrap_or(default)
    }

    pub fn number(&mut self, key: &str, variable: &str, default: f64) -> f64 {
        let usual = self.config.number(key).unwrap_or(default);
        match self.variable(variable).map(|value| (value, value.parse::<f64>())) {
            Some((_, Ok(number))) if number.is_finite() => number,
            Some((value, _)) => {
                self.warnings.push(format!("{variable} is no number (`{value}`); {usual} is used"));
                usual
            }
            None => usual,
        }
    }

    pub fn count(&mut self, key: &str, variable: &str, default: usize) -> usize {
        self.number(key, variable, default as f64).max(0.0) as usize
    }

    /// Returns a list of words.
    pub fn list(&self, key: &str) -> Option<Vec<String>> {
        Some(self.config.list(key)?.into_iter().map(|(text, _)| text.to_owned()).collect())
    }

    /// Returns a time; 0 and less means that there is no limit.
    pub fn seconds(&mut self, key: &str, variable: &str, default: f64) -> Option<Duration> {
        let seconds = self.number(key, variable, default);
        (seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(1e9)))
    }
}
