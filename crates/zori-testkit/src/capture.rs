//! Bytes that another process writes, collected by a thread while the test does something else.

use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What has arrived so far. Clones see the same bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capture(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    arrived: Mutex<Arrived>,
    /// More has arrived, or nothing more will.
    more: Condvar,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct Arrived {
    bytes: Vec<u8>,
    /// Where each piece ends, and when it came.
    pieces: Vec<(usize, Instant)>,
}

/// A text among the bytes that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The byte behind its last one.
    pub end: usize,
    /// When the piece with its last byte arrived, however late it was looked for.
    pub at: Instant,
}

impl Capture {
    /// Collects from `source` until it ends or `limit` bytes have arrived; then `source` is closed. `look` sees each
    /// piece as it arrives.
    pub fn start(
        mut source: impl Read + Send + 'static,
        limit: usize,
        mut look: impl FnMut(&[u8]) + Send + 'static,
    ) -> Self {
        let capture = Self::default();
        let inner = Arc::clone(&capture.0);
        std::thread::spawn(move || {
            let mut piece = vec![0; 64 * 1024];
            let mut left = limit;
            while left > 0 {
                let room = left.min(piece.len());
                match source.read(&mut piece[..room]) {
                    Ok(0) => break,
                    Ok(n) => {
                        left -= n;
                        look(&piece[..n]);
                        let now = Instant::now();
                        let mut arrived = inner.arrived.lock().unwrap_or_else(PoisonError::into_inner);
                        arrived.bytes.extend_from_slice(&piece[..n]);
                        let end = arrived.bytes.len();
                        arrived.pieces.push((end, now));
                        drop(arrived);
                        inner.more.notify_all();
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // A pseudo terminal whose other side is gone answers EIO.
                    Err(_) => break,
                }
            }
            drop(source);
            // With the lock, so that nobody begins to wait in between.
            let _arrived = inner.arrived.lock().unwrap_or_else(PoisonError::into_inner);
            inner.ended.store(true, Ordering::Release);
            inner.more.notify_all();
        });
        capture
    }

    /// A capture that has ended without a byte.
    pub fn ended() -> Self {
        let capture = Self::default();
        capture.0.ended.store(true, Ordering::Release);
        capture
    }

    /// Returns whether nothing more will come.
    pub fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::Acquire)
    }

    /// Returns what has arrived.
    pub fn bytes(&self) -> Vec<u8> {
        self.arrived().bytes.clone()
    }

    /// Returns how many bytes have arrived.
    pub fn len(&self) -> usize {
        self.arrived().bytes.len()
    }

    /// Waits until a text has arrived behind the first `from` bytes; `None` when the time is over or nothing more will come. Each byte is looked
    /// at once, and nobody polls: who measures takes no processor from what is measured.
    pub fn wait_for(&self, from: usize, text: &str, bound: Duration) -> Option<Seen> {
        let until = Instant::now() + bound;
        let text = text.as_bytes();
        let mut from = from;
        let mut arrived = self.arrived();
        loop {
            if let Some(at) = arrived.bytes.get(from..).and_then(|new| find(new, text)) {
                let end = from + at + text.len();
                let piece = arrived.pieces.partition_point(|(piece, _)| *piece < end);
                return Some(Seen { end, at: arrived.pieces[piece].1 });
            }
            from = from.max((arrived.bytes.len() + 1).saturating_sub(text.len()));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.has_ended() {
                return None;
            }
            let waited = self.0.more.wait_timeout(arrived, left).unwrap_or_else(PoisonError::into_inner);
            arrived = waited.0;
        }
    }

    fn arrived(&self) -> MutexGuard<'_, Arrived> {
        self.0.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what has arrived, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

/// Returns where a text begins in the bytes.
fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let first = *text.first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == first) {
        if bytes[from + at..].starts_with(text) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::wait::BOUND;

    #[test]
    fn a_text_in_two_pieces_has_the_time_of_the_second() {
        let (reads, mut writes) = std::io::pipe().unwrap();
        let capture = Capture::start(reads, usize::MAX, |_| {});
        writes.write_all(b"one fr").unwrap();
        assert!(capture.wait_for(0, "fr", BOUND).is_some());
        let between = Instant::now();
        writes.write_all(b"ame, another frame").unwrap();
        let seen = capture.wait_for(0, "frame", BOUND).unwrap();
        assert_eq!(seen.end, 9);
        assert!(seen.at >= between);
        assert_eq!(capture.wait_for(seen.end, "frame", BOUND).map(|seen| seen.end), Some(24));
        assert_eq!(capture.wait_for(24, "e", Duration::from_millis(1)), None, "only what is behind counts");
        drop(writes);
        assert_eq!(capture.wait_for(0, "no such text", BOUND), None, "it has ended");
        assert_eq!(capture.len(), 24);
    }
}
