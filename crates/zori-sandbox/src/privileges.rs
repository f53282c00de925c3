//! What a child gives up between fork and exec: limits, capabilities, file rights, system calls. Only system calls
//! happen here, on values the parent has prepared.

#![expect(unsafe_code, reason = "these system calls have no safe interface")]

use std::io;
use std::os::fd::RawFd;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::seccomp::Instruction;
use crate::spec::Limits;

/// The highest number a capability may have; the kernel has fewer, and says so by an error.
const CAPABILITIES: libc::c_ulong = 64;
/// "Root is nobody special", "keep no capabilities", each locked: a capability is not regained by running a program.
const SECURE_BITS: libc::c_ulong = 0b1110_1111;
/// The version of `capset` that takes two words of each set.
const CAPSET_VERSION: u32 = 0x2008_0522;

/// Lowers the limits. Lower limits stay.
pub fn limit(limits: &Limits) -> io::Result<()> {
    let wanted = [
        (Resource::Core, Some(0)),
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file_size),
        (Resource::As, limits.memory),
    ];
    for (resource, wanted) in wanted {
        let Some(wanted) = wanted else { continue };
        let least = |now: Option<u64>| Some(now.map_or(wanted, |now| now.min(wanted)));
        let now = getrlimit(resource);
        setrlimit(resource, Rlimit { current: least(now.current), maximum: least(now.maximum) })?;
    }
    Ok(())
}

/// Keeps a descriptor open across exec.
pub fn keep_on_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: the call takes three numbers and only sets a flag.
    check(libc::c_long::from(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }))
}

/// Gives up all capabilities for good, root's too, then enters the Landlock rules and the filter. Returns the descriptor
/// by which the kernel asks about calls.
pub fn lock_down(rules: RawFd, filter: &[Instruction]) -> io::Result<RawFd> {
    /// The flag for the descriptor.
    const NEW_LISTENER: libc::c_ulong = 1 << 3;

    #[repr(C)]
    struct Head {
        version: u32,
        pid: i32,
    }
    /// Effective, permitted and inheritable, the low words and the high ones.
    #[repr(C)]
    struct Sets([u32; 6]);

    // SAFETY: each call takes numbers, or pointers to local values that the kernel only reads and that are laid out as
    // it wants them; `Instruction` is, and its count is the slice's.
    unsafe {
        // Without the right to, these two fail; then there is nothing to regain either, after `NO_NEW_PRIVS`.
        for capability in 0..CAPABILITIES {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(libc::PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0);
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        let (head, none) = (Head { version: CAPSET_VERSION, pid: 0 }, Sets([0; 6]));
        check(libc::syscall(libc::SYS_capset, &raw const head, &raw const none))?;
        check(libc::c_long::from(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))?;
        check(libc::syscall(libc::SYS_landlock_restrict_self, rules, 0))?;
        let program = libc::sock_fprog {
            len: u16::try_from(filter.len()).unwrap_or(u16::MAX),
            filter: filter.as_ptr().cast_mut().cast(),
        };
        let listener =
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, NEW_LISTENER, &raw const program);
        check(listener)?;
        Ok(RawFd::try_from(listener).unwrap_or(-1))
    }
}

/// Returns the kernel's Landlock version; 0 if it has none.
pub fn landlock_version() -> i32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no structure.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    i32::try_from(version).unwrap_or(0).max(0)
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
