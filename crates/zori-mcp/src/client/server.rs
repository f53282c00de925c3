//! The life of one server: it connects, lists its tools, lists them again when it says so, is started again when it ends, and is
//! ended (MCP-30 to MCP-36).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use zori_core::BoxFuture;
use zori_core::server_recording::ServerRecording;
use zori_core::tool::AskUser;

use super::audit::ServerRecord;
use super::config::{ServerConfig, Trust, Way};
use super::elicitation;
use super::handshake::{self, Opening, ServerFacts, ToolList};
use super::log::ServerLog;
use super::oauth::bearer::Bearer;
use super::peer::{Peer, RpcFailure, ServerMessage};
use super::prompt::{self, ListedPrompt};
use super::recording::ConnectionRecorder;
use super::resource::{self, ListedResource};
use super::servers::Shared;
use super::stdio;
use super::store::CachedList;
use super::subscription;
use super::tool_list::ListedTool;

/// So long after the last notice the tools are listed again.
const RELIST_AFTER: Duration = Duration::from_millis(250);
/// So long the first lists wait for a server to say that it tells of changes.
const SUBSCRIBED: Duration = Duration::from_secs(1);
/// How long is waited before a server that ended is started again.
const RESTARTS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// A server that has served for so long is started again as often as at first.
const STEADY: Duration = Duration::from_secs(60);

/// How a server fares (MCP-32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is being connected to.
    Pending,
    /// It answers.
    Connected,
    /// It does not.
    Failed,
    /// It wants a login.
    NeedsAuth,
    /// It is not used.
    Disabled,
}

impl Status {
    /// Returns the word people and clients read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::NeedsAuth => "needs-auth",
            Self::Disabled => "disabled",
        }
    }
}

/// What is known of a server at a moment.
#[derive(Clone)]
pub struct ServerState {
    /// How it fares.
    pub status: Status,
    /// Why, where it does not answer.
    pub reason: Option<String>,
    /// Its tools, those that count; also those of the last time.
    pub tools: Arc<[ListedTool]>,
    /// Its resources; also those of the last time.
    pub resources: Arc<[ListedResource]>,
    /// Its prompts; also those of the last time.
    pub prompts: Arc<[ListedPrompt]>,
    /// Whether its tools are known, now or from the last time.
    pub listed: bool,
    /// What it says of itself.
    pub facts: ServerFacts,
    pub(super) peer: Option<Arc<Peer>>,
}

/// What a server is told to do.
pub(super) enum Order {
    Reconnect,
    Enable(bool),
    Stop,
}

pub struct Server {
    /// What somebody wrote of it.
    pub config: ServerConfig,
    pub(super) identity: String,
    pub(super) state: watch::Sender<ServerState>,
    pub(super) orders: mpsc::UnboundedSender<Order>,
    /// The login to it, where one can log in.
    pub(super) bearer: Option<Arc<Bearer>>,
    /// Who can be asked while calls run, the latest last.
    pub(super) askers: Mutex<Vec<Arc<dyn AskUser>>>,
    /// Whether its tools were not listed one by one when they were last offered.
    pub(super) deferred: AtomicBool,
}

impl Server {
    /// Makes a server that nobody has contacted. What is known of its tools from the last time counts.
    pub(super) fn new(config: ServerConfig, shared: &Shared) -> (Arc<Self>, mpsc::UnboundedReceiver<Order>) {
        let identity = config.identity();
        // What a recording depends on is in it.
        let counts = config.enabled && config.broken.is_none() && !shared.has_recording(&config);
        let kept = counts.then(|| shared.lists.get(&identity)).flatten();
        let listed = kept.is_some();
        let CachedList { tools, instructions, resources, prompts, .. } = kept.unwrap_or_default();
        let state = ServerState {
            status: Status::Pending,
            reason: None,
            tools: tools.into_iter().filter(|tool| config.takes(&tool.name)).collect(),
            resources: resources.into(),
            prompts: prompts.into(),
            listed,
            facts: ServerFacts { info: Value::Null, instructions, completes: false },
            peer: None,
        };
        let (orders, taken) = mpsc::unbounded_channel();
        let parts = shared.parts.login.clone();
        let bearer = parts.and_then(|parts| Bearer::of(&config, shared.known.clone(), parts)).map(Arc::new);
        let state = watch::Sender::new(state);
        let (askers, deferred) = (Mutex::default(), AtomicBool::new(false));
        let server = Self { config, identity, state, orders, bearer, askers, deferred };
        (Arc::new(server), taken)
    }

