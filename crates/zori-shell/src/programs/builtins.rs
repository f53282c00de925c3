//! Commands of the shell itself. What they change in the shell is `walk/effects.rs`; here is what kind of thing they
//! do.

use super::shells::joined;
use super::{Call, Kind, Reading};
use crate::analysis::Via;
use crate::arg::Arg;

/// Commands that touch nothing outside and cannot run what their words hold.
const HARMLESS: &[&str] = &[
    "echo", ":", "true", "false", "pwd", "exit", "return", "break", "continue", "shift", "wait", "type",
    "times", "jobs",
];

/// Commands that change the shell. They are commands like others, and some evaluate subscripts in their words.
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

/// Returns what a command of the shell does.
pub fn read(call: &Call<'_>) -> Option<Reading> {
    let first = call.args.first().map_or("", |arg| arg.text.as_str());
    Some(match call.name {
        name if HARMLESS.contains(&name) => Reading::read_only(),
        "printf"
            if call.args.first().is_some_and(|arg| arg.may_be_option() || arg.text.starts_with("-v")) =>
        {
            Reading::default()
        }
        "printf" => Reading::read_only(),
        "test" | "[" | "[[" => test(call),
        "cd" | "pushd" => {
            let words = call.args.iter().skip_while(|arg| arg.text.starts_with('-') && arg.text.len() > 1);
            Reading { reads: words.take(1).cloned().collect(), ..Reading::read_only() }
        }
        "eval" => Reading::starting(joined(call.args, true, Via::ShellText)),
        "trap" => {
            let words = if first == "--" { &call.args[1..] } else { call.args };
            match words {
                [text, _, ..] if !matches!(text.text.as_str(), "" | "-") => Reading {
                    kind: Kind::Other,
                    starts: vec![super::table::text(text, Via::ShellText)],
                    ..Reading::default()
                },
                [option, ..] if option.text.starts_with("-p") || option.text.starts_with("-l") => {
                    Reading::read_only()
                }
                _ => Reading::default(),
            }
        }
        "source" | "." => {
            let file = call.args.first().cloned();
            let unknown = file.as_ref().is_none_or(|file| file.literal().is_none());
            let why = unknown.then_some("sources a file that is not known");
            Reading { reads: file.into_iter().collect(), unknown: why, ..Reading::default() }
        }
        name if CHANGING.contains(&name) => Reading::default(),
        _ => return None,
    })
}

/// `test` looks at files and compares; `-v` and comparisons of numbers in `[[` evaluate what they get.
fn test(call: &Call<'_>) -> Reading {
    const FILES: &[&str] = &[
        "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-p", "-r", "-s", "-u", "-w", "-x", "-G", "-L",
        "-N", "-O", "-S",
    ];
    let mut reading = Reading::read_only();
    for pair in call.args.windows(2) {
        if FILES.contains(&pair[0].text.as_str()) && pair[0].literal().is_some() && pair[1].text != "]" {
            reading.reads.push(pair[1].clone());
        }
    }
    let number = |arg: &Arg| arg.literal().is_some_and(|text| text.parse::<i64>().is_ok());
    for (at, arg) in call.args.iter().enumerate() {
        let compares = matches!(arg.text.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
        let beside = [at.checked_sub(1), Some(at + 1)];
        let numbers = beside.into_iter().flatten().filter_map(|at| call.args.get(at)).all(number);
        if call.name == "[[" && compares && !numbers {
            reading.unknown = Some("a comparison evaluates what it gets");
        }
        if matches!(arg.text.as_str(), "-v" | "-R") {
            reading.kind = Kind::Other;
        }
    }
    reading
}
