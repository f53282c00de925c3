//! `zori mcp serve --http`, as clients see it that do not start it: who gets in, sessions, questions and ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::wait;

use crate::world::{with_model, world};

const TOKEN: &str = "0123456789abcdef";
const VERSION: &str = "2026-07-28";

/// A server on a free port.
struct Served {
    run: Running,
    address: String,
}

impl Served {
    fn start(world: &mut TestEnv, args: &[&str]) -> Self {
        world.set_var("ZORI_MCP_TOKEN", TOKEN);
        let words = [&["mcp", "serve", "--http", "127.0.0.1:0"], args].concat();
        let mut run = world.start(world.cmd(&words), Stdin::Null, Stdout::Captured);
        run.wait_for_stderr("/mcp\n");
        let said = run.raw_stderr();
        let address = said.strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp\n"));
        Self { address: address.unwrap_or_else(|| panic!("{said}")).to_owned(), run }
    }

    /// Sends a request and returns the answer to its end.
    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send_to("/mcp", method, headers, body)
    }

    fn send_to(&self, path: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.open(path, method, headers, body);
        let mut text = Vec::new();
        stream.read_to_end(&mut text).expect("the answer comes to its end");
        Answer::parse(&String::from_utf8_lossy(&text))
    }

    /// Sends a request and leaves the answer to be read.
    fn open(&self, path: &str, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(wait::BOUND)).expect("a socket takes a limit");
        let own = [
            ("Host", self.address.as_str()),
            ("Connection", "close"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let mut head = format!("{method} {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in
            own.iter().filter(|(name, _)| !headers.iter().any(|(other, _)| name == other)).chain(headers)
        {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        // A server that refuses does not read to the end.
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        stream
    }

    /// Sends a message with the token.
    fn post(&self, more: &[(&str, &str)], message: &Value) -> Answer {
        let bearer = format!("Bearer {TOKEN}");
        self.send("POST", &[&[("Authorization", bearer.as_str())], more].concat(), &message.to_string())
    }

    /// Says hello and returns the session's id.
    fn hello(&self) -> String {
        let answer = self.post(&[], &initialize());
        answer.header("mcp-session-id").unwrap_or_else(|| panic!("{answer:?}")).to_owned()
    }

    /// Calls a tool by the version without a handshake.
    fn call(&self, params: Value) -> Answer {
        let name = params["name"].as_str().expect("a call names its tool").to_owned();
        let headers =
            [("MCP-Protocol-Version", VERSION), ("Mcp-Method", "tools/call"), ("Mcp-Name", name.as_str())];
        self.post(&headers, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
        let header =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Self { status, headers: lines.filter_map(header).collect(), body: body.to_owned() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The last message, whether it came alone or as an event.
    fn message(&self) -> Value {
        let found = self.body.lines().rev().find_map(|line| {
            serde_json::from_str::<Value>(line.strip_prefix("data: ").unwrap_or(line))
                .ok()
                .filter(Value::is_object)
        });
        found.unwrap_or_else(|| panic!("no message in {self:?}"))
    }

    /// What a call's answer says: its text, and whether it failed.
    fn said(&self) -> (String, bool) {
        let result = &self.message()["result"];
        (
            result["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            result["isError"] == json!(true),
        )
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

/// A call's parameters by the version without a handshake.
fn params(name: &str, arguments: Value, capabilities: Value) -> Value {
    json!({"name": name, "arguments": arguments, "_meta": {"io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": capabilities}})
}

/// Row by row: what a request shows, and what it gets.
#[test]
fn who_gets_in() {
    let mut world = world();
    let served = Served::start(&mut world, &["--provider", "anthropic"]);
    let right = format!("Bearer {TOKEN}");
    let longer = format!("Bearer {TOKEN}0");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
    let hello = initialize().to_string();
    let wants = "this server wants its token: `Authorization: Bearer TOKEN`";
    type Headers<'a> = &'a [(&'a str, &'a str)];
    let rows: &[(&str, &str, Headers, &str, u16, &str)] = &[
        ("POST", "/mcp", &[], &hello, 401, wants),
        ("POST", "/mcp", &[("Authorization", "Bearer 0123456789abcdee")], &hello, 401, wants),
        ("POST", "/mcp", &[("Authorization", &longer)], &hello, 401, wants),
        ("POST", "/mcp", &[("Authorization", TOKEN)], &hello, 401, wants),
        ("GET", "/elsewhere", &[], "", 401, wants),
        (
            "POST",
            "/",
            &[("Authorization", &right)],
            &hello,
            404,
            "the Model Context Protocol is spoken at `/mcp`",
        ),
        (
            "POST",
            "/mcp",
            &[("Authorization", &right), ("Origin", "http://evil.example")],
            &hello,
            403,
            "Forbidden: Origin header is not allowed",
        ),
        (
            "POST",
            "/mcp",
            &[("Authorization", &right), ("Host", "evil.example")],
            &hello,
            403,
            "Forbidden: Host header is not allowed",
        ),
        (
            "POST",
            "/mcp",
            &[("Authorization", &right), ("Mcp-Session-Id", "nobody")],
            &list,
            404,
            "Not Found: Session not found",
        ),
        ("PUT", "/mcp", &[("Authorization", &right)], &hello, 405, "Method Not Allowed"),
    ];
    for (method, path, headers, body, status, words) in rows {
        let answer = served.send_to(path, method, headers, body);
        assert_eq!((answer.status, answer.body.as_str()), (*status, *words), "{method} {path} {headers:?}");
    }
    let refused = served.send("POST", &[], &hello);
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    for origin in ["http://localhost:3000", "http://127.0.0.1:8080"] {
        assert_eq!(served.post(&[("Origin", origin)], &initialize()).status, 200, "{origin}");
    }
}

/// Messages that are none, too long, or too early get words, and the server goes on.
#[test]
fn bad_messages() {
    let mut world = world();
    let served = Served::start(&mut world, &["--provider", "anthropic"]);
    let bearer = format!("Bearer {TOKEN}");
    let post = |body: &str| served.send("POST", &[("Authorization", bearer.as_str())], body);
    let half = post("{\"half\":");
    let words = "this body is no JSON-RPC message: EOF while parsing a value at line 1 column 8";
    assert_eq!(half.status, 400);
    assert_eq!(
        half.message(),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": words}})
    );
    // One byte too many: with more the server would not read to the end, and the answer could be lost on its way.
    let long = post(&format!("\"{}\"", "x".repeat((16 << 20) - 1)));
    assert_eq!(
        (long.status, long.body.as_str()),
        (413, "Payload Too Large: request body exceeds 16777216 bytes")
    );
    let early = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let early = served.post(&[], &early);
    assert_eq!(
        (early.status, early.body.as_str()),
        (
            400,
            "this came too early: `initialize` comes first, and what follows it carries the `Mcp-Session-Id` of its answer; \
             from version 2026-07-28 on a request needs no session and says its version in `MCP-Protocol-Version` and `_meta`"
        )
    );
    assert_eq!(served.post(&[], &initialize()).status, 200);
}

/// A session is opened, used and closed; after that nobody knows it.
#[test]
fn a_session() {
    let mut world = world();
    world.write("a.txt", "one\n");
    let served = Served::start(&mut world, &["--provider", "anthropic"]);
    let session = served.hello();
    let bearer = format!("Bearer {TOKEN}");
    let named = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-06-18")];
    let told = served.post(&named, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!(told.status, 202);
    let read = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "read", "arguments": {"path": "a.txt"}}});
    let envelope = format!(
        r#"{{"ok":true,"data":{{"path":"{}/a.txt","content":"one\n","truncated":false,"bytes":4}}}}"#,
        world.work().display()
    );
    assert_eq!(served.post(&named, &read).said(), (envelope, false));
    let closed = served.send("DELETE", &[&[("Authorization", bearer.as_str())], &named[..]].concat(), "");
    assert!((200..300).contains(&closed.status), "{closed:?}");
    assert_eq!(served.post(&named, &read).status, 404);
}

/// With the version of 2026-07-28 a question is the result of the call, and the call made again brings the answer.
#[test]
fn questions_are_results() {
    let mut world = world();
    let served = Served::start(&mut world, &["--provider", "anthropic"]);
    let write =
        |name: &str| params("write", json!({"path": name, "content": "two\n"}), json!({"elicitation": {}}));
    let asked = served.call(write("a.txt")).message()["result"].clone();
    assert_eq!(
        (&asked["resultType"], world.work().join("a.txt").exists()),
        (&json!("input_required"), false)
    );
    let question = &asked["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["requestedSchema"]["required"], json!(["approve"]));
    let state = asked["requestState"].as_str().unwrap();
    let with = |name: &str, state: &str, given: Value| {
        let mut params = write(name);
        params["requestState"] = json!(state);
        params["inputResponses"] = json!({"approval": given});
        served.call(params)
    };
    let yes = json!({"action": "accept", "content": {"approve": true}});
    // Neither another call nor another state gets the answer.
    let other = "`requestState` is of another call: `name` and `arguments` must stay as they were";
    assert_eq!(
        with("b.txt", state, yes.clone()).message()["error"],
        json!({"code": -32602, "message": other})
    );
    let unknown =
        "no call waits under this `requestState`: it was answered, has lapsed, or was never given out";
    assert_eq!(
        with("a.txt", "x", yes.clone()).message()["error"],
        json!({"code": -32602, "message": unknown})
    );
    // What is no answer is asked again, under another name.
    let again = with("a.txt", state, json!(17)).message()["result"].clone();
    let second = again["requestState"].as_str().unwrap();
    assert_eq!((&again["inputRequests"], second == state), (&asked["inputRequests"], false));
    let done = with("a.txt", second, yes.clone());
    assert!(!done.said().1, "{done:?}");
    assert_eq!(world.read("a.txt"), "two\n");
    assert_eq!(
        with("a.txt", second, yes).message()["error"]["message"],
        unknown,
        "a state is good for one answer"
    );
    // A no is the user's, and said so.
    let asked = served.call(write("c.txt")).message()["result"].clone();
    let no = with("c.txt", asked["requestState"].as_str().unwrap(), json!({"action": "decline"}));
    assert_eq!(
        no.said(),
        (
            r#"{"ok":false,"error":{"code":"permission_denied","message":"The user rejected this call"}}"#
                .to_owned(),
            true
        )
    );
}

/// Where nobody can be asked, nobody is said to have said no.
#[test]
fn nobody_to_ask() {
    let mut world = world();
    let served = Served::start(&mut world, &["--provider", "anthropic"]);
    let write = params("write", json!({"path": "a.txt", "content": "two\n"}), json!({}));
    let (text, failed) = served.call(write).said();
    assert!(failed && text.contains("approval_unavailable") && !text.contains("rejected"), "{text}");
}

/// A turn that asks in its middle goes on where it was.
#[test]
fn a_question_in_a_turn() {
    let (mut world, _model) = with_model([
        anthropic::text("Now.").tool_use("t1", "write", json!({"path": "a.txt", "content": "two\n"})),
        anthropic::text("Written."),
    ]);
    let served = Served::start(&mut world, &[]);
    let mut ask = params("prompt", json!({"prompt": "write it"}), json!({"elicitation": {}}));
    let asked = served.call(ask.clone()).message()["result"].clone();
    ask["requestState"] = asked["requestState"].clone();
    ask["inputResponses"] = json!({"approval": {"action": "accept", "content": {"approve": true}}});
    let done = served.call(ask);
    assert_eq!(done.said(), ("Written.".to_owned(), false));
    assert_eq!(world.read("a.txt"), "two\n");
}

/// A signal ends the server, whatever it is at; the call that runs is answered.
#[test]
fn ends() {
    let mut world = world();
    let mut served = Served::start(&mut world, &["--provider", "anthropic"]);
    served.hello();
    served.run.terminate();
    let output = served.run.finish();
    assert_eq!((output.stdout().as_str(), output.code()), ("", Some(143)));

    let gate = Gate::new();
    let (mut world, model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut served = Served::start(&mut world, &[]);
    let headers = [
        ("Authorization", format!("Bearer {TOKEN}")),
        ("MCP-Protocol-Version", VERSION.to_owned()),
        ("Mcp-Method", "tools/call".to_owned()),
        ("Mcp-Name", "prompt".to_owned()),
    ];
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": params("prompt", json!({"prompt": "x"}), json!({}))});
    let mut stream = served.open("/mcp", "POST", &headers, &ask.to_string());
    model.wait_for_requests(1);
    served.run.terminate();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (said, failed) = Answer::parse(&text).said();
    assert!(failed && said.starts_with("the turn was cancelled"), "{said}");
    assert_eq!(served.run.finish().code(), Some(143));
}

/// The token is made where none is given, and said once; one that is given is not said.
#[test]
fn the_token() {
    let mut world = world();
    world.remove_var("ZORI_MCP_TOKEN");
    let args = ["mcp", "serve", "--http", "localhost:0", "--provider", "anthropic"];
    let mut run = world.start(world.cmd(&args), Stdin::Null, Stdout::Captured);
    run.wait_for_stderr("token: ")
        .wait_until("the whole line", |run| run.raw_stderr().matches('\n').count() == 2);
    let said = run.raw_stderr();
    let token = said.lines().nth(1).and_then(|line| line.strip_prefix("token: ")).unwrap().to_owned();
    assert_eq!((token.len(), token.bytes().all(|b| b.is_ascii_hexdigit())), (64, true), "{said}");
    run.terminate();
    assert_eq!(run.finish().code(), Some(143));
    world.set_var("ZORI_MCP_TOKEN", "short");
    let output = world.run(&args);
    assert_eq!(
        (output.stderr(), output.code()),
        (
            "Error: `ZORI_MCP_TOKEN` takes 16 letters, digits and signs or more, without spaces\n\
             Hint: leave it away, and a token is made and said\n"
                .to_owned(),
            Some(2)
        )
    );
}

/// Addresses that cannot be, or that are not meant.
#[test]
fn addresses() {
    let world = world();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (args, code) in [
        (&["--http", "4242"][..], 2),
        (&["--http", "0.0.0.0:0"], 2),
        (&["--http", "192.0.2.7:80"], 2),
        (&["--allow-remote"], 2),
        (&["--http", "192.0.2.7:80", "--allow-remote"], 4),
        (&["--http", &taken], 4),
    ] {
        let output = world.run(&[&["mcp", "serve", "--provider", "anthropic"], args].concat());
        assert_eq!(
            (output.code(), output.stdout().as_str()),
            (Some(code), ""),
            "{args:?} {}",
            output.stderr()
        );
        assert!(output.stderr().starts_with("Error: "), "{args:?} {}", output.stderr());
    }
}
