//! What a text may not be to be indexed: looked at once, from the first byte to the last, before any parser sees it.

/// The longest file, in bytes.
pub const MOST_BYTES: u64 = 1 << 20;
/// The longest line, in bytes: what is longer was made by a program for a program.
pub const LONGEST_LINE: usize = 5_000;
/// How deep brackets may be nested.
pub const DEEPEST: usize = 500;

/// Why a file is not indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unfit {
    /// It is longer than [`MOST_BYTES`].
    TooLarge,
    /// It is not UTF-8 text.
    Binary,
    /// A line is longer than [`LONGEST_LINE`].
    LongLines,
    /// Brackets are nested deeper than [`DEEPEST`].
    TooDeep,
    /// Its parser did not come to an end.
    TooSlow,
    /// It could not be read, or is no regular file.
    Unreadable,
    /// It may hold secrets.
    Sensitive,
}

impl Unfit {
    /// Every reason, with what it is called.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::TooLarge, "too_large"),
        (Self::Binary, "binary"),
        (Self::LongLines, "long_lines"),
        (Self::TooDeep, "too_deep"),
        (Self::TooSlow, "too_slow"),
        (Self::Unreadable, "unreadable"),
        (Self::Sensitive, "sensitive"),
    ];

    /// Returns what it is called.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(reason, _)| *reason == self).map_or("", |(_, name)| name)
    }
}

/// Returns the text of a file, or why it is not indexed.
pub fn text(bytes: Vec<u8>) -> Result<String, Unfit> {
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Unfit::TooLarge);
    }
    let (mut line, mut depth) = (0_usize, 0_usize);
    for byte in &bytes {
        line += 1;
        match byte {
            0 => return Err(Unfit::Binary),
            b'\n' => line = 0,
            b'(' | b'[' | b'{' => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(Unfit::TooDeep);
                }
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if line > LONGEST_LINE {
            return Err(Unfit::LongLines);
        }
    }
    String::from_utf8(bytes).map_err(|_| Unfit::Binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason() {
        let why = |text: Vec<u8>| super::text(text).err();
        assert_eq!(why(b"fn main() {}\n".to_vec()), None);
        assert_eq!(why(b"\x7fELF\0\0".to_vec()), Some(Unfit::Binary));
        assert_eq!(why(b"caf\xe9\n".to_vec()), Some(Unfit::Binary));
        assert_eq!(why("x".repeat(5_001).into_bytes()), Some(Unfit::LongLines));
        assert_eq!(why("[\n".repeat(501).into_bytes()), Some(Unfit::TooDeep));
        assert_eq!(why("[\n".repeat(500).into_bytes()), None);
        assert_eq!(why(vec![b'\n'; (1 << 20) + 1]), Some(Unfit::TooLarge));
    }
}
