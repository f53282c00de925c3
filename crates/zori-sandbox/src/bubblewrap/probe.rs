//! Whether `bwrap` works here: many machines have it but do not let it make namespaces. Only a try can tell.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::arguments;
use crate::spec::Network;

/// How long it may take. It takes some ten milliseconds.
const TIMEOUT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
/// How much of its error message is read.
const COMPLAINT: u64 = 1000;

/// Runs it once with a command that does nothing; the error says why it does not work.
pub fn probe(program: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments::isolation(Network::Off)).args(["--", "/bin/sh", "-c", ":"]);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| format!("{} does not start: {error}", program.display()))?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let ended = pid
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
        .is_some_and(|process| poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&TIMEOUT)) == Ok(1));
    if !ended {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("{} does not end", program.display()));
    }
    let mut complaint = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(COMPLAINT).read_to_end(&mut complaint);
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("bubblewrap does not work here ({})", first_line(&complaint))),
        Err(error) => Err(format!("{} was lost: {error}", program.display())),
    }
}

fn first_line(complaint: &[u8]) -> String {
    let text = String::from_utf8_lossy(complaint);
    text.lines().next().unwrap_or("it says nothing").trim_start_matches("bwrap: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_no_bubblewrap() {
        let why = |program: &str| probe(Path::new(program)).unwrap_err();
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("bwrap").display().to_string();
        assert_eq!(
            why(&missing),
            format!("{missing} does not start: No such file or directory (os error 2)")
        );
        assert_eq!(why("/bin/false"), "bubblewrap does not work here (it says nothing)");
        assert!(why("/bin/cat").starts_with("bubblewrap does not work here (/bin/cat: "));
    }
}
