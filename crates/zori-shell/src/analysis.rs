//! The answer: commands, targets and what is not known. Values only.

use std::path::PathBuf;

use crate::danger::Danger;

/// What a text would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Every simple command at any depth and under any reading; wrappers are kept and looked through.
    pub commands: Vec<Command>,
    /// What is unknown about the text as a whole: a syntax error, a limit.
    pub unresolved: Vec<Unresolved>,
    /// Hits of the built-in blacklist.
    pub dangers: Vec<Danger>,
    /// Characters that look like others, or like nothing (SH-2).
    pub deceptive_characters: Vec<char>,
    /// Whether it is exactly one simple command without separator, redirect, substitution, assignment or wrapper.
    pub single: bool,
    /// When the text could not be read (a limit or a syntax error): its words, in order. A denied command may stand
    /// anywhere among them.
    pub raw_words: Option<RawWords>,
}

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The words after normalisation. The first is the program by SH-1: a system directory is left out, any other path
    /// is as written. Empty for a redirect or an assignment without a command.
    pub argv: Vec<Word>,
    /// The words without the program's own options in front of its command (`git -C . push` is `git push`), where there
    /// are such. Rules that deny or ask see them too; rules that allow do not.
    pub bare_argv: Option<Vec<Word>>,
    /// The last component of the program's name, for deny rules (SH-1).
    pub base_name: String,
    /// Its own text as written.
    pub source: String,
    /// What kind of thing it does.
    pub effect: CommandEffect,
    /// What it reads: operands and redirects.
    pub reads: Vec<Target>,
    /// What it writes: operands and redirects.
    pub writes: Vec<Target>,
    /// The hosts it contacts, as far as its words name them.
    pub net: Vec<String>,
    /// The command that starts this one, as an index into [`Analysis::commands`].
    pub parent: Option<usize>,
    /// How that command starts it.
    pub via: Option<Via>,
    /// Why neither a rule with a wildcard nor its read-only class may approve it without a question.
    pub no_auto_approval: Vec<&'static str>,
}

/// What kind of thing a command does; from weak to strict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEffect {
    /// Provably only reads (class `XR`).
    ReadOnly,
    /// A plain file operation (class `XF` when its targets are inside the workspace).
    FileOperation,
    /// Anything else that is known (class `X`).
    Other,
    /// Not known before it runs (class `XU`).
    Unresolved(Unresolved),
}

/// Something that is not known before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// Why, for people; a fragment.
    pub why: &'static str,
    /// The text it is about.
    pub shown: String,
}

/// How one command starts another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// A program that runs its arguments.
    Wrapper {
        /// Whether it changes who or where the command runs (SH-6).
        privileged: bool,
    },
    /// `$( )`, backticks or `<( )` in its words.
    Substitution,
    /// An option or operand that names a command.
    ExecOption,
    /// A text given to a shell as argument, here-document or trap.
    ShellText,
    /// A literal text piped into a shell.
    PipeIntoShell,
}

/// A word after normalisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Known to the letter.
    Literal(String),
    /// Not known before it runs.
    Opaque {
        /// How it was written.
        shown: String,
    },
}

impl Word {
    /// Returns the text if it is known.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Opaque { .. } => None,
        }
    }

    /// Returns the text if it is known, else how it was written.
    pub fn shown(&self) -> &str {
        match self {
            Self::Literal(text) => text,
            Self::Opaque { shown } => shown,
        }
    }
}

/// A file that is read or written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub path: TargetPath,
    /// How it was written.
    pub shown: String,
}

/// Which file, as far as the text says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetPath {
    /// This one: absolute, normalised by its text.
    Known(PathBuf),
    /// Those that a pattern names (`src/*.rs`). In the pattern a backslash takes a sign's meaning away.
    Glob {
        /// The folder that is known to the letter.
        folder: PathBuf,
        /// What follows it.
        pattern: String,
    },
    /// All below a folder, and itself: a program walks it, or names that a search found.
    Tree(Tree),
    /// Any.
    Unknown,
}

/// What a walk through a folder reaches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    pub folder: PathBuf,
    /// Whether names that begin with a dot are walked too.
    pub hidden: bool,
    /// A pattern that the last name of each file fits, if there is one.
    pub name: Option<String>,
    /// Whether links on the way are followed.
    pub follows: bool,
    /// Whether it goes into folders.
    pub deep: bool,
}

/// The words of a text that could not be read as a program, quotes removed, in order. One string however many there
/// are, so that a hostile text costs no more than its length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawWords(pub(crate) String);

impl RawWords {
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.split('\0').filter(|word| !word.is_empty())
    }
}
