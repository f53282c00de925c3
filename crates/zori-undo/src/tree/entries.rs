//! What is known of many paths, in their order: a folder, then all below it.
//!
//! A key is a path's bytes with each `/` as a zero, which no path has. Their order is that of the paths' components, and comparing two is one
//! comparison of bytes. Some hundred thousand files may be known for as long as a session is open, so that keys and entries are packed: a
//! file takes some 70 bytes where a map of structs took 300.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::entry::{Entry, StatKey, tells_of};
use super::run::{Reader, Run};

#[derive(Debug, Default)]
pub(super) struct Entries {
    /// In order.
    runs: Vec<Run>,
    /// The last key: what comes behind it need not be looked for, and a walk brings all in their order.
    last: Vec<u8>,
    len: usize,
}

/// A path of which one of two trees knows something that the other does not, and what they know.
pub(super) struct Pair {
    pub(super) path: PathBuf,
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, path: &Path) -> Option<Entry> {
        self.get_packed(&key(path)).map(Entry::unpack)
    }

    /// Returns whether a regular file is known and, by its stat, still as it was when it was taken.
    pub(super) fn has_file(&self, path: &Path, stat: StatKey, mode: u32) -> bool {
        self.unchanged(&key(path), stat, mode).is_some()
    }

    /// Takes over what another look knows of a regular file, if that still holds by its stat.
    pub(super) fn keep(&mut self, old: &Self, path: &Path, stat: StatKey, mode: u32) -> bool {
        let key = key(path);
        let value = old.unchanged(&key, stat, mode);
        if let Some(value) = value {
            self.insert_packed(&key, value);
        }
        value.is_some()
    }

    /// Returns what was known before.
    pub(super) fn insert(&mut self, path: &Path, entry: &Entry) -> Option<Entry> {
        let mut value = Vec::new();
        entry.pack(&mut value);
        self.insert_packed(&key(path), &value).map(|old| Entry::unpack(&old))
    }

    pub(super) fn remove(&mut self, path: &Path) -> Option<Entry> {
        let key = key(path);
        let at = self.run_of(&key);
        let (old, is_empty) = self.runs.get_mut(at)?.remove(&key)?;
        if is_empty {
            self.runs.remove(at);
        }
        if key == self.last {
            self.find_last();
        }
        self.len -= 1;
        Some(Entry::unpack(&old))
    }

    pub(super) fn extend(&mut self, others: &Self) {
        let mut cursor = others.from(&[]);
        while let Some(value) = cursor.value {
            self.insert_packed(cursor.key(), value);
            cursor.step();
        }
    }

    /// Returns all below a folder.
    pub(super) fn below(&self, folder: &Path) -> Vec<(PathBuf, Entry)> {
        let begin = below(folder);
        let mut cursor = self.from(&begin);
        let mut found = Vec::new();
        while let Some(value) = cursor.value.filter(|_| cursor.key().starts_with(&begin)) {
            if cursor.key() != begin {
                found.push((path(cursor.key()), Entry::unpack(value)));
            }
            cursor.step();
        }
        found
    }

    /// Takes what is known of a path and all below it.
    pub(super) fn take_below(&mut self, folder: &Path) -> Self {
        let (own, begin) = (key(folder), below(folder));
        let is_below = |key: &[u8]| key == own || key.starts_with(&begin);
        let first = self.run_of(&own);
        let end = self.runs.partition_point(|run| *run.first() <= *own || is_below(run.first()));
        let (mut kept, mut taken) = (Self::default(), Self::default());
        for run in &self.runs[first.min(end)..end] {
            let mut reader = run.reader();
            while let Some(value) = reader.next() {
                let side = if is_below(&reader.key) { &mut taken } else { &mut kept };
                side.insert_packed(&reader.key, value);
            }
        }
        self.runs.splice(first.min(end)..end, kept.runs);
        self.len -= taken.len;
        self.find_last();
        taken
    }

    /// Returns what two trees know differently, in the order of the paths.
    pub(super) fn differences<'a>(&'a self, new: &'a Self) -> impl Iterator<Item = Pair> + 'a {
        let (mut old, mut new) = (self.from(&[]), new.from(&[]));
        std::iter::from_fn(move || next_difference(&mut old, &mut new))
    }

    fn unchanged(&self, key: &[u8], stat: StatKey, mode: u32) -> Option<&[u8]> {
        self.get_packed(key).filter(|value| tells_of(value, stat, mode))
    }

    fn get_packed(&self, key: &[u8]) -> Option<&[u8]> {
        self.runs.get(self.run_of(key))?.get(key)
    }

    fn insert_packed(&mut self, key: &[u8], value: &[u8]) -> Option<Box<[u8]>> {
        if self.runs.is_empty() || *key > *self.last {
            let is_taken = self.runs.last_mut().is_some_and(|run| run.append(&self.last, key, value));
            if !is_taken {
                self.runs.push(Run::new(key, value));
            }
            self.last.clear();
            self.last.extend(key);
            self.len += 1;
            return None;
        }
        let at = self.run_of(key);
        let run = &mut self.runs[at];
        let old = run.insert(key, value);
        if let Some(second) = run.split() {
            self.runs.insert(at + 1, second);
        }
        self.len += usize::from(old.is_none());
        old
    }

    fn find_last(&mut self) {
        self.last = self.runs.last().map(Run::last).unwrap_or_default();
    }

    /// Returns the run in which a key is or would be.
    fn run_of(&self, key: &[u8]) -> usize {
        self.runs.partition_point(|run| run.first() <= key).saturating_sub(1)
    }

    /// Returns a cursor at the first key that is not before this one.
    fn from(&self, key: &[u8]) -> Cursor<'_> {
        let mut cursor =
            Cursor { runs: &self.runs[self.run_of(key)..], reader: Reader::default(), value: None };
        cursor.step();
        while cursor.value.is_some() && cursor.key() < key {
            cursor.step();
        }
        cursor
    }
}

