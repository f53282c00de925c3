//! The client of the official MCP conformance suite: the product's own client, with a browser that says yes.
//!
//! The suite starts it with a server's address as its last argument, and says in the environment which scenario is played. It connects,
//! logs in where the server wants that, lists everything and calls every tool; what it must not do is decided by the same code as in zori.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use zori_core::confine::Consent;
use zori_core::ids::CallId;
use zori_core::server_recording::ServerRecording;
use zori_core::tool::ToolCx;
use zori_core::transport::Transport;
use zori_host::SystemClock;
use zori_mcp::client::config::{self, Source, Variables};
use zori_mcp::client::oauth::bearer::LoginParts;
use zori_mcp::client::oauth::{Login, Logins};
use zori_mcp::client::{
    Elicits, Launch, Launched, ListedTool, McpParts, McpServers, Server, ServerConfig, Status,
};
use zori_providers::http::roots::Roots;
use zori_providers::http::{HttpOptions, HttpTransport, Proxies};
use zori_setup::mcp_login::{self, WayBack};

/// So often the user is asked in all.
const MOST_LOGINS: usize = 3;
/// Where a document would say who this client is; nobody reads it.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let url = std::env::args().next_back().ok_or("the address of the server is missing")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let servers = start(&url, &context, folder.path().to_owned())?;
    let client = Client {
        servers,
        runtime: zori_host::runtime().map_err(|error| error.to_string())?,
        transport: transport(),
        logins_left: MOST_LOGINS,
    };
    let outcome = client.play(&scenario, &context);
    drop(folder);
    outcome
}

/// Starts the client with this one server.
fn start(url: &str, context: &Value, folder: PathBuf) -> Result<Arc<McpServers>, String> {
    let mut oauth = json!({"client_metadata_url": CLIENT_DOCUMENT});
    for key in ["client_id", "client_secret"] {
        if let Some(given) = context[key].as_str() {
            oauth[key] = given.into();
        }
    }
    let table: Map<String, Value> =
        [("suite".to_owned(), json!({"url": url, "oauth": oauth}))].into_iter().collect();
    let servers = config::read(&table, Source::Flag, &Nothing)?.servers;
    let login = LoginParts { logins: Arc::new(InMemory::default()), clock: Arc::new(SystemClock::new()) };
    let parts = McpParts {
        launch: Arc::new(NoPrograms),
        transport: Some(transport()),
        folder: Some(folder.clone()),
        logs: None,
        files: folder.join("files"),
        redact: Arc::new(str::to_owned),
        audit: Arc::new(|_| Ok(())),
        clock: Arc::new(SystemClock::new()),
        version: env!("CARGO_PKG_VERSION"),
        elicits: Elicits::Yes,
        login: Some(login),
        budget: 8192,
        first_wait: Duration::from_secs(10),
        recording: ServerRecording::Off,
    };
    Ok(McpServers::start(servers, parts))
}

fn transport() -> Arc<dyn Transport> {
    Arc::new(HttpTransport::new(HttpOptions { roots: Roots::embedded(), proxies: Proxies::None }))
}

struct Client {
    servers: Arc<McpServers>,
    runtime: tokio::runtime::Runtime,
    transport: Arc<dyn Transport>,
    logins_left: usize,
}

impl Client {
    fn play(mut self, scenario: &str, context: &Value) -> Result<(), String> {
        let outcome = self.connected().and_then(|server| match scenario {
            // Its server has a list, and nothing that can be called.
            "json-schema-ref-no-deref" => Ok(()),
            _ => self.call_all(&server, context),
        });
        self.servers.shutdown();
        outcome
    }

    fn server(&self) -> Arc<Server> {
        self.servers.all().into_iter().next().expect("there is one server")
    }

    /// Connects, and logs in as often as that is wanted.
    fn connected(&mut self) -> Result<Arc<Server>, String> {
        loop {
            let server = self.server();
            self.runtime.block_on(self.servers.settled(&server));
            let now = server.now();
            let reason = now.reason.unwrap_or_default();
            match now.status {
                Status::Connected => return Ok(server),
                Status::NeedsAuth => self.log_in(&server)?,
                status => return Err(format!("{}: {reason}", status.as_str())),
            }
        }
    }

