//! Where the bytes of a content come from.

use crate::hash::Hash;
use crate::store::Store;

/// Bytes by their hash.
pub trait Contents {
    /// Returns the bytes; `None` if they are gone or damaged.
    fn get(&self, hash: &Hash) -> Option<Vec<u8>>;
    /// Returns whether they are there.
    fn has(&self, hash: &Hash) -> bool;
}

impl Contents for Store {
    fn get(&self, hash: &Hash) -> Option<Vec<u8>> {
        Self::get(self, hash)
    }

    fn has(&self, hash: &Hash) -> bool {
        Self::get(self, hash).is_some()
    }
}