/// Goes from key to key.
struct Cursor<'a> {
    /// The runs that are still to come.
    runs: &'a [Run],
    reader: Reader<'a>,
    /// What is known here; `None` behind the last.
    value: Option<&'a [u8]>,
}

impl Cursor<'_> {
    fn key(&self) -> &[u8] {
        &self.reader.key
    }

    fn step(&mut self) {
        self.value = self.reader.next();
        while self.value.is_none()
            && let Some((run, rest)) = self.runs.split_first()
        {
            (self.runs, self.reader) = (rest, run.reader());
            self.value = self.reader.next();
        }
    }
}

fn next_difference(old: &mut Cursor<'_>, new: &mut Cursor<'_>) -> Option<Pair> {
    loop {
        let order = match (old.value, new.value) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), Some(_)) => old.key().cmp(new.key()),
        };
        if order.is_eq() && old.value == new.value {
            old.step();
            new.step();
            continue;
        }
        let mut pair =
            Pair { path: path(if order.is_le() { old.key() } else { new.key() }), old: None, new: None };
        if order.is_le() {
            pair.old = old.value.map(Entry::unpack);
            old.step();
        }
        if order.is_ge() {
            pair.new = new.value.map(Entry::unpack);
            new.step();
        }
        return Some(pair);
    }
}

fn key(path: &Path) -> Vec<u8> {
    let mut key = path.as_os_str().as_bytes().to_vec();
    exchange(&mut key, b'/', 0);
    key
}

/// Returns how the keys of all below a folder begin.
fn below(folder: &Path) -> Vec<u8> {
    let mut begin = key(folder);
    if begin.last() != Some(&0) {
        begin.push(0);
    }
    begin
}

fn path(key: &[u8]) -> PathBuf {
    let mut path = key.to_vec();
    exchange(&mut path, 0, b'/');
    OsString::from_vec(path).into()
}

