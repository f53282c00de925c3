//! Paths that lead elsewhere than they say: what is found on the disk, what is decided about it, and what is opened
//! (`docs/contracts/paths.md`). The tools and the decision are the product's own; only the model is missing.

mod cases;
mod race;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::confine::Consent;
use zori_core::ids::CallId;
use zori_core::permission::{Decision, PathSnapshot, Verdict};
use zori_core::tool::{ResolvedCall, ToolCx, ToolOutput, Toolbox};
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};
use zori_policy::mode::{ModeChoice, Protocol};
use zori_policy::paths::{Workspace, WorkspaceParts};
use zori_policy::policy::{Approver, ShellPolicy};
use zori_policy::rules::Rules;
use zori_policy::{Call, Policy, decide};
use zori_tools::dialect::ALL;
use zori_tools::env::ToolEnv;
use zori_tools::toolset::ToolSet;

/// A workspace `ws` with a home `home` and a folder `out` beside it.
struct Disk {
    top: tempfile::TempDir,
}

impl Disk {
    fn new() -> Self {
        let disk = Self { top: tempfile::tempdir().expect("a scratch disk") };
        for folder in ["ws", "home/.config/zori", "out"] {
            fs::create_dir_all(disk.at(folder)).expect("a scratch disk");
        }
        disk
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().canonicalize().expect("a scratch disk").join(name)
    }

    fn put(&self, name: &str, content: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("a scratch disk")).expect("a scratch disk");
        fs::write(path, content).expect("a scratch disk");
    }

    fn link(&self, name: &str, target: impl AsRef<Path>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("a scratch disk")).expect("a scratch disk");
        symlink(target, path).expect("a scratch disk");
    }

    /// What holds in a mode.
    fn policy(&self, mode: &str, approver: Approver) -> Policy {
        Policy {
            mode: ModeChoice::named(mode, Protocol::Own).expect("a mode"),
            rules: Rules::default(),
            workspace: Workspace::new(WorkspaceParts {
                roots: vec![self.at("ws")],
                cwd: self.at("ws"),
                home: Some(self.at("home")),
                data_dir: Some(self.at("home/.config/zori")),
                path_dirs: vec![self.at("programs")],
                sensitive: vec![],
            }),
            shell: ShellPolicy::OPEN,
            approver,
            agent: None,
        }
    }

    fn tools(&self) -> ToolSet {
        let env = ToolEnv {
            root: self.at("ws"),
            home: Some(self.at("home")),
            timeout: Some(Duration::from_secs(20)),
            leniency: zori_core::tool::Leniency::Forgiving,
            shell: zori_tools::env::ShellProgram::Sh,
            job_after: None,
            bash_max_output: 64 << 10,
            temp_parent: self.at("out"),
            child_env_removed: Box::new(Vec::new),
            child_env_set: Vec::new(),
            confine: None,
            files: None,
            terminals: None,
            transport: Arc::new(Offline),
        };
        ToolSet::new(env.into(), ALL[0])
    }
}

struct Offline;

impl Transport for Offline {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(async { Err(TransportFailure::Connect("offline".into())) })
    }
}

/// A call that was looked up and decided about, like the engine does it.
struct Decided {
    call: ResolvedCall,
    decision: Decision,
    snapshot: PathSnapshot,
}

fn judge(tools: &ToolSet, policy: &Policy, name: &str, args: &serde_json::Value) -> Decided {
    let args = RawValue::from_string(args.to_string()).expect("JSON");
    let call = tools.resolve(name, &args).unwrap_or_else(|bad| panic!("{name}: {}", bad.message));
    let mut policy_call = Call::new(name, call.tool.kind(), &call.effects, &policy.workspace);
    policy_call.gather(|path| tools.path_facts(path));
    let decision = decide(policy, &policy_call);
    Decided { call, decision, snapshot: policy_call.facts.into_snapshot() }
}

impl Decided {
    fn allowed(&self) -> bool {
        self.decision.verdict == Verdict::Allow
    }

    /// Runs the call, allowed or not: what would happen if somebody had said yes.
    fn run(self) -> ToolOutput {
        let Self { call, snapshot, .. } = self;
        let cx = ToolCx { snapshot, ..ToolCx::alone(CallId::new("call"), Consent::Rule) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(call.tool.run(cx, &call.args))
    }
}
