//! From argv to a command and its arguments, with every problem of the call in one pass.
//!
//! clap stops at the first word it does not know. Here that word is noted, taken out, and the rest is parsed again, until
//! nothing is left to complain about; then the kinds, the rules between flags and the command's own check have their say.
//! Nothing is touched meanwhile.

use std::ffi::OsString;

use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Args;
use crate::command::{Command, Place, Rule};
use crate::failure::Issue;
use crate::flag::{Flag, Positional};
use crate::kind::{Kind, nearest};
use crate::payload;
use crate::program::Program;
use crate::tree;

/// What argv says.
pub struct Parsed<A: 'static> {
    /// The command; `None` for a call without one, or with one that does not exist.
    pub command: Option<&'static Command<A>>,
    /// The words that name it, or the group that was named alone.
    pub path: Vec<String>,
    /// The arguments that could be read.
    pub args: Args,
    /// All problems so far: those of the words themselves.
    pub issues: Vec<Issue>,
    /// A word that is no command was meant as one.
    pub unknown: bool,
    /// `--all` beside `--help`: every option is shown.
    pub all: bool,
}

/// Reads argv, which does not begin with the program's name.
pub fn read<A>(program: &'static Program<A>, argv: &[OsString]) -> Parsed<A> {
    let mut issues = Vec::new();
    let mut words = Vec::new();
    for word in argv {
        match word.to_str() {
            Some(word) => words.push(word.to_owned()),
            None => {
                let shown = word.to_string_lossy();
                issues.push(
                    Issue::new(&shown, "INVALID_UTF8", format!("`{shown}` is not UTF-8"))
                        .value(shown.clone()),
                );
            }
        }
    }
    (program.rewrite)(&mut words);
    let all =
        words.iter().any(|word| word == "--help" || word == "-h") && words.iter().any(|word| word == "--all");
    if all {
        words.retain(|word| word != "--all");
    }
    let mut tree = tree::meant(program, &words);
    let mut whole = false;
    // Left over when the flag before it turned out to be unknown: probably its value.
    let mut orphan: Option<String> = None;
    let matches = loop {
        let argv = std::iter::once(program.name).chain(words.iter().map(String::as_str));
        let error = match tree.try_get_matches_from_mut(argv) {
            Ok(matches) => break Some(matches),
            Err(_) if !whole => {
                whole = true;
                tree = tree::parsing(program);
                continue;
            }
            Err(error) => error,
        };
        let Some((at, issue)) = complaint(program, &error, &words) else {
            let text = error.to_string();
            let line =
                text.lines().next().unwrap_or_default().trim_start_matches("error: ").replace('\'', "`");
            issues.push(Issue::new("", "INVALID_ARGUMENT", line));
            break None;
        };
        let word = words.remove(at);
        if orphan.take().as_ref() == Some(&word) && !word.starts_with('-') {
            continue;
        }
        if word.starts_with('-') && !word.contains('=') && issue.code == "UNKNOWN_ARGUMENT" {
            orphan = words.get(at).cloned();
        }
        let unknown = issue.code == "UNKNOWN_COMMAND";
        issues.push(issue);
        if unknown {
            // Without a command nobody knows what the other words mean, but help and output flags still count.
            words.retain(|word| word.starts_with('-'));
        }
    };
    let (mut path, mut args, mut command) = (Vec::new(), Args::default(), None);
    if let Some(matches) = matches {
        let mut deepest = &matches;
        while let Some((name, inner)) = deepest.subcommand() {
            path.push(name.to_owned());
            deepest = inner;
        }
        let names: Vec<_> = path.iter().map(String::as_str).collect();
        command = program.find(&names);
        let mut flags = program.global_flags();
        flags.extend(command.map(|command| program.own_flags(command)).unwrap_or_default());
        flags.iter().for_each(|flag| take_flag(deepest, flag, &mut args));
        // Of two values the one after the command is nearer, and clap keeps only that; but two outputs contradict each
        // other wherever they stand.
        for (name, value) in outputs(&words, &flags) {
            if !args.all(name).contains(&value) {
                args.push(name, value);
            }
        }
        for positional in command.map_or(&[][..], |command| command.args) {
            for value in deepest.get_many::<String>(positional.name).into_iter().flatten() {
                args.push(positional.name, value);
            }
        }
        if command.is_some() && args.has(payload::NAME) {
            issues.extend(payload::take(&mut args, &flags, command.map_or(&[], |command| command.args)));
        }
        if command.is_none()
            && !path.is_empty()
            && !issues.iter().any(|issue| issue.code == "UNKNOWN_COMMAND")
        {
            issues.push(incomplete(program, &names));
        }
    }
    let unknown = issues.iter().any(|issue| issue.code == "UNKNOWN_COMMAND");
    Parsed { command, path, args, issues, unknown, all }
}