fn exchange(bytes: &mut [u8], from: u8, to: u8) {
    for byte in bytes {
        if *byte == from {
            *byte = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use zori_testkit::random::{Random, cases};

    use super::*;
    use crate::state::{Content, State};

    fn entry(len: u64) -> Entry {
        let key = StatKey { len, mtime: 0, ctime: 0, inode: 0 };
        Entry { key, state: State::Dir { mode: 0 }, racy: false }
    }

    fn entries(paths: &[&str]) -> Entries {
        let mut entries = Entries::default();
        for (at, path) in paths.iter().enumerate() {
            entries.insert(Path::new(path), &entry(at as u64));
        }
        entries
    }

    fn names(entries: &Entries) -> Vec<String> {
        let pairs = Entries::default();
        let pairs = pairs.differences(entries).map(|pair| pair.path.to_str().unwrap().to_owned());
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
        let below = |folder: &str| all.below(Path::new(folder)).len();
        assert_eq!((below("/r/a"), below("/r/a/x/y"), below("/r"), below("/")), (2, 0, 7, 7));
        let taken = all.take_below(Path::new("/r/a"));
        assert_eq!(names(&taken), ["/r/a", "/r/a/x", "/r/a/x/y"]);
        assert_eq!(names(&all), ["/r/a-b", "/r/a.rs", "/r/b", "/r/ä"]);
        all.extend(&taken);
        assert_eq!((all.len(), all.take_below(Path::new("/")).len(), all.len()), (7, 7, 0));
    }

    #[test]
    fn two_trees_beside_each_other() {
        let old = entries(&["/a", "/b", "/b/c", "/e", "/f"]);
        let mut new = entries(&["/b", "/b-c", "/d"]);
        // Both know the one, and of the other they do not know the same.
        new.insert(Path::new("/e"), &entry(3));
        new.insert(Path::new("/f"), &Entry { racy: true, ..entry(4) });
        let pairs = old.differences(&new).map(|pair| {
            let len = |entry: Option<Entry>| entry.map(|entry| entry.key.len);
            (pair.path.to_str().unwrap().to_owned(), len(pair.old), len(pair.new))
        });
        let expected = [
            ("/a", Some(0), None),
            ("/b", Some(1), Some(0)),
            ("/b/c", Some(2), None),
            ("/b-c", None, Some(1)),
            ("/d", None, Some(2)),
            ("/f", Some(4), Some(4)),
        ];
        let expected = expected.map(|(path, old, new)| (path.to_owned(), old, new));
        assert_eq!(pairs.collect::<Vec<_>>(), expected);
    }

    /// A path of few names, so that many are met again, and now and then one that is longer than a whole run.
    fn some_path(random: &mut Random) -> PathBuf {
        let mut path = PathBuf::from("/r");
        for _ in 0..random.below(5) {
            let name = ["a", "ab", "a-b", "b", "module_1.rs", "module_12.rs", "ä"][random.below(7)];
            path.push(name);
        }
        if random.below(50) == 0 {
            path.push("long".repeat(random.below(600)));
        }
        path
    }

    /// Whatever is done to them, entries are what a map would be.
    #[test]
    fn entries_are_a_map() {
        for case in 0..cases(60, 600) {
            let mut random = Random::new(case as u64);
            let (mut entries, mut map) = (Entries::default(), BTreeMap::<PathBuf, Entry>::new());
            for step in 0..400 {
                let path = some_path(&mut random);
                match random.below(20) {
                    0 => {
                        let taken = entries.take_below(&path);
                        let below: BTreeMap<_, _> =
                            map.extract_if(.., |known, _| known.starts_with(&path)).collect();
                        assert_eq!(taken.len(), below.len());
                        assert_eq!(
                            taken.below(Path::new("/")),
                            below.clone().into_iter().collect::<Vec<_>>()
                        );
                        if random.below(2) == 0 {
                            entries.extend(&taken);
                            map.extend(below);
                        }
                    }
                    1..=4 => assert_eq!(entries.remove(&path), map.remove(&path)),
                    5 => {
                        let all = map.iter().filter(|(known, _)| known.starts_with(&path) && **known != path);
                        let all: Vec<_> = all.map(|(path, entry)| (path.clone(), entry.clone())).collect();
                        assert_eq!(entries.below(&path), all);
                    }
                    6 => assert_eq!(entries.get(&path), map.get(&path).cloned()),
                    _ => assert_eq!(entries.insert(&path, &entry(step)), map.insert(path, entry(step))),
                }
                assert_eq!(entries.len(), map.len());
            }
            assert_eq!(entries.below(Path::new("/")), map.into_iter().collect::<Vec<_>>(), "case {case}");
            assert!(entries.runs.iter().is_sorted_by(|a, b| a.first() < b.first()), "case {case}");
            assert_eq!(entries.runs.last().map(Run::last).unwrap_or_default(), entries.last, "case {case}");
        }
    }

    /// What a session holds for each file it knows is bounded (chapter 8 of the contract: 120 bytes, other folders' share included).
    #[test]
    fn a_known_file_takes_few_bytes() {
        let mut entries = Entries::default();
        let moment = 1_790_000_000_000_000_000;
        for at in 0..5_000_u64 {
            // Not in their order, as a folder lists them.
            let at = at * 2_741 % 5_000;
            let path =
                format!("/home/somebody/project/area_{}/part_{}/module_{}.rs", at / 500, at / 10, at % 10);
            let key = StatKey { len: 4_000 + at, mtime: moment, ctime: moment + 1, inode: 30_000_000 + at };
            let id = format!("{:040x}", u128::from(at) * 0x1234_5678_9abc_def1);
            let state = State::File { content: Content::Git(id.into()), mode: 0o644, len: key.len };
            entries.insert(Path::new(&path), &Entry { key, state, racy: false });
        }
        let records: usize = entries.runs.iter().map(Run::size).sum();
        let held = records + entries.runs.capacity() * size_of::<Run>();
        assert!(held / 5_000 < 70, "{} bytes for each file", held / 5_000);
    }
}
