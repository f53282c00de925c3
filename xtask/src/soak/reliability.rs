//! `cargo xtask soak reliability`: the table of `docs/contracts/reliability.md` with figure, goal and count. A row is a
//! guarantee and the tests that provoke its faults; a guarantee without tests says so by name. With `--hours` all rows are run
//! again and again, so that `--part` gives each of them something before the time is over; cases are summed up. A violation does
//! not end the run: it is told in the row, and at the end.

use std::time::Instant;

use anyhow::{Result, ensure};

use super::programs::Programs;
use super::suite::{Chosen, SuiteRun};
use super::{Time, rounds};

/// Rows whose figures have a name and no id.
pub(super) const NAMED: &[&str] = &["endurance", "ACP sessions"];

/// A guarantee.
struct Row {
    id: &'static str,
    /// What the contract asks for, in full.
    goal: &'static str,
    evidence: Evidence,
}

enum Evidence {
    /// Tests that cover it, by what `cargo test` takes.
    Tests(&'static [Chosen]),
    /// The same, of which the contract wants more than they do.
    Part(&'static [Chosen], &'static str),
    /// Nothing here measures it, and why, where there is a reason.
    Nothing(&'static str),
}

use Evidence::{Nothing, Part, Tests};

/// Behaviour tests whose names begin so.
macro_rules! it {
    ($($name:literal),+) => { &[$(Chosen::it("zori", $name)),+] };
}

/// Tests of the decoders whose names hold this.
macro_rules! streams {
    ($($name:literal),+) => { &[$(Chosen::it("zori-providers", $name)),+] };
}

/// Unit tests of a crate whose names hold this.
macro_rules! unit {
    ($package:literal, $($name:literal),+) => { &[$(Chosen::unit($package, $name)),+] };
}

const ROWS: &[Row] = &[
    row(
        "LOG-1",
        "1,000 kills, and at each call; 0 lost",
        Tests(it!["reliability::killer::killed", "reliability::calls::killed_at_each_call"]),
    ),
    row("LOG-2", "65,536 offsets", Tests(unit!["zori-store", "cut_at_every_byte"])),
    row("LOG-3", "20,000 mutations", Tests(unit!["zori-store", "two_thousand_mutations"])),
    row(
        "LOG-4",
        "0 inversions, every tool and provider",
        Part(it!["reliability::calls::order_of_calls"], "one tool, one provider"),
    ),
    row(
        "LOG-5",
        "all prefixes of 200 turns",
        Part(
            &[
                Chosen::it("zori", "reliability::calls::power_cuts"),
                Chosen::unit("zori-store", "syncs"),
                Chosen::unit("zori-store", "power"),
            ],
            "prefixes of the calls; unsynced writes are lost whole, not reordered",
        ),
    ),
    row(
        "LOG-6",
        "syncs failing at 1..20",
        Tests(&[
            Chosen::it("zori", "reliability::calls::failing_at_each_call"),
            Chosen::unit("zori-store", "a_failed_sync"),
            Chosen::unit("zori-store", "a_sync_is_not_believed"),
        ]),
    ),
    row("LOG-7", "every k", Tests(unit!["zori-store", "short_writes", "a_disk_that_is_full"])),
    row(
        "LOG-8",
        "500 rounds",
        Tests(it!["reliability::crowd::one_session", "reliability::killer::a_dead_process"]),
    ),
    row("LOG-9", "32 processes x 50 turns", Tests(it!["reliability::crowd::many_sessions"])),
    row(
        "LOG-10",
        "kill and fail at each call",
        Part(it!["reliability::calls::replaced_files"], "the trust store; config and index share its code"),
    ),
    row(
        "LOG-11",
        "strict validation in all cases above",
        Part(
            unit!["zori-store", "any_part_of_a_session"],
            "the kills above, with a strict server, and parts of one session",
        ),
    ),
    row("LOG-12", "1 GiB in 300 MiB, 5 s", Tests(it!["reliability::large"])),
    row("NET-1", "every cut of 40 fixtures", Tests(streams!["cuts"])),
    row("NET-2", "200 variants", Tests(streams!["properties"])),
    row("NET-3", "every cut, 5,000 mutations", Tests(streams!["mutations", "cuts"])),
    row("NET-4", "1,500 cases", Tests(it!["faults::every_event"])),
    row(
        "NET-5",
        "each phase x provider",
        Tests(it!["faults::waiting::each_phase", "faults::waiting::a_connection"]),
    ),
    row("NET-6", "120 cases", Tests(it!["faults::waiting::what_retry_after"])),
    row("NET-7", "1,000 schedules", Part(unit!["zori-engine", "retry"], "the schedules of retry.rs")),
    row(
        "NET-8",
        "truncation of 20 inputs, 0 executions",
        Part(unit!["zori-engine", "cut_off"], "the cases of the engine's tests"),
    ),
    row("NET-9", "10,000 cases", Tests(streams!["mutations", "properties"])),
    row("NET-10", "all providers", Tests(streams!["replies"])),
    row(
        "NET-11",
        "60 cases, under 100 MiB",
        Part(it!["faults::answers", "faults::redirects"], "without a measure of memory"),
    ),
    row("NET-12", "30 cases", Part(it!["faults::proxies"], "proxies; the rest is in zori-providers")),
    row("NET-13", "under 250 MiB", Part(streams!["endless"], "the bound on the text, not the resident size")),
    row("CH-1", "each tool, hook, server", Part(it!["processes::a_child_has_its_own"], "the shell tool")),
    row("CH-2", "40 modes x 25 runs, 0 survivors", Tests(it!["reliability::children::no_survivor"])),
    row(
        "CH-3",
        "200 runs, 0 orphans",
        Tests(it!["reliability::crowd::no_orphan", "processes::killing_zori"]),
    ),
    row("CH-4", "1 GiB in 160 MiB", Tests(it!["trouble::a_gibibyte"])),
    row("CH-5", "result within 2.5 s", Tests(it!["processes::a_background_process"])),
    row(
        "CH-6",
        "30 cases",
        Part(
            it!["reliability::ends", "tools::codes"],
            "without a limit on processes, which root does not have",
        ),
    ),
    row("CH-7", "256 values at each chunk edge", Tests(unit!["zori-tools", "every_byte_value"])),
    row(
        "CH-8",
        "20 runs",
        Part(it!["reliability::crowd::few_descriptors"], "descriptors; no limit on processes"),
    ),
    row("CH-9", "60 modes", Tests(it!["reliability::servers"])),
    row("CH-10", "500 runs", Tests(it!["reliability::crowd::many_calls"])),
    row("CH-11", "1,000 calls, difference 0", Tests(it!["reliability::children::nothing"])),
    row(
        "CAN-1",
        "16 states x 5 surfaces x 20",
        Part(
            it!["reliability::matrix::cancelled_in_each"],
            "12 states; not name resolution, the log, stdout, servers, shutdown",
        ),
    ),
    row(
        "CAN-2",
        "exit within 100 ms",
        Part(it!["reliability::matrix::cancelled_twice"], "12 states of `exec` and `--json`"),
    ),
    row(
        "CAN-3",
        "each state",
        Part(it!["reliability::matrix::signalled", "interrupt::sig"], "12 states of `exec`; no SIGTSTP"),
    ),
    row("CAN-4", "every call", Tests(it!["reliability::calls::written_files"])),
    row(
        "CAN-5",
        "10,000 interleavings",
        Part(unit!["zori-engine", "cancelling::anywhere"], "a cancel at each event of one turn"),
    ),
    row("CAN-6", "200 runs of 16 sessions", Tests(it!["reliability::editors::one_of_many"])),
    row("CAN-7", "2,000 signals", Tests(it!["reliability::killer::signalled"])),
    row(
        "IO-1",
        "resident under 150 MiB",
        Part(it!["slow_reader"], "a reader that pauses, and one that stops; none of 1 byte/s"),
    ),
    row("IO-2", "every event", Tests(it!["bad_input::a_reader_that"])),
    row("IO-3", "every state", Tests(it!["bad_input::the_end_at"])),
    row(
        "IO-4",
        "10,000 lines",
        Part(it!["bad_input::lines"], "the lines of bad_input.rs; more in the fuzz target `lines`"),
    ),
    row("IO-5", "every cut of 50 dialogues", Tests(it!["reliability::dialogues"])),
    row("IO-6", "0 foreign bytes", Tests(it!["one_write"])),
    row(
        "IO-7",
        "1,000 interleavings",
        Part(it!["stream_json::asking", "acp::permissions"], "the cases of these files"),
    ),
    row(
        "IO-8",
        "100 cases",
        Part(it!["chat::", "screen_chat::"], "the cases of these files; no paste of 10 MiB"),
    ),
    row(
        "FS-1",
        "500 sizes of a full disk",
        Tests(it![
            "reliability::crowd::files_that_cannot_grow",
            "reliability::crowd::small_disks",
            "reliability::calls::failing_at_each_call",
            "trouble::a_full_disk",
            "trouble::a_limit"
        ]),
    ),
    row("FS-2", "every call", Tests(it!["reliability::calls::written_files"])),
    row("FS-3", "25 cases", Part(it!["trouble::a_base", "trouble::no_"], "those of trouble.rs")),
    row("FS-4", "every call x 8 errors", Part(it!["reliability::calls::written_files"], "the write tool")),
    row("FS-5", "under 100 MiB, cancelled within 250 ms", Tests(it!["reliability::huge_files"])),
    row(
        "FS-6",
        "60 cases",
        Part(unit!["zori-tools", "read::", "edit::", "write::"], "the cases of these files"),
    ),
    row("FS-7", "500 races, 0 silent losses", Part(unit!["zori-tools", "seen"], "the cases of seen.rs")),
    row(
        "FS-8",
        "2,000 mutations",
        Part(it!["config::"], "the cases of config.rs; mutations are in the fuzz target `config`"),
    ),
    row("FS-9", "all versions", Tests(&[Chosen::it("zori-store", "fixtures")])),
    row(
        "DB-1",
        "inspection",
        Tests(&[
            Chosen::unit("zori-index", "db_1_"),
            Chosen::unit("zori-index", "tests::files"),
            Chosen::it("zori", "reliability::database::db_1_"),
        ]),
    ),
    row(
        "DB-2",
        "32 processes x 1,000 writes, 10,000 reads",
        Tests(unit!["zori-index", "writers_and_readers_at_once"]),
    ),
    row("DB-3", "1,000 kills, 0 lost", Tests(unit!["zori-index", "killed_at_any_time"])),
    row(
        "DB-4",
        "each page header, 2,000 bytes",
        Tests(&[
            Chosen::unit("zori-index", "tests::damage::damage_anywhere"),
            Chosen::unit("zori-index", "tests::damage::cut_off_anywhere"),
            Chosen::it("zori", "reliability::database::damaged_anywhere"),
        ]),
    ),
    row(
        "DB-5",
        "20 cases",
        Part(
            it!["reliability::database"],
            "locks and shared memory that are refused, in place of a network file system",
        ),
    ),
    row("DB-6", "every statement", Tests(unit!["zori-index", "a_migration_is_all_or_nothing"])),
    row("DB-7", "16 processes, 200 rounds", Tests(unit!["zori-index", "migrating_at_once"])),
    row("DB-8", "10,000 strings", Tests(unit!["zori-index", "any_text_can_be_asked_for"])),
    row("HOME-1", "20 cases", Part(unit!["zori-store", "lock::"], "locks of sessions")),
    row(
        "CLK-1",
        "jumps of 10 years change nothing but time stamps",
        Part(it!["reliability::clock"], "a turn with a retry and calls, by a shim before the C library"),
    ),
    row("CLK-2", "order never depends on time stamps", Tests(it!["reliability::clock"])),
    row(
        "CLK-3",
        "1970, 2038, 2100",
        Part(it!["reliability::clock"], "turns in these years; expiry of tokens is in zori-auth"),
    ),
    row(
        "CLK-4",
        "60 s stopped",
        Part(it!["reliability::crowd::stopped_and_continued"], "stopped and continued at once"),
    ),
    row("ENV-1", "40 cases", Part(it!["start", "trouble::no_"], "the cases of these files")),
    row(
        "endurance",
        "10,000 turns with faults, 20 MiB",
        Part(
            it!["reliability::endurance", "reliability::large::many_long_results"],
            "500 turns on one server; 2,000 calls with long results",
        ),
    ),
    row(
        "ACP sessions",
        "64 for 8 hours, 20 MiB",
        Part(it!["reliability::editors::many_sessions"], "120 turns each; hours by `--hours`"),
    ),
    row("start, idle, time between", "50 ms, 0.1 %, 10 ms", Nothing("`cargo xtask bench` measures these")),
    row("fuzz", "10 targets, 0 findings", Nothing("`cargo xtask soak fuzz` runs it")),
    row("suite repeat", "10 clean runs", Nothing("`cargo xtask soak repeat` runs it")),
];

const fn row(id: &'static str, goal: &'static str, evidence: Evidence) -> Row {
    Row { id, goal, evidence }
}

/// What the rounds so far have said of a row.
#[derive(Default)]
struct RowTally {
    rounds: u32,
    cases: u64,
    /// What the last round measured.
    figures: String,
    not_run: Vec<String>,
    /// Tests that failed, in any round.
    failed: Vec<String>,
}

impl RowTally {
    fn add(&mut self, id: &str, run: SuiteRun) {
        self.rounds += 1;
        self.cases += run.cases.max(run.passed);
        self.figures = run.figures(id);
        self.not_run = run.not_run;
        self.failed.extend(run.failed);
    }

    /// Returns the row's line of the table.
    fn line(&self, row: &Row) -> String {
        let only = match row.evidence {
            Part(_, what) => format!(" (only: {what})"),
            Tests(_) | Nothing(_) => String::new(),
        };
        let figure = match row.evidence {
            Nothing("") => "no suite measures this".to_owned(),
            Nothing(why) => format!("no suite measures this ({why})"),
            _ if !self.failed.is_empty() => format!("VIOLATED: {}", self.failed.join(", ")),
            _ if self.rounds == 0 => "not run: the time was over".to_owned(),
            _ if !self.not_run.is_empty() => format!("not run here: {}", self.not_run.join("; ")),
            _ if self.figures.is_empty() => format!("0 violations{only}"),
            _ => format!("{}{only}", self.figures),
        };
        format!("| {} | {figure} | {} | {} |", row.id, row.goal, self.cases)
    }
}

/// Runs every row, and prints the table.
pub(super) fn run(programs: &Programs, time: &Time) -> Result<()> {
    // Before hours are spent: a row whose tests are called otherwise would measure nothing.
    for row in ROWS {
        let (Tests(chosen) | Part(chosen, _)) = &row.evidence else { continue };
        for chosen in *chosen {
            ensure!(
                programs.has(chosen)?,
                "{}: no test of {} has `{}` in its name",
                row.id,
                chosen.package,
                chosen.name
            );
        }
    }
    let mut told: Vec<RowTally> = ROWS.iter().map(|_| RowTally::default()).collect();
    rounds(time, || {
        for (row, told) in ROWS.iter().zip(&mut told) {
            let (Tests(chosen) | Part(chosen, _)) = &row.evidence else { continue };
            if time.is_over() {
                break;
            }
            let began = Instant::now();
            let mut run = SuiteRun::default();
            for chosen in *chosen {
                run.add(SuiteRun::of(programs, time, chosen)?);
            }
            told.add(row.id, run);
            println!("{} in {:.0} s", told.line(row), began.elapsed().as_secs_f64());
        }
        Ok(())
    })?;
    println!("| id | figure | goal | cases |\n|---|---|---|---|");
    ROWS.iter().zip(&told).for_each(|(row, told)| println!("{}", told.line(row)));
    let violated: Vec<_> =
        ROWS.iter().zip(&told).filter(|(_, told)| !told.failed.is_empty()).map(|(row, _)| row.id).collect();
    ensure!(violated.is_empty(), "violated: {}", violated.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    /// Every guarantee of the contract is in the table, with evidence or without.
    #[test]
    fn every_guarantee_has_a_row() {
        let workspace = Workspace::load().unwrap();
        let contract = workspace.text("docs/contracts/reliability.md").unwrap();
        let ids =
            contract.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |").map(|(id, _)| id));
        let ids: Vec<&str> =
            ids.filter(|id| id.contains('-') && id.chars().next().is_some_and(char::is_uppercase)).collect();
        assert!(ids.len() > 50, "{ids:?}");
        let missing: Vec<_> = ids.iter().filter(|id| !ROWS.iter().any(|row| row.id == **id)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// A row that names a test which is not there would measure nothing.
    #[test]
    fn every_row_names_tests_that_exist() {
        let workspace = Workspace::load().unwrap();
        for row in ROWS {
            let (Tests(chosen) | Part(chosen, _)) = row.evidence else { continue };
            for Chosen { package, name: path, .. } in chosen {
                let name = path.rsplit("::").next().unwrap();
                let module = path.split("::").next().unwrap();
                let found = workspace
                    .below(&format!("crates/{package}"))
                    .any(|file| file.path.contains(module) || file.text.contains(&format!("fn {name}")));
                assert!(found, "{}: {package} {path}", row.id);
            }
        }
    }

    /// What a row says, by what its tests have said.
    #[test]
    fn lines_of_the_table() {
        let (whole, part) = (row("A-1", "7", Tests(&[])), row("A-2", "8", Part(&[], "a few")));
        let nothing = [row("A-3", "9", Nothing("")), row("A-4", "9", Nothing("elsewhere"))];
        let ran = |figures: &[&str], failed: &[&str], not_run: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            let figures = [("A-1".to_owned(), owned(figures)), ("A-2".to_owned(), owned(figures))].into();
            SuiteRun { cases: 5, passed: 1, failed: owned(failed), figures, not_run: owned(not_run) }
        };
        let line = |row: &Row, runs: Vec<SuiteRun>| {
            let mut told = RowTally::default();
            runs.into_iter().for_each(|run| told.add(row.id, run));
            told.line(row)
        };
        assert_eq!(line(&whole, vec![]), "| A-1 | not run: the time was over | 7 | 0 |");
        assert_eq!(line(&whole, vec![ran(&[], &[], &[])]), "| A-1 | 0 violations | 7 | 5 |");
        let two = vec![ran(&["1 ms"], &[], &[]), ran(&["2 ms"], &[], &[])];
        assert_eq!(line(&part, two), "| A-2 | 2 ms (only: a few) | 8 | 10 |");
        let two = vec![ran(&[], &["it::x"], &[]), ran(&[], &[], &[])];
        assert_eq!(line(&whole, two), "| A-1 | VIOLATED: it::x | 7 | 10 |");
        assert_eq!(
            line(&whole, vec![ran(&[], &[], &["no disk"])]),
            "| A-1 | not run here: no disk | 7 | 5 |"
        );
        assert_eq!(
            nothing.map(|row| line(&row, vec![])),
            [
                "| A-3 | no suite measures this | 9 | 0 |",
                "| A-4 | no suite measures this (elsewhere) | 9 | 0 |",
            ]
        );
    }
}
