//! The key for a provider: where it is found, and what to do about one that is missing or refused.

use zori_auth::grant::Kind;
use zori_auth::{Stored, browser};
use zori_contract::failure::{AuthMethod, Failure};
use zori_core::secret::{Secret, Secrets};
use zori_core::time::Clock;
use zori_host::{SystemClock, is_loopback};
use zori_providers::catalog::{KeyForm, KeyVar, PROVIDERS, ProviderFacts};
use zori_providers::key::Credential;
use zori_providers::quirks::KeyNeed;
use zori_vault::reference;
use zori_vault::resolver::ResolveError;

use crate::config::Config;
use crate::credentials;
use crate::environment::Environment;
use crate::outcome::AuthAdvice;
use crate::profile::Profile;
use crate::vault;

/// The key for a provider, or why there is none.
pub type KeyFound = Result<Option<Key>, String>;

/// A credential, by where it comes from.
pub enum Key {
    /// A key of the API, from the environment.
    Variable(Secret),
    /// An access token, from the environment.
    Token(Secret),
    /// An access token that a program of the vendor printed.
    Program(Secret),
    /// A key or a login from the credential store.
    Stored(Box<Stored>),
    /// A key that the config file refers to.
    Vault {
        /// The entry.
        name: String,
        /// The key.
        secret: Secret,
    },
}

impl Key {
    /// Returns it as it is sent; `None` for a login that has ended, which is renewed where models are asked.
    pub fn credential(&self) -> Option<Credential> {
        Some(match self {
            Self::Variable(key) | Self::Vault { secret: key, .. } => Credential::Key(key.clone()),
            Self::Program(token) | Self::Token(token) => Credential::Token(token.clone()),
            Self::Stored(stored) => match stored.grant.kind {
                Kind::ApiKey => Credential::Key(stored.grant.access.clone()),
                Kind::OAuth if stored.grant.is_expired(SystemClock::new().now()) => return None,
                Kind::OAuth => Credential::Token(stored.grant.access.clone()),
            },
        })
    }
}

/// Returns a hint for a key that the provider refuses (DECISIONS 24). `name` is the program's.
pub fn key_hint(facts: &ProviderFacts, key: &KeyFound, name: &str) -> String {
    let ProviderFacts { name: provider, display, key_var, .. } = facts;
    match key {
        Ok(Some(Key::Variable(_) | Key::Token(_))) => {
            format!("set {key_var} to a key of {display} that is valid")
        }
        Ok(Some(Key::Program(_))) => match *provider {
            "copilot" => "log in again with `gh auth login`".to_owned(),
            _ => format!("log in again with `gcloud auth login`, or set {key_var}"),
        },
        Ok(Some(Key::Vault { name: entry, .. })) => {
            format!("put another key into the vault: `{name} vault set {entry} --force`")
        }
        Ok(Some(Key::Stored(stored))) if stored.grant.kind == Kind::ApiKey => {
            format!("store another key with `{name} auth login --provider {provider} --with-token`")
        }
        Ok(Some(Key::Stored(_))) => format!("log in again with `{name} auth login --provider {provider}`"),
        Ok(None) | Err(_) => format!("set {key_var} to your {display} key"),
    }
}

/// Returns the command that stores another key, or logs in again. It works wherever a key can be given to it, or a person sits.
pub fn reauth_command(facts: &ProviderFacts, program: &str) -> String {
    match browser::open_to_all(facts) {
        true => format!("{program} auth login --provider {}", facts.name),
        false => format!("{program} auth login --provider {} --with-token", facts.name),
    }
}

/// Returns the ways to a key, for programs. `program` is our own name.
pub fn auth_methods(facts: &ProviderFacts, program: &str) -> Vec<AuthMethod> {
    let command = reauth_command(facts, program);
    let how = match browser::open_to_all(facts) {
        true => format!("log in, in a browser: `{command}`"),
        false => format!("store it: `{command}`"),
    };
    vec![
        AuthMethod {
            r#type: "env",
            name: facts.key_var.to_owned(),
            hint: format!("set {}", facts.key_var),
            description: format!("the key of {}", facts.display),
        },
        AuthMethod {
            r#type: "command",
            name: command,
            hint: how,
            description: "a key or a login in the credential store".to_owned(),
        },
    ]
}

/// Returns what to do about a key that was refused, for programs.
pub fn auth_advice(facts: &ProviderFacts, key: &KeyFound, program: &str) -> AuthAdvice {
    let stored = match key {
        Ok(Some(Key::Stored(stored))) => Some(&stored.grant),
        _ => None,
    };
    let ended = stored.and_then(|grant| grant.expires_at);
    let expired = stored.is_some_and(|grant| grant.is_expired(SystemClock::new().now()));
    AuthAdvice {
        methods: auth_methods(facts, program),
        command: reauth_command(facts, program),
        variable: facts.key_var,
        expired,
        expired_at: ended.filter(|_| expired).map(|end| end.to_string()),
    }
}

