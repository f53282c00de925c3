//! The changes that a look finds, told apart by when they happened (UNDO-5).

use std::path::PathBuf;

use super::RACY_NS;
use super::entries::Entries;
use super::entry::Entry;
use crate::state::{Change, same};

/// Some file systems count whole seconds, or two.
const COARSE_NS: i64 = 2_000_000_000;

/// The times between which a command ran, in nanoseconds since 1970.
pub(crate) type Window = (i64, i64);

/// Changes, those of the command apart from those of others.
#[derive(Debug, Default)]
pub(crate) struct Sorting {
    /// When the command ran. Without a window all changes count as one's own.
    pub(crate) window: Option<Window>,
    /// What changed within the window.
    pub(crate) changes: Vec<Change>,
    /// What changed at another time.
    pub(crate) outside: Vec<Change>,
}

impl Sorting {
    /// Puts a change where it belongs; the path is asked for where there is one.
    pub(super) fn push(
        &mut self,
        path: impl FnOnce() -> PathBuf,
        before: Option<&Entry>,
        after: Option<&Entry>,
    ) {
        let (old, new) = (before.map(|entry| &entry.state), after.map(|entry| &entry.state));
        let untouched = before.map(|entry| entry.key) == after.map(|entry| entry.key);
        // A content that is not taken is the same for as long as its stat is.
        if same(old, new) || (old == new && untouched) {
            return;
        }
        let change = Change { path: path(), before: old.cloned(), after: new.cloned() };
        match self.is_outside(before, after) {
            true => self.outside.push(change),
            false => self.changes.push(change),
        }
    }

    fn is_outside(&self, before: Option<&Entry>, after: Option<&Entry>) -> bool {
        let Some((began, ended)) = self.window else { return false };
        if ended < began {
            // The clock was set back meanwhile, so that nothing is known of when.
            return true;
        }
        // What is gone has no time, and what is in a folder has its own.
        let Some(after) = after.filter(|entry| !entry.state.is_dir()) else { return false };
        let changed = after.key.ctime;
        let tick = if changed % 1_000_000_000 == 0 { COARSE_NS } else { RACY_NS };
        // What came with a folder that was moved has the time it had.
        let same_file = before.is_some_and(|before| before.key.inode == after.key.inode);
        changed > ended || (same_file && changed < began - tick)
    }

    pub(super) fn diff(&mut self, old: &Entries, new: &Entries) {
        for pair in old.differences(new) {
            self.push(|| pair.path, pair.old.as_ref(), pair.new.as_ref());
        }
    }

    pub(super) fn sort(&mut self) {
        for changes in [&mut self.changes, &mut self.outside] {
            Change::sort(changes);
            // A path may be told of twice, by its own events and those of a folder above.
            changes.dedup_by(|a, b| a == b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::StatKey;
    use super::*;
    use crate::hash::Hash;
    use crate::state::{Content, State};

    fn entry(text: &str, ctime: i64, inode: u64) -> Entry {
        let len = text.len() as u64;
        let state = State::File { content: Content::Stored(Hash::of(text.as_bytes())), mode: 0o644, len };
        Entry { key: StatKey { len, mtime: 0, ctime, inode }, state, racy: false }
    }

    #[test]
    fn whose_change_it_is() {
        const S: i64 = 1_000_000_000;
        let began = 100 * S + 7;
        let file = |ctime, inode| Some(entry("new", ctime, inode));
        let old = || Some(entry("old", 5, 1));
        for (name, window, before, after, outside) in [
            ("while it ran", (began, began + S), old(), file(began + 3, 1), false),
            ("within a tick", (began, began + S), old(), file(began - 3, 1), false),
            ("before it", (began, began + S), old(), file(began - S - 3, 1), true),
            ("on a disk with whole seconds", (began, began + S), old(), file(99 * S, 1), false),
            ("after it", (began, began + S), old(), file(began + S + 3, 1), true),
            ("a file that was moved there", (began, began + S), old(), file(7, 2), false),
            ("one that came with its folder", (began, began + S), None, file(7, 2), false),
            ("one that is gone", (began, began + S), old(), None, false),
            ("the clock was set back", (began, began - S), old(), file(began + 3, 1), true),
            ("and it is gone", (began, began - S), old(), None, true),
        ] {
            let mut sorting = Sorting { window: Some(window), ..Sorting::default() };
            sorting.push(|| PathBuf::from("/a"), before.as_ref(), after.as_ref());
            assert_eq!(
                (sorting.changes.len(), sorting.outside.len()),
                (!outside as usize, outside as usize),
                "{name}"
            );
        }
    }
}
