//! An MCP server over HTTP on a loopback port that wants a login, and gives out the tokens for it itself: metadata, registration, PKCE,
//! refresh tokens that are good once. It takes down what it was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zori_core::secret::{base64url, percent};

use crate::browser::fields;
use crate::loopback::{Answer, Loopback};
use crate::server::Request;
use crate::wait;

/// A picture of one point, in base64.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// How the server misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpAuthFault {
    /// Not at all.
    None,
    /// Its metadata is that of another issuer.
    OtherIssuer,
    /// It does not protect codes.
    NoS256,
    /// It names an address that is a script.
    ScriptUrl,
    /// Somebody else answers in its place.
    WrongAnswerer,
    /// Its metadata is that of another server.
    OtherResource,
    /// It registers nobody.
    NoRegistration,
}

/// The server. It ends when dropped.
#[derive(Debug)]
pub struct McpHttpServer {
    http: Loopback,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    base: String,
    fault: McpAuthFault,
    /// How long an access token is good for, in seconds.
    expires_in: u64,
    /// Whether a token is wanted at all.
    open: bool,
    /// What calls of a tool take.
    call_scope: Option<String>,
    codes: BTreeMap<String, (String, String)>,
    /// Access tokens, with what they are good for.
    access: BTreeMap<String, String>,
    refresh: BTreeSet<String>,
    made: usize,
    log: Vec<String>,
    /// What messages were let in with, each once.
    authorizations: BTreeSet<String>,
    /// Whether it speaks 2026-07-28 and nothing else.
    modern: bool,
    tools: Vec<String>,
    /// Who hears of changes.
    subscribers: Vec<Sender<Value>>,
    /// How it asks back, if it does.
    asks: Option<AskingBack>,
    /// The number of the session, from 1.
    session: usize,
    /// Whether it forgets a session after the next call of a tool.
    forgets: bool,
    /// Whether a question is its first answer.
    asks_first: bool,
    /// Whether it is slow to tell of changes.
    slow_to_tell: bool,
}

/// What a server knows that asks back while it is asked.
#[derive(Debug, Default)]
struct AskingBack {
    /// The stream on which it speaks by itself, once somebody listens.
    stream: Option<Sender<Value>>,
    /// Who waits for an answer.
    waiting: BTreeMap<String, Sender<Value>>,
    /// How many requests came that it asks about.
    asked: usize,
}

/// So long a server that asks back leaves a client without the stream, unless that calls first.
const HELD: Duration = Duration::from_millis(300);

impl McpHttpServer {
    /// Starts a server that wants a login.
    pub fn start(fault: McpAuthFault, expires_in: u64) -> Self {
        let mut state = None;
        let http = Loopback::start(|address| {
            let shared = Arc::new(Mutex::new(State {
                base: format!("http://{address}"),
                fault,
                expires_in,
                open: false,
                call_scope: None,
                codes: BTreeMap::new(),
                access: BTreeMap::new(),
                refresh: BTreeSet::new(),
                made: 0,
                log: Vec::new(),
                authorizations: BTreeSet::new(),
                modern: false,
                tools: vec!["who".to_owned()],
                subscribers: Vec::new(),
                asks: None,
                session: 1,
                forgets: false,
                asks_first: false,
                slow_to_tell: false,
            }));
            state = Some(Arc::clone(&shared));
            let called = Condvar::new();
            move |request: &Request| {
                let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
                let (asks, slow) = {
                    let state = lock();
                    (state.asks.is_some(), state.slow_to_tell)
                };
                match request.method.as_str() {
                    "POST" if asks => asked_back(request, &lock, &called),
                    "POST" if slow => told_slowly(request, &lock, &called),
                    _ => lock().answer(request),
                }
            }
        });
        Self { http, state: state.expect("the server was made") }
    }

