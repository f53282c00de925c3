//! What must hold of the arguments, by the tables: the kinds of values, the rules between flags, and the command's own check.

use crate::args::Args;
use crate::command::{Command, Rule};
use crate::error;
use crate::failure::{Issue, IssueCode};
use crate::flag::{Flag, Positional};
use crate::path::AbsPath;
use crate::program::Program;

/// Checks the arguments by the tables, then by the command itself. Returns all that is wrong.
pub fn arguments<A>(
    program: &Program<A>,
    command: Option<&Command<A>>,
    args: &Args,
    cwd: &AbsPath,
) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut flags = program.global_flags();
    flags.extend(command.map(|command| program.own_flags(command)).unwrap_or_default());
    flags.iter().for_each(|flag| check_flag(flag, args, cwd, &mut issues));
    if let Some(command) = command {
        command.args.iter().for_each(|positional| check_positional(positional, args, cwd, &mut issues));
        command.rules.iter().for_each(|rule| issues.extend(check_rule(rule, args)));
        if issues.is_empty() {
            // Its own check may rely on what the tables say.
            issues.extend((command.validate)(args, cwd));
        }
    }
    issues
}

fn check_flag(flag: &Flag, args: &Args, cwd: &AbsPath, issues: &mut Vec<Issue>) {
    let (param, values) = (flag.param(), args.all(flag));
    if values.is_empty() {
        if flag.required {
            issues.push(Issue::new(
                &param,
                IssueCode::MissingArgument,
                format!("`{param} {}` is missing", flag.value),
            ));
        }
        return;
    }
    if let Some(other) = flag.excludes.filter(|other| args.has(*other)) {
        issues.push(excluded(flag, other));
        return;
    }
    if !flag.many && values.iter().any(|value| *value != values[0]) {
        let message = format!("`{param}` is there {} times with different values", values.len());
        issues.push(Issue::new(&param, IssueCode::RepeatedArgument, message).value(values.join(", ")));
        return;
    }
    for value in values {
        if let Some(max) = flag.max_length.filter(|max| value.len() > *max) {
            let message = format!("`{param}` takes at most {max} bytes, and this has {}", value.len());
            issues.push(
                Issue::new(&param, IssueCode::Kind(&error::FIELD_TOO_LARGE), message)
                    .value(format!("{} bytes", value.len())),
            );
            continue;
        }
        let issue = flag.kind.check(&param, value, cwd).or_else(|| {
            let wrong = flag.check?(value).err()?;
            Some(Issue::new(&param, IssueCode::InvalidValue, wrong).value(value))
        });
        issues.extend(issue);
    }
}

fn check_positional(positional: &Positional, args: &Args, cwd: &AbsPath, issues: &mut Vec<Issue>) {
    let values = args.all(positional);
    if values.is_empty() && positional.required {
        let message = format!("`{}` is missing: {}", positional.name, lower(positional.about));
        issues.push(Issue::new(positional.name, IssueCode::MissingArgument, message));
    }
    issues.extend(values.iter().filter_map(|value| positional.kind.check(positional.name, value, cwd)));
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
                let message = format!("`{}{with}` needs `{}`", flag.param(), other.param());
                Issue::new(&other.param(), IssueCode::MissingArgument, message)
            })
        }
        Rule::Excludes { flag, other } => (args.has(flag) && args.has(other)).then(|| excluded(flag, other)),
    }
}

fn excluded(flag: &Flag, other: &Flag) -> Issue {
    let message = format!("`{}` and `{}` do not go together", flag.param(), other.param());
    Issue::new(&flag.param(), IssueCode::ConflictingArguments, message)
}
