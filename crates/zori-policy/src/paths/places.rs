//! The entries of the tables as paths, for a sandbox, which hides and closes paths and knows no patterns.
//!
//! Names that may be anywhere are looked for directly in the roots only: the whole of a workspace is too much to walk
//! before each command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Workspace, protected, sensitive};

/// A protected place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProtectedPath {
    pub path: PathBuf,
    /// What the sandbox puts there while it is missing.
    pub stub: StubKind,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Git alone, which may write the repository except for what git would run.
    Git,
    /// Anybody.
    Any,
}

/// What is closed to git, too: what it runs, or what configures that. A user's hook may run programs of the workspace,
/// so git itself is not the only one that gets there.
const CLOSED_TO_GIT: &[&str] = &["hooks", "config", "config.worktree", "commondir", "modules", "worktrees"];

/// What the sandbox puts where a protected path is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StubKind {
    /// An empty folder, which git does not list among the untracked files.
    Folder,
    /// An empty file, for programs that fail on a folder.
    File,
    /// Nothing: what a command makes there is set aside when it ends.
    Unseen,
}

impl Workspace {
    /// Returns the sensitive places below home, base and `/`, and directly in the roots. Those that are spelled out may
    /// be missing. `list` returns the names in a folder.
    pub fn sensitive_places(&self, list: &dyn Fn(&Path) -> Vec<OsString>) -> Vec<PathBuf> {
        let (home, data_dir) = (self.home.as_deref(), self.data_dir.as_deref());
        let mut places = Vec::new();
        for (start, entry) in sensitive::anchored(home, data_dir) {
            places.extend(self.expanded(&start.join(entry), list));
        }
        for root in &self.roots {
            places.extend(self.sensitive_in(root, list));
        }
        // Of our own state only skills are there to be read, and a workspace that lies in it.
        if let Some(data_dir) = data_dir {
            let inner = self.roots.iter().any(|root| root.starts_with(data_dir));
            let own = list(data_dir).into_iter().filter(|name| inner && name != "skills");
            let own = own.map(|name| data_dir.join(name)).chain((!inner).then(|| data_dir.to_owned()));
            places.extend(own.filter(|path| !self.roots.iter().any(|root| root.starts_with(path))));
        }
        places.sort();
        places.dedup();
        places
    }

    /// Returns the folders of our own state that commands may read.
    pub fn readable_places(&self) -> Vec<PathBuf> {
        let inner = |data_dir: &Path| self.roots.iter().any(|root| root.starts_with(data_dir));
        let data_dir = self.data_dir.as_deref().filter(|data_dir| !inner(data_dir));
        data_dir.map(|data_dir| data_dir.join("skills")).into_iter().collect()
    }

    fn expanded(&self, path: &Path, list: &dyn Fn(&Path) -> Vec<OsString>) -> Vec<PathBuf> {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if name.as_encoded_bytes().contains(&b'*') => {
                self.sensitive_in(folder, list)
            }
            _ => vec![path.to_owned()],
        }
    }

    fn sensitive_in(&self, folder: &Path, list: &dyn Fn(&Path) -> Vec<OsString>) -> Vec<PathBuf> {
        let found = list(folder).into_iter().map(|name| folder.join(name));
        found.filter(|path| self.tables().sensitive.contains(path)).collect()
    }

    /// Returns the protected places inside the roots, missing or not. The hooks of a bare repository are left out: a
    /// folder `hooks` is source code more often than not.
    pub fn protected_places(&self, writer: Writer) -> Vec<ProtectedPath> {
        let root = |path: PathBuf| ProtectedPath { stub: stub(&path), path };
        // What a login or a daemon would read at once stays closed meanwhile.
        let fixed_place = |path: PathBuf| ProtectedPath { stub: StubKind::Folder, path };
        let anywhere = self.roots.iter().flat_map(|root| {
            let named = |entry: &&&str| !entry.contains('*') && !entry.starts_with("hooks/");
            protected::ANYWHERE.iter().filter(named).map(move |entry| root.join(entry))
        });
        let anywhere = anywhere.flat_map(|path| match writer {
            Writer::Git if path.ends_with(".git") => {
                CLOSED_TO_GIT.iter().map(|part| path.join(part)).collect()
            }
            Writer::Git | Writer::Any => vec![path],
        });
        let home =
            self.home.iter().flat_map(|home| protected::HOME.iter().map(move |entry| home.join(entry)));
        let fixed = home.chain(self.data_dir.clone()).chain(self.path_dirs.iter().cloned());
        let inside = fixed.filter(|path| self.contains(path) && !self.roots.contains(path));
        let mut places: Vec<_> = anywhere.map(root).chain(inside.map(fixed_place)).collect();
        places.sort();
        places.dedup();
        places
    }
}

