//! An Agent Zero server in every format it answers in, and the tool round trip (`docs/contracts/agent-zero.md`).

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use zori_core::BoxFuture;
use zori_core::ids::CallId;
use zori_core::message::{Block, IdOrigin, Message, Role, Thinking, ToolCall, ToolInput, ToolResult};
use zori_core::provider::{Chunk, Delivery, Provider, Request};
use zori_core::time::{Clock, Timestamp};
use zori_core::transport::{HttpRequest, HttpResponse, Method, Timeouts, Transport, TransportFailure};
use zori_providers::agent_zero::{AgentZero, AgentZeroOptions, Preface, PrefaceBuilder, StreamMode};
use zori_providers::endpoint::Endpoint;
use zori_providers::key::Credential;
use zori_providers::replay::{Chunking, Ending, Exchange, ReplayTransport};

use crate::ask::fixture;

const URL: &str = "http://a0.test/api_message";

/// A conversation with a server that gives these answers.
struct Talk {
    transport: Arc<ReplayTransport>,
    provider: AgentZero,
    messages: Vec<Arc<Message>>,
}

impl Talk {
    fn new(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        Self::with(AgentZeroOptions::default(), None, exchanges)
    }

    fn with(
        options: AgentZeroOptions,
        preface: Option<Arc<dyn PrefaceBuilder>>,
        exchanges: impl IntoIterator<Item = Exchange>,
    ) -> Self {
        let transport = Arc::new(ReplayTransport::new(exchanges));
        let provider = AgentZero::new(endpoint(transport.clone()), options, preface);
        Self { transport, provider, messages: Vec::new() }
    }

    /// Asks, and keeps the reply as the engine does.
    async fn ask(&mut self, text: &str) -> String {
        self.messages.push(Arc::new(Message::user(text)));
        self.reply().await
    }

    /// Returns the result of the last call.
    async fn answer(&mut self, ok: bool, envelope: Value, text: &str) -> String {
        let call = self
            .messages
            .last()
            .and_then(|last| last.calls().last().cloned())
            .expect("the last message calls a tool");
        let result = ToolResult {
            call: call.id.clone(),
            name: call.name.clone(),
            ok,
            envelope: RawValue::from_string(envelope.to_string()).expect("a value is JSON").into(),
            text: Some(text.into()),
            images: Vec::new(),
        };
        let message = Message { role: Role::User, blocks: vec![Block::ToolResult(result)] };
        self.messages.push(Arc::new(message));
        self.reply().await
    }

    async fn reply(&mut self) -> String {
        let tools = Arc::default();
        let request = Request {
            model: "agent-zero",
            system: None,
            tools: &tools,
            messages: &self.messages,
            max_tokens: None,
            temperature: None,
            effort: None,
            delivery: Delivery::Streamed,
        };
        let mut stream = self.provider.stream(&request).await.expect("the request is sent");
        let (mut lines, mut blocks) = (Vec::new(), Vec::new());
        while let Some(chunk) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            lines.push(match chunk {
                Ok(chunk) => shown(chunk, &mut blocks),
                Err(failure) => Some(format!("failed {failure}")),
            });
        }
        if !blocks.is_empty() {
            self.messages.push(Arc::new(Message { role: Role::Assistant, blocks }));
        }
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    fn sent(&self, n: usize) -> Value {
        serde_json::from_slice(&self.transport.requests()[n].body).expect("the body is JSON")
    }
}

/// The clock of the test's runtime, which may stand still.
struct PausedClock(tokio::time::Instant);

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

fn endpoint(transport: Arc<dyn Transport>) -> Endpoint {
    Endpoint {
        base_url: URL.to_owned(),
        key: Some(Credential::Key("sk-test-key".into())),
        transport,
        limits: Timeouts::DEFAULT,
        clock: Arc::new(PausedClock(tokio::time::Instant::now())),
    }
}

