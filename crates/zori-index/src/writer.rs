//! The one thread of this process that writes to a database, and the connections that read it meanwhile. Whoever opens the database shares them,
//! so that threads of one process wait in a row and not for a lock. They end with the last one who has the database open: nothing is
//! kept of a file that nobody uses, and the next one who opens it looks at it anew.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use crate::error::IndexError;

/// How many connections that nobody reads with are kept for the next one.
const IDLE_READERS: usize = 4;
/// How many read at once. Whoever comes when there are so many waits for one of them.
pub(crate) const MOST_READERS: usize = 32;

/// The databases that this process has open for writing.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<Writer>>> = Mutex::new(BTreeMap::new());

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The thread that owns the connection that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    /// Which file it has open. Another one of that name may take its place.
    file: Option<(u64, u64)>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// Whether it was seen to have ended: it may still be closing its connection.
    ended: AtomicBool,
    readers: Mutex<Readers>,
    returned: Condvar,
}

/// The connections that read.
#[derive(Debug, Default)]
struct Readers {
    /// How many are in use.
    lent: usize,
    idle: Vec<Connection>,
}

impl Writer {
    /// Returns the writer that this process has for a file; where there is none, `open` opens one.
    pub(crate) fn of(
        path: &Path,
        open: impl FnOnce() -> Result<Connection, IndexError>,
    ) -> Result<Arc<Self>, IndexError> {
        let mut all = locked(&OPEN);
        all.retain(|_, writer| writer.strong_count() > 0);
        if let Some(writer) = all.get(path).and_then(Weak::upgrade).filter(|writer| writer.is_of(path)) {
            return Ok(writer);
        }
        let writer = Arc::new(Self::start(path, open()?)?);
        all.insert(path.to_owned(), Arc::downgrade(&writer));
        Ok(writer)
    }

    fn start(path: &Path, mut connection: Connection) -> Result<Self, IndexError> {
        let (jobs, received) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new()
            .name("database".into())
            .spawn(move || received.into_iter().for_each(|job| job(&mut connection)))
            .map_err(IndexError::io(path))?;
        let (jobs, thread) = (Some(jobs), Some(thread));
        Ok(Self {
            path: path.to_owned(),
            file: identity(path),
            jobs,
            thread,
            ended: AtomicBool::new(false),
            readers: Mutex::default(),
            returned: Condvar::new(),
        })
    }

    /// Returns whether it still runs, and has the file open that is there now.
    fn is_of(&self, path: &Path) -> bool {
        let runs = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        runs && !self.ended.load(Ordering::Acquire) && self.file.is_some() && self.file == identity(path)
    }

    /// Has the thread do something, when it is its turn, and waits for that.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let ended = || {
            self.ended.store(true, Ordering::Release);
            IndexError::Failed { path: self.path.clone(), why: "the thread that writes has ended".into() }
        };
        let (answer, answered) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |connection| {
            // Whoever asked waits for it.
            let _ = answer.send(work(connection));
        });
        self.jobs.as_ref().ok_or_else(ended)?.send(job).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())?
    }

    /// Returns a connection that nobody reads with; where there is none, `open` opens one. Where too many are in use it waits for one of them, for no longer
    /// than this.
    pub(crate) fn reader(
        &self,
        patience: Duration,
        open: impl FnOnce() -> Result<Connection, IndexError>,
    ) -> Result<Connection, IndexError> {
        let all_lent = |readers: &mut Readers| readers.lent >= MOST_READERS;
        let waited = self.returned.wait_timeout_while(locked(&self.readers), patience, all_lent);
        let (mut readers, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() {
            return Err(IndexError::Crowded(self.path.clone()));
        }
        readers.lent += 1;
        let idle = readers.idle.pop();
        drop(readers);
        idle.map_or_else(open, Ok).inspect_err(|_| self.returned(None))
    }

    /// Takes a connection back, and keeps it unless there are enough.
    pub(crate) fn give_back(&self, reader: Connection) {
        self.returned(Some(reader));
    }

    fn returned(&self, reader: Option<Connection>) {
        let mut readers = locked(&self.readers);
        readers.lent -= 1;
        if readers.idle.len() < IDLE_READERS {
            readers.idle.extend(reader);
        }
        drop(readers);
        self.returned.notify_one();
    }
}

impl Drop for Writer {
    /// Readers go first: whoever closes last works the log off, and that is for the one who may write.
    fn drop(&mut self) {
        locked(&self.readers).idle.clear();
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what tells a file from another one of the same name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}
