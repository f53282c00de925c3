//! The walk through a workspace. A folder is opened once, and everything in it is asked for relative to it, so that a file costs one system
//! call; ignore files are read where the listing shows one. Only names are kept of a folder, whatever its size.

use std::ffi::CStr;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

use super::ContextSettings;
use super::tree::{FileEntry, Tree};

/// A walk under way.
pub(super) struct Walk<'a> {
    settings: &'a ContextSettings,
    tree: &'a mut Tree,
    /// The path of the present folder below the root, with a slash behind it; empty in the root.
    path: Vec<u8>,
    /// The ignore files of the folders above and of this one.
    rules: Vec<Rules>,
}

/// What is in a folder: the names one behind another, and what each is.
#[derive(Default)]
struct Listing {
    /// With a NUL behind each.
    names: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    end: u32,
    kind: FileType,
}

impl Listing {
    fn name(&self, entry: Entry) -> &[u8] {
        &self.names[entry.start as usize..entry.end as usize]
    }

    /// Returns a name as system calls take it.
    fn c_name(&self, entry: Entry) -> &CStr {
        CStr::from_bytes_until_nul(&self.names[entry.start as usize..]).unwrap_or_default()
    }

    fn read(folder: &OwnedFd) -> rustix::io::Result<Self> {
        let mut listing = Self::default();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes_with_nul();
            if matches!(name, b".\0" | b"..\0") {
                continue;
            }
            let start = listing.names.len();
            listing.names.extend_from_slice(name);
            // More than 4 GB of names are more than anybody can wait for.
            let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(listing.names.len() - 1)) else {
                break;
            };
            listing.entries.push(Entry { start, end, kind: entry.file_type() });
        }
        let names = &listing.names;
        let name = |entry: &Entry| &names[entry.start as usize..entry.end as usize];
        listing.entries.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        Ok(listing)
    }

    fn has(&self, name: &[u8]) -> bool {
        self.entries.binary_search_by(|entry| self.name(*entry).cmp(name)).is_ok()
    }
}

/// The ignore files of a folder, by whose word counts first: `.ignore`, `.gitignore`, git's own list.
struct Rules {
    /// How long the path of the folder is: what is matched is the rest.
    below: usize,
    matchers: [Gitignore; 3],
}

impl<'a> Walk<'a> {
    pub(super) fn new(settings: &'a ContextSettings, tree: &'a mut Tree) -> Self {
        Self { settings, tree, path: Vec::new(), rules: Vec::new() }
    }

    pub(super) fn run(mut self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, &self.settings.root, flags, Mode::empty()) {
            Ok(root) => self.folder(&root, 0),
            Err(_) => self.tree.unreadable += 1,
        }
    }

    /// Goes through a folder, and through those in it.
    fn folder(&mut self, folder: &OwnedFd, depth: usize) {
        let Ok(listing) = Listing::read(folder) else {
            self.tree.unreadable += 1;
            return;
        };
        let ruled = self.settings.respect_gitignore && self.read_rules(&listing);
        for &entry in &listing.entries {
            if self.tree.truncated {
                break;
            }
            self.entry(folder, &listing, entry, depth);
        }
        if ruled {
            self.rules.pop();
        }
    }

    fn entry(&mut self, folder: &OwnedFd, listing: &Listing, entry: Entry, depth: usize) {
        let (name, c_name) = (listing.name(entry), listing.c_name(entry));
        let mut stat = None;
        let mut kind = entry.kind;
        if kind == FileType::Unknown {
            stat = statat(folder, c_name, AtFlags::SYMLINK_NOFOLLOW).ok();
            kind = stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        let is_folder = kind == FileType::Directory;
        if is_folder && self.settings.ignore_dirs.iter().any(|ignored| ignored.as_bytes() == name) {
            return;
        }
        let before = self.path.len();
        self.path.extend_from_slice(name);
        if !self.is_ignored(is_folder) {
            match kind {
                FileType::Directory if depth < self.settings.max_depth => {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    self.path.push(b'/');
                    match openat(folder, c_name, flags, Mode::empty()) {
                        Ok(inner) => self.folder(&inner, depth + 1),
                        Err(_) => self.tree.unreadable += 1,
                    }
                }
                FileType::Directory => self.tree.deeper += 1,
                FileType::RegularFile if self.tree.files.len() == self.settings.max_files => {
                    self.tree.truncated = true;
                }
                FileType::RegularFile => {
                    let stat = match stat {
                        Some(stat) => Ok(stat),
                        None => statat(folder.as_fd(), c_name, AtFlags::SYMLINK_NOFOLLOW),
                    };
                    match stat {
                        Ok(stat) => self.tree.files.push(FileEntry {
                            path: String::from_utf8_lossy(&self.path).into_owned(),
                            bytes: u64::try_from(stat.st_size).unwrap_or(0),
                            mtime: u64::try_from(stat.st_mtime).unwrap_or(0),
                        }),
                        Err(_) => self.tree.unreadable += 1,
                    }
                }
                FileType::Unknown => self.tree.unreadable += 1,
                _ => self.tree.others += 1,
            }
        }
        self.path.truncate(before);
    }

    /// Reads the ignore files of the present folder; returns whether it has any.
    fn read_rules(&mut self, listing: &Listing) -> bool {
        let is_repository = listing.has(b".git");
        let folder = || self.settings.root.join(path_of(&self.path));
        let read = |name: &str| match listing.has(name.as_bytes()) {
            true => matcher(&folder().join(name)),
            false => Gitignore::empty(),
        };
        let own = match is_repository {
            true => exclude_file(&folder().join(".git")).map_or_else(Gitignore::empty, |file| matcher(&file)),
            false => Gitignore::empty(),
        };
        let matchers = [read(".ignore"), read(".gitignore"), own];
        let any = matchers.iter().any(|matcher| !matcher.is_empty());
        if any {
            self.rules.push(Rules { below: self.path.len(), matchers });
        }
        any
    }

    /// Returns whether the present path is ignored: the nearest file of the first kind that says something counts.
    fn is_ignored(&self, is_folder: bool) -> bool {
        for kind in 0..3 {
            for rules in self.rules.iter().rev() {
                let matcher = &rules.matchers[kind];
                if !matcher.is_empty() {
                    match matcher.matched(path_of(&self.path[rules.below..]), is_folder) {
                        Match::None => {}
                        Match::Ignore(_) => return true,
                        Match::Whitelist(_) => return false,
                    }
                }
            }
        }
        false
    }
}

fn path_of(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// Reads an ignore file; lines that mean nothing are skipped.
fn matcher(file: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    let _ = builder.add(file);
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Returns where a repository keeps its own list; a worktree's is that of the repository it belongs to.
fn exclude_file(git: &Path) -> Option<PathBuf> {
    let folder = match git.is_dir() {
        true => git.to_owned(),
        false => {
            let text = fs::read_to_string(git).ok()?;
            let own = git.parent()?.join(text.trim().strip_prefix("gitdir:")?.trim());
            match fs::read_to_string(own.join("commondir")) {
                Ok(common) => own.join(common.trim()),
                Err(_) => own,
            }
        }
    };
    Some(folder.join("info/exclude")).filter(|file| file.is_file())
}
