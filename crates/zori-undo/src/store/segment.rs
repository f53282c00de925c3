//! A segment: `ZUS1`, then contents one after another, each with its BLAKE3, flags and lengths. Append-only.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::hash::Hash;

/// What a segment begins with.
pub(super) const MAGIC: &[u8; 4] = b"ZUS1";
/// BLAKE3, flags, length, stored length.
const HEADER: usize = 32 + 1 + 8 + 8;
/// The content is compressed.
const LZ4: u8 = 1;
/// No content in a segment is longer; what says so is damaged.
const MAX_LEN: u64 = 1 << 30;

/// Where a content is in its segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    offset: u64,
    stored: u32,
    len: u32,
    flags: u8,
}

/// Returns the bytes to append for a content.
pub(super) fn encode(hash: &Hash, bytes: &[u8]) -> Vec<u8> {
    let packed = (bytes.len() > 64).then(|| lz4_flex::block::compress(bytes));
    let (flags, stored) = match &packed {
        Some(packed) if packed.len() < bytes.len() => (LZ4, packed.as_slice()),
        _ => (0, bytes),
    };
    let mut record = Vec::with_capacity(HEADER + stored.len());
    record.extend_from_slice(&hash.0);
    record.push(flags);
    record.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    record.extend_from_slice(&(stored.len() as u64).to_le_bytes());
    record.extend_from_slice(stored);
    record
}

/// Returns what a segment of this length holds, up to the first record that is not whole.
pub(super) fn scan(file: &File) -> io::Result<Vec<(Hash, Position)>> {
    let end = file.metadata()?.len();
    let mut magic = [0; 4];
    let mut found = Vec::new();
    if end < 4 || file.read_exact_at(&mut magic, 0).is_err() || &magic != MAGIC {
        return Ok(found);
    }
    let mut at = 4;
    let mut header = [0; HEADER];
    while at + HEADER as u64 <= end {
        file.read_exact_at(&mut header, at)?;
        let number = |from: usize| {
            u64::from_le_bytes(header[from..from + 8].try_into().expect("eight bytes are eight"))
        };
        let (hash, flags, len, stored) =
            (Hash(header[..32].try_into().expect("a hash has 32 bytes")), header[32], number(33), number(41));
        let offset = at + HEADER as u64;
        if len > MAX_LEN || stored > MAX_LEN || offset + stored > end || flags > LZ4 {
            break;
        }
        found.push((hash, Position { offset, stored: stored as u32, len: len as u32, flags }));
        at = offset + stored;
    }
    Ok(found)
}

/// Returns where a record begins that was appended at `at`.
pub(super) fn position(at: u64, record: &[u8], len: usize) -> Position {
    let stored = (record.len() - HEADER) as u32;
    Position { offset: at + HEADER as u64, stored, len: len as u32, flags: record[32] }
}

/// Reads a content; `None` where its bytes are not those of its hash.
pub(super) fn read(file: &File, hash: &Hash, at: Position) -> Option<Vec<u8>> {
    let mut stored = vec![0; at.stored as usize];
    file.read_exact_at(&mut stored, at.offset).ok()?;
    let bytes = match at.flags {
        LZ4 => lz4_flex::block::decompress(&stored, at.len as usize).ok()?,
        _ => stored,
    };
    (Hash::of(&bytes) == *hash).then_some(bytes)
}
