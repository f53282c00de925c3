//! A model's mistakes: cases from `fixtures/forgiveness/`, played to the executable by a scripted model, and scored
//! (`docs/contracts/forgiveness.md`).
//!
//! [`case`] reads the tables, [`play`] runs one case, [`score`] says what came of it. The tests of the executable and
//! `cargo xtask bench forgiveness` print the same [`Scored`] values.

pub mod case;
mod play;
pub mod score;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub use case::{Case, GROUPS, Group};
pub use score::{Scored, Summary};

/// How many cases run at the same time.
const AT_ONCE: usize = 4;

/// Plays every case of a group; the results are in the order of the table.
///
/// # Panics
///
/// When the table cannot be read.
pub fn play(binary: &Path, group: &Group) -> Vec<Scored> {
    let cases = case::parse(group);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let scored = score::score(case, &play::play(binary, case));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(scored);
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|scored| cases.iter().position(|case| case.name == scored.name));
    done
}
