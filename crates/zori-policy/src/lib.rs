//! Whether a call may run: one pure function of a policy and a call (`docs/contracts/permissions.md`,
//! `docs/contracts/paths.md` and `docs/contracts/trust.md`).
//!
//! Start with [`decide`](fn@decide), then `steps`: the twelve steps as one table. [`Policy`] is what holds, [`Call`] what
//! is asked about; both are values that somebody else has gathered. Nothing here looks at the disk, the environment or
//! the clock, and nothing runs anything. What a shell text would do is `zori-shell`'s to say.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod blacklist;
pub mod call;
mod classified;
pub mod decide;
pub mod file;
pub mod git;
pub mod grants;
mod matching;
pub mod mode;
pub mod paths;
pub mod policy;
pub mod repository;
pub mod rules;
mod steps;
pub mod table;
#[cfg(test)]
mod testing;
pub mod withheld;

pub use call::Call;
pub use decide::{decide, explain};
pub use mode::{Mode, ModeChoice, ModeSource};
pub use policy::{Approver, Policy};

// The examples of the README compile, and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
