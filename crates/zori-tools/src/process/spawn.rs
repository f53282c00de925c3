//! Starts a shell so that it can be ended completely: its own session and group, no terminal for input, only the three
//! standard descriptors, and a death signal that follows ours (CH-1, CH-3).

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;
use zori_core::confine::InChild;

use super::child::Child;
#[cfg(target_os = "linux")]
use super::vfork::{Program, Started};
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
    pub fn spawn(&self, stdin: Stdin, confinement: Confinement, bond: Bond) -> io::Result<Child> {
        let text = [self.prelude, self.command].concat();
        let shell = [self.program.name(), "-c", &text].map(OsString::from);
        let argv: Vec<OsString> = confinement.wrapper.into_iter().chain(shell).collect();
        let env_set: Vec<_> = self.env_set.iter().cloned().chain(confinement.env).collect();
        let (files, stays, table) = match bond {
            Bond::EndsWithUs(table) => (None, false, table),
            Bond::Stays(stdout, stderr) => (Some([stdout, stderr]), true, None),
        };
        let (streams, entering) = (Streams { stdin, files }, Entering::new(stays, table));
        // What confines in the child may do more there than somebody may who borrows our memory.
        #[cfg(target_os = "linux")]
        let streams = match confinement.in_child {
            None => {
                let program = Program::new(&argv, inherited(self.env_removed, &env_set), self.cwd)?;
                match quickly(&program, streams, entering)? {
                    Ok(child) => return Ok(child),
                    Err(streams) => streams,
                }
            }
            Some(_) => streams,
        };
        let mut words = argv.into_iter();
        let mut command = Command::new(words.next().expect("the shell is always there"));
        command.args(words).current_dir(self.cwd).stdin(streams.stdin.into_stdio());
        match streams.files {
            None => command.stdout(Stdio::piped()).stderr(Stdio::piped()),
            Some([stdout, stderr]) => command.stdout(stdout).stderr(stderr),
        };
        for name in self.env_removed {
            command.env_remove(name);
        }
        command.envs(env_set);
        in_own_session(&mut command, entering, confinement.in_child);
        command.spawn().map(Child::of_runtime)
    }
}

/// What a shell reads.
pub enum Stdin {
    Nothing,
    File(File),
}

/// What a shell begins with: what it reads, and the files it prints to; without files we read it.
struct Streams {
    stdin: Stdin,
    files: Option<[File; 2]>,
}

impl Stdin {
    fn into_stdio(self) -> Stdio {
        match self {
            Self::Nothing => Stdio::null(),
            Self::File(file) => file.into(),
        }
    }
}

/// Returns what a child has of our environment: all but these variables, and the additional ones.
#[cfg(target_os = "linux")]
fn inherited(removed: &[OsString], set: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    env.retain(|(name, _)| !removed.contains(name) && set.iter().all(|(changed, _)| changed != name));
    // Of two values for one name the later counts.
    for (at, (name, value)) in set.iter().enumerate() {
        if set[at + 1..].iter().all(|(later, _)| later != name) {
            env.push((name.clone(), value.clone()));
        }
    }
    env
}

/// Starts a program without copying ourselves. Where that cannot be, its streams come back.
#[cfg(target_os = "linux")]
fn quickly(program: &Program, streams: Streams, entering: Entering) -> io::Result<Result<Child, Streams>> {
    let reads_file = matches!(streams.stdin, Stdin::File(_));
    let stdin = match streams.stdin {
        Stdin::Nothing => File::open("/dev/null")?,
        Stdin::File(file) => file,
    };
    let (theirs, ours) = match streams.files {
        Some(files) => (files.map(Into::into), None),
        None => {
            let (our_out, out) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            let (our_err, err) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            ([out, err], Some([our_out, our_err]))
        }
    };
    let [out, err] = theirs;
    match program.start([stdin.into(), out, err], entering)? {
        Started::Running(pid, descriptor) => Child::described(pid, descriptor, ours).map(Ok),
        Started::Refused([stdin, out, err]) => Ok(Err(Streams {
            stdin: if reads_file { Stdin::File(stdin.into()) } else { Stdin::Nothing },
            files: ours.is_none().then(|| [out.into(), err.into()]),
        })),
    }
}

/// What a child does before it becomes its program.
#[derive(Clone, Copy)]
pub struct Entering {
    stays: bool,
    table: Option<GroupTable>,
    #[cfg(target_os = "linux")]
    parent: rustix::process::Pid,
}

impl Entering {
    /// `stays`: it may outlive us.
    pub fn new(stays: bool, table: Option<GroupTable>) -> Self {
        Self {
            stays,
            table,
            #[cfg(target_os = "linux")]
            parent: rustix::process::getpid(),
        }
    }

    /// Begins a session, and binds the child's life to ours. It only makes system calls, which are async-signal-safe, and allocates
    /// nothing.
    pub fn enter(&self) -> io::Result<()> {
        rustix::process::setsid()?;
        if let Some(table) = self.table {
            table.enter(rustix::process::getpid().as_raw_nonzero().get());
        }
        #[cfg(target_os = "linux")]
        if !self.stays {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // Whoever died before the line above sends no signal any more.
            if rustix::process::getppid() != Some(self.parent) {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        close_on_exec_from(3);
        Ok(())
    }
}

#[expect(unsafe_code, reason = "what runs between fork and exec has no safe interface")]
pub(super) fn in_own_session(command: &mut Command, entering: Entering, mut in_child: Option<InChild>) {
    // SAFETY: the closure runs in the forked child. It only makes system calls, which are async-signal-safe, and
    // allocates nothing; whoever confines promises the same.
    unsafe {
        command.pre_exec(move || {
            entering.enter()?;
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
