//! Landlock: rights on the tree as it is. Only rules grant rights, and a rule covers everything below it; so a path
//! without a right has no rule above it, and everything beside it has a rule of its own (SB-3).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{CWD, Dir, DirEntry, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use crate::spec::{Network, PathKind, Spec};

/// The oldest usable ABI: earlier ones cannot keep a readable file from being truncated.
pub const MIN_ABI: i32 = 3;
/// The first ABI that refuses signals to processes outside.
pub const SIGNAL_ABI: i32 = 6;

/// Devices that commands need.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Why the rules could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    /// The kernel refused a rule.
    #[error(transparent)]
    Rules(#[from] RulesetError),
    /// A place that must be there is not.
    #[error("{path}: {source}", path = path.display())]
    Open {
        /// The place.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// The kernel has no Landlock.
    #[error("the kernel made no rules")]
    Missing,
}

/// What a spec hides and protects, as the tree is now.
pub struct Closed {
    /// Where hidden paths lead; missing ones are left out.
    pub hidden: Vec<PathBuf>,
    /// Protected paths: each by its own name and, where that leads through a link, by where it leads.
    pub protected: Vec<PathBuf>,
}

impl Closed {
    /// Looks where the paths lead.
    pub fn of(spec: &Spec) -> Self {
        let hidden = spec.hidden.iter().filter_map(|path| path.canonicalize().ok());
        let protected = spec.protected.iter().map(|protected| &protected.path);
        let protected = protected.flat_map(|path| path.canonicalize().into_iter().chain([path.clone()]));
        Self { hidden: hidden.collect(), protected: protected.collect() }
    }
}

/// Makes the rules; the child applies them with `landlock_restrict_self`. `closed` is what the spec hides and protects.
pub fn rules(spec: &Spec, closed: &Closed, network: Network) -> Result<OwnedFd, LandlockError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V6))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if network == Network::Off {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V6))?;
    }
    let mut rules = Rules { ruleset: Some(ruleset.create()?) };

    let Closed { hidden, protected } = closed;
    let unreadable = [hidden.as_slice(), &["/dev".into()]].concat();
    let secret_dirs: Vec<&PathBuf> = hidden.iter().filter(|path| path.is_dir()).collect();
    let listable = |dir: &Path| !secret_dirs.iter().any(|secret| secret.starts_with(dir));
    rules.grant(Path::new("/"), &unreadable, &Grant { rights: reading(), listable: &listable })?;
    for visible in spec.visible.iter().filter(|path| path.is_dir()) {
        rules.grant(visible, &[], &Grant { rights: reading(), listable: &|_| false })?;
    }
    for device in DEVICES {
        rules.device(Path::new(device))?;
    }
    let unwritable = [hidden.as_slice(), protected].concat();
    for root in spec.writable().filter(|root| root.is_dir()) {
        rules.grant(root, &unwritable, &Grant { rights: writing(), listable: &|_| false })?;
    }
    Option::<OwnedFd>::from(rules.take()).ok_or(LandlockError::Missing)
}

/// What is granted on a tree.
struct Grant<'a> {
    rights: BitFlags<AccessFs>,
    /// Whether a directory that cannot be granted as a whole may be listed, with all below it.
    listable: &'a dyn Fn(&Path) -> bool,
}

/// The paths left out of a tree, as a tree of names: a directory with hundreds of entries is asked for a name each, not for
/// every path.
#[derive(Debug, Default, PartialEq, Eq)]
struct LeftOut<'a> {
    /// The place itself is left out, with all below it.
    itself: bool,
    /// Names in it below which something is left out.
    below: BTreeMap<&'a OsStr, LeftOut<'a>>,
}

impl<'a> LeftOut<'a> {
    /// Returns what is left out of `top`; `None` if nothing is.
    fn of(top: &Path, paths: &'a [PathBuf]) -> Option<Self> {
        let mut root = Self::default();
        for path in paths {
            let Ok(below) = path.strip_prefix(top) else { continue };
            let mut at = &mut root;
            for name in below {
                at = at.below.entry(name).or_default();
            }
            at.itself = true;
        }
        (root != Self::default()).then_some(root)
    }
}

struct Rules {
    /// Absent only within [`Rules::add`]: the crate's methods take it and give it back.
    ruleset: Option<RulesetCreated>,
}

