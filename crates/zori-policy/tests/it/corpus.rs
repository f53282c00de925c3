//! The shared corpus of shell commands through the real decision (SH-12): every row gives its expected verdict.

use std::fmt::Write as _;

use zori_core::permission::{Class, Verdict};
use zori_policy::file::ExpectedVerdict;
use zori_policy::{Approver, Mode, ModeChoice, Policy, decide, table};

use crate::profile::{policy, shell};

const ROWS: &str = include_str!("../../../../fixtures/shell/bypass.tsv");
const ROWS_2: &str = include_str!("../../../../fixtures/shell/bypass-2.tsv");
const OWN: &str = include_str!("../../../../fixtures/shell/own.tsv");
const EVERYDAY: &str = include_str!("../../../../fixtures/shell/everyday.tsv");
const VARIANTS: &str = include_str!("../../../../fixtures/shell/variants.tsv");

/// Returns how many rows there are, and what is wrong with them. The last four columns are the same in every file.
fn classified_command(rows: &str) -> (usize, String) {
    let (mut count, mut wrong) = (0, String::new());
    for line in rows.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, .., profile, command, wanted, why] = columns.as_slice() else {
            panic!("five columns at least: {line}")
        };
        let command: String = serde_json::from_str(command).expect("a JSON string");
        let policy = policy(profile);
        let decision = decide(&policy, &shell(&policy, &command));
        count += 1;
        if !ExpectedVerdict::parse(wanted).expect("a verdict").is_met_by(decision.verdict) {
            let got = decision.verdict.as_str();
            writeln!(wrong, "{id} {profile} {command:?}: {got}, not {wanted} ({why}): {}", decision.reason)
                .expect("a string takes everything");
        }
    }
    (count, wrong)
}

#[test]
fn every_row_as_expected() {
    let (rows, wrong) = classified_command(ROWS);
    assert!(rows >= 237, "the corpus only grows");
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The rows of the first penetration test.
#[test]
fn every_row_of_the_second_corpus() {
    let (rows, wrong) = classified_command(ROWS_2);
    assert!(rows >= 315, "the corpus only grows");
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// What we tried ourselves.
#[test]
fn every_row_of_our_own() {
    let (rows, wrong) = classified_command(OWN);
    assert!(rows >= 2000, "the corpus only grows");
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// SH-13: what people run every day is not asked about without need.
#[test]
fn everyday_commands() {
    let (rows, wrong) = classified_command(EVERYDAY);
    assert!(rows >= 500, "the list only grows");
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// SH-14: denied commands in the disguises that the property tests make.
#[test]
fn kept_variants() {
    let (rows, wrong) = classified_command(VARIANTS);
    assert!(rows >= 200, "the list only grows");
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The shell's rows of the table of `docs/contracts/permissions.md`, with and without somebody to ask.
#[test]
fn every_cell_of_the_shell() {
    let examples = [
        ("ls", Class::ShellRead),
        ("mkdir a", Class::ShellFile),
        ("make all", Class::Shell),
        ("$X a", Class::ShellUnknown),
    ];
    for mode in Mode::ALL {
        for approver in [Approver::Present, Approver::Absent] {
            for (command, class) in examples {
                let policy = Policy { mode: ModeChoice::implicit(*mode), approver, ..policy("bare") };
                let decision = decide(&policy, &shell(&policy, command));
                let cell = table::verdict(policy.mode, class);
                let expected =
                    if approver == Approver::Absent && cell == Verdict::Ask { Verdict::Deny } else { cell };
                assert_eq!(
                    (decision.class, decision.verdict),
                    (class, expected),
                    "{mode:?} {command}: {}",
                    decision.reason
                );
            }
        }
    }
}
