//! Reads the lines of a file of any size in bounded memory: a line over the limit is skipped (LOG-3, LOG-12).

use std::io::{self, BufRead, BufReader, Read};

/// The longest line that is read.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// Reads lines one at a time into one buffer.
pub(crate) struct Lines {
    source: BufReader<Box<dyn Read + Send>>,
    buffer: Vec<u8>,
    limit: usize,
}

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Its bytes.
    Whole(&'a [u8]),
    /// The file ends in the middle of it.
    Unterminated(&'a [u8]),
    /// It is longer than the limit.
    TooLong,
}

impl Lines {
    pub(crate) fn new(source: Box<dyn Read + Send>, limit: usize) -> Self {
        Self { source: BufReader::with_capacity(64 << 10, source), buffer: Vec::new(), limit }
    }

    /// Returns the next line, or `None` at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        // What one huge line needed is not held for the rest of the file.
        self.buffer.clear();
        self.buffer.shrink_to(1 << 20);
        let mut too_long = false;
        let mut begun = false;
        loop {
            let chunk = match self.source.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok(match (begun, too_long) {
                    (false, _) => None,
                    (true, true) => Some(Line::TooLong),
                    (true, false) => Some(Line::Unterminated(&self.buffer)),
                });
            }
            begun = true;
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if !too_long && self.buffer.len() + part.len() <= self.limit {
                self.buffer.extend_from_slice(part);
            } else {
                too_long = true;
                self.buffer = Vec::new();
            }
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                return Ok(Some(if too_long { Line::TooLong } else { Line::Whole(&self.buffer) }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter and the bytes per line.
    fn read(bytes: &'static [u8], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(Box::new(bytes), limit);
        let mut out = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            out.push(match line {
                Line::Whole(bytes) => format!("w:{}", bytes.escape_ascii()),
                Line::Unterminated(bytes) => format!("u:{}", bytes.escape_ascii()),
                Line::TooLong => "long".to_owned(),
            });
        }
        out
    }

    #[test]
    fn whole_and_cut() {
        assert_eq!(read(b"a\n\nbc", 9), ["w:a", "w:", "u:bc"]);
        assert_eq!(read(b"a\n", 9), ["w:a"]);
        assert!(read(b"", 9).is_empty());
    }

    #[test]
    fn the_limit() {
        assert_eq!(read(b"abc\nabcd\nab\nabcdef", 3), ["w:abc", "long", "w:ab", "long"]);
    }

    #[test]
    fn a_line_over_the_real_limit_costs_no_memory() {
        let huge = io::repeat(b'x').take(MAX_LINE as u64 + 1).chain(&b"\nnext\n"[..]);
        let mut lines = Lines::new(Box::new(huge), MAX_LINE);
        assert_eq!(lines.next().unwrap(), Some(Line::TooLong));
        assert_eq!(lines.buffer.capacity(), 0);
        assert_eq!(lines.next().unwrap(), Some(Line::Whole(b"next")));
        assert_eq!(lines.next().unwrap(), None);
    }
}
