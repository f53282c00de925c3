//! What is known of one path: its stat, and what was there; and the bytes that this is kept as.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use super::varint;
use crate::hash::Hash;
use crate::state::{Content, State};

/// How a file is recognised without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatKey {
    pub(super) len: u64,
    pub(super) mtime: i64,
    pub(super) ctime: i64,
    pub(super) inode: u64,
}

impl StatKey {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self {
            len: meta.len(),
            mtime: nanos(meta.mtime(), meta.mtime_nsec()),
            ctime: nanos(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        }
    }
}

pub(super) fn nanos(secs: i64, nanos: i64) -> i64 {
    secs.saturating_mul(1_000_000_000).saturating_add(nanos)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: StatKey,
    pub(super) state: State,
    /// It has to be read again, whatever its stat says.
    pub(super) racy: bool,
}

const WHOLE: &str = "it is as `pack` wrote it";

/// What an entry begins with says what was there; the highest bit, that it is racy.
mod kind {
    pub(super) const DIR: u8 = 0;
    pub(super) const LINK: u8 = 1;
    pub(super) const NOT_TAKEN: u8 = 2;
    pub(super) const STORED: u8 = 3;
    /// An id of git: its hex digits as bytes, or as they are where they are no such digits.
    pub(super) const GIT: u8 = 4;
    pub(super) const GIT_TEXT: u8 = 5;
    pub(super) const RACY: u8 = 0x80;
}

impl Entry {
    /// Appends the entry to bytes. Equal entries are equal bytes.
    pub(super) fn pack(&self, bytes: &mut Vec<u8>) {
        let at = bytes.len();
        bytes.push(0);
        put_stat(bytes, self.key);
        if let Some(mode) = self.state.mode() {
            varint::put(bytes, mode.into());
        }
        let kind = match &self.state {
            State::Dir { .. } => kind::DIR,
            State::Link { to } => {
                bytes.extend(to);
                kind::LINK
            }
            State::File { content, len, .. } => {
                varint::put_signed(bytes, len.wrapping_sub(self.key.len) as i64);
                match content {
                    Content::NotTaken => kind::NOT_TAKEN,
                    Content::Stored(Hash(hash)) => {
                        bytes.extend(hash);
                        kind::STORED
                    }
                    Content::Git(id) if pack_hex(id, bytes) => kind::GIT,
                    Content::Git(id) => {
                        bytes.extend(id.as_bytes());
                        kind::GIT_TEXT
                    }
                }
            }
        };
        bytes[at] = kind | if self.racy { kind::RACY } else { 0 };
    }

    /// Reads what `pack` wrote.
    pub(super) fn unpack(mut bytes: &[u8]) -> Self {
        let bytes = &mut bytes;
        let tag = *bytes.split_off_first().expect(WHOLE);
        let key = take_stat(bytes);
        let kind = tag & !kind::RACY;
        let state = match kind {
            kind::LINK => State::Link { to: bytes.to_vec() },
            _ => {
                let mode = varint::take(bytes) as u32;
                match kind {
                    kind::DIR => State::Dir { mode },
                    _ => {
                        let len = key.len.wrapping_add(varint::take_signed(bytes) as u64);
                        State::File { content: content(kind, bytes), mode, len }
                    }
                }
            }
        };
        Self { key, state, racy: tag & kind::RACY != 0 }
    }
}

/// Returns whether packed bytes tell of a regular file that has this stat and these permissions, and need not be read again.
pub(super) fn tells_of(mut packed: &[u8], stat: StatKey, mode: u32) -> bool {
    let bytes = &mut packed;
    let file = [kind::NOT_TAKEN, kind::STORED, kind::GIT, kind::GIT_TEXT];
    let is_file = bytes.split_off_first().is_some_and(|tag| file.contains(tag));
    is_file && take_stat(bytes) == stat && varint::take(bytes) == u64::from(mode)
}

