//! A program as a value: its commands, flags, errors and variables.

use crate::args::Args;
use crate::command::{Command, Example};
use crate::error::{self, ErrorKind};
use crate::flag::{Flag, framework};

/// A program whose state is `A`. It is a constant.
pub struct Program<A: 'static> {
    /// What it is called.
    pub name: &'static str,
    /// The version that `--version` prints, by semantic versioning.
    pub version: &'static str,
    /// What it is, in one line without full stop.
    pub about: &'static str,
    /// How its own variables begin: `NOTES` for `NOTES_OUTPUT`.
    pub prefix: &'static str,
    /// What can be run, in the order help lists it.
    pub commands: &'static [Command<A>],
    /// The groups of two-word commands: name and what they are about.
    pub groups: &'static [(&'static str, &'static str)],
    /// The flags of all commands, beside the framework's. One of the same name replaces the framework's.
    pub flags: &'static [Flag],
    /// Its own kinds of failures, beside the framework's.
    pub errors: &'static [&'static ErrorKind],
    /// The variables it reads, beside the framework's: name and meaning.
    pub variables: &'static [(&'static str, &'static str)],
    /// Commands that are called otherwise today: old name and new call, without the program's name.
    pub renamed: &'static [(&'static str, &'static str)],
    /// What a call without a command means.
    pub no_command: NoCommand,
    /// It prints text wherever nobody asked for something else.
    pub plain: bool,
    /// What help says below the options of the program, a line or two.
    pub note: &'static str,
    /// What a newcomer tries first; where there is nothing, help shows a command that is safe.
    pub examples: &'static [Example],
    /// What else may be meant by a word that is no command, for the hint.
    pub unknown: Option<&'static str>,
    /// The log in which every call that may change something is written down, as the manifest names it.
    pub audit_log: Option<&'static str>,
    /// Flags of commands that may stand before the command, too.
    pub ahead: &'static [Flag],
    /// Finds the command that a call without one means, by its flags and its words without dashes.
    pub implied: fn(&Args, &[&str]) -> Option<&'static [&'static str]>,
    /// Rewrites the words of another program's command line before they are read.
    pub rewrite: fn(&mut Vec<String>),
}

/// What a call without a command means.
#[derive(Clone, Copy, Debug)]
pub enum NoCommand {
    /// Help.
    Help,
    /// The command of this path, as if it had been typed.
    Command {
        /// Its name.
        path: &'static [&'static str],
        /// Also without a terminal on both sides, where it would be help.
        anywhere: bool,
    },
    /// Nothing: it is refused, and this says what would be a call.
    Refused(&'static str),
}

impl NoCommand {
    /// Returns the command it stands for where nobody may be at the other end.
    pub fn anywhere(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Command { path, anywhere: true } => Some(path),
            _ => None,
        }
    }
}

/// The variables the framework reads: the ending of the program's own, or a full name.
pub const VARIABLES: &[(&str, &str)] = &[
    ("_OUTPUT", "the format when `--output` is not given"),
    ("_AGENT", "1: a program is at the other end, whatever the terminal says"),
    ("_DEBUG", "1: the same as `--debug`"),
    ("_TRACE_ID", "the caller's name for this run; `TOOL_TRACE_ID` is read, too"),
    ("_MAX_OUTPUT_BYTES", "the bound of an answer; `TOOL_MAX_OUTPUT_BYTES` is read, too"),
    ("_MAX_STDIN_BYTES", "the bound of standard input; `TOOL_MAX_STDIN_BYTES` is read, too"),
    ("CI", "not empty: nobody is there"),
    ("NO_COLOR", "present: no colour"),
    ("GITHUB_ACTIONS", "not empty: no colour"),
    ("JENKINS_URL", "not empty: no colour"),
    ("TERM", "`dumb`: no colour"),
    ("DISPLAY", "a screen is there"),
    ("WAYLAND_DISPLAY", "a screen is there"),
    ("SSH_TTY", "the screen is somewhere else"),
];

impl<A> Program<A> {
    /// Returns the flags of all commands: the framework's that were not replaced, then its own.
    pub fn global_flags(&self) -> Vec<Flag> {
        let replaced = |flag: &&Flag| {
            let names = || std::iter::once(&flag.long).chain(flag.aliases);
            !self.flags.iter().any(|own| names().any(|name| own.is_called(name)))
        };
        framework::GLOBAL.iter().filter(replaced).chain(self.flags).copied().collect()
    }

    /// Returns the flags of a command that are not flags of all commands.
    pub fn own_flags(&self, command: &Command<A>) -> Vec<Flag> {
        let mut flags = command.flags.to_vec();
        flags.extend(
            framework::of(command)
                .into_iter()
                .filter(|flag| !command.flags.iter().any(|own| own.is_called(flag.long))),
        );
        flags
    }

    /// Returns every kind of failure.
    pub fn all_errors(&self) -> impl Iterator<Item = &'static ErrorKind> {
        error::FRAMEWORK.iter().chain(self.errors).copied()
    }

    /// Returns every variable it reads, by its full name.
    pub fn all_variables(&self) -> Vec<(String, &'static str)> {
        let full = |name: &str| match name.strip_prefix('_') {
            Some(_) => format!("{}{name}", self.prefix),
            None => name.to_owned(),
        };
        let mut all: Vec<_> =
            VARIABLES.iter().chain(self.variables).map(|(name, about)| (full(name), *about)).collect();
        all.sort();
        all
    }

    /// Finds a command.
    pub fn find(&'static self, path: &[&str]) -> Option<&'static Command<A>> {
        self.commands.iter().find(|command| command.path == path)
    }
}