/// Returns where the key comes from, in the words of the Claude protocol: the name of a variable, or `none`.
pub fn api_key_source(facts: &ProviderFacts, key: &KeyFound) -> String {
    match key {
        Ok(Some(Key::Variable(_))) => facts.key_var.to_owned(),
        Ok(Some(Key::Token(_) | Key::Program(_) | Key::Stored(_) | Key::Vault { .. }) | None) | Err(_) => {
            "none".to_owned()
        }
    }
}

/// Returns the provider's key from its environment variable.
pub fn key_from_env(facts: &ProviderFacts, env: &Environment) -> Option<Secret> {
    env.text(facts.key_var).filter(|key| !key.trim().is_empty()).map(Secret::from)
}

/// Returns the provider's key from one of the variables it may be in, with the variable's name.
pub fn key_of_env(facts: &ProviderFacts, env: &Environment) -> Option<(&'static str, Key)> {
    facts.key_variables().find_map(|KeyVar { name, form }| {
        let secret = env.text(name).filter(|key| !key.trim().is_empty()).map(Secret::from)?;
        Some((
            name,
            match form {
                KeyForm::Key => Key::Variable(secret),
                KeyForm::Token => Key::Token(secret),
            },
        ))
    })
}

/// Finds the key, and fails where a reference to it cannot be understood or the vault cannot be used (VLT-6).
pub(super) fn key_of(
    facts: &ProviderFacts,
    base_url: &str,
    config: &Config,
    env: &Environment,
    profile: &Profile,
) -> Result<KeyFound, Failure> {
    if key_of_env(facts, env).is_none()
        && let Some(found) = referenced_key(facts, config, env)
    {
        return match found {
            Ok(key) => Ok(Ok(Some(key))),
            Err(error) => match vault::reference_failure(&error, profile.name) {
                Some(failure) => Err(failure),
                None => Ok(Err(error.to_string())),
            },
        };
    }
    Ok(find_key(facts, base_url, config, env))
}

/// Returns the key that the config file refers to; `None` if it refers to none.
pub fn referenced_key(
    facts: &ProviderFacts,
    config: &Config,
    env: &Environment,
) -> Option<Result<Key, ResolveError>> {
    let name = key_entry(facts, config)?.to_owned();
    // Whoever uses the key adds it to the secrets of the run.
    let found = vault::resolver(config, env, Secrets::default()).get(&name);
    Some(found.map(|secret| Key::Vault { name, secret }).map_err(ResolveError::from))
}

/// Returns the entry of the vault that the config file names for a provider's key.
pub fn key_entry<'a>(facts: &ProviderFacts, config: &'a Config) -> Option<&'a str> {
    config.key_reference(facts.name, PROVIDERS[0].name).and_then(reference::whole)
}

/// Finds the key: environment, the vault where the config file refers to it, store (AUTH-4), the vendor's program. Each is asked only where those before have none,
/// and only for the provider in use.
pub fn find_key(facts: &ProviderFacts, base_url: &str, config: &Config, env: &Environment) -> KeyFound {
    if let Some((_, key)) = key_of_env(facts, env) {
        return Ok(Some(key));
    }
    match referenced_key(facts, config, env) {
        Some(Ok(key)) => return Ok(Some(key)),
        Some(Err(error)) => return Err(error.to_string()),
        None => {}
    }
    let mut why = format!("{} is not set", facts.key_var);
    // A server on this machine wants none, and a locked store would ask the user for nothing.
    if facts.api.key_need() == KeyNeed::Required || !is_loopback(base_url) {
        match credentials::find(facts, config, env) {
            Ok(Some(stored)) => return Ok(Some(Key::Stored(Box::new(stored)))),
            Ok(None) => {}
            Err(failure) => why = format!("{why}, and {failure}"),
        }
    }
    let programs: &[&[&str]] = match facts.name {
        "gemini" | "vertex" | "vertex-claude" => &[
            &["gcloud", "auth", "print-access-token"],
            &["gcloud", "auth", "application-default", "print-access-token"],
        ],
        "copilot" => &[&["gh", "auth", "token"]],
        _ => &[],
    };
    let helpers = credentials::helper_programs(env);
    for program in programs {
        match helpers.token(program) {
            Ok(token) => return Ok(Some(Key::Program(token))),
            Err(error) => why = format!("{} is not set, and {error}", facts.key_var),
        }
    }
    match facts.api.key_need() {
        KeyNeed::Optional => Ok(None),
        KeyNeed::Required => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Claude protocol knows the name of a variable, or `none`: a login is no variable.
    #[test]
    fn where_the_key_comes_from() {
        let facts = &PROVIDERS[0];
        for (key, source) in [
            (Ok(Some(Key::Variable("k".into()))), facts.key_var),
            (Ok(Some(Key::Program("t".into()))), "none"),
            (Ok(None), "none"),
            (Err("it is not set".to_owned()), "none"),
        ] {
            assert_eq!(api_key_source(facts, &key), source);
        }
    }
}
