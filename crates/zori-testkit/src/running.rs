//! A running process: look at what it has written, talk to it, signal it, and collect it within a bound.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::capture::Capture;
use crate::output::CommandOutput;
use crate::rewrite::Rewrite;
use crate::wait::{self, BOUND};

/// What the process finds on its stdin.
#[derive(Debug)]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// A pipe that stays open until [`Running::close_stdin`], or until the run is over.
    Open,
}

/// Where the process's stdout goes.
#[derive(Debug)]
pub enum Stdout {
    /// To the test.
    Captured,
    /// To a reader that takes this many bytes and then closes the pipe; with 0 it is closed from the start.
    ClosedAfter(usize),
    /// To a file, for example `/dev/full`.
    File(File),
}

/// A running process. Dropping it kills it and its process group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Capture,
    stderr: Capture,
    rewrite: Rewrite,
    bound: Duration,
    collected: bool,
}

impl Running {
    /// Starts the command in a process group of its own.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    #[track_caller]
    pub fn start(mut command: Command, stdin: Stdin, stdout: Stdout, rewrite: Rewrite) -> Self {
        command.process_group(0).stderr(Stdio::piped());
        command.stdin(if matches!(stdin, Stdin::Null) { Stdio::null() } else { Stdio::piped() });
        let limit = match stdout {
            Stdout::Captured => {
                command.stdout(Stdio::piped());
                usize::MAX
            }
            Stdout::ClosedAfter(0) => {
                // Closing the reader before the start leaves no moment in which a write could succeed.
                let (reader, writer) = io::pipe().expect("a pipe can be made");
                drop(reader);
                command.stdout(writer);
                0
            }
            Stdout::ClosedAfter(limit) => {
                command.stdout(Stdio::piped());
                limit
            }
            Stdout::File(file) => {
                command.stdout(file);
                0
            }
        };
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("cannot start {command:?}: {error}"),
        };
        // The command may hold our copy of a pipe's writing end; without this a reader would never see the end.
        drop(command);
        let stdout = match child.stdout.take() {
            Some(pipe) => Capture::start(pipe, limit, |_| {}),
            None => Capture::ended(),
        };
        let stderr = child.stderr.take().expect("stderr was asked to be a pipe");
        let stderr = Capture::start(stderr, usize::MAX, |_| {});
        let mut pipe = child.stdin.take();
        if let Stdin::Bytes(bytes) = stdin {
            let mut pipe = pipe.take().expect("stdin was asked to be a pipe");
            // In a thread, since a process that reads late would block us, and one that never reads breaks the pipe.
            std::thread::spawn(move || pipe.write_all(&bytes));
        }
        Self { child, stdin: pipe, stdout, stderr, rewrite, bound: BOUND, collected: false }
    }

    /// Gives the run more or less time than [`BOUND`].
    #[must_use]
    pub fn within(mut self, bound: Duration) -> Self {
        self.bound = bound;
        self
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns what has arrived on stdout so far, rewritten.
    pub fn stdout(&self) -> String {
        self.rewrite.apply(&self.stdout.text())
    }

    /// Returns what has arrived on stderr so far, rewritten.
    pub fn stderr(&self) -> String {
        self.rewrite.apply(&self.stderr.text())
    }

    /// Returns what has arrived on stdout so far, ports and all.
    pub fn raw_stdout(&self) -> String {
        self.stdout.text()
    }

    /// Returns what has arrived on stderr so far, ports and all.
    pub fn raw_stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits until stdout contains the text.
    #[track_caller]
    pub fn wait_for_stdout(&mut self, text: &str) -> &mut Self {
        self.wait_until(&format!("`{text}` on stdout"), |run| run.stdout().contains(text))
    }

    /// Waits until stderr contains the text.
    #[track_caller]
    pub fn wait_for_stderr(&mut self, text: &str) -> &mut Self {
        self.wait_until(&format!("`{text}` on stderr"), |run| run.stderr().contains(text))
    }

    /// Waits until the condition holds, for example that a server has been asked.
    ///
    /// # Panics
    ///
    /// After the bound, or when the process ends before; with the output so far.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, condition: impl Fn(&Self) -> bool) -> &mut Self {
        let held = wait::poll(self.bound, || {
            // The order matters: a process may do what is waited for and then end.
            let ended = self.has_ended();
            if condition(self) { Some(true) } else { ended.then_some(false) }
        });
        match held {
            Some(true) => self,
            Some(false) if self.streams_settle() && condition(self) => self,
            Some(false) => panic!("the process ended before {what}\n{}", self.so_far()),
            None => panic!("waited {:?} in vain for {what}\n{}", self.bound, self.so_far()),
        }
    }

    /// Writes to an open stdin.
    ///
    /// # Panics
    ///
    /// When stdin is not open, or the process no longer reads it.
    #[track_caller]
    pub fn write_stdin(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let pipe = self.stdin.as_mut().expect("stdin is open: start with `Stdin::Open`");
        pipe.write_all(bytes.as_ref()).expect("the process reads its stdin");
        self
    }

    /// Waits until the process has taken everything that was written to an open stdin.
    #[track_caller]
    pub fn wait_until_read(&mut self) -> &mut Self {
        let pipe = self.stdin.as_ref().expect("stdin is open");
        let taken = || rustix::io::ioctl_fionread(pipe).is_ok_and(|left| left == 0).then_some(());
        assert!(wait::poll(self.bound, taken).is_some(), "the process does not read its stdin");
        self
    }

    /// Ends an open stdin.
    pub fn close_stdin(&mut self) -> &mut Self {
        self.stdin = None;
        self
    }

    /// Sends SIGINT to the process alone.
    #[track_caller]
    pub fn interrupt(&mut self) -> &mut Self {
        self.signal(Signal::INT)
    }

    /// Sends SIGTERM to the process alone.
    #[track_caller]
    pub fn terminate(&mut self) -> &mut Self {
        self.signal(Signal::TERM)
    }

    /// Sends SIGHUP to the process alone.
    #[track_caller]
    pub fn hang_up(&mut self) -> &mut Self {
        self.signal(Signal::HUP)
    }

    /// Sends SIGKILL to the process alone.
    #[track_caller]
    pub fn kill(&mut self) -> &mut Self {
        self.signal(Signal::KILL)
    }

    /// Returns the largest resident size so far in bytes; `None` where the system does not tell.
    pub fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// Waits for the end of the process and of both streams.
    ///
    /// # Panics
    ///
    /// After the bound, with the output so far: when the process does not end, or when something it left behind
    /// still holds its stdout or stderr.
    #[track_caller]
    pub fn finish(mut self) -> CommandOutput {
        let ended = wait::poll(self.bound, || self.child.try_wait().expect("the child is ours to wait for"));
        let Some(status) = ended else {
            panic!("the process did not end within {:?}\n{}", self.bound, self.so_far());
        };
        if !self.streams_settle() {
            panic!("the process ended, but something it left behind holds its output\n{}", self.so_far());
        }
        self.collected = true;
        CommandOutput {
            stdout: self.stdout.bytes(),
            stderr: self.stderr.bytes(),
            status,
            rewrite: self.rewrite.clone(),
        }
    }

    /// Like [`Running::finish`], but a process that does not end within `bound` is killed, and there is no output.
    pub fn finish_within(mut self, bound: Duration) -> Option<CommandOutput> {
        wait::poll(bound, || self.has_ended().then_some(()))?;
        Some(self.finish())
    }

    #[track_caller]
    fn signal(&mut self, signal: Signal) -> &mut Self {
        assert!(!self.has_ended(), "the process ended before the signal\n{}", self.so_far());
        let pid = Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("a child that was not waited for can be signalled");
        self
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("the child is ours to wait for").is_some()
    }

    fn streams_settle(&self) -> bool {
        let ended = || (self.stdout.has_ended() && self.stderr.has_ended()).then_some(());
        wait::poll(self.bound, ended).is_some()
    }

    fn so_far(&self) -> String {
        format!("{}------- stderr -------\n{}------- end -------", self.stdout(), self.stderr())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.collected {
            return;
        }
        // Errors mean that it is gone already, which is what is wanted.
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, stdin: Stdin, stdout: Stdout) -> Running {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Running::start(command, stdin, stdout, Rewrite::default())
    }

    #[test]
    fn bytes_in_and_out() {
        let run = sh("cat; echo talk >&2; exit 3", Stdin::Bytes(b"data\n".to_vec()), Stdout::Captured);
        assert_eq!(run.finish().to_string(), "data\n------- stderr -------\ntalk\n[exit status: 3]");
    }

    #[test]
    fn open_stdin_and_a_signal_once_a_condition_holds() {
        let script = "trap 'echo caught; exit 7' INT; echo ready; read line; echo got $line; sleep 60 & wait";
        let mut run = sh(script, Stdin::Open, Stdout::Captured);
        run.wait_for_stdout("ready").write_stdin("hello\n").wait_for_stdout("got hello").interrupt();
        // The background `sleep` holds stdout, so only the process itself is waited for.
        run.wait_for_stdout("caught");
        drop(run);
    }

    #[test]
    fn a_reader_that_goes_away() {
        let run = sh("trap '' PIPE; echo x; echo $? >&2", Stdin::Null, Stdout::ClosedAfter(0));
        let output = run.finish();
        assert_eq!(output.stdout(), "");
        assert!(output.stderr().ends_with("1\n"), "{output}");
    }

    #[test]
    fn a_closed_reader_takes_what_it_was_told_to() {
        let run = sh("printf abcdef; sleep 0; printf ghi", Stdin::Null, Stdout::ClosedAfter(3));
        assert_eq!(run.finish().stdout(), "abc");
    }

    #[test]
    #[should_panic(expected = "did not end within")]
    fn a_hang_fails_with_the_output() {
        let run = sh("echo before; exec sleep 60", Stdin::Null, Stdout::Captured);
        run.within(Duration::from_millis(200)).finish();
    }

    #[test]
    #[should_panic(expected = "left behind holds its output")]
    fn an_orphan_fails() {
        sh("sleep 60 & exit 0", Stdin::Null, Stdout::Captured).within(Duration::from_millis(500)).finish();
    }

    #[test]
    #[should_panic(expected = "ended before `never` on stdout")]
    fn a_condition_that_cannot_come_true_fails_at_once() {
        sh("echo x", Stdin::Null, Stdout::Captured).wait_for_stdout("never");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_known_while_it_runs() {
        let mut run = sh("echo ready; read x", Stdin::Open, Stdout::Captured);
        // Before the shell has started it has next to no memory of its own.
        let large = |run: &Running| run.peak_memory().is_some_and(|bytes| bytes > 100_000);
        run.wait_for_stdout("ready").wait_until("some memory in use", large);
    }
}
