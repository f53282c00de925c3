//! Cleans up after a command: waits until its namespaces are empty, then removes the stubs, restores links, and sets aside
//! what was made in protected places.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::layout::GuardedPath;
use crate::set_aside::SetAside;
use crate::stubs::Stub;

/// How long the last processes may take to end. They are being killed, so this is plenty.
const TIMEOUT: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// The clean-up of a command. It runs when this is dropped.
pub struct Cleanup {
    /// Where `bwrap` wrote the id of the first process inside.
    info: Option<OwnedFd>,
    stubs: Vec<Stub>,
    /// Links, and where they led.
    links: Vec<(PathBuf, PathBuf)>,
    guarded: Vec<GuardedPath>,
    set_aside: SetAside,
}

impl Cleanup {
    /// Remembers the stubs, and where the links lead.
    pub fn new(
        info: OwnedFd,
        stubs: Vec<Stub>,
        links: &[PathBuf],
        guarded: Vec<GuardedPath>,
        set_aside: SetAside,
    ) -> Self {
        let links = links.iter().filter_map(|link| Some((link.clone(), fs::read_link(link).ok()?))).collect();
        Self { info: Some(info), stubs, links, guarded, set_aside }
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        // The kernel ends the whole namespace before it reports the end of its first process.
        if let Some(first) = self.info.take().and_then(first_process)
            && let Ok(process) = pidfd_open(first, PidfdFlags::empty())
            && poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&TIMEOUT)) != Ok(1)
        {
            // Somebody hangs in the kernel. The stubs stay for now: taking them away would let him write there.
            self.stubs.drain(..).for_each(std::mem::forget);
            self.set_aside.move_away(&self.guarded);
            return;
        }
        for (link, target) in &self.links {
            if fs::read_link(link).ok().as_ref() == Some(target) {
                continue;
            }
            // Nothing can be mounted on a link, so a command can replace it. That does not last.
            let _ = fs::remove_file(link).or_else(|_| fs::remove_dir_all(link));
            let _ = symlink(target, link);
        }
        self.set_aside.move_away(&self.guarded);
    }
}

/// Reads `"child-pid": N`, which was written when the command began. It does not block: another process may still hold
/// the writing end.
fn first_process(info: OwnedFd) -> Option<Pid> {
    rustix::fs::fcntl_setfl(&info, OFlags::NONBLOCK).ok()?;
    let mut text = [0; 4096];
    let length = fs::File::from(info).read(&mut text).ok()?;
    pid(&String::from_utf8_lossy(&text[..length]))
}

fn pid(text: &str) -> Option<Pid> {
    let (_, rest) = text.split_once("\"child-pid\":")?;
    let digits = rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?;
    Pid::from_raw(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bwrap_tells() {
        assert_eq!(
            pid("{\n    \"child-pid\": 6341,\n    \"net-namespace\": 4026532500\n}\n"),
            Pid::from_raw(6341)
        );
        assert_eq!(pid("{\n    \"child-pid\": 6341\n}\n"), Pid::from_raw(6341));
        assert_eq!(pid(""), None);
        assert_eq!(pid("{\"child-pid\": x}"), None);
    }
}
