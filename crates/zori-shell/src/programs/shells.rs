//! Shells and interpreters: texts they get as arguments or on their input are scripts.

use super::{Call, Reading, Start, Stdin};
use crate::analysis::Via;
use crate::arg::Arg;

/// Shells whose texts are read like the one we look at.
pub const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "yash"];

/// Programs that run a language of their own: any use is opaque.
pub const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "node",
    "nodejs",
    "deno",
    "perl",
    "ruby",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "expect",
    "Rscript",
    "R",
    "julia",
    "ghci",
    "runghc",
    "osascript",
    "pwsh",
    "powershell",
    "fish",
    "csh",
    "tcsh",
    "nu",
    "elvish",
    "xonsh",
    "groovy",
    "scala",
    "clojure",
    "guile",
    "racket",
    "sbcl",
    "ocaml",
    "irb",
    "bc",
    "dc",
    "m4",
    "jshell",
    "tsx",
    "ts-node",
    "swift",
    "elixir",
    "iex",
    "erl",
    "escript",
    "octave",
    "gnuplot",
    "sqlite3",
    "psql",
    "mysql",
    "mongosh",
    "ipython",
    "ipython3",
];

/// Whether a program runs what it reads from its input.
pub fn runs_input(name: &str) -> bool {
    SHELLS.contains(&name) || is_interpreter(name) || matches!(name, "source" | ".")
}

/// Whether a program is an interpreter, with or without a version in its name.
pub fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || (plain.len() >= 3 && INTERPRETERS.contains(&plain))
}

/// Returns what a shell or an interpreter does.
pub fn read(call: &Call<'_>) -> Option<Reading> {
    if is_interpreter(call.name) {
        let files = call.args.iter().filter(|arg| arg.literal().is_some_and(|text| !text.starts_with('-')));
        let reads = files.filter(|arg| !arg.text.contains(char::is_whitespace)).take(1).cloned().collect();
        return Some(Reading { reads, ..Reading::default() });
    }
    SHELLS.contains(&call.name).then(|| shell(call))
}

fn shell(call: &Call<'_>) -> Reading {
    let mut command = false;
    let mut stdin = false;
    let mut at = 0;
    let mut odd = false;
    while let Some(arg) = call.args.get(at) {
        let Some(text) = arg.literal() else {
            if arg.may_be_option() && !command {
                return Reading::unknown("a shell that is told what to do by a word that is not known");
            }
            break;
        };
        match text {
            "--" | "-" => {
                at += 1;
                break;
            }
            "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" => {
                odd |= text.starts_with("--");
                at += 1;
            }
            text if text.starts_with("--") => {
                odd |= !matches!(text, "--login" | "--norc" | "--noprofile" | "--posix")
            }
            text if text.len() > 1 && text.starts_with(['-', '+']) => {
                command |= text[1..].contains('c');
                stdin |= text[1..].contains('s');
                // `-o` and `-O` in a bundle take the next word; `-i` reads start-up files.
                if text[1..].contains(['o', 'O']) {
                    at += 1;
                }
                odd |= text[1..].contains('i');
            }
            _ => break,
        }
        at += 1;
    }
    let operand = call.args.get(at);
    let mut reading = match operand {
        Some(text) if command => Reading::starting(super::table::text(text, Via::ShellText)),
        None if command => Reading::unknown("a shell without its text"),
        Some(file) if !stdin => Reading { reads: vec![file.clone()], unknown: None, ..Reading::default() },
        _ => from_input(call.stdin),
    };
    if odd {
        reading.no_auto.push("a shell with start-up files of its own");
    }
    reading
}

fn from_input(stdin: &Stdin) -> Reading {
    match stdin {
        Stdin::Text { text, exact } => Reading::starting(Start::Text {
            text: text.clone(),
            exact: *exact,
            via: Via::PipeIntoShell,
            here: false,
        }),
        Stdin::Piped => Reading::unknown("a shell runs what is piped into it"),
        Stdin::File => Reading::unknown("a shell runs a file"),
        Stdin::Inherited => Reading::default(),
    }
}

/// Joins words to the text `eval` and `trap` make of them.
pub fn joined(args: &[Arg], here: bool, via: Via) -> Start {
    let exact = args.iter().all(|arg| arg.literal().is_some());
    let words: Vec<&str> = args.iter().map(|arg| arg.literal().unwrap_or(arg.shown.as_str())).collect();
    Start::Text { text: words.join(" "), exact, via, here }
}
