//! Contents that git holds: read by `git cat-file`, and from then on known by the hash of their bytes.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Mutex, PoisonError};

use crate::contents::Contents;
use crate::hash::Hash;
use crate::op::Op;
use crate::repository::BlobReader;
use crate::state::{Content, State};
use crate::store::Store;

/// The contents of a store and of the blobs that operations name.
pub(crate) struct Blobs<'s> {
    store: &'s Store,
    read: HashMap<Hash, Blob>,
    git: Mutex<Option<BlobReader>>,
}

/// A blob: its bytes, or its id where those would take too much memory.
enum Blob {
    Bytes(Vec<u8>),
    Id(Box<str>),
}

/// So many bytes of blobs are held; the others are read again.
const MOST_HELD: usize = 64 << 20;

impl<'s> Blobs<'s> {
    /// Reads the blobs that operations name and puts the hashes of their bytes in their place. A blob that is gone, or whose
    /// length is not the recorded one, stays a name that nothing is found by (UNDO-8).
    pub(crate) fn resolve(store: &'s Store, ops: &mut [Op]) -> Self {
        let mut blobs = Self { store, read: HashMap::new(), git: Mutex::default() };
        let named = |state: &Option<State>| match state {
            Some(State::File { content: Content::Git(id), .. }) => Some(id.clone()),
            _ => None,
        };
        let changes = || ops.iter().flat_map(|op| &op.changes);
        let ids: Vec<Box<str>> =
            changes().flat_map(|change| [&change.before, &change.after]).filter_map(named).collect();
        if ids.is_empty() {
            return blobs;
        }
        let mut known: HashMap<Box<str>, Option<(Hash, u64)>> = HashMap::new();
        let mut reader = BlobReader::start(store);
        let mut held = 0;
        for id in ids {
            if known.contains_key(&id) {
                continue;
            }
            let Some(bytes) = reader.as_mut().and_then(|reader| reader.read(&id)) else {
                known.insert(id, None);
                continue;
            };
            let hash = Hash::of(&bytes);
            known.insert(id.clone(), Some((hash, bytes.len() as u64)));
            held += bytes.len();
            let blob = if held > MOST_HELD { Blob::Id(id) } else { Blob::Bytes(bytes) };
            blobs.read.insert(hash, blob);
        }
        blobs.git = Mutex::new(reader);
        let changes = ops.iter_mut().flat_map(|op| &mut op.changes);
        for state in changes.flat_map(|change| [&mut change.before, &mut change.after]).flatten() {
            let State::File { content, len, .. } = state else { continue };
            let Content::Git(id) = content else { continue };
            if let Some((hash, _)) = known.get(id).copied().flatten().filter(|(_, found)| found == len) {
                *content = Content::Stored(hash);
            }
        }
        blobs
    }
}

impl Contents for Blobs<'_> {
    fn get(&self, hash: &Hash) -> Option<Vec<u8>> {
        let again = |id: &str| {
            let mut git = self.git.lock().unwrap_or_else(PoisonError::into_inner);
            git.as_mut()?.read(id).filter(|bytes| Hash::of(bytes) == *hash)
        };
        match self.read.get(hash) {
            Some(Blob::Bytes(bytes)) => Some(bytes.clone()),
            Some(Blob::Id(id)) => again(id).or_else(|| self.store.get(hash)),
            None => self.store.get(hash),
        }
    }

    fn has(&self, hash: &Hash) -> bool {
        self.read.contains_key(hash) || self.store.is_whole(hash)
    }

    fn file(&self, hash: &Hash) -> Option<File> {
        self.store.open_big(hash)
    }
}
