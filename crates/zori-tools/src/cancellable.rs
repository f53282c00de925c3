//! A reader that fails once the call is cancelled, so that huge or hostile input does not hold it up.

use std::io::{self, Read};

use zori_core::cancel::Cancel;

/// Reads from `inner` until `cancel` is set; then every read fails.
pub struct CancellableRead<'a, R> {
    pub inner: R,
    pub cancel: &'a Cancel,
    /// The most that one read returns: a consumer that takes long over each piece needs small ones.
    pub max_piece: usize,
}

impl<R: Read> Read for CancellableRead<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("canceled"));
        }
        let piece = buffer.len().min(self.max_piece);
        self.inner.read(&mut buffer[..piece])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_after_cancelling() {
        let cancel = Cancel::new();
        let mut reader = CancellableRead { inner: &b"some text"[..], cancel: &cancel, max_piece: 4 };
        let mut buffer = [0; 8];
        assert_eq!(reader.read(&mut buffer).unwrap(), 4);
        cancel.cancel();
        assert_eq!(reader.read(&mut buffer).unwrap_err().to_string(), "canceled");
    }
}
