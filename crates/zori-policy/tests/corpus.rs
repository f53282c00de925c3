//! The shared corpus of shell commands through the real decision (SH-12): every row gives its expected verdict.

use std::fmt::Write as _;

use zori_core::permission::{Class, Verdict};
use zori_core::tool::{Effect, ToolKind};
use zori_policy::file::{PolicyFile, Wanted};
use zori_policy::{Asker, Call, Choice, Mode, Policy, decide, table};

const PROFILES: &str = include_str!("../../../fixtures/shell/profiles.json");
const ROWS: &str = include_str!("../../../fixtures/shell/bypass.tsv");

fn policy(profile: &str) -> Policy {
    let file = PolicyFile::parse(PROFILES, "profiles.json").unwrap();
    let (policy, remarks) = file.policy(profile, "profiles.json").unwrap();
    assert_eq!(remarks, []);
    policy
}

fn shell(policy: &Policy, command: &str) -> Call {
    let effect = Effect::Exec { command: command.to_owned(), cwd: policy.ground.cwd.clone() };
    Call::new("bash", Some(ToolKind::Bash), &[effect], &policy.ground)
}

#[test]
fn every_row_as_expected() {
    let mut wrong = String::new();
    let mut rows = 0;
    for line in ROWS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, _, profile, command, wanted, why] = columns.as_slice() else {
            panic!("six columns: {line}")
        };
        let command: String = serde_json::from_str(command).unwrap();
        let policy = policy(profile);
        let decision = decide(&policy, &shell(&policy, &command));
        rows += 1;
        if !Wanted::parse(wanted).unwrap().is_met_by(decision.verdict) {
            let got = decision.verdict.as_str();
            writeln!(wrong, "{id} {profile} {command:?}: {got}, not {wanted} ({why}): {}", decision.reason)
                .unwrap();
        }
    }
    assert!(rows >= 237, "the corpus only grows");
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The shell's rows of the table of 2.3, with and without somebody to ask.
#[test]
fn every_cell_of_the_shell() {
    let examples = [("ls", Class::Xr), ("mkdir a", Class::Xf), ("make all", Class::X), ("$X a", Class::Xu)];
    for mode in Mode::ALL {
        for asker in [Asker::Present, Asker::Absent] {
            for (command, class) in examples {
                let policy = Policy { mode: Choice::implicit(*mode), asker, ..policy("bare") };
                let decision = decide(&policy, &shell(&policy, command));
                let cell = table::verdict(policy.mode, class);
                let expected =
                    if asker == Asker::Absent && cell == Verdict::Ask { Verdict::Deny } else { cell };
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