fn shown(chunk: Chunk, blocks: &mut Vec<Block>) -> Option<String> {
    Some(match chunk {
        Chunk::Started { .. } | Chunk::BlockEnd | Chunk::CallEnd { .. } | Chunk::Usage(_) => return None,
        Chunk::Status(text) => format!("status {text}"),
        Chunk::CallReason(text) => format!("reason {text}"),
        Chunk::Thinking(text) => format!("thinking {text}"),
        Chunk::Text(text) => {
            blocks.push(Block::Text(text.clone()));
            format!("text {text}")
        }
        Chunk::ThinkingReplay(replay) => {
            let line = format!("state {}", replay.raw);
            blocks.push(Block::Thinking(Thinking { text: String::new(), replay: Some(replay) }));
            line
        }
        Chunk::CallStart { id, name, .. } => {
            let id_origin = if id.is_some() { IdOrigin::Provider } else { IdOrigin::Made };
            let id = CallId::new(id.unwrap_or_else(|| "made".to_owned()));
            let line = format!("call {name} {id}");
            blocks.push(Block::ToolCall(ToolCall {
                id,
                name,
                input: ToolInput::empty(),
                id_origin,
                replay: None,
            }));
            line
        }
        Chunk::CallInput { json, .. } => {
            let Some(Block::ToolCall(call)) = blocks.last_mut() else { panic!("an input without a call") };
            call.input = ToolInput::parse(json.clone());
            format!("input {json}")
        }
        Chunk::Done(stop) => format!("done {stop:?}"),
    })
}

#[tokio::test]
async fn a_plain_answer_and_the_id_in_the_next_message() {
    let answer = |text: &str| Exchange::json(json!({"context_id": "c-1", "response": text}).to_string());
    let mut talk = Talk::new([answer("Hello"), answer("Again")]);
    assert_eq!(talk.ask("hi").await, "state {\"context_id\":\"c-1\"}\ntext Hello\ndone EndTurn");
    assert_eq!(talk.sent(0), json!({"message": "hi", "lifetime_hours": 24, "stream": true}));
    talk.ask("more").await;
    assert_eq!(
        talk.sent(1),
        json!({"message": "more", "lifetime_hours": 24, "context_id": "c-1", "stream": true})
    );
    let request = &talk.transport.requests()[0];
    let header =
        |name: &str| request.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str());
    assert_eq!(request.url, URL);
    assert_eq!(header("x-api-key"), Some("sk-test-key"));
    assert_eq!(header("accept"), Some("text/event-stream, application/x-ndjson, application/json"));
}

#[tokio::test]
async fn a_stream_of_events() {
    for chunking in [Chunking::Whole, Chunking::EveryByte] {
        let exchange = Exchange::event_stream(fixture("agent_zero/text.sse")).chunked(chunking);
        assert_eq!(
            Talk::new([exchange]).ask("hi").await,
            "status Working\nthinking Let me see.\nstate {\"context_id\":\"ctx-1\"}\ntext Hello.\ndone EndTurn"
        );
    }
}

#[tokio::test]
async fn a_stream_without_an_end() {
    let exchange = Exchange::event_stream(fixture("agent_zero/no_end.sse"));
    assert_eq!(
        Talk::new([exchange]).ask("hi").await,
        "thinking not\njson\nstatus The server sent `progress`\nthinking half\nstate {\"context_id\":\"ctx-9\"}\n\
         text plain words\ntext \n\nlast\ndone EndTurn"
    );
}

#[tokio::test]
async fn lines_of_json_and_forced_modes() {
    let lines =
        "{\"type\":\"status\",\"content\":\"s\"}\n\nnot json\n{\"response\":\"r\",\"context_id\":\"c\"}";
    let expected = "status s\nstate {\"context_id\":\"c\"}\ntext not json\ntext \n\nr\ndone EndTurn";
    let exchange = |kind: &str, body: &str| Exchange::new(200, kind, body.to_owned());
    for chunking in [Chunking::Whole, Chunking::EveryByte] {
        let exchange = exchange("application/x-ndjson", lines).chunked(chunking);
        assert_eq!(Talk::new([exchange]).ask("hi").await, expected);
    }
    let forced = AgentZeroOptions { stream_mode: StreamMode::Jsonl, ..AgentZeroOptions::default() };
    assert_eq!(Talk::with(forced, None, [exchange("text/plain", lines)]).ask("hi").await, expected);
    let forced =
        AgentZeroOptions { stream_mode: StreamMode::Sse, stream: false, ..AgentZeroOptions::default() };
    let mut talk = Talk::with(forced, None, [exchange("text/plain", "data: hey\n\n")]);
    assert_eq!(talk.ask("hi").await, "text hey\ndone EndTurn");
    assert_eq!(talk.sent(0), json!({"message": "hi", "lifetime_hours": 24}));
}

