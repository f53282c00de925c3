//! How many words of an executable the loader has to write before it starts: one for each pointer in each table of a
//! position-independent one (ADR 11). Read from the sections of an ELF file.

/// A section with addends: one entry for each word.
const RELA: u32 = 4;
/// A packed section: an address, then bitmaps of the words that follow it.
const RELR: u32 = 19;

/// Returns the number of relocations; `None` if the bytes are not an ELF file of 64 bits, lowest byte first.
pub fn count(file: &[u8]) -> Option<usize> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (sections, size, count) = (number(file, 40, 8)?, number(file, 58, 2)?, number(file, 60, 2)?);
    let mut all = 0;
    for at in (0..count).map(|n| sections + n * size) {
        let kind = u32::try_from(number(file, at + 4, 4)?).ok()?;
        let (begin, len, entry) =
            (number(file, at + 24, 8)?, number(file, at + 32, 8)?, number(file, at + 56, 8)?);
        all += match kind {
            RELA => len.checked_div(entry)?,
            RELR => packed(file.get(begin..begin.checked_add(len)?)?),
            _ => 0,
        };
    }
    Some(all)
}

/// Counts the words of a packed section. A bitmap has its lowest bit set, which stands for no word; an address has not.
fn packed(section: &[u8]) -> usize {
    let words = section.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    words.map(|word| if word & 1 == 1 { word.count_ones() as usize - 1 } else { 1 }).sum()
}

fn number(file: &[u8], at: usize, len: usize) -> Option<usize> {
    let bytes = file.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of a header and two sections: three entries, and an address with a bitmap of two further words.
    fn file() -> Vec<u8> {
        let mut file = vec![0; 64 + 2 * 64 + 16];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let mut put = |at: usize, value: u64, len: usize| {
            file[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        };
        put(40, 64, 8);
        put(58, 64, 2);
        put(60, 2, 2);
        for (at, kind, begin, len, entry) in [(64, 4, 0, 72, 24), (128, 19, 192, 16, 8)] {
            put(at + 4, kind, 4);
            put(at + 24, begin, 8);
            put(at + 32, len, 8);
            put(at + 56, entry, 8);
        }
        put(192, 0x1000, 8);
        put(200, 0b1011, 8);
        file
    }

    #[test]
    fn entries_and_packed_words() {
        assert_eq!(count(&file()), Some(3 + 1 + 2));
    }

    #[test]
    fn what_is_no_such_file() {
        assert_eq!(count(b"#!/bin/sh"), None);
        assert_eq!(count(&file()[..100]), None, "cut off");
    }

    /// The program that runs this test has some: the test is of a file that a linker made.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[test]
    fn of_a_real_program() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(count(&program).unwrap() > 1000);
    }
}
