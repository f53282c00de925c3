//! `models list --refresh`: asks providers for their lists of models and keeps them for later runs.

use std::time::Duration;

use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_contract::warning::Warning;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::time::Clock as _;
use zori_core::transport::Timeouts;
use zori_host::SystemClock;
use zori_providers::catalog::ProviderFacts;
use zori_providers::models;
use zori_providers::quirks::KeyNeed;

use crate::commands::Context;
use zori_setup::config::Config;
use zori_setup::error::SETTING_INVALID;
use zori_setup::model_choice::{self, KeyFound};
use zori_setup::{credentials, outcome, wire_up};

/// How long one provider is waited for.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Asks one provider. That it does not answer is an error.
pub fn one(cx: &Context<'_>, config: &Config, facts: &'static ProviderFacts) -> Result<(), Failure> {
    let base_url = model_choice::usual_address(facts, config, &cx.app.env)?;
    let key = model_choice::find_key(facts, &base_url, config, &cx.app.env);
    let failed = |failure: &ProviderFailure| {
        let message = format!("{} does not list its models: {}", facts.display, failure.message);
        let error = Failure::new(outcome::provider_error(failure), message);
        match failure.is_key_refused() {
            true => error
                .field("auth_methods", model_choice::auth_methods(facts, cx.program.name))
                .field("reauth_env_var", facts.key_var)
                .hint(model_choice::key_hint(facts, &key, cx.program.name)),
            false => error.hint("what was known before is unchanged"),
        }
    };
    let listed = ask(cx, facts, &base_url, &key)?.map_err(|failure| failed(&failure))?;
    keep(config, facts, &base_url, &listed)
}

/// Asks every provider that there is a key for, and that the user has named. Who does not answer is warned of.
pub fn all(cx: &Context<'_>, config: &Config) -> Result<(), Failure> {
    let mut asked: Vec<(String, &str, Vec<models::ListedModel>)> = Vec::new();
    let mut none = true;
    for facts in config.catalog.providers() {
        let Some(key) = known_key(cx, config, facts) else { continue };
        let Ok(base_url) = model_choice::usual_address(facts, config, &cx.app.env) else { continue };
        none = false;
        // Some have more than one name.
        let same = asked.iter().find(|(url, var, _)| *url == base_url && *var == facts.key_var);
        if let Some((_, _, listed)) = same {
            keep(config, facts, &base_url, listed)?;
            continue;
        }
        match ask(cx, facts, &base_url, &key)? {
            Ok(listed) => {
                keep(config, facts, &base_url, &listed)?;
                asked.push((base_url, facts.key_var, listed));
            }
            Err(failure) => cx.warn(Warning::new(
                "MODELS_NOT_LISTED",
                format!("{} does not list its models: {}", facts.display, failure.message),
            )),
        }
    }
    match none {
        true => Err(Failure::new(&SETTING_INVALID, "no provider has a key, so that none can be asked")
            .hint("name one: `--provider`")),
        false => Ok(()),
    }
}

/// Returns a provider's key where it is known without asking a vendor's program; that of one that the user has named may be none.
fn known_key(cx: &Context<'_>, config: &Config, facts: &ProviderFacts) -> Option<KeyFound> {
    if let Some((_, key)) = model_choice::key_of_env(facts, &cx.app.env) {
        return Some(Ok(Some(key)));
    }
    if facts.api.key_need() == KeyNeed::Optional {
        return facts.custom.map(|_| Ok(None));
    }
    if let Some(found) = model_choice::referenced_key(facts, config, &cx.app.env) {
        return Some(found.map(Some).map_err(|error| error.to_string()));
    }
    let stored = credentials::find(facts, config, &cx.app.env).ok().flatten()?;
    Some(Ok(Some(model_choice::Key::Stored(Box::new(stored)))))
}

fn ask(
    cx: &Context<'_>,
    facts: &'static ProviderFacts,
    base_url: &str,
    key: &KeyFound,
) -> Result<Result<Vec<models::ListedModel>, ProviderFailure>, Failure> {
    let auth = |why: &str| ProviderFailure::new(FailureKind::Auth, why);
    let credential = match key {
        Err(why) => return Ok(Err(auth(why))),
        Ok(None) => None,
        Ok(Some(key)) => match key.credential() {
            Some(credential) => Some(credential),
            None => return Ok(Err(auth("the login has expired, and is renewed when a model is asked"))),
        },
    };
    let transport = wire_up::customised(facts, cx.app.network.http_to(base_url)?);
    let runtime = wire_up::runtime()?;
    let now = SystemClock::new().now();
    let asking = models::ask(&*transport, facts, base_url, credential.as_ref(), Timeouts::DEFAULT, now);
    let asked = runtime.block_on(async { tokio::time::timeout(TIMEOUT, asking).await });
    // A name that is still being looked up must not keep the program from ending.
    runtime.shutdown_background();
    let late = || ProviderFailure::new(FailureKind::Timeout, format!("no answer within {TIMEOUT:?}"));
    Ok(asked.unwrap_or_else(|_| Err(late())))
}

fn keep(
    config: &Config,
    facts: &ProviderFacts,
    base_url: &str,
    listed: &[models::ListedModel],
) -> Result<(), Failure> {
    config.model_lists.keep(facts, base_url, SystemClock::new().now(), listed).map_err(|error| {
        Failure::new(&IO_ERROR, format!("the models of {} cannot be kept: {error}", facts.display))
    })
}
