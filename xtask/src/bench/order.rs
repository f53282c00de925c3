//! `cargo xtask order`: the functions that every start runs, and every step that runs a command, by their names in the executable. The
//! linker puts them side by side (`crates/zori/build.rs`). To be run when the compiler changes, or the bench says that memory has grown.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::area::Bench;
use super::programs::Programs;
use crate::test::cargo_command;
use crate::workspace::{Workspace, target_folder};

/// Where the names are kept.
const FILE: &str = "crates/zori/link-order.txt";

/// Writes the file anew.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    ensure!(args.is_empty(), "usage: cargo xtask order");
    let program = build_with_symbols(workspace)?;
    let known = symbols(&program)?;
    let bench = Bench::new(Programs::beside(workspace, &program)?)?;
    let temp = TempDir::new()?;
    let mut names: Vec<String> = Vec::new();
    for (number, profile) in bench.profiles(temp.path())?.iter().enumerate() {
        let text =
            fs::read_to_string(profile).with_context(|| format!("callgrind wrote no profile {number}"))?;
        let ran: BTreeSet<&str> = functions(&text).filter(|name| known.contains(*name)).collect();
        let fresh: Vec<&str> =
            ran.into_iter().filter(|name| !names.iter().any(|known| known == name)).collect();
        names.extend(fresh.into_iter().map(str::to_owned));
    }
    ensure!(names.len() > 500, "only {} functions were found", names.len());
    fs::write(workspace.root.join(FILE), names.join("\n") + "\n")?;
    println!("{} functions are in {FILE}", names.len());
    Ok(ExitCode::SUCCESS)
}

fn build_with_symbols(workspace: &Workspace) -> Result<PathBuf> {
    let mut cargo = cargo_command();
    cargo.args(["build", "--release", "--locked", "--package", "zori", "--config"]);
    cargo.arg("profile.release.package.zori.strip=\"none\"").current_dir(&workspace.root);
    ensure!(cargo.status().context("cannot run cargo")?.success(), "the release build failed");
    Ok(target_folder(workspace).join("release/zori"))
}

/// Returns the names of all that is in the executable.
fn symbols(program: &Path) -> Result<BTreeSet<String>> {
    let output = Command::new("nm").arg(program).output().context("cannot run nm")?;
    ensure!(output.status.success(), "nm cannot read {}", program.display());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(|line| line.rsplit(' ').next()).map(str::to_owned).collect())
}

/// Returns the names in a profile of callgrind's: `fn=(12) name` and `cfn=(12) name`, the second time without the name. A function that calls
/// itself is `name'2`.
fn functions(profile: &str) -> impl Iterator<Item = &str> {
    profile.lines().filter_map(|line| {
        let named = line.strip_prefix("cfn=").or_else(|| line.strip_prefix("fn="))?;
        let (_, name) = named.split_once(") ")?;
        Some(name.rsplit_once('\'').map_or(name, |(name, _)| name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_profile() {
        let profile = "events: Ir\nfn=(1) _ZN4zori4main17h0E\n0 12\ncfn=(2) _ZN3one17h1E'2\ncalls=1 0\nfn=(1)\nob=(3) /x\n";
        assert_eq!(functions(profile).collect::<Vec<_>>(), ["_ZN4zori4main17h0E", "_ZN3one17h1E"]);
    }

    /// Names of an older compiler would do nothing, and nobody would notice.
    #[test]
    fn the_file_has_names_of_functions() {
        let text = fs::read_to_string(Workspace::load().unwrap().root.join(FILE)).unwrap();
        let names: BTreeSet<&str> = text.lines().collect();
        assert_eq!(names.len(), text.lines().count(), "a name stands twice");
        let main = names.iter().filter(|name| name.contains("4zori4main")).count();
        assert!(names.len() > 500 && main > 0, "{} names", names.len());
    }
}
