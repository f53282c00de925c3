//! Walks over folders that end: a link that leads back is noticed, and the depth has a bound.
//!
//! A command that walks says so in its entry ([`crate::command::Command::walks`]) and gets `--no-follow-symlinks` and
//! `--max-depth` for it; [`Walk::asked`] reads them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::args::Args;
use crate::cancel::Cancel;
use crate::error::IO_ERROR;
use crate::failure::Failure;
use crate::flag::framework;
use crate::path::AbsPath;

/// How deep folders may be nested when nobody says otherwise.
pub const DEFAULT_DEPTH: usize = 64;

/// How to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Whether folders behind links are entered; otherwise a link is a thing of its own.
    pub follow: bool,
    /// How many folders may lie in one another below the first. What is nested more deeply is a failure, not left out.
    pub max_depth: usize,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is, by the way it was reached.
    pub path: AbsPath,
    /// What it is.
    pub kind: Kind,
    /// How many bytes it has; none for a folder.
    pub bytes: u64,
}

/// What something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder, not entered yet.
    Folder,
    /// A regular file.
    File,
    /// A link that is not followed, or leads nowhere.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// A folder that is still to be read.
struct Pending {
    path: PathBuf,
    depth: usize,
    /// The folders around it, by device and number.
    around: Vec<(u64, u64)>,
}

impl Walk {
    /// Walks as the flags of the command say.
    pub fn asked(args: &Args) -> Self {
        let depth = args.int(&framework::MAX_DEPTH).and_then(|depth| usize::try_from(depth).ok());
        Self { follow: !args.has(&framework::NO_FOLLOW), max_depth: depth.unwrap_or(DEFAULT_DEPTH) }
    }

    /// Returns everything below the folder, by path. A folder that cannot be read is a failure; so are a link that leads
    /// back to where it lies in, and folders that are nested too deeply.
    pub fn below(&self, root: &AbsPath, cancel: &Cancel) -> Result<Vec<Found>, Failure> {
        let mut found = Vec::new();
        let facts = self.facts(root.as_path(), 0)?;
        if !facts.is_dir() {
            return Err(unreadable(root.as_path(), &io::ErrorKind::NotADirectory.into()));
        }
        let mut pending =
            vec![Pending { path: root.as_path().to_owned(), depth: 0, around: vec![place(&facts)] }];
        while let Some(Pending { path, depth, around }) = pending.pop() {
            cancel.check()?;
            for entry in fs::read_dir(&path).map_err(|error| unreadable(&path, &error))? {
                let entry = entry.map_err(|error| unreadable(&path, &error))?.path();
                let shown = absolute(&entry);
                let Some(facts) = self.facts_if_there(&entry, found.len())? else { continue };
                let (kind, bytes) = match facts.file_type() {
                    kind if kind.is_dir() => (Kind::Folder, 0),
                    kind if kind.is_file() => (Kind::File, facts.len()),
                    kind if kind.is_symlink() => (Kind::Link, facts.len()),
                    _ => (Kind::Other, 0),
                };
                if kind == Kind::Folder {
                    if depth >= self.max_depth {
                        return Err(Failure::depth_exceeded(&shown, self.max_depth, found.len()));
                    }
                    let mut around = around.clone();
                    if around.contains(&place(&facts)) {
                        return Err(Failure::symlink_loop(&shown, &target(&entry), found.len()));
                    }
                    around.push(place(&facts));
                    pending.push(Pending { path: entry, depth: depth + 1, around });
                }
                found.push(Found { path: shown, kind, bytes });
            }
        }
        found.sort_by(|a, b| a.path.as_path().cmp(b.path.as_path()));
        Ok(found)
    }