    /// Returns whether two tools stand for its own (MCP-43).
    pub fn is_deferred(&self) -> bool {
        self.deferred.load(Ordering::Relaxed)
    }

    /// Returns the login to it; `None` where one cannot log in.
    pub fn bearer(&self) -> Option<&Arc<Bearer>> {
        self.bearer.as_ref()
    }

    /// Returns the greeting that it is likely to understand (MCP-22).
    fn opening(&self, shared: &Shared) -> Opening {
        match &self.config.way {
            Way::Stdio { .. } | Way::Http { sse: true, .. } => Opening::Initialize,
            Way::Http { .. } if shared.has_recording(&self.config) => Opening::Discover,
            Way::Http { .. } => shared.known.get(&self.identity).opening.unwrap_or(Opening::Discover),
        }
    }

    /// Returns what is known of it now.
    pub fn now(&self) -> ServerState {
        self.state.borrow().clone()
    }

    fn set(&self, status: Status, reason: Option<String>) {
        self.state.send_modify(|state| {
            state.status = status;
            state.reason = reason;
            if status != Status::Connected {
                state.peer = None;
            }
        });
    }

    /// Says that it will never be connected to.
    pub(super) fn cannot_live(&self, why: String) {
        self.set(Status::Failed, Some(why));
    }

    /// Waits until it is connected, or known not to be. An error says why it is not.
    pub(super) async fn connected(&self) -> Result<Arc<Peer>, String> {
        let mut state = self.state.subscribe();
        // A connection whose end is not known yet is none: what comes of it is known in a moment.
        let settled = |state: &ServerState| {
            let ending = state.peer.as_ref().is_some_and(|peer| peer.is_closed());
            state.status != Status::Pending && !ending
        };
        let known = state.wait_for(settled).await;
        let known = known.map_err(|_| "it was stopped".to_owned())?;
        match (&known.peer, known.status) {
            (Some(peer), Status::Connected) => Ok(peer.clone()),
            (_, status) => Err(match &known.reason {
                Some(why) => format!("it is {}: {why}", status.as_str()),
                None => format!("it is {}", status.as_str()),
            }),
        }
    }
}

/// A connection under way.
struct Connection {
    peer: Arc<Peer>,
    heard: mpsc::UnboundedReceiver<ServerMessage>,
    carried: JoinHandle<()>,
    stop: watch::Sender<bool>,
}

impl Connection {
    /// Ends it, and waits until its program was asked to end.
    async fn end(self) {
        self.stop.send_replace(true);
        let _ = self.carried.await;
    }
}

/// Hears of changes until it is dropped.
struct Listening {
    /// What it hears of.
    wanted: Value,
    task: JoinHandle<()>,
}

impl Listening {
    fn new(peer: &Arc<Peer>, wanted: Value) -> Self {
        let task = tokio::spawn(subscription::listen(peer.clone(), wanted.clone()));
        Self { wanted, task }
    }

    /// Waits until the server tells of changes, for a moment. Returns whether it does.
    async fn stands(&mut self, peer: &Peer) -> bool {
        tokio::select! {
            biased;
            () = peer.subscribed() => true,
            // It cannot, or does not say so.
            _ = &mut self.task => false,
            () = tokio::time::sleep(SUBSCRIBED) => false,
        }
    }

