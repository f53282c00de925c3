//! Starts a program without copying this one (Linux).
//!
//! `fork` copies the tables of all our memory, and every page that either side writes to afterwards; the larger we have grown, the longer
//! each command takes to start. Here the child borrows our memory instead, while the thread that started it stands still, until it has
//! become its program. So it may only make system calls, write to what was prepared for it, and run on a stack of its own.

#![expect(unsafe_code, reason = "a child that shares our memory has no safe interface")]

use std::ffi::{CString, OsStr, OsString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::Pid;

use super::spawn::Entering;

/// More than the child needs: it calls a dozen functions of the C library, none of which calls far.
const STACK_BYTES: usize = 64 << 10;
/// Below the stack, where nothing may be written.
const GUARD_BYTES: usize = 4 << 10;
/// Where programs are looked for if no variable says it.
const USUAL_PATH: &[u8] = b"/bin:/usr/bin";

/// A program that is about to start. All that the child needs is prepared here: it cannot allocate.
pub struct Program {
    /// Where the program may be, in the order these are tried.
    places: Vec<CString>,
    argv: Vec<CString>,
    env: Vec<CString>,
    cwd: CString,
}

/// What came of a start.
pub enum Started {
    /// It runs. The descriptor can be read once it has ended.
    Running(Pid, OwnedFd),
    /// This system starts no programs so; these were to be its streams.
    Refused([OwnedFd; 3]),
}

impl Program {
    /// Prepares a program with its arguments and all of its environment. One whose name has no slash is looked for in the
    /// folders of its own `PATH`.
    pub fn new(argv: &[OsString], env: Vec<(OsString, OsString)>, cwd: &Path) -> io::Result<Self> {
        let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(io::Error::from);
        let name = argv.first().ok_or_else(|| io::Error::other("there is no program"))?;
        let places = match name.as_bytes().contains(&b'/') {
            true => vec![text(name)?],
            false => {
                let path = env.iter().find(|(key, _)| key == "PATH").map(|(_, value)| value.as_bytes());
                let folders = path.unwrap_or(USUAL_PATH).split(|byte| *byte == b':');
                // An empty one stands for the folder it runs in.
                let folder = |folder: &[u8]| if folder.is_empty() { b".".to_vec() } else { folder.to_vec() };
                let place = |parts: Vec<u8>| [&parts, b"/".as_slice(), name.as_bytes()].concat();
                folders.map(|path| CString::new(place(folder(path)))).collect::<Result<_, _>>()?
            }
        };
        let pair =
            |(key, value): (OsString, OsString)| CString::new([key.into_vec(), value.into_vec()].join(&b'='));
        Ok(Self {
            places,
            argv: argv.iter().map(|word| text(word)).collect::<Result<_, _>>()?,
            env: env.into_iter().map(pair).collect::<Result<_, _>>()?,
            cwd: text(cwd.as_os_str())?,
        })
    }

    /// Starts it with these as its standard streams.
    pub fn start(&self, streams: [OwnedFd; 3], entering: Entering) -> io::Result<Started> {
        let streams = above_standard(streams)?;
        let words = |words: &[CString]| -> Vec<*const c_char> {
            words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect()
        };
        let (argv, env) = (words(&self.argv), words(&self.env));
        let shared = Shared {
            program: self,
            argv: &argv,
            env: &env,
            streams: streams.each_ref().map(AsRawFd::as_raw_fd),
            entering,
            failed: AtomicI32::new(0),
        };
        let stack = Stack::new()?;
        let mut descriptor: c_int = -1;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        // No handler of ours may run in the child, which shares what it would write to.
        let blocked = AllSignalsBlocked::new();
        // SAFETY: `child` never returns to our frames. It runs on a stack of its own while this thread stands still, so that all it
        // borrows stays where it is, and it only does what may be done there (see `become_program`).
        let pid = unsafe {
            libc::clone(child, stack.top(), flags, (&raw const shared).cast_mut().cast(), &raw mut descriptor)
        };
        let error = io::Error::last_os_error();
        drop(blocked);
        let Some(pid) = Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw) else {
            return match error.raw_os_error() {
                // An older kernel, or a filter around us.
                Some(libc::EINVAL | libc::ENOSYS | libc::EPERM) => Ok(Started::Refused(streams)),
                _ => Err(error),
            };
        };
        // SAFETY: the call succeeded, so the kernel has opened a descriptor that nobody else has.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        match shared.failed.load(Ordering::Relaxed) {
            0 => Ok(Started::Running(pid, descriptor)),
            why => {
                let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
                Err(io::Error::from_raw_os_error(why))
            }
        }
    }
}