/// Checks the arguments by the tables, then by the command itself. Returns all that is wrong.
pub fn check<A>(
    program: &Program<A>,
    command: Option<&Command<A>>,
    args: &Args,
    place: &Place,
) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut flags = program.global_flags();
    flags.extend(command.map(|command| program.own_flags(command)).unwrap_or_default());
    flags.iter().for_each(|flag| check_flag(flag, args, place, &mut issues));
    if let Some(command) = command {
        command.args.iter().for_each(|positional| check_positional(positional, args, place, &mut issues));
        command.rules.iter().for_each(|rule| issues.extend(check_rule(rule, args)));
        if issues.is_empty() {
            // Its own check may rely on what the tables say.
            issues.extend((command.validate)(args, place));
        }
    }
    issues
}

/// Returns every `--output` and `--format` among the words, with its value.
fn outputs(words: &[String], flags: &[Flag]) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let (flag, glued) = match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(long), _) => {
                let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                (flags.iter().find(|flag| flag.is_called(name)), value)
            }
            (None, Some(short)) => {
                let mut chars = short.chars();
                let flag = chars.next().and_then(|c| flags.iter().find(|flag| flag.short == Some(c)));
                let rest = chars.as_str();
                (flag, (!rest.is_empty()).then(|| rest.trim_start_matches('=')))
            }
            (None, None) => (None, None),
        };
        let Some(flag) = flag.filter(|flag| !matches!(flag.kind, Kind::Switch)) else { continue };
        let value = glued.map(str::to_owned).or_else(|| words.next().cloned());
        if matches!(flag.long, "output" | "format") {
            found.extend(value.map(|value| (flag.long, value)));
        }
    }
    found
}

fn take_flag(matches: &ArgMatches, flag: &Flag, args: &mut Args) {
    if let Some(default) = flag.default {
        args.set_default(flag.long, default);
    }
    match flag.kind {
        Kind::Switch if matches.get_flag(flag.long) => args.push(flag.long, "true"),
        Kind::Switch => {}
        _ => {
            for value in matches.get_many::<String>(flag.long).into_iter().flatten() {
                args.push(flag.long, value);
            }
        }
    }
}

fn check_flag(flag: &Flag, args: &Args, place: &Place, issues: &mut Vec<Issue>) {
    let (param, values) = (flag.param(), args.all(flag.long));
    if values.is_empty() {
        if flag.required {
            issues.push(Issue::new(
                &param,
                "MISSING_ARGUMENT",
                format!("`{param} {}` is missing", flag.value),
            ));
        }
        return;
    }
    if let Some(other) = flag.excludes.filter(|other| args.has(other)) {
        issues.extend(check_rule(&Rule::Excludes { flag: flag.long, other }, args));
        return;
    }
    if !flag.many && values.iter().any(|value| *value != values[0]) {
        let message = format!("`{param}` is there {} times with different values", values.len());
        issues.push(Issue::new(&param, "REPEATED_ARGUMENT", message).value(values.join(", ")));
        return;
    }
    for value in values {
        if let Some(max) = flag.max_length.filter(|max| value.len() > *max) {
            let message = format!("`{param}` takes at most {max} bytes, and this has {}", value.len());
            issues
                .push(Issue::new(&param, "FIELD_TOO_LARGE", message).value(format!("{} bytes", value.len())));
            continue;
        }
        let issue = flag.kind.check(&param, value, &place.cwd).or_else(|| {
            let wrong = flag.check?(value).err()?;
            Some(Issue::new(&param, "INVALID_VALUE", wrong).value(value))
        });
        issues.extend(issue);
    }
}

fn check_positional(positional: &Positional, args: &Args, place: &Place, issues: &mut Vec<Issue>) {
    let values = args.all(positional.name);
    if values.is_empty() && positional.required {
        let message = format!("`{}` is missing: {}", positional.name, lower(positional.about));
        issues.push(Issue::new(positional.name, "MISSING_ARGUMENT", message));
    }
    issues
        .extend(values.iter().filter_map(|value| positional.kind.check(positional.name, value, &place.cwd)));
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}

fn check_rule(rule: &Rule, args: &Args) -> Option<Issue> {
    match *rule {
        Rule::Needs { flag, value, other } => {
            let applies = args.has(flag) && value.is_none_or(|value| args.text(flag) == Some(value));
            (applies && !args.has(other)).then(|| {
                let with = value.map_or(String::new(), |value| format!(" {value}"));
                let message = format!("`--{flag}{with}` needs `--{other}`");
                Issue::new(&format!("--{other}"), "MISSING_ARGUMENT", message)
            })
        }
        Rule::Excludes { flag, other } => (args.has(flag) && args.has(other)).then(|| {
            let message = format!("`--{flag}` and `--{other}` do not go together");
            Issue::new(&format!("--{flag}"), "CONFLICTING_ARGUMENTS", message)
        }),
    }
}

