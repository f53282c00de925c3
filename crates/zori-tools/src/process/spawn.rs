//! Starts a shell so that it can be ended completely: own session and group, no terminal for input, no descriptor beside
//! the three, and a death signal that follows ours (CH-1, CH-3).

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};
use zori_core::confine::InChild;

/// How a shell is started.
#[derive(Clone, Copy)]
pub struct Shell<'a> {
    /// The text given to `sh -c`.
    pub command: &'a str,
    /// Where it runs.
    pub cwd: &'a Path,
    /// Variables it does not inherit.
    pub env_removed: &'a [OsString],
    /// Variables it gets on top.
    pub env_set: &'a [(OsString, OsString)],
}

/// What confines a shell, as far as starting it goes; nothing does by default.
#[derive(Default)]
pub struct Confinement {
    /// A program and its arguments, before the shell's own.
    pub wrapper: Vec<OsString>,
    /// Variables on top.
    pub env: Vec<(OsString, OsString)>,
    /// Called last in the child.
    pub in_child: Option<InChild>,
}

impl Shell<'_> {
    /// Starts it. Call this on a thread that lives as long as the shell may: the death signal is bound to it.
    pub fn spawn(&self, stdin: Stdio, confinement: Confinement) -> io::Result<Child> {
        let mut words = confinement.wrapper.into_iter().chain(["sh", "-c", self.command].map(OsString::from));
        let mut command = Command::new(words.next().expect("the shell is always there"));
        command.args(words).current_dir(self.cwd);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in self.env_removed {
            command.env_remove(name);
        }
        for (name, value) in self.env_set.iter().chain(&confinement.env) {
            command.env(name, value);
        }
        in_own_session(&mut command, confinement.in_child);
        command.spawn()
    }
}

#[expect(unsafe_code, reason = "what runs between fork and exec has no safe interface")]
fn in_own_session(command: &mut Command, mut in_child: Option<InChild>) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    // SAFETY: the closure runs in the forked child. It only makes system calls, which are async-signal-safe, and
    // allocates nothing; whoever confines promises the same.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            #[cfg(target_os = "linux")]
            {
                rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
                // Whoever died before the line above sends no signal any more.
                if rustix::process::getppid() != Some(parent) {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
            }
            close_on_exec_from(3);
            // The program may ignore it so that a full disk is an error; a child decides for itself.
            libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            in_child.as_mut().map_or(Ok(()), |enter| enter())
        });
    }
}

/// Marks every descriptor from `first` on to be closed when the shell starts. Ours are marked anyway; this is for
/// those we inherited ourselves.
#[expect(unsafe_code, reason = "there is no safe interface to descriptors nobody owns")]
fn close_on_exec_from(first: i32) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call takes three numbers and only sets flags.
        let done = unsafe {
            libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
        };
        if done == 0 {
            return;
        }
    }
    for fd in first..1024 {
        // SAFETY: the call only sets a flag, and fails on a number that is no descriptor.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