#[tokio::test]
async fn answers_that_are_odd() {
    let big = format!("data: {}\n\n", "x".repeat(17 << 20));
    for (kind, body, expected) in [
        ("text/plain", "just words\n".to_owned(), "text just words\ndone EndTurn"),
        ("application/json", "\"a string\"".to_owned(), "text a string\ndone EndTurn"),
        ("application/json", String::new(), "done Other(\"the server's answer was empty\")"),
        ("application/json", "{\"error\":\"no model\"}".to_owned(), "failed api_error: no model"),
        ("application/json", "{\"response\":null,\"error\":\"no model\"}".to_owned(), "failed api_error: no model"),
        (
            "text/event-stream",
            "data: {\"delta\":{\"content\":\"a\"}}\n\ndata: {\"delta\":{\"content\":\"b\"}}\n\n".to_owned(),
            "thinking a\nthinking b\ntext ab\ndone EndTurn",
        ),
        (
            "text/html; charset=utf-8",
            "<html>login</html>".to_owned(),
            "failed parse: the server answered with a web page, not with a message; check the address (http://a0.test/api_message)",
        ),
        ("text/event-stream", big, "failed parse: an event of the stream is larger than 16 MiB"),
        (
            "text/event-stream",
            "event: message\ndata: {\"content\":\"hi\"}\n\nevent: message\ndata: {\"response\":\"you\"}\n\n"
                .to_owned(),
            "text hi\ntext \n\nyou\ndone EndTurn",
        ),
        (
            "text/event-stream",
            "data: {\"response\":\"hi\",\"context_id\":\"a\"}\n\ndata: {\"response\":\"you\",\"context_id\":\"b\"}\n\n"
                .to_owned(),
            "state {\"context_id\":\"a\"}\ntext hi\nstate {\"context_id\":\"b\"}\ntext \n\nyou\ndone EndTurn",
        ),
        (
            "text/event-stream",
            "data: {\"type\":\"status\",\"content\":\"s\"}\n\ndata: {\"type\":\"final_resp".to_owned(),
            "status s\nfailed transport: the server's answer ended in the middle of an event",
        ),
        (
            "application/x-ndjson",
            "{\"type\":\"text\",\"text\":\"all\"}\n{\"type\":\"st".to_owned(),
            "status Incomplete: the server's answer ended in the middle of an event\ntext all\ndone EndTurn",
        ),
    ] {
        assert_eq!(Talk::new([Exchange::new(200, kind, body)]).ask("hi").await, expected);
    }
    let bad = Exchange::new(200, "text/plain", b"a\xffb".to_vec());
    assert_eq!(Talk::new([bad]).ask("hi").await, "text a\u{fffd}b\ndone EndTurn");
    let broken = Exchange::event_stream("data: {\"type\":\"status\",\"content\":\"s\"}\n\n")
        .ending(Ending::Failure(TransportFailure::Broken("reset".into())));
    assert_eq!(Talk::new([broken]).ask("hi").await, "status s\nfailed transport: connection lost: reset");
}

