//! A model's mistakes, played to the executable: the goals of `docs/contracts/forgiveness.md`, and no wrong effect.
//!
//! A case that is worth less than 2 points is listed in the snapshot of its group, so that nothing gets worse unseen.

use std::path::Path;

use zori_testkit::forgiveness::{self, GROUPS, Scored, Summary};
use zori_testkit::needs;

/// Plays a group, and returns the cases that are not worth all points.
#[track_caller]
fn flawed(letter: char) -> String {
    let group = GROUPS.iter().find(|group| group.letter == letter).expect("the group is there");
    let scored = forgiveness::play(Path::new(env!("CARGO_BIN_EXE_zori")), group);
    let listed: Vec<String> =
        scored.iter().filter(|scored| scored.points < 2).map(Scored::to_string).collect();
    let summary = Summary::of(&scored);
    assert!(summary.reaches(group), "{summary:?}\n{}", listed.join("\n"));
    let brief = |scored: &&Scored| scored.points < 2;
    scored.iter().filter(brief).map(|scored| format!("{} {}\n", scored.points, scored.name)).collect()
}

#[test]
fn edits() {
    // One letter means no particular place, so nothing is overlooked around it.
    insta::assert_snapshot!(flawed('A'), @"1 a line end that the last line does not have");
}

#[test]
fn patches() {
    insta::assert_snapshot!(flawed('B'), @r"
    1 an added file without its plus signs
    1 a patch that was escaped twice
    ");
}

#[test]
fn calls() {
    insta::assert_snapshot!(flawed('C'), @"1 the insertion of str_replace_based_edit_tool");
}

#[test]
fn commands() {
    // The tool runs bash where it exists, and half of these are about that.
    if needs::program("bash").is_none() {
        return;
    }
    insta::assert_snapshot!(flawed('D'), @"");
}

#[test]
fn replies() {
    insta::assert_snapshot!(flawed('E'), @"");
}

/// There are as many cases as the contract wants, and a refusal is short.
#[test]
fn there_are_enough_cases() {
    let cases: usize = GROUPS.iter().map(|group| forgiveness::case::parse(group).len()).sum();
    assert!(cases >= 370, "{cases}");
}
