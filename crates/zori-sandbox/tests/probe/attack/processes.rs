//! Other processes, and privileges.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::{Outcome, check, number};

/// What the process outside has made under these names.
pub const KEY: i32 = 0x7a6f_7269;
pub const QUEUE: &std::ffi::CStr = c"zori-probe";

pub fn attack(name: &str, args: &[&str]) -> Outcome {
    let pid: i32 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(0);
    // SAFETY: each call takes numbers, null pointers, or pointers to local values of the right size that live longer.
    let outcome = unsafe {
        match name {
            "tgkill" => libc::syscall(libc::SYS_tgkill, pid, pid, libc::SIGKILL),
            "pidfd-kill" => match check(libc::syscall(libc::SYS_pidfd_open, pid, 0)) {
                Ok(fd) => libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, 0, 0),
                Err(error) => return Some(Err(error)),
            },
            "sigqueue" => {
                let value = libc::sigval { sival_ptr: std::ptr::null_mut() };
                libc::sigqueue(pid, libc::SIGKILL, value).into()
            }
            "sigio" => return Some(sigio(pid)),
            "prlimit" => {
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::syscall(libc::SYS_prlimit64, pid, libc::RLIMIT_NOFILE, &raw const none, 0)
            }
            "ptrace-attach" => libc::ptrace(libc::PTRACE_ATTACH, pid, 0, 0),
            "ptrace-seize" => libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0),
            "vm-read" | "vm-write" => return Some(vm(pid, name == "vm-write")),
            "pidfd-getfd" => match check(libc::syscall(libc::SYS_pidfd_open, pid, 0)) {
                Ok(fd) => libc::syscall(libc::SYS_pidfd_getfd, fd, number::<i32>(args[1]), 0),
                Err(error) => return Some(Err(error)),
            },
            "setns" => {
                let file = match File::open(args[0]) {
                    Ok(file) => file,
                    Err(error) => return Some(Err(error)),
                };
                match check(libc::syscall(libc::SYS_setns, file.as_raw_fd(), 0)) {
                    // "You are in it already" comes after everything that could refuse it.
                    Err(error) if error.raw_os_error() == Some(libc::EINVAL) => 0,
                    Err(error) => return Some(Err(error)),
                    Ok(_) => 0,
                }
            }
            "shm" => libc::shmget(KEY, 1, 0).into(),
            "sem" => libc::semget(KEY, 1, 0).into(),
            "mq" => libc::syscall(libc::SYS_mq_open, QUEUE.as_ptr(), libc::O_RDONLY, 0, 0),
            "capset" => {
                let (head, all) = ([0x2008_0522_u32, 0], [u32::MAX; 6]);
                libc::syscall(libc::SYS_capset, head.as_ptr(), all.as_ptr())
            }
            "setuid" => libc::setuid(0).into(),
            "setuid-other" => libc::setuid(12345).into(),
            "nice" => libc::setpriority(libc::PRIO_PROCESS, 0, -20).into(),
            "clone-newuser" => {
                let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
                let child = libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0);
                if child == 0 {
                    libc::_exit(0);
                }
                child
            }
            "int80" => return Some(foreign()),
            _ => return None,
        }
    };
    Some(check(outcome).map(drop))
}

/// Lets the kernel send the signal: "tell that process when this pipe has something to read".
fn sigio(pid: i32) -> io::Result<()> {
    let mut ends = [0; 2];
    // SAFETY: the array has the room for two descriptors; the other calls take numbers and a local byte.
    unsafe {
        check(libc::pipe(ends.as_mut_ptr()))?;
        check(libc::fcntl(ends[0], libc::F_SETOWN, pid))?;
        const F_SETSIG: i32 = 10;
        check(libc::fcntl(ends[0], F_SETSIG, libc::SIGKILL))?;
        check(libc::fcntl(ends[0], libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK))?;
        check(i64::try_from(libc::write(ends[1], c"x".as_ptr().cast(), 1)).unwrap())?;
    }
    // Whether it worked is seen by the victim's health.
    Err(io::Error::other("sent"))
}

/// Reads or writes at an address where nothing is: "no such address" comes after "no such right".
fn vm(pid: i32, write: bool) -> io::Result<()> {
    let mut byte = 0_u8;
    let local = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(4096), iov_len: 1 };
    let call = if write { libc::SYS_process_vm_writev } else { libc::SYS_process_vm_readv };
    // SAFETY: the local buffer is one byte long; the remote address is the other process's.
    match check(unsafe { libc::syscall(call, pid, &raw const local, 1, &raw const remote, 1, 0) }) {
        Err(error) => match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES | libc::ESRCH | libc::ENOSYS) => Err(error),
            _ => Ok(()),
        },
        Ok(_) => Ok(()),
    }
}

/// Calls the kernel through the 32-bit interface: number 20 is `getpid` there.
#[cfg(target_arch = "x86_64")]
fn foreign() -> io::Result<()> {
    let pid: i64;
    // SAFETY: the call has no arguments; registers the interface may change are named.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") 20_i64 => pid, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    if pid > 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(i32::try_from(-pid).unwrap())) }
}

#[cfg(not(target_arch = "x86_64"))]
fn foreign() -> io::Result<()> {
    Err(io::Error::other("this processor's other interface cannot be called from a 64-bit program"))
}