/// TR-3, TR-7, TR-8: the content travels, and the second request of an answer waits for the first result.
#[tokio::test]
async fn requests_run_one_after_another_and_their_results_travel() {
    let answer = |text: &str| Exchange::json(json!({"response": text}).to_string());
    let mut talk = Talk::new([
        Exchange::event_stream(fixture("agent_zero/tool_request.sse")),
        answer("noted"),
        answer("Done"),
    ]);
    let waiting = r#"[{"tool_name":"list_files","command":"list_files","reason":"No reason given","payload":{"path":"."},"tool_call_id":"t-2"}]"#;
    assert_eq!(
        talk.ask("look").await,
        format!(
            "status Looking\nstate {{\"context_id\":\"ctx-1\",\"waiting\":{waiting}}}\n\
             reason The server asks for `read_file a.txt`: to see it\ncall read_file t-1\n\
             input {{\"path\":\"a.txt\"}}\ndone ToolUse"
        )
    );
    let data =
        json!({"ok": true, "data": {"path": "a.txt", "content": "alpha\n", "truncated": false, "bytes": 6}});
    assert_eq!(
        talk.answer(true, data, "alpha\n").await,
        "state {\"context_id\":\"ctx-1\"}\ntext noted\ncall list_files t-2\ninput {\"path\":\".\"}\ndone ToolUse"
    );
    let sent: Value = serde_json::from_str(talk.sent(1)["message"].as_str().unwrap()).unwrap();
    assert_eq!(
        sent,
        json!({"tool_result": {
            "tool_name": "read_file", "ok": true, "output": "alpha\n",
            "details": {"path": "a.txt", "bytes": 6, "truncated": false}, "tool_call_id": "t-1",
        }})
    );
    assert_eq!(talk.sent(1)["context_id"], "ctx-1");
    let refused = json!({"ok": false, "error": {"code": "permission_denied", "message": "no"}});
    assert!(talk.answer(false, refused, "no").await.ends_with("text Done\ndone EndTurn"));
    let sent: Value = serde_json::from_str(talk.sent(2)["message"].as_str().unwrap()).unwrap();
    assert_eq!(
        sent["tool_result"],
        json!({
            "tool_name": "list_files", "ok": false, "output": "no",
            "details": {"command": "list_files .", "reason": "no", "code": "permission_denied"}, "tool_call_id": "t-2",
        })
    );
}

