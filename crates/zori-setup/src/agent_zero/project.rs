//! Named projects and agent profiles: values of the user's own that are laid over the config (AZ-5, AZ-6).

use toml::{Table, Value};
use zori_contract::failure::Failure;

use crate::args::OverlayArgs;
use crate::config::Config;
use crate::config::keys::KEYS;
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

/// The project and the agent profile that are in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveNames {
    pub project: String,
    pub agent: String,
}

/// The name of what holds where nothing is named; it need not be written down.
pub const DEFAULT: &str = "default";

impl ActiveNames {
    /// Reads them from a config that went through [`overlaid`].
    pub fn of(config: &Config) -> Self {
        let name = |key| named(config.text(key)).unwrap_or(DEFAULT).to_owned();
        Self { project: name("active_project"), agent: name("agent_profile") }
    }
}

/// Returns the names that a table of the config has (`projects`, `agent_profiles`); `default` is always among them.
pub fn names(config: &Config, table: &str) -> Vec<String> {
    let mut names: Vec<String> =
        config.table(table).into_iter().flatten().map(|(name, _)| name.clone()).collect();
    if !names.iter().any(|name| name == DEFAULT) {
        names.insert(0, DEFAULT.to_owned());
    }
    names
}

fn named(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|name| !name.is_empty())
}

/// Returns the words of a profile for the agent.
pub fn profile_prompt(config: &Config, name: &str) -> Result<String, Failure> {
    let profiles = config.table("agent_profiles");
    let Some(profile) = profiles.and_then(|profiles| profiles.get(name)) else {
        // The default profile need not be written down.
        if name == "default" {
            return Ok(String::new());
        }
        let message = format!("there is no agent profile `{name}`");
        let hint = match profiles {
            None => format!("add `[agent_profiles.{}]` with `prompt` to the config file", key(name)),
            Some(_) => format!("there are {}", names(config, "agent_profiles").join(", ")),
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

/// Lays a project over a config, and notes in it which project and agent profile are in force: what was chosen while the program runs, else
/// what a variable names, else what the file names.
pub fn overlaid(config: Config, env: &Environment, chosen: &OverlayArgs) -> Result<Config, Failure> {
    let project = named(chosen.project.as_deref()).or_else(|| named(env.text("AGENTZERO_PROJECT")));
    let agent = named(chosen.agent.as_deref()).or_else(|| named(env.text("AGENTZERO_AGENT_PROFILE")));
    let noted = |key: &str, name: Option<&str>| Some((key.to_owned(), Value::String(name?.to_owned())));
    let notes = [noted("active_project", project), noted("agent_profile", agent)];
    let name = project.or_else(|| named(config.text("active_project"))).unwrap_or(DEFAULT);
    let Some(settings) = config.table("projects").and_then(|projects| projects.get(name)) else {
        if name != DEFAULT {
            return Err(unknown(name, &names(&config, "projects")));
        }
        return Ok(config.with(notes.into_iter().flatten().collect()).expect("names are texts"));
    };
    let mut values = Vec::new();
    for (key, value) in settings.as_table().into_iter().flatten() {
        lay(long_key(key), value, &config, &mut values);
    }
    let place = format!("projects.{name}");
    values.extend(notes.into_iter().flatten());
    config.with(values).map_err(|wrong| Failure::new(&SETTING_INVALID, format!("{place}: {wrong}")))
}

/// Returns the key that a key of a project stands for.
pub fn long_key(key: &str) -> &str {
    SHORT.iter().find(|(short, _)| *short == key).map_or(key, |(_, long)| long)
}

/// Adds what a key of a project means: tables deep, everything else as it is (UI-13).
fn lay(key: &str, value: &Value, config: &Config, values: &mut Vec<(String, Value)>) {
    match (value, KEYS.iter().any(|known| known.name == key), config.table(key)) {
        (Value::Table(inner), false, _) => {
            inner.iter().for_each(|(name, value)| lay(&format!("{key}.{name}"), value, config, values));
        }
        (Value::Table(inner), true, Some(under)) => {
            values.push((key.to_owned(), Value::Table(merged(under, inner))));
        }
        _ => values.push((key.to_owned(), value.clone())),
    }
}

/// Returns a table with another over it.
fn merged(under: &Table, over: &Table) -> Table {
    let mut all = under.clone();
    for (name, value) in over {
        let value = match (all.get(name), value) {
            (Some(Value::Table(under)), Value::Table(over)) => Value::Table(merged(under, over)),
            _ => value.clone(),
        };
        all.insert(name.clone(), value);
    }
    all
}

/// Returns the error for a project nobody wrote down.
pub fn unknown(name: &str, known: &[String]) -> Failure {
    let failure = Failure::new(&SETTING_INVALID, format!("there is no project `{name}` in the config file"));
    match known {
        [only] if only == DEFAULT => failure.hint(format!("add `[projects.{}]` to it", key(name))),
        known => failure.hint(format!("there are {}", known.join(", "))),
    }
}

/// Returns a name as TOML has it in the head of a table.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.chars().all(bare) { name.to_owned() } else { serde_json::Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_head_of_a_table() {
        assert_eq!([key("loud"), key("my agent"), key("a\"b")], ["loud", "\"my agent\"", "\"a\\\"b\""]);
        let none = profile_prompt(&Config::default(), "my agent").unwrap_err();
        assert_eq!(
            none.facts.hints,
            ["add `[agent_profiles.\"my agent\"]` with `prompt` to the config file"]
        );
    }

    /// UI-13: tables deep, other values replaced, and short keys where they belong; what is no setting is an error with its place.
    #[test]
    fn a_project_over_a_config() {
        let laid = |own: &str| {
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join("config.toml");
            let below = "active_project = \"p\"\n[memory.dream]\nmin_hours = 1\nmin_sessions = 2\n[agent_profiles]\na = \"A\"\n";
            std::fs::write(&file, format!("{below}{own}")).unwrap();
            let config = Config::load(&file, "").unwrap();
            overlaid(config, &Environment::default(), &OverlayArgs::default())
                .map_err(|failure| failure.message)
        };
        let own = "[projects.p]\nsecurity_mode = \"paranoid\"\n[projects.p.memory.dream]\nmin_hours = 9\n[projects.p.agent_profiles]\nb = \"B\"\n";
        let config = laid(own).unwrap();
        assert_eq!(config.text("security.mode"), Some("paranoid"));
        let hours = ["memory.dream.min_hours", "memory.dream.min_sessions"].map(|key| config.number(key));
        assert_eq!(hours, [Some(9.0), Some(2.0)]);
        assert_eq!(names(&config, "agent_profiles"), ["default", "a", "b"]);
        let wrong = laid("[projects.p.memory.dream]\nhours = 9\n").unwrap_err();
        assert_eq!(wrong, "projects.p: unknown key `memory.dream.hours`");
    }
}
