//! What a sandbox adds to a command: the `bash` tool running `true` without one, in bubblewrap and in Landlock, in turns.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::value::RawValue;
use tempfile::TempDir;
use zori_core::cancel::Cancel;
use zori_core::confine::{Confine, Consent};
use zori_core::ids::CallId;
use zori_core::permission::PathSnapshot;
use zori_core::tool::{Tool, ToolCx};
use zori_policy::paths::places::{StubKind, Writer};
use zori_policy::paths::{Workspace, WorkspaceParts};
use zori_sandbox::{
    Backend, Level, Limits, Machine, Network, PathKind, ProtectedPath, Requirement, Sandbox, Spec,
};
use zori_tools::bash::Bash;
use zori_tools::env::ToolEnv;
use zori_tools::process::Processes;

use super::area::{Bench, RUNS};
use super::figure::{Bar, Figure, median, ms};
use super::run::in_ms;
use super::search::environment;

/// Measures both kinds (SB-9).
pub fn sandbox(_: &Bench) -> Result<Vec<Figure>> {
    measure(RUNS)
}

fn measure(runs: usize) -> Result<Vec<Figure>> {
    let folders = TestFolders::new()?;
    let machine = Machine::detect(&folders.workspace.roots);
    let Backend::Bubblewrap(program) = machine.backend.clone() else {
        anyhow::bail!("there is nothing to compare: {}", machine.explain().join("; "));
    };
    let landlock = Machine::from_findings(Err("it is left out".to_owned()), machine.landlock);
    ensure!(landlock.backend != Backend::None, "{}", landlock.explain().join("; "));
    let bubblewrap = Machine::from_findings(Ok(program), machine.landlock);
    let confined = |machine| {
        Arc::new(Sandbox::with_machine(machine, folders.spec(), Requirement::Auto)) as Arc<dyn Confine>
    };
    let kinds = [None, Some(confined(bubblewrap)), Some(confined(landlock))];
    let tools = kinds.map(|confine| {
        let processes = Arc::new(Processes::new(folders.temp.clone()));
        Bash::new(Arc::new(ToolEnv { confine, ..environment(&folders.root) }), processes)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let args = RawValue::from_string(r#"{"command":"true"}"#.to_owned())?;
    let mut seen = [Vec::new(), Vec::new(), Vec::new()];
    // The first pass of each warms the caches and is not counted.
    for round in 0..=runs {
        for (tool, seen) in tools.iter().zip(&mut seen) {
            let (call, cancel) = (CallId::new("bench"), Cancel::new());
            let started = Instant::now();
            let output = runtime.block_on(tool.run(
                ToolCx {
                    call,
                    cancel,
                    consent: Consent::Rule,
                    live: None,
                    agents: None,
                    search: None,
                    ask: None,
                    snapshot: PathSnapshot::default(),
                    answers: Vec::new(),
                },
                &args,
            ));
            let elapsed = in_ms(started.elapsed());
            let end = output.process.with_context(|| format!("no command ran: {}", output.envelope.get()))?;
            ensure!(end.exit_code == 0, "the command failed: {}", output.envelope.get());
            if round > 0 {
                seen.push(elapsed);
            }
        }
    }
    let [plain, bubblewrap, landlock] = seen.map(|times| median(&times));
    let added = |name, boxed: f64, bar| Figure { name, measured: ms(boxed - plain), floor: None, bar };
    Ok(vec![
        Figure { name: "a command without a sandbox", measured: ms(plain), floor: None, bar: Bar::None },
        added("what bubblewrap adds to it", bubblewrap, Bar::Under(60.0)),
        added("what Landlock adds to it", landlock, Bar::Under(5.0)),
    ])
}

/// A workspace, and a home directory with secrets in it.
struct TestFolders {
    root: PathBuf,
    temp: PathBuf,
    workspace: Workspace,
    /// Removes all of it.
    _folder: TempDir,
}

impl TestFolders {
    fn new() -> Result<Self> {
        let folder = TempDir::new()?;
        let top = folder.path().canonicalize()?;
        let [root, temp, home] = ["work", "temp", "home"].map(|name| top.join(name));
        for path in
            [&root, &temp, &root.join(".git"), &root.join("src"), &home.join(".ssh"), &home.join(".aws")]
        {
            std::fs::create_dir_all(path)?;
        }
        let workspace = Workspace::new(WorkspaceParts {
            roots: vec![root.clone()],
            cwd: root.clone(),
            home: Some(home.clone()),
            data_dir: Some(home.join(".config/zori")),
            path_dirs: Vec::new(),
            sensitive: Vec::new(),
        });
        Ok(Self { root, temp, workspace, _folder: folder })
    }

    fn spec(&self) -> Spec {
        let protected = self.workspace.protected_places(Writer::Any).into_iter().map(|place| ProtectedPath {
            stub: match place.stub {
                StubKind::File => Some(PathKind::File),
                StubKind::Folder => Some(PathKind::Dir),
                StubKind::Unseen => None,
            },
            path: place.path,
        });
        Spec {
            level: Level::Workspace,
            roots: self.workspace.roots.clone(),
            caches: Vec::new(),
            temp: self.temp.clone(),
            hidden: self.workspace.sensitive_places(&names),
            visible: self.workspace.readable_places(),
            protected: protected.collect(),
            network: Network::Off,
            limits: Limits { processes: None, file_size: None, memory: None },
        }
    }
}

fn names(folder: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds of a debug build say nothing; that something is measured does.
    #[test]
    fn both_kinds_are_measured() {
        if !zori_testkit::needs::bubblewrap() {
            return;
        }
        let figures = measure(1).unwrap();
        let names: Vec<_> = figures.iter().map(|figure| figure.name).collect();
        assert_eq!(
            names,
            ["a command without a sandbox", "what bubblewrap adds to it", "what Landlock adds to it"]
        );
        assert!(figures[0].measured.value > 0.0);
    }
}
