//! A small process that briefly outlives us: when this program is killed, it ends the running process groups (CH-3).
//!
//! The death signal of [`super::spawn`] reaches the shell alone, not what the shell has started. The watchdog is a fork
//! that never executes another program: it waits on a pipe whose other end only we hold. When the pipe closes, for
//! whatever reason, it ends the live groups and itself. It sees the live groups in a page of shared memory, so a call
//! never wakes it. It holds none of our other descriptors.

#![expect(unsafe_code, reason = "fork without exec, and only async-signal-safe calls after it")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::group::Group;

/// How many groups it can look after at once, which is as many as fit a page; further ones have only the death
/// signal.
const MAX_GROUPS: usize = 1024;
/// How long a group may take between the two signals.
const GRACE_NANOSECONDS: i64 = 300_000_000;

/// The live groups; 0 marks a free slot.
type Table = [AtomicI32; MAX_GROUPS];

/// Our handle to the watchdog.
#[derive(Debug)]
pub struct Watchdog {
    pipe: OwnedFd,
    pid: Pid,
    table: &'static Table,
}

/// The table, for a child that is about to start: it enters its group itself, so that there is no moment in which we could be killed and
/// nobody knew of it.
#[derive(Clone, Copy, Debug)]
pub struct GroupTable(&'static Table);

impl GroupTable {
    /// Enters a group. It only writes to memory, so a forked child may call it.
    pub fn enter(self, group: i32) {
        exchange(self.0, 0, group);
    }
}

impl Watchdog {
    pub fn start() -> io::Result<Self> {
        let table = shared_table()?;
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: the child calls only `watch`, which makes async-signal-safe calls, allocates nothing and never
        // returns; so it does not matter what other threads held at this moment.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => watch(read.as_raw_fd(), table),
            pid => Ok(Self { pipe: write, pid: Pid::from_raw(pid).expect("fork returned a child"), table }),
        }
    }

    /// Returns the table, for a child to enter itself.
    pub fn table(&self) -> GroupTable {
        GroupTable(self.table)
    }

    /// Adds a live group that is not in it yet.
    pub fn add(&self, group: Group) {
        if !self.table.iter().any(|slot| slot.load(Ordering::Relaxed) == group.id()) {
            exchange(self.table, 0, group.id());
        }
    }

    /// Removes a group that has ended.
    pub fn remove(&self, group: Group) {
        exchange(self.table, group.id(), 0);
    }

    /// Removes what does not exist: a child that entered itself and then did not start.
    pub fn remove_missing(&self) {
        let groups = self.table.iter().filter_map(|slot| Group::new(slot.load(Ordering::Relaxed)));
        for group in groups.filter(|group| !group.exists()) {
            self.remove(group);
        }
    }

    /// Stops and reaps it.
    pub fn stop(self) {
        drop(self.pipe);
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }

    /// Returns its process id.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }
}

fn exchange(table: &Table, old: i32, new: i32) {
    let place =
        |slot: &&AtomicI32| slot.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    // A full table, or a group that was not in it: there is nothing to do.
    let _ = table.iter().find(place);
}

/// Makes a page of zeros that a fork shares with us. It stays for the life of the process.
fn shared_table() -> io::Result<&'static Table> {
    // SAFETY: a fresh anonymous mapping overlaps nothing.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Table>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is as large as the table, aligned to a page, zero, which is a valid value, never unmapped,
    // and only ever used through atomics.
    Ok(unsafe { &*page.cast::<Table>() })
}

/// Runs the watchdog process.
fn watch(pipe: RawFd, table: &Table) -> ! {
    // SAFETY: every call below is async-signal-safe, and every pointer is to a local variable of the right size.
    unsafe {
        libc::setsid();
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
        // The pipe becomes descriptor 0, and everything else goes: whoever reads our output must not wait for us.
        libc::dup2(pipe, 0);
        close_from(1);
        libc::chdir(c"/".as_ptr());
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_NAME, c"zori-guard".as_ptr());

        // Nothing is ever written to the pipe.
        let mut end = 0_u8;
        libc::read(0, (&raw mut end).cast(), 1);
        if signal(table, libc::SIGTERM) {
            let pause = libc::timespec { tv_sec: 0, tv_nsec: GRACE_NANOSECONDS };
            libc::nanosleep(&pause, std::ptr::null_mut());
            signal(table, libc::SIGKILL);
        }
        libc::_exit(0)
    }
}

/// Sends a signal to every group in the table; returns whether there is any.
fn signal(table: &Table, signal: i32) -> bool {
    let mut any = false;
    for slot in table {
        let group = slot.load(Ordering::Relaxed);
        if group > 0 {
            any = true;
            // SAFETY: the call takes two numbers, and is async-signal-safe.
            unsafe { libc::kill(-group, signal) };
        }
    }
    any
}

/// Closes every descriptor from `first` on.
fn close_from(first: i32) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: nobody uses a descriptor after this, and the call is async-signal-safe.
        if unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) } == 0 {
            return;
        }
    }
    // SAFETY: as above.
    unsafe {
        for fd in first..libc::getdtablesize().min(65536) {
            libc::close(fd);
        }
    }
}
