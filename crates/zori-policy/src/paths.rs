//! Where a path lies, for permissions (`docs/contracts/paths.md`): inside a root or outside, sensitive, protected, our
//! own state. Everything that has to be looked up comes with the call.

pub mod fold;
pub(crate) mod globs;
pub mod pattern;
pub mod places;
pub mod protected;
pub mod sensitive;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use zori_core::permission::{Class, PathFacts, PathKind};

use self::pattern::{Compare, PathPattern};
use self::protected::ProtectedPaths;
use self::sensitive::SensitivePaths;

/// The workspace of a run. All paths are absolute and resolved.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub roots: Vec<PathBuf>,
    /// Where commands start.
    pub cwd: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The base directory, where our own state is.
    pub data_dir: Option<PathBuf>,
    path_dirs: Vec<PathBuf>,
    added: Vec<PathPattern>,
    /// Compiled when the first path is judged: a run without tool calls never does.
    tables: OnceLock<Tables>,
    /// The shell that reads commands.
    pub(crate) shell: zori_shell::Shell,
}

#[derive(Clone, Debug)]
struct Tables {
    sensitive: SensitivePaths,
    protected: ProtectedPaths,
    own: Vec<PathPattern>,
}

/// What a workspace is made of.
pub struct WorkspaceParts {
    pub roots: Vec<PathBuf>,
    /// Where commands start.
    pub cwd: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The base directory.
    pub data_dir: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path_dirs: Vec<PathBuf>,
    /// Additional sensitive paths of the user's.
    pub sensitive: Vec<PathPattern>,
}

/// Our own state below the base directory (step 2): nothing a model says changes it, in any mode.
const OWN: &[&str] = &[
    "config.toml",
    "settings.json",
    "trust*",
    "vault.*",
    "credentials*",
    "auth*",
    "audit.jsonl*",
    "zori.db*",
    "sessions",
    "projects",
    "hooks*",
];

/// Whether a path is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read, listed or searched.
    Read,
    /// Created, changed or deleted.
    Write,
}

impl Workspace {
    /// Makes a workspace from its parts.
    pub fn new(parts: WorkspaceParts) -> Self {
        let WorkspaceParts { roots, cwd, home, data_dir, path_dirs, sensitive } = parts;
        // A root below a program folder is a workspace first.
        let path_dirs =
            path_dirs.into_iter().filter(|p| !roots.iter().any(|root| root.starts_with(p))).collect();
        let shell = zori_shell::Shell::default();
        Self { roots, cwd, home, data_dir, path_dirs, added: sensitive, tables: OnceLock::new(), shell }
    }

