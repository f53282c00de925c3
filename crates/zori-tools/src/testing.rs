//! What this crate's tests share: an environment over a scratch folder, and one way to make a call.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::confine::Consent;
use zori_core::ids::CallId;
use zori_core::permission::PathSnapshot;
use zori_core::tool::{Effect, Leniency, Tool, ToolCx, ToolOutput, Toolbox};
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};

use crate::args;
use crate::def::ToolDef;
use crate::env::{ShellProgram, ToolEnv};
use crate::lookup;

/// No network.
struct Offline;

impl Transport for Offline {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(async { Err(TransportFailure::Connect("offline".into())) })
    }
}

/// The world, with `root` as the root and as the place for spilled output.
pub fn env(root: &Path) -> ToolEnv {
    ToolEnv {
        root: root.to_owned(),
        home: Some("/home/someone".into()),
        timeout: Some(Duration::from_secs(20)),
        leniency: Leniency::Forgiving,
        shell: ShellProgram::Sh,
        job_after: None,
        bash_max_output: 64 << 10,
        temp_parent: root.to_owned(),
        child_env_removed: Box::new(Vec::new),
        child_env_set: Vec::new(),
        confine: None,
        files: None,
        terminals: None,
        transport: Arc::new(Offline),
    }
}

/// A scratch folder, by its canonical path.
pub struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn env(&self) -> ToolEnv {
        env(&self.path())
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Every file and folder, one a line, sorted.
    pub fn list(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                names.push(path.strip_prefix(self.path()).unwrap().to_str().unwrap().to_owned());
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                }
            }
        }
        names.sort();
        names
    }

    /// Writes the scratch folder's path as `$ROOT`.
    pub fn hide(&self, text: &str) -> String {
        text.replace(self.path().to_str().unwrap(), "$ROOT")
    }
}

pub fn cx() -> ToolCx {
    ToolCx::alone(CallId::new("call"), Consent::Rule)
}

/// What a call of a tool is judged by: its paths as they are now.
pub fn snapshot(tool: &dyn Tool, args: &RawValue) -> PathSnapshot {
    let paths = tool.effects(args).into_iter().filter_map(|effect| match effect {
        Effect::Read(path) | Effect::Write(path) => Some((path.clone(), lookup::look(&path))),
        _ => None,
    });
    PathSnapshot::new(paths.collect())
}

/// Makes a runtime like the program's.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Makes a call with canonical arguments.
pub fn call(tool: &dyn Tool, def: &ToolDef, args: &str) -> ToolOutput {
    let mut map = args::object(args).unwrap();
    let args = args::canonical(&mut map, def.params, &|param| param.name.to_owned()).unwrap();
    let args = RawValue::from_string(args).unwrap();
    let cx = ToolCx { snapshot: snapshot(tool, &args), ..cx() };
    runtime().block_on(tool.run(cx, &args))
}

/// Makes a call as a model does, and returns what the model reads.
pub fn ask(tools: &dyn Toolbox, name: &str, args: &str) -> ToolOutput {
    let args = RawValue::from_string(args.to_owned()).unwrap();
    match tools.resolve(name, &args) {
        Ok(call) => {
            let cx = ToolCx { snapshot: snapshot(&*call.tool, &call.args), ..cx() };
            runtime().block_on(call.tool.run(cx, &call.args))
        }
        Err(bad) => ToolOutput::failure(bad.code, bad.message),
    }
}

/// Waits for a condition. The bound is far above what any step needs, since test machines are busy.
#[track_caller]
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
