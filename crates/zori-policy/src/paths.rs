//! Where a path is, as permissions see it (`security.md` chapter 4): inside a root or outside, sensitive, protected, our
//! own state. Everything that has to be looked up is in the facts that come with a call.

pub mod fold;
pub mod pattern;
pub mod places;
pub mod protected;
pub mod sensitive;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use zori_core::permission::{Class, PathFacts, PlaceKind};

use self::pattern::{Compare, PathPattern};
use self::protected::Protected;
use self::sensitive::Sensitive;

/// The place a run happens in. All paths are absolute and resolved.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The workspace roots.
    pub roots: Vec<PathBuf>,
    /// Where commands start.
    pub cwd: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The base directory, where our own state is.
    pub base: Option<PathBuf>,
    /// The top level of the workspace's git repository.
    pub repo: Option<PathBuf>,
    programs: Vec<PathBuf>,
    added: Vec<PathPattern>,
    /// Compiled when the first path is judged: a run without tool calls never does.
    tables: OnceLock<Tables>,
}

#[derive(Clone, Debug)]
struct Tables {
    sensitive: Sensitive,
    protected: Protected,
    own: Vec<PathPattern>,
}

/// What a ground is made of.
pub struct GroundParts {
    /// The workspace roots.
    pub roots: Vec<PathBuf>,
    /// Where commands start.
    pub cwd: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The base directory.
    pub base: Option<PathBuf>,
    /// The top level of the workspace's git repository.
    pub repo: Option<PathBuf>,
    /// The folders of `PATH`.
    pub programs: Vec<PathBuf>,
    /// What the user counts as sensitive on top.
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

impl Ground {
    /// Describes a place.
    pub fn new(parts: GroundParts) -> Self {
        let GroundParts { roots, cwd, home, base, repo, programs, sensitive } = parts;
        // A root below a program folder is a workspace first.
        let programs =
            programs.into_iter().filter(|p| !roots.iter().any(|root| root.starts_with(p))).collect();
        Self { roots, cwd, home, base, repo, programs, added: sensitive, tables: OnceLock::new() }
    }

    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| {
            let (home, base) = (self.home.as_deref(), self.base.as_deref());
            let own = base.into_iter().flat_map(|b| OWN.iter().map(move |n| PathPattern::table(Some(b), n)));
            Tables {
                sensitive: Sensitive::new(home, base, self.added.clone()),
                protected: Protected::new(home, base, self.programs.clone()),
                own: own.collect(),
            }
        })
    }

    /// Returns whether a place is a root or below one.
    pub fn inside(&self, place: &Path) -> bool {
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
        let folder = access == Access::Read && facts.kind == PlaceKind::Folder;
        let judged = places.map(|place| match self.class_of_place(access, place) {
            Class::Rx if folder && self.tables().sensitive.below(place) => Class::Rs,
            class => class,
        });
        let judged = judged.max();
        // Names are judged as given too; whether they are inside is a question to resolved places only.
        let named = match access {
            Access::Read if self.tables().sensitive.holds(path) => Some(Class::Rs),
            Access::Write if self.is_protected(path) => Some(Class::Wp),
            Access::Read | Access::Write => None,
        };
        let outside = match access {
            Access::Read => Class::Rx,
            Access::Write => Class::Wx,
        };
        judged.unwrap_or(outside).max(named.unwrap_or(Class::I))
    }

    /// Returns the class of an access to something below a folder, it is not known what.
    pub fn class_below(&self, access: Access, folder: &Path, facts: &PathFacts) -> Class {
        let (inner, strictest) = match access {
            Access::Read => (self.tables().sensitive.below(folder), Class::Rs),
            Access::Write => (self.tables().protected.below(folder), Class::Wp),
        };
        if inner { strictest } else { self.class(access, folder, facts) }
    }

    fn class_of_place(&self, access: Access, place: &Path) -> Class {
        match access {
            Access::Read if harmless_device(place) => Class::R,
            Access::Write if harmless_device(place) => Class::W,
            Access::Read if self.tables().sensitive.holds(place) => Class::Rs,
            Access::Read if self.inside(place) => Class::R,
            Access::Read => Class::Rx,
            Access::Write if self.is_protected(place) => Class::Wp,
            Access::Write if self.inside(place) => Class::W,
            Access::Write => Class::Wx,
        }
    }

    /// A workspace may lie below a protected folder (`/usr/src/app`, or a checkout of the user's own `bin`). Then only
    /// what is protected by its own name below the root counts.
    fn is_protected(&self, place: &Path) -> bool {
        let protected = &self.tables().protected;
        if !protected.holds(place) {
            return false;
        }
        let root =
            self.roots.iter().find(|root| place.starts_with(root)).filter(|root| protected.holds(root));
        match root.and_then(|root| place.strip_prefix(root).ok()) {
            // Judged as if the root were somewhere harmless.
            Some(rest) => protected.holds(&Path::new("/\u{0}").join(rest)) || protected.is_program(place),
            None => true,
        }
    }
}

/// Devices that neither keep nor give away anything.
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
