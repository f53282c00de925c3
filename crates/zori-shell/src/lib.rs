//! What a shell text would do, by its grammar (`docs/contracts/shell-analysis.md` and `docs/contracts/permissions.md`).
//!
//! [`analyse`] takes a text as it would be given to `sh -c` and returns every simple command it could start, with what
//! each reads, writes and starts in turn, or says what cannot be known. It knows nothing of rules, modes or verdicts:
//! `zori-policy` decides. It is pure: no files, no environment, no clock.
//!
//! Start with [`analysis`], the answer. On the way there: `lex` cuts a text into tokens, `grammar` arranges them,
//! `walk` goes through them like a shell, `expand` makes words, and `programs` says what programs do with them.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod analysis;
mod arg;
mod assignment;
mod braces;
pub mod context;
pub mod danger;
mod deceptive;
mod expand;
mod grammar;
mod lex;
mod paths;
mod programs;
mod raw_words;
mod state;
mod syntax;
mod tree;
mod walk;

pub use analysis::{
    Analysis, Command, CommandEffect, RawWords, Target, TargetPath, Tree, Unresolved, Via, Word,
};
pub use context::{Shell, ShellContext};
pub use danger::{DANGERS, Danger, DangerKind};
pub use programs::is_known_program;
pub use programs::shells::is_interpreter;

use syntax::{Dialect, SyntaxError};
use walk::Walk;

/// The longest text that is read as a program (`docs/contracts/shell-analysis.md`).
pub const MAX_BYTES: usize = 64 * 1024;

/// Returns what `text` would do under every shell that may read it. It has an answer for every text.
pub fn analyse(text: &str, context: &ShellContext) -> Analysis {
    let mut analysis = if text.len() > MAX_BYTES {
        failed("longer than 64 KiB", text)
    } else if text.contains('\0') {
        failed("a NUL byte", text)
    } else {
        readings(text, context)
    };
    analysis.deceptive_characters = deceptive::deceptive_characters(text);
    if !analysis.deceptive_characters.is_empty() {
        analysis.single = false;
    }
    if let Some(words) = analysis.raw_words.take() {
        raw_words::dangers(&words, context, &mut analysis);
        analysis.raw_words = Some(words);
    }
    analysis
}

fn failed(why: &'static str, text: &str) -> Analysis {
    let unresolved = vec![Unresolved { why, shown: walk::shorten(text) }];
    Analysis { unresolved, raw_words: Some(raw_words::split(text)), ..Analysis::default() }
}

/// Reads the text as the shell that runs it; as bash and as POSIX sh where that may be either, keeping what each finds.
fn readings(text: &str, context: &ShellContext) -> Analysis {
    let mut bash = Walk::new(context, Dialect::Bash);
    let read = bash.walk_whole_text(text);
    let mut analysis = finished(bash, read, text);
    if context.shell == Shell::Bash || reads_alike(text) {
        return analysis;
    }
    let mut dash = Walk::new(context, Dialect::Dash);
    match dash.walk_whole_text(text) {
        // The line is an error to sh, which then runs nothing of it; of several lines it may have run some.
        Err(SyntaxError::OnlyBash) if !text.contains('\n') => {}
        read => merge(&mut analysis, finished(dash, read, text)),
    }
    analysis
}

/// Whether no shell reads a text in another way: words, blanks and plain joints.
fn reads_alike(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b" \n\t-_./,:;&@%+|".contains(&b);
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    text.bytes().all(plain)
        && !text.contains("|&")
        && !words.any(|word| matches!(word, "function" | "select" | "coproc" | "time"))
}

fn finished(walk: Walk<'_>, read: Result<(), SyntaxError>, text: &str) -> Analysis {
    let truncated = walk.truncated || read.is_err();
    let mut analysis = walk.analysis;
    if let Err(error) = read {
        let why = match error {
            SyntaxError::TooDeep => "nested too deeply",
            SyntaxError::Wrong | SyntaxError::OnlyBash => "not a program the shell understands",
        };
        analysis.unresolved.push(Unresolved { why, shown: walk::shorten(text) });
    }
    if truncated {
        analysis.raw_words = Some(raw_words::split(text));
    }
    if analysis.commands.len() != 1 || truncated {
        analysis.single = false;
    }
    danger::detect::substituted_download(&mut analysis);
    analysis
}

fn merge(analysis: &mut Analysis, other: Analysis) {
    if analysis.commands != other.commands {
        let offset = analysis.commands.len();
        analysis.commands.extend(other.commands.into_iter().map(|mut command| {
            command.parent = command.parent.map(|parent| parent + offset);
            command
        }));
        analysis.single = false;
    }
    for unresolved in other.unresolved {
        if !analysis.unresolved.contains(&unresolved) {
            analysis.unresolved.push(unresolved);
        }
    }
    for danger in other.dangers {
        if !analysis.dangers.contains(&danger) {
            analysis.dangers.push(danger);
        }
    }
    analysis.single &= other.single;
    analysis.raw_words = analysis.raw_words.take().or(other.raw_words);
}

// The examples of the README compile, and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
