//! A reader that fails once the call is cancelled, so that huge or hostile input does not hold it up.

use std::io::{self, Read};

use zori_core::cancel::Cancel;

/// Reads from `inner` until `cancel` is set; then every read fails.
pub struct CancellableRead<'a, R> {
    pub inner: R,
    pub cancel: &'a Cancel,
}

impl<R: Read> Read for CancellableRead<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("canceled"));
        }
        self.inner.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_after_cancelling() {
        let cancel = Cancel::new();
        let mut reader = CancellableRead { inner: &b"some text"[..], cancel: &cancel };
        let mut buffer = [0; 4];
        assert_eq!(reader.read(&mut buffer).unwrap(), 4);
        cancel.cancel();
        assert_eq!(reader.read(&mut buffer).unwrap_err().to_string(), "canceled");
    }
}
