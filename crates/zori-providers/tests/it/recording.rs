//! Recordings of every API: what is written, that the same comes out of them again, and what is said where it cannot.

use std::future::poll_fn;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;
use zori_core::provider::{Delivery, Provider};
use zori_core::server_recording::{ConnectionEvent, ConnectionFailure};
use zori_core::transport::{
    HttpRequest, Method, Redirects, Timeouts, Transport, TransportFailure, named_headers,
};
use zori_providers::recording::player::{Departure, Folders, Player, Strictness};
use zori_providers::recording::recorder::{Recorder, RecordingTransport};
use zori_providers::recording::secrets::Secrets;
use zori_providers::recording::{Recording, RecordingError, ServerEvent, Shape, Start};
use zori_providers::replay::{Chunking, Ending, Exchange, ReplayTransport};

use crate::ask::{StoppedClock, anthropic, ask};
use crate::chat_ask::{all_chats, asked, chat};
use crate::vendor::Vendor;

/// A file that can be read while it is written; full after so many bytes.
#[derive(Clone)]
struct Tape(Arc<Mutex<Vec<u8>>>, usize);

impl Tape {
    fn new() -> Self {
        Self(Arc::default(), usize::MAX)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no test panics with it").clone()).expect("lines are text")
    }
}

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().expect("no test panics with it");
        let room = self.1 - all.len();
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let part = &bytes[..bytes.len().min(room)];
        all.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn start() -> Start {
    Start {
        program: "zori 1.2.3".to_owned(),
        profile: "zori".to_owned(),
        root: "/home/ada/engine".to_owned(),
        provider: "anthropic".to_owned(),
        base_url: "http://someone:hunter2@api.test".to_owned(),
        model: "claude-haiku-4-5".to_owned(),
        shape: Shape {
            system: None,
            max_tokens: None,
            temperature: None,
            effort: None,
            delivery: Delivery::Streamed,
            tool_style: None,
        },
    }
}

/// A transport that answers so, with a recorder before it.
fn recorded(tape: &Tape, exchanges: Vec<Exchange>) -> (Arc<RecordingTransport>, Arc<Recorder>) {
    recorded_with(tape, exchanges, &["sk-test-key"].into_iter().collect())
}

fn recorded_with(
    tape: &Tape,
    exchanges: Vec<Exchange>,
    secrets: &zori_core::secret::Secrets,
) -> (Arc<RecordingTransport>, Arc<Recorder>) {
    let secrets = Secrets::new(secrets);
    let recorder = Recorder::start(Box::new(tape.clone()), &start(), secrets, Arc::new(StoppedClock));
    let recorder = Arc::new(recorder.expect("the first line fits"));
    let inner = Arc::new(ReplayTransport::new(exchanges));
    (Arc::new(RecordingTransport::new(inner, recorder.clone())), recorder)
}

fn folders() -> Folders {
    Folders { recorded: "/home/ada/engine".to_owned(), present: "/srv/engine".to_owned() }
}

fn player(text: &str) -> Arc<Player> {
    let recording = Recording::parse(text).expect("it was just recorded");
    Arc::new(Player::new(recording.traffic, folders(), Strictness::Strict))
}

/// Asks twice, once to be recorded and once to be answered by the recording, and returns what was said.
async fn again(
    exchange: Exchange,
    delivery: Delivery,
    provider: impl Fn(Arc<dyn Transport>) -> Box<dyn Provider>,
) -> (String, String) {
    let tape = Tape::new();
    let first = ask(&*provider(recorded(&tape, vec![exchange]).0), delivery).await;
    let player = player(&tape.text());
    let second = ask(&*provider(player.clone()), delivery).await;
    assert_eq!((player.unasked(), player.departure()), (0, None));
    (first, second)
}

