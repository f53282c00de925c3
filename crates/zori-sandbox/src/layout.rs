//! The tree a confined command sees, as a list of mounts over a read-only `/`: parents before children, so that the
//! innermost wins. A pure function of the [`Spec`] and of what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::spec::{PathKind, Spec};

/// What is at a path, links not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nothing.
    Missing,
    /// A file or a directory.
    Present(PathKind),
    /// A link, with the file or directory it leads to in the end, if there is one.
    Link(Option<(PathBuf, PathKind)>),
}

/// A tree to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Over the read-only `/`, in this order.
    pub mounts: Vec<(PathBuf, Mount)>,
    /// Paths that must exist to be covered, and do not.
    pub stubs: Vec<(PathBuf, PathKind)>,
    /// Links that must stay as they are. Nothing can be mounted on a link.
    pub links: Vec<PathBuf>,
    /// Paths that are missing, and must be when the command has ended.
    pub guarded: Vec<GuardedPath>,
}

/// A path that is missing, and may not come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedPath {
    pub path: PathBuf,
    /// The path itself, or its first missing parent.
    pub missing: PathBuf,
}

/// What is mounted at a path. The later ones win over the earlier ones at the same path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mount {
    /// The private directory, in place of a shared one.
    Private(PathBuf),
    /// The place itself, writable.
    Writable,
    /// The place itself, read-only.
    ReadOnly,
    /// An empty file in place of a file.
    HiddenFile,
    /// An empty directory in place of a directory.
    HiddenDir,
}

/// World-writable directories, which the private one replaces.
const SHARED_TEMP: [&str; 2] = ["/tmp", "/var/tmp"];

/// Lays out the tree.
pub fn layout(spec: &Spec, look: &dyn Fn(&Path) -> PathState) -> Layout {
    let mut mounts = BTreeMap::new();
    let mut add = |path: &Path, mount: Mount| {
        let place = mounts.entry(path.to_owned()).or_insert_with(|| mount.clone());
        *place = mount.max(place.clone());
    };
    for shared in SHARED_TEMP.map(Path::new) {
        if look(shared) == PathState::Present(PathKind::Dir) {
            add(shared, Mount::Private(spec.temp.clone()));
        }
    }
    let writable: Vec<&Path> =
        spec.writable().filter(|path| look(path) == PathState::Present(PathKind::Dir)).collect();
    for path in &writable {
        add(path, Mount::Writable);
    }
    // A root is there at every level, also below a directory that the private one stands in for.
    let roots = spec.roots.iter().map(PathBuf::as_path).filter(|root| !writable.contains(root));
    let roots: Vec<&Path> = roots.filter(|root| look(root) == PathState::Present(PathKind::Dir)).collect();
    for root in &roots {
        add(root, Mount::ReadOnly);
    }

    let hidden = hidden(spec, &[writable.as_slice(), &roots].concat(), look);
    let mut stubs = BTreeMap::new();
    let mut links = Vec::new();
    let mut protected = BTreeSet::new();
    let mut guarded = Vec::new();
    for (path, stub) in spec.protected.iter().map(|p| (p.path.as_path(), p.stub)) {
        match covered(path, stub.unwrap_or(PathKind::Dir), &writable, look) {
            Some(Cover::There(path)) => {
                protected.insert(path);
            }
            Some(Cover::Stub(missing, _)) if stub.is_none() => {
                guarded.push(GuardedPath { path: path.to_owned(), missing });
            }
            Some(Cover::Stub(path, kind)) => {
                stubs.entry(path.clone()).or_insert(kind);
                protected.insert(path);
            }
            Some(Cover::Link(link, target)) => {
                links.push(link);
                protected.extend(target.filter(|target| within(target, &writable).is_some()));
            }
            None => {}
        }
    }
    let closed: Vec<&Path> = protected.iter().chain(hidden.keys()).map(PathBuf::as_path).collect();
    for path in &protected {
        // What lies in another place that is protected or hidden needs nothing more. Its parents must not be mounted
        // either: that would open the other one again.
        if within(path, &closed).is_some() {
            continue;
        }
        // Each directory above is mounted in its place as well: a mount point cannot be renamed, so nobody can move the
        // protected place away with its parent and build another (SB-2).
        let root = within(path, &writable).expect("only what is inside was taken");
        for ancestor in path.ancestors().skip(1).take_while(|a| a.starts_with(root)) {
            add(ancestor, Mount::Writable);
        }
        add(path, Mount::ReadOnly);
    }
    for (path, kind) in &hidden {
        if within(path, &hidden.keys().map(PathBuf::as_path).collect::<Vec<_>>()).is_none() {
            add(path, if *kind == PathKind::Dir { Mount::HiddenDir } else { Mount::HiddenFile });
        }
    }
    for path in spec.visible.iter().filter(|path| look(path) == PathState::Present(PathKind::Dir)) {
        add(path, Mount::ReadOnly);
    }
    links.sort();
    links.dedup();
    Layout { mounts: mounts.into_iter().collect(), stubs: stubs.into_iter().collect(), links, guarded }
}

