//! What a shell text would do, by its grammar (`security.md` chapters 3 and 5).
//!
//! [`analyse`] takes a text as it would be given to `sh -c` and returns every simple command it could start, with what
//! each reads, writes and starts in turn, or says what cannot be known. It knows nothing of rules, modes or verdicts:
//! `zori-policy` decides. It is pure: no files, no environment, no clock.
//!
//! Start with [`analysis`], the answer.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod analysis;
pub mod danger;
pub mod scene;

pub use analysis::{
    Analysis, Command, CommandEffect, LiteralWords, Target, TargetPath, Unresolved, Via, Word,
};
pub use danger::{DANGERS, Danger, DangerKind};
pub use scene::Scene;

/// Returns what `text` would do under every shell that may read it. Total: there is no text it has no answer for.
pub fn analyse(text: &str, scene: &Scene) -> Analysis {
    let _ = scene;
    Analysis {
        unresolved: vec![Unresolved { why: "not analysed", shown: text.to_owned() }],
        ..Analysis::default()
    }
}
