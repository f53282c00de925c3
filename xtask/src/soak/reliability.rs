//! `cargo xtask soak reliability`: the table of `docs/contracts/reliability.md` with figure, goal and count. A row is a
//! guarantee and the tests that provoke its faults; a guarantee without tests says so by name.

use std::collections::BTreeMap;

use anyhow::Result;

use super::{SuiteRun, Time, rounds, suite};
use crate::fuzz;
use crate::workspace::Workspace;

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
    Tests(&'static [&'static [&'static str]]),
    /// The same, of which the contract wants more than they do.
    Part(&'static [&'static [&'static str]], &'static str),
    /// The fuzz targets, as long as in CI; hours are `cargo xtask soak fuzz`.
    Fuzz,
    /// Nothing here measures it, and why, where there is a reason.
    Nothing(&'static str),
}

use Evidence::{Fuzz, Nothing, Part, Tests};

/// Behaviour tests whose names begin so.
macro_rules! it {
    ($($name:literal),+) => { &[$(&["--package", "zori", "--test", "it", $name]),+] };
}

/// Tests of the decoders whose names hold this.
macro_rules! streams {
    ($($name:literal),+) => { &[$(&["--package", "zori-providers", "--test", "it", $name]),+] };
}

/// Unit tests of a crate whose names hold this.
macro_rules! unit {
    ($package:literal, $($name:literal),+) => { &[$(&["--package", $package, "--lib", $name]),+] };
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
                &["--package", "zori", "--test", "it", "reliability::calls::power_cuts"],
                &["--package", "zori-store", "--lib", "syncs"],
                &["--package", "zori-store", "--lib", "power"],
            ],
            "prefixes of the calls; unsynced writes are lost whole, not reordered",
        ),
    ),
    row(
        "LOG-6",
        "syncs failing at 1..20",
        Tests(&[
            &["--package", "zori", "--test", "it", "reliability::calls::failing_at_each_call"],
            &["--package", "zori-store", "--lib", "a_failed_sync"],
            &["--package", "zori-store", "--lib", "a_sync_is_not_believed"],
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
    row("NET-2", "200 variants", Tests(streams!["generated"])),
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
        Part(unit!["zori-engine", "assemble"], "the inputs of the assembly's tests"),
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
    row("FS-6", "60 cases", Part(unit!["zori-tools", "textfile", "read::"], "the cases of these files")),
    row("FS-7", "500 races, 0 silent losses", Part(unit!["zori-tools", "seen"], "the cases of seen.rs")),
    row(
        "FS-8",
        "2,000 mutations",
        Part(it!["config::"], "the cases of config.rs; mutations are in the fuzz target `config`"),
    ),
    row("FS-9", "all versions", Tests(&[&["--package", "zori-store", "--test", "it", "fixtures"]])),
    row(
        "DB-1",
        "inspection",
        Part(unit!["zori-index", "tests::files"], "not `synchronous=FULL` with `durability`"),
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
            &["--package", "zori-index", "--lib", "tests::damage::damage_anywhere"],
            &["--package", "zori-index", "--lib", "tests::damage::cut_off_anywhere"],
            &["--package", "zori", "--test", "it", "reliability::database::damaged_anywhere"],
        ]),
    ),
    row(
        "DB-5",
        "20 mounts",
        Part(it!["reliability::database"], "full disks and a read-only file; no network file system"),
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
    row("fuzz", "10 targets, 0 findings", Fuzz),
    row("suite repeat", "10 clean runs", Nothing("`cargo xtask soak repeat` runs it")),
];

const fn row(id: &'static str, goal: &'static str, evidence: Evidence) -> Row {
    Row { id, goal, evidence }
}

/// Runs every row, and prints the table.
pub(super) fn run(workspace: &Workspace, time: &Time) -> Result<()> {
    rounds(time, || {
        let mut table = Vec::new();
        for row in ROWS {
            let (filters, missing) = match &row.evidence {
                Tests(filters) => (*filters, ""),
                Part(filters, what) => (*filters, *what),
                Fuzz => {
                    let (targets, cases) = fuzz::run(workspace, fuzz::IN_CI)?;
                    table.push(line(row.id, &format!("{targets} targets, 0 findings"), row.goal, cases));
                    continue;
                }
                Nothing(why) => {
                    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
                    table.push(line(row.id, &format!("no suite measures this{why}"), row.goal, 0));
                    continue;
                }
            };
            let mut ran = SuiteRun::default();
            for filter in filters {
                ran.add(suite(workspace, time, filter)?);
            }
            anyhow::ensure!(ran.passed > 0, "{}: no test has one of these names: {filters:?}", row.id);
            if !ran.not_run.is_empty() {
                let why = ran.not_run.join("; ");
                table.push(line(row.id, &format!("not run here: {why}"), row.goal, ran.cases));
                continue;
            }
            let figure = match (ran.figures(row.id), missing) {
                (figures, "") if !figures.is_empty() => figures,
                (figures, missing) if !figures.is_empty() => format!("{figures} (only: {missing})"),
                (_, "") => "0 violations".to_owned(),
                (_, missing) => format!("0 violations (only: {missing})"),
            };
            table.push(line(row.id, &figure, row.goal, ran.cases.max(ran.passed)));
        }
        println!("| id | figure | goal | cases |\n|---|---|---|---|");
        table.iter().for_each(|line| println!("{line}"));
        Ok(())
    })
}

fn line(id: &str, figure: &str, goal: &str, cases: u64) -> String {
    format!("| {id} | {figure} | {goal} | {cases} |")
}

/// Joins what tests said of a guarantee: `ID: figure: N cases`.
pub(super) fn figures(said: &BTreeMap<String, Vec<String>>, id: &str) -> String {
    said.get(id).map(|figures| figures.join("; ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let filters = match row.evidence {
                Tests(filters) | Part(filters, _) => filters,
                Fuzz | Nothing(_) => continue,
            };
            for filter in filters {
                let name = filter.last().unwrap().rsplit("::").next().unwrap();
                let module = filter.last().unwrap().split("::").next().unwrap();
                let crate_name = filter[1];
                let found = workspace
                    .below(&format!("crates/{crate_name}"))
                    .any(|file| file.path.contains(module) || file.text.contains(&format!("fn {name}")));
                assert!(found, "{}: {filter:?}", row.id);
            }
        }
    }
}