#[tokio::test]
async fn results_that_stay_here() {
    let request = || Exchange::json(r#"{"type":"tool_request","tool_name":"ls"}"#);
    let mut talk = Talk::new([request()]);
    talk.ask("go").await;
    let ok = json!({"ok": true, "data": {}});
    assert_eq!(
        talk.answer(true, ok.clone(), "x").await,
        "status The tool's result was not sent: the server has given no context id\ndone Other(\"the tool's result was not sent\")"
    );
    let off = AgentZeroOptions { send_tool_results: false, ..AgentZeroOptions::default() };
    let with_id = Exchange::json(r#"{"type":"tool_request","tool_name":"ls","context_id":"c"}"#);
    let mut talk = Talk::with(off, None, [with_id]);
    talk.ask("go").await;
    assert_eq!(
        talk.answer(true, ok, "x").await,
        "status The tool's result was not sent: `connection.send_tool_results` is false\n\
         done Other(\"the tool's result was not sent\")"
    );
    assert_eq!(talk.transport.requests().len(), 1);
}

#[tokio::test]
async fn rounds_have_a_bound() {
    let options = AgentZeroOptions { max_tool_rounds: 2, ..AgentZeroOptions::default() };
    let request = || Exchange::json(r#"{"type":"tool_request","tool_name":"ls","context_id":"c"}"#);
    let mut talk = Talk::with(options, None, [request(), request(), request()]);
    talk.ask("go").await;
    let ok = || json!({"ok": true, "data": {"entries": [], "path": ".", "truncated": false}});
    assert!(talk.answer(true, ok(), "").await.ends_with("done ToolUse"));
    assert!(talk.answer(true, ok(), "").await.ends_with("done ToolUse"));
    assert_eq!(
        talk.answer(true, ok(), "").await,
        "failed api_error: the server asked for tools 2 times in a row (`connection.max_tool_rounds`)"
    );
}

/// SRV-1, SRV-6: another route, a chat that is gone.
#[tokio::test]
async fn routes_and_chats_that_are_not_there() {
    let answer = |id: &str| Exchange::json(json!({"context_id": id, "response": "ok"}).to_string());
    let no_route = || Exchange::new(404, "text/html", "<h1>Not Found</h1>");
    let lost = || Exchange::new(404, "application/json", r#"{"error":"Context not found"}"#);
    let mut talk = Talk::new([no_route(), answer("c-1"), lost(), answer("c-2")]);
    assert_eq!(
        talk.ask("hi").await,
        "status The server has no handler at http://a0.test/api_message; http://a0.test/api/api_message is used from now on\n\
         state {\"context_id\":\"c-1\"}\ntext ok\ndone EndTurn"
    );
    assert_eq!(
        talk.ask("more").await,
        "status The server no longer knows this chat (it expired or was removed); a new one begins\n\
         state {\"context_id\":\"c-2\"}\ntext ok\ndone EndTurn"
    );
    let urls: Vec<_> = talk.transport.requests().into_iter().map(|request| request.url).collect();
    assert_eq!(urls[1..], ["http://a0.test/api/api_message"; 3]);
    assert_eq!((talk.sent(2)["context_id"].as_str(), talk.sent(3).get("context_id")), (Some("c-1"), None));
}

/// SRV-1: only `Context not found` is an answer of the handler; a route is remembered once something is there.
#[tokio::test]
async fn a_route_that_is_not_there_says_so_in_any_words() {
    let no_route = |body: &str| Exchange::new(404, "application/json", body.to_owned());
    let answer = || Exchange::json(r#"{"context_id":"c","response":"ok"}"#);
    let first = no_route(r#"{"detail":"Not Found"}"#);
    assert!(Talk::new([first, answer()]).ask("hi").await.ends_with("text ok\ndone EndTurn"));
    let refused = || Exchange::new(405, "text/html", "<h1>Method Not Allowed</h1>");
    let mut nowhere = Talk::new([no_route(r#"{"error":"no such page"}"#), refused(), refused(), answer()]);
    assert_eq!(
        nowhere.ask("hi").await,
        "failed http_status: HTTP 404: no such page (http://a0.test/api_message)"
    );
    assert!(nowhere.ask("again").await.ends_with("text ok\ndone EndTurn"));
    let urls: Vec<_> = nowhere.transport.requests().into_iter().map(|request| request.url).collect();
    let [old, new] = ["http://a0.test/api_message", "http://a0.test/api/api_message"];
    assert_eq!(urls, [old, new, old, new]);
}

/// SRV-10: whether the server is well; one without such a page is there all the same.
#[tokio::test]
async fn whether_it_is_well() {
    let page = |status: u16, body: &str| Exchange::new(status, "text/plain", body.to_owned());
    let talk = Talk::new([page(200, "{}"), page(404, "none"), page(503, "starting")]);
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(talk.provider.health().await.map_err(|failure| failure.message));
    }
    assert_eq!(told, [Ok(()), Ok(()), Err("HTTP 503: starting".to_owned())]);
    let asked = &talk.transport.requests()[0];
    assert_eq!((asked.method, asked.url.as_str()), (Method::Get, "http://a0.test/api/health"));
}

#[tokio::test]
async fn errors_of_the_real_server() {
    for (status, body, expected) in [
        (401, "API key required", "HTTP 401: API key required"),
        (401, "Invalid API key sk-test-key", "HTTP 401: Invalid API key [REDACTED]"),
        (400, r#"{"error":"Message is required"}"#, "HTTP 400: Message is required"),
        (500, "{\"error\": \"said \"no\" here\"}", "HTTP 500: {\"error\": \"said \"no\" here\"}"),
        (500, "Internal Server Error", "HTTP 500: Internal Server Error"),
    ] {
        let said = Talk::new([Exchange::new(status, "text/html", body)]).ask("hi").await;
        assert_eq!(said, format!("failed http_status: {expected} (http://a0.test/api_message)"));
    }
}

struct Fixed;

impl PrefaceBuilder for Fixed {
    fn build(&self, known: Option<&str>, new_chat: bool) -> Preface {
        let due = new_chat || known != Some("sig");
        Preface {
            blocks: if due { vec!["[OBS]".to_owned(), "[CTX]".to_owned()] } else { Vec::new() },
            signature: due.then(|| "sig".to_owned()),
            status: if due { vec!["Context ready".to_owned()] } else { Vec::new() },
            attachments: Vec::new(),
        }
    }
}

/// REQ-6, and the signature that is kept with the chat.
#[tokio::test]
async fn blocks_go_before_the_words_when_they_are_due() {
    let answer = || Exchange::json(r#"{"context_id":"c","response":"ok"}"#);
    let options = AgentZeroOptions { server_project: Some("p".into()), ..AgentZeroOptions::default() };
    let mut talk = Talk::with(options, Some(Arc::new(Fixed)), [answer(), answer()]);
    assert_eq!(
        talk.ask("hi").await,
        "status Context ready\nstate {\"context_id\":\"c\",\"context_signature\":\"sig\"}\ntext ok\ndone EndTurn"
    );
    assert_eq!(talk.sent(0)["message"], "[OBS]\n\n[CTX]\n\nUSER: hi");
    assert_eq!(talk.sent(0)["project_name"], "p");
    talk.ask("more").await;
    assert_eq!((talk.sent(1)["message"].as_str(), talk.sent(1).get("project_name")), (Some("more"), None));
}

/// A server that takes its time, and whose log changes meanwhile.
struct Slow {
    polls: Mutex<usize>,
}

impl Transport for Slow {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(async move {
            if request.url.ends_with("/api_message") {
                tokio::time::sleep(Duration::from_millis(4500)).await;
                return Ok(Exchange::json(r#"{"context_id":"c","response":"done"}"#).response());
            }
            let poll = {
                let mut polls = self.polls.lock().expect("nobody panics while counting");
                *polls += 1;
                *polls
            };
            let item = |no: u32, kind: &str, text: &str| json!({"no": no, "type": kind, "heading": text, "content": ""});
            let agent = |text: &str| json!({"no": 2, "type": "agent", "heading": "A0: Calling LLM", "kvps": {"thoughts": text}});
            let (guid, items) = match poll {
                1 => ("g", vec![item(0, "tool", "old"), item(1, "user", "hi"), agent("I")]),
                2 => (
                    "g",
                    vec![
                        item(0, "tool", "old"),
                        item(1, "user", "hi"),
                        agent("I think"),
                        item(3, "code_exe", "ran"),
                    ],
                ),
                // A moment's trouble.
                3 => return Err(TransportFailure::Broken("reset".into())),
                _ => {
                    let answer =
                        json!({"no": 1, "type": "response", "heading": "A0: Responding", "content": "do"});
                    ("new", vec![item(0, "warning", "careful"), answer])
                }
            };
            Ok(Exchange::json(json!({"log": {"guid": guid, "items": items}}).to_string()).response())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn waits_are_reported_and_the_log_is_followed() {
    let options = AgentZeroOptions { keepalive: Some(Duration::from_secs(3)), ..AgentZeroOptions::default() };
    let transport = Arc::new(Slow { polls: Mutex::default() });
    let known = Exchange::json(r#"{"context_id":"c","response":"ok"}"#);
    let mut talk = Talk::with(options.clone(), None, [known]);
    talk.ask("first").await;
    talk.provider = AgentZero::new(endpoint(transport.clone()), options.clone(), None);
    assert_eq!(
        talk.ask("hi").await,
        "thinking I\n\nstatus Server: A0: Calling LLM\nthinking  think\n\nstatus The server's tool: ran\n\
         status Waiting for the server (3 s)\nstatus Server warning: careful\nstatus Server answers: do\nstate {\"context_id\":\"c\"}\ntext done\ndone EndTurn"
    );
    let limited = AgentZeroOptions {
        max_wait: Some(Duration::from_secs(2)),
        keepalive: None,
        log_poll: None,
        ..options
    };
    talk.provider = AgentZero::new(endpoint(transport), limited, None);
    assert_eq!(talk.ask("hi").await, "failed timeout: no answer after 2 s (`connection.max_wait_seconds`)");
}

#[tokio::test]
async fn a_chat_is_reset_and_ended() {
    let mut talk = Talk::new([
        Exchange::json(r#"{"context_id":"c","response":"ok"}"#),
        Exchange::json("{}"),
        Exchange::new(404, "application/json", r#"{"error":"Context not found"}"#),
    ]);
    talk.provider.reset(&talk.messages).await.unwrap();
    assert_eq!(talk.transport.requests().len(), 0, "no chat, nothing to do");
    talk.ask("hi").await;
    talk.provider.reset(&talk.messages).await.unwrap();
    talk.provider.terminate(&talk.messages).await.unwrap();
    let urls: Vec<_> = talk.transport.requests().into_iter().map(|request| request.url).collect();
    assert_eq!(urls[1..], ["http://a0.test/api_reset_chat", "http://a0.test/api_terminate_chat"]);
    assert_eq!(talk.sent(1), json!({"context_id": "c"}));
}
