//! The MCP servers of a folder's sessions: started with the host, ended with it, and offered to each session at its first prompt.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use zori_core::BoxFuture;
use zori_core::confine::{Confine, Holding, ServiceAccess, ServiceNetwork};
use zori_core::event::NoticeLevel;
use zori_core::server_recording::ServerRecording;
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};
use zori_engine::engine::Engine;
use zori_engine::system::SystemClock;
use zori_frontends::Fanout;
use zori_mcp::client::oauth::bearer::LoginParts;
use zori_mcp::client::{
    Elicits, Forms, Launch, Launched, McpParts, McpServers, Program, Server, ServerConfig, Source, Status,
    Trust, Way,
};
use zori_redact::Redactor;
use zori_tools::process::Processes;
use zori_tools::process::service::{Service, ServiceStart};
use zori_tools::process::spawn::Confinement;
use zori_tools::toolset::{ExternalTool, ToolSet};

use crate::audit::{self, AuditSettings};
use crate::peer::Answers;
use crate::settings::{SessionSettings, WorkspaceSettings};

/// The tools of all servers are listed one by one up to so many bytes.
pub const TOOLS_BUDGET: usize = 8192;
/// What every server inherits of the environment.
const INHERITED: &[&str] = &["PATH", "HOME", "LANG"];

/// Returns a variable of the environment.
pub type Environment = Arc<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// Makes a way to servers over HTTP, if there is one.
pub type TransportMaker = Arc<dyn Fn() -> Option<Arc<dyn Transport>> + Send + Sync>;

/// The MCP servers, and what they need.
#[derive(Clone)]
pub struct McpSettings {
    /// The servers; with none, nothing is started.
    pub servers: Vec<ServerConfig>,
    /// Where lists, approvals and logs are kept: the base directory, if there is one.
    pub base: Option<PathBuf>,
    /// What servers may inherit.
    pub environment: Environment,
    /// Makes the way to servers over HTTP, for them alone.
    pub transport: TransportMaker,
    /// The version that servers are told.
    pub version: &'static str,
    /// So many bytes of tools are listed one by one.
    pub budget: usize,
    /// So long the first request waits for servers whose tools are not known.
    pub first_wait: Duration,
    /// Where logins to servers are kept; `None` where nobody can log in.
    pub login: Option<LoginParts>,
    /// Who fills forms of servers in, if not whoever answers questions about calls.
    pub forms: FormAnswers,
    /// Whether a client may bring servers while the session runs.
    pub grows: bool,
    /// Whether servers over HTTP are recorded, or a recording speaks for them.
    pub recording: ServerRecording,
}

/// Who fills in the forms of servers.
#[derive(Clone)]
pub enum FormAnswers {
    /// Whoever answers questions about calls.
    AsCalls,
    /// Whoever answers questions about a call, which is known when it runs.
    PerCall,
    /// A client that shows whole forms.
    Client(Arc<dyn Forms>),
    /// Nobody but configured answers.
    Nobody,
}

impl fmt::Debug for McpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.servers.iter().map(|server| &server.name).collect();
        f.debug_struct("McpSettings").field("servers", &names).finish_non_exhaustive()
    }
}

impl McpSettings {
    /// No server.
    pub fn none() -> Self {
        Self {
            servers: Vec::new(),
            base: None,
            environment: Arc::new(|_| None),
            transport: Arc::new(|| None),
            version: "",
            budget: TOOLS_BUDGET,
            first_wait: Duration::from_secs(10),
            login: None,
            forms: FormAnswers::AsCalls,
            grows: false,
            recording: ServerRecording::Off,
        }
    }
}

/// Starts connecting to the servers of the settings; `None` if there are none. An error costs the servers and not the session.
pub(crate) fn start(
    settings: &SessionSettings,
    confine: Option<Arc<dyn Confine>>,
) -> Option<Arc<McpServers>> {
    let elicits = match (settings.permission.answers, &settings.mcp.forms) {
        (Answers::Yes, _) => Elicits::Yes,
        (_, FormAnswers::Client(client)) => Elicits::Client(client.clone()),
        (_, FormAnswers::PerCall) | (Answers::Person | Answers::Client, FormAnswers::AsCalls) => {
            Elicits::Somebody
        }
        _ => Elicits::Nobody,
    };
    let redactor = Redactor::new(settings.model.secrets.clone());
    start_servers(&settings.mcp, &settings.workspace, redactor, elicits, confine, &settings.audit)
}

