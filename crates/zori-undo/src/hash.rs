//! The name of a content: its BLAKE3.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek};

/// BLAKE3 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Hashes bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Hashes a file from its start, a piece at a time, and returns how long it is, too.
    pub fn of_file(mut file: &File) -> io::Result<(Self, u64)> {
        file.rewind()?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        Ok((Self(*hasher.finalize().as_bytes()), hasher.count()))
    }

    /// Reads 64 hex digits.
    pub fn parse(hex: &str) -> Option<Self> {
        blake3::Hash::from_hex(hex).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.8}", blake3::Hash::from_bytes(self.0).to_hex())
    }
}
