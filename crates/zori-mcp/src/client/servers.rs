//! All servers of a session or a run, on one thread of their own: they connect beside everything else, and none outlives it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use zori_core::server_recording::ServerRecording;
use zori_core::time::Clock;
use zori_core::transport::Transport;

use super::audit::{ServerAudit, ServerRecord};
use super::config::{ServerConfig, Way};
use super::content::PrivateFiles;
use super::elicitation::Elicits;
use super::form_clock::FormClock;
use super::known::KnownServers;
use super::log::Redact;
use super::oauth::bearer::LoginParts;
use super::pins::{PinStore, PinnedTool};
use super::server::{self, Order, Server, Status};
use super::stdio::Launch;
use super::store::ListStore;

/// After so long somebody is told for whom the first request waits.
const PATIENCE: Duration = Duration::from_millis(500);

/// What the servers need of the program.
pub struct McpParts {
    /// Starts programs, and ends them.
    pub launch: Arc<dyn Launch>,
    /// The way to servers over HTTP. It must not be shared with another thread's runtime.
    pub transport: Option<Arc<dyn Transport>>,
    /// Where lists and approvals are kept; `None` keeps nothing.
    pub folder: Option<PathBuf>,
    /// Where logs go; `None` keeps none.
    pub logs: Option<PathBuf>,
    /// Where results go that do not fit a conversation: a folder that need not exist.
    pub files: PathBuf,
    /// Takes secrets out of logs.
    pub redact: Redact,
    /// Writes down what becomes of servers.
    pub audit: ServerAudit,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// The version that servers are told.
    pub version: &'static str,
    /// Who answers the forms of servers.
    pub elicits: Elicits,
    /// Where logins are kept; `None` where nobody can log in.
    pub login: Option<LoginParts>,
    /// So many bytes of tools are listed one by one.
    pub budget: usize,
    /// So long the first request waits for servers whose tools are not known.
    pub first_wait: Duration,
    /// Whether servers over HTTP are recorded, or played.
    pub recording: ServerRecording,
}

/// What all servers share.
pub(super) struct Shared {
    pub(super) parts: McpParts,
    pub(super) lists: ListStore,
    pub(super) pins: PinStore,
    pub(super) known: KnownServers,
    pub(super) files: PrivateFiles,
    /// Held while a form is open.
    pub(super) forms: tokio::sync::Mutex<()>,
    /// How long forms were open.
    pub(super) form_clock: FormClock,
    /// What was warned of already.
    warned: Mutex<BTreeSet<String>>,
}

impl Shared {
    /// Writes something down of a server that has happened; where it cannot be, nothing can be done about it any more.
    pub(super) fn record(&self, server: &str, action: &'static str, summary: &str) {
        let _ = (self.parts.audit)(&ServerRecord { server, action, summary });
    }

    /// Returns whether what a server says is in a recording, or comes from one: nothing else may count then.
    pub(super) fn has_recording(&self, server: &ServerConfig) -> bool {
        matches!(server.way, Way::Http { .. }) && !matches!(self.parts.recording, ServerRecording::Off)
    }

    /// Returns whether a recording speaks for a server: what it says is kept nowhere, and approves nothing.
    pub(super) fn is_replayed(&self, server: &ServerConfig) -> bool {
        matches!(server.way, Way::Http { .. })
            && matches!(self.parts.recording, ServerRecording::Replaying(_))
    }

    /// Returns whether nobody was warned of this yet.
    pub(super) fn warns_first(&self, warning: &str) -> bool {
        self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(warning.to_owned())
    }
}

/// A server that is to live.
type Birth = (Arc<Server>, mpsc::UnboundedReceiver<Order>);

/// The servers. Dropped, it ends them all and waits for that.
pub struct McpServers {
    pub(super) shared: Arc<Shared>,
    servers: Mutex<Vec<Arc<Server>>>,
    thread: Mutex<ServerThread>,
}

/// The thread that servers live on.
enum ServerThread {
    /// There was no server yet.
    Unborn,
    /// It runs, and more may come.
    Runs(mpsc::UnboundedSender<Birth>, std::thread::JoinHandle<()>),
    /// There will be no more.
    Over,
}

