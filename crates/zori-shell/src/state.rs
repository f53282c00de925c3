//! What a shell would remember from one command to the next, as far as the text says.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::scene::Scene;

/// The most directories the shell may be in before they count as unknown.
const MAX_CWDS: usize = 8;

/// What the shell knows at one point of the text.
#[derive(Clone, Debug)]
pub struct State {
    /// Variables; `None` where the value is not known.
    vars: HashMap<String, Option<String>>,
    /// Where the shell may be; empty when it may be anywhere.
    pub cwds: Vec<PathBuf>,
    /// Whether it has changed its directory.
    pub moved: bool,
    /// Why commands from here on are not what their names say (SH-5).
    pub redefined: Option<&'static str>,
    /// Why commands from here on are not approved without a question (SH-9).
    pub no_auto: Option<&'static str>,
}

impl State {
    /// The state a text starts in.
    pub fn new(scene: &Scene) -> Self {
        let home = scene.home.to_string_lossy().into_owned();
        Self {
            vars: HashMap::from([("HOME".to_owned(), Some(home))]),
            cwds: vec![scene.cwd.clone()],
            moved: false,
            redefined: None,
            no_auto: None,
        }
    }

    /// Returns a variable's value, if it is known.
    pub fn get(&self, name: &str) -> Option<&str> {
        if name == "PWD" && !self.vars.contains_key(name) {
            return match self.cwds.as_slice() {
                [cwd] => cwd.to_str(),
                _ => None,
            };
        }
        self.vars.get(name)?.as_deref()
    }

    /// Whether words are split where everybody thinks they are.
    pub fn splits_at_blanks(&self) -> bool {
        !self.vars.contains_key("IFS")
    }

    /// Remembers a variable's value, or that it is not known.
    pub fn set(&mut self, name: &str, value: Option<String>) {
        self.vars.insert(name.to_owned(), value);
    }

    /// Forgets every variable, as before a loop or a function, which may run after later parts of the text. The home
    /// stays: it is what `~` means.
    pub fn forget_vars(&mut self) {
        for (name, value) in &mut self.vars {
            if name != "HOME" {
                *value = None;
            }
        }
    }

    /// Takes over what `other`, a part of the text that may or may not run in this shell, has changed.
    pub fn merge(&mut self, other: &Self) {
        for (name, value) in &other.vars {
            if self.vars.get(name) != Some(value) {
                self.vars.insert(name.clone(), None);
            }
        }
        self.moved |= other.moved;
        self.redefined = self.redefined.or(other.redefined);
        self.no_auto = self.no_auto.or(other.no_auto);
        self.may_be_in(&other.cwds);
    }

    /// Adds directories the shell may be in as well.
    pub fn may_be_in(&mut self, cwds: &[PathBuf]) {
        if self.cwds.is_empty() || cwds.is_empty() {
            self.cwds.clear();
            return;
        }
        for cwd in cwds {
            if !self.cwds.contains(cwd) {
                self.cwds.push(cwd.clone());
            }
        }
        if self.cwds.len() > MAX_CWDS {
            self.cwds.clear();
        }
    }
}
