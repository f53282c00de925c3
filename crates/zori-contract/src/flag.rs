//! Flags and arguments as values. Parsing, help, manifest, completions and checks walk these tables.
//!
//! The framework's own flags are in `flag/framework.rs`.

pub mod framework;

use crate::kind::Kind;

/// A flag of a command line: its names, what it takes, and what help says about it.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The long name, without dashes.
    pub long: &'static str,
    /// The short name.
    pub short: Option<char>,
    /// Other long names; not shown.
    pub aliases: &'static [&'static str],
    /// What its value must look like.
    pub kind: Kind,
    /// What its value is called in help; empty for a switch.
    pub value: &'static str,
    /// What it does: a short line without full stop.
    pub about: &'static str,
    /// What holds when it is left out, as it would be typed.
    pub default: Option<&'static str>,
    /// Whether it must be there.
    pub required: bool,
    /// Whether it may be there more than once.
    pub many: bool,
    /// Where help shows it.
    pub shown: Shown,
    /// How many bytes a value may have.
    pub max_length: Option<usize>,
    /// A check beyond the kind; an error says what is wrong.
    pub check: Option<Check>,
    /// A flag that says the opposite.
    pub excludes: Option<&'static Flag>,
    /// The heading of the help below which it stands; empty: among the others.
    pub group: &'static str,
}

/// A check beyond the kind; an error says what is wrong.
pub type Check = fn(&str) -> Result<(), String>;

/// Where help shows a flag, and what help shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In the short help.
    Common,
    /// Only with `--all`.
    All,
}

impl Flag {
    /// A flag without a value.
    pub const fn switch(long: &'static str, about: &'static str) -> Self {
        Self::valued(long, "", Kind::Switch, about)
    }

    /// A flag with a value.
    pub const fn valued(long: &'static str, value: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            long,
            short: None,
            aliases: &[],
            kind,
            value,
            about,
            default: None,
            required: false,
            many: false,
            shown: Shown::Common,
            max_length: None,
            check: None,
            excludes: None,
            group: "",
        }
    }

    /// Adds a short name.
    pub const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    /// Adds other names.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Says what holds when it is left out.
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// Makes it necessary.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Shows it only with `--help --all`.
    pub const fn rare(mut self) -> Self {
        self.shown = Shown::All;
        self
    }

    /// Lets it be there more than once.
    pub const fn many(mut self) -> Self {
        self.many = true;
        self
    }

    /// Bounds the length of a value, in bytes.
    pub const fn max_length(mut self, bytes: usize) -> Self {
        self.max_length = Some(bytes);
        self
    }

    /// Adds a check beyond the kind.
    pub const fn check(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// Names a flag that does not go together with it.
    pub const fn excludes(mut self, other: &'static Flag) -> Self {
        self.excludes = Some(other);
        self
    }

    /// Puts it below a heading of its own in the help.
    pub const fn below(mut self, heading: &'static str) -> Self {
        self.group = heading;
        self
    }

    /// Returns how it is typed.
    pub fn param(&self) -> String {
        format!("--{}", self.long)
    }

    /// Returns whether it is called so.
    pub fn is_called(&self, long: &str) -> bool {
        self.long == long || self.aliases.contains(&long)
    }

    /// Returns whether a word names it and leaves its value to the next word.
    pub fn wants_next(&self, word: &str) -> bool {
        let named = match word.strip_prefix("--") {
            Some(long) => self.is_called(long),
            None => {
                self.short.is_some_and(|short| word.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4])))
            }
        };
        named && !matches!(self.kind, Kind::Switch)
    }
}

/// An argument without a flag.
#[derive(Clone, Copy, Debug)]
pub struct Positional {
    /// What it is called, in capitals.
    pub name: &'static str,
    /// What it must look like.
    pub kind: Kind,
    /// What it means.
    pub about: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// Whether it takes all that follows; only the last one may.
    pub many: bool,
}

impl Positional {
    /// An argument that must be there.
    pub const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, about, required: true, many: false }
    }

    /// An argument that may be there.
    pub const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, about, required: false, many: false }
    }

    /// Takes all that follows.
    pub const fn many(mut self) -> Self {
        self.many = true;
        self
    }
}
