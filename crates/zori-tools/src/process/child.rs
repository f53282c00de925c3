//! A child process that is waited for, however it was started: by the runtime, or by [`super::vfork`].

use std::io;
use std::process::ExitStatus;

use tokio::process::{Child as RuntimeChild, ChildStderr, ChildStdin, ChildStdout};

#[cfg(target_os = "linux")]
use self::by_descriptor::DescribedChild;

/// A child process.
pub struct Child {
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    pub stderr: Option<ChildStderr>,
    process: Process,
}

enum Process {
    Runtime(RuntimeChild),
    #[cfg(target_os = "linux")]
    Described(DescribedChild),
}

impl Child {
    /// A child that the runtime started.
    pub fn of_runtime(mut child: RuntimeChild) -> Self {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Self { stdin, stdout, stderr, process: Process::Runtime(child) }
    }

    /// Returns its process id; `None` once it was waited for.
    pub fn id(&self) -> Option<u32> {
        match &self.process {
            Process::Runtime(child) => child.id(),
            #[cfg(target_os = "linux")]
            Process::Described(child) => child.id(),
        }
    }

    /// Waits for its end. Dropped and called again, it goes on waiting.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        match &mut self.process {
            Process::Runtime(child) => child.wait().await,
            #[cfg(target_os = "linux")]
            Process::Described(child) => child.wait().await,
        }
    }

    /// Returns how it has ended, if it has.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match &mut self.process {
            Process::Runtime(child) => child.try_wait(),
            #[cfg(target_os = "linux")]
            Process::Described(child) => child.try_wait(),
        }
    }
}

#[cfg(target_os = "linux")]
mod by_descriptor {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{ChildStderr as StdStderr, ChildStdout as StdStdout, ExitStatus};

    use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use tokio::process::{ChildStderr, ChildStdout};

    use super::{Child, Process};

    /// A child that is known by its id and by a descriptor, which can be read once it has ended.
    pub struct DescribedChild {
        pid: Pid,
        descriptor: AsyncFd<OwnedFd>,
        status: Option<ExitStatus>,
    }

    impl Child {
        /// A child that was just started. `pipes`: our ends of its standard output and standard error. Where it cannot be waited for, it is
        /// ended.
        pub fn described(pid: Pid, descriptor: OwnedFd, pipes: Option<[OwnedFd; 2]>) -> io::Result<Self> {
            Self::waited_for(pid, descriptor, pipes).inspect_err(|_| {
                let _ = kill_process(pid, Signal::KILL);
                let _ = waitpid(Some(pid), WaitOptions::empty());
            })
        }

        fn waited_for(pid: Pid, descriptor: OwnedFd, pipes: Option<[OwnedFd; 2]>) -> io::Result<Self> {
            let (stdout, stderr) = match pipes {
                Some([out, err]) => (
                    Some(ChildStdout::from_std(StdStdout::from(out))?),
                    Some(ChildStderr::from_std(StdStderr::from(err))?),
                ),
                None => (None, None),
            };
            let process =
                Process::Described(DescribedChild { pid, descriptor: registered(descriptor)?, status: None });
            Ok(Self { stdin: None, stdout, stderr, process })
        }
    }

    #[expect(unsafe_code, reason = "whoever registers a descriptor answers for it")]
    fn registered(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
        // SAFETY: an owned descriptor stays the same and open for as long as it is registered.
        unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }.map_err(io::Error::from)
    }

    impl DescribedChild {
        pub fn id(&self) -> Option<u32> {
            self.status.is_none().then(|| self.pid.as_raw_nonzero().get().cast_unsigned())
        }

        pub async fn wait(&mut self) -> io::Result<ExitStatus> {
            loop {
                if let Some(status) = self.try_wait()? {
                    return Ok(status);
                }
                self.descriptor.readable().await?.clear_ready();
            }
        }

        pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
            if self.status.is_none() {
                let ended = waitpid(Some(self.pid), WaitOptions::NOHANG)?;
                self.status = ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw()));
            }
            Ok(self.status)
        }
    }
}