    /// Returns where it is.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.http.url())
    }

    /// Returns who gives out its tokens.
    pub fn issuer(&self) -> String {
        self.http.url()
    }

    /// Wants no token from now on.
    pub fn open_to_all(&self) {
        self.lock().open = true;
    }

    /// Wants this scope for calls of tools from now on.
    pub fn want_for_calls(&self, scope: &str) {
        self.lock().call_scope = Some(scope.to_owned());
    }

    /// Takes every access token back; refresh tokens stay good.
    pub fn expire(&self) {
        self.lock().access.clear();
    }

    /// Takes every token back.
    pub fn revoke(&self) {
        let mut state = self.lock();
        state.access.clear();
        state.refresh.clear();
    }

    /// Returns what it was asked, a line each: a path, or the method of a message.
    pub fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    /// Returns the headers `Authorization` that messages came with, each once.
    pub fn authorizations(&self) -> Vec<String> {
        self.lock().authorizations.iter().cloned().collect()
    }

    /// Speaks 2026-07-28 from now on, and nothing else.
    pub fn speak_newest(&self) {
        self.lock().modern = true;
    }

    /// Speaks 2026-07-28 from now on, and is slow to tell of changes, unless something is listed first. It takes down when it begins to.
    pub fn tell_slowly(&self) {
        let mut state = self.lock();
        (state.modern, state.slow_to_tell) = (true, true);
    }

    /// Answers what it is asked for with a question first from now on, as 2026-07-28 has it.
    pub fn ask_first(&self) {
        let mut state = self.lock();
        (state.modern, state.asks_first) = (true, true);
    }

    /// Forgets the session after the next call of a tool.
    pub fn forget_session(&self) {
        self.lock().forgets = true;
    }

    /// Asks back from now on whenever a tool is called, a prompt is got or a resource is read, on the stream on which it speaks by itself; where
    /// nobody listens there yet, its answer says so. It is slow to let a client listen.
    pub fn ask_back(&self) {
        self.lock().asks = Some(AskingBack::default());
    }

    /// Has one more tool from now on, and says so to whoever wants to hear it.
    pub fn add_tool(&self, name: &str) {
        let mut state = self.lock();
        state.tools.push(name.to_owned());
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}});
        state.subscribers.retain(|subscriber| subscriber.send(changed.clone()).is_ok());
    }

    /// Adds a tool and says so to nobody: whoever heard of changes is cut off first.
    pub fn add_tool_unheard(&self, name: &str) {
        let mut state = self.lock();
        state.subscribers.clear();
        state.tools.push(name.to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers a message as a server does that asks back.
fn asked_back<'s>(request: &Request, lock: &impl Fn() -> MutexGuard<'s, State>, called: &Condvar) -> Answer {
    let message = request.json();
    match message["method"].as_str() {
        Some("notifications/initialized") => {
            let early = |state: &mut State| state.asks.as_ref().is_some_and(|asks| asks.asked == 0);
            drop(called.wait_timeout_while(lock(), HELD, early));
            lock().answer(request)
        }
        Some("tools/call" | "prompts/get" | "resources/read") => {
            let answer = lock().ask();
            called.notify_all();
            // Whoever ended meanwhile answers nothing.
            let told = match answer {
                Some(answer) => answer.recv_timeout(wait::BOUND).unwrap_or_default().to_string(),
                None => "nobody listens".to_owned(),
            };
            plain(200, json!({"jsonrpc": "2.0", "id": message["id"], "result": said(&told)}))
        }
        _ => lock().answer(request),
    }
}

/// Answers a message as a server does that is slow to tell of changes.
fn told_slowly<'s>(request: &Request, lock: &impl Fn() -> MutexGuard<'s, State>, called: &Condvar) -> Answer {
    if request.json()["method"] != "subscriptions/listen" {
        let answer = lock().answer(request);
        called.notify_all();
        return answer;
    }
    let early = |state: &mut State| !state.log.iter().any(|line| line == "tools/list");
    drop(called.wait_timeout_while(lock(), HELD, early));
    let mut state = lock();
    state.log.push("tells of changes".to_owned());
    state.answer(request)
}

/// A form that asks for a name.
fn who() -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string", "default": "Ada"}}});
    json!({"message": "Who?", "requestedSchema": schema})
}

/// What a call, a prompt and a resource say, all in one.
fn said(told: &str) -> Value {
    let text = json!({"type": "text", "text": told});
    json!({"content": [text], "messages": [{"role": "user", "content": text}], "contents": [{"uri": "note://one", "text": told}]})
}

fn plain(status: u16, body: Value) -> Answer {
    Answer::json(status, &body)
}