    /// Notes that bash under its own name runs commands, so that they are not read as another shell would, too.
    pub fn commands_run_by_bash(&mut self) {
        self.shell = zori_shell::Shell::Bash;
    }

    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| {
            let (home, data_dir) = (self.home.as_deref(), self.data_dir.as_deref());
            let own =
                data_dir.into_iter().flat_map(|b| OWN.iter().map(move |n| PathPattern::table(Some(b), n)));
            Tables {
                sensitive: SensitivePaths::new(home, data_dir, self.added.clone()),
                protected: ProtectedPaths::new(home, data_dir, self.path_dirs.clone()),
                own: own.collect(),
            }
        })
    }

    /// Returns whether a place is sensitive.
    pub fn is_sensitive(&self, place: &Path) -> bool {
        self.tables().sensitive.contains(place)
    }

    /// Returns whether a place is a root or below one.
    pub fn contains(&self, place: &Path) -> bool {
        self.roots.iter().any(|root| place.starts_with(root))
    }

    /// Returns whether a place is our own state.
    pub fn is_own_state(&self, place: &Path) -> bool {
        self.tables().own.iter().any(|p| p.matches(place, Compare::Folded))
    }

    /// Returns the class of an access: the strictest of all places the path stands for (P-2).
    pub fn class(&self, access: Access, path: &Path, facts: &PathFacts) -> Class {
        let places = facts.places.iter().map(PathBuf::as_path);
        // Whoever reads a folder may read all that is below it.
        let folder = access == Access::Read && facts.kind == PathKind::Folder;
        let classified_command = places.map(|place| match self.class_of_place(access, place) {
            Class::ReadOutside if folder && self.tables().sensitive.any_below(place) => Class::ReadSensitive,
            class => class,
        });
        let classified_command = classified_command.max();
        // Names are judged as given too; whether they are inside is a question to resolved places only.
        let named = match access {
            Access::Read if self.tables().sensitive.contains(path) => Some(Class::ReadSensitive),
            Access::Write if self.is_protected(path) => Some(Class::WriteProtected),
            Access::Read | Access::Write => None,
        };
        let outside = match access {
            Access::Read => Class::ReadOutside,
            Access::Write => Class::WriteOutside,
        };
        classified_command.unwrap_or(outside).max(named.unwrap_or(Class::Internal))
    }

    /// Returns the class of an access to what a pattern names in a folder.
    pub(crate) fn class_glob(
        &self,
        access: Access,
        folder: &Path,
        pattern: &str,
        facts: &PathFacts,
    ) -> Class {
        let scope = if self.roots.iter().any(|root| root == folder) || !self.contains(folder) {
            globs::PatternScope::Open
        } else {
            globs::PatternScope::Bounded
        };
        let named = match access {
            Access::Read => sensitive::glob_means(pattern, scope),
            Access::Write => globs::may_mean(pattern, scope, protected::ANYWHERE),
        };
        let class = if named { strictest(access) } else { self.class_below(access, folder, facts) };
        match (access, scope) {
            // SH-17: no folder bounds it.
            (Access::Write, globs::PatternScope::Open) => class.max(Class::WriteOutside),
            _ => class,
        }
    }

    /// Returns the class of an access to all below a folder, as far as its name tells.
    pub(crate) fn class_tree(
        &self,
        access: Access,
        folder: &Path,
        name: Option<&str>,
        facts: &PathFacts,
    ) -> Class {
        let any = match access {
            Access::Read => {
                name.is_some_and(|name| sensitive::glob_means(name, globs::PatternScope::Bounded))
            }
            // Names nobody knows: in a root they may be any.
            Access::Write => self.roots.iter().any(|root| root == folder),
        };
        if any { strictest(access) } else { self.class_below(access, folder, facts) }
    }

    /// Returns the class of an access to an unknown path below a folder.
    fn class_below(&self, access: Access, folder: &Path, facts: &PathFacts) -> Class {
        let inner = match access {
            Access::Read => self.tables().sensitive.any_below(folder),
            Access::Write => self.tables().protected.any_below(folder),
        };
        if inner { strictest(access) } else { self.class(access, folder, facts) }
    }

    fn class_of_place(&self, access: Access, place: &Path) -> Class {
        match access {
            Access::Read if harmless_device(place) => Class::Read,
            Access::Write if harmless_device(place) => Class::Write,
            Access::Read if self.tables().sensitive.contains(place) => Class::ReadSensitive,
            Access::Read if self.contains(place) => Class::Read,
            Access::Read => Class::ReadOutside,
            Access::Write if self.is_protected(place) => Class::WriteProtected,
            Access::Write if self.contains(place) => Class::Write,
            Access::Write => Class::WriteOutside,
        }
    }

    /// A workspace may lie below a protected folder (`/usr/src/app`, or a checkout of the user's own `bin`). Then only
    /// what is protected by its own name below the root counts.
    fn is_protected(&self, place: &Path) -> bool {
        let protected = &self.tables().protected;
        if !protected.contains(place) {
            return false;
        }
        let root =
            self.roots.iter().find(|root| place.starts_with(root)).filter(|root| protected.contains(root));
        match root.and_then(|root| place.strip_prefix(root).ok()) {
            // Judged as if the root were somewhere harmless.
            Some(rest) => protected.contains(&Path::new("/\u{0}").join(rest)) || protected.is_program(place),
            None => true,
        }
    }
}

fn strictest(access: Access) -> Class {
    match access {
        Access::Read => Class::ReadSensitive,
        Access::Write => Class::WriteProtected,
    }
}

/// Returns whether it is a device that neither stores nor reveals anything.
pub fn harmless_device(place: &Path) -> bool {
    const DEVICES: &[&str] = &[
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/tty",
    ];
    DEVICES.iter().any(|device| place == Path::new(device))
}

/// Returns whether a place is in `/proc`, `/sys` or `/dev`, harmless devices aside.
pub fn in_system_tree(place: &Path) -> bool {
    sensitive::system_tree(place) && !harmless_device(place)
}

#[cfg(test)]
mod tests;
