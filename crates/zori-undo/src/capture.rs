//! Captures what calls change: the state of the files before and after, as one operation (UNDO-1 to UNDO-12).

mod after;
mod before;
mod bounds;
mod exact;
mod sweep;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use zori_core::cancel::Cancel;
use zori_core::checkpoint::{Captured, CheckpointError, Checkpoints, Coverage, PendingCall};
use zori_core::ids::SessionId;
use zori_core::tool::FileChange;

pub use self::bounds::uncovered;
use crate::disk::Disk;
use crate::error::UndoError;
use crate::live::Live;
use crate::repository::{self, GitHeads};
use crate::state::State;
use crate::store::{Parents, Shelf, Store};
pub use crate::tree::TreeLimits;
use crate::tree::{Taker, Tree, TreeError, Window};
pub use crate::watch::Watching;

/// What a capture is made from.
#[derive(Clone)]
pub struct CaptureSettings {
    /// The store's folder.
    pub dir: PathBuf,
    /// The project's root, canonical.
    pub root: PathBuf,
    /// Folders outside of it that belong to the workspace.
    pub added: Vec<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    pub session: SessionId,
    /// The sessions it was forked from.
    pub parents: Parents,
    /// How many prompts the session has had before.
    pub turns: u32,
    /// Whether contents are synced before the next call.
    pub durable: bool,
    /// Whether the first look happens within the first call that needs it.
    pub inline: bool,
    /// Whether hooks run after calls, which may change any file.
    pub hooks: bool,
    /// Whether a call that cannot be captured must not run.
    pub required: bool,
    /// How long a call waits for the first look.
    pub max_wait: Duration,
    /// How much may be looked at.
    pub limits: TreeLimits,
    /// Whether the system is asked to tell of changes.
    pub watch: Watching,
    /// The file system.
    pub disk: Disk,
    /// Returns whether a file is sensitive.
    pub sensitive: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    /// Returns the time since 1970.
    pub now: fn() -> Duration,
}

/// The capture of one session.
pub struct Capture {
    shared: Arc<Shared>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    settings: CaptureSettings,
    store: Store,
    disk: Disk,
    state: Mutex<CaptureState>,
    /// Held while calls begin, and while files are put back.
    gate: Mutex<()>,
    ready: Condvar,
    stop: AtomicBool,
}

struct CaptureState {
    turn: u32,
    next_op: Option<u64>,
    tree: TreeState,
    /// How many groups of calls are open.
    depth: u32,
    open: OpenWindow,
    /// Whether the user knows that not everything is covered.
    told: bool,
    /// Tells other sessions when commands run; `None` before the first.
    live: Option<Live>,
    /// When commands of this process ran, and in which turn.
    windows: Vec<(Window, u32)>,
    /// How long the last look at everything took, in nanoseconds.
    looked_for: i64,
    /// Changes of file tools that the tree has yet to hear of.
    notes: Vec<(PathBuf, Option<State>)>,
}

enum TreeState {
    Unseen,
    Building,
    Ready(Box<Tree>),
    /// It will not be looked at, and why.
    Off(String),
}

/// What is known of the calls that run.
#[derive(Default)]
struct OpenWindow {
    began: i64,
    /// Paths of file tools, as they were.
    exact: Vec<(PathBuf, Option<State>)>,
    handed: Vec<FileChange>,
    calls: Vec<PendingCall>,
    /// Whether the tree was looked at before.
    tree: bool,
    /// Whether other sessions know of it.
    announced: bool,
    /// Why it was not, though a call needs it.
    uncovered: Option<String>,
    /// Why a file that a tool is about to write was not taken.
    lost: Option<String>,
    heads: Option<GitHeads>,
}

