//! Programs that serve the run for as long as it lasts, such as MCP servers: started by their arguments, with pipes to all three
//! streams, in a session of their own, and ended like commands are (CH-1 to CH-3).

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child as RuntimeChild, ChildStderr, ChildStdin, ChildStdout, Command};

use super::child::Child;
use super::group::Group;
use super::spawn::{Confinement, Entering, in_own_session};
use super::{KeepAlive, Processes, Running, strays};

/// How long a service may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

/// How a service is started. Its environment has what is listed here and nothing else.
pub struct ServiceStart<'a> {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub cwd: &'a Path,
    /// Its environment.
    pub env: Vec<(OsString, OsString)>,
    /// The sandbox for it; not confined by default.
    pub confinement: Confinement,
    /// What the sandbox needs until it has ended, and whether it ends all when it ends itself.
    pub hold: (KeepAlive, bool),
}

/// A running service. Dropped, its group is asked to end, and made to a second later.
pub struct Service {
    running: Running,
}

/// The streams of a service.
pub struct ServicePipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

impl Processes {
    /// Starts a service. Call it on a thread that lives as long as the service may: the death signal is bound to it.
    pub fn serve(&self, start: ServiceStart<'_>) -> io::Result<(Service, ServicePipes)> {
        let ServiceStart { argv, cwd, env, confinement, hold: (hold, led) } = start;
        let mut words = confinement.wrapper.into_iter().chain(argv);
        let program = words.next().ok_or_else(|| io::Error::other("there is no program"))?;
        let mut command = Command::new(program);
        command.args(words).current_dir(cwd).env_clear().envs(env).envs(confinement.env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        in_own_session(&mut command, Entering::new(false, self.reaper.table()), confinement.in_child);
        let id = |child: &RuntimeChild| child.id().map(u32::cast_signed);
        let started = strays::start(|| command.spawn(), id);
        let mut child = Child::of_runtime(started.inspect_err(|_| self.reaper.not_started())?);
        let group = Group::led_by(&child);
        self.reaper.watch(group);
        let missing = || io::Error::other("it has no pipes");
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let running = Running {
            reaper: self.reaper.clone(),
            group,
            terminate: if led { Group::terminate_led } else { Group::terminate },
            child: Some(child),
            hold: Some(hold),
            grace: GRACE,
        };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { return Err(missing()) };
        Ok((Service { running }, ServicePipes { stdin, stdout, stderr }))
    }
}

impl Service {
    /// Waits for its end, and returns how it ended, in words.
    pub async fn ended(&mut self) -> String {
        let Some(child) = &mut self.running.child else { return "it has ended".to_owned() };
        match child.wait().await {
            Ok(status) => format!("it ended with {status}"),
            Err(error) => format!("it was lost: {error}"),
        }
    }
}
