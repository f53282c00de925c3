//! Landlock: rights on the tree as it is. Only rules grant rights, and a rule covers everything below it; so a path
//! without a right has no rule above it, and everything beside it has a rule of its own (SB-3).

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
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};

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

/// Makes the rules; the child applies them with `landlock_restrict_self`.
pub fn rules(spec: &Spec, network: Network) -> Result<OwnedFd, LandlockError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V6))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if network == Network::Off {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V6))?;
    }
    let mut rules = Rules { ruleset: Some(ruleset.create()?) };

    let hidden: Vec<PathBuf> = spec.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let secret_dirs: Vec<&PathBuf> = hidden.iter().filter(|path| path.is_dir()).collect();
    let mut unreadable = hidden.clone();
    unreadable.push("/dev".into());
    let listable = |dir: &Path| !secret_dirs.iter().any(|secret| secret.starts_with(dir));
    rules
        .grant(Path::new("/"), &Exclusions { paths: &unreadable, rights: reading(), listable: &listable })?;
    for visible in spec.visible.iter().filter(|path| path.is_dir()) {
        rules.grant(visible, &Exclusions { paths: &[], rights: reading(), listable: &|_| false })?;
    }
    for device in DEVICES {
        rules.device(Path::new(device))?;
    }
    let mut unwritable = hidden;
    for protected in &spec.protected {
        // By its own name and, where that leads through a link, by where it leads.
        unwritable.extend(protected.path.canonicalize());
        unwritable.push(protected.path.clone());
    }
    for root in spec.writable().filter(|root| root.is_dir()) {
        rules.grant(root, &Exclusions { paths: &unwritable, rights: writing(), listable: &|_| false })?;
    }
    Option::<OwnedFd>::from(rules.take()).ok_or(LandlockError::Missing)
}

/// What to leave out of a tree.
struct Exclusions<'a> {
    paths: &'a [PathBuf],
    rights: BitFlags<AccessFs>,
    /// Whether a directory that cannot be granted as a whole may be listed, with all below it.
    listable: &'a dyn Fn(&Path) -> bool,
}

struct Rules {
    /// Absent only within [`Rules::add`]: the crate's methods take it and give it back.
    ruleset: Option<RulesetCreated>,
}

impl Rules {
    /// Grants the rights on everything at and below `top` but the paths left out.
    fn grant(&mut self, top: &Path, exclusions: &Exclusions<'_>) -> Result<(), LandlockError> {
        let open = openat(CWD, top, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        let fd = open.map_err(|errno| LandlockError::Open { path: top.into(), source: errno.into() })?;
        self.descend(fd, top, PathKind::Dir, exclusions)
    }

    fn descend(
        &mut self,
        fd: OwnedFd,
        path: &Path,
        kind: PathKind,
        exclusions: &Exclusions<'_>,
    ) -> Result<(), LandlockError> {
        if exclusions.paths.iter().any(|left_out| left_out == path) {
            return Ok(());
        }
        if !exclusions.paths.iter().any(|left_out| left_out.starts_with(path)) {
            return self.add(fd.as_fd(), kind, exclusions.rights);
        }
        if (exclusions.listable)(path) {
            self.add(fd.as_fd(), kind, AccessFs::ReadDir.into())?;
        }
        // What cannot be listed is not granted, and what goes away meanwhile needs no rule. Each child is opened by its
        // name in the directory at hand, never by following a link: a link that is swapped in grants nothing.
        let Ok(entries) =
            openat(&fd, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .and_then(Dir::new)
        else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(child) = openat(&fd, name, flags, Mode::empty()) else { continue };
            let kind = match fstat(&child).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                Ok(FileType::Directory) => PathKind::Dir,
                Ok(FileType::Symlink) | Err(_) => continue,
                Ok(_) => PathKind::File,
            };
            self.descend(child, &path.join(OsStr::from_bytes(name.to_bytes())), kind, exclusions)?;
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

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute
}

/// Returns all rights for writing, except for making devices.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(ABI::V3) & !(AccessFs::MakeBlock | AccessFs::MakeChar)
}
