//! A line of a result, cut where it is too long to be useful.

/// How many bytes of a line are shown, and how many of them stand before the match.
const MAX_BYTES: usize = 500;
const LEAD_BYTES: usize = 100;

/// A line that is shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1; the first one's if the match spans several.
    pub number: u64,
    /// Its text without the line end.
    pub text: String,
    /// Why it is shown.
    pub kind: LineKind,
}

/// Why a line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Match,
    /// It stands near one that does.
    Context,
}

/// Returns a line as text, without its end. A long one is cut to the part around the byte that `find` returns, or to
/// its beginning, with a note of what is missing.
pub fn cut_around(line: &[u8], find: impl FnOnce(&[u8]) -> Option<usize>) -> String {
    let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let line = &line[..end];
    if line.len() <= MAX_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = find(line).unwrap_or(0).saturating_sub(LEAD_BYTES).min(line.len() - MAX_BYTES);
    let start = boundary(line, start);
    let end = boundary(line, start + MAX_BYTES);
    let mut text = String::with_capacity(MAX_BYTES + 48);
    if start > 0 {
        text.push_str(&format!("[{start} bytes cut]"));
    }
    text.push_str(&String::from_utf8_lossy(&line[start..end]));
    if end < line.len() {
        text.push_str(&format!("[{} bytes cut]", line.len() - end));
    }
    text
}

/// Returns the nearest place at or before `at` where a character may begin.
fn boundary(line: &[u8], at: usize) -> usize {
    let continues = |at: usize| line.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    // Four continuation bytes in a row are no UTF-8; then any place is as good.
    (0..4).filter_map(|back| at.checked_sub(back)).find(|at| !continues(*at)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_lose_their_end_only() {
        assert_eq!(cut_around(b"a b\r\n", |_| panic!("not needed")), "a b");
        assert_eq!(cut_around(b"\n", |_| None), "");
        assert_eq!(cut_around(b"a\xffb\n", |_| None), "a\u{fffd}b");
    }

    #[test]
    fn long_lines_keep_what_is_around_the_match() {
        let line = format!("{}needle{}\n", "x".repeat(1000), "y".repeat(1000));
        assert_eq!(
            cut_around(line.as_bytes(), |line| line.windows(6).position(|w| w == b"needle")),
            format!("[900 bytes cut]{}needle{}[606 bytes cut]", "x".repeat(100), "y".repeat(394))
        );
    }

    #[test]
    fn cuts_fall_between_characters() {
        let line = "é".repeat(600);
        assert_eq!(
            cut_around(line.as_bytes(), |_| Some(501)),
            format!("[400 bytes cut]{}[300 bytes cut]", "é".repeat(250))
        );
        let broken = vec![0x80; 600];
        assert_eq!(cut_around(&broken, |_| None).chars().filter(|c| *c == '\u{fffd}').count(), 500);
    }
}
