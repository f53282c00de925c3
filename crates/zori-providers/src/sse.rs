//! Server-sent events: bytes in, frames out, wherever the network cut them.
//!
//! Knows the grammar of the event-stream format and nothing of any API. Data stays bytes: a character that two
//! network chunks share is whole again before anybody reads it as text (PROV-8).

/// The largest event that is accepted; a longer one is an error rather than memory without bound.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its name; empty where the server gave none.
    pub event: &'a [u8],
    /// Its data lines, joined by newlines.
    pub data: &'a [u8],
}

/// Why a stream cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// One event grew beyond [`MAX_EVENT`].
    #[error("an event of the stream is larger than {} MiB", MAX_EVENT / (1024 * 1024))]
    TooLong,
}

/// Cuts a byte stream into frames. Its buffers are reused, so that a small event costs no allocation.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Bytes that arrived and belong to no complete line yet, behind those already read.
    buffer: Vec<u8>,
    /// Where the unread part of `buffer` begins.
    start: usize,
    /// How far the unread part has been searched for a line end.
    searched: usize,
    event: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The frame in `event` and `data` has been handed out.
    delivered: bool,
    /// The last line ended with CR; an LF that follows belongs to it.
    after_cr: bool,
    /// The byte-order mark, if any, is behind us.
    begun: bool,
}

impl Decoder {
    /// Returns a decoder at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes as they arrived. Call [`next_frame`](Self::next_frame) until it returns `None` before adding more.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete frame, or `None` when more bytes are needed.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, SseError> {
        self.forget_delivered();
        if !self.skip_bom() {
            return Ok(None);
        }
        while let Some(line) = self.next_line() {
            if self.take_line(line)? {
                return Ok(Some(self.deliver()));
            }
        }
        if self.buffer.len() - self.start + self.data.len() > MAX_EVENT {
            return Err(SseError::TooLong);
        }
        Ok(None)
    }

    /// Returns the event that the end of the stream left without its blank line.
    ///
    /// The standard drops it, but servers exist that end so (NET-2). The caller must expect data that is cut off.
    pub fn finish(&mut self) -> Result<Option<Frame<'_>>, SseError> {
        self.forget_delivered();
        self.begun = true;
        let rest = self.start..self.buffer.len();
        self.start = rest.end;
        self.searched = rest.end;
        if !rest.is_empty() {
            self.take_line(rest)?;
        }
        Ok(if self.has_data { Some(self.deliver()) } else { None })
    }

    fn forget_delivered(&mut self) {
        if self.delivered {
            self.delivered = false;
            self.has_data = false;
            self.event.clear();
            self.data.clear();
        }
    }

    fn deliver(&mut self) -> Frame<'_> {
        self.delivered = true;
        Frame { event: &self.event, data: &self.data }
    }

    /// Returns whether the beginning of the stream is clear; false while it may still become a byte-order mark.
    fn skip_bom(&mut self) -> bool {
        if !self.begun {
            if self.buffer.starts_with(BOM) {
                self.start = BOM.len();
                self.searched = BOM.len();
            } else if BOM.starts_with(&self.buffer) {
                return false;
            }
            self.begun = true;
        }
        true
    }

    /// Returns the bounds of the next complete line, without its end, and moves behind it.
    fn next_line(&mut self) -> Option<std::ops::Range<usize>> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.searched = self.start;
            }
        }
        let Some(offset) = find_line_end(&self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + offset;
        let line = self.start..end;
        self.after_cr = self.buffer[end] == b'\r';
        self.start = end + 1;
        self.searched = self.start;
        Some(line)
    }

    /// Interprets one line; returns whether it completed a frame.
    fn take_line(&mut self, line: std::ops::Range<usize>) -> Result<bool, SseError> {
        let line = &self.buffer[line];
        if line.is_empty() {
            if !self.has_data {
                self.event.clear();
            }
            return Ok(self.has_data);
        }
        let (name, value) = match line.iter().position(|&b| b == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.data.len() + value.len() > MAX_EVENT {
                    return Err(SseError::TooLong);
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            // A comment has an empty name; `id`, `retry` and unknown fields mean nothing to us.
            _ => {}
        }
        Ok(false)
    }
}

/// Returns where the first CR or LF is. Whole blocks are looked at first, without a branch per byte, which the
/// compiler turns into vector instructions; most of a stream's time would go by here otherwise.
fn find_line_end(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 32;
    let is_end = |b: u8| b == b'\n' || b == b'\r';
    let clear =
        bytes.chunks_exact(BLOCK).take_while(|block| !block.iter().fold(false, |hit, &b| hit | is_end(b)));
    let from = clear.count() * BLOCK;
    bytes[from..].iter().position(|&b| is_end(b)).map(|offset| from + offset)
}

#[cfg(test)]
mod tests;
