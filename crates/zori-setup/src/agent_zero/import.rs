//! An existing YAML file of settings, as lines of our own (`config import`). Secrets are left out, and so is what has no
//! counterpart; both are said.

use toml::{Table, Value};
use zori_policy::ModeChoice;
use zori_policy::mode::Protocol;
use zori_policy::policy::{ShellPolicy, ShellSettings};
use zori_providers::agent_zero::NAME;
use zori_providers::catalog;

use super::project;
use crate::config::keys::{self, KEYS, Kind};

/// What became of a file.
#[derive(Default)]
pub struct Imported {
    /// The config file's text.
    pub toml: String,
    /// Keys that hold secrets.
    pub secrets: Vec<String>,
    /// Keys that mean nothing here.
    pub unknown: Vec<String>,
    /// Keys whose values no run could be begun with, or the entries of a list that are so.
    pub unusable: Vec<String>,
}

/// Names of settings that hold secrets.
const SECRETS: &[&str] = &["api_key", "apikey", "token", "secret", "password"];

/// Converts a file.
pub fn convert(file: &Table) -> Imported {
    let mut imported = Imported::default();
    let mut lines = vec![format!("provider = \"{NAME}\"")];
    for (name, value) in file {
        match (name.as_str(), value) {
            ("projects" | "agent_profiles", Value::Table(all)) => {
                let mut kept = Table::new();
                for (inner, value) in all {
                    let place = format!("{name}.{inner}");
                    let value = match (name.as_str(), value) {
                        ("projects", Value::Table(settings)) => {
                            imported.project(&place, "", settings, &[file, settings])
                        }
                        ("agent_profiles", Value::String(_) | Value::Table(_)) => {
                            without_secrets(&place, value, &mut imported.secrets)
                        }
                        _ => {
                            imported.unknown.push(place);
                            continue;
                        }
                    };
                    kept.insert(inner.clone(), value);
                }
                lines.push(format!("{name} = {}", shown(&Value::Table(kept))));
            }
            (_, Value::Table(inner)) => {
                for (field, value) in inner {
                    imported.take(format!("{name}.{field}"), value, file, &mut lines);
                }
            }
            (_, value) => imported.take(name.clone(), value, file, &mut lines),
        }
    }
    imported.toml = lines.join("\n") + "\n";
    imported
}

impl Imported {
    fn take(&mut self, name: String, value: &Value, file: &Table, lines: &mut Vec<String>) {
        if is_secret(&name) {
            return self.secrets.push(name);
        }
        // The first line of the file says it.
        if name == "provider" {
            return self.unknown.push(name);
        }
        if let Some(value) = self.accepted(&name, &name, value, &[file]) {
            lines.push(format!("{name} = {}", shown(&value)));
        }
    }

    /// Returns what a project may say, of what it says: what is no setting would keep all of the file from being read. `prefix`: the keys
    /// above, with a dot behind them; `around`: where what it names may be written down.
    fn project(&mut self, place: &str, prefix: &str, settings: &Table, around: &[&Table]) -> Value {
        let mut kept = Table::new();
        for (field, value) in settings {
            let (inner, key) = (format!("{place}.{field}"), format!("{prefix}{field}"));
            let key = project::long_key(&key);
            match value {
                _ if is_secret(&inner) => self.secrets.push(inner),
                Value::Table(deeper) if !KEYS.iter().any(|known| known.name == key) => {
                    kept.insert(field.clone(), self.project(&inner, &format!("{key}."), deeper, around));
                }
                value => {
                    if let Some(value) = self.accepted(&inner, key, value, around) {
                        kept.insert(field.clone(), value);
                    }
                }
            }
        }
        Value::Table(kept)
    }

    /// Returns the value of a setting as it is written here, without the entries of a list that cannot be used; `None` where there is no such
    /// setting, or it cannot be this.
    fn accepted(&mut self, place: &str, name: &str, value: &Value, around: &[&Table]) -> Option<Value> {
        let Some(value) = of_this_kind(name, value) else {
            self.unknown.push(place.to_owned());
            return None;
        };
        let refused = |what: &str| format!("{place} ({what})");
        match &value {
            Value::Array(entries) if LISTS_OF_COMMANDS.contains(&name) => {
                let is_usable = |entry: &&Value| entry.as_str().is_some_and(|entry| is_usable(name, entry));
                let (usable, not): (Vec<&Value>, Vec<&Value>) = entries.iter().partition(is_usable);
                self.unusable.extend(not.iter().filter_map(|entry| entry.as_str()).map(refused));
                // An empty list would take the place of the usual one.
                let is_left = !usable.is_empty() || entries.is_empty();
                is_left.then(|| Value::Array(usable.into_iter().cloned().collect()))
            }
            Value::String(text) if !can_be_begun_with(name, text, around) => {
                self.unusable.push(refused(text));
                None
            }
            _ => Some(value),
        }
    }
}