    /// Returns what may have changed while it heard nothing.
    fn missed(&self) -> Changes {
        let heard = |field: &str| self.wanted[field] == true;
        Changes {
            tools: heard("toolsListChanged"),
            resources: heard("resourcesListChanged"),
            prompts: heard("promptsListChanged"),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a server listed again; `None` where it did not.
type Relisted = Option<CachedList>;

/// What becomes of a server next.
enum Next {
    Again,
    Restart(String),
    Rest,
    End,
}

/// Lives until it is told to stop.
pub(super) async fn live(
    server: Arc<Server>,
    shared: Arc<Shared>,
    mut orders: mpsc::UnboundedReceiver<Order>,
) {
    let log = ServerLog::new(shared.parts.logs.as_deref(), &server.config.name, shared.parts.redact.clone());
    let (mut enabled, mut restarts) = (server.config.enabled, 0);
    loop {
        let next = match (enabled, &server.config.broken) {
            (false, _) => {
                server.set(Status::Disabled, None);
                Next::Rest
            }
            (true, Some(why)) => {
                server.set(Status::Failed, Some(why.clone()));
                Next::Rest
            }
            (true, None) => {
                server.set(Status::Pending, None);
                one_life(&server, &shared, &log, &mut orders, &mut enabled, &mut restarts).await
            }
        };
        match next {
            Next::End => return,
            Next::Again => restarts = 0,
            Next::Rest => match orders.recv().await {
                None | Some(Order::Stop) => return,
                Some(Order::Reconnect) => (enabled, restarts) = (true, 0),
                Some(Order::Enable(on)) => (enabled, restarts) = (on, 0),
            },
            Next::Restart(why) => {
                let Some(pause) = RESTARTS.get(restarts) else {
                    server.set(Status::Failed, Some(why));
                    restarts = 0;
                    match orders.recv().await {
                        None | Some(Order::Stop) => return,
                        Some(Order::Reconnect) => enabled = true,
                        Some(Order::Enable(on)) => enabled = on,
                    }
                    continue;
                };
                restarts += 1;
                server.set(Status::Pending, Some(why));
                tokio::select! {
                    () = tokio::time::sleep(*pause) => {}
                    order = orders.recv() => match order {
                        None | Some(Order::Stop) => return,
                        Some(Order::Reconnect) => enabled = true,
                        Some(Order::Enable(on)) => enabled = on,
                    },
                }
            }
        }
    }
}

/// Connects once, and stays until that ends.
async fn one_life(
    server: &Arc<Server>,
    shared: &Arc<Shared>,
    log: &ServerLog,
    orders: &mut mpsc::UnboundedReceiver<Order>,
    enabled: &mut bool,
    restarts: &mut usize,
) -> Next {
    let mut connection = match open(server, shared, log) {
        Ok(connection) => connection,
        Err(why) => {
            server.set(Status::Failed, Some(why));
            return Next::Rest;
        }
    };
    let limit = server.config.start_timeout;
    let over_http = matches!(server.config.way, Way::Http { .. });
    let greeting = async {
        let opening = server.opening(shared);
        let greeting = handshake::greet(&connection.peer, shared.parts.version, opening).await?;
        // Before the lists are asked for, so that what changes meanwhile is heard.
        let mut listening =
            subscription::wanted(&greeting).map(|wanted| Listening::new(&connection.peer, wanted));
        let stands = match &mut listening {
            Some(listening) => listening.stands(&connection.peer).await,
            None => false,
        };
        if over_http && !shared.is_replayed(&server.config) {
            shared.known.change(&server.identity, |known| known.opening = Some(greeting.opening));
        }
        let (listed, resources, prompts) = tokio::join!(
            handshake::list_tools(&connection.peer, over_http),
            list_if(greeting.capabilities["resources"].is_object(), resource::list(&connection.peer)),
            list_if(greeting.capabilities["prompts"].is_object(), prompt::list(&connection.peer)),
        );
        let ToolList { tools, left_out, ttl_ms } = listed?;
        let instructions = greeting.facts.instructions.clone();
        let list = CachedList { tools, ttl_ms, instructions, resources, prompts };
        Ok::<_, RpcFailure>((greeting.facts, list, left_out, listening, stands))
    };
    let greeted = tokio::select! {
        greeted = tokio::time::timeout(limit, greeting) => greeted,
        order = orders.recv() => {
            connection.end().await;
            shared.record(&server.config.name, "end", "stopped");
            return obeyed(order, enabled);
        }
    };
    let (facts, list, left_out, listening, mut stands) = match greeted {
        Ok(Ok(greeted)) => greeted,
        failed => {
            let (status, why) = match failed {
                Ok(Err(RpcFailure::NeedsAuth(why))) => (Status::NeedsAuth, why),
                Ok(Err(failure)) => (Status::Failed, failure.words()),
                _ => (Status::Failed, format!("no answer within {} seconds", limit.as_secs())),
            };
            connection.end().await;
            shared.record(&server.config.name, "end", status.as_str());
            server.set(status, Some(why.clone()));
            return if *restarts > 0 && status == Status::Failed { Next::Restart(why) } else { Next::Rest };
        }
    };
    left_out.iter().for_each(|why| log.line(&format!("left out: {why}")));
    let mut list = list;
    keep(server, shared, list.clone(), facts, Some(&connection.peer));
    let mut changed = Changes::default();
    let (mut relist, connected): (Option<Instant>, _) = (None, Instant::now());
    let mut listing: Option<BoxFuture<'static, Relisted>> = None;
    let next = loop {
        tokio::select! {
            biased;
            order = orders.recv() => break obeyed(order, enabled),
            why = connection.peer.closed() => {
                // One that has served for a while begins anew.
                if connected.elapsed() > STEADY {
                    *restarts = 0;
                }
                break Next::Restart(why.words());
            }
            Some(said) = connection.heard.recv() => match said {
                said @ (ServerMessage::ToolsChanged | ServerMessage::ResourcesChanged | ServerMessage::PromptsChanged) => {
                    changed.note(&said);
                    relist = Some(Instant::now() + RELIST_AFTER);
                }
                // What was said while nobody listened is lost; the first time it stood before anything was listed.
                ServerMessage::Subscribed => if let Some(listening) = listening.as_ref().filter(|_| !std::mem::take(&mut stands)) {
                    changed = listening.missed();
                    relist = Some(Instant::now() + RELIST_AFTER);
                },
                ServerMessage::Log(line) => log.line(&line),
                ServerMessage::Elicit { id, params } => {
                    elicitation::page(&server.config, &params).iter().for_each(|why| log.line(why));
                    elicit(server, shared, &connection.peer, id, params);
                }
            },
            () = tokio::time::sleep_until(relist.unwrap_or_else(Instant::now)), if relist.is_some() && listing.is_none() => {
                relist = None;
                let peer = connection.peer.clone();
                let (noted, mut again) = (std::mem::take(&mut changed), list.clone());
                // Beside everything else: a server that does not answer can still be stopped.
                listing = Some(Box::pin(async move {
                    let listed = noted.listed(&peer, over_http, &mut again);
                    tokio::time::timeout(limit, listed).await.ok()?.ok()?;
                    Some(again)
                }));
            }
            listed = async { listing.as_mut().expect("it is looked at only if there is one").await }, if listing.is_some() => {
                listing = None;
                if let Some(again) = listed {
                    list = again;
                    let facts = server.now().facts;
                    keep(server, shared, list.clone(), facts, Some(&connection.peer));
                }
            }
        }
    };
    connection.end().await;
    let by = if matches!(next, Next::Restart(_)) { "by itself" } else { "stopped" };
    shared.record(&server.config.name, "end", by);
    next
}

fn obeyed(order: Option<Order>, enabled: &mut bool) -> Next {
    match order {
        None | Some(Order::Stop) => Next::End,
        Some(Order::Reconnect) => {
            *enabled = true;
            Next::Again
        }
        Some(Order::Enable(on)) => {
            *enabled = on;
            Next::Again
        }
    }
}

/// What a server said to be others.
#[derive(Default)]
struct Changes {
    tools: bool,
    resources: bool,
    prompts: bool,
}

impl Changes {
    fn note(&mut self, said: &ServerMessage) {
        match said {
            ServerMessage::ResourcesChanged => self.resources = true,
            ServerMessage::PromptsChanged => self.prompts = true,
            _ => self.tools = true,
        }
    }

    /// Lists what has changed again.
    async fn listed(
        &self,
        peer: &Arc<Peer>,
        over_http: bool,
        list: &mut CachedList,
    ) -> Result<(), RpcFailure> {
        if self.tools {
            let listed = handshake::list_tools(peer, over_http).await?;
            (list.tools, list.ttl_ms) = (listed.tools, listed.ttl_ms);
        }
        if self.resources {
            list.resources = resource::list(peer).await;
        }
        if self.prompts {
            list.prompts = prompt::list(peer).await;
        }
        Ok(())
    }
}

async fn list_if<T>(wanted: bool, list: impl Future<Output = Vec<T>>) -> Vec<T> {
    if wanted { list.await } else { Vec::new() }
}

/// Takes over what a server has, and keeps it for the next time.
fn keep(server: &Server, shared: &Shared, list: CachedList, facts: ServerFacts, peer: Option<&Arc<Peer>>) {
    if !shared.is_replayed(&server.config) {
        shared.lists.keep(&server.identity, list.clone());
    }
    let CachedList { tools, resources, prompts, .. } = list;
    let tools: Arc<[ListedTool]> = tools.into_iter().filter(|tool| server.config.takes(&tool.name)).collect();
    server.state.send_modify(|state| {
        *state = ServerState {
            status: Status::Connected,
            reason: None,
            tools,
            resources: resources.into(),
            prompts: prompts.into(),
            listed: true,
            facts,
            peer: peer.cloned(),
        };
    });
}

/// Starts the program of a server, or the way to it.
fn open(server: &Arc<Server>, shared: &Arc<Shared>, log: &ServerLog) -> Result<Connection, String> {
    let config = &server.config;
    let may_elicit =
        config.elicitation && config.trust != Trust::Sandboxed && shared.parts.elicits.somebody(config);
    let begun = format!("{}, {}", config.source.as_str(), config.kind());
    (shared.parts.audit)(&ServerRecord { server: &config.name, action: "start", summary: &begun })?;
    let (stop, stopped) = watch::channel(false);
    let recorder = match (&config.way, &shared.parts.recording) {
        (Way::Http { .. }, ServerRecording::Recording(recording)) => {
            Some(ConnectionRecorder::new(recording.clone(), &config.name))
        }
        _ => None,
    };
    let (peer, queue, heard) = Peer::new(may_elicit, recorder);
    let carried = match (&config.way, &shared.parts.recording) {
        (Way::Stdio { .. }, _) => {
            let launched = shared.parts.launch.launch(config)?;
            tokio::spawn(stdio::carry(launched, peer.clone(), queue, log.clone(), stopped))
        }
        (Way::Http { .. }, ServerRecording::Replaying(recording)) => {
            let played = recording.connect(&config.name).ok_or("the recording has nothing more of it")?;
            tokio::spawn(super::recording::play(played, peer.clone(), queue, stopped))
        }
        (Way::Http { .. }, _) => {
            let transport = shared.parts.transport.clone().ok_or("there is no network here")?;
            let carrier = super::http::Carrier::new(transport, config, server.bearer.clone())?;
            tokio::spawn(super::http::carry(carrier, peer.clone(), queue, stopped))
        }
    };
    Ok(Connection { peer, heard, carried, stop })
}

/// Answers a form of the server's, beside everything else.
fn elicit(server: &Arc<Server>, shared: &Arc<Shared>, peer: &Arc<Peer>, id: Value, params: Value) {
    let (server, shared, peer) = (server.clone(), shared.clone(), peer.clone());
    tokio::spawn(async move { peer.answer(&id, answer_form(&server, &shared, &params).await) });
}

/// Answers a form of the server's.
pub(super) async fn answer_form(server: &Server, shared: &Shared, params: &Value) -> Value {
    // One form at a time, over all servers.
    let _turn = shared.forms.lock().await;
    let _open = shared.form_clock.open();
    let asker = server.askers.lock().unwrap_or_else(PoisonError::into_inner).last().cloned();
    let answer = elicitation::answer(&server.config, &shared.parts.elicits, asker, params).await;
    let warned = if answer.meta.is_some() { ", warned" } else { "" };
    shared.record(&server.config.name, "form", &format!("{}{warned}", answer.action));
    serde_json::to_value(answer).unwrap_or_else(|_| json!({"action": "cancel"}))
}
