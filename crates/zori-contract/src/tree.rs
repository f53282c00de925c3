//! The tables as clap's commands: for parsing, and for completions and the manual page.
//!
//! Values are taken as strings and nothing is required: clap stops at the first problem, `parse.rs` finds them all.

use clap::builder::{Arg, ArgAction, Command as Clap, ValueHint};

use crate::command::Command;
use crate::flag::{Flag, Positional, Shown};
use crate::kind::Kind;
use crate::program::Program;

/// What the tree is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Reading argv: nothing is required, so that all problems can be found.
    Parsing,
    /// Help, completions and the manual page: what must be there is shown as such.
    Showing(Shown),
}

/// Builds clap's commands for completions and the manual page.
pub fn showing<A>(program: &Program<A>, shown: Shown) -> Clap {
    build(program, Use::Showing(shown), program.commands.iter())
}

/// Builds what the help of one place shows: the program, a group or a command with its options, and by name what is right
/// below it.
pub fn place<A>(program: &Program<A>, path: &[&str], shown: Shown) -> Clap {
    let shown = Use::Showing(shown);
    let mut root = bare(program.name).version(program.version).about(program.about);
    for command in program.commands.iter().filter(|command| command.path.starts_with(path)) {
        let inner = match command.path == path {
            true => leaf(program, command, shown),
            false => named(command),
        };
        root = attach(program, root, command, inner);
    }
    let mut options = Some(global_args(program, shown));
    let mut add = |place: Clap| place.args(options.take().into_iter().flatten());
    match path {
        [] => add(root),
        [name] => root.mut_subcommand(name, add),
        [group, name, ..] => root.mut_subcommand(group, |group| group.mut_subcommand(name, add)),
    }
}

/// Builds all of clap's commands for reading argv.
pub fn parsing<A>(program: &Program<A>) -> Clap {
    build(program, Use::Parsing, program.commands.iter())
}

/// Builds only the commands that these words can mean, which saves most of the work at every start. What it can read, the
/// whole tree reads alike; what it cannot, only the whole tree can explain.
pub fn meant<A>(program: &Program<A>, words: &[String]) -> Clap {
    let said = |name: &&str| words.iter().any(|word| word == name);
    let wanted = |command: &&Command<A>| command.path.iter().all(said) || command.aliases.iter().any(said);
    build(program, Use::Parsing, program.commands.iter().filter(wanted))
}

fn build<'a, A: 'static>(
    program: &Program<A>,
    shown: Use,
    commands: impl Iterator<Item = &'a Command<A>>,
) -> Clap {
    let mut root = bare(program.name).version(program.version).about(program.about);
    root = root.args(global_args(program, shown).into_iter().map(|arg| arg.global(true)));
    for command in commands {
        root = attach(program, root, command, leaf(program, command, shown));
    }
    root
}

/// Below a command's own flags, in the order of the table.
fn global_args<A>(program: &Program<A>, shown: Use) -> Vec<Arg> {
    let flags = program.global_flags();
    let arg = |(n, flag): (usize, &Flag)| flag_arg(flag, shown).display_order(1_000 + n);
    flags.iter().enumerate().map(arg).collect()
}

fn bare(name: &'static str) -> Clap {
    Clap::new(name).disable_help_flag(true).disable_version_flag(true).disable_help_subcommand(true)
}

fn attach<A>(program: &Program<A>, root: Clap, command: &Command<A>, inner: Clap) -> Clap {
    match command.path {
        [_] => root.subcommand(inner),
        [group, _] => {
            if root.find_subcommand(group).is_some() {
                return root.mut_subcommand(group, |parent| parent.subcommand(inner));
            }
            let about = program.groups.iter().find(|(name, _)| name == group).map_or("", |(_, about)| about);
            root.subcommand(bare(group).about(about).subcommand(inner))
        }
        other => unreachable!("a command has one word or two, not {other:?}: the registry's invariants"),
    }
}

fn named<A>(command: &Command<A>) -> Clap {
    let name = command.path.last().expect("a command has a name: the registry's invariants");
    bare(name).about(command.about).visible_aliases(command.aliases.iter().copied())
}

fn leaf<A>(program: &Program<A>, command: &Command<A>, shown: Use) -> Clap {
    let mut leaf = named(command);
    if shown != Use::Parsing && !command.examples.is_empty() {
        let lines: String = command
            .examples
            .iter()
            .map(|example| format!("\n  {}\n      {}", example.command, example.about))
            .collect();
        leaf = leaf.after_help(format!("Examples:{lines}"));
    }
    for flag in program.own_flags(command) {
        leaf = leaf.arg(flag_arg(&flag, shown));
    }
    for positional in command.args {
        leaf = leaf.arg(positional_arg(positional, shown));
    }
    leaf
}

fn flag_arg(flag: &Flag, shown: Use) -> Arg {
    let mut arg = Arg::new(flag.long).long(flag.long).aliases(flag.aliases.iter().copied());
    if let Some(short) = flag.short {
        arg = arg.short(short);
    }
    arg = match flag.kind {
        // Twice is as good as once.
        Kind::Switch => arg.action(ArgAction::SetTrue).overrides_with(flag.long),
        kind => {
            let arg = arg.action(ArgAction::Append).value_name(flag.value).allow_hyphen_values(true);
            arg.value_hint(hint(kind))
        }
    };
    if shown == Use::Parsing {
        return arg;
    }
    let about = match flag.default {
        Some(default) => format!("{} [default: {default}]", flag.about),
        None => flag.about.to_owned(),
    };
    arg.help(about).hide(flag.shown == Shown::All && shown == Use::Showing(Shown::Common))
}

fn positional_arg(positional: &Positional, shown: Use) -> Arg {
    let action = if positional.many { ArgAction::Append } else { ArgAction::Set };
    let arg = Arg::new(positional.name).value_name(positional.name).help(positional.about).action(action);
    let arg = if positional.many { arg.num_args(0..) } else { arg };
    arg.value_hint(hint(positional.kind)).required(positional.required && shown != Use::Parsing)
}

fn hint(kind: Kind) -> ValueHint {
    match kind {
        Kind::Path => ValueHint::AnyPath,
        Kind::Url => ValueHint::Url,
        _ => ValueHint::Other,
    }
}
