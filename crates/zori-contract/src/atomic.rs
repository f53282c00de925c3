//! Replaces a file in one step and on the disk (`zori-atomic`): whoever looks sees the old content or the new one, also after a crash.

use std::fs::File;
use std::io::{self, Write};

use zori_atomic::{Outlives, Readers, replace};

use crate::path::AbsPath;

/// Writes the file, readable for its owner alone if it is new; an existing one keeps its mode.
pub fn atomic_write(path: &AbsPath, content: &[u8]) -> io::Result<()> {
    atomic_write_with(path, |file| file.write_all(content))
}

/// The same for content that is too long to be held in memory.
pub fn atomic_write_with(path: &AbsPath, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    replace(path.as_path(), Readers::AsBefore, Outlives::PowerLoss, write)
}

/// Writes the file, readable for its owner alone whatever it was before.
pub fn private_write(path: &AbsPath, content: &[u8]) -> io::Result<()> {
    replace(path.as_path(), Readers::Owner, Outlives::PowerLoss, |file| file.write_all(content))
}
