//! A place to write to that can be looked at.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// What was written, for whoever looks.
#[derive(Clone, Default)]
pub struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    /// Takes what was written so far, which is text.
    pub fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().expect("nobody panics with it"));
        String::from_utf8(bytes).expect("it is text")
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
