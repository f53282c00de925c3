//! Contents that git holds: read by `git cat-file`, and from then on known by the hash of their bytes.

use std::collections::HashMap;
use std::fs::File;

use crate::contents::Contents;
use crate::hash::Hash;
use crate::op::Op;
use crate::repository::BlobReader;
use crate::state::{Content, State};
use crate::store::Store;

/// The contents of a store and of the blobs that operations name.
pub(crate) struct Blobs<'s> {
    store: &'s Store,
    read: HashMap<Hash, Vec<u8>>,
}

impl<'s> Blobs<'s> {
    /// Reads the blobs that operations name and puts the hashes of their bytes in their place. A blob that is gone, or whose
    /// length is not the recorded one, stays a name that nothing is found by (UNDO-8).
    pub(crate) fn resolve(store: &'s Store, ops: &mut [Op]) -> Self {
        let mut blobs = Self { store, read: HashMap::new() };
        let named = |state: &Option<State>| match state {
            Some(State::File { content: Content::Git(id), .. }) => Some(id.clone()),
            _ => None,
        };
        let changes = || ops.iter().flat_map(|op| &op.changes);
        let mut ids: Vec<Box<str>> =
            changes().flat_map(|change| [&change.before, &change.after]).filter_map(named).collect();
        ids.sort();
        ids.dedup();
        if ids.is_empty() {
            return blobs;
        }
        let mut known: HashMap<Box<str>, (Hash, u64)> = HashMap::new();
        let mut reader = BlobReader::start(store);
        for id in ids {
            let Some(bytes) = reader.as_mut().and_then(|reader| reader.read(&id)) else { continue };
            let hash = Hash::of(&bytes);
            known.insert(id, (hash, bytes.len() as u64));
            blobs.read.insert(hash, bytes);
        }
        let changes = ops.iter_mut().flat_map(|op| &mut op.changes);
        for state in changes.flat_map(|change| [&mut change.before, &mut change.after]).flatten() {
            let State::File { content, len, .. } = state else { continue };
            let Content::Git(id) = content else { continue };
            if let Some((hash, _)) = known.get(id).filter(|(_, found)| found == len) {
                *content = Content::Stored(*hash);
            }
        }
        blobs
    }
}

impl Contents for Blobs<'_> {
    fn get(&self, hash: &Hash) -> Option<Vec<u8>> {
        self.read.get(hash).cloned().or_else(|| self.store.get(hash))
    }

    fn has(&self, hash: &Hash) -> bool {
        self.read.contains_key(hash) || self.store.is_whole(hash)
    }

    fn file(&self, hash: &Hash) -> Option<File> {
        self.store.open_big(hash)
    }
}
