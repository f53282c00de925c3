//! What the file system says about a path before a decision about it (P-1, P-2, P-4, P-6): every place it stands for,
//! what is there, and under how many names.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use zori_core::permission::{EntryKind, PathFacts, PathKind};

/// How many symbolic links are followed; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// Looks a path up. Links in its folders are resolved; a link at its end is followed, and each stop is a place. What does
/// not exist is resolved by its text, from the last folder that does.
pub fn look(path: &Path) -> PathFacts {
    let mut names: VecDeque<OsString> = parts(path);
    let mut here = PathBuf::from("/");
    let mut places = Vec::new();
    let mut links = 0;
    let mut last: Option<Metadata> = None;
    let mut unknown = false;
    while let Some(name) = names.pop_front() {
        if name == ".." {
            here.pop();
            continue;
        }
        let place = here.join(&name);
        let at_end = names.is_empty();
        if at_end {
            places.push(place.clone());
        }
        match fs::symlink_metadata(&place) {
            Ok(meta) if meta.is_symlink() => {
                links += 1;
                let Ok(target) = fs::read_link(&place) else { return unknowable() };
                if links > MAX_LINKS {
                    return unknowable();
                }
                if target.is_absolute() {
                    here = PathBuf::from("/");
                }
                for part in parts(&target).into_iter().rev() {
                    names.push_front(part);
                }
                // A link to a folder itself (`.`, `/`) leaves no name to stand for it.
                if at_end && names.is_empty() {
                    places.push(here.clone());
                    last = fs::symlink_metadata(&here).ok();
                }
                continue;
            }
            Ok(meta) => last = Some(meta),
            Err(error) => {
                last = None;
                unknown |= !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
            }
        }
        here = place;
    }
    if places.is_empty() || places.last() != Some(&here) {
        // The path ended in `..`, or is the top.
        places.push(here.clone());
        last = fs::symlink_metadata(&here).ok();
    }
    let kind = match &last {
        _ if unknown => PathKind::Unknown,
        None => PathKind::Missing,
        Some(meta) if meta.is_file() => PathKind::File,
        Some(meta) if meta.is_dir() => PathKind::Folder,
        Some(_) => PathKind::Special,
    };
    // A folder's count says how many folders are in it.
    let links = last.filter(Metadata::is_file).map_or(0, |meta| meta.nlink());
    PathFacts { places, kind, links }
}

/// How much of a file of settings is read.
const MAX_SMALL: u64 = 256 * 1024;

/// Returns the text of a regular file that is not large.
pub fn small_file(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    let bytes = (meta.is_file() && meta.len() <= MAX_SMALL).then(|| fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the names in a folder, and what each is.
pub fn names(folder: &Path) -> Option<Vec<(OsString, EntryKind)>> {
    let entries = fs::read_dir(folder).ok()?;
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let kind = entry.file_type().ok()?;
        let kind = match kind {
            kind if kind.is_dir() => EntryKind::Folder,
            kind if kind.is_symlink() => EntryKind::Link(fs::canonicalize(entry.path()).ok()),
            _ => EntryKind::File,
        };
        Some((entry.file_name(), kind))
    };
    entries.map(entry).collect()
}

/// A loop of links, or one that cannot be read: it may lead anywhere.
fn unknowable() -> PathFacts {
    PathFacts { places: Vec::new(), kind: PathKind::Unknown, links: 0 }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Returns what is found, with the scratch folder cut off.
    fn found(root: &Path, path: &str) -> String {
        let facts = look(&root.join(path));
        let show = |place: &PathBuf| match place.strip_prefix(root) {
            Ok(rest) => rest.display().to_string(),
            Err(_) => place.display().to_string(),
        };
        let places: Vec<_> = facts.places.iter().map(show).collect();
        format!("{} {:?} {}", places.join(" > "), facts.kind, facts.links)
    }

    #[test]
    fn every_stop_is_a_place() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/sub")).unwrap();
        fs::write(root.join("real/file"), "x").unwrap();
        fs::hard_link(root.join("real/file"), root.join("real/other")).unwrap();
        symlink("real", root.join("folder")).unwrap();
        symlink("folder/file", root.join("one")).unwrap();
        symlink("one", root.join("two")).unwrap();
        symlink(root.join("nowhere/at/all"), root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink(".", root.join("here")).unwrap();
        symlink("../real/sub/../new", root.join("real/up")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        for (path, expected) in [
            ("real/file", "real/file File 2"),
            ("folder/file", "real/file File 2"),
            ("two", "two > one > real/file File 2"),
            ("folder", "folder > real Folder 0"),
            ("folder/new", "real/new Missing 0"),
            ("folder/new/deep", "real/new/deep Missing 0"),
            ("folder/../x", "x Missing 0"),
            ("dangling", "dangling > nowhere/at/all Missing 0"),
            ("dangling/x", "nowhere/at/all/x Missing 0"),
            ("real/up", "real/up > real/new Missing 0"),
            ("loop", " Unknown 0"),
            ("loop/x", " Unknown 0"),
            ("here", "here >  Folder 0"),
            ("here/here/one", "one > real/file File 2"),
            ("real/file/x", "real/file/x Missing 0"),
            ("pipe", "pipe Special 0"),
        ] {
            assert_eq!(found(&root, path), expected, "{path}");
        }
        assert_eq!(found(&root, "/"), "/ Folder 0");
        assert_eq!(found(&root, "/.."), "/ Folder 0");
    }
}
