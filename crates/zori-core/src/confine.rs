//! Confining commands in a sandbox: one trait, and what it prepares for one command.

use std::any::Any;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// A sandbox for commands.
pub trait Confine: Send + Sync {
    /// Prepares one command, right before it starts. May block for some milliseconds, and longer the first time, when it
    /// finds out what the machine offers.
    fn prepare(&self, start: &CommandStart<'_>) -> Result<Confined, ConfineError>;

    /// Prepares a program that somebody configured and that stays, such as an MCP server: the file rules of commands, and what it was
    /// given beside them (MCP-94).
    fn prepare_service(&self, service: &ServiceAccess<'_>) -> Result<Confined, ConfineError>;

    /// Returns the place that keeps a path out of a service's sight; `None` where it is seen.
    fn hides(&self, service: &ServiceAccess<'_>, path: &Path) -> Option<PathBuf>;

    /// Returns whether it confines a command at all: one that stands by waits for a mode that wants it.
    fn confines(&self, holding: Holding) -> bool {
        let _ = holding;
        true
    }

    /// Describes the confinement of a command in a few words. An approval holds for it (DEC-4). May block as
    /// [`prepare`](Confine::prepare) does.
    fn profile(&self, start: &CommandStart<'_>) -> String;

    /// Returns what was denied, if a command may have failed because it was confined (SB-6).
    fn suspects(&self, start: &CommandStart<'_>, exit_code: i32, stderr: &str) -> Option<Denial>;
}

/// A command that is about to start.
#[derive(Clone, Copy, Debug)]
pub struct CommandStart<'a> {
    /// The text given to the shell.
    pub command: &'a str,
    /// Where it will run.
    pub cwd: &'a Path,
    /// Who approved it.
    pub consent: Consent,
    /// What the permission mode wants of the sandbox.
    pub holding: Holding,
}

/// What a configured program may do beside what every command may.
#[derive(Clone, Copy, Debug)]
pub struct ServiceAccess<'a> {
    /// Where it will run.
    pub cwd: &'a Path,
    /// Further folders that it may write.
    pub writable: &'a [PathBuf],
    /// Whether it has the network.
    pub network: ServiceNetwork,
}

/// Whether a configured program has the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceNetwork {
    /// It has.
    Granted,
    /// As commands that nobody was asked about.
    AsCommands,
    /// It has not.
    Denied,
}

/// What the permission mode in force wants of a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holding {
    /// Nothing: only a sandbox that somebody asked for confines (DECISIONS 12).
    Loose,
    /// The sandbox as it is set up.
    #[default]
    Usual,
    /// One in which nothing can be changed.
    ReadOnly,
}

/// Who approved a command. One that a person approved gets the network (DECISIONS 38).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// A rule, or the mode.
    Rule,
    /// A person or client, asked about this very command.
    Person,
}

/// What a sandbox denied, as far as that can be known from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// What confined the command.
    pub profile: String,
    /// The kind of denial, for records: `files`, `network`, `calls`, `unavailable`.
    pub about: &'static str,
    /// A sentence for the model.
    pub message: String,
}

/// How to start a command so that it is confined.
pub struct Confined {
    /// A program and its arguments to put before the command; empty starts the command itself.
    pub wrapper: Vec<OsString>,
    /// Additional environment variables of the command.
    pub env: Vec<(OsString, OsString)>,
    /// Must be called in the child between fork and exec, after everything else, descriptors included.
    pub in_child: Option<InChild>,
    /// Whether everything the wrapper has started dies with it at once. A request to end must then go to the command and
    /// not to the wrapper, or the command has no time to comply.
    pub wrapper_ends_all: bool,
    /// Must be dropped when the command and its children have ended. Dropping it cleans up, which may block for a moment.
    pub hold: Box<dyn Any + Send>,
}

/// Runs between fork and exec. It may only make async-signal-safe calls, and must not allocate.
pub type InChild = Box<dyn FnMut() -> io::Result<()> + Send + Sync>;

/// Why a command was not started. The message is for people and models, and says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfineError(pub String);
