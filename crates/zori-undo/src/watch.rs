//! Watches folders for changes by inotify. Elsewhere there is none, and the tree is walked.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify;
use rustix::io::Errno;

/// The share of the watches a user may have that one session takes at most.
const SHARE: usize = 4;

/// Whether the system is asked to tell of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching {
    /// Everything is looked at each time.
    Off,
    /// A share of the watches that a user may have is used.
    On {
        /// How many a user may have; `None`: as many as the system says.
        limit: Option<usize>,
    },
}

/// What happened since the last look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    /// These paths may have changed, and of these folders the watch has ended: whatever has such a name now is another
    /// folder, though its number may be the same.
    Paths { changed: BTreeSet<PathBuf>, ended: BTreeSet<PathBuf> },
    /// There was more than the system keeps.
    Overflow,
}

/// The folders that are watched.
pub(crate) struct Watch {
    fd: OwnedFd,
    folders: HashMap<i32, PathBuf>,
    most: usize,
}

impl Watch {
    /// Starts with no folder; `None` where there is no way to watch this file system. `limit`: how many watches a user may
    /// have; `None`: as many as the system says.
    pub(crate) fn new(root: &Path, limit: Option<usize>) -> Option<Self> {
        if !watchable(root) {
            return None;
        }
        let system =
            || std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?.trim().parse().ok();
        let limit: usize = limit.or_else(system)?;
        let fd = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok()?;
        Some(Self { fd, folders: HashMap::new(), most: limit / SHARE })
    }

    /// Watches a folder. An error means that watching as a whole does not work out.
    pub(crate) fn add(&mut self, folder: &Path) -> Result<(), ()> {
        use inotify::WatchFlags as On;
        if self.folders.len() >= self.most {
            return Err(());
        }
        let on = On::CREATE
            | On::DELETE
            | On::MODIFY
            | On::CLOSE_WRITE
            | On::MOVED_FROM
            | On::MOVED_TO
            | On::ATTRIB
            | On::ONLYDIR
            | On::DONT_FOLLOW
            | On::EXCL_UNLINK;
        match inotify::add_watch(&self.fd, folder, on) {
            Ok(id) => {
                self.folders.insert(id, folder.to_owned());
                Ok(())
            }
            // It is gone already; the event of its end is on its way.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(()),
            Err(_) => Err(()),
        }
    }

    /// Forgets a folder that is gone or was moved, and those below it.
    pub(crate) fn forget(&mut self, folder: &Path) {
        let fd = &self.fd;
        self.folders.retain(|id, known| {
            let stays = !known.starts_with(folder);
            if !stays {
                let _ = inotify::remove_watch(fd, *id);
            }
            stays
        });
    }

    /// Returns what happened since the last call.
    pub(crate) fn drain(&mut self) -> Drained {
        let (mut paths, mut ended) = (BTreeSet::new(), BTreeSet::new());
        let mut buffer = [const { MaybeUninit::uninit() }; 16 << 10];
        let mut reader = inotify::Reader::new(&self.fd, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    let flags = event.events();
                    if flags.contains(inotify::ReadFlags::QUEUE_OVERFLOW) {
                        return Drained::Overflow;
                    }
                    if flags.contains(inotify::ReadFlags::IGNORED) {
                        if let Some(folder) = self.folders.remove(&event.wd()) {
                            paths.insert(folder.clone());
                            ended.insert(folder);
                        }
                        continue;
                    }
                    if let (Some(folder), Some(name)) = (self.folders.get(&event.wd()), event.file_name()) {
                        paths.insert(folder.join(OsStr::from_bytes(name.to_bytes())));
                    } else if let Some(folder) = self.folders.get(&event.wd()) {
                        // Its own permissions.
                        paths.insert(folder.clone());
                    }
                }
                Err(Errno::AGAIN) => return Drained::Paths { changed: paths, ended },
                Err(Errno::INTR) => {}
                Err(_) => return Drained::Overflow,
            }
        }
    }
}

/// File systems on which changes by others are not told.
fn watchable(root: &Path) -> bool {
    const REMOTE: &[u64] = &[0x6969, 0xff53_4d42, 0xfe53_4d42, 0x6573_5546, 0x0102_1997];
    let kind = rustix::fs::statfs(root).map(|stat| stat.f_type as u64 & 0xffff_ffff);
    kind.is_ok_and(|kind| !REMOTE.contains(&kind))
}
