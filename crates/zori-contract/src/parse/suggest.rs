//! What may have been meant by a word that is neither a command nor a flag. Every suggestion can be run as it is.

use zori_spelling::nearest;

use crate::command::Command;
use crate::error;
use crate::failure::{Issue, IssueCode};
use crate::flag::Flag;
use crate::program::Program;

/// The word that asks for the help of what follows it.
pub const HELP: &str = "help";

const NOT_A_COMMAND: IssueCode = IssueCode::Kind(&error::UNKNOWN_COMMAND);

/// Says that a flag is unknown here, and whose it is.
pub fn unknown_flag<A>(program: &Program<A>, shown: &str) -> Issue {
    let is_called = |flag: &Flag| match shown.strip_prefix("--") {
        Some(long) => flag.is_called(long),
        None => flag.short.is_some_and(|short| shown == format!("-{short}")),
    };
    let takers = program.commands.iter().filter(|command| program.own_flags(command).iter().any(is_called));
    let names: Vec<_> =
        takers.take(3).map(|command| format!("`{} {}`", program.name, command.name())).collect();
    if !names.is_empty() {
        let message = format!("`{shown}` is no option of this command");
        return Issue::new(shown, IssueCode::UnknownArgument, message)
            .suggest(format!("it goes with {}", names.join(", ")));
    }
    let issue = Issue::new(shown, IssueCode::UnknownArgument, format!("there is no option `{shown}`"));
    let own = program.commands.iter().flat_map(|command| program.own_flags(command));
    let names: Vec<_> = program.global_flags().into_iter().chain(own).map(|flag| flag.long).collect();
    match nearest(shown.trim_start_matches('-'), names) {
        Some(name) => issue.suggest(format!("did you mean `--{name}`?")),
        None => issue,
    }
}

/// Says that a word names no command. `next` is the word without dashes that follows it.
pub fn unknown_command<A>(
    program: &Program<A>,
    group: Option<&str>,
    typed: &str,
    next: Option<&str>,
) -> Issue {
    // A whole prompt may stand here; its first word says enough.
    let word = typed.split_whitespace().next().unwrap_or(typed);
    let issue = Issue::new("COMMAND", NOT_A_COMMAND, format!("there is no command `{word}`")).value(word);
    let meant = match group {
        Some(group) => of_group(program, group, word),
        None => meant(program, word, next),
    };
    match (meant.as_slice(), group) {
        ([], Some(group)) => issue.suggest(format!("one of {}", calls(program, group))),
        ([], None) => issue.suggest(format!("`{} --help` shows what there is", program.name)),
        ([one], _) => issue.suggest(format!("did you mean `{one}`?")),
        ([first @ .., last], _) => {
            issue.suggest(format!("did you mean `{}` or `{last}`?", first.join("`, `")))
        }
    }
}

/// Says that a call has no command, to a program that does nothing without one.
pub fn no_command<A>(program: &Program<A>, instead: &str) -> Issue {
    Issue::new("COMMAND", NOT_A_COMMAND, format!("`{}` needs a command", program.name)).suggest(instead)
}

/// Says that only the first of two words is there.
pub fn incomplete<A>(program: &Program<A>, group: &str) -> Issue {
    let message = format!("`{} {group}` needs a command", program.name);
    Issue::new("COMMAND", NOT_A_COMMAND, message).suggest(format!("one of {}", calls(program, group)))
}

/// Returns the commands of a group as they are called.
fn calls<A>(program: &Program<A>, group: &str) -> String {
    let below = program.commands.iter().filter(|command| is_below(command, group));
    below.map(|command| format!("`{} {}`", program.name, command.name())).collect::<Vec<_>>().join(", ")
}

fn is_below<A>(command: &Command<A>, group: &str) -> bool {
    matches!(command.path, [first, _] if *first == group)
}

/// Returns whether the last word of a command is this one, or an alias of it.
fn ends_with<A>(command: &Command<A>, word: &str) -> bool {
    command.path.last() == Some(&word) || command.aliases.contains(&word)
}

fn last_words<A>(command: &Command<A>) -> impl Iterator<Item = &'static str> {
    command.path.last().into_iter().chain(command.aliases).copied()
}

/// Returns the commands of a group that may be meant.
fn of_group<A>(program: &Program<A>, group: &str, word: &str) -> Vec<String> {
    let below = || program.commands.iter().filter(|command| is_below(command, group));
    match nearest(word, below().flat_map(last_words)) {
        Some(near) => below().filter(|command| ends_with(command, near)).map(Command::name).collect(),
        None => Vec::new(),
    }
}

/// Returns the commands that may be meant by a first word: itself misspelt, a group, or the second word alone.
fn meant<A>(program: &Program<A>, word: &str, next: Option<&str>) -> Vec<String> {
    let single = || program.commands.iter().filter(|command| command.path.len() == 1);
    let double = || program.commands.iter().filter(|command| command.path.len() == 2);
    let groups = double().map(|command| command.path[0]);
    let known =
        single().flat_map(last_words).chain([HELP]).chain(groups).chain(double().flat_map(last_words));
    let Some(near) = nearest(word, known) else { return Vec::new() };
    if let Some(command) = single().find(|command| ends_with(command, near)) {
        return vec![command.name()];
    }
    if near == HELP {
        return vec![HELP.to_owned()];
    }
    if double().any(|command| is_below(command, near)) {
        let chosen = next.map(|next| of_group(program, near, next)).unwrap_or_default();
        let all = || double().filter(|command| is_below(command, near)).map(Command::name).collect();
        return if chosen.is_empty() { all() } else { chosen };
    }
    double().filter(|command| ends_with(command, near)).map(Command::name).collect()
}