fn put_stat(bytes: &mut Vec<u8>, stat: StatKey) {
    let StatKey { len, mtime, ctime, inode } = stat;
    varint::put(bytes, len);
    bytes.extend(mtime.to_le_bytes());
    // Mostly the same moment.
    varint::put_signed(bytes, ctime.wrapping_sub(mtime));
    varint::put(bytes, inode);
}

fn take_stat(bytes: &mut &[u8]) -> StatKey {
    let len = varint::take(bytes);
    let mtime = i64::from_le_bytes(*bytes.split_off(..8).expect(WHOLE).as_array().expect(WHOLE));
    let ctime = mtime.wrapping_add(varint::take_signed(bytes));
    let inode = varint::take(bytes);
    StatKey { len, mtime, ctime, inode }
}

fn content(kind: u8, bytes: &[u8]) -> Content {
    match kind {
        kind::STORED => Content::Stored(Hash(*bytes.as_array().expect("a hash has 32 bytes"))),
        kind::GIT => Content::Git(hex(bytes)),
        kind::GIT_TEXT => Content::Git(String::from_utf8_lossy(bytes).into()),
        _ => Content::NotTaken,
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn hex(bytes: &[u8]) -> Box<str> {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text.into()
}

/// Appends what pairs of hex digits stand for; writes nothing if the text is something else.
fn pack_hex(text: &str, bytes: &mut Vec<u8>) -> bool {
    let begin = bytes.len();
    let half = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    let packed = pairs.iter().try_for_each(|&[high, low]| {
        bytes.push((half(high)? << 4) | half(low)?);
        Some(())
    });
    let is_hex = packed.is_some() && odd.is_empty();
    if !is_hex {
        bytes.truncate(begin);
    }
    is_hex
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of state comes back from its bytes, with stats and lengths at their bounds, and takes as few as are said here.
    #[test]
    fn entries_come_back_from_their_bytes() {
        let usual = StatKey {
            len: 4321,
            mtime: 1_790_000_000_123_456_789,
            ctime: 1_790_000_000_123_456_999,
            inode: 9_876_543,
        };
        let odd = StatKey { len: u64::MAX, mtime: i64::MIN, ctime: i64::MAX, inode: u64::MAX };
        let file = |content| State::File { content, mode: 0o644, len: 4321 };
        let git = |id: &str| file(Content::Git(id.into()));
        let sha1 = "0123456789abcdef0123456789abcdef01234567";
        let states = [
            (State::Dir { mode: 0o7777 }, 19),
            (State::Link { to: b"to/\xff".to_vec() }, 21),
            (file(Content::NotTaken), 20),
            (file(Content::Stored(Hash([7; 32]))), 52),
            (git(sha1), 40),
            (git(&sha1.to_uppercase()), 60),
            (git("abc"), 23),
            (git(""), 20),
            (State::File { content: Content::NotTaken, mode: u32::MAX, len: 0 }, 24),
        ];
        for (state, len) in states {
            for (key, racy) in [(usual, false), (odd, true)] {
                let entry = Entry { key, state: state.clone(), racy };
                let mut bytes = Vec::new();
                entry.pack(&mut bytes);
                assert_eq!(Entry::unpack(&bytes), entry);
                let mode = state.mode().unwrap_or(0);
                let is_file = matches!(state, State::File { .. });
                assert_eq!(tells_of(&bytes, key, mode), is_file && !racy, "{state:?}");
                assert!(!tells_of(&bytes, key, mode ^ 1), "{state:?}");
                for other in
                    [StatKey { len: 1, ..key }, StatKey { mtime: 1, ..key }, StatKey { ctime: 1, ..key }]
                {
                    assert!(!tells_of(&bytes, other, mode), "{state:?}");
                }
                assert!(!tells_of(&bytes, StatKey { inode: 1, ..key }, mode), "{state:?}");
                if key == usual {
                    assert_eq!(bytes.len(), len, "{state:?}");
                }
            }
        }
    }
}
