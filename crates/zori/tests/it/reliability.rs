//! The suites of `docs/contracts/reliability.md` that run the executable: it is killed, signalled and starved, and what it
//! leaves is looked at by an oracle. CI runs a part of each, `cargo xtask soak reliability` all; each says what it measured in
//! a line that begins with its id and ends with the number of cases.

mod calls;
mod children;
mod clock;
mod crowd;
mod database;
mod dialogues;
mod editors;
mod ends;
mod endurance;
mod huge_files;
pub(crate) mod interposer;
mod killer;
mod large;
mod left_over;
mod line_client;
mod matrix;
mod oracle;
mod servers;

pub(crate) use self::large::resident;

/// Prints a row of the table: the id of the guarantee, what was measured, and how many cases that took.
#[expect(clippy::print_stdout, reason = "`cargo xtask soak reliability` reads the rows there")]
pub(crate) fn row(id: &str, figure: impl std::fmt::Display, cases: usize) {
    println!("{id}: {figure}: {cases} cases");
}