/// Returns a value in the form that a setting has; `None` where there is no such setting, or it cannot be this.
fn of_this_kind(name: &str, value: &Value) -> Option<Value> {
    let key = KEYS.iter().find(|key| key.name == name)?;
    // One text stands for a list of one; the other client has several words for "off".
    let value = match (key.kind, value) {
        _ if SWITCHES.contains(&name) && is_off(value) => Value::String("off".to_owned()),
        (Kind::List, Value::String(one)) => Value::Array(vec![Value::String(one.clone())]),
        _ => value.clone(),
    };
    keys::check(key, &value).is_ok().then_some(value)
}

/// Lists of commands, each entry of which has to be understood.
const LISTS_OF_COMMANDS: [&str; 2] = ["security.whitelist", "security.blacklist_patterns"];

/// Returns whether an entry of such a list is understood here.
fn is_usable(name: &str, entry: &str) -> bool {
    let one = Some(vec![entry.to_owned()]);
    let settings = match name {
        "security.whitelist" => ShellSettings { whitelist: one, ..ShellSettings::default() },
        _ => ShellSettings { blacklist_patterns: one, ..ShellSettings::default() },
    };
    let mode = ModeChoice::named("balanced", Protocol::Own).expect("a mode of this provider");
    ShellPolicy::new(&settings, mode).is_ok()
}

/// Returns whether a run begins with this value: a mode that is one, an address that is one, a name that is written down.
fn can_be_begun_with(name: &str, text: &str, around: &[&Table]) -> bool {
    let is_written = |kind: &str| {
        let one = around.iter().find_map(|table| table.get(kind)?.as_table()?.get(text.trim()));
        one.is_some_and(|one| one.is_table() || (kind == "agent_profiles" && one.is_str()))
    };
    match name {
        _ if text.trim().is_empty() => true,
        "security.mode" => ModeChoice::named(text, Protocol::Own).is_some(),
        "connection.api_url" => {
            catalog::provider(NAME).is_some_and(|facts| facts.parse_base_url(text).is_ok())
        }
        "active_project" => text.trim() == project::DEFAULT || is_written("projects"),
        "agent_profile" => text.trim() == project::DEFAULT || is_written("agent_profiles"),
        _ => true,
    }
}

/// Settings that are a choice of words here, and there a switch, too.
const SWITCHES: [&str; 2] = ["ui.waiting_game", "observer.mode"];

fn is_off(value: &Value) -> bool {
    match value {
        Value::Boolean(flag) => !flag,
        Value::String(word) => matches!(word.as_str(), "none" | "disabled" | "false"),
        _ => false,
    }
}

fn is_secret(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    SECRETS.iter().any(|secret| last.ends_with(secret))
}

fn without_secrets(place: &str, value: &Value, secrets: &mut Vec<String>) -> Value {
    let Value::Table(table) = value else { return value.clone() };
    let mut kept = Table::new();
    for (name, value) in table {
        let inner = format!("{place}.{name}");
        if is_secret(&inner) {
            secrets.push(inner);
            continue;
        }
        kept.insert(name.clone(), without_secrets(&inner, value, secrets));
    }
    Value::Table(kept)
}

/// Returns a value as the file has it, on one line.
fn shown(value: &Value) -> String {
    match value {
        // A string of JSON is one of TOML.
        Value::String(text) => {
            serde_json::to_string(text).expect("a string is JSON").replace('\u{7f}', "\\u007f")
        }
        Value::Integer(number) => number.to_string(),
        Value::Float(number) if number.fract() == 0.0 => format!("{number:.1}"),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Datetime(time) => time.to_string(),
        Value::Array(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Table(table) => {
            let pair = |(name, value): (&String, &Value)| {
                format!("{} = {}", shown(&Value::String(name.clone())), shown(value))
            };
            format!("{{ {} }}", table.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}