impl Capture {
    /// Opens the capture of a session. Nothing is made or looked at before the first call.
    pub fn open(settings: CaptureSettings) -> Result<Self, UndoError> {
        let store = Store::open(
            settings.dir.clone(),
            settings.root.clone(),
            settings.session.clone(),
            settings.parents.clone(),
            settings.durable,
        )?
        .on(settings.disk.clone());
        let tree = match uncovered(&settings.root, settings.home.as_deref()) {
            Some(why) => TreeState::Off(why),
            None => TreeState::Unseen,
        };
        let state = CaptureState {
            turn: settings.turns,
            next_op: None,
            tree,
            depth: 0,
            open: OpenWindow::default(),
            told: false,
            live: None,
            windows: Vec::new(),
            looked_for: i64::MAX,
            notes: Vec::new(),
        };
        let shared = Shared {
            disk: settings.disk.clone(),
            settings,
            store,
            state: Mutex::new(state),
            gate: Mutex::default(),
            ready: Condvar::new(),
            stop: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared), worker: Mutex::default() })
    }

    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Returns the turn that runs or ran last.
    pub fn turn(&self) -> u32 {
        self.shared.lock().turn
    }

    /// Returns how much is covered, and why not all.
    pub fn coverage(&self) -> (Coverage, Option<String>) {
        match &self.shared.lock().tree {
            TreeState::Off(why) => (Coverage::Tools, Some(why.clone())),
            _ => (Coverage::Full, None),
        }
    }

    /// Does something while no call that may change files runs or begins; `None` where one does.
    pub fn while_idle<T>(&self, act: impl FnOnce() -> T) -> Option<T> {
        let _gate = match self.shared.gate.try_lock() {
            Ok(gate) => gate,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let idle = self.shared.lock().depth == 0;
        idle.then(act)
    }

    /// A restore changed files: the next look finds them as they are. Also the numbers go on behind its own.
    pub fn restored(&self, paths: &[(PathBuf, Option<State>)]) {
        let mut state = self.shared.lock();
        state.next_op = None;
        state.note(paths);
    }

    /// Looks for what commands changed without anybody being told (UNDO-5).
    pub fn sweep(&self) {
        self.shared.sweep();
    }

    /// Ends what runs in the background.
    pub fn close(&self) {
        self.shared.last_sweep();
        self.shared.stop.store(true, Ordering::Relaxed);
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = worker {
            let _ = worker.join();
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.close();
    }
}

impl Checkpoints for Capture {
    fn start_turn(&self) {
        self.shared.lock().turn += 1;
    }

    fn warm_up(&self) {
        if self.shared.settings.inline {
            return;
        }
        let mut state = self.shared.lock();
        if !matches!(state.tree, TreeState::Unseen) {
            return;
        }
        state.tree = TreeState::Building;
        let shared = self.shared.clone();
        let started = std::thread::Builder::new().name("undo".to_owned()).spawn(move || shared.build());
        match started {
            Ok(worker) => *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = Some(worker),
            Err(error) => state.tree = TreeState::Off(format!("no thread could be started: {error}")),
        }
    }

    fn begin(&self, calls: &[PendingCall], cancel: &Cancel) -> Result<(), CheckpointError> {
        self.shared.begin(calls, cancel)
    }

    fn end(&self, calls: &[PendingCall], handed: &[FileChange]) -> Captured {
        self.shared.end(calls, handed)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, CaptureState> {
        // A panic while a group is looked at leaves numbers and paths that are still true.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        i64::try_from((self.settings.now)().as_nanos()).unwrap_or(i64::MAX)
    }

    fn taker(&self) -> Taker<'_> {
        Taker {
            store: &self.store,
            sensitive: &*self.settings.sensitive,
            limits: self.settings.limits,
            clean: None,
            stop: &self.stop,
            window: None,
            now: self.now(),
        }
    }

    fn shelf(&self, path: &Path) -> Shelf {
        if (self.settings.sensitive)(path) { Shelf::Sensitive } else { Shelf::Plain }
    }

    /// Looks at the tree for the first time.
    fn build(&self) {
        let began = self.now();
        let built = self.first_look();
        let mut state = self.lock();
        state.looked_for = self.now().saturating_sub(began);
        state.tree = match built {
            Ok(tree) => TreeState::Ready(Box::new(tree)),
            Err(error) => TreeState::Off(error.to_string()),
        };
        let notes = std::mem::take(&mut state.notes);
        state.note(&notes);
        drop(state);
        self.ready.notify_all();
    }

    fn first_look(&self) -> Result<Tree, TreeError> {
        let settings = &self.settings;
        if let Some(why) = bounds::little_space(&settings.dir) {
            return Err(TreeError::Failed(why));
        }
        let clean = repository::clean_files(&settings.root, settings.home.as_deref(), &self.store);
        let roots = [&settings.root].into_iter().chain(&settings.added).cloned().collect();
        let (files, tracked) = clean.as_ref().map_or((None, &[][..]), |clean| (Some(clean), clean.folders()));
        Tree::baseline(roots, settings.watch, tracked, &Taker { clean: files, ..self.taker() })
    }
}

impl CaptureState {
    fn note(&mut self, paths: &[(PathBuf, Option<State>)]) {
        match &mut self.tree {
            TreeState::Ready(tree) => {
                for (path, state) in paths {
                    tree.note(path, state.as_ref());
                }
            }
            TreeState::Building => self.notes.extend(paths.iter().cloned()),
            TreeState::Unseen | TreeState::Off(_) => {}
        }
    }
}