impl State {
    fn answer(&mut self, request: &Request) -> Answer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let message = request.method == "POST" && path == "/mcp";
        if !message {
            self.log.push(format!("{} {path}", request.method));
        }
        match (request.method.as_str(), path) {
            ("POST", "/mcp") => self.message(request),
            ("GET", "/mcp") if self.asks.is_some() => {
                let (stream, events) = mpsc::channel();
                self.asks.as_mut().expect("it was looked at").stream = Some(stream);
                Answer::Events(events)
            }
            ("DELETE", "/mcp") => plain(200, json!({})),
            ("GET", "/.well-known/oauth-protected-resource/mcp") => {
                let other = self.fault == McpAuthFault::OtherResource;
                let resource =
                    if other { "https://evil.example/mcp".to_owned() } else { format!("{}/mcp", self.base) };
                plain(
                    200,
                    json!({"resource": resource, "authorization_servers": [self.base], "scopes_supported": ["read"]}),
                )
            }
            ("GET", "/.well-known/oauth-authorization-server") => plain(200, self.metadata()),
            ("POST", "/register") => plain(201, json!({"client_id": "registered"})),
            ("GET", "/authorize") => self.authorize(&fields(query).into_iter().collect()),
            ("POST", "/token") => {
                let form: BTreeMap<_, _> =
                    fields(&String::from_utf8_lossy(&request.body)).into_iter().collect();
                self.token(&form)
            }
            _ => plain(if path == "/mcp" { 405 } else { 404 }, json!({})),
        }
    }

    fn metadata(&self) -> Value {
        let base = &self.base;
        let mut metadata = json!({"issuer": base, "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
            "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": true});
        match self.fault {
            McpAuthFault::OtherIssuer => metadata["issuer"] = "https://evil.example".into(),
            McpAuthFault::NoS256 => metadata["code_challenge_methods_supported"] = json!(["plain"]),
            McpAuthFault::ScriptUrl => metadata["authorization_endpoint"] = "javascript:alert(1)".into(),
            McpAuthFault::NoRegistration => {
                drop(metadata.as_object_mut().and_then(|m| m.remove("registration_endpoint")))
            }
            _ => {}
        }
        metadata
    }

    fn authorize(&mut self, asked: &BTreeMap<String, String>) -> Answer {
        let get = |name: &str| asked.get(name).map_or("", String::as_str);
        let right = get("code_challenge_method") == "S256"
            && get("resource") == format!("{}/mcp", self.base)
            && get("redirect_uri").starts_with("http://127.0.0.1:");
        if !right {
            return plain(400, json!({"error": "invalid_request"}));
        }
        self.log.push(format!("scope {}", get("scope")));
        let code = self.make("code");
        self.codes.insert(code.clone(), (get("code_challenge").to_owned(), get("scope").to_owned()));
        let from =
            if self.fault == McpAuthFault::WrongAnswerer { "https://evil.example" } else { &self.base };
        let place = format!(
            "{}?code={code}&state={}&iss={}",
            get("redirect_uri"),
            percent(get("state")),
            percent(from)
        );
        Answer::redirect(place)
    }

    fn token(&mut self, asked: &BTreeMap<String, String>) -> Answer {
        let get = |name: &str| asked.get(name).map_or("", String::as_str);
        self.log.push(format!("grant {}", get("grant_type")));
        let scope = match get("grant_type") {
            "authorization_code" => match self.codes.remove(get("code")) {
                Some((challenge, scope)) if base64url(&Sha256::digest(get("code_verifier"))) == challenge => {
                    scope
                }
                _ => return plain(400, json!({"error": "invalid_grant"})),
            },
            _ if self.refresh.remove(get("refresh_token")) => "read".to_owned(),
            _ => {
                return plain(
                    400,
                    json!({"error": "invalid_grant", "error_description": "it was used before"}),
                );
            }
        };
        let (access, refresh) = (self.make("access"), self.make("refresh"));
        self.access.insert(access.clone(), scope);
        self.refresh.insert(refresh.clone());
        plain(
            200,
            json!({"access_token": access, "token_type": "Bearer", "expires_in": self.expires_in, "refresh_token": refresh}),
        )
    }

    fn make(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{what}-{:04}-0123456789abcdef", self.made)
    }

    fn message(&mut self, request: &Request) -> Answer {
        let message = request.json();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        self.authorizations.extend(request.header("authorization").map(str::to_owned));
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let scope = token.and_then(|token| self.access.get(token)).cloned();
        let place = format!("resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"", self.base);
        if scope.is_none() && !self.open {
            self.log.push(format!("{method} 401"));
            return Answer::Whole(401, vec![("www-authenticate", format!("Bearer {place}"))], String::new());
        }
        if let Some(wanted) = self.call_scope.clone().filter(|_| method == "tools/call")
            && !scope.unwrap_or_default().split(' ').any(|word| word == wanted)
        {
            self.log.push(format!("{method} 403"));
            let words = format!("Bearer error=\"insufficient_scope\", scope=\"{wanted}\", {place}");
            return Answer::Whole(403, vec![("www-authenticate", words)], String::new());
        }
        let answered = message["id"].as_str().zip(self.asks.as_mut());
        if let Some(waiting) = answered.and_then(|(id, asks)| asks.waiting.remove(id)) {
            let _ = waiting.send(message["result"].clone());
            return Answer::Whole(202, Vec::new(), String::new());
        }
        let session = format!("session-{}", self.session);
        if request.header("mcp-session-id").is_some_and(|known| known != session) {
            self.log.push(format!("{method} 404"));
            return plain(404, json!({}));
        }
        if method == "tools/call" && std::mem::take(&mut self.forgets) {
            self.session += 1;
        }
        self.log.push(method.clone());
        let params = &message["params"];
        let asked = matches!(method.as_str(), "tools/call" | "prompts/get" | "resources/read");
        let result = match method.as_str() {
            "server/discover" if self.modern => {
                json!({"supportedVersions": ["2026-07-28"], "serverInfo": {"name": "http", "version": "2"},
                "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "resources": {}, "completions": {}}})
            }
            _ if self.asks_first && asked => match params["requestState"].as_str() {
                None => {
                    let form = json!({"method": "elicitation/create", "params": who()});
                    json!({"resultType": "input_required", "inputRequests": {"who": form}, "requestState": "s-1"})
                }
                Some(state) => said(&format!("{state} {}", params["inputResponses"])),
            },
            "subscriptions/listen" if self.modern => return self.subscribe(&message),
            "initialize" if !self.modern => {
                json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "http", "version": "1"},
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}})
            }
            "tools/list" => {
                let tool = |name: &String| json!({"name": name, "description": "Says who is there", "inputSchema": {"type": "object"}});
                json!({"tools": self.tools.iter().map(tool).collect::<Vec<_>>()})
            }
            "tools/call" => json!({"content": [{"type": "text", "text": "it is you"}]}),
            "resources/list" => {
                json!({"resources": [{"uri": "note://one", "name": "One", "description": "The first note"}]})
            }
            "resources/templates/list" => json!({"resourceTemplates": []}),
            "resources/read" if params["uri"] == "note://one" => {
                json!({"contents": [{"uri": "note://one", "mimeType": "text/plain", "text": "remember the milk"}]})
            }
            "resources/read" if params["uri"] == "note://picture" => {
                json!({"contents": [{"uri": "note://picture", "mimeType": "image/png", "blob": PICTURE}]})
            }
            "prompts/list" => json!({"prompts": [{"name": "greet", "description": "Greets somebody",
                "arguments": [{"name": "whom", "required": true}, {"name": "how"}]}]}),
            "prompts/get" if params["name"] == "greet" => {
                let text = format!(
                    "Greet {} {}",
                    params["arguments"]["whom"].as_str().unwrap_or("?"),
                    params["arguments"]["how"].as_str().unwrap_or("warmly")
                );
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
            }
            "completion/complete"
                if params["ref"]["name"] == "greet" && params["argument"]["name"] == "whom" =>
            {
                let typed = params["argument"]["value"].as_str().unwrap_or_default();
                let known =
                    ["Ada", "Alan Turing", "Grace"].into_iter().filter(|name| name.starts_with(typed));
                json!({"completion": {"values": known.collect::<Vec<_>>(), "hasMore": false}})
            }
            _ if message["id"].is_null() => return Answer::Whole(202, Vec::new(), String::new()),
            _ => {
                let error = json!({"code": -32601, "message": format!("no {method}")});
                return plain(400, json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
            }
        };
        let session = vec![("mcp-session-id", session)];
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        Answer::Whole(200, session, body)
    }

    /// Asks for a name; `None` where nobody listens.
    fn ask(&mut self) -> Option<mpsc::Receiver<Value>> {
        let asks = self.asks.as_mut()?;
        asks.asked += 1;
        let (id, (sender, answer)) = (format!("form-{}", asks.asked), mpsc::channel());
        let form = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": who()});
        asks.stream.as_ref()?.send(form).ok()?;
        asks.waiting.insert(id, sender);
        Some(answer)
    }

    /// Opens a stream that tells of changes: first that it does.
    fn subscribe(&mut self, message: &Value) -> Answer {
        let (sender, events) = mpsc::channel();
        let wanted = &message["params"]["notifications"];
        let params = json!({"notifications": wanted, "_meta": {"io.modelcontextprotocol/subscriptionId": message["id"]}});
        let said =
            json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
        sender.send(said).expect("the stream is not closed yet");
        self.subscribers.push(sender);
        Answer::Events(events)
    }
}
