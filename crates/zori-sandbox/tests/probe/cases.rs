//! The table of escape cases. Each is a command for `sh`; it has escaped if it prints `ESCAPED` or the secret, or if
//! anything outside has changed.
//!
//! The shell knows: `$H` a home with secrets, `$O` a directory outside, `$W` the workspace (where it starts), `$P` the
//! probe, `$Z` the process that stands for zori, `$V` a victim's process, and the listeners' `$TCP`, `$TCP6`, `$UDP`,
//! `$SOCK`, `$DGRAM`, `$ABS`.

mod files;
mod kernel;
mod network;
mod processes;
mod protected;

/// A case.
#[derive(Clone, Copy)]
pub struct Case {
    pub id: &'static str,
    pub sh: &'static str,
    pub on: On,
    pub free: Free,
}

/// Which backends promise to hold it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum On {
    Both,
    /// Landlock does not promise it: see `SECURITY.md`.
    Bubblewrap,
}

/// What it does to an ordinary user who has no sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Free {
    /// It escapes, so a sandbox that holds it does something.
    Escapes,
    /// The kernel refuses it already; it is for root, or for kernels that are built otherwise.
    Held,
    /// It depends on the machine.
    Either,
}

/// A case that escapes when there is no sandbox.
const fn case(id: &'static str, sh: &'static str) -> Case {
    Case { id, sh, on: On::Both, free: Free::Escapes }
}

/// A case that an ordinary user cannot do anyway.
const fn root(id: &'static str, sh: &'static str) -> Case {
    Case { id, sh, on: On::Both, free: Free::Held }
}

/// A case that depends on what the machine has.
const fn maybe(id: &'static str, sh: &'static str) -> Case {
    Case { id, sh, on: On::Both, free: Free::Either }
}

/// A case that only namespaces hold.
const fn space(id: &'static str, sh: &'static str) -> Case {
    Case { id, sh, on: On::Bubblewrap, free: Free::Escapes }
}

/// Returns all cases.
pub fn all() -> impl Iterator<Item = &'static Case> {
    [files::CASES, protected::CASES, processes::CASES, network::CASES, kernel::CASES].into_iter().flatten()
}
