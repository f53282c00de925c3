//! The composition: what a session runs on that only this program knows. `zori-host` puts the session itself together.

use std::sync::Arc;

use tokio::runtime::Runtime;
use zori_contract::error::IO_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::provider::Provider;
use zori_core::time::Clock;
use zori_core::transport::{Timeouts, Transport};
use zori_host::{
    BlockingSession, FrontendParts, Host, Machine, ModelSettings, Network, OpenedSession, Session,
    SessionSettings, SystemClock, Upstream, Which,
};
use zori_mcp::client::RequiredFailure;
use zori_providers::agent_zero::mock::MockServer;
use zori_providers::agent_zero::{AgentZero, AgentZeroOptions};
use zori_providers::anthropic::Anthropic;
use zori_providers::catalog::{Api, ProviderFacts};
use zori_providers::custom::CustomTransport;
use zori_providers::endpoint::Endpoint;
use zori_providers::gemini::Gemini;
use zori_providers::key::Credential;
use zori_providers::openai::OpenAiCompatible;
use zori_providers::openai_chat::{OpenAiChat, OpenAiChatOptions};
use zori_providers::openai_responses::OpenAiResponses;
use zori_providers::quirks::{self, EndMark, Quirks, ToolStyle};

use crate::agent_cx::AgentCx;
use crate::agent_zero::AgentZeroSetup;
use crate::debug_log::Level;
use crate::error::{MCP_LOGIN_MISSING, MCP_UNAVAILABLE};
use crate::host_failure::of_session;
use crate::model_choice::{Key, KeyFound};
use crate::network;
use crate::settings::RunSettings;
use crate::ui::Ui;
use zori_auth::grant::Kind;
use zori_auth::renewing::{self, Renewing};

/// Makes the runtime of a session: one thread.
pub fn runtime() -> Result<Runtime, Failure> {
    zori_host::runtime()
        .map_err(|error| Failure::new(&IO_ERROR, format!("cannot start the runtime: {error}")))
}

/// Prepares what the sessions of one folder share.
pub fn host(session: SessionSettings) -> Result<Host, Failure> {
    Host::new(session, Machine::system()).map_err(of_session)
}

/// Takes a session's lock and reads its history; what people should know of it is said.
pub fn open(host: &Host, which: Which, ui: &mut Ui) -> Result<OpenedSession, Failure> {
    let mut notices = Vec::new();
    let opened = host.open(which, &mut notices).map_err(of_session);
    ui.notices(&notices);
    opened
}

/// Opens the network, and finds who answers.
pub fn upstream(cx: &AgentCx<'_>, host: &Host, run: &RunSettings) -> Result<Upstream, Failure> {
    let network = network::open(cx, &host.settings, run)?;
    let provider = provider(&host.settings.model, run, &network);
    Ok(Upstream { network, provider })
}

/// What a session is started with.
pub struct Prepared {
    /// What the sessions of its folder share.
    pub host: Host,
    /// The session: its lock is held and its history read.
    pub opened: OpenedSession,
    /// The model, and the way to it.
    pub upstream: Upstream,
}

/// Prepares the folder's sessions, opens one of them and finds who answers. The lock comes before the network, which
/// makes the file of a recording.
pub fn prepare(
    cx: &mut AgentCx<'_>,
    session: SessionSettings,
    run: &RunSettings,
    which: Which,
) -> Result<Prepared, Failure> {
    let host = host(session)?;
    let opened = open(&host, which, cx.ui)?;
    let upstream = upstream(cx, &host, run)?;
    Ok(Prepared { host, opened, upstream })
}

/// Starts a session with what the front end brings.
pub fn start(
    cx: &AgentCx<'_>,
    host: &Host,
    opened: OpenedSession,
    upstream: &Upstream,
    mut parts: FrontendParts,
    spent_before: Spent,
) -> Result<Session, Failure> {
    if let Some(servers) = host.mcp() {
        servers.require().map_err(|failure| of_required(&failure))?;
    }
    // A line of the log stands before what it is about.
    parts.renderers.splice(..0, cx.app.log.events());
    let session = host.start(opened, upstream, parts, spent_before).map_err(of_session)?;
    cx.app.log.write(Level::Info, || "session.ready".to_owned());
    Ok(session)
}

/// Waits for the MCP servers as long as the first request may, for a front end that lists tools before it.
pub fn wait_for_servers(host: &Host, ui: &mut Ui) -> Result<(), Failure> {
    let Some(servers) = host.mcp() else { return Ok(()) };
    runtime()?.block_on(servers.first_wait(|names| {
        ui.say(&format!("Waiting for the MCP servers {}", names.join(", ")));
    }));
    Ok(())
}

/// Returns the failure for an MCP server that a run needs and cannot have.
fn of_required(failure: &RequiredFailure) -> Failure {
    let RequiredFailure { server, why, login } = failure;
    let kind = if *login { &MCP_LOGIN_MISSING } else { &MCP_UNAVAILABLE };
    Failure::new(kind, format!("the MCP server `{server}` is required, and {why}")).hint(format!(
        "`enabled = false` or `required = false` in `[mcp.servers.{server}]` goes on without it"
    ))
}

