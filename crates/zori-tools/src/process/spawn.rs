//! Starts a shell so that it can be ended completely: its own session and group, no terminal for input, only the three
//! standard descriptors, and a death signal that follows ours (CH-1, CH-3).

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};
use zori_core::confine::InChild;

use super::watchdog::GroupTable;
use crate::env::ShellProgram;

/// How a shell is started.
#[derive(Clone, Copy)]
pub struct Shell<'a> {
    /// Which shell it is.
    pub program: ShellProgram,
    /// What of ours stands before the command.
    pub prelude: &'a str,
    /// The text given to its `-c`.
    pub command: &'a str,
    /// Where it runs.
    pub cwd: &'a Path,
    /// Variables it does not inherit.
    pub env_removed: &'a [OsString],
    /// Additional variables.
    pub env_set: &'a [(OsString, OsString)],
}

/// How a confined shell is started; not confined by default.
#[derive(Default)]
pub struct Confinement {
    /// A program and its arguments, before the shell's own.
    pub wrapper: Vec<OsString>,
    /// Variables on top.
    pub env: Vec<(OsString, OsString)>,
    /// Called last in the child.
    pub in_child: Option<InChild>,
}

/// How the life of a shell is bound to ours.
pub enum Bond {
    /// It ends with us, and we read what it prints. It enters its group in the table of whoever outlives us.
    EndsWithUs(Option<GroupTable>),
    /// It outlives us, and prints to these files: standard output and standard error.
    Stays(File, File),
}

impl Shell<'_> {
    /// Starts it. Call this on a thread that lives as long as the shell may: the death signal is bound to it.
    pub fn spawn(&self, stdin: Stdio, confinement: Confinement, bond: Bond) -> io::Result<Child> {
        let mut words = confinement
            .wrapper
            .into_iter()
            .chain([self.program.name(), "-c", &[self.prelude, self.command].concat()].map(OsString::from));
        let mut command = Command::new(words.next().expect("the shell is always there"));
        command.args(words).current_dir(self.cwd);
        let (stdout, stderr, stays, table) = match bond {
            Bond::EndsWithUs(table) => (Stdio::piped(), Stdio::piped(), false, table),
            Bond::Stays(stdout, stderr) => (stdout.into(), stderr.into(), true, None),
        };
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        for name in self.env_removed {
            command.env_remove(name);
        }
        for (name, value) in self.env_set.iter().chain(&confinement.env) {
            command.env(name, value);
        }
        in_own_session(&mut command, stays, table, confinement.in_child);
        command.spawn()
    }
}

#[expect(unsafe_code, reason = "what runs between fork and exec has no safe interface")]
pub(super) fn in_own_session(
    command: &mut Command,
    stays: bool,
    table: Option<GroupTable>,
    mut in_child: Option<InChild>,
) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    // SAFETY: the closure runs in the forked child. It only makes system calls, which are async-signal-safe, and
    // allocates nothing; whoever confines promises the same.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            if let Some(table) = table {
                table.enter(rustix::process::getpid().as_raw_nonzero().get());
            }
            #[cfg(target_os = "linux")]
            if !stays {
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
