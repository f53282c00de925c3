//! What wakes the worker `scheduler`: the end of the chat, the note that the project has jobs, a point in time. While there is no job it sleeps and
//! is not woken by time.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often the note is looked for where the system tells nothing of files.
const LOOK: Duration = Duration::from_secs(60);

/// Waits for the note that a project has jobs.
pub struct Bell {
    /// Its other end is dropped to stop the worker.
    stopped: UnixStream,
    note: PathBuf,
    watch: Option<watch::Watch>,
}

impl Bell {
    /// Returns the bell of a project whose jobs are noted in this file. Whoever waits for it is stopped by the end of the stream.
    pub fn new(stopped: UnixStream, note: PathBuf) -> Self {
        Self { stopped, note, watch: watch::Watch::new() }
    }

    /// Waits for the first job of the project; returns whether there is one, or else the chat ends.
    pub fn first_note(&mut self) -> bool {
        loop {
            if self.noted() {
                return true;
            }
            if self.wait(None) {
                return false;
            }
        }
    }

    /// Returns whether the project has jobs. Whatever changes about it after this call ends the next wait.
    pub fn noted(&mut self) -> bool {
        if let Some(watch) = &mut self.watch
            && !watch.arm(&self.note)
        {
            self.watch = None;
        }
        self.note.exists()
    }

    /// Waits until a job may have been added or the last one removed, for no longer than this; returns whether the chat ends.
    pub fn wait(&self, longest: Option<Duration>) -> bool {
        let longest =
            if self.watch.is_none() { Some(longest.map_or(LOOK, |time| time.min(LOOK))) } else { longest };
        let stopped = PollFd::new(&self.stopped, PollFlags::IN);
        let mut fds = vec![stopped];
        fds.extend(self.watch.as_ref().map(|watch| PollFd::new(watch, PollFlags::IN)));
        let _ = poll(&mut fds, longest.map(timespec).as_ref());
        let [stop, rung] = [0, 1].map(|at| fds.get(at).is_some_and(|fd| !fd.revents().is_empty()));
        if let (true, Some(watch)) = (rung, &self.watch) {
            watch.drain();
        }
        stop
    }

    /// Waits only for the end of the chat; returns whether it has come.
    pub fn stopped_within(&self, time: Duration) -> bool {
        let mut fds = [PollFd::new(&self.stopped, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&timespec(time)));
        !fds[0].revents().is_empty()
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ }
}

#[cfg(target_os = "linux")]
mod watch {
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::inotify::{self, WatchFlags as On};

    /// Tells of changes in the folder of a file, or of the nearest one above it that is there.
    pub struct Watch {
        fd: OwnedFd,
        /// The folder that is watched.
        watched: Option<i32>,
    }

    impl Watch {
        pub fn new() -> Option<Self> {
            let fd = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok()?;
            Some(Self { fd, watched: None })
        }

        /// Watches the folder that has to be watched now; returns whether that works out.
        pub fn arm(&mut self, file: &Path) -> bool {
            // Whoever makes folders meanwhile is a few steps ahead at most.
            for _ in 0..8 {
                let Some((level, id)) = self.nearest(file) else { return false };
                if let Some(before) = self.watched.replace(id).filter(|before| *before != id) {
                    let _ = inotify::remove_watch(&self.fd, before);
                }
                // What was told so far is seen by whoever looks after this, and so is the end of the old watch.
                self.drain();
                if level == 0 || !below(file, level).is_some_and(Path::exists) {
                    return true;
                }
            }
            false
        }

        fn nearest(&self, file: &Path) -> Option<(usize, i32)> {
            file.ancestors().skip(1).enumerate().find_map(|(level, folder)| {
                // In the folder itself the file is written again with each job; above it, only folders matter.
                let on = if level == 0 {
                    On::CREATE | On::CLOSE_WRITE | On::DELETE
                } else {
                    On::CREATE | On::MOVED_TO
                };
                let on = on | On::DELETE_SELF | On::MOVE_SELF | On::ONLYDIR;
                Some((level, inotify::add_watch(&self.fd, folder, on).ok()?))
            })
        }

        /// Takes what was told.
        pub fn drain(&self) {
            let mut buffer = [const { MaybeUninit::uninit() }; 4 << 10];
            let mut told = inotify::Reader::new(&self.fd, &mut buffer);
            while told.next().is_ok() {}
        }
    }

    /// Returns the folder one step nearer to the file.
    fn below(file: &Path, level: usize) -> Option<&Path> {
        file.ancestors().nth(level)
    }

    impl AsFd for Watch {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.fd.as_fd()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod watch {
    use std::os::fd::{AsFd, BorrowedFd};
    use std::path::Path;

    /// There is none here.
    pub enum Watch {}

    impl Watch {
        pub fn new() -> Option<Self> {
            None
        }

        pub fn arm(&mut self, _: &Path) -> bool {
            match *self {}
        }

        pub fn drain(&self) {
            match *self {}
        }
    }

    impl AsFd for Watch {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    /// What rings does so at once; this is for a machine that is busy.
    const BOUND: Duration = Duration::from_secs(20);

    /// Returns whether a wait ends before its time.
    fn rings(bell: &Bell) -> bool {
        let begun = Instant::now();
        assert!(!bell.wait(Some(BOUND)), "nobody has stopped it");
        begun.elapsed() < BOUND
    }

    /// Returns whether nothing has rung. The system tells of a file before whoever changes it goes on.
    fn is_silent(bell: &Bell) -> bool {
        let watch = bell.watch.as_ref().expect("there is one here");
        let mut fds = [PollFd::new(watch, PollFlags::IN)];
        poll(&mut fds, Some(&timespec(Duration::ZERO))).expect("it can be asked") == 0
    }

    /// The note and its folders come into being one after the other, are used, and go; other files wake nobody.
    #[test]
    fn rings_for_the_note_alone() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        let (stopped, stop) = UnixStream::pair().unwrap();
        let mut bell = Bell::new(stopped, at("uses/key/schedule"));
        assert!(!bell.noted());
        assert!(is_silent(&bell));
        fs::create_dir(at("uses")).unwrap();
        assert!(rings(&bell));
        assert!(!bell.noted());
        fs::write(at("zori.db"), "").unwrap();
        assert!(is_silent(&bell), "the folder above is not watched any more");
        // Two steps at once.
        fs::create_dir(at("uses/key")).unwrap();
        fs::write(at("uses/key/schedule"), "").unwrap();
        assert!(rings(&bell));
        assert!(bell.noted());
        assert!(is_silent(&bell));
        // Another job.
        drop(fs::File::options().append(true).open(at("uses/key/schedule")).unwrap());
        assert!(rings(&bell));
        assert!(bell.noted());
        fs::remove_dir_all(at("uses")).unwrap();
        assert!(rings(&bell));
        assert!(!bell.noted());
        assert!(!bell.stopped_within(Duration::ZERO));
        fs::create_dir_all(at("uses/key")).unwrap();
        drop(stop);
        assert!(bell.wait(Some(BOUND)));
        assert!(bell.stopped_within(Duration::ZERO));
    }
}