/// A repository is closed also while a command runs: prompts and editors run git all the time, and git what is in there.
/// It fails on folders of some names. Of the other places nothing is seen: programs would take a stub for theirs.
fn stub(path: &Path) -> StubKind {
    let files = [".git/config", ".git/config.worktree", ".git/commondir"];
    match path {
        path if files.iter().any(|name| path.ends_with(name)) => StubKind::File,
        path if path.components().any(|part| part.as_os_str() == ".git") => StubKind::Folder,
        _ => StubKind::Unseen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::WorkspaceParts;

    fn workspace(root: &str, home: &str) -> Workspace {
        Workspace::new(WorkspaceParts {
            roots: vec![root.into()],
            cwd: root.into(),
            home: Some(home.into()),
            data_dir: Some(Path::new(home).join(".config/zori")),
            path_dirs: vec![Path::new(root).join("tools"), "/usr/bin".into()],
            sensitive: vec![],
        })
    }

    #[test]
    fn what_is_hidden() {
        let list = |folder: &Path| -> Vec<OsString> {
            let names: &[&str] = match folder.to_str() {
                Some("/home/u") => &[".bash_history", "notes", ".bashrc"],
                Some("/home/u/.cargo") => &["credentials.toml", "config.toml"],
                Some("/home/u/.config/zori") => &["config.toml", "sessions", "skills"],
                Some("/ws") => &[".env", ".env.example", "server.pem", "src"],
                _ => &[],
            };
            names.iter().map(OsString::from).collect()
        };
        let places = workspace("/ws", "/home/u").sensitive_places(&list);
        let has = |path: &str| places.contains(&PathBuf::from(path));
        for path in [
            "/home/u/.ssh",
            "/home/u/.bash_history",
            "/home/u/.cargo/credentials.toml",
            "/home/u/.config/zori",
            "/etc/ssl/private",
            "/ws/.env",
            "/ws/server.pem",
        ] {
            assert!(has(path), "{path}");
        }
        for path in [
            "/home/u/notes",
            "/home/u/.bashrc",
            "/ws/.env.example",
            "/ws/src",
            "/home/u/.cargo",
            "/home/u/.config/zori/skills",
        ] {
            assert!(!has(path), "{path}");
        }
        assert!(!places.iter().any(|path| path.to_str().unwrap().contains('*')));
    }

    #[test]
    fn what_is_closed() {
        let places = workspace("/ws", "/home/u").protected_places(Writer::Any);
        let of = |path: &str| places.iter().find(|p| p.path == Path::new(path)).map(|p| p.stub);
        assert_eq!(of("/ws/.git"), Some(StubKind::Folder));
        assert_eq!(of("/ws/AGENTS.md"), Some(StubKind::Unseen));
        assert_eq!(of("/ws/.cargo/config.toml"), Some(StubKind::Unseen));
        assert_eq!(of("/ws/.yarnrc.yml"), Some(StubKind::Unseen));
        assert_eq!(of("/ws/tools"), Some(StubKind::Folder));
        assert!(places.iter().all(|place| place.path.starts_with("/ws")));
    }

    #[test]
    fn what_is_closed_to_git() {
        let of = |writer| -> Vec<_> {
            let places = workspace("/ws", "/home/u").protected_places(writer);
            places.into_iter().filter(|place| place.path.starts_with("/ws/.git")).collect()
        };
        let shown = |places: Vec<ProtectedPath>| -> Vec<String> {
            places.iter().map(|place| format!("{} {:?}", place.path.display(), place.stub)).collect()
        };
        assert_eq!(shown(of(Writer::Any)), ["/ws/.git Folder"]);
        let yarn = workspace("/ws", "/home/u").protected_places(Writer::Git);
        assert!(yarn.contains(&ProtectedPath { path: "/ws/.yarnrc".into(), stub: StubKind::Unseen }));
        assert_eq!(
            shown(of(Writer::Git)),
            [
                "/ws/.git/commondir File",
                "/ws/.git/config File",
                "/ws/.git/config.worktree File",
                "/ws/.git/hooks Folder",
                "/ws/.git/modules Folder",
                "/ws/.git/worktrees Folder",
            ]
        );
    }

    #[test]
    fn a_home_that_is_the_workspace() {
        let places = workspace("/home/u", "/home/u").protected_places(Writer::Any);
        let has = |path: &str| places.iter().any(|place| place.path == Path::new(path));
        assert!(has("/home/u/.bashrc") && has("/home/u/.config/zori") && has("/home/u/.git"));
        // A workspace that is a folder of programs is a workspace first.
        let places = workspace("/home/u/bin", "/home/u").protected_places(Writer::Any);
        assert!(!places.iter().any(|place| place.path == Path::new("/home/u/bin")));
    }
}
