//! Where the bytes of a content come from.

use std::fs::File;

use crate::hash::Hash;
use crate::store::Store;

/// Bytes by their hash.
pub trait Contents {
    /// Returns the bytes; `None` if they are gone or damaged.
    fn get(&self, hash: &Hash) -> Option<Vec<u8>>;
    /// Returns whether they are there, whole.
    fn has(&self, hash: &Hash) -> bool;
    /// Returns the file that holds them and nothing else, if there is one: what is long is not read into memory.
    fn file(&self, hash: &Hash) -> Option<File>;
}

impl Contents for Store {
    fn get(&self, hash: &Hash) -> Option<Vec<u8>> {
        Self::get(self, hash)
    }

    fn has(&self, hash: &Hash) -> bool {
        self.is_whole(hash)
    }

    fn file(&self, hash: &Hash) -> Option<File> {
        self.open_big(hash)
    }
}