/// What the child borrows.
struct Shared<'a> {
    program: &'a Program,
    argv: &'a [*const c_char],
    env: &'a [*const c_char],
    streams: [RawFd; 3],
    entering: Entering,
    /// Why it did not become its program.
    failed: AtomicI32,
}

/// The child, from its first instruction.
extern "C" fn child(shared: *mut c_void) -> c_int {
    // SAFETY: whoever started us holds it, and stands still until we are gone.
    let shared = unsafe { &*shared.cast::<Shared<'_>>() };
    let why = become_program(shared);
    shared.failed.store(why.raw_os_error().unwrap_or(libc::EIO), Ordering::Relaxed);
    // SAFETY: it ends this process, which has nothing to clean up.
    unsafe { libc::_exit(127) }
}

/// Becomes the program, or returns why not. It makes system calls only and allocates nothing: an error is a number.
fn become_program(shared: &Shared<'_>) -> io::Error {
    // SAFETY: every call takes numbers, or pointers to what `Shared` and this function hold, ended as C wants it.
    unsafe {
        reset_signals();
        if let Err(error) = shared.entering.enter() {
            return error;
        }
        for (stream, wanted) in shared.streams.iter().zip(0..) {
            if libc::dup2(*stream, wanted) < 0 {
                return io::Error::last_os_error();
            }
        }
        if libc::chdir(shared.program.cwd.as_ptr()) < 0 {
            return io::Error::last_os_error();
        }
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        let mut why = libc::ENOENT;
        for place in &shared.program.places {
            libc::execve(place.as_ptr(), shared.argv.as_ptr(), shared.env.as_ptr());
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) => {}
                // It is there and may not be run; another place may have one that may.
                Some(libc::EACCES) => why = libc::EACCES,
                _ => return error,
            }
        }
        io::Error::from_raw_os_error(why)
    }
}

/// Gives every signal that we handle or ignore its usual meaning, as a program expects it; what was ignored when we were started stays so.
///
/// # Safety
///
/// Only for a child that has a table of handlers of its own.
unsafe fn reset_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: a zero action is the usual one, and the calls write to local variables. What may not be asked about is refused.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, ptr::null(), &mut now) < 0 {
                continue;
            }
            // Rust has us ignore the first; the second is ours, so that a full disk is an error.
            let ours = matches!(signal, libc::SIGPIPE | libc::SIGXFSZ);
            let handled = now.sa_sigaction != libc::SIG_DFL && now.sa_sigaction != libc::SIG_IGN;
            if handled || ours {
                libc::sigaction(signal, &std::mem::zeroed(), ptr::null_mut());
            }
        }
    }
}

/// Moves descriptors out of the way of the three that a program begins with.
fn above_standard(streams: [OwnedFd; 3]) -> io::Result<[OwnedFd; 3]> {
    let mut moved = Vec::with_capacity(3);
    for stream in streams {
        moved.push(match stream.as_raw_fd() {
            0..=2 => rustix::io::fcntl_dupfd_cloexec(&stream, 3)?,
            _ => stream,
        });
    }
    moved.try_into().map_err(|_| io::Error::other("there are three streams"))
}

/// Holds signals back from this thread until it is dropped.
struct AllSignalsBlocked(libc::sigset_t);

impl AllSignalsBlocked {
    fn new() -> Self {
        // SAFETY: both sets are local variables, and the calls cannot fail for valid sets.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            Self(before)
        }
    }
}

impl Drop for AllSignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: the set was filled by the call that blocked them.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) };
    }
}

/// The child's stack, with a page below it that ends a child that would need more.
struct Stack(*mut c_void);

impl Stack {
    fn new() -> io::Result<Self> {
        // SAFETY: a fresh anonymous mapping overlaps nothing, and the guard is a part of it.
        unsafe {
            let stack = libc::mmap(
                ptr::null_mut(),
                GUARD_BYTES + STACK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
                -1,
                0,
            );
            if stack == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let stack = Self(stack);
            match libc::mprotect(stack.0, GUARD_BYTES, libc::PROT_NONE) {
                0 => Ok(stack),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Returns where it begins: stacks grow down.
    fn top(&self) -> *mut c_void {
        // SAFETY: one past the end of the mapping, which is aligned to a page.
        unsafe { self.0.cast::<u8>().add(GUARD_BYTES + STACK_BYTES).cast() }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and the child has left it.
        unsafe { libc::munmap(self.0, GUARD_BYTES + STACK_BYTES) };
    }
}