impl Rules {
    /// Grants the rights on everything at and below `top` but the paths left out.
    fn grant(&mut self, top: &Path, left_out: &[PathBuf], grant: &Grant<'_>) -> Result<(), LandlockError> {
        let open = openat(CWD, top, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        let fd = open.map_err(|errno| LandlockError::Open { path: top.into(), source: errno.into() })?;
        match LeftOut::of(top, left_out) {
            Some(left_out) => self.descend(fd, top, &left_out, grant),
            None => self.add(fd.as_fd(), PathKind::Dir, grant.rights),
        }
    }

    /// Grants the rights on what is in a directory of which something is left out.
    fn descend(
        &mut self,
        fd: OwnedFd,
        path: &Path,
        left_out: &LeftOut<'_>,
        grant: &Grant<'_>,
    ) -> Result<(), LandlockError> {
        if left_out.itself {
            return Ok(());
        }
        // What cannot be listed is not granted, and what goes away meanwhile needs no rule. Each child is opened by its
        // name in the directory at hand, never by following a link: a link that is swapped in grants nothing.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(&fd, c".", flags, Mode::empty());
        if (grant.listable)(path) && !matches!(opened, Err(Errno::NOTDIR)) {
            self.add(fd.as_fd(), PathKind::Dir, AccessFs::ReadDir.into())?;
        }
        let Ok(entries) = opened.and_then(Dir::new) else { return Ok(()) };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Some((child, kind)) = open_child(&fd, &entry) else { continue };
            let name = OsStr::from_bytes(name.to_bytes());
            match left_out.below.get(name) {
                Some(left_out) => self.descend(child, &path.join(name), left_out, grant)?,
                None => self.add(child.as_fd(), kind, grant.rights)?,
            }
        }
        Ok(())
    }

    fn device(&mut self, path: &Path) -> Result<(), LandlockError> {
        let is_device = fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_char_device());
        let open = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        match open {
            Ok(fd) if is_device => {
                let rights =
                    AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
                self.add(fd.as_fd(), PathKind::File, rights)
            }
            _ => Ok(()),
        }
    }

    fn add(
        &mut self,
        fd: BorrowedFd<'_>,
        kind: PathKind,
        rights: BitFlags<AccessFs>,
    ) -> Result<(), LandlockError> {
        let rights = if kind == PathKind::File { rights & AccessFs::from_file(ABI::V6) } else { rights };
        if !rights.is_empty() {
            self.ruleset = Some(self.take().add_rule(PathBeneath::new(fd, rights))?);
        }
        Ok(())
    }

    fn take(&mut self) -> RulesetCreated {
        self.ruleset.take().expect("it is put back whenever it was taken, or an error has ended the work")
    }
}

/// Opens an entry of a directory as what it was listed as; nothing for a link, and for what is something else by now.
fn open_child(dir: &OwnedFd, entry: &DirEntry) -> Option<(OwnedFd, PathKind)> {
    let open = |further: OFlags| {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC | further;
        openat(dir, entry.file_name(), flags, Mode::empty()).ok()
    };
    match entry.file_type() {
        FileType::Directory => Some((open(OFlags::DIRECTORY)?, PathKind::Dir)),
        FileType::Symlink => None,
        // Some file systems do not say.
        FileType::Unknown => {
            let child = open(OFlags::empty())?;
            match FileType::from_raw_mode(fstat(&child).ok()?.st_mode) {
                FileType::Directory => Some((child, PathKind::Dir)),
                FileType::Symlink => None,
                _ => Some((child, PathKind::File)),
            }
        }
        // On a directory that has come in its place the rights of a file are the fewer.
        _ => Some((open(OFlags::empty())?, PathKind::File)),
    }
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute
}

/// Returns all rights for writing, except for making devices.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(ABI::V3) & !(AccessFs::MakeBlock | AccessFs::MakeChar)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SB-3: what is left out is found by name, one directory at a time.
    #[test]
    fn paths_left_out_as_a_tree() {
        let paths = ["/a/b/c", "/a/b", "/a/x/y", "/other", "/a/b/"].map(PathBuf::from);
        let shown = |top: &str| LeftOut::of(Path::new(top), &paths).map(|tree| show(&tree));
        assert_eq!(shown("/a").as_deref(), Some("(b!(c!) x(y!))"));
        assert_eq!(shown("/a/b").as_deref(), Some("!(c!)"));
        assert_eq!(shown("/a/b/c").as_deref(), Some("!"));
        assert_eq!(shown("/a/z"), None, "all of it is granted");
        assert_eq!(shown("/"), Some("(a(b!(c!) x(y!)) other!)".to_owned()));
    }

    fn show(tree: &LeftOut<'_>) -> String {
        let below = tree.below.iter().map(|(name, tree)| format!("{}{}", name.display(), show(tree)));
        let below: Vec<_> = below.collect();
        let below = if below.is_empty() { String::new() } else { format!("({})", below.join(" ")) };
        format!("{}{below}", if tree.itself { "!" } else { "" })
    }
}
