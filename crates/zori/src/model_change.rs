//! Whether a session may go on with another model, as one answer for everybody who asks.

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_providers::catalog;

use crate::error::SETTING_INVALID;
use crate::settings::{Settings, priced};

/// Returns the model's id and the bound of its replies, or why it cannot be used. `provider:model` is the same as the
/// model where that is the session's provider: what another one's models said cannot be sent to all of them.
pub fn check(settings: &Settings, current: &str, name: &str) -> Result<(String, Option<u32>), Failure> {
    let own = settings.choice.facts.name;
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
    priced(&settings.limits, settings.choice.prices(name), name)?;
    if settings.tool_style(name) != settings.tool_style(current) {
        let message = format!("`{name}` is offered tools in another way than `{current}`");
        return Err(Failure::new(&VALIDATION_ERROR, message)
            .hint(format!("start another session with `--model {own}:{name}`")));
    }
    Ok((name.to_owned(), settings.choice.reply_limit(name, settings.max_tokens)))
}
