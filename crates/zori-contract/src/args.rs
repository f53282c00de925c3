//! The arguments of a call, checked: commands read them by name.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::time;

/// What was typed, by the names in the tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args {
    values: BTreeMap<String, Vec<String>>,
    defaults: BTreeMap<&'static str, &'static str>,
}

impl Args {
    /// Takes a value down.
    pub fn push(&mut self, name: &str, value: impl Into<String>) {
        self.values.entry(name.to_owned()).or_default().push(value.into());
    }

    /// Says what holds where nothing is typed.
    pub(crate) fn set_default(&mut self, name: &'static str, value: &'static str) {
        self.defaults.insert(name, value);
    }

    /// Replaces the values of an argument.
    pub(crate) fn replace(&mut self, name: &str, values: Vec<String>) {
        self.values.insert(name.to_owned(), values);
    }

    /// Returns whether a switch is on, or a flag was typed.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Returns a value, or the default.
    pub fn text(&self, name: &str) -> Option<&str> {
        let typed = self.values.get(name).and_then(|values| values.last()).map(String::as_str);
        typed.or_else(|| self.defaults.get(name).copied())
    }

    /// Returns all values of an argument.
    pub fn all(&self, name: &str) -> &[String] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns a whole number; `None` where nothing was typed and there is no default. The kind has been checked.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.text(name).and_then(|text| text.parse().ok())
    }

    /// Returns a duration. The kind has been checked.
    pub fn duration(&self, name: &str) -> Option<Duration> {
        self.text(name).and_then(time::parse_duration)
    }

    /// Returns the parts of a list.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.text(name).map_or_else(Vec::new, |text| text.split(',').map(str::to_owned).collect())
    }

    /// Returns everything that was typed, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.values.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }
}