/// Does the same without a session.
pub fn start_servers(
    mcp: &McpSettings,
    workspace: &WorkspaceSettings,
    redactor: Redactor,
    elicits: Elicits,
    confine: Option<Arc<dyn Confine>>,
    audit: &AuditSettings,
) -> Option<Arc<McpServers>> {
    if mcp.servers.is_empty() && !mcp.grows {
        return None;
    }
    let transport = LateTransport { make: mcp.transport.clone(), made: OnceLock::new() };
    let temp = workspace.temp.clone();
    let launch = Launcher {
        processes: Processes::new(temp.clone()),
        root: workspace.root.clone(),
        environment: mcp.environment.clone(),
        confine,
    };
    let own = format!("zori-mcp-{}-{:016x}", std::process::id(), crate::random_number());
    let parts = McpParts {
        launch: Arc::new(launch),
        transport: Some(Arc::new(transport)),
        folder: mcp.base.as_ref().map(|base| base.join("mcp")),
        logs: mcp.base.as_ref().map(|base| base.join("logs").join("mcp")),
        files: temp.join(own),
        audit: audit::of_servers(audit, redactor.clone()),
        clock: Arc::new(SystemClock::new()),
        redact: Arc::new(move |text| redactor.redact(text).into_owned()),
        version: mcp.version,
        elicits,
        login: mcp.login.clone(),
        budget: mcp.budget,
        first_wait: mcp.first_wait,
        recording: mcp.recording.clone(),
    };
    Some(McpServers::start(mcp.servers.clone(), parts))
}

/// The way to servers over HTTP, made where the first of them is contacted: on the thread that they live on.
struct LateTransport {
    make: TransportMaker,
    made: OnceLock<Option<Arc<dyn Transport>>>,
}

impl Transport for LateTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        match self.made.get_or_init(|| (self.make)()) {
            Some(made) => made.send(request),
            None => {
                let none = TransportFailure::Connect("there is no network here".to_owned());
                Box::pin(std::future::ready(Err(none)))
            }
        }
    }
}

/// Returns the tools of the servers as a session takes them, and warnings.
fn offered(servers: &McpServers) -> (Vec<ExternalTool>, Vec<String>) {
    let offers = servers.offers();
    let tools = offers.tools.into_iter().map(|(spec, tool)| ExternalTool { spec, tool }).collect();
    (tools, offers.warnings)
}

/// What a client changed of the tools that it brings itself.
#[derive(Default)]
pub(crate) struct ClientTools {
    /// Those that came.
    pub(crate) added: Vec<ExternalTool>,
    /// The names of those that were there from the beginning, and are not any more.
    pub(crate) gone: Vec<String>,
}

/// Waits for the servers as long as the first request may, and adds their tools to the session.
pub(crate) async fn settle(
    servers: &McpServers,
    tools: &ToolSet,
    client: &ClientTools,
    engine: &mut Engine<Fanout>,
) {
    let waiting = |names: &[String]| {
        let text = format!("Waiting for the MCP servers {}", names.join(", "));
        engine.notice(NoticeLevel::Info, "mcp_waiting", text);
    };
    servers.first_wait(waiting).await;
    for (name, why) in failures(servers) {
        engine.notice(NoticeLevel::Warning, "mcp_server", format!("the MCP server `{name}` {why}"));
    }
    let (offers, warnings) = offered(servers);
    warnings.into_iter().for_each(|why| engine.notice(NoticeLevel::Warning, "mcp_tool", why));
    tools.replace_late(client.added.iter().cloned().chain(offers).collect(), client.gone.clone());
}

/// Adds the tools of the servers if nobody has to be waited for, and returns what people should know.
pub(crate) fn add_known(servers: &McpServers, tools: &ToolSet) -> Vec<String> {
    let known = |server: &Arc<Server>| {
        let now = server.now();
        now.listed || now.status != Status::Pending
    };
    if !servers.all().iter().all(known) {
        return Vec::new();
    }
    let (offers, warnings) = offered(servers);
    tools.add_late(offers);
    let failed = failures(servers).into_iter().map(|(name, why)| format!("the MCP server `{name}` {why}"));
    failed.chain(warnings).collect()
}

/// Returns the servers that cannot be used, with why.
pub fn failures(servers: &McpServers) -> Vec<(String, String)> {
    let failed = |server: Arc<Server>| {
        let now = server.now();
        let what = match now.status {
            Status::Failed => "failed",
            Status::NeedsAuth => "wants a login",
            _ => return None,
        };
        let why = now.reason.map_or_else(String::new, |why| format!(": {why}"));
        Some((server.config.name.clone(), format!("{what}{why}")))
    };
    servers.all().into_iter().filter_map(failed).collect()
}

/// Starts the programs of servers, under the guard of the tools.
struct Launcher {
    processes: Processes,
    root: PathBuf,
    environment: Environment,
    confine: Option<Arc<dyn Confine>>,
}