/// Ends a session of a protocol and all it ran on; returns the exit code of what could not be written.
pub fn close(session: BlockingSession, host: &Host, upstream: &Upstream, ui: &mut Ui) -> Exit {
    let closed = written(session.close(), ui);
    ui.notices(&host.close());
    ui.notices(&upstream.network.close().0);
    closed
}

/// Returns the model that was chosen.
pub fn provider(model: &ModelSettings, run: &RunSettings, network: &Network) -> Arc<dyn Provider> {
    if let Some(setup) = &run.agent_zero {
        return agent_zero(model, setup, run, network);
    }
    provider_of(model, &run.key, network, run.http_limits, model.tool_style(&model.name))
}

/// Returns an Agent Zero server, or the script that stands for one.
fn agent_zero(
    model: &ModelSettings,
    setup: &AgentZeroSetup,
    run: &RunSettings,
    network: &Network,
) -> Arc<dyn Provider> {
    let endpoint = Endpoint {
        base_url: model.base_url.clone(),
        key: run.key.as_ref().ok().and_then(Option::as_ref).and_then(Key::credential),
        transport: if setup.mock { Arc::new(MockServer) } else { network.transport.clone() },
        limits: run.http_limits,
        clock: Arc::new(SystemClock::new()),
    };
    let server = AgentZero::new(endpoint, setup.options.clone(), Some(setup.preface.clone()));
    // One run has one server; what it learns of the routes is known to all that ask it.
    let server = setup.server.get_or_init(|| server).clone();
    Arc::new(server)
}

/// Returns a model, asked with this key.
pub fn provider_of(
    model: &ModelSettings,
    key: &KeyFound,
    network: &Network,
    limits: Timeouts,
    tool_style: ToolStyle,
) -> Arc<dyn Provider> {
    let ModelSettings { facts, base_url, secrets, .. } = model;
    let clock = Arc::new(SystemClock::new());
    let transport = customised(facts, network.transport.clone());
    let access = Access { facts, base_url: base_url.clone(), transport, limits, clock, tool_style };
    // Without a key the provider says so when it is asked; commands that cannot go on look before.
    match key.as_ref().ok().and_then(Option::as_ref) {
        None => access.provider(None),
        Some(Key::Variable(key) | Key::Vault { secret: key, .. }) => {
            access.provider(Some(Credential::Key(key.clone())))
        }
        Some(Key::Program(token) | Key::Token(token)) => {
            access.provider(Some(Credential::Token(token.clone())))
        }
        Some(Key::Stored(stored)) => match stored.grant.kind {
            Kind::ApiKey => access.provider(Some(Credential::Key(stored.grant.access.clone()))),
            Kind::OAuth => Arc::new(Renewing::new(renewing::Parts {
                name: facts.name,
                grant: stored.grant.clone(),
                renewal: stored.renewal.clone(),
                transport: network.private.clone(),
                clock: access.clock.clone(),
                secrets: secrets.clone(),
                make: Box::new(move |token| access.provider(Some(Credential::Token(token)))),
            })),
        },
    }
}

/// Returns the way to a provider, with the headers and the query that the user wants with every request.
pub fn customised(facts: &ProviderFacts, transport: Arc<dyn Transport>) -> Arc<dyn Transport> {
    match facts.custom {
        Some(custom) => Arc::new(CustomTransport::new(transport, custom)),
        None => transport,
    }
}

/// What a provider is made from, but for the key.
struct Access {
    facts: &'static ProviderFacts,
    base_url: String,
    transport: Arc<dyn Transport>,
    limits: Timeouts,
    clock: Arc<dyn Clock>,
    tool_style: ToolStyle,
}

impl Access {
    fn provider(&self, key: Option<Credential>) -> Arc<dyn Provider> {
        let facts = self.facts;
        let endpoint = Endpoint {
            base_url: self.base_url.clone(),
            key,
            transport: self.transport.clone(),
            limits: self.limits,
            clock: self.clock.clone(),
        };
        match facts.api {
            Api::Anthropic => Arc::new(Anthropic::of(facts, endpoint)),
            Api::OpenAiChat(quirks) => {
                let quirks = Quirks { tools: self.tool_style, ..*quirks };
                Arc::new(OpenAiChat::new(OpenAiChatOptions { facts, quirks, endpoint }))
            }
            Api::OpenAiResponses if self.base_url == facts.default_base_url => {
                Arc::new(OpenAiResponses::of(facts, endpoint))
            }
            // Not every server that stands in for the vendor has the newer API.
            Api::OpenAiResponses => {
                let quirks = Quirks { tools: self.tool_style, end_mark: EndMark::Optional, ..quirks::OPENAI };
                let chat = OpenAiChatOptions { facts, quirks, endpoint: endpoint.clone() };
                let responses = OpenAiResponses::of(facts, endpoint);
                Arc::new(OpenAiCompatible::new(responses, OpenAiChat::new(chat)))
            }
            Api::Gemini => Arc::new(Gemini::of(facts, endpoint)),
            Api::AgentZero => Arc::new(AgentZero::new(endpoint, AgentZeroOptions::default(), None)),
        }
    }
}

/// Says that an answer could not be written, and returns the exit code of it.
pub fn written(closed: std::io::Result<()>, ui: &mut Ui) -> Exit {
    match closed {
        Ok(()) => Exit::Success,
        Err(error) => {
            ui.warn(&format!("Failed to write the answer: {error}"));
            Exit::General
        }
    }
}