#[tokio::test]
async fn every_stream_of_every_api_comes_out_again() {
    let mut cases = 0;
    let lost = Ending::Failure(TransportFailure::Broken("reset".to_owned()));
    let variants = |bytes: Vec<u8>| {
        let (whole, half) = (Exchange::event_stream(bytes.clone()), bytes[..bytes.len() / 2].to_vec());
        [whole.clone().chunked(Chunking::EveryByte), Exchange::event_stream(half).ending(lost.clone()), whole]
    };
    for vendor in Vendor::ALL {
        for (name, bytes) in vendor.streams() {
            for exchange in variants(bytes) {
                let (first, second) =
                    again(exchange, Delivery::Streamed, |transport| vendor.provider(transport)).await;
                assert_eq!(first, second, "{name}");
                cases += 1;
            }
        }
    }
    for (name, bytes) in all_chats() {
        let (provider, tools) = asked(&name);
        for exchange in variants(bytes) {
            let (first, second) =
                again(exchange, Delivery::Streamed, |transport| Box::new(chat(provider, tools, transport)))
                    .await;
            assert_eq!(first, second, "{name}");
            cases += 1;
        }
    }
    assert!(cases > 200, "only {cases} cases");
}

#[tokio::test]
async fn refusals_come_out_again() {
    let mut limited = Exchange::new(429, "application/json", r#"{"error":{"message":"slow"}}"#);
    limited.headers.push(("retry-after".to_owned(), "7".to_owned()));
    let page = Exchange::new(502, "text/html", "<h1>Bad</h1>");
    let broken = Exchange::json([0xff, 0xfe].as_slice());
    for exchange in [limited, page, broken, Exchange::new(204, "text/plain", "")] {
        for delivery in [Delivery::Streamed, Delivery::Whole] {
            let (first, second) =
                again(exchange.clone(), delivery, |transport| Box::new(anthropic(transport))).await;
            assert_eq!(first, second);
        }
    }
}

/// The whole file, with the key in each place a server could repeat it, cut in the middle.
#[tokio::test]
async fn what_is_written() {
    let body = "data: {\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"not sk-test-key\"}}\n\n";
    let mut exchange = Exchange::event_stream(body).chunked(Chunking::CutAt(body.len() - 10));
    exchange.headers.push(("set-cookie".to_owned(), "session=1".to_owned()));
    exchange.headers.push(("request-id".to_owned(), "sk-test-key".to_owned()));
    let tape = Tape::new();
    let (transport, recorder) = recorded(&tape, vec![exchange]);
    recorder.prompt(&"hi, my key is sk-test-key".into());
    ask(&anthropic(transport), Delivery::Streamed).await;
    insta::assert_snapshot!(tape.text(), @r#"
    {"type":"recording","version":1,"program":"zori 1.2.3","profile":"zori","root":"/home/ada/engine","provider":"anthropic","base_url":"http://api.test","model":"claude-haiku-4-5","settings":{"system":null,"max_tokens":null,"temperature":null,"thinking":null,"stream":true,"tool_calls":null}}
    {"type":"prompt","ms":0,"text":"hi, my key is [REDACTED]"}
    {"type":"request","ms":0,"n":1,"method":"POST","url":"http://api.test/v1/messages","body":{"model":"claude-haiku-4-5","max_tokens":64000,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}}
    {"type":"answer","ms":0,"n":1,"status":200,"url":"","headers":{"content-type":"text/event-stream; charset=utf-8","request-id":"[REDACTED]"}}
    {"type":"data","ms":0,"n":1,"text":"data: {\"type\":\"error\",\"error\":{\"type\":\"x\",\"message\":\"not [REDACTED]\"}}\n\n"}
    {"type":"end","ms":0,"n":1,"how":"cancelled"}
    "#);
}

/// A secret of digits only may stand as a number: the line stays JSON, and the replay finds the same request.
#[tokio::test]
async fn numbers_that_are_secrets() {
    let known: zori_core::secret::Secrets = ["12345678"].into_iter().collect();
    let tape = Tape::new();
    let (transport, recorder) = recorded_with(&tape, vec![Exchange::json("{}")], &known);
    let said =
        json!({"id": 1, "result": {"pin": 12345678, "n": 7, "12345678": "x 12345678", "all": [912345678]}});
    let event = ConnectionEvent::Received(said);
    recorder.server(ServerEvent { server: "s".to_owned(), connection: 1, event });
    text(&*transport, post(r#"{"pin":12345678,"n":7}"#)).await;
    let recording = Recording::parse(&tape.text()).expect("each line is JSON");
    let clean = json!({"id": 1, "result": {"pin": "[REDACTED]", "n": 7, "[REDACTED]": "x [REDACTED]", "all": ["[REDACTED]"]}});
    assert_eq!(recording.servers[0].event, ConnectionEvent::Received(clean));
    assert_eq!(recording.traffic[0].body, json!({"pin": "[REDACTED]", "n": 7}));
    assert_eq!(text(&*player(&tape.text()), post(r#"{"pin":12345678,"n":7}"#)).await, "{}");
}

/// What is learnt while the recording is written is left out from then on, wherever it stands.
#[tokio::test]
async fn secrets_that_are_learnt_later() {
    let known = zori_core::secret::Secrets::default();
    let piece = |text: &str| format!("data: {{\"delta\":{{\"content\":\"{text}\"}}}}\n\n");
    let answer = piece("whole renewed-token.") + &piece("renewed-") + &piece("token.");
    let tape = Tape::new();
    let (transport, recorder) = recorded_with(&tape, vec![Exchange::event_stream(answer)], &known);
    known.add(&"renewed-token".into());
    recorder.prompt(&"renewed-token".into());
    text(&*transport, post(r#"{"a":"renewed-token"}"#)).await;
    let event = ConnectionEvent::Sent(json!({"a": "renewed-token"}));
    recorder.server(ServerEvent { server: "s".to_owned(), connection: 1, event });
    let lines = tape.text();
    assert_eq!((lines.contains("renewed-"), lines.matches("[REDACTED]").count()), (false, 5), "{lines}");
}

fn post(body: &'static str) -> HttpRequest {
    HttpRequest {
        method: Method::Post,
        url: "http://api.test/v1/messages".to_owned(),
        headers: named_headers([("x-api-key", "sk-test-key".to_owned())]),
        body: body.into(),
        limits: Timeouts::DEFAULT,
        redirects: Redirects::SameOrigin,
        addresses: Default::default(),
    }
}

fn get(url: &str) -> HttpRequest {
    HttpRequest { method: Method::Get, url: url.to_owned(), ..post("") }
}

async fn text(transport: &dyn Transport, request: HttpRequest) -> String {
    let mut response = match transport.send(request).await {
        Ok(response) => response,
        Err(failure) => return format!("refused {failure:?}"),
    };
    let mut out = String::new();
    while let Some(piece) = poll_fn(|cx| response.body.as_mut().poll_next(cx)).await {
        out += &piece
            .map_or_else(|failure| format!(" {failure:?}"), |bytes| String::from_utf8_lossy(&bytes).into());
    }
    out
}

/// Pages are found by their address in any order; requests of the model keep theirs.
#[tokio::test]
async fn pages_and_models() {
    let tape = Tape::new();
    let (transport, _) = recorded(&tape, ["1", "2", "a", "b"].map(Exchange::json).to_vec());
    for request in [post("1"), post("2"), get("http://page.test/a"), get("http://page.test/b?key=x")] {
        text(&*transport, request).await;
    }
    let player = player(&tape.text());
    assert_eq!(text(&*player, get("http://page.test/b?key=y")).await, "b");
    assert_eq!(text(&*player, get("http://page.test/a")).await, "a");
    let gone = r#"refused Replay("the recording has no answer to GET http://page.test/a")"#;
    assert_eq!(text(&*player, get("http://page.test/a")).await, gone);
    assert_eq!(player.unasked(), 2);
    let differs = r#"refused Replay("request 1 differs from the recording at ``: recorded `1`, now `2`")"#;
    assert_eq!(text(&*player, post("2")).await, differs);
    assert_eq!(player.departure(), Some(Departure::Request));
    assert_eq!(text(&*player, post("1")).await, "1");
    assert_eq!(text(&*player, post("2")).await, "2");
    let more = r#"refused Replay("the run asks once more, but the recording has only 4 requests")"#;
    assert_eq!(text(&*player, post("3")).await, more);
}

#[tokio::test]
async fn a_lenient_player_goes_on_and_notes_it() {
    let tape = Tape::new();
    let (transport, _) = recorded(&tape, vec![Exchange::json("one")]);
    text(&*transport, post(r#"{"a":[1,2]}"#)).await;
    let player = Player::new(Recording::parse(&tape.text()).unwrap().traffic, folders(), Strictness::Lenient);
    assert_eq!(text(&player, post(r#"{"a":[1,3]}"#)).await, "one");
    assert_eq!(
        player.take_notes(),
        ["request 1 differs from the recording at `/a/1`: recorded `2`, now `3`"]
    );
    assert_eq!(player.take_notes(), [""; 0]);
}

/// A crash at any byte leaves a recording that can be read, from the first line on.
#[tokio::test]
async fn a_file_that_ends_anywhere() {
    let tape = Tape::new();
    let (transport, _) = recorded(&tape, vec![Exchange::json("{\"a\":1}").chunked(Chunking::CutAt(3))]);
    text(&*transport, post("{}")).await;
    let whole = tape.text();
    let first = whole.find('\n').unwrap();
    for at in first..whole.len() {
        let said = match Recording::parse(&whole[..at]).unwrap().traffic.len() {
            0 => continue,
            _ => text(&*player(&whole[..at]), post("{}")).await,
        };
        let ends = r#"Replay("the recording ends here: the file ends in the middle of answer 1")"#;
        assert!(said.ends_with(ends) || said == "{\"a\":1}", "{at}: {said}");
    }
    assert_eq!(Recording::parse(&whole[..first - 1]).unwrap_err(), RecordingError::NotOne);
}

/// The run goes on when the disk is full, and what is there stays a recording.
#[tokio::test]
async fn a_full_disk_is_told_once() {
    let whole = Tape::new();
    text(&*recorded(&whole, vec![Exchange::json("x")]).0, post("{}")).await;
    let len = whole.text().len();
    let first = whole.text().find('\n').unwrap() + 1;
    for room in first..len {
        let tape = Tape(Arc::default(), room);
        let (transport, recorder) = recorded(&tape, vec![Exchange::json("x")]);
        assert_eq!(text(&*transport, post("{}")).await, "x");
        let told: Vec<_> = [recorder.take_failure(), recorder.take_failure()]
            .into_iter()
            .map(|failure| failure.map(|error| error.kind()))
            .collect();
        assert_eq!(told, [Some(io::ErrorKind::StorageFull), None], "{room}");
        Recording::parse(&tape.text()).unwrap();
    }
    let tape = Tape(Arc::default(), 10);
    let none = Recorder::start(
        Box::new(tape),
        &start(),
        Secrets::new(&[].into_iter().collect()),
        Arc::new(StoppedClock),
    );
    assert_eq!(none.err().map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
}

#[test]
fn what_is_no_recording() {
    let first = r#"{"type":"recording","version":1,"program":"p","profile":"zori","root":"/","provider":"openai","base_url":"u","model":"m","settings":{"stream":true,"thinking":null}}"#;
    let why = |text: &str| Recording::parse(text).map(|_| ()).unwrap_err().to_string();
    let behind = |line: &str| why(&format!("{first}\n{line}\n"));
    assert_eq!(why(""), "it does not begin as a recording does");
    assert_eq!(why("PK\u{3}\u{4}"), "it does not begin as a recording does");
    assert_eq!(why(r#"{"type":"meta","version":1}"#), "it does not begin as a recording does");
    assert_eq!(
        why(&first.replace("\"version\":1", "\"version\":9")),
        "it has version 9 of the format, and this program reads version 1"
    );
    assert_eq!(why(&first.replace(":null", ":\"deep\"")), "line 1: `thinking` cannot be `deep`");
    assert_eq!(behind("{"), "line 2: EOF while parsing an object at line 1 column 1");
    assert_eq!(behind(r#"{"type":"end","n":1,"how":"complete"}"#), "line 2: there is no request 1 before it");
    assert_eq!(
        behind(r#"{"type":"request","n":1,"method":"PATCH","url":""}"#),
        "line 2: unknown method `PATCH`"
    );
    assert_eq!(behind(first), "line 2: a second beginning");
    let newer = format!("{first}\n\n{{\"type\":\"later\",\"x\":1}}\n");
    assert_eq!(Recording::parse(&newer).unwrap().traffic.len(), 0);
    let mcp =
        |event: &str| format!("{{\"type\":\"mcp\",\"ms\":1,\"server\":\"s\",\"connection\":1,{event}}}");
    let newer =
        [first, &mcp(r#""paused":{"x":1}"#), &mcp(r#""closed":{"message":"gone","since":1}"#), ""].join("\n");
    let closed = ConnectionEvent::Closed(ConnectionFailure::Gone("gone".to_owned()));
    assert_eq!(
        Recording::parse(&newer).unwrap().servers,
        [ServerEvent { server: "s".to_owned(), connection: 1, event: closed }]
    );
    assert_eq!(behind(&mcp(r#""failed":{"message":"gone"}"#)), "line 2: missing field `id`");
}
