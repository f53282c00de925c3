//! A process group of ours: signalled as a whole, and checked for live members.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};

use super::child::Child;

/// A process group. Its number stays taken as long as it has members, even after its leader was reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group(Pid);

impl Group {
    /// The group of a child that started a session of its own.
    pub fn led_by(child: &Child) -> Self {
        let id = child.id().expect("a child that was not waited for has an id");
        Self::new(id.cast_signed()).expect("the id of a process is not 0")
    }

    /// The group with this number.
    pub fn new(id: i32) -> Option<Self> {
        Pid::from_raw(id).map(Self)
    }

    /// Returns its number.
    pub fn id(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    /// Sends SIGTERM to the group.
    pub fn terminate(self) {
        // That nobody is left is what was wanted.
        let _ = kill_process_group(self.0, Signal::TERM);
    }

    /// Sends SIGTERM to all but the leader: where the leader's end kills the rest, nobody could clean up.
    #[cfg(target_os = "linux")]
    pub fn terminate_led(self) {
        for process in members(self.id()).filter(|pid| *pid != self.id()) {
            if let Some(pid) = Pid::from_raw(process) {
                let _ = rustix::process::kill_process(pid, Signal::TERM);
            }
        }
    }

    /// There is no such leader on this platform.
    #[cfg(not(target_os = "linux"))]
    pub fn terminate_led(self) {
        self.terminate();
    }

    /// Sends SIGKILL to the group.
    pub fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Reaps orphans of the group, which are our children. Call it when nobody waits for the leader any more.
    pub fn reap_orphans(self) {
        while let Ok(Some(_)) = waitpgid(self.0, WaitOptions::NOHANG) {}
    }

    /// Returns whether its number is taken, zombies included. Cheap.
    pub fn exists(self) -> bool {
        // `SRCH`: nobody. `PERM`: nobody of ours, so the number was given to somebody else.
        !matches!(test_kill_process_group(self.0), Err(Errno::SRCH | Errno::PERM))
    }

    /// Returns whether any process is left in it. Zombies do not count.
    pub fn alive(self) -> bool {
        self.exists() && !only_dead(self.id())
    }
}

/// Returns whether all members are zombies. Where the first process of a container does not reap, orphans stay zombies
/// for ever, and waiting for them to go would be in vain.
#[cfg(target_os = "linux")]
fn only_dead(group: i32) -> bool {
    std::fs::read_dir("/proc").is_ok() && members(group).next().is_none()
}

/// Returns the living members of a group, as far as they can be seen.
#[cfg(target_os = "linux")]
fn members(group: i32) -> impl Iterator<Item = i32> {
    std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(move |process| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        std::fs::read(process.path().join("stat")).is_ok_and(|stat| lives_in(&stat, group)).then_some(pid)
    })
}

#[cfg(not(target_os = "linux"))]
fn only_dead(_: i32) -> bool {
    false
}

/// Reads `PID (NAME) STATE PARENT GROUP ...`; the name may hold anything, also `)`.
#[cfg(target_os = "linux")]
fn lives_in(stat: &[u8], group: i32) -> bool {
    let Some(end) = stat.iter().rposition(|&b| b == b')') else { return false };
    let Ok(rest) = std::str::from_utf8(&stat[end + 1..]) else { return false };
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next();
    fields.nth(1).and_then(|group| group.parse().ok()) == Some(group) && !matches!(state, Some("Z" | "X"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn proc_lines() {
        assert!(lives_in(b"7 (a) b) S 1 42 42 0", 42));
        assert!(!lives_in(b"7 (a) Z 1 42 42 0", 42));
        assert!(!lives_in(b"7 (a) S 1 41 42 0", 42));
        assert!(!lives_in(b"", 42));
    }

    /// A group of our own: the group of the test may be one of another PID namespace, which has no number here.
    #[test]
    fn a_group_and_its_members() {
        let mut child = std::process::Command::new("sleep").arg("300").process_group(0).spawn().unwrap();
        let group = Group::new(child.id().cast_signed()).unwrap();
        assert!(lives_in(&std::fs::read(format!("/proc/{}/stat", child.id())).unwrap(), group.id()));
        assert_eq!(members(group.id()).collect::<Vec<_>>(), [group.id()]);
        assert!(group.alive());
        group.kill();
        child.wait().unwrap();
        assert!(!group.alive());
    }
}
