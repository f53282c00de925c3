//! Modes, times and owners of files under Landlock, which knows none of them: the kernel hands these calls to a thread of ours, which
//! does them where the command may write, and refuses them elsewhere.
//!
//! The file is opened once, by what the call names, and everything after that is about the open file: nobody who exchanges
//! a path or a word of memory meanwhile gets another one changed. The command itself only ever sees the answer.

#![expect(unsafe_code, reason = "the kernel's interface for this takes structures and descriptors")]

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

/// Where a command may change files, and where in there it may not.
pub struct Places {
    pub writable: Vec<PathBuf>,
    pub closed: Vec<PathBuf>,
}

/// The end of a channel that the child sends the kernel's descriptor through.
pub struct Sender(OwnedFd);

/// How long a path may be.
const MAX_PATH: usize = 4096;

const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;
const STILL_WAITS: libc::c_ulong = 0x4008_2102;

/// A call that waits, as the kernel describes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Waiting {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    arch: u32,
    instruction: u64,
    args: [u64; 6],
}

#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// Starts the thread for one command. It ends with the last process that is held by the filter.
pub fn watch(places: Places) -> io::Result<Sender> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors, which nobody else owns.
    let (ours, theirs) = unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        if libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    std::thread::Builder::new().name("sandbox-attributes".into()).spawn(move || {
        if let Some(listener) = receive(&ours) {
            drop(ours);
            serve(&listener, &places);
        }
    })?;
    Ok(Sender(theirs))
}

