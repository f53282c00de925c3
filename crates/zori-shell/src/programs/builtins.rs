//! Builtins of the shell. What they change in the shell is in `walk/shell_changes.rs`; their other effects are here.

use super::shells::joined;
use super::{Call, EffectKind, ProgramEffects, Spawn};
use crate::analysis::Via;
use crate::arg::Arg;

/// Builtins that touch nothing outside the shell and cannot run their words.
const HARMLESS: &[&str] = &[
    "echo", ":", "true", "false", "pwd", "exit", "return", "break", "continue", "shift", "wait", "type",
    "times",
];

/// Builtins that change the shell. Some evaluate subscripts in their words.
const CHANGING: &[&str] = &[
    "export",
    "declare",
    "typeset",
    "readonly",
    "local",
    "set",
    "shopt",
    "alias",
    "unalias",
    "hash",
    "enable",
    "history",
    "fc",
    "bind",
    "complete",
    "compgen",
    "mapfile",
    "readarray",
    "read",
    "unset",
    "let",
    "umask",
    "ulimit",
    "getopts",
    "bg",
    "fg",
    "kill",
    "disown",
    "popd",
    "dirs",
    "caller",
    "suspend",
    "logout",
    "((",
];

/// Returns the effects of a builtin.
pub fn analyse(call: &Call<'_>) -> Option<ProgramEffects> {
    let first = call.args.first().map_or("", |arg| arg.text.as_str());
    Some(match call.name {
        name if HARMLESS.contains(&name) => ProgramEffects::read_only(),
        "jobs" => jobs(call),
        "printf"
            if call.args.first().is_some_and(|arg| arg.may_be_option() || arg.text.starts_with("-v")) =>
        {
            ProgramEffects::default()
        }
        "printf" => ProgramEffects::read_only(),
        "test" | "[" | "[[" => test(call),
        "cd" | "pushd" => {
            let words = call.args.iter().skip_while(|arg| arg.text.starts_with('-') && arg.text.len() > 1);
            ProgramEffects { reads: words.take(1).cloned().collect(), ..ProgramEffects::read_only() }
        }
        "eval" => ProgramEffects::spawning(joined(call.args, true, Via::ShellText)),
        "trap" => {
            let words = if first == "--" { &call.args[1..] } else { call.args };
            match words {
                [text, _, ..] if !matches!(text.text.as_str(), "" | "-") => ProgramEffects {
                    kind: EffectKind::Other,
                    spawns: vec![super::table::text(text, Via::ShellText)],
                    ..ProgramEffects::default()
                },
                [option, ..] if option.text.starts_with("-p") || option.text.starts_with("-l") => {
                    ProgramEffects::read_only()
                }
                _ => ProgramEffects::default(),
            }
        }
        "source" | "." if first == "/dev/stdin" => super::shells::from_input(call.stdin),
        "source" | "." if first.starts_with("/dev/fd/") => {
            ProgramEffects::unknown("sources what another command prints")
        }
        "source" | "." => {
            let file = call.args.first().cloned();
            let unknown = file.as_ref().is_none_or(|file| file.literal().is_none());
            let why = unknown.then_some("sources a file that is not known");
            ProgramEffects { reads: file.into_iter().collect(), unknown: why, ..ProgramEffects::default() }
        }
        name if CHANGING.contains(&name) => ProgramEffects::default(),
        _ => return None,
    })
}

/// `jobs` lists; `jobs -x` runs its arguments.
fn jobs(call: &Call<'_>) -> ProgramEffects {
    let at = call.args.iter().position(|arg| arg.text.starts_with('-') && arg.text.contains('x'));
    if call.args.iter().any(|arg| arg.literal().is_none()) && at.is_none() {
        return ProgramEffects::unknown("a word that is not known may become an option");
    }
    let Some(at) = at else { return ProgramEffects::read_only() };
    let words = call.args[at + 1..].to_vec();
    let via = Via::Wrapper { privileged: false };
    ProgramEffects {
        no_auto_approval: vec!["runs its arguments"],
        spawns: if words.is_empty() {
            Vec::new()
        } else {
            vec![Spawn::Argv { words, via, environment: Vec::new() }]
        },
        ..ProgramEffects::default()
    }
}

/// `test` looks at files and compares; `-v` and comparisons of numbers in `[[` evaluate what they get.
fn test(call: &Call<'_>) -> ProgramEffects {
    const FILES: &[&str] = &[
        "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-p", "-r", "-s", "-u", "-w", "-x", "-G", "-L",
        "-N", "-O", "-S",
    ];
    let mut effects = ProgramEffects::read_only();
    for pair in call.args.windows(2) {
        if FILES.contains(&pair[0].text.as_str()) && pair[0].literal().is_some() && pair[1].text != "]" {
            effects.reads.push(pair[1].clone());
        }
    }
    let number = |arg: &Arg| arg.literal().is_some_and(|text| text.parse::<i64>().is_ok());
    for (at, arg) in call.args.iter().enumerate() {
        let compares = matches!(arg.text.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
        let beside = [at.checked_sub(1), Some(at + 1)];
        let numbers = beside.into_iter().flatten().filter_map(|at| call.args.get(at)).all(number);
        if call.name == "[[" && compares && !numbers {
            effects.unknown = Some("a comparison evaluates what it gets");
        }
        if matches!(arg.text.as_str(), "-v" | "-R") {
            effects.kind = EffectKind::Other;
        }
    }
    effects
}
