//! The arguments of a call, checked: commands read them by their entries in the tables.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::flag::{Flag, Positional};
use crate::time;

/// What an argument is read by: its entry in the tables, so that a name is spelled once.
pub trait Key {
    /// Returns the name in the tables.
    fn name(&self) -> &'static str;
}

impl Key for Flag {
    fn name(&self) -> &'static str {
        self.long
    }
}

impl Key for Positional {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// What was typed, by the names in the tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args {
    values: BTreeMap<String, Vec<String>>,
    defaults: BTreeMap<&'static str, &'static str>,
}

impl Args {
    /// Adds a value.
    pub fn push(&mut self, key: &impl Key, value: impl Into<String>) {
        self.push_named(key.name(), value);
    }

    pub(crate) fn push_named(&mut self, name: &str, value: impl Into<String>) {
        self.values.entry(name.to_owned()).or_default().push(value.into());
    }

    /// Says what holds where nothing is typed.
    pub(crate) fn set_default(&mut self, name: &'static str, value: &'static str) {
        self.defaults.insert(name, value);
    }

    /// Replaces the values of an argument.
    pub(crate) fn replace(&mut self, key: &impl Key, values: Vec<String>) {
        self.values.insert(key.name().to_owned(), values);
    }

    /// Returns whether a switch is on, or a flag was typed.
    pub fn has(&self, key: &impl Key) -> bool {
        self.values.contains_key(key.name())
    }

    /// Returns a value, or the default.
    pub fn text(&self, key: &impl Key) -> Option<&str> {
        let typed = self.values.get(key.name()).and_then(|values| values.last()).map(String::as_str);
        typed.or_else(|| self.defaults.get(key.name()).copied())
    }

    /// Returns all values of an argument.
    pub fn all(&self, key: &impl Key) -> &[String] {
        self.values.get(key.name()).map_or(&[], Vec::as_slice)
    }

    /// Returns a whole number; `None` where nothing was typed and there is no default. The kind has been checked.
    pub fn int(&self, key: &impl Key) -> Option<i64> {
        self.text(key).and_then(|text| text.parse().ok())
    }

    /// Returns a duration. The kind has been checked.
    pub fn duration(&self, key: &impl Key) -> Option<Duration> {
        self.text(key).and_then(time::parse_duration)
    }

    /// Returns the parts of a list.
    pub fn list(&self, key: &impl Key) -> Vec<String> {
        self.text(key).map_or_else(Vec::new, |text| text.split(',').map(str::to_owned).collect())
    }

    /// Returns everything that was typed, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.values.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }
}
