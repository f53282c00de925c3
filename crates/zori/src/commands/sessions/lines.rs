//! The lines of a session's file as they are, one at a time: a session may be larger than memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The longest line that is read; a longer one is skipped.
const MAX_LINE: u64 = 64 << 20;

pub struct Lines {
    source: BufReader<File>,
    line: Vec<u8>,
}

impl Lines {
    /// Opens a file. What is none has no end, or no lines.
    pub fn open(path: &Path) -> io::Result<Self> {
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(Self { source: BufReader::with_capacity(256 << 10, File::open(path)?), line: Vec::new() })
    }

    /// Returns the next line, without its end.
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            self.line.shrink_to(1 << 20);
            let read = self.source.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            if self.line.ends_with(b"\n") {
                self.line.pop();
                return Ok(Some(&self.line));
            }
            if (read as u64) < MAX_LINE {
                return Ok(Some(&self.line));
            }
            self.line = Vec::new();
            self.source.skip_until(b'\n')?;
        }
    }
}