/// Returns the place at which something else is mounted, so that a path below it is not what it is outside; `None` where it is.
pub fn hiding(spec: &Spec, path: &Path, look: &dyn Fn(&Path) -> PathState) -> Option<PathBuf> {
    let mounts = layout(spec, look).mounts;
    let above = mounts.into_iter().filter(|(place, _)| path.starts_with(place));
    let (place, mount) = above.max_by_key(|(place, _)| place.components().count())?;
    match mount {
        Mount::Private(_) | Mount::HiddenFile | Mount::HiddenDir => Some(place),
        Mount::Writable | Mount::ReadOnly => None,
    }
}

/// Returns the existing paths to hide, by what they lead to. What the private directory replaces is gone anyway.
fn hidden(spec: &Spec, seen: &[&Path], look: &dyn Fn(&Path) -> PathState) -> BTreeMap<PathBuf, PathKind> {
    let found = spec.hidden.iter().filter_map(|path| match look(path) {
        PathState::Missing | PathState::Link(None) => None,
        PathState::Present(kind) => Some((path.clone(), kind)),
        PathState::Link(Some(found)) => Some(found),
    });
    let gone = |path: &Path| {
        SHARED_TEMP.iter().any(|shared| path.starts_with(shared)) && within(path, seen).is_none()
    };
    found.filter(|(path, _)| !gone(path)).collect()
}

/// How a protected path is covered.
enum Cover {
    There(PathBuf),
    /// It is missing. This is the path itself, or its first missing parent.
    Stub(PathBuf, PathKind),
    Link(PathBuf, Option<PathBuf>),
}

/// Finds the first component of a protected path that can be covered; `None` if the path is not writable anyway.
fn covered(
    path: &Path,
    wanted: PathKind,
    writable: &[&Path],
    look: &dyn Fn(&Path) -> PathState,
) -> Option<Cover> {
    let root = within(path, writable)?;
    let below = path.strip_prefix(root).ok()?;
    let mut at = root.to_owned();
    let mut parts = below.components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let last = parts.peek().is_none();
        match look(&at) {
            PathState::Missing => {
                return Some(Cover::Stub(at, if last { wanted } else { PathKind::Dir }));
            }
            PathState::Link(target) => {
                let target = target.map(|(target, _)| parts.fold(target, |path, part| path.join(part)));
                return Some(Cover::Link(at, target));
            }
            PathState::Present(_) if last => return Some(Cover::There(at)),
            // A file where a directory was expected: nothing can be below it, unless it is replaced.
            PathState::Present(PathKind::File) => return Some(Cover::There(at)),
            PathState::Present(PathKind::Dir) => {}
        }
    }
    None
}

/// Returns the innermost of the places that the path lies in.
fn within<'a>(path: &Path, places: &[&'a Path]) -> Option<&'a Path> {
    let above = places.iter().filter(|place| path.starts_with(place) && path != **place);
    above.max_by_key(|place| place.components().count()).copied()
}

#[cfg(test)]
mod tests;
