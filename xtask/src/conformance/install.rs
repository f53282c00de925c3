//! The client libraries, installed into the target folder from the committed lists of versions and hashes.
//!
//! Native extras stay out: the SDKs would bring another agent's executable along.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace::Workspace;

/// What a client library is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    Python,
    TypeScript,
}

impl Language {
    /// Returns the folder with its drivers and its lists.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Python => "conformance/python",
            Self::TypeScript => "conformance/typescript",
        }
    }
}

/// What runs drivers of a language.
pub struct Installed {
    /// The interpreter.
    pub program: PathBuf,
    /// What comes before the folder of the cases.
    pub args: Vec<PathBuf>,
    /// The clients and their versions, for people.
    pub versions: String,
}

/// Makes the clients of a language ready; what is there already is used again.
pub fn install(workspace: &Workspace, folder: &Path, language: Language) -> Result<Installed> {
    match language {
        Language::Python => python(workspace, &folder.join("python")),
        Language::TypeScript => typescript(workspace, &folder.join("typescript")),
    }
}

/// A virtual environment. The SDK comes as source, since its wheels bundle an executable; what builds it is pinned, too.
fn python(workspace: &Workspace, folder: &Path) -> Result<Installed> {
    let ours = workspace.root.join(Language::Python.folder());
    let lists = ["build-requirements.txt", "requirements.txt"].map(|name| ours.join(name));
    let program = folder.join("bin/python");
    once(folder, &lists, || {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        for list in &lists {
            let mut pip = Command::new(&program);
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
            pip.args(["--require-hashes", "--no-build-isolation", "--no-binary", "claude-agent-sdk"]);
            pip.arg("--requirement").arg(list);
            run(&mut pip)?;
        }
        Ok(())
    })?;
    let versions = fs::read_to_string(&lists[1])?;
    let versions: Vec<_> =
        ["claude-agent-sdk", "agent-client-protocol", "anthropic", "openai", "google-genai"]
            .iter()
            .filter_map(|name| versions.lines().find(|line| line.starts_with(&format!("{name}=="))))
            .map(|line| line.trim_end_matches([' ', '\\']))
            .collect();
    Ok(Installed { program, args: vec![ours.join("drive.py")], versions: versions.join(", ") })
}

/// A folder with the modules and a copy of the drivers: modules are looked for beside the file that imports them.
fn typescript(workspace: &Workspace, folder: &Path) -> Result<Installed> {
    let ours = workspace.root.join(Language::TypeScript.folder());
    let lists = ["package.json", "package-lock.json", ".npmrc"].map(|name| ours.join(name));
    once(folder, &lists, || {
        for list in &lists {
            fs::copy(list, folder.join(list.file_name().context("a list is a file")?))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
        run(&mut npm)
    })?;
    let drivers = folder.join("drivers");
    if drivers.exists() {
        fs::remove_dir_all(&drivers)?;
    }
    for file in workspace.below(Language::TypeScript.folder()).filter(|file| file.path.ends_with(".mjs")) {
        let path = drivers.join(&file.path[Language::TypeScript.folder().len() + 1..]);
        fs::create_dir_all(path.parent().context("a driver lies in a folder")?)?;
        fs::write(path, &file.text)?;
    }
    let manifest: Value = serde_json::from_str(&fs::read_to_string(&lists[0])?)?;
    let clients = manifest["dependencies"].as_object().context("package.json has dependencies")?;
    let versions: Vec<_> = clients
        .iter()
        .filter(|(name, _)| name.starts_with('@'))
        .map(|(name, version)| format!("{name}@{}", version.as_str().unwrap_or_default()))
        .collect();
    Ok(Installed {
        program: "node".into(),
        args: vec![drivers.join("drive.mjs")],
        versions: versions.join(", "),
    })
}

/// Installs into a fresh folder unless that was done from the same lists.
fn once(folder: &Path, lists: &[PathBuf], install: impl FnOnce() -> Result<()>) -> Result<()> {
    let mut wanted = String::new();
    for list in lists {
        let text = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
        wanted.push_str(&text);
    }
    let stamp = folder.join("installed-from");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    eprintln!("installing clients into {} ...", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    install()?;
    Ok(fs::write(stamp, wanted)?)
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot run `{program}`; is it installed?"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installs_again_only_for_other_lists() {
        let temp = tempfile::tempdir().unwrap();
        let (list, folder) = (temp.path().join("list"), temp.path().join("to"));
        let mut runs = Vec::new();
        for (text, works) in [("a", true), ("a", true), ("b", false), ("b", true), ("b", true)] {
            fs::write(&list, text).unwrap();
            let mut ran = false;
            let done = once(&folder, std::slice::from_ref(&list), || {
                ran = true;
                ensure!(works, "no network");
                Ok(())
            });
            runs.push((ran, done.is_ok()));
        }
        assert_eq!(runs, [(true, true), (false, true), (true, false), (true, true), (false, true)]);
    }

    /// The lists name versions and hashes, and no server: which one is asked is the machine's business.
    #[test]
    fn the_lists_are_pinned() {
        let workspace = Workspace::load().unwrap();
        let text = |path: &str| workspace.text(path).unwrap_or_else(|| panic!("{path} is missing"));
        for list in ["requirements.txt", "build-requirements.txt"] {
            let list = text(&format!("conformance/python/{list}"));
            assert!(!list.contains("://"), "{list}");
            for package in list.replace("\\\n", "").lines() {
                assert!(package.contains("==") && package.contains("--hash=sha256:"), "{package}");
            }
        }
        let lock: Value = serde_json::from_str(text("conformance/typescript/package-lock.json")).unwrap();
        let packages = lock["packages"].as_object().unwrap();
        for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
            assert!(package["integrity"].is_string() && package["resolved"].is_null(), "{name}: {package}");
        }
        assert!(text("conformance/typescript/.npmrc").contains("omit=optional"));
    }
}
