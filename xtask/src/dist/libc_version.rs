//! Which C library a binary needs, read from the names of the symbol versions in it.

/// Returns the newest `GLIBC_x.y` that the bytes name, as in `2.34`. No older library can run the binary.
pub fn needed_by(binary: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"GLIBC_";
    binary
        .windows(NAME.len())
        .enumerate()
        .filter(|(_, window)| *window == NAME)
        .filter_map(|(at, _)| version(&binary[at + NAME.len()..]))
        .max()
        .map(|(major, minor)| format!("{major}.{minor}"))
}

/// Reads `2.34` at the start of a string that ends with a zero byte. `2.2.5` counts as 2.2: packages know no third part.
fn version(bytes: &[u8]) -> Option<(u32, u32)> {
    let end = bytes.iter().take(16).position(|&byte| byte == 0)?;
    let mut parts = std::str::from_utf8(&bytes[..end]).ok()?.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_by_number() {
        let binary = b"\0GLIBC_2.2.5\0x\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_PRIVATE\0GLIBC_\0";
        assert_eq!(needed_by(binary).as_deref(), Some("2.34"));
        assert_eq!(needed_by(b"static"), None);
    }
}
