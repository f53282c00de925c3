//! Keeps `docs/cli-agent-spec.md` honest: every requirement has a row, and a row that says `met` names a test that exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One row of the table.
struct Row {
    id: String,
    state: String,
    place: String,
}

fn rows() -> Vec<Row> {
    let page = root().join("docs/cli-agent-spec.md");
    let text = std::fs::read_to_string(&page).expect("the page is there");
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    let is_row =
        |line: &&str| line.starts_with("| F-") || line.starts_with("| C-") || line.starts_with("| O-");
    text.lines()
        .filter(is_row)
        .map(|line| {
            let cells = cells(line);
            assert_eq!(cells.len(), 4, "{line}");
            Row { id: cells[0].clone(), state: cells[2].clone(), place: cells[3].clone() }
        })
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_requirement_has_one_row() {
    let ids: Vec<_> = rows().into_iter().map(|row| row.id).collect();
    let wanted: Vec<_> = [("F", 78), ("C", 30), ("O", 50)]
        .iter()
        .flat_map(|(letter, count)| (1..=*count).map(move |n| format!("{letter}-{n:03}")))
        .collect();
    assert_eq!(ids, wanted);
}

#[test]
fn what_is_met_names_a_test_that_exists() {
    for Row { id, state, place } in rows() {
        match state.as_str() {
            "met" => {
                let tests: Vec<_> =
                    place.split('`').skip(1).step_by(2).filter(|name| name.contains("::")).collect();
                assert!(!tests.is_empty(), "{id} names no test");
                for test in tests {
                    assert!(exists(test), "{id}: there is no test `{test}`");
                }
            }
            "not applicable" => assert!(!place.is_empty(), "{id} does not say why"),
            other => panic!("{id}: `{other}` is no state"),
        }
    }
}

/// Looks for `crate::path::to::test`: the crate's folder (or that of `xtask`), a file called like one of the modules, a test of that name in it.
fn exists(name: &str) -> bool {
    let parts: Vec<_> = name.split("::").collect();
    let [krate, modules @ .., test] = parts.as_slice() else { return false };
    let modules: BTreeSet<_> = modules.iter().copied().collect();
    let mut found = false;
    let place = if *krate == "xtask" { root() } else { root().join("crates") };
    let mut folders = vec![place.join(krate)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if modules.contains(stem) && path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                found |= text.contains(&format!("#[test]\n    fn {test}()"))
                    || text.contains(&format!("#[test]\nfn {test}()"));
            }
        }
    }
    found
}

#[test]
fn a_test_that_does_not_exist_is_noticed() {
    assert!(exists("zori-contract::requirements::every_requirement_has_one_row"));
    assert!(!exists("zori-contract::requirements::nothing_of_the_kind"));
    assert!(!exists("zori-contract::answers::every_requirement_has_one_row"));
}
