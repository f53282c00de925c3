//! Processes that left the group of the command that started them (DECISIONS 53).
//!
//! On Linux this program is the sub-reaper of what it starts: an orphan becomes its child, wherever it went. So a child that
//! nobody here has started, in a session that is not ours, came from a command. It is reaped when it ends, and known until
//! then. Elsewhere such processes are not seen.

use rustix::process::{Pid, Signal, kill_process};

/// A process that left its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    pub pid: i32,
    /// Its name, as the system has it.
    pub name: String,
    /// Its group and its session.
    pub group: i32,
    pub session: i32,
}

impl Stray {
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Returns whether it is still there. One that has ended is reaped.
    pub fn alive(&self) -> bool {
        imp::alive(self.pid)
    }

    /// Reads its name again: one that was found before it became its program had the name of the shell.
    pub fn refresh_name(&mut self) {
        if let Some(name) = imp::name(self.pid) {
            self.name = name;
        }
    }

    fn signal(&self, signal: Signal) {
        // It is our child until it is reaped, so that its number is not somebody else's.
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, signal);
        }
    }
}

pub use self::imp::{adopt_orphans, ended, leave_alone, new_strays, others_run, release, start};

#[cfg(target_os = "linux")]
mod imp {
    use std::collections::BTreeSet;
    use std::fs;
    use std::io;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

    use super::Stray;

    /// The children of a process are the process's: every session in it has to know them.
    static CHILDREN: Mutex<Children> =
        Mutex::new(Children { started: BTreeSet::new(), claimed: BTreeSet::new(), staying: BTreeSet::new() });

    struct Children {
        /// Those that were started here, and who waits for them.
        started: BTreeSet<i32>,
        /// Strays that some session looks after.
        claimed: BTreeSet<i32>,
        /// Sessions of jobs that were asked to stay.
        staying: BTreeSet<i32>,
    }

    /// Makes this program the parent of orphans. Where that cannot be, they are not seen.
    pub fn adopt_orphans() {
        let _ = set_child_subreaper(Some(getpid()));
    }

    /// Starts a child. Nobody takes it for a stray in the moment before its number is known.
    pub fn start<T>(
        start: impl FnOnce() -> io::Result<T>,
        pid: impl FnOnce(&T) -> Option<i32>,
    ) -> io::Result<T> {
        let mut children = lock();
        let child = start()?;
        children.started.extend(pid(&child));
        Ok(child)
    }

    /// Notes that such a child was reaped.
    pub fn ended(pid: i32) {
        lock().started.remove(&pid);
    }

    /// Leaves a stray to others, who will find it.
    pub fn release(pid: i32) {
        lock().claimed.remove(&pid);
    }

    /// Takes nothing in this session for a stray.
    pub fn leave_alone(session: i32) {
        lock().staying.insert(session);
    }

    /// Returns whether a child other than these was started here and has not ended.
    pub fn others_run(than: &[i32]) -> bool {
        lock().started.iter().any(|pid| !than.contains(pid))
    }

    /// Returns the strays that nobody looks after yet. They are the caller's from now on.
    pub fn new_strays() -> Vec<Stray> {
        // Where the leader of our session is in another PID namespace, the session is 0, for us and for our children alike.
        let our_session = Stat::of(getpid().as_raw_nonzero().get()).map_or(0, |stat| stat.session);
        let mut children = lock();
        let mut found = Vec::new();
        for pid in child_pids() {
            if children.started.contains(&pid) || children.claimed.contains(&pid) {
                continue;
            }
            let Some(stat) = Stat::of(pid).filter(|stat| stat.session != our_session) else { continue };
            if stat.dead {
                reap(pid);
                continue;
            }
            if children.staying.contains(&stat.session) {
                continue;
            }
            children.claimed.insert(pid);
            found.push(Stray { pid, name: stat.name, group: stat.group, session: stat.session });
        }
        found
    }

    pub fn alive(pid: i32) -> bool {
        let alive = Stat::of(pid).is_some_and(|stat| !stat.dead);
        if !alive {
            reap(pid);
            lock().claimed.remove(&pid);
        }
        alive
    }

    pub fn name(pid: i32) -> Option<String> {
        Stat::of(pid).map(|stat| stat.name)
    }

    fn reap(pid: i32) {
        let _ = waitpid(Pid::from_raw(pid), WaitOptions::NOHANG);
    }

    fn lock() -> MutexGuard<'static, Children> {
        CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the children of all our threads.
    fn child_pids() -> Vec<i32> {
        let mut pids = Vec::new();
        for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            pids.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        pids
    }

    /// What is known of a process: `PID (NAME) STATE PARENT GROUP SESSION ...`; the name may hold anything, also `)`.
    struct Stat {
        name: String,
        dead: bool,
        group: i32,
        session: i32,
    }

    impl Stat {
        fn of(pid: i32) -> Option<Self> {
            let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
            let stat = String::from_utf8_lossy(&stat);
            let (start, end) = (stat.find('(')?, stat.rfind(')')?);
            let mut fields = stat[end + 1..].split_ascii_whitespace();
            let state = fields.next()?;
            let group = fields.nth(1)?.parse().ok()?;
            let session = fields.next()?.parse().ok()?;
            Some(Self {
                name: stat[start + 1..end].to_owned(),
                dead: matches!(state, "Z" | "X"),
                group,
                session,
            })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    use super::Stray;

    pub fn adopt_orphans() {}
    pub fn ended(_: i32) {}
    pub fn leave_alone(_: i32) {}
    pub fn release(_: i32) {}

    pub fn start<T>(
        start: impl FnOnce() -> io::Result<T>,
        _: impl FnOnce(&T) -> Option<i32>,
    ) -> io::Result<T> {
        start()
    }

    pub fn others_run(_: &[i32]) -> bool {
        false
    }

    pub fn new_strays() -> Vec<Stray> {
        Vec::new()
    }

    pub fn alive(_: i32) -> bool {
        false
    }

    pub fn name(_: i32) -> Option<String> {
        None
    }
}
