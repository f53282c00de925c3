//! What is known of many paths, in their order: a folder, then all below it.
//!
//! A key is a path's bytes with each `/` as a zero, which no path has. Their order is that of the paths' components, and comparing two is one
//! comparison of bytes: a look without a watcher compares each path some sixty times.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Iter;
use std::ffi::OsString;
use std::iter::Peekable;
use std::ops::Bound;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::entry::Entry;

type Map = BTreeMap<Box<[u8]>, Entry>;

#[derive(Debug, Default)]
pub(super) struct Entries(Map);

/// A path that one of two trees knows, or both, and what they know.
pub(super) struct Pair<'a> {
    key: &'a [u8],
    pub(super) old: Option<&'a Entry>,
    pub(super) new: Option<&'a Entry>,
}

impl Pair<'_> {
    pub(super) fn path(&self) -> PathBuf {
        path(self.key)
    }
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Entry> {
        self.0.get(&*key(path))
    }

    pub(super) fn insert(&mut self, path: &Path, entry: Entry) -> Option<Entry> {
        self.0.insert(key(path), entry)
    }

    pub(super) fn remove(&mut self, path: &Path) -> Option<Entry> {
        self.0.remove(&*key(path))
    }

    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Returns all below a folder.
    pub(super) fn below(&self, folder: &Path) -> impl Iterator<Item = (PathBuf, &Entry)> {
        let begin = below(folder);
        let from = (Bound::Excluded(&*begin), Bound::Unbounded);
        let entries = self.0.range::<[u8], _>(from).map(|(key, entry)| (&**key, entry));
        let entries: Vec<_> = entries.take_while(|(key, _)| key.starts_with(&begin)).collect();
        entries.into_iter().map(|(key, entry)| (path(key), entry))
    }

    /// Takes what is known of a path and all below it.
    pub(super) fn take_below(&mut self, folder: &Path) -> Self {
        let mut taken = Map::new();
        taken.extend(self.0.remove_entry(&*key(folder)));
        let begin = below(folder);
        // What comes behind all that is below it: a path goes on with a zero or with more.
        let mut end = begin.to_vec();
        *end.last_mut().expect("it ends with a zero") = 1;
        taken.extend(self.0.extract_if(begin..end.into_boxed_slice(), |_, _| true));
        Self(taken)
    }

    /// Returns what two trees know, in the order of the paths.
    pub(super) fn beside<'a>(&'a self, new: &'a Self) -> impl Iterator<Item = Pair<'a>> {
        let (mut old, mut new) = (self.0.iter().peekable(), new.0.iter().peekable());
        std::iter::from_fn(move || next(&mut old, &mut new))
    }
}

fn next<'a>(
    old: &mut Peekable<Iter<'a, Box<[u8]>, Entry>>,
    new: &mut Peekable<Iter<'a, Box<[u8]>, Entry>>,
) -> Option<Pair<'a>> {
    let order = match (old.peek(), new.peek()) {
        (Some((a, _)), Some((b, _))) => a.cmp(b),
        (Some(_), None) => Ordering::Less,
        (None, _) => Ordering::Greater,
    };
    let old = if order.is_le() { old.next() } else { None };
    let new = if order.is_ge() { new.next() } else { None };
    let key = old.or(new)?.0;
    Some(Pair { key, old: old.map(|(_, entry)| entry), new: new.map(|(_, entry)| entry) })
}

fn key(path: &Path) -> Box<[u8]> {
    path.as_os_str().as_bytes().iter().map(|&byte| if byte == b'/' { 0 } else { byte }).collect()
}

/// Returns how the keys of all below a folder begin.
fn below(folder: &Path) -> Box<[u8]> {
    let mut begin = key(folder).into_vec();
    if begin.last() != Some(&0) {
        begin.push(0);
    }
    begin.into()
}

fn path(key: &[u8]) -> PathBuf {
    let bytes = key.iter().map(|&byte| if byte == 0 { b'/' } else { byte }).collect();
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::super::entry::StatKey;
    use super::*;
    use crate::state::State;

    fn entries(paths: &[&str]) -> Entries {
        let mut entries = Entries::default();
        for (at, path) in paths.iter().enumerate() {
            let key = StatKey { len: at as u64, mtime: 0, ctime: 0, inode: 0 };
            entries.insert(Path::new(path), Entry { key, state: State::Dir { mode: 0 }, racy: false });
        }
        entries
    }

    fn names(entries: &Entries) -> Vec<String> {
        let pairs = entries.beside(entries).map(|pair| pair.path().to_str().unwrap().to_owned());
        pairs.collect()
    }

    /// `-` comes before `/` in bytes; a folder's own come first all the same, as in paths.
    #[test]
    fn what_is_below_a_folder_comes_right_behind_it() {
        let paths = ["/r/a", "/r/a/x", "/r/a/x/y", "/r/a-b", "/r/a.rs", "/r/ä", "/r/b"];
        let mut sorted: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        sorted.sort();
        let mut all = entries(&["/r/b", "/r/a-b", "/r/a/x/y", "/r/a", "/r/ä", "/r/a.rs", "/r/a/x"]);
        let order: Vec<PathBuf> = names(&all).into_iter().map(PathBuf::from).collect();
        assert_eq!(order, sorted);
        let below = |folder: &str| all.below(Path::new(folder)).count();
        assert_eq!((below("/r/a"), below("/r/a/x/y"), below("/r"), below("/")), (2, 0, 7, 7));
        let taken = all.take_below(Path::new("/r/a"));
        assert_eq!(names(&taken), ["/r/a", "/r/a/x", "/r/a/x/y"]);
        assert_eq!(names(&all), ["/r/a-b", "/r/a.rs", "/r/b", "/r/ä"]);
        all.extend(taken);
        assert_eq!((all.len(), all.take_below(Path::new("/")).len(), all.len()), (7, 7, 0));
    }

    #[test]
    fn two_trees_beside_each_other() {
        let (old, new) = (entries(&["/a", "/b", "/b/c"]), entries(&["/b", "/b-c", "/d"]));
        let pairs = old.beside(&new).map(|pair| {
            let len = |entry: Option<&Entry>| entry.map(|entry| entry.key.len);
            (pair.path().to_str().unwrap().to_owned(), len(pair.old), len(pair.new))
        });
        let expected = [
            ("/a", Some(0), None),
            ("/b", Some(1), Some(0)),
            ("/b/c", Some(2), None),
            ("/b-c", None, Some(1)),
            ("/d", None, Some(2)),
        ];
        let expected = expected.map(|(path, old, new)| (path.to_owned(), old, new));
        assert_eq!(pairs.collect::<Vec<_>>(), expected);
    }
}
