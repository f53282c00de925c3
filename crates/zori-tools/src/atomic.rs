//! Replaces a file in one step: a temporary file beside it, then a rename. A reader sees the old content or the new one
//! (WRITE-5, CAN-4, FS-2).
//!
//! Both names are in a folder that is held open, so that nothing leads elsewhere meanwhile (P-3). Nothing is synced:
//! durability against loss of power is promised for our own records, not for a user's files.
//!
//! What a killed run has left beside its targets goes with the first write to the folder ([`left_over`]).

mod left_over;

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, fchown};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, XattrFlags};
use zori_core::cancel::Cancel;
use zori_core::temp_name;

use crate::open_dir::{FileMeta, NameInDir};

/// Content written beside its target and not yet moved there. It is removed when dropped.
#[derive(Debug)]
pub struct StagedFile {
    temp: NameInDir,
    file: File,
    target: NameInDir,
}

/// The existing file, whose attributes the new one gets.
#[derive(Clone, Copy, Debug)]
pub struct AttributeSource<'a> {
    pub meta: &'a FileMeta,
    /// The file, where we may read it.
    pub file: Option<&'a File>,
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The call was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl StagedFile {
    /// Writes `content` beside `target`. With `like`, the file that is there now, mode, owner and extended attributes
    /// are taken over as far as the system lets us.
    pub fn new(
        target: &NameInDir,
        content: &[u8],
        like: Option<AttributeSource<'_>>,
        cancel: &Cancel,
    ) -> Result<Self, WriteError> {
        if like.is_some() {
            // A rename would also replace a file that is not writable; its owner said no to that.
            target.check_writable()?;
        }
        let mode = if like.is_some() { 0o600 } else { 0o666 };
        let name = |n| temp_name::staged(process::id(), n);
        let (temp, file) = create_beside(target, Mode::from_raw_mode(mode), name)?;
        left_over::remove(target, &file);
        let mut staged = Self { temp, file, target: target.clone() };
        for chunk in content.chunks(1 << 20) {
            if cancel.is_cancelled() {
                return Err(WriteError::Cancelled);
            }
            staged.file.write_all(chunk)?;
        }
        if let Some(like) = like {
            take_over(like, &staged.file)?;
        }
        if cancel.is_cancelled() {
            return Err(WriteError::Cancelled);
        }
        Ok(staged)
    }

    /// Gives the content the mode of another file, the one it is moved from.
    pub fn set_mode(&self, like: &FileMeta) -> io::Result<()> {
        self.file.set_permissions(Permissions::from_mode(like.mode))
    }

    /// Moves the content to its target, replacing what is there.
    pub fn replace(self) -> io::Result<()> {
        self.temp.rename(&self.target)
    }

    /// Moves the content to its target if nothing is there; otherwise fails with `AlreadyExists`.
    pub fn create(self) -> io::Result<()> {
        self.temp.rename_to_free(&self.target)
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove.
        let _ = self.temp.remove();
    }
}

/// Moves a file aside under an unused name, and returns that name. It is none of those that are taken for left over: what lies there is
/// the user's.
pub fn set_aside(slot: &NameInDir) -> io::Result<NameInDir> {
    let (aside, _) =
        create_beside(slot, Mode::from_raw_mode(0o600), |n| format!(".zori-{}-{n}.old", process::id()))?;
    slot.rename(&aside).inspect_err(|_| {
        let _ = aside.remove();
    })?;
    Ok(aside)
}

/// Creates a file that did not exist in the folder of `target`.
fn create_beside(
    target: &NameInDir,
    mode: Mode,
    name: impl Fn(u64) -> String,
) -> io::Result<(NameInDir, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let temp = target.beside(&name(n));
        match temp.create(mode) {
            Ok(file) => return Ok((temp, file)),
            // Left behind by a process that had our number and was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Gives a new file the attributes of the old one. Only the mode must succeed: owner and attributes need rights
/// or support that may be missing.
fn take_over(old: AttributeSource<'_>, new: &File) -> io::Result<()> {
    let (owner, group) = old.meta.owner;
    if FileMeta::of(new)?.owner != (owner, group) {
        let _ = fchown(new, Some(owner), Some(group));
    }
    if let Some(file) = old.file {
        copy_attributes(file, new);
    }
    // Last, because a change of owner clears the set-id bits.
    new.set_permissions(Permissions::from_mode(old.meta.mode))
}

fn copy_attributes(old: &File, new: &File) {
    let mut names = vec![0; 4096];
    let Ok(len) = rustix::fs::flistxattr(old, &mut names) else { return };
    let mut value = vec![0; 65536];
    for name in names[..len].split(|&b| b == 0).filter(|name| !name.is_empty()) {
        if let Ok(len) = rustix::fs::fgetxattr(old, name, &mut value) {
            let _ = rustix::fs::fsetxattr(new, name, &value[..len], XattrFlags::empty());
        }
    }
}
