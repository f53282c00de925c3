//! What a shell text would do, by its grammar (`security.md` chapters 3 and 5).
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
mod catastrophe;
pub mod danger;
mod expand;
mod grammar;
mod lex;
mod odd;
mod paths;
mod programs;
mod scan;
pub mod scene;
mod state;
mod syntax;
mod tree;
mod walk;

pub use analysis::{
    Analysis, Command, CommandEffect, LiteralWords, Target, TargetPath, Unresolved, Via, Word,
};
pub use danger::{DANGERS, Danger, DangerKind};
pub use programs::knows;
pub use scene::Scene;

use syntax::{Dialect, SyntaxError};
use walk::Walk;

/// The longest text that is read as a program (`security.md` 3.1).
pub const MAX_BYTES: usize = 64 * 1024;

/// Returns what `text` would do under every shell that may read it. Total: there is no text it has no answer for.
pub fn analyse(text: &str, scene: &Scene) -> Analysis {
    let mut analysis = if text.len() > MAX_BYTES {
        failed("longer than 64 KiB", text)
    } else if text.contains('\0') {
        failed("a NUL byte", text)
    } else {
        readings(text, scene)
    };
    analysis.odd_characters = odd::odd_characters(text);
    if !analysis.odd_characters.is_empty() {
        analysis.single = false;
    }
    if let Some(words) = analysis.words.take() {
        scan::dangers(&words, scene, &mut analysis);
        analysis.words = Some(words);
    }
    analysis
}

fn failed(why: &'static str, text: &str) -> Analysis {
    let unresolved = vec![Unresolved { why, shown: walk::shorten(text) }];
    Analysis { unresolved, words: Some(scan::words(text)), ..Analysis::default() }
}

/// Reads the text as bash and as POSIX sh, and keeps what either finds.
fn readings(text: &str, scene: &Scene) -> Analysis {
    let mut bash = Walk::new(scene, Dialect::Bash);
    let read = bash.whole(text);
    let mut analysis = finished(bash, read, text);
    let mut dash = Walk::new(scene, Dialect::Dash);
    match dash.whole(text) {
        // The line is an error to sh, which then runs nothing of it; of several lines it may have run some.
        Err(SyntaxError::OnlyBash) if !text.contains('\n') => {}
        read => merge(&mut analysis, finished(dash, read, text)),
    }
    analysis
}

fn finished(walk: Walk<'_>, read: Result<(), SyntaxError>, text: &str) -> Analysis {
    let cut = walk.cut || read.is_err();
    let mut analysis = walk.analysis;
    if let Err(error) = read {
        let why = match error {
            SyntaxError::TooDeep => "nested too deeply",
            SyntaxError::Wrong | SyntaxError::OnlyBash => "not a program the shell understands",
        };
        analysis.unresolved.push(Unresolved { why, shown: walk::shorten(text) });
    }
    if cut {
        analysis.words = Some(scan::words(text));
    }
    if analysis.commands.len() != 1 || cut {
        analysis.single = false;
    }
    catastrophe::substituted_download(&mut analysis);
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
    analysis.words = analysis.words.take().or(other.words);
}
