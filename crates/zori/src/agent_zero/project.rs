//! Named projects and agent profiles: values of the user's own that are laid over the config (AZ-5, AZ-6).

use toml::Value;
use zori_contract::failure::Failure;

use crate::config::Config;
use crate::environment::Environment;
use crate::error::SETTING_INVALID;

/// Short keys of a project, and the keys they stand for.
const SHORT: &[(&str, &str)] = &[
    ("workspace_root", "connection.workspace_root"),
    ("api_url", "connection.api_url"),
    ("timeout_seconds", "connection.timeout_seconds"),
    ("lifetime_hours", "connection.lifetime_hours"),
    ("stream", "connection.stream"),
    ("stream_mode", "connection.stream_mode"),
    ("keepalive_seconds", "connection.keepalive_seconds"),
    ("max_wait_seconds", "connection.max_wait_seconds"),
    ("security_mode", "security.mode"),
];

/// Returns the project that is in force: the one that is named, else `default` where there is one.
pub fn active<'a>(config: &'a Config, env: &'a Environment) -> Option<&'a str> {
    let named = env.text("AGENTZERO_PROJECT").or_else(|| config.text("active_project"));
    named.map(str::trim).filter(|name| !name.is_empty())
}

/// Returns the agent profile that is in force.
pub fn profile(config: &Config, env: &Environment) -> String {
    let named = env.text("AGENTZERO_AGENT_PROFILE").or_else(|| config.text("agent_profile"));
    named.map(str::trim).filter(|name| !name.is_empty()).unwrap_or("default").to_owned()
}

/// Returns the words of a profile for the agent.
pub fn profile_prompt(config: &Config, name: &str) -> Result<String, Failure> {
    let profiles = config.table("agent_profiles");
    let Some(profile) = profiles.and_then(|profiles| profiles.get(name)) else {
        // The default profile need not be written down.
        if name == "default" {
            return Ok(String::new());
        }
        let known: Vec<&str> = profiles.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let message = format!("there is no agent profile `{name}`");
        let hint = match known.is_empty() {
            true => format!("add `[agent_profiles.{name}]` with `prompt` to the config file"),
            false => format!("there are {}", known.join(", ")),
        };
        return Err(Failure::new(&SETTING_INVALID, message).hint(hint));
    };
    let words = match profile {
        Value::String(words) => Some(words.as_str()),
        Value::Table(table) => ["prompt", "instructions"].iter().find_map(|key| table.get(*key)?.as_str()),
        _ => None,
    };
    Ok(words.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Lays the active project over a config.
pub fn overlaid(config: Config, env: &Environment) -> Result<Config, Failure> {
    let Some(projects) = config.table("projects") else {
        return match active(&config, env) {
            None | Some("default") => Ok(config),
            Some(name) => Err(unknown(name, &[])),
        };
    };
    let name = active(&config, env).unwrap_or("default");
    let Some(project) = projects.get(name) else {
        let known: Vec<&str> = projects.keys().map(String::as_str).collect();
        return if name == "default" { Ok(config) } else { Err(unknown(name, &known)) };
    };
    let mut values = Vec::new();
    for (key, value) in project.as_table().into_iter().flatten() {
        let long = SHORT.iter().find(|(short, _)| short == key).map(|(_, long)| *long);
        match (long, value) {
            (Some(long), value) => values.push((long.to_owned(), value.clone())),
            (None, Value::Table(inner)) => {
                values.extend(inner.iter().map(|(field, value)| (format!("{key}.{field}"), value.clone())));
            }
            (None, value) => values.push((key.clone(), value.clone())),
        }
    }
    let place = format!("projects.{name}");
    config.with(values).map_err(|wrong| Failure::new(&SETTING_INVALID, format!("{place}: {wrong}")))
}

fn unknown(name: &str, known: &[&str]) -> Failure {
    let failure = Failure::new(&SETTING_INVALID, format!("there is no project `{name}` in the config file"));
    match known {
        [] => failure.hint(format!("add `[projects.{name}]`, or leave `active_project` out")),
        known => failure.hint(format!("there are {}", known.join(", "))),
    }
}
