//! Shells and interpreters: texts they get as arguments or on their input are scripts.

use super::{Call, ProgramEffects, Spawn, Stdin};
use crate::analysis::Via;
use crate::arg::Arg;

/// Shells whose texts are read like the one we look at.
pub const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "yash", "fish", "csh", "tcsh"];

/// Shells with words of their own (`=name`, `*(e:..:)`): what their texts do is looked at, but not taken for certain.
const OTHER_GRAMMARS: &[&str] = &["zsh", "ksh", "mksh", "yash", "fish", "csh", "tcsh"];

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
pub fn analyse(call: &Call<'_>) -> Option<ProgramEffects> {
    if is_interpreter(call.name) {
        let files = call.args.iter().filter(|arg| arg.literal().is_some_and(|text| !text.starts_with('-')));
        let mut reads: Vec<Arg> =
            files.filter(|arg| !arg.text.contains(char::is_whitespace)).take(1).cloned().collect();
        // What follows may be a file, too.
        for file in super::operands(call).into_iter().filter(|arg| !arg.text.contains(char::is_whitespace)) {
            if !reads.contains(&file) {
                reads.push(file);
            }
        }
        return Some(ProgramEffects { reads, ..ProgramEffects::default() });
    }
    SHELLS.contains(&call.name).then(|| shell(call))
}

fn shell(call: &Call<'_>) -> ProgramEffects {
    let mut command = false;
    let mut stdin = false;
    let mut at = 0;
    let mut deceptive = false;
    while let Some(arg) = call.args.get(at) {
        let Some(text) = arg.literal() else {
            if arg.may_be_option() && !command {
                return ProgramEffects::unknown(
                    "a shell that is told what to do by a word that is not known",
                );
            }
            break;
        };
        match text {
            "--" | "-" => {
                at += 1;
                break;
            }
            "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" => {
                deceptive |= text.starts_with("--");
                at += 1;
            }
            text if text.starts_with("--") => {
                deceptive |= !matches!(text, "--login" | "--norc" | "--noprofile" | "--posix")
            }
            text if text.len() > 1 && text.starts_with(['-', '+']) => {
                command |= text[1..].contains('c');
                stdin |= text[1..].contains('s');
                // `-o` and `-O` in a bundle take the next word; `-i` reads start-up files.
                if text[1..].contains(['o', 'O']) {
                    at += 1;
                }
                deceptive |= text[1..].contains('i');
            }
            _ => break,
        }
        at += 1;
    }
    let operand = call.args.get(at);
    let mut effects = match operand {
        Some(text) if command => {
            let mut spawn = super::table::text(text, Via::ShellText);
            if let Spawn::Script { text, exact, parameters, .. } = &mut spawn {
                *parameters = call.args[at + 1..].to_vec();
                if OTHER_GRAMMARS.contains(&call.name) {
                    *exact &= plain(text);
                    // `=name` is the path of that program.
                    *text = text.replace(" =", " ").trim_start_matches('=').to_owned();
                }
            }
            ProgramEffects::spawning(spawn)
        }
        None if command => ProgramEffects::unknown("a shell without its text"),
        Some(file) if !stdin => {
            ProgramEffects { reads: vec![file.clone()], unknown: None, ..ProgramEffects::default() }
        }
        _ => from_input(call.stdin),
    };
    if deceptive {
        effects.no_auto_approval.push("a shell with start-up files of its own");
    }
    effects
}

/// Whether every shell reads a text alike: words and blanks alone.
fn plain(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | ',' | ':' | '+' | '@')
    })
}

/// Returns what a shell does that reads its script from its input.
pub fn from_input(stdin: &Stdin) -> ProgramEffects {
    match stdin {
        Stdin::Text { text, exact } => ProgramEffects::spawning(Spawn::Script {
            text: text.clone(),
            exact: *exact,
            via: Via::PipeIntoShell,
            same_shell: false,
            parameters: Vec::new(),
        }),
        Stdin::Piped | Stdin::Names(_) => ProgramEffects::unknown("a shell runs what is piped into it"),
        Stdin::File => ProgramEffects::unknown("a shell runs a file"),
        Stdin::Inherited => ProgramEffects::default(),
    }
}

/// Joins words to the text `eval` and `trap` make of them.
pub fn joined(args: &[Arg], same_shell: bool, via: Via) -> Spawn {
    let exact = args.iter().all(|arg| arg.literal().is_some());
    let words: Vec<&str> = args.iter().map(|arg| arg.literal().unwrap_or(arg.shown.as_str())).collect();
    Spawn::Script { text: words.join(" "), exact, via, same_shell, parameters: Vec::new() }
}
