//! Bytes that another process writes, collected by a thread while the test does something else.

use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What has arrived so far. Clones see the same bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capture(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    bytes: Mutex<Vec<u8>>,
    ended: AtomicBool,
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
                        inner.bytes.lock().unwrap_or_else(PoisonError::into_inner).extend(&piece[..n]);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // A pseudo terminal whose other side is gone answers EIO.
                    Err(_) => break,
                }
            }
            drop(source);
            inner.ended.store(true, Ordering::Release);
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
        self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what has arrived, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}
