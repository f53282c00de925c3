//! A project in a folder of its own, the session that works in it, and its files as one text.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use zori_core::cancel::Cancel;
use zori_core::checkpoint::{Captured, Checkpoints, PendingCall};
use zori_core::ids::{CallId, SessionId};
use zori_core::tool::{Effect, FileChange};
use zori_undo::capture::{Capture, CaptureSettings, TreeLimits, Watching};
use zori_undo::disk::Disk;
use zori_undo::plan::Force;
use zori_undo::restore::Restored;
use zori_undo::rewind::{Goal, Report, Request, RewindContext, recover, rewind};
use zori_undo::store::Parents;

pub struct Project {
    dir: TempDir,
    pub capture: Capture,
    pub disk: Disk,
}

pub fn settings(dir: &Path, session: &str, watch: bool) -> CaptureSettings {
    CaptureSettings {
        dir: dir.join("store"),
        root: dir.join("repo"),
        added: vec![],
        home: Some(dir.join("home")),
        session: SessionId::parse(session).unwrap(),
        parents: Parents::default(),
        turns: 0,
        durable: false,
        inline: true,
        hooks: false,
        required: false,
        max_wait: Duration::from_secs(60),
        limits: TreeLimits {
            max_file: 16 << 20,
            max_files: 500_000,
            max_copied: 512 << 20,
            max_session: 1 << 30,
        },
        watch: if watch { Watching::On { limit: None } } else { Watching::Off },
        disk: Disk::default(),
        sensitive: Arc::new(|path| path.file_name().is_some_and(|name| name == ".env")),
        now: || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap(),
    }
}

impl Project {
    pub fn with(watch: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("repo")).unwrap();
        let real = dir.path().canonicalize().unwrap();
        let capture = Capture::open(settings(&real, "s", watch)).unwrap();
        Self { dir, capture, disk: Disk::default() }
    }

    /// Another process goes on with the session.
    pub fn reopen(&mut self, turns: u32, watch: bool) {
        let settings = settings(&self.base(), "s", watch);
        self.capture = Capture::open(CaptureSettings { turns, ..settings }).unwrap();
    }

    /// A copy of the project and its store, as another process finds it.
    pub fn copied(&self) -> Self {
        let project = Self::with(false);
        copy(&self.base(), &project.base());
        project
    }

    pub fn base(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub fn root(&self) -> PathBuf {
        self.base().join("repo")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|_| "-".to_owned())
    }

    /// A new turn in which one command runs.
    pub fn turn(&self, script: &str) -> Captured {
        self.capture.start_turn();
        self.command(script)
    }

    /// A command of the running turn.
    pub fn command(&self, script: &str) -> Captured {
        let effect = Effect::Exec { command: script.to_owned(), cwd: self.root() };
        self.call(effect, || self.shell(script))
    }

    pub fn call(&self, effect: Effect, act: impl FnOnce()) -> Captured {
        call(&self.capture, effect, act)
    }

    /// Something outside of any call.
    pub fn shell(&self, script: &str) {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).current_dir(self.root());
        let git = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")];
        let who = [("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b"), ("GIT_COMMITTER_NAME", "a")];
        command.envs(git).envs(who).env("GIT_COMMITTER_EMAIL", "a@b");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn rewind(&self, goal: Goal, force: Force, dry_run: bool) -> Option<Report> {
        let report = rewind(self.capture.store(), &self.context(), Request { goal, force, dry_run }).unwrap();
        if let Some(report) = &report {
            let paths: Vec<_> = report.restored.iter().map(|f| (f.path.clone(), f.state.clone())).collect();
            if !dry_run {
                self.capture.restored(&paths);
            }
        }
        report
    }

    pub fn undo(&self) -> String {
        self.told(self.rewind(Goal::LastChange, Force::Keep, false))
    }

    pub fn redo(&self) -> String {
        self.told(self.rewind(Goal::Redo, Force::Keep, false))
    }

    pub fn recover(&self) -> Vec<Restored> {
        recover(self.capture.store(), &self.context()).unwrap()
    }

    fn context(&self) -> RewindContext<'_> {
        RewindContext {
            disk: &self.disk,
            sensitive: &|_| false,
            client: None,
            announce: &|_, _| Ok(()),
            max_file: 16 << 20,
            now: 1_000_000_007,
        }
    }

    /// A report as lines.
    pub fn told(&self, report: Option<Report>) -> String {
        let Some(report) = report else { return "nothing".to_owned() };
        let shown = |path: &Path| path.strip_prefix(self.root()).unwrap_or(path).display().to_string();
        let done = report.restored.iter().map(|file| {
            format!("{} {} +{} -{}", file.how.as_str(), shown(&file.path), file.insertions, file.deletions)
        });
        let kept = report.kept.iter().map(|kept| {
            let beside = kept.saved_as.as_ref().map_or(String::new(), |path| format!(" as {}", shown(path)));
            format!("kept {} {}{beside}", shown(&kept.path), kept.reason.as_str())
        });
        done.chain(kept).collect::<Vec<_>>().join("\n")
    }

    /// Every file, folder and link: permissions, path, content.
    pub fn files(&self) -> String {
        let mut lines = Vec::new();
        list(&self.root(), &self.root(), &mut lines);
        lines.sort();
        lines.join("\n")
    }
}

/// A call of a session.
pub fn call(capture: &Capture, effect: Effect, act: impl FnOnce()) -> Captured {
    call_telling(capture, effect, act, &[])
}

/// A call of a session whose tool says what it changed.
pub fn call_telling(
    capture: &Capture,
    effect: Effect,
    act: impl FnOnce(),
    changes: &[FileChange],
) -> Captured {
    let calls = [PendingCall { call: CallId::new("c"), effects: vec![effect] }];
    capture.begin(&calls, &Cancel::new()).unwrap();
    act();
    capture.end(&calls, changes)
}

fn list(root: &Path, folder: &Path, lines: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let shown = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let meta = entry.metadata().unwrap();
        let mode = meta.permissions().mode() & 0o7777;
        if meta.is_symlink() {
            lines.push(format!("{shown} -> {}", fs::read_link(&path).unwrap().display()));
        } else if meta.is_dir() {
            lines.push(format!("{shown}/ {mode:o}"));
            if shown != ".git" {
                list(root, &path, lines);
            }
        } else if meta.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            lines.push(format!("{shown} {mode:o} {:?}", String::from_utf8_lossy(&bytes)));
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            copy(&path, &target);
            fs::set_permissions(&target, meta.permissions()).unwrap();
        } else if meta.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&path).unwrap(), &target).unwrap();
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
