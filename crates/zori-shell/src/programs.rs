//! What programs do with their arguments: which they run, write, read or take as settings. One table or reader per
//! family; [`read`] finds the one for a program.

pub mod awk;
pub mod build;
pub mod builtins;
pub mod files;
pub mod find;
pub mod git;
pub mod options;
pub mod others;
pub mod readers;
pub mod sed;
pub mod shells;
pub mod table;
pub mod wrappers;

use crate::analysis::Via;
use crate::arg::Arg;

/// A command as a program sees it.
pub struct Call<'a> {
    /// The program's name, without its directory.
    pub name: &'a str,
    /// Its arguments.
    pub args: &'a [Arg],
    /// What is known of its standard input.
    pub stdin: &'a Stdin,
}

/// What a command reads from its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// Whatever the text's own input is.
    Inherited,
    /// A text that is known; `exact` unless parts of it were replaced by how they are written.
    Text {
        /// The text.
        text: String,
        /// Whether it is known to the letter.
        exact: bool,
    },
    /// What another command prints.
    Piped,
    /// A file.
    File,
}

/// What a command does, as far as its words say.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What kind of thing it does.
    pub kind: Kind,
    /// Files it reads.
    pub reads: Vec<Arg>,
    /// Files it writes.
    pub writes: Vec<Arg>,
    /// Hosts it talks to.
    pub net: Vec<String>,
    /// Why it is not approved without a question.
    pub no_auto: Vec<&'static str>,
    /// What it starts.
    pub starts: Vec<Start>,
    /// Why what it does cannot be known.
    pub unknown: Option<&'static str>,
}

/// What kind of thing a command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Only reads.
    ReadOnly,
    /// A plain operation on files.
    FileOperation,
    /// Anything else.
    #[default]
    Other,
}

/// Something a command starts.
#[derive(Clone, Debug)]
pub enum Start {
    /// A command, word by word.
    Words {
        /// Its words.
        words: Vec<Arg>,
        /// How it is started.
        via: Via,
        /// Assignments it gets in its environment.
        environment: Vec<Arg>,
    },
    /// A text for a shell.
    Text {
        /// The text.
        text: String,
        /// Whether it is known to the letter.
        exact: bool,
        /// How it is started.
        via: Via,
        /// Whether it runs in the same shell, which then remembers what it did.
        here: bool,
    },
}

impl Reading {
    /// A command that only reads.
    pub fn read_only() -> Self {
        Self { kind: Kind::ReadOnly, ..Self::default() }
    }

    /// A command of which nothing is known.
    pub fn unknown(why: &'static str) -> Self {
        Self { unknown: Some(why), ..Self::default() }
    }

    /// A command that has no effect but what it starts.
    pub fn starting(start: Start) -> Self {
        Self { kind: Kind::ReadOnly, starts: vec![start], ..Self::default() }
    }
}

/// Returns what a command does.
pub fn read(call: &Call<'_>) -> Reading {
    find(call).unwrap_or_else(|| Reading { reads: operands(call), ..Reading::default() })
}

fn find(call: &Call<'_>) -> Option<Reading> {
    wrappers::read(call)
        .or_else(|| shells::read(call))
        .or_else(|| builtins::read(call))
        .or_else(|| match call.name {
            "git" => Some(git::read(call)),
            "find" => Some(find::read(call)),
            "sed" | "gsed" => Some(sed::read(call)),
            "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => Some(awk::read(call)),
            _ => None,
        })
        .or_else(|| others::read(call))
        .or_else(|| table::read(call))
}

/// Whether a program is in any of the tables, so that what its arguments start is known.
pub fn knows(name: &str) -> bool {
    let nothing = Call { name, args: &[], stdin: &Stdin::Inherited };
    find(&nothing).is_some()
}

/// The operands of a program nobody knows: what does not look like an option may be a file (RULE-6).
fn operands(call: &Call<'_>) -> Vec<Arg> {
    let file = |arg: &&Arg| arg.literal().is_some_and(|text| !text.starts_with('-') && !text.is_empty());
    call.args.iter().filter(file).filter(|arg| arg.text.contains(['/', '.'])).cloned().collect()
}
