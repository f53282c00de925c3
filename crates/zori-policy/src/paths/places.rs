//! The tables' entries as places, for a sandbox: it hides and closes paths and knows no patterns.
//!
//! Names that may be anywhere are looked for directly in the roots only: the whole of a workspace is too much to walk
//! before each command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Ground, protected, sensitive};

/// A protected place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProtectedPlace {
    /// Where.
    pub path: PathBuf,
    /// What stands in for it while it is missing.
    pub stand_in: StandIn,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Git alone, to which a repository is open but for what git would run (4.5).
    Git,
    /// Anybody.
    Any,
}

/// What of a repository is closed to git, too: what it runs, or where it is told what to run. A hook of the user's may
/// run what the workspace holds, so git itself is not the only one who gets there.
const CLOSED_TO_GIT: &[&str] = &["hooks", "config", "config.worktree", "commondir", "modules", "worktrees"];

/// What stands in for something that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StandIn {
    /// An empty folder, which git does not list among the untracked files.
    Folder,
    /// An empty file, for those who would fail over a folder.
    File,
}

impl Ground {
    /// Returns the sensitive places below home, base and `/`, and directly in the roots. Those that are spelled out may
    /// be missing. `list` returns the names in a folder.
    pub fn sensitive_places(&self, list: &dyn Fn(&Path) -> Vec<OsString>) -> Vec<PathBuf> {
        let (home, base) = (self.home.as_deref(), self.base.as_deref());
        let mut places = Vec::new();
        for (start, entry) in sensitive::anchored(home, base) {
            places.extend(self.expanded(&start.join(entry), list));
        }
        for root in &self.roots {
            places.extend(self.sensitive_in(root, list));
        }
        places.sort();
        places.dedup();
        places
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
        found.filter(|path| self.tables().sensitive.holds(path)).collect()
    }

    /// Returns the protected places inside the roots, missing or not. The hooks of a bare repository are left out: a
    /// folder `hooks` is source code more often than not.
    pub fn protected_places(&self, writer: Writer) -> Vec<ProtectedPlace> {
        let place = |path: PathBuf| ProtectedPlace { stand_in: stand_in(&path, writer), path };
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
        let fixed = home.chain(self.base.clone()).chain(self.programs.iter().cloned());
        let inside = fixed.filter(|path| self.inside(path) && !self.roots.contains(path));
        let mut places: Vec<_> = anywhere.chain(inside).map(place).collect();
        places.sort();
        places.dedup();
        places
    }
}

/// Yarn and git fail over folders of these names. `git add` would take a file of yarn's, though.
fn stand_in(path: &Path, writer: Writer) -> StandIn {
    let names: &[&str] = match writer {
        Writer::Git => &[".git/config", ".git/config.worktree", ".git/commondir"],
        Writer::Any => &[".yarnrc", ".yarnrc.yml"],
    };
    if names.iter().any(|name| path.ends_with(name)) { StandIn::File } else { StandIn::Folder }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::GroundParts;

    fn ground(root: &str, home: &str) -> Ground {
        Ground::new(GroundParts {
            roots: vec![root.into()],
            cwd: root.into(),
            home: Some(home.into()),
            base: Some(Path::new(home).join(".config/zori")),
            repo: None,
            programs: vec![Path::new(root).join("tools"), "/usr/bin".into()],
            sensitive: vec![],
        })
    }

    #[test]
    fn what_is_hidden() {
        let list = |folder: &Path| -> Vec<OsString> {
            let names: &[&str] = match folder.to_str() {
                Some("/home/u") => &[".bash_history", "notes", ".bashrc"],
                Some("/home/u/.cargo") => &["credentials.toml", "config.toml"],
                Some("/ws") => &[".env", ".env.example", "server.pem", "src"],
                _ => &[],
            };
            names.iter().map(OsString::from).collect()
        };
        let places = ground("/ws", "/home/u").sensitive_places(&list);
        let has = |path: &str| places.contains(&PathBuf::from(path));
        for path in [
            "/home/u/.ssh",
            "/home/u/.bash_history",
            "/home/u/.cargo/credentials.toml",
            "/home/u/.config/zori/vault.age",
            "/etc/ssl/private",
            "/ws/.env",
            "/ws/server.pem",
        ] {
            assert!(has(path), "{path}");
        }
        for path in ["/home/u/notes", "/home/u/.bashrc", "/ws/.env.example", "/ws/src", "/home/u/.cargo"] {
            assert!(!has(path), "{path}");
        }
        assert!(!places.iter().any(|path| path.to_str().unwrap().contains('*')));
    }

    #[test]
    fn what_is_closed() {
        let places = ground("/ws", "/home/u").protected_places(Writer::Any);
        let of = |path: &str| places.iter().find(|p| p.path == Path::new(path)).map(|p| p.stand_in);
        assert_eq!(of("/ws/.git"), Some(StandIn::Folder));
        assert_eq!(of("/ws/AGENTS.md"), Some(StandIn::Folder));
        assert_eq!(of("/ws/.cargo/config.toml"), Some(StandIn::Folder));
        assert_eq!(of("/ws/.yarnrc.yml"), Some(StandIn::File));
        assert_eq!(of("/ws/tools"), Some(StandIn::Folder));
        assert!(places.iter().all(|place| place.path.starts_with("/ws")));
    }

    #[test]
    fn what_is_closed_to_git() {
        let of = |writer| -> Vec<_> {
            let places = ground("/ws", "/home/u").protected_places(writer);
            places.into_iter().filter(|place| place.path.starts_with("/ws/.git")).collect()
        };
        let shown = |places: Vec<ProtectedPlace>| -> Vec<String> {
            places.iter().map(|place| format!("{} {:?}", place.path.display(), place.stand_in)).collect()
        };
        assert_eq!(shown(of(Writer::Any)), ["/ws/.git Folder"]);
        let yarn = ground("/ws", "/home/u").protected_places(Writer::Git);
        assert!(yarn.contains(&ProtectedPlace { path: "/ws/.yarnrc".into(), stand_in: StandIn::Folder }));
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
        let places = ground("/home/u", "/home/u").protected_places(Writer::Any);
        let has = |path: &str| places.iter().any(|place| place.path == Path::new(path));
        assert!(has("/home/u/.bashrc") && has("/home/u/.config/zori") && has("/home/u/.git"));
        // A workspace that is a folder of programs is a workspace first.
        let places = ground("/home/u/bin", "/home/u").protected_places(Writer::Any);
        assert!(!places.iter().any(|place| place.path == Path::new("/home/u/bin")));
    }
}
