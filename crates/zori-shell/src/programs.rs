//! What programs do with their arguments: which they run, write, read or take as settings. Each family has a table or a
//! module; [`analyse`] finds the one for a program.

pub mod awk;
pub mod build;
pub mod builtins;
pub mod download;
pub mod files;
pub mod find;
pub mod git;
pub mod global_options;
pub mod irregular;
pub mod jq;
pub mod options;
pub mod readers;
pub mod sed;
pub mod shells;
pub mod table;
pub mod texts;
pub mod wrappers;

use crate::analysis::Via;
use crate::arg::Arg;

/// A command as a program sees it.
pub struct Call<'a> {
    /// The program's name, without its directory.
    pub name: &'a str,
    pub args: &'a [Arg],
    /// What is known of its standard input.
    pub stdin: &'a Stdin,
}

/// A command's standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// The input of the text itself.
    Inherited,
    /// A known text; not `exact` if parts of it stand as they were written.
    Text {
        text: String,
        /// Whether it is known to the letter.
        exact: bool,
    },
    /// Names of files, one per line or ended by NUL, that a search prints.
    Names(Vec<Arg>),
    /// What another command prints.
    Piped,
    File,
}

/// What a command does, as far as its words tell.
#[derive(Clone, Debug, Default)]
pub struct ProgramEffects {
    /// What kind of thing it does.
    pub kind: EffectKind,
    /// Files it reads.
    pub reads: Vec<Arg>,
    /// Files it writes.
    pub writes: Vec<Arg>,
    /// Hosts it talks to.
    pub net: Vec<String>,
    /// Why it is not approved without a question.
    pub no_auto_approval: Vec<&'static str>,
    /// What it starts.
    pub spawns: Vec<Spawn>,
    /// Why what it does cannot be known.
    pub unknown: Option<&'static str>,
    /// How many words in front of its command are the program's own options, beside its name.
    pub global_options: usize,
}

/// What kind of thing a command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EffectKind {
    ReadOnly,
    /// A plain operation on files.
    FileOperation,
    /// Anything else.
    #[default]
    Other,
}

/// Something a command starts.
#[derive(Clone, Debug)]
pub enum Spawn {
    /// A command, word by word.
    Argv {
        words: Vec<Arg>,
        /// How it is started.
        via: Via,
        /// Assignments it gets in its environment.
        environment: Vec<Arg>,
    },
    /// A text for a shell.
    Script {
        text: String,
        /// Whether it is known to the letter.
        exact: bool,
        /// How it is started.
        via: Via,
        /// Whether it runs in the same shell, which then remembers what it did.
        same_shell: bool,
        /// `$0`, `$1` and so on, where they are given.
        parameters: Vec<Arg>,
    },
}

impl ProgramEffects {
    /// A command that only reads.
    pub fn read_only() -> Self {
        Self { kind: EffectKind::ReadOnly, ..Self::default() }
    }

    /// Returns the effects of an unknown command.
    pub fn unknown(why: &'static str) -> Self {
        Self { unknown: Some(why), ..Self::default() }
    }

    /// Returns the effects of a command that only starts another.
    pub fn spawning(start: Spawn) -> Self {
        Self { kind: EffectKind::ReadOnly, spawns: vec![start], ..Self::default() }
    }
}

/// Returns what a command does.
pub fn analyse(call: &Call<'_>) -> ProgramEffects {
    let mut effects =
        find(call).unwrap_or_else(|| ProgramEffects { reads: operands(call), ..ProgramEffects::default() });
    if !matches!(call.name, "ssh" | "mosh") {
        effects.spawns.extend(texts::of(call));
    }
    if effects.global_options == 0 && call.name != "git" {
        effects.global_options = global_options::count(call);
    }
    effects
}

fn find(call: &Call<'_>) -> Option<ProgramEffects> {
    if irregular::is_version_question(call) {
        return Some(ProgramEffects::read_only());
    }
    wrappers::analyse(call)
        .or_else(|| shells::analyse(call))
        .or_else(|| builtins::analyse(call))
        .or_else(|| match call.name {
            "git" => Some(git::analyse(call)),
            "find" => Some(find::analyse(call)),
            "sed" | "gsed" => Some(sed::analyse(call)),
            "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => Some(awk::analyse(call)),
            "jq" => Some(jq::analyse(call)),
            "curl" | "wget" => Some(download::analyse(call)),
            _ => None,
        })
        .or_else(|| irregular::analyse(call))
        .or_else(|| table::analyse(call))
}

/// Returns whether a program is in any of the tables, so that it is known what it starts.
pub fn is_known_program(name: &str) -> bool {
    let nothing = Call { name, args: &[], stdin: &Stdin::Inherited };
    find(&nothing).is_some()
}

/// Returns the operands of an unknown program: what does not look like an option may be a file (RULE-6).
pub(crate) fn operands(call: &Call<'_>) -> Vec<Arg> {
    let file = |arg: &Arg| match arg.literal()? {
        "" => None,
        // The value of `--option=value`.
        text if text.starts_with("--") => text.find('=').map(|at| arg.tail(at + 1)),
        text if text.starts_with('-') => None,
        _ => Some(arg.clone()),
    };
    call.args.iter().filter_map(file).filter(|arg| arg.text.contains(['/', '.'])).collect()
}
