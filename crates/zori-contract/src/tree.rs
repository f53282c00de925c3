//! The tables as clap's commands, for help, completions and the manual page. argv is read by `parse.rs`, without clap.

use clap::builder::{Arg, ArgAction, Command as Clap, ValueHint};

use crate::command::Command;
use crate::flag::{Flag, Positional, Shown, framework};
use crate::kind::Kind;
use crate::program::Program;

/// Builds clap's commands for completions and the manual page.
pub fn showing<A>(program: &Program<A>, shown: Shown) -> Clap {
    let mut root = bare(program.name).version(program.version).about(program.about);
    root = root.args(global_args(program, None, shown).into_iter().map(|arg| arg.global(true)));
    for command in program.commands {
        root = attach(program, root, command, leaf(program, command, shown));
    }
    root
}

/// Builds what the help of one place shows: the program, a group or a command with its options, and by name what is right
/// below it.
pub fn place<A>(program: &Program<A>, path: &[&str], shown: Shown) -> Clap {
    let mut root = bare(program.name).version(program.version).about(program.about);
    for command in program.commands.iter().filter(|command| command.path.starts_with(path)) {
        let inner = match command.path == path {
            true => leaf(program, command, shown),
            false => named(command),
        };
        root = attach(program, root, command, inner);
    }
    let here = program.commands.iter().find(|command| command.path == path);
    let mut options = Some(global_args(program, here, shown));
    let mut add = |place: Clap| place.args(options.take().into_iter().flatten());
    match path {
        [] => add(root),
        [name] => root.mut_subcommand(name, add),
        [group, name, ..] => root.mut_subcommand(group, |group| group.mut_subcommand(name, add)),
    }
}

/// Below a command's own flags, in the order of the table. `command`: whose help it is, if it is a command's.
fn global_args<A>(program: &Program<A>, command: Option<&Command<A>>, shown: Shown) -> Vec<Arg> {
    let flags = program.global_flags();
    let arg = |(n, flag): (usize, &Flag)| {
        let wanted = command.is_some_and(|command| command.shows.iter().any(|known| known.long == flag.long));
        let arg = flag_arg(flag, if wanted { Shown::All } else { shown }).display_order(1_000 + n);
        match command {
            Some(command) if flag.long == framework::OUTPUT.long => arg.help(format_help(command)),
            _ => arg,
        }
    };
    flags.iter().enumerate().map(arg).collect()
}

/// Says what a command can print: nothing that it would refuse.
pub fn format_help<A>(command: &Command<A>) -> String {
    let names: Vec<_> = command.formats().iter().map(|(name, _)| *name).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("What to print: {} or {last}", others.join(", "))
        }
        _ => format!("What to print: {}", names.concat()),
    }
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

fn leaf<A>(program: &Program<A>, command: &Command<A>, shown: Shown) -> Clap {
    let mut leaf = named(command);
    if !command.examples.is_empty() {
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
        leaf = leaf.arg(positional_arg(positional));
    }
    leaf
}

fn flag_arg(flag: &Flag, shown: Shown) -> Arg {
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
    if !flag.group.is_empty() {
        arg = arg.help_heading(flag.group);
    }
    let about = match flag.default {
        Some(default) => format!("{} [default: {default}]", flag.about),
        None => flag.about.to_owned(),
    };
    arg.help(about).hide(flag.shown == Shown::All && shown == Shown::Common)
}

fn positional_arg(positional: &Positional) -> Arg {
    let action = if positional.many { ArgAction::Append } else { ArgAction::Set };
    let arg = Arg::new(positional.name).value_name(positional.name).help(positional.about).action(action);
    let arg = if positional.many { arg.num_args(0..) } else { arg };
    arg.value_hint(hint(positional.kind)).required(positional.required)
}

fn hint(kind: Kind) -> ValueHint {
    match kind {
        Kind::Path => ValueHint::AnyPath,
        Kind::Url => ValueHint::Url,
        _ => ValueHint::Other,
    }
}