/// Why a run cannot begin: a server that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredFailure {
    pub server: String,
    /// Why it is not there.
    pub why: String,
    /// Whether a login is missing.
    pub login: bool,
}

/// What came of a change of the servers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Those that are new, or new of their name.
    pub added: Vec<String>,
    /// Those that are gone.
    pub removed: Vec<String>,
}

impl McpServers {
    /// Starts connecting to all of them, and returns at once. Without a server there is no thread either.
    pub fn start(configs: Vec<ServerConfig>, parts: McpParts) -> Arc<Self> {
        let lists = ListStore::new(parts.folder.clone(), parts.clock.clone());
        let pins = PinStore::new(parts.folder.clone());
        let files = PrivateFiles::new(parts.files.clone());
        let known = KnownServers::new(parts.folder.clone());
        let (forms, warned) = (tokio::sync::Mutex::new(()), Mutex::default());
        let form_clock = FormClock::default();
        let shared = Arc::new(Shared { parts, lists, pins, known, files, forms, form_clock, warned });
        let servers = Self { shared, servers: Mutex::default(), thread: Mutex::new(ServerThread::Unborn) };
        configs.into_iter().for_each(|config| servers.add(config));
        Arc::new(servers)
    }

    fn add(&self, config: ServerConfig) {
        let (server, orders) = Server::new(config, &self.shared);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*thread, ServerThread::Unborn) {
            match spawn(&self.shared) {
                Ok((births, handle)) => *thread = ServerThread::Runs(births, handle),
                Err(error) => server.cannot_live(format!("there is no thread for it: {error}")),
            }
        }
        if let ServerThread::Runs(births, _) = &*thread {
            let _ = births.send((server.clone(), orders));
        }
        drop(thread);
        let mut servers = self.lock();
        servers.push(server);
        servers.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    }

    /// Returns the servers, by name.
    pub fn all(&self) -> Vec<Arc<Server>> {
        self.lock().clone()
    }

    /// Returns one server.
    pub fn named(&self, name: &str) -> Option<Arc<Server>> {
        self.lock().iter().find(|server| server.config.name == name).cloned()
    }

    /// Connects to a server again. Returns whether there is one of that name.
    pub fn reconnect(&self, name: &str) -> bool {
        self.order(name, Order::Reconnect)
    }

    /// Uses a server, or does not.
    pub fn enable(&self, name: &str, on: bool) -> bool {
        self.order(name, Order::Enable(on))
    }

    fn order(&self, name: &str, order: Order) -> bool {
        let Some(server) = self.named(name) else { return false };
        // Whoever looks at once should not see what was.
        if matches!(order, Order::Reconnect | Order::Enable(true)) {
            server.bearer.iter().for_each(|bearer| bearer.look_again());
            server.state.send_modify(|state| {
                (state.status, state.reason, state.peer) = (Status::Pending, None, None);
            });
        }
        server.orders.send(order).is_ok()
    }

    /// Forgets the login to a server, and connects to it without. Returns whether there was one; `None` without such a server.
    pub fn log_out(&self, name: &str) -> Option<Result<bool, String>> {
        let server = self.named(name)?;
        let forgotten = server.bearer.as_ref().map_or(Ok(false), |bearer| bearer.forget());
        if forgotten == Ok(true) {
            self.shared.record(name, "logout", "");
            self.reconnect(name);
        }
        Some(forgotten)
    }

    /// Returns how the tools of a server compare with those that were approved, by name (MCP-42).
    pub fn pins(&self, server: &Server) -> Vec<PinnedTool> {
        self.shared.pins.compare(&server.identity, &server.now().tools)
    }

    /// Has these servers of a client and no others of its own.
    pub fn replace(&self, is_own: impl Fn(&ServerConfig) -> bool, wanted: Vec<ServerConfig>) -> Changed {
        let mut changed = Changed::default();
        let gone: Vec<Arc<Server>> = {
            let mut servers = self.lock();
            let goes = |server: &mut Arc<Server>| {
                let config = &server.config;
                let other = wanted.iter().find(|wanted| wanted.name == config.name);
                other.map_or_else(|| is_own(config), |wanted| wanted != config)
            };
            servers.extract_if(.., goes).collect()
        };
        for server in gone {
            let _ = server.orders.send(Order::Stop);
            changed.removed.push(server.config.name.clone());
        }
        for config in wanted {
            if self.named(&config.name).is_none() {
                changed.added.push(config.name.clone());
                self.add(config);
            }
        }
        changed.removed.retain(|name| !changed.added.contains(name));
        changed
    }

    /// Waits for servers whose tools are not known, as long as the first request may wait. `waiting` is told for whom, once, if it
    /// takes long.
    pub async fn first_wait(&self, waiting: impl FnOnce(&[String])) {
        let limit = self.shared.parts.first_wait;
        let known = async {
            for server in self.all() {
                let mut state = server.state.subscribe();
                let _ = state.wait_for(|state| state.listed || state.status != Status::Pending).await;
            }
        };
        let mut known = std::pin::pin!(known);
        if tokio::time::timeout(PATIENCE.min(limit), &mut known).await.is_ok() || limit <= PATIENCE {
            return;
        }
        let names: Vec<String> = self
            .all()
            .iter()
            .filter(|server| {
                let now = server.now();
                !now.listed && now.status == Status::Pending
            })
            .map(|server| server.config.name.clone())
            .collect();
        waiting(&names);
        let _ = tokio::time::timeout(limit - PATIENCE, known).await;
    }

    /// Waits for one server, up to its start limit.
    pub async fn settled(&self, server: &Server) {
        let mut state = server.state.subscribe();
        let limit = server.config.start_timeout + Duration::from_secs(1);
        let _ = tokio::time::timeout(limit, state.wait_for(|state| state.status != Status::Pending)).await;
    }

    /// Waits for these servers, each up to its start limit, and returns those that cannot be used, with why.
    pub async fn settle(&self, names: &[String]) -> Vec<(String, String)> {
        let mut failed = Vec::new();
        for server in names.iter().filter_map(|name| self.named(name)) {
            self.settled(&server).await;
            let now = server.now();
            if matches!(now.status, Status::Failed | Status::NeedsAuth | Status::Pending) {
                let why = now.reason.unwrap_or_else(|| format!("it is {}", now.status.as_str()));
                failed.push((server.config.name.clone(), why));
            }
        }
        failed
    }

    /// Waits for the servers that a run needs. Blocks; without such a server it returns at once.
    pub fn require(&self) -> Result<(), RequiredFailure> {
        let needed: Vec<_> = self.all().into_iter().filter(|server| server.config.required).collect();
        if needed.is_empty() {
            return Ok(());
        }
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else {
            return Ok(());
        };
        for server in needed {
            runtime.block_on(self.settled(&server));
            let now = server.now();
            if now.status != Status::Connected {
                let why = now.reason.unwrap_or_else(|| format!("it is {}", now.status.as_str()));
                let login = now.status == Status::NeedsAuth;
                return Err(RequiredFailure { server: server.config.name.clone(), why, login });
            }
        }
        Ok(())
    }

    /// Ends them all, and waits until the last process is gone: two seconds and a little at most.
    pub fn shutdown(&self) {
        let thread = {
            let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *thread, ServerThread::Over)
        };
        for server in self.lock().drain(..) {
            let _ = server.orders.send(Order::Stop);
        }
        if let ServerThread::Runs(births, handle) = thread {
            drop(births);
            let _ = handle.join();
        }
        self.shared.files.remove();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Server>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for McpServers {
    fn drop(&mut self) {
        self.shutdown();
    }
}

/// Starts the thread that servers live on.
fn spawn(
    shared: &Arc<Shared>,
) -> std::io::Result<(mpsc::UnboundedSender<Birth>, std::thread::JoinHandle<()>)> {
    let (births, born) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let shared = shared.clone();
    let handle = std::thread::Builder::new().name("zori-mcp".into()).spawn(move || {
        runtime.block_on(attend(born, &shared));
        shared.parts.launch.shutdown();
        runtime.shutdown_background();
    })?;
    Ok((births, handle))
}

/// Lets servers live until no more come and all were told to stop.
async fn attend(mut born: mpsc::UnboundedReceiver<Birth>, shared: &Arc<Shared>) {
    let mut lives = JoinSet::new();
    while let Some((server, orders)) = born.recv().await {
        lives.spawn(server::live(server, shared.clone(), orders));
    }
    while lives.join_next().await.is_some() {}
}