impl Launch for Launcher {
    fn launch(&self, server: &ServerConfig) -> Result<Launched, String> {
        let Way::Stdio { command, args, env, env_pass, cwd } = &server.way else {
            return Err("it is no program".to_owned());
        };
        let cwd = cwd.as_ref().map_or_else(|| self.root.clone(), |cwd| self.root.join(cwd));
        let inherited = INHERITED.iter().copied().chain(env_pass.iter().map(String::as_str));
        let mut variables: Vec<(OsString, OsString)> =
            inherited.filter_map(|name| Some((name.into(), (self.environment)(name)?))).collect();
        variables.extend(env.iter().map(|(name, value)| (name.into(), value.into())));
        let argv = std::iter::once(command).chain(args).map(OsString::from).collect();
        let (mut confinement, mut hold): (_, (Box<dyn std::any::Any + Send>, bool)) =
            (Confinement::default(), (Box::new(()), false));
        let mut unseen = None;
        let sandboxed = server.trust == Trust::Sandboxed;
        let wanted = if sandboxed { Holding::Usual } else { Holding::Loose };
        let confine = self.confine.as_ref().filter(|confine| confine.confines(wanted));
        if sandboxed && confine.is_none() {
            return Err("its level is `sandboxed`, and there is no sandbox".to_owned());
        }
        if let Some(confine) = confine {
            let writable: Vec<PathBuf> =
                server.sandbox_write.iter().filter_map(|folder| self.folder(folder)).collect();
            let access = ServiceAccess { cwd: &cwd, writable: &writable, network: network(server) };
            let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
            let hidden =
                |path: &Path| confine.hides(&access, path).map(|place| hidden_words(server, path, &place));
            if let Some(why) = program_path(command, &cwd, path).and_then(|program| hidden(&program)) {
                return Err(format!("`{command}` cannot be started: {why}"));
            }
            // A script that an interpreter is to read, perhaps: that it is not seen explains its end.
            unseen = args.iter().filter_map(|arg| existing(&cwd, arg)).find_map(|path| hidden(&path));
            let confined = confine.prepare_service(&access).map_err(|error| error.to_string())?;
            confinement =
                Confinement { wrapper: confined.wrapper, env: confined.env, in_child: confined.in_child };
            hold = (confined.hold, confined.wrapper_ends_all);
        }
        let start = ServiceStart { argv, cwd: &cwd, env: variables, confinement, hold };
        let (service, pipes) =
            self.processes.serve(start).map_err(|error| format!("`{command}` cannot be started: {error}"))?;
        let program = Box::new(ServerProgram { service, unseen });
        Ok(Launched { stdin: pipes.stdin, stdout: pipes.stdout, stderr: pipes.stderr, program })
    }

    fn shutdown(&self) {
        self.processes.shutdown();
    }
}

impl Launcher {
    /// Returns a folder that a setting names; `~/` is the home directory.
    fn folder(&self, named: &str) -> Option<PathBuf> {
        match named.strip_prefix("~/") {
            Some(rest) => (self.environment)("HOME").map(|home| PathBuf::from(home).join(rest)),
            None => Some(PathBuf::from(named)),
        }
    }
}

/// Returns whether a server has the network in a sandbox (MCP-94): the user's has unless it says no, a project's has what commands have
/// that nobody was asked about, and one that is not trusted so far only what it is given.
fn network(server: &ServerConfig) -> ServiceNetwork {
    match (server.network, server.trust, server.source) {
        (Some(true), ..) => ServiceNetwork::Granted,
        (Some(false), ..) | (None, Trust::Sandboxed, _) => ServiceNetwork::Denied,
        (None, _, Source::Project) => ServiceNetwork::AsCommands,
        (None, ..) => ServiceNetwork::Granted,
    }
}

/// Says why a file cannot be used in the sandbox, and what can be done.
fn hidden_words(server: &ServerConfig, path: &Path, place: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    let way_out = match server.source {
        Source::Project => "keep it elsewhere, or use `--sandbox off`".to_owned(),
        _ => format!("keep it elsewhere, add `{folder}` to its `sandbox_write`, or use `--sandbox off`"),
    };
    format!("{} is not seen in the sandbox, which hides {}; {way_out}", path.display(), place.display())
}

/// Returns the file of a program, as a search of `PATH` finds it.
fn program_path(command: &str, cwd: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    if command.contains('/') {
        return existing(cwd, command);
    }
    let folders = path?.as_bytes().split(|byte| *byte == b':');
    folders.map(|folder| Path::new(OsStr::from_bytes(folder))).find_map(|folder| existing(folder, command))
}

/// Returns a file that is there, without links.
fn existing(folder: &Path, name: &str) -> Option<PathBuf> {
    folder.join(name).canonicalize().ok().filter(|path| path.is_file())
}

struct ServerProgram {
    service: Service,
    /// Why something that it was started with cannot be seen.
    unseen: Option<String>,
}

impl Program for ServerProgram {
    fn ended(&mut self) -> BoxFuture<'_, String> {
        Box::pin(async {
            let how = self.service.ended().await;
            match &self.unseen {
                Some(why) => format!("{how} ({why})"),
                None => how,
            }
        })
    }
}
