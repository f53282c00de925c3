//! Whether a session may go on with another model, as one answer for everybody who asks.

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::cost::Prices;
use zori_engine::limits::Limits;
use zori_providers::catalog::{self, ProviderFacts};
use zori_providers::quirks::ToolStyle;

use crate::error::SETTING_INVALID;
use crate::settings::Settings;
use crate::settings::limits::priced;

/// What clients of the Claude protocol call models by, whoever the provider is.
const CLAUDE_FAMILIES: &[&str] = &["sonnet", "opus", "haiku"];

/// Says something of a model.
type OfModel<T> = Box<dyn Fn(&str) -> T>;

/// Decides about a change of the model; it outlives the settings it was made from.
pub struct ModelGate {
    facts: &'static ProviderFacts,
    limits: Limits,
    prices: OfModel<Option<Prices>>,
    reply: OfModel<Option<u32>>,
    style: OfModel<ToolStyle>,
}

impl ModelGate {
    /// Knows what the settings say of models.
    pub fn new(settings: &Settings) -> Self {
        Self {
            facts: settings.choice.facts,
            limits: settings.limits,
            prices: Box::new(settings.choice.pricing()),
            reply: Box::new(settings.choice.reply_limits(settings.max_tokens)),
            style: Box::new(settings.tool_styles()),
        }
    }

    /// Returns the model's id and the bound of its replies, or why it cannot be used. `provider:model` is the same as the
    /// model where that is the session's provider: what another one's models said cannot be sent to all of them. A family's
    /// name is its newest model's.
    pub fn check(&self, current: &str, name: &str) -> Result<(String, Option<u32>), Failure> {
        let own = self.facts.name;
        let name = match name.split_once(':') {
            Some((provider, rest)) if provider == own => rest,
            Some((provider, _)) if catalog::provider(provider).is_some() => {
                return Err(Failure::new(&VALIDATION_ERROR, format!("this session is with `{own}`"))
                    .hint(format!("start another one with `--model {name}`")));
            }
            _ => name,
        };
        if name.trim().is_empty() {
            return Err(Failure::new(&SETTING_INVALID, "the model's name is empty"));
        }
        let name = match self.facts.newest_of(name) {
            Some(newest) => newest,
            None if CLAUDE_FAMILIES.contains(&name) => {
                return Err(Failure::new(&SETTING_INVALID, format!("`{name}` is no model of `{own}`")));
            }
            None => name,
        };
        priced(&self.limits, (self.prices)(name), name)?;
        if (self.style)(name) != (self.style)(current) {
            let message = format!("`{name}` is offered tools in another way than `{current}`");
            return Err(Failure::new(&VALIDATION_ERROR, message)
                .hint(format!("start another session with `--model {own}:{name}`")));
        }
        Ok((name.to_owned(), (self.reply)(name)))
    }
}

/// Returns the model's id and the bound of its replies, or why it cannot be used; see [`ModelGate::check`].
pub fn check(settings: &Settings, current: &str, name: &str) -> Result<(String, Option<u32>), Failure> {
    ModelGate::new(settings).check(current, name)
}
