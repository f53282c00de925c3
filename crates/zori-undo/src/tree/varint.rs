//! Numbers in as few bytes as they need: seven bits a byte, the highest bit says that more follow.

/// No number takes more.
pub(super) const MOST: usize = 10;

pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number off the beginning of bytes that `put` has written. Most are a single byte.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> u64 {
    if let [byte @ ..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return u64::from(*byte);
    }
    take_long(bytes)
}

fn take_long(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first().expect("a number ends");
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

/// Numbers around zero, either way, as small ones.
pub(super) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, ((number << 1) ^ (number >> 63)) as u64);
}

pub(super) fn take_signed(bytes: &mut &[u8]) -> i64 {
    let number = take(bytes);
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let mut bytes = Vec::new();
        let (unsigned, signed) = ([0, 1, 127, 128, u64::MAX], [0, -1, 1, i64::MIN, i64::MAX]);
        unsigned.iter().for_each(|&number| put(&mut bytes, number));
        signed.iter().for_each(|&number| put_signed(&mut bytes, number));
        let mut left = bytes.as_slice();
        assert_eq!(unsigned.map(|_| take(&mut left)), unsigned);
        assert_eq!(signed.map(|_| take_signed(&mut left)), signed);
        assert!(left.is_empty());
        // Five numbers of one byte, two of two, and of ten bytes those that need all bits.
        assert_eq!(bytes.len(), 3 + 2 + 10 + 3 + 10 + 10);
    }
}
