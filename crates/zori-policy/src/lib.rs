//! Whether a call may run: one pure function of a policy and a call (`security.md` chapters 2, 4, 5 and 6).
//!
//! Start with [`decide`](fn@decide), then `steps`: the twelve steps as one table. [`Policy`] is what holds, [`Call`] what
//! is asked about; both are values that somebody else has gathered. Nothing here looks at the disk, the environment or
//! the clock, and nothing runs anything. What a shell text would do is `zori-shell`'s to say.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod always;
pub mod blacklist;
pub mod call;
pub mod decide;
pub mod file;
pub mod git;
mod matching;
pub mod mode;
pub mod paths;
pub mod policy;
pub mod rules;
mod steps;
mod subject;
pub mod table;
#[cfg(test)]
mod testing;
pub mod withheld;

pub use call::Call;
pub use decide::{decide, explain};
pub use mode::{Choice, Chosen, Mode};
pub use policy::{Asker, Policy};
