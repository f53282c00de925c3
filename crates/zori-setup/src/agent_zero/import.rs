//! An existing YAML file of settings, as lines of our own (`config import`). Secrets are left out, and so is what has no
//! counterpart; both are said.

use toml::{Table, Value};

use super::project;
use crate::config::keys::{self, KEYS, Kind};

/// What became of a file.
pub struct Imported {
    /// The config file's text.
    pub toml: String,
    /// Keys that hold secrets.
    pub secrets: Vec<String>,
    /// Keys that mean nothing here.
    pub unknown: Vec<String>,
}

/// Names of settings that hold secrets.
const SECRETS: &[&str] = &["api_key", "apikey", "token", "secret", "password"];

/// Converts a file.
pub fn convert(file: &Table) -> Imported {
    let mut imported = Imported { toml: String::new(), secrets: Vec::new(), unknown: Vec::new() };
    let mut lines = vec!["provider = \"agent-zero\"".to_owned()];
    for (name, value) in file {
        match (name.as_str(), value) {
            ("projects" | "agent_profiles", Value::Table(all)) => {
                let mut kept = Table::new();
                for (inner, value) in all {
                    let place = format!("{name}.{inner}");
                    let value = match (name.as_str(), value) {
                        ("projects", Value::Table(settings)) => imported.project(&place, "", settings),
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
                    imported.take(format!("{name}.{field}"), value, &mut lines);
                }
            }
            (_, value) => imported.take(name.clone(), value, &mut lines),
        }
    }
    imported.toml = lines.join("\n") + "\n";
    imported
}

impl Imported {
    fn take(&mut self, name: String, value: &Value, lines: &mut Vec<String>) {
        if is_secret(&name) {
            return self.secrets.push(name);
        }
        let name = if name == "connection.dashboard_url" { "connection.ui_url".to_owned() } else { name };
        match accepted(&name, value) {
            Some(value) => lines.push(format!("{name} = {}", shown(&value))),
            None => self.unknown.push(name),
        }
    }

    /// Returns what a project may say, of what it says: what is no setting would keep all of the file from being read. `prefix`: the keys
    /// above, with a dot behind them.
    fn project(&mut self, place: &str, prefix: &str, settings: &Table) -> Value {
        let mut kept = Table::new();
        for (field, value) in settings {
            let (inner, key) = (format!("{place}.{field}"), format!("{prefix}{field}"));
            let key = project::long_key(&key);
            match value {
                _ if is_secret(&inner) => self.secrets.push(inner),
                Value::Table(deeper) if !KEYS.iter().any(|known| known.name == key) => {
                    kept.insert(field.clone(), self.project(&inner, &format!("{key}."), deeper));
                }
                value => match accepted(key, value) {
                    Some(value) => drop(kept.insert(field.clone(), value)),
                    None => self.unknown.push(inner),
                },
            }
        }
        Value::Table(kept)
    }
}

/// Returns the value of a setting as it is written here; `None` where there is no such setting, or it cannot be this.
fn accepted(name: &str, value: &Value) -> Option<Value> {
    let key = KEYS.iter().find(|key| key.name == name)?;
    // One text stands for a list of one; the other client has several words for "off".
    let value = match (key.kind, value) {
        _ if SWITCHES.contains(&name) && is_off(value) => Value::String("off".to_owned()),
        (Kind::List, Value::String(one)) => Value::Array(vec![Value::String(one.clone())]),
        _ => value.clone(),
    };
    keys::check(key, &value).is_ok().then_some(value)
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
