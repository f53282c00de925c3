//! What a shell remembers from one command to the next, as far as the text tells.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use crate::arg::{Arg, Rest};
use crate::context::ShellContext;

/// The most directories the shell may be in before they count as unknown.
const MAX_CWDS: usize = 8;

/// The most variables that are remembered.
const MAX_VARS: usize = 256;

/// The most texts, and the longest, that are remembered of a variable whose value is not known.
const MAX_MAYBE: usize = 8;
const MAX_MAYBE_BYTES: usize = 256;

/// What the shell knows at one point of the text. A clone costs little: it is what a text makes most of.
#[derive(Clone, Debug)]
pub struct State {
    /// Variables; `None` where the value is not known.
    vars: Rc<HashMap<String, Option<String>>>,
    /// Names of files that a variable holds, one at a time.
    names: Rc<HashMap<String, Arg>>,
    /// What a variable may hold whose value is not known.
    maybe: Rc<HashMap<String, Vec<String>>>,
    /// The directories the shell may be in; empty when it may be anywhere.
    pub cwds: Vec<PathBuf>,
    pub changed_dir: bool,
    /// Why commands from here on are not what their names say (SH-5).
    pub redefined: Option<&'static str>,
    /// Why commands from here on are not approved without a question (SH-9).
    pub no_auto_approval: Option<&'static str>,
}

impl State {
    /// The state a text starts in.
    pub fn new(context: &ShellContext) -> Self {
        let home = context.home.to_string_lossy().into_owned();
        Self {
            vars: Rc::new(HashMap::from([("HOME".to_owned(), Some(home))])),
            names: Rc::default(),
            maybe: Rc::default(),
            cwds: vec![context.cwd.clone()],
            changed_dir: false,
            redefined: None,
            no_auto_approval: None,
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

    /// Returns whether words are split at blanks, as usual.
    pub fn splits_at_blanks(&self) -> bool {
        !self.vars.contains_key("IFS")
    }

    /// Remembers a variable's value, or that it is not known.
    pub fn set(&mut self, name: &str, value: Option<String>) {
        if self.names.contains_key(name) {
            Rc::make_mut(&mut self.names).remove(name);
        }
        if self.maybe.contains_key(name) {
            Rc::make_mut(&mut self.maybe).remove(name);
        }
        self.insert(name, value);
    }

    /// One that is not remembered is not known.
    fn insert(&mut self, name: &str, value: Option<String>) -> Option<String> {
        let room =
            self.vars.len() < MAX_VARS || self.vars.contains_key(name) || matches!(name, "IFS" | "PWD");
        if !room || self.vars.get(name) == Some(&value) {
            return None;
        }
        Rc::make_mut(&mut self.vars).insert(name.to_owned(), value).flatten()
    }

    /// Remembers a word as a variable's value: its text, or which files it is the name of.
    pub fn set_word(&mut self, name: &str, word: &Arg) {
        self.set(name, word.literal().map(str::to_owned));
        if matches!(word.rest, Rest::Glob | Rest::Found { .. }) {
            Rc::make_mut(&mut self.names).insert(name.to_owned(), word.clone());
        }
    }

    /// Returns the files whose names a variable holds, one at a time.
    pub fn names(&self, name: &str) -> Option<&Arg> {
        self.names.get(name)
    }

    /// Remembers what a variable may hold, beside what is not known.
    pub fn set_maybe(&mut self, name: &str, values: impl IntoIterator<Item = String>) {
        for value in values.into_iter().filter(|value| value.len() <= MAX_MAYBE_BYTES) {
            let known = self.maybe(name);
            let room = known.len() < MAX_MAYBE && (!known.is_empty() || self.maybe.len() < MAX_VARS);
            if room && !known.contains(&value) {
                Rc::make_mut(&mut self.maybe).entry(name.to_owned()).or_default().push(value);
            }
        }
    }

    /// Returns what a variable may hold whose value is not known.
    pub fn maybe(&self, name: &str) -> &[String] {
        self.maybe.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns `$1` and all that follow, if every one is known.
    pub fn parameters(&self) -> Option<Vec<String>> {
        let count: usize = self.get("#")?.parse().ok()?;
        (1..=count).map(|number| self.get(&number.to_string()).map(str::to_owned)).collect()
    }

    /// Takes the first parameters away, as `shift` does.
    pub fn shift(&mut self, by: Option<usize>) {
        let values = self.parameters().zip(by);
        let zero = self.get("0").map_or_else(|| Arg::unknown("$0"), Arg::known);
        match values {
            Some((values, by)) if by <= values.len() => {
                let rest = values[by..].iter().map(Arg::known);
                let parameters: Vec<Arg> = std::iter::once(zero).chain(rest).collect();
                self.set_parameters(&parameters);
            }
            _ => self.set_parameters(&[zero]),
        }
        if by.is_none() {
            self.set("#", None);
        }
    }

    /// Sets `$0`, `$1` and so on, from the first.
    pub fn set_parameters(&mut self, parameters: &[Arg]) {
        Rc::make_mut(&mut self.vars).retain(|name, _| {
            !name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*' | '#'))
        });
        let count = parameters.len().saturating_sub(1);
        let whole = parameters.iter().skip(1).all(|parameter| parameter.literal().is_some());
        self.set("#", whole.then(|| count.to_string()));
        for (number, parameter) in parameters.iter().enumerate() {
            self.set(&number.to_string(), parameter.literal().map(str::to_owned));
        }
        if let [_, only] = parameters
            && let Some(only) = only.literal()
        {
            self.set("@", Some(only.to_owned()));
            self.set("*", Some(only.to_owned()));
        }
    }

    /// Forgets every variable, as before a loop or a function, which may run after later parts of the text. The home
    /// stays: it is what `~` means.
    pub fn forget_vars(&mut self) {
        self.names = Rc::default();
        let forgotten: Vec<(String, String)> = self
            .vars
            .iter()
            .filter(|(name, _)| name.as_str() != "HOME")
            .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
            .collect();
        for (name, value) in forgotten {
            self.insert(&name, None);
            self.set_maybe(&name, [value]);
        }
    }

    /// Merges the changes of `other`, a part of the text that may or may not run in this shell.
    pub fn merge(&mut self, other: &Self) {
        if !Rc::ptr_eq(&self.vars, &other.vars) {
            for (name, value) in &*other.vars {
                if self.vars.get(name) != Some(value) {
                    let before = self.insert(name, None);
                    self.set_maybe(name, before.into_iter().chain(value.clone()));
                }
            }
        }
        if !Rc::ptr_eq(&self.maybe, &other.maybe) {
            for (name, values) in &*other.maybe {
                self.set_maybe(name, values.iter().cloned());
            }
        }
        if !Rc::ptr_eq(&self.names, &other.names) {
            Rc::make_mut(&mut self.names).retain(|name, names| other.names.get(name) == Some(names));
        }
        self.changed_dir |= other.changed_dir;
        self.redefined = self.redefined.or(other.redefined);
        self.no_auto_approval = self.no_auto_approval.or(other.no_auto_approval);
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