/// Finds the word clap complains about, and says what is wrong with it.
fn complaint<A>(program: &Program<A>, error: &clap::Error, words: &[String]) -> Option<(usize, Issue)> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.split_whitespace().next().unwrap_or(text).to_owned()),
        _ => None,
    };
    let find = |text: &str| {
        let exactly = words.iter().position(|word| word == text);
        let prefix = |word: &&String| word.starts_with(&format!("{text}="));
        let cluster = |word: &String| {
            text.len() == 2
                && !text.starts_with("--")
                && word.starts_with('-')
                && !word.starts_with("--")
                && word.contains(&text[1..])
        };
        exactly
            .or_else(|| words.iter().position(|word| prefix(&word)))
            .or_else(|| words.iter().position(cluster))
            .or_else(|| words.iter().position(|word| word.split_whitespace().next() == Some(text)))
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = context(ContextKind::InvalidSubcommand)?;
            Some((find(&name)?, unknown_command(program, &name)))
        }
        ErrorKind::UnknownArgument => {
            let text = context(ContextKind::InvalidArg)?;
            let issue = match text.starts_with('-') {
                true => unknown_flag(program, &text),
                false => {
                    Issue::new(&text, "UNEXPECTED_ARGUMENT", format!("`{text}` is one argument too many"))
                        .value(&text)
                }
            };
            Some((find(&text)?, issue))
        }
        ErrorKind::InvalidValue | ErrorKind::NoEquals | ErrorKind::TooFewValues => {
            let text = context(ContextKind::InvalidArg)?;
            Some((find(&text)?, Issue::new(&text, "MISSING_VALUE", format!("`{text}` needs a value"))))
        }
        ErrorKind::TooManyValues => {
            let text = context(ContextKind::InvalidArg)?;
            Some((find(&text)?, Issue::new(&text, "UNEXPECTED_VALUE", format!("`{text}` takes no value"))))
        }
        _ => None,
    }
}

fn unknown_flag<A>(program: &Program<A>, text: &str) -> Issue {
    let is_called = |flag: &Flag| match text.strip_prefix("--") {
        Some(long) => flag.is_called(long),
        None => flag.short.is_some_and(|short| text == format!("-{short}")),
    };
    let takers = program.commands.iter().filter(|command| program.own_flags(command).iter().any(is_called));
    let names: Vec<_> =
        takers.take(3).map(|command| format!("`{} {}`", program.name, command.name())).collect();
    if !names.is_empty() {
        let message = format!("`{text}` is no option of this command");
        return Issue::new(text, "UNKNOWN_ARGUMENT", message)
            .suggest(format!("it goes with {}", names.join(", ")));
    }
    let issue = Issue::new(text, "UNKNOWN_ARGUMENT", format!("there is no option `{text}`"));
    let own = program.commands.iter().flat_map(|command| program.own_flags(command));
    let names: Vec<_> = program.global_flags().into_iter().chain(own).map(|flag| flag.long).collect();
    match nearest(text.trim_start_matches('-'), names) {
        Some(name) => issue.suggest(format!("did you mean `--{name}`?")),
        None => issue,
    }
}

fn unknown_command<A>(program: &Program<A>, name: &str) -> Issue {
    let issue = Issue::new("COMMAND", "UNKNOWN_COMMAND", format!("there is no command `{name}`")).value(name);
    let words =
        program.commands.iter().flat_map(|command| command.path.iter().chain(command.aliases).copied());
    match nearest(name, words) {
        Some(near) => issue.suggest(format!("did you mean `{near}`?")),
        None => issue.suggest(format!("`{} --help` shows what there is", program.name)),
    }
}

/// Says that a call has no command, to a program that does nothing without one.
pub fn no_command<A>(program: &Program<A>, instead: &str) -> Issue {
    Issue::new("COMMAND", "UNKNOWN_COMMAND", format!("`{}` needs a command", program.name)).suggest(instead)
}

fn incomplete<A>(program: &Program<A>, group: &[&str]) -> Issue {
    let below = program.commands.iter().filter(|command| command.path.starts_with(group));
    let names: Vec<_> = below.map(|command| format!("`{} {}`", program.name, command.name())).collect();
    Issue::new(
        "COMMAND",
        "UNKNOWN_COMMAND",
        format!("`{} {}` needs a command", program.name, group.join(" ")),
    )
    .suggest(format!("one of {}", names.join(", ")))
}