impl Sender {
    /// Sends a descriptor. Called in the child between fork and exec: system calls alone.
    pub fn send(&self, fd: RawFd) -> io::Result<()> {
        let mut byte = [0_u8; 1];
        let mut room = [0_u64; 4];
        // SAFETY: all pointers are to locals that outlive the call, and the lengths are theirs.
        unsafe {
            let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
            let message = message(&raw mut part, &mut room);
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            libc::CMSG_DATA(head).cast::<RawFd>().write_unaligned(fd);
            match libc::sendmsg(self.0.as_raw_fd(), &raw const message, 0) {
                1 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

/// Returns a message with room for one descriptor.
fn message(part: *mut libc::iovec, room: &mut [u64; 4]) -> libc::msghdr {
    // SAFETY: a message of zeros is an empty one.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = room.as_mut_ptr().cast();
    // SAFETY: the macro calculates with a number.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
    message
}

/// Waits for the descriptor; nothing if the child did not come to send one.
fn receive(socket: &OwnedFd) -> Option<OwnedFd> {
    let mut byte = [0_u8; 1];
    let mut room = [0_u64; 4];
    // SAFETY: as in `send`; a descriptor that arrives is ours.
    unsafe {
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut message = message(&raw mut part, &mut room);
        loop {
            match libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) {
                1 => break,
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => return None,
            }
        }
        let head = libc::CMSG_FIRSTHDR(&raw const message);
        if head.is_null() || (*head).cmsg_type != libc::SCM_RIGHTS {
            return None;
        }
        Some(OwnedFd::from_raw_fd(libc::CMSG_DATA(head).cast::<RawFd>().read_unaligned()))
    }
}

fn serve(listener: &OwnedFd, places: &Places) {
    loop {
        let mut poll = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which is a local.
        let ready = unsafe { libc::poll(&raw mut poll, 1, -1) };
        if ready < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
            continue;
        }
        // Nobody is left whom it could be asked about.
        if ready < 0 || poll.revents & libc::POLLIN == 0 {
            return;
        }
        // SAFETY: the kernel wants zeros, and writes a structure of this layout.
        let waiting = unsafe {
            let mut waiting: Waiting = mem::zeroed();
            if libc::ioctl(listener.as_raw_fd(), RECEIVE as _, &raw mut waiting) != 0 {
                // Who asked is gone.
                continue;
            }
            waiting
        };
        let error = match places.act(listener, &waiting) {
            Ok(()) => 0,
            Err(errno) => -errno.raw_os_error(),
        };
        let answer = Answer { id: waiting.id, value: 0, error, flags: 0 };
        // SAFETY: the kernel reads a structure of this layout. Who asked may be gone, and needs no answer then.
        unsafe { libc::ioctl(listener.as_raw_fd(), SEND as _, &raw const answer) };
    }
}

/// What a call changes.
enum Change {
    Mode(u32),
    /// The user and the group; all bits set leaves one as it is.
    Owner(u32, u32),
    /// Where the times are in the caller's memory, and how they are written; nothing stands for now.
    Times(Option<u64>, Clock),
}

#[derive(Clone, Copy)]
enum Clock {
    Seconds,
    Microseconds,
    Nanoseconds,
}

/// What a call names: an open folder or file, a path in the caller's memory, and whether a link is meant itself.
struct Named {
    at: i32,
    path: Option<u64>,
    flags: i32,
}

impl Places {
    fn act(&self, listener: &OwnedFd, waiting: &Waiting) -> Result<(), Errno> {
        let (named, change) = meaning(waiting).ok_or(Errno::NOSYS)?;
        let caller = Caller::new(waiting.pid)?;
        let file = caller.open(&named)?;
        let change = match change {
            Change::Times(Some(at), clock) => Change::Times(Some(0), clock).with(caller.times(at, clock)?),
            other => Ready::of(other),
        };
        // The number of the process is its own for as long as it waits.
        // SAFETY: the kernel reads one number.
        if unsafe { libc::ioctl(listener.as_raw_fd(), STILL_WAITS as _, &raw const waiting.id) } != 0 {
            return Err(Errno::INTR);
        }
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        let place = readlinkat(CWD, own.as_str(), Vec::new())?;
        let place = PathBuf::from(OsStr::from_bytes(place.as_bytes()));
        let (facts, user) = (fstat(&file)?, rustix::process::geteuid().as_raw());
        if !self.may_change(&place) || facts.st_uid != user {
            return Err(Errno::PERM);
        }
        // Files are given to nobody else: we may have rights that the command has not.
        let own_groups = [u32::MAX, facts.st_gid, rustix::process::getegid().as_raw()];
        if matches!(change, Ready::Owner(to, group) if ![u32::MAX, user].contains(&to) || !own_groups.contains(&group))
        {
            return Err(Errno::PERM);
        }
        change.apply(&file, &own)
    }

    fn may_change(&self, place: &Path) -> bool {
        self.writable.iter().any(|folder| place.starts_with(folder))
            && !self.closed.iter().any(|closed| place.starts_with(closed))
    }
}

/// A change with all its values at hand.
enum Ready {
    Mode(u32),
    Owner(u32, u32),
    Times([libc::timespec; 2]),
}

impl Change {
    fn with(self, times: [libc::timespec; 2]) -> Ready {
        match self {
            Self::Mode(mode) => Ready::Mode(mode),
            Self::Owner(user, group) => Ready::Owner(user, group),
            Self::Times(..) => Ready::Times(times),
        }
    }
}

impl Ready {
    fn of(change: Change) -> Self {
        let now = libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW };
        change.with([now, now])
    }

    fn apply(&self, file: &OwnedFd, own: &str) -> Result<(), Errno> {
        let own = std::ffi::CString::new(own).map_err(|_| Errno::INVAL)?;
        // SAFETY: a name that ends in NUL, and times that the kernel only reads.
        let result = unsafe {
            match self {
                Self::Mode(mode) => libc::chmod(own.as_ptr(), *mode as libc::mode_t),
                Self::Owner(user, group) => {
                    libc::fchownat(file.as_raw_fd(), c"".as_ptr(), *user, *group, libc::AT_EMPTY_PATH)
                }
                Self::Times(times) => {
                    libc::utimensat(file.as_raw_fd(), c"".as_ptr(), times.as_ptr(), libc::AT_EMPTY_PATH)
                }
            }
        };
        if result == 0 { Ok(()) } else { Err(last_error()) }
    }
}

/// Reads a call: what it names, and what it changes.
fn meaning(waiting: &Waiting) -> Option<(Named, Change)> {
    let [a, b, c, d, e, _] = waiting.args;
    let at = |number: u64| number as i32;
    let path = |address: u64| (address != 0).then_some(address);
    let times = |address: u64, clock| Change::Times((address != 0).then_some(address), clock);
    let named = |at, path, flags| Named { at, path, flags };
    let number = i64::from(waiting.number);
    Some(match number {
        libc::SYS_fchmod => (named(at(a), None, 0), Change::Mode(b as u32)),
        libc::SYS_fchmodat => (named(at(a), path(b), 0), Change::Mode(c as u32)),
        452 => (named(at(a), path(b), at(d)), Change::Mode(c as u32)),
        libc::SYS_fchown => (named(at(a), None, 0), Change::Owner(b as u32, c as u32)),
        libc::SYS_fchownat => (named(at(a), path(b), at(e)), Change::Owner(c as u32, d as u32)),
        libc::SYS_utimensat => (named(at(a), path(b), at(d)), times(c, Clock::Nanoseconds)),
        _ => return old_meaning(number, waiting),
    })
}

#[cfg(target_arch = "x86_64")]
fn old_meaning(number: i64, waiting: &Waiting) -> Option<(Named, Change)> {
    let [a, b, c, ..] = waiting.args;
    let here = |path: u64| Named { at: libc::AT_FDCWD, path: Some(path), flags: 0 };
    let times = |address: u64, clock| Change::Times((address != 0).then_some(address), clock);
    Some(match number {
        libc::SYS_chmod => (here(a), Change::Mode(b as u32)),
        libc::SYS_chown => (here(a), Change::Owner(b as u32, c as u32)),
        libc::SYS_lchown => {
            let link = Named { flags: libc::AT_SYMLINK_NOFOLLOW, ..here(a) };
            (link, Change::Owner(b as u32, c as u32))
        }
        libc::SYS_utime => (here(a), times(b, Clock::Seconds)),
        libc::SYS_utimes => (here(a), times(b, Clock::Microseconds)),
        libc::SYS_futimesat => {
            let path = (b != 0).then_some(b);
            (Named { at: a as i32, path, flags: 0 }, times(c, Clock::Microseconds))
        }
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn old_meaning(_: i64, _: &Waiting) -> Option<(Named, Change)> {
    None
}

/// The process that waits.
struct Caller {
    pid: u32,
    memory: File,
}

impl Caller {
    fn new(pid: u32) -> Result<Self, Errno> {
        let memory =
            openat(CWD, format!("/proc/{pid}/mem"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { pid, memory: memory.into() })
    }

    /// Opens what a call names, without a right to its content.
    fn open(&self, named: &Named) -> Result<OwnedFd, Errno> {
        let nofollow = named.flags & libc::AT_SYMLINK_NOFOLLOW != 0;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let base = match named.at {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.pid),
            fd if fd >= 0 => format!("/proc/{}/fd/{fd}", self.pid),
            _ => return Err(Errno::BADF),
        };
        let path = named.path.map(|address| self.path(address)).transpose()?;
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            let itself = named.path.is_none() || named.flags & libc::AT_EMPTY_PATH != 0;
            return if itself { openat(CWD, base, flags, Mode::empty()) } else { Err(Errno::NOENT) };
        };
        let last = if nofollow { flags | OFlags::NOFOLLOW } else { flags };
        // What these mean is the caller's.
        let own = ["/proc/self/", "/proc/thread-self/", "/dev/fd/"];
        let own = own.iter().find_map(|start| path.strip_prefix(*start).map(|rest| (*start, rest)));
        match own {
            Some(("/dev/fd/", rest)) => {
                openat(CWD, format!("/proc/{}/fd/{rest}", self.pid), last, Mode::empty())
            }
            Some((_, rest)) => openat(CWD, format!("/proc/{}/{rest}", self.pid), last, Mode::empty()),
            None if path.starts_with('/') => openat(CWD, path, last, Mode::empty()),
            None => {
                let base = openat(CWD, base, flags, Mode::empty())?;
                openat(base.as_fd(), path, last, Mode::empty())
            }
        }
    }

    fn path(&self, address: u64) -> Result<String, Errno> {
        let mut bytes = vec![0; MAX_PATH];
        let mut length = 0;
        // A page at a time: the next one may not be there.
        while length < MAX_PATH {
            let page_end = MAX_PATH - ((address as usize + length) % MAX_PATH);
            let end = (length + page_end).min(MAX_PATH);
            let read = self.memory.read_at(&mut bytes[length..end], address + length as u64);
            let read = read.map_err(|_| Errno::FAULT)?;
            if let Some(nul) = bytes[length..length + read].iter().position(|byte| *byte == 0) {
                bytes.truncate(length + nul);
                return String::from_utf8(bytes).map_err(|_| Errno::PERM);
            }
            if read == 0 {
                return Err(Errno::FAULT);
            }
            length += read;
        }
        Err(Errno::NAMETOOLONG)
    }

    fn times(&self, address: u64, clock: Clock) -> Result<[libc::timespec; 2], Errno> {
        let mut bytes = [0; 32];
        let length = if matches!(clock, Clock::Seconds) { 16 } else { 32 };
        self.memory.read_exact_at(&mut bytes[..length], address).map_err(|_| Errno::FAULT)?;
        let word = |at: usize| {
            i64::from_ne_bytes(bytes[at * 8..at * 8 + 8].try_into().expect("eight bytes are eight bytes"))
        };
        let time = |seconds: i64, nanoseconds: i64| libc::timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        Ok(match clock {
            Clock::Seconds => [time(word(0), 0), time(word(1), 0)],
            Clock::Microseconds => {
                [time(word(0), word(1).saturating_mul(1000)), time(word(2), word(3).saturating_mul(1000))]
            }
            Clock::Nanoseconds => [time(word(0), word(1)), time(word(2), word(3))],
        })
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::PERM)
}
