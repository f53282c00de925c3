//! A command as a value: all that can be said about it before it runs. Help, manifest, checks and gates follow from it.

use serde_json::Value;

use crate::args::Args;
use crate::error::ErrorKind;
use crate::exit::{Danger, Exit};
use crate::failure::{Failure, Issue};
use crate::flag::{Flag, Positional};
use crate::gate::Preview;
use crate::mode::{Class, Format};
use crate::path::AbsPath;
use crate::reply::Reply;
use crate::run::CommandCx;

/// A command of a program whose state is `A`.
///
/// Make one with [`Command::new`] and `..`, so that a table entry says only what is special.
pub struct Command<A: 'static> {
    /// Its name: one word or two.
    pub path: &'static [&'static str],
    /// Other names of its last word.
    pub aliases: &'static [&'static str],
    /// What it does, in one line without full stop.
    pub about: &'static str,
    /// What it is used for: description and full call.
    pub examples: &'static [Example],
    /// Its own flags.
    pub flags: &'static [Flag],
    /// Flags of all commands that its short help shows, although the program's does not.
    pub shows: &'static [Flag],
    /// Its arguments.
    pub args: &'static [Positional],
    /// Rules between flags.
    pub rules: &'static [Rule],
    /// What it does to the world.
    pub danger: Danger,
    /// Somebody has to agree before it is done, although it destroys nothing. What destroys asks anyhow.
    pub asks: bool,
    /// It asks for agreement itself, in words of its own ([`CommandCx::answer`]); `--confirm-destructive` is none of them.
    pub asks_itself: bool,
    /// The flag with which a command that changes nothing otherwise changes something: a file it writes.
    pub changes_with: Option<&'static Flag>,
    /// What its output is.
    pub class: Class,
    /// Whether a conversation can do without a terminal, by its arguments.
    pub without_terminal: fn(&Args) -> bool,
    /// What it can print, if that is less than its class can.
    pub formats: &'static [(&'static str, Format)],
    /// How it may end, beyond what every command may ([`Command::exit_map`]).
    pub exits: &'static [Exit],
    /// It has all that it needs in itself: nothing has to be there first, so that it never ends with [`Exit::Precondition`].
    pub standalone: bool,
    /// It is a list: `--limit`, `--cursor`, `meta.pagination`.
    pub list: bool,
    /// Says what would be done, for `--dry-run` and for the question before something is destroyed. It gets the state
    /// to look at, and not to change.
    pub preview: Option<PreviewFn<A>>,
    /// Answers a `--dry-run` with more than the preview does. The preview's fields are part of its `data`.
    pub dry_run: Option<DryRunFn<A>>,
    /// It takes `--idempotency-key`, although it changes something only with a flag. Whatever changes something by itself takes it
    /// anyhow ([`Command::takes_key`]).
    pub idempotent: bool,
    /// Without `--live` it only shows what it would do.
    pub safe_default: bool,
    /// It reads standard input or `--input-file`.
    pub stdin: Option<StdinInput>,
    /// The columns of its rows.
    pub columns: &'static [&'static str],
    /// How a row reads as a line of text, for a command whose whole list is such lines: a page of it is, too. Without it a page shows its columns.
    pub line: Option<fn(&Value) -> String>,
    /// The field with the id of a row, for `--output id` and cursors.
    pub id_field: Option<&'static str>,
    /// It walks over folders: `--no-follow-symlinks`, `--max-depth`; [`crate::walk::Walk`] does it.
    pub walks: bool,
    /// Its steps, if it has a fixed row of them: [`crate::steps::Steps`] says how far it got.
    pub steps: &'static [&'static str],
    /// How long it may take when nobody says otherwise; `None` is for ever.
    pub timeout_ms: Option<u64>,
    /// How many bytes its answer may have when nobody says otherwise.
    pub max_output_bytes: Option<usize>,
    /// The version of its `data`.
    pub schema_version: &'static str,
    /// The JSON Schema of its `data`, as JSON text.
    pub output_schema: &'static str,
    /// Further declarations for the extended schema, as JSON text of an object: `required_scopes`, `subprocess`,
    /// `filesystem_side_effects` and so on.
    pub declares: &'static str,
    /// The version that has it first.
    pub introduced_in: &'static str,
    /// How a failure looks in its stream of lines, where that is no envelope: the kind, and the message without secrets.
    pub failure_line: Option<fn(&'static ErrorKind, &str) -> String>,
    /// Looks at the arguments beyond what their kinds say. It must not touch anything, and has nothing to do so with.
    pub validate: fn(&Args, &AbsPath) -> Vec<Issue>,
    /// Does it.
    pub run: fn(&mut CommandCx<'_, A>, &Args) -> Result<Reply, Failure>,
}

/// Says what a command would do.
pub type PreviewFn<A> = fn(&CommandCx<'_, A>, &Args) -> Result<Preview, Failure>;

/// Answers a `--dry-run`.
pub type DryRunFn<A> = fn(&CommandCx<'_, A>, &Args) -> Result<Reply, Failure>;

/// One use of a command.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What it shows.
    pub about: &'static str,
    /// The call, to be used as it is.
    pub command: &'static str,
}

/// A rule between flags, held before anything happens.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// With this flag (and this value, if one is named) the other one must be there.
    Needs {
        /// The flag that has a condition.
        flag: &'static Flag,
        /// The value with which it holds; any, where none is named.
        value: Option<&'static str>,
        /// What must be there.
        other: &'static Flag,
    },
    /// These two do not go together.
    Excludes {
        /// One of them.
        flag: &'static Flag,
        /// The one it may not stand beside.
        other: &'static Flag,
    },
}

/// What a command reads from standard input.
#[derive(Clone, Copy, Debug)]
pub struct StdinInput {
    /// How many bytes it takes from there; a file may have more.
    pub max_bytes: usize,
    /// What they are: `text`, `json`, `jsonl`.
    pub format: &'static str,
    /// It cannot do without.
    pub required: bool,
}

impl<A> Command<A> {
    /// A command that reads, takes nothing and returns one object.
    pub const fn new(
        path: &'static [&'static str],
        about: &'static str,
        run: fn(&mut CommandCx<'_, A>, &Args) -> Result<Reply, Failure>,
    ) -> Self {
        Self {
            path,
            aliases: &[],
            about,
            examples: &[],
            flags: &[],
            shows: &[],
            args: &[],
            rules: &[],
            danger: Danger::Safe,
            asks: false,
            asks_itself: false,
            changes_with: None,
            class: Class::Utility,
            without_terminal: |_| false,
            formats: &[],
            exits: &[],
            standalone: false,
            list: false,
            preview: None,
            dry_run: None,
            walks: false,
            steps: &[],
            idempotent: false,
            safe_default: false,
            stdin: None,
            columns: &[],
            line: None,
            id_field: None,
            timeout_ms: Some(30_000),
            max_output_bytes: None,
            schema_version: "1.0.0",
            output_schema: r#"{"type":"object"}"#,
            declares: "{}",
            introduced_in: "0.1.0",
            failure_line: None,
            validate: |_, _| Vec::new(),
            run,
        }
    }

    /// Returns its name as it is typed.
    pub fn name(&self) -> String {
        self.path.join(" ")
    }

    /// Returns what this call of it does to the world.
    pub fn danger_of(&self, args: &Args) -> Danger {
        match self.changes_with {
            Some(flag) if self.danger == Danger::Safe && args.has(flag) => Danger::Mutating,
            _ => self.danger,
        }
    }

    /// Returns whether the framework has somebody agree before it is done.
    pub fn needs_agreement(&self) -> bool {
        !self.asks_itself && (self.asks || self.danger == Danger::Destructive)
    }

    /// Returns whether it takes `--idempotency-key`: all that change something do, but for conversations, which are not done once.
    pub fn takes_key(&self) -> bool {
        let conversation = matches!(self.class, Class::Interactive | Class::Protocol);
        self.idempotent || (self.danger != Danger::Safe && !conversation)
    }

    /// Returns whether it prints by itself: what a model says, a conversation, a protocol.
    pub fn owns_streams(&self) -> bool {
        matches!(self.class, Class::Agent | Class::Interactive | Class::Protocol)
    }

    /// Returns what it can print.
    pub fn formats(&self) -> &'static [(&'static str, Format)] {
        if self.formats.is_empty() { Format::of(self.class) } else { self.formats }
    }

    /// Returns how it may end, in order: what it declares, and what every command may come to.
    pub fn exit_map(&self) -> Vec<Exit> {
        let mut exits = vec![
            Exit::Success,
            Exit::General,
            Exit::Usage,
            Exit::Timeout,
            Exit::Interrupted,
            Exit::Terminated,
        ];
        exits.extend((!self.standalone).then_some(Exit::Precondition));
        exits.extend(self.exits);
        exits.sort();
        exits.dedup();
        exits
    }
}
