//! For tests: a scratch directory, and tools that run in it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;
use tempfile::TempDir;
use zori_core::cancel::Cancel;
use zori_core::tool::{Tool, ToolCx, ToolOutput};
use zori_core::transport::Transport;

use crate::env::ToolEnv;
use crate::testing;

/// A directory that is removed in the end.
pub struct Tree {
    dir: TempDir,
    /// Its canonical path.
    pub root: PathBuf,
}

impl Tree {
    /// Makes files with their content, and the directories they are in.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = Self { root: dir.path().canonicalize().unwrap(), dir };
        for (path, content) in files {
            tree.write(path, content.as_bytes());
        }
        tree
    }

    /// Makes one file; the name may be any bytes.
    pub fn write(&self, path: impl AsRef<[u8]>, content: &[u8]) -> PathBuf {
        let path = self.dir.path().join(OsStr::from_bytes(path.as_ref()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Sets when a file was changed, in seconds since 1970.
    pub fn touch(&self, path: &str, seconds: u64) {
        let file = fs::File::open(self.root.join(path)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }

    /// What a tool sees of it.
    pub fn env(&self) -> Arc<ToolEnv> {
        env(&self.root)
    }

    /// Replaces the directory's own path by `$ROOT`.
    pub fn mask(&self, text: &str) -> String {
        text.replace(self.root.to_str().unwrap(), "$ROOT")
    }
}

/// A world whose working directory is `root`, and which has no network.
pub fn env(root: &Path) -> Arc<ToolEnv> {
    Arc::new(testing::env(root))
}

/// A world with a network of its own.
pub fn env_with(root: &Path, transport: Arc<dyn Transport>) -> Arc<ToolEnv> {
    Arc::new(ToolEnv { transport, ..testing::env(root) })
}

/// Runs a call to its end.
pub fn call(tool: &dyn Tool, args: &str) -> ToolOutput {
    call_with(tool, args, Cancel::new())
}

/// Runs a call that somebody may cancel.
pub fn call_with(tool: &dyn Tool, args: &str, cancel: Cancel) -> ToolOutput {
    let args = raw(args);
    let snapshot = testing::snapshot(tool, &args);
    testing::runtime().block_on(tool.run(ToolCx { cancel, snapshot, ..testing::cx() }, &args))
}

/// Arguments as a tool gets them.
pub fn raw(args: &str) -> Box<RawValue> {
    RawValue::from_string(args.to_owned()).unwrap()
}