    /// Looks at something, through a link if those are followed.
    fn facts(&self, path: &Path, done: usize) -> Result<fs::Metadata, Failure> {
        let facts = if self.follow { fs::metadata(path) } else { fs::symlink_metadata(path) };
        facts.map_err(|error| match error.kind() {
            _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                Failure::symlink_loop(&absolute(path), &target(path), done)
            }
            _ => unreadable(path, &error),
        })
    }

    /// The same for what was listed: it may be gone meanwhile, and a link may lead nowhere.
    fn facts_if_there(&self, path: &Path, done: usize) -> Result<Option<fs::Metadata>, Failure> {
        let Ok(own) = fs::symlink_metadata(path) else { return Ok(None) };
        if !self.follow || !own.is_symlink() {
            return Ok(Some(own));
        }
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(own)),
            _ => self.facts(path, done).map(Some),
        }
    }
}

fn place(facts: &fs::Metadata) -> (u64, u64) {
    (facts.dev(), facts.ino())
}

fn absolute(path: &Path) -> AbsPath {
    AbsPath::new(path).expect("everything below an absolute path is absolute")
}

/// Returns where a link leads, one step far where there is no end.
fn target(link: &Path) -> AbsPath {
    let end = fs::canonicalize(link).or_else(|_| {
        let next = fs::read_link(link)?;
        Ok::<_, io::Error>(link.parent().map_or_else(|| next.clone(), |folder| folder.join(&next)))
    });
    absolute(&end.unwrap_or_else(|_| link.to_owned()))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(&IO_ERROR, format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn walked(walk: Walk, root: &Path) -> Result<Vec<String>, String> {
        let found = walk.below(&AbsPath::new(root).unwrap(), &Cancel::default());
        let shown = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
        match found {
            Ok(found) => Ok(found
                .iter()
                .map(|found| format!("{} {:?} {}", shown(found.path.as_path()), found.kind, found.bytes))
                .collect()),
            Err(failure) => {
                let field = |name: &str| failure.facts.fields.get(name).map(ToString::to_string);
                let place = |name: &str| {
                    field(name).unwrap_or_default().replace(root.to_str().unwrap(), "$ROOT").replace('"', "")
                };
                Err(format!("{} {} {}", failure.kind.code, place("path"), place("loop_target")))
            }
        }
    }

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/b/f"), "12345").unwrap();
        symlink("nowhere", folder.path().join("a/dangling")).unwrap();
        folder
    }

    const FOLLOWING: Walk = Walk { follow: true, max_depth: DEFAULT_DEPTH };
    const STAYING: Walk = Walk { follow: false, max_depth: DEFAULT_DEPTH };

    #[test]
    fn everything_below() {
        let folder = tree();
        let root = folder.path().canonicalize().unwrap();
        for walk in [FOLLOWING, STAYING] {
            assert_eq!(
                walked(walk, &root).unwrap(),
                ["a Folder 0", "a/b Folder 0", "a/b/f File 5", "a/dangling Link 7"]
            );
        }
    }

    /// F-061: whatever leads back is told, with where it leads; whoever follows no link does not meet it.
    #[test]
    fn links_that_lead_back() {
        for (name, to, leads) in
            [("a/b/up", "..", "$ROOT/a"), ("a/b/top", "../..", "$ROOT"), ("self", "self", "$ROOT/self")]
        {
            let folder = tree();
            let root = folder.path().canonicalize().unwrap();
            symlink(to, root.join(name)).unwrap();
            assert_eq!(walked(FOLLOWING, &root).unwrap_err(), format!("SYMLINK_LOOP $ROOT/{name} {leads}"));
            assert_eq!(walked(STAYING, &root).unwrap().len(), 5);
        }
        // Two ways to one folder are no loop.
        let folder = tree();
        let root = folder.path().canonicalize().unwrap();
        symlink("a/b", root.join("c")).unwrap();
        assert_eq!(walked(FOLLOWING, &root).unwrap().last().unwrap(), "c/f File 5");
    }

    #[test]
    fn the_depth_has_a_bound() {
        let folder = tree();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(walked(Walk { max_depth: 2, ..STAYING }, &root).unwrap().len(), 4);
        assert_eq!(walked(Walk { max_depth: 1, ..STAYING }, &root).unwrap_err(), "DEPTH_EXCEEDED $ROOT/a/b ");
        assert!(walked(STAYING, &root.join("a/b/f")).unwrap_err().starts_with("IO_ERROR"));
    }
}
