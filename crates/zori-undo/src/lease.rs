//! A read lease on a file: proof that nobody has it open for writing, or mapped so that it can be written (UNDO-14).

use std::fs::File;

/// What the system says about writers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// Nobody can write to it.
    None,
    /// Somebody can.
    Some,
    /// The system cannot tell.
    Unknown,
}

/// A lease that is held until it is dropped.
#[cfg(target_os = "linux")]
pub(crate) struct Lease<'f> {
    file: &'f File,
    held: bool,
}

/// There are no leases elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Lease<'f>(std::marker::PhantomData<&'f File>);

/// Chooses the signal that tells of a broken lease; `libc` does not name it everywhere.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "leases have no safe interface")]
fn control(file: &File, command: libc::c_int, argument: libc::c_int) -> libc::c_int {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open, and these commands take a number.
    unsafe { libc::fcntl(file.as_raw_fd(), command, argument) }
}

#[cfg(target_os = "linux")]
impl<'f> Lease<'f> {
    /// Takes a lease on a file that was opened for reading only.
    pub(crate) fn take(file: &'f File) -> (Self, Writers) {
        // Whoever opens the file for writing has the holder of the lease signalled. The usual signal ends a process; this
        // one is ignored where nobody asks for it.
        let quiet = control(file, F_SETSIG, libc::SIGURG) == 0;
        let held = quiet && control(file, libc::F_SETLEASE, libc::F_RDLCK) == 0;
        let writers = match held {
            true => Writers::None,
            false => match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EAGAIN) if quiet => Writers::Some,
                _ => Writers::Unknown,
            },
        };
        (Self { file, held }, writers)
    }

    /// Returns whether nobody has tried to open the file for writing since. True where there is no lease.
    pub(crate) fn holds(&self) -> bool {
        !self.held || control(self.file, libc::F_GETLEASE, 0) == libc::F_RDLCK
    }
}

#[cfg(target_os = "linux")]
impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if self.held {
            control(self.file, libc::F_SETLEASE, libc::F_UNLCK);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl<'f> Lease<'f> {
    pub(crate) fn take(_: &'f File) -> (Self, Writers) {
        (Self(std::marker::PhantomData), Writers::Unknown)
    }

    pub(crate) fn holds(&self) -> bool {
        true
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "x").unwrap();
        let writer = File::options().append(true).open(&path).unwrap();
        let file = File::open(&path).unwrap();
        let (lease, writers) = Lease::take(&file);
        if writers == Writers::Unknown {
            // Not every file system of a test machine has leases.
            return;
        }
        assert_eq!(writers, Writers::Some);
        drop((lease, writer));
        let (lease, writers) = Lease::take(&file);
        assert_eq!(writers, Writers::None);
        assert!(lease.holds());
        let opened = rustix::fs::open(
            &path,
            rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK,
            rustix::fs::Mode::empty(),
        );
        assert_eq!(opened.err(), Some(rustix::io::Errno::WOULDBLOCK));
        assert!(!lease.holds(), "somebody has tried");
    }
}
