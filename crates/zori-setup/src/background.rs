//! What goes on beside the turns of a project's sessions, as one table: the workers that keep something up to date or tidy, each in a file
//! of its own. They start through [`Workers::spawn_if_due`] after a turn, never before the first request, and only where the project has
//! work for them; `--bare` has none of them (FR-001).
//!
//! To add one: a file with a [`Task`], and its line in [`TASKS`].

mod dream;
mod embed;
mod embed_code;
mod evict;
mod graph;
mod index;
pub mod pace;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use zori_core::time::Clock;
use zori_host::{Background, IsSensitive, MemoryPlace, SystemClock};

use crate::config::Config;
use crate::data_dir::DataDir;
use crate::environment::Environment;
use crate::memory;
use crate::network::NetworkOptions;
use crate::workers::{Worker, Workers};
use pace::Pace;

/// Every worker of a project.
const TASKS: &[Task] = &[index::TASK, evict::TASK, dream::TASK, embed::TASK, embed_code::TASK, graph::TASK];

/// How long the end of the last session waits for workers.
const GRACE: Duration = Duration::from_millis(250);
/// When those that begin at the end are told to stop.
const LAST_CALL: Duration = Duration::from_millis(200);
/// How often the end looks whether they have.
const LOOK: Duration = Duration::from_millis(2);

/// A worker of a project.
#[derive(Clone, Copy)]
pub struct Task {
    /// Its name and span.
    pub worker: Worker,
    /// When it starts.
    pub moment: Moment,
    /// Whether the project could have work for it: by the settings and a look for a marker, without the database. It is asked on the thread of
    /// the session.
    pub wanted: fn(&Project) -> bool,
    /// Whether there is work for it now. It is asked on the worker's thread, and may open the database.
    pub due: fn(&Project) -> bool,
    /// The work. It looks at its pace before every step.
    pub run: fn(&Project, &Pace),
}

/// When a worker starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// After a turn, unless it still runs.
    AfterTurn,
    /// When the last session ends, if there was a turn. It has a fifth of a second.
    AtEnd,
}

/// A setting that is `"auto"`, true or false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switch {
    /// Once the project has used it; never in a run of one prompt.
    #[default]
    Auto,
    On,
    Off,
}

impl Switch {
    /// Returns what a key says.
    pub fn of(config: &Config, key: &str) -> Self {
        match config.flag(key) {
            Some(true) => Self::On,
            Some(false) => Self::Off,
            None => Self::Auto,
        }
    }
}

/// What workers know of the project they work for.
pub struct Project {
    /// Where its database, marker and sessions are.
    pub place: MemoryPlace,
    /// Which files may hold secrets.
    pub sensitive: IsSensitive,
    /// Whether the code index is kept up to date.
    pub index_switch: Switch,
    /// Whether the run has one prompt, so that only what was configured starts (DECISIONS 64).
    pub one_prompt: bool,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What the user's config says; nothing where it cannot be read.
    pub config: Config,
    /// The environment and the way to the network.
    pub outside: Option<Outside>,
}

/// What workers need that ask somebody.
#[derive(Clone)]
pub struct Outside {
    pub env: Environment,
    pub network: NetworkOptions,
}

pub struct ProjectWorkers {
    workers: Workers,
    tasks: &'static [Task],
    /// Finding the project takes some looks at the disk, which no start pays for.
    find: Box<dyn Fn() -> Project + Send + Sync>,
    project: OnceLock<Arc<Project>>,
    one_prompt: AtomicBool,
    pace: Arc<Pace>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sessions: usize,
    had_turn: bool,
    running: Vec<(&'static str, JoinHandle<()>)>,
}

/// Returns the workers of the project that a folder belongs to; nothing is looked at or started.
pub fn of_project(
    workers: Workers,
    data_dir: DataDir,
    root: PathBuf,
    outside: Outside,
    index_switch: Switch,
    sensitive: IsSensitive,
) -> Arc<ProjectWorkers> {
    let find = move || Project {
        place: memory::place(&data_dir, &root, outside.env.temp_dir()),
        sensitive: sensitive.clone(),
        index_switch,
        one_prompt: false,
        clock: Arc::new(SystemClock::new()),
        config: data_dir.read_config().unwrap_or_default(),
        outside: Some(outside.clone()),
    };
    Arc::new(ProjectWorkers::new(workers, TASKS, find))
}

impl ProjectWorkers {
    fn new(
        workers: Workers,
        tasks: &'static [Task],
        find: impl Fn() -> Project + Send + Sync + 'static,
    ) -> Self {
        Self {
            workers,
            tasks,
            find: Box::new(find),
            project: OnceLock::new(),
            one_prompt: AtomicBool::new(false),
            pace: Arc::default(),
            state: Mutex::default(),
        }
    }

    /// Says that the run has one prompt.
    pub fn for_one_prompt(&self) {
        self.one_prompt.store(true, Ordering::Relaxed);
    }

    fn project(&self) -> &Arc<Project> {
        let one_prompt = self.one_prompt.load(Ordering::Relaxed);
        self.project.get_or_init(|| Arc::new(Project { one_prompt, ..(self.find)() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the workers of a moment that are wanted and do not run.
    fn start(&self, moment: Moment, pace: &Arc<Pace>) {
        let project = self.project();
        let mut state = self.state();
        state.running.retain(|(_, thread)| !thread.is_finished());
        for task in self.tasks.iter().filter(|task| task.moment == moment) {
            let runs = state.running.iter().any(|(name, _)| *name == task.worker.name);
            if runs || !(task.wanted)(project) {
                continue;
            }
            let (due, run) = (task.due, task.run);
            let (looking, working, pace) = (project.clone(), project.clone(), pace.clone());
            let spawned = self.workers.spawn_if_due(
                task.worker,
                move || due(&looking).then_some(()),
                move |()| run(&working, &pace),
            );
            // Without a thread the work waits for the next turn.
            if let Ok(Some(thread)) = spawned {
                state.running.push((task.worker.name, thread));
            }
        }
    }
}

impl Background for ProjectWorkers {
    fn session_began(&self) {
        self.state().sessions += 1;
        self.pace.begin();
    }

    fn turn_began(&self) {
        self.pace.turn_began();
    }

    fn turn_ended(&self) {
        let idle = self.pace.turn_ended();
        self.state().had_turn = true;
        if idle {
            self.start(Moment::AfterTurn, &self.pace);
        }
    }

    fn session_ended(&self) {
        let had_turn = {
            let mut state = self.state();
            state.sessions = state.sessions.saturating_sub(1);
            if state.sessions > 0 {
                return;
            }
            std::mem::take(&mut state.had_turn)
        };
        let begun = Instant::now();
        self.pace.end();
        let last = Arc::new(Pace::default());
        if had_turn {
            self.start(Moment::AtEnd, &last);
        }
        let mut running = std::mem::take(&mut self.state().running);
        while !running.is_empty() && begun.elapsed() < GRACE {
            if begun.elapsed() >= LAST_CALL {
                last.end();
            }
            std::thread::sleep(LOOK);
            running.retain(|(_, thread)| !thread.is_finished());
        }
        last.end();
    }
}

#[cfg(test)]
mod tests;
