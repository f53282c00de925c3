//! No crate that only tests want is built into the product, not even through a crate of others.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::Finding;
use crate::workspace::Workspace;

/// The program; what it is made of begins here.
const PRODUCT: &str = "zori";

/// Crates for tests.
const ONLY_FOR_TESTS: &[&str] = &["brush-parser", "insta", "proptest", "vt100", "zori-testkit"];

/// Follows the lock file from the program, and our own manifests where a crate is ours: the lock file names what its tests use, too.
pub fn find(workspace: &Workspace) -> Vec<Finding> {
    let lock = workspace.text("Cargo.lock").unwrap_or_default();
    let manifests = workspace.below("crates").filter(|file| file.name() == "Cargo.toml");
    match ways(lock, manifests.map(|file| file.text.as_str())) {
        Ok(ways) => ways.into_iter().map(|way| Finding::file("Cargo.lock", way)).collect(),
        Err(why) => vec![Finding::file("Cargo.lock", why)],
    }
}

/// Returns the way to each crate that should not be there.
fn ways<'a>(lock: &str, manifests: impl Iterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let lock: Table = lock.parse().map_err(|error| format!("does not parse: {error}"))?;
    for package in lock.get("package").and_then(Value::as_array).into_iter().flatten() {
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        let list = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        // A version stands behind the name where there are several.
        let names = list.filter_map(|entry| Some(entry.as_str()?.split(' ').next()?.to_owned()));
        needs.entry(name.to_owned()).or_default().extend(names);
    }
    for manifest in manifests {
        let manifest: Table =
            manifest.parse().map_err(|error| format!("a manifest does not parse: {error}"))?;
        let name = manifest.get("package").and_then(|p| p.get("name")).and_then(Value::as_str);
        let own = manifest.get("dependencies").and_then(Value::as_table);
        let own = own.map(|own| own.keys().cloned().collect()).unwrap_or_default();
        needs.insert(name.unwrap_or_default().to_owned(), own);
    }
    let (mut seen, mut open, mut found) = (BTreeSet::new(), vec![vec![PRODUCT.to_owned()]], Vec::new());
    while let Some(way) = open.pop() {
        let last = way.last().expect("a way has a beginning");
        if !seen.insert(last.clone()) {
            continue;
        }
        if ONLY_FOR_TESTS.contains(&last.as_str()) {
            found.push(format!("a crate for tests is part of the product: {}", way.join(" → ")));
        }
        let next = needs.get(last).into_iter().flatten();
        open.extend(next.map(|next| [way.clone(), vec![next.clone()]].concat()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_for_tests_is_found_behind_others() {
        let lock = "[[package]]\nname = \"zori\"\ndependencies = [\"a 1.0.0\", \"proptest\"]\n\
            [[package]]\nname = \"a\"\ndependencies = [\"insta\"]\n[[package]]\nname = \"insta\"\n";
        let manifest = "[package]\nname = \"zori\"\n[dependencies]\na.workspace = true\n\
            [dev-dependencies]\nproptest.workspace = true\n";
        assert_eq!(
            ways(lock, [manifest].into_iter()),
            Ok(vec!["a crate for tests is part of the product: zori → a → insta".to_owned()])
        );
    }
}
