//! The programs that hold the workspace's tests. They are built once for the whole run: what is edited meanwhile does not get
//! into it, and no row waits for cargo.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::suite::{Chosen, Part};
use crate::test::cargo_command;
use crate::workspace::Workspace;

/// Test programs, by the package they belong to and which of its two they are.
#[derive(Default)]
pub(super) struct Programs(BTreeMap<(String, Part), Program>);

struct Program {
    executable: PathBuf,
    /// The package's folder, in which its tests run.
    folder: PathBuf,
}

impl Programs {
    /// Builds every test of the workspace.
    pub(super) fn build(workspace: &Workspace) -> Result<Self> {
        let mut command = cargo_command();
        command.args(["test", "--workspace", "--locked", "--no-run", "--quiet", "--message-format=json"]);
        command.current_dir(&workspace.root).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot run cargo")?;
        let stdout = child.stdout.take().context("stdout is a pipe")?;
        let mut programs = BTreeMap::new();
        for line in BufReader::new(stdout).lines() {
            programs.extend(serde_json::from_str::<Value>(&line?).ok().and_then(|told| parse(&told)));
        }
        ensure!(child.wait()?.success(), "the tests do not build");
        Ok(Self(programs))
    }

    /// Returns whether any test is chosen by this.
    pub(super) fn has(&self, chosen: &Chosen) -> Result<bool> {
        let listed = self.command(chosen)?.arg("--list").output().context("cannot list tests")?;
        Ok(String::from_utf8_lossy(&listed.stdout).lines().any(|line| line.ends_with(": test")))
    }

    /// Returns the command that runs the chosen tests.
    pub(super) fn command(&self, chosen: &Chosen) -> Result<Command> {
        let Chosen { package, part, name } = *chosen;
        let program = self.0.get(&(package.to_owned(), part));
        let program = program.with_context(|| format!("`{package}` has no tests of the kind {part:?}"))?;
        let mut command = Command::new(&program.executable);
        command.args(["--quiet", "--nocapture", "--test-threads", "1"]);
        command.args(Some(name).filter(|name| !name.is_empty()));
        command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
        Ok(command)
    }
}

/// Reads what cargo says of something it has built; `None` is no program with tests.
fn parse(told: &Value) -> Option<((String, Part), Program)> {
    let executable = told["executable"].as_str().filter(|_| told["profile"]["test"] == true)?;
    let part = match (told["target"]["kind"][0].as_str()?, told["target"]["name"].as_str()?) {
        ("lib", _) => Part::Library,
        ("test", "it") => Part::Behaviour,
        _ => return None,
    };
    let folder = Path::new(told["manifest_path"].as_str()?).parent()?;
    // A package lies in the folder of its name.
    let package = folder.file_name()?.to_str()?.to_owned();
    Some(((package, part), Program { executable: executable.into(), folder: folder.to_owned() }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cargo_has_built() {
        let built = |kind: &str, name: &str, test: bool| {
            let told = json!({
                "reason": "compiler-artifact", "manifest_path": "/w/crates/zori-store/Cargo.toml",
                "target": {"kind": [kind], "name": name}, "profile": {"test": test}, "executable": "/w/target/it-1",
            });
            parse(&told).map(|((package, part), program)| (package, part, program.executable, program.folder))
        };
        let program = |part| {
            Some(("zori-store".to_owned(), part, "/w/target/it-1".into(), "/w/crates/zori-store".into()))
        };
        assert_eq!(built("test", "it", true), program(Part::Behaviour));
        assert_eq!(built("lib", "zori_store", true), program(Part::Library));
        assert_eq!([built("bin", "zori", true), built("lib", "zori_store", false)], [None, None]);
        assert!(parse(&json!({"reason": "build-finished", "success": true})).is_none());
    }

    #[test]
    fn tests_that_are_not_there() {
        let error = Programs::default().command(&Chosen::it("zori", "x")).unwrap_err();
        assert_eq!(error.to_string(), "`zori` has no tests of the kind Behaviour");
    }
}
