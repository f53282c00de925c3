//! Who sums a session up for `/recap`, and within which bounds (`[session.recap]`, D-24).

use std::sync::OnceLock;
use std::time::Duration;

use crate::config::Config;
use crate::environment::Environment;
use crate::model_choice::{self, ModelChoice};

/// How a session is summed up.
pub struct RecapSettings {
    /// How long a recap may be, in tokens.
    pub max_tokens: usize,
    /// How long the model may take.
    pub limit: Duration,
    /// How much of the session it is sent, in tokens.
    pub max_input_tokens: usize,
    other: Option<OtherModel>,
}

/// A model that is asked in place of the session's. Its key is looked for when the first recap is wanted, and not before.
struct OtherModel {
    name: String,
    config: Config,
    env: Environment,
    found: OnceLock<Result<ModelChoice, String>>,
}

impl Default for RecapSettings {
    /// The session's own model, and the bounds of the contract.
    fn default() -> Self {
        Self { max_tokens: 512, limit: Duration::from_secs(30), max_input_tokens: 50_000, other: None }
    }
}

impl RecapSettings {
    /// Reads what the config file says.
    pub fn read(config: &Config, env: &Environment) -> Self {
        let usual = Self::default();
        let count = |key| config.count(key).and_then(|count| usize::try_from(count).ok());
        let name = config.text("session.recap.provider").map(str::trim).filter(|name| !name.is_empty());
        Self {
            max_tokens: count("session.recap.max_tokens").unwrap_or(usual.max_tokens),
            limit: config.count("session.recap.timeout_secs").map_or(usual.limit, Duration::from_secs),
            max_input_tokens: count("session.recap.max_input_tokens").unwrap_or(usual.max_input_tokens),
            other: name.map(|name| OtherModel {
                name: name.to_owned(),
                config: config.clone(),
                env: env.clone(),
                found: OnceLock::new(),
            }),
        }
    }

    /// Returns the model that is asked in place of the session's, or why there is none; `None` where nobody named one.
    pub fn other(&self) -> Option<Result<&ModelChoice, &str>> {
        let OtherModel { name, config, env, found } = self.other.as_ref()?;
        let look = || {
            model_choice::of_setting(name, config, env)
                .map_err(|failure| format!("`session.recap.provider`: {}", failure.message))
        };
        Some(found.get_or_init(look).as_ref().map_err(String::as_str))
    }
}
