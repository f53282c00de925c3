//! The world the cases run in: a few directories with known content, and how it is seen whether they are as before.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use zori_sandbox::{Level, Limits, Network, PathKind, ProtectedPath, Spec};

/// What must never be printed inside.
pub const SECRET: &str = "S3CRET";

/// Places outside the scratch directory that a case may try to write.
const MARKS: &[&str] = &[
    "/tmp/zori-escape",
    "/var/tmp/zori-escape",
    "/dev/shm/zori-escape",
    "/etc/zori-escape",
    "/etc/cron.d/zori-escape",
    "/usr/local/bin/zori-escape",
    "/boot/zori-escape",
    "/root/zori-escape",
    "/var/lib/zori-escape",
    "/run/zori-escape",
    "/run/lock/zori-escape",
    "/zori-escape",
    "/sys/fs/cgroup/zori-escape",
];

pub struct World {
    pub scratch: PathBuf,
}

impl World {
    pub fn home(&self) -> PathBuf {
        self.scratch.join("home")
    }

    pub fn outside(&self) -> PathBuf {
        self.scratch.join("outside")
    }

    pub fn workspace(&self) -> PathBuf {
        self.scratch.join("ws")
    }

    pub fn secret(&self) -> PathBuf {
        self.home().join(".ssh/id_test")
    }

    /// Builds it anew. The probe itself and what belongs to root stay.
    pub fn build(&self) {
        for mark in MARKS {
            let _ = fs::remove_file(mark);
        }
        for name in ["home", "ws", "ws2", "tmp", "zori-new", "outside/dir", "outside/new", "outside/victim"] {
            let path = self.scratch.join(name);
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
        let put = |path: &str, text: &str| {
            let path = self.scratch.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let secret = format!("{SECRET}\n");
        put("home/.ssh/id_test", &secret);
        put("home/.netrc", &secret);
        put("home/store/aws/credentials", &secret);
        put("home/.bashrc", "rc\n");
        put("home/notes.txt", "notes\n");
        symlink("store/aws", self.scratch.join("home/.aws")).unwrap();
        put("outside/victim", "victim, which is longer than six bytes\n");
        put("outside/dir/file", "file\n");
        put("tmp/.keep", "");
        put("ws/.env", &secret);
        put("ws/.git/config", "[core]\n\trepositoryformatversion = 0\n");
        put("ws/.git/HEAD", "ref: refs/heads/main\n");
        put("ws/.git/objects/.keep", "");
        put("ws/.git/refs/.keep", "");
        put("ws/.git/hooks/pre-commit", "#!/bin/sh\n");
        put("ws/src/main.rs", "fn main() {}\n");
        put("ws/sub/.git/config", "[core]\n");
        put("ws/sub/.env", &secret);
        put("ws/sub/lib.rs", "\n");
        put("ws/docs/agents.md", "be kind\n");
        symlink("docs/agents.md", self.scratch.join("ws/CLAUDE.md")).unwrap();
        symlink("../../outside/victim", self.scratch.join("ws/src/planted")).unwrap();
        symlink("../outside", self.scratch.join("ws/planted")).unwrap();
    }

    /// Removes what a case has left in places it may write.
    pub fn tidy(&self) {
        let source = self.workspace().join("src");
        let kept = ["main.rs", "planted"];
        for entry in fs::read_dir(&source).unwrap().flatten() {
            if !kept.iter().any(|name| entry.file_name() == *name) {
                let path = entry.path();
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            }
        }
    }

    /// Describes everything that must stay as it is, a line each.
    pub fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        for place in
            ["home", "outside", "ws/.git", "ws/.env", "ws/sub/.git", "ws/sub/.env", "ws/docs/agents.md"]
        {
            describe(&self.scratch.join(place), &mut found);
        }
        for place in
            ["ws/AGENTS.md", "ws/.vscode", "ws/.cargo/config.toml", "ws/CLAUDE.md", "zori-new", "ws2"]
        {
            describe(&self.scratch.join(place), &mut found);
        }
        for mark in MARKS {
            describe(Path::new(mark), &mut found);
        }
        found
    }

    /// What the sandbox is told.
    pub fn spec(&self) -> Spec {
        let protected = [
            (".git", Some(PathKind::Dir)),
            ("sub/.git", Some(PathKind::Dir)),
            ("AGENTS.md", None),
            ("CLAUDE.md", None),
            (".vscode", None),
            (".cargo/config.toml", None),
        ];
        let (home, workspace) = (self.home(), self.workspace());
        Spec {
            level: Level::Workspace,
            roots: vec![workspace.clone()],
            caches: Vec::new(),
            temp: self.scratch.join("tmp"),
            hidden: vec![
                home.join(".ssh"),
                home.join(".netrc"),
                home.join(".aws"),
                home.join(".gnupg"),
                workspace.join(".env"),
                workspace.join("sub/.env"),
            ],
            visible: Vec::new(),
            protected: protected
                .map(|(path, stub)| ProtectedPath { path: workspace.join(path), stub })
                .into(),
            network: Network::Off,
            limits: Limits { processes: Some(4096), file_size: Some(1 << 30), memory: None },
        }
    }
}

fn describe(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    let mode = meta.permissions().mode();
    let what = if meta.is_symlink() {
        format!("-> {}", fs::read_link(path).unwrap().display())
    } else if meta.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            describe(&entry.path(), found);
        }
        "directory".to_owned()
    } else if meta.is_file() {
        format!(
            "{} {:?}",
            meta.mtime(),
            fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).ok()
        )
    } else {
        "something else".to_owned()
    };
    found.insert(path.to_owned(), format!("{mode:o} {what}"));
}