    fn log_in(&mut self, server: &Server) -> Result<(), String> {
        if self.logins_left == 0 {
            return Err("logged in too often".to_owned());
        }
        self.logins_left -= 1;
        let bearer = server.bearer().ok_or("one cannot log in")?;
        let challenge = bearer.challenge().unwrap_or_default();
        let mut show = |url: &str| {
            let url = url.to_owned();
            std::thread::spawn(move || zori_testkit::browser::visit(&url));
        };
        let flow = mcp_login::log_in(&*self.transport, bearer, &challenge, WayBack::Browser, &mut show);
        let login = self.runtime.block_on(flow).map_err(|error| error.to_string())?;
        bearer.keep(&login)?;
        self.servers.reconnect(&server.config.name);
        Ok(())
    }

    /// Calls what the scenario names, else every tool.
    fn call_all(&mut self, server: &Server, context: &Value) -> Result<(), String> {
        let calls: Vec<(String, Value)> = match context["toolCalls"].as_array() {
            Some(calls) => calls
                .iter()
                .map(|call| (call["name"].as_str().unwrap_or_default().to_owned(), call["arguments"].clone()))
                .collect(),
            None => examples(&server.now().tools),
        };
        for (name, arguments) in calls {
            while !self.call(&name, &arguments)? {
                let server = self.server();
                self.log_in(&server)?;
                self.connected()?;
            }
        }
        let now = self.server().now();
        for resource in now.resources.iter() {
            let read = self.servers.read_resource(server, &resource.uri, None);
            self.runtime.block_on(read).map(drop)?;
        }
        for prompt in now.prompts.iter() {
            let line = format!("/{}:{}", server.config.name, prompt.name);
            let call = self.servers.called_prompt(&line).ok_or("a prompt has a name")?;
            // One that says nothing was asked for all the same.
            let _ = self.runtime.block_on(self.servers.get_prompt(&call, None));
        }
        Ok(())
    }

    /// Calls a tool. Returns whether the login was good for it.
    fn call(&self, name: &str, arguments: &Value) -> Result<bool, String> {
        let server = self.server();
        let (_, tool) =
            self.servers.tool(&server, name).ok_or_else(|| format!("there is no tool `{name}`"))?;
        let arguments = serde_json::value::to_raw_value(arguments).map_err(|error| error.to_string())?;
        tool.effects(&arguments);
        let cx = ToolCx::alone(CallId::new("call"), Consent::Person);
        let output = self.runtime.block_on(tool.run(cx, &arguments));
        match output.failure {
            Some(_) if server.bearer().is_some_and(|bearer| bearer.challenge().is_some()) => Ok(false),
            Some(failure) => Err(failure.message.to_string()),
            None => Ok(true),
        }
    }
}

/// Makes a call of every tool. One echoes the schema of another, which has to arrive as it was listed.
fn examples(tools: &[ListedTool]) -> Vec<(String, Value)> {
    let rich = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let arguments = |tool: &ListedTool| match rich {
        Some(rich) if tool.name == "json_schema_echo" => json!({ "schema": rich.schema }),
        _ => example(&tool.schema),
    };
    tools.iter().map(|tool| (tool.name.clone(), arguments(tool))).collect()
}

/// Makes arguments that fit a schema.
fn example(schema: &Value) -> Value {
    let mut arguments = Map::new();
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        let value = match schema["type"].as_str() {
            Some("number" | "integer") => json!(2),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("example"),
        };
        arguments.insert(field.clone(), value);
    }
    arguments.into()
}

/// Logins that are gone with the process.
#[derive(Default)]
struct InMemory(Mutex<BTreeMap<String, Login>>);

impl Logins for InMemory {
    fn get(&self, account: &str) -> Result<Option<Login>, String> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(account).cloned())
    }

    fn set(&self, account: &str, login: &Login) -> Result<(), String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(account.to_owned(), login.clone());
        Ok(())
    }

    fn erase(&self, account: &str) -> Result<(), String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(account);
        Ok(())
    }
}

/// The suite's servers are all over HTTP.
struct NoPrograms;

impl Launch for NoPrograms {
    fn launch(&self, _: &ServerConfig) -> Result<Launched, String> {
        Err("no program is started here".to_owned())
    }

    fn shutdown(&self) {}
}

/// Nothing can be referred to.
struct Nothing;

impl Variables for Nothing {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn withheld(&self, _: &str) -> bool {
        true
    }

    fn hijacks(&self, _: &str) -> bool {
        false
    }

    fn vault(&self, _: &str) -> Result<String, String> {
        Err("there is no vault".to_owned())
    }
}
