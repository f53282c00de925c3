//! IO-5: a line may come in any pieces, and requests before others are answered. Each request of `fixtures/dialogues` is cut in two at
//! every byte, and gets the answer it gets in one piece.

use std::path::Path;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;

use super::line_client::LineClient;
use super::row;
use crate::stream_json;
use crate::world::with_model;

/// A protocol: how it is started, and where requests and answers have their id.
struct Protocol {
    file: &'static str,
    args: fn() -> Vec<&'static str>,
    hello: Option<fn() -> Value>,
    request_id: &'static str,
    answer_id: &'static str,
    /// Ids are numbers, not texts.
    numbers: bool,
}

const PROTOCOLS: &[Protocol] = &[
    Protocol {
        file: "acp.jsonl",
        args: || vec!["acp"],
        hello: Some(
            || json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}),
        ),
        request_id: "/id",
        answer_id: "/id",
        numbers: true,
    },
    Protocol {
        file: "mcp.jsonl",
        args: || vec!["mcp", "serve", "--provider", "anthropic"],
        hello: Some(|| {
            let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}});
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        }),
        request_id: "/id",
        answer_id: "/id",
        numbers: true,
    },
    Protocol {
        file: "claude.jsonl",
        args: || stream_json::args(&["--permission-mode", "bypassPermissions", "--no-session-persistence"]),
        hello: None,
        request_id: "/request_id",
        answer_id: "/response/request_id",
        numbers: false,
    },
];

impl Protocol {
    fn requests(&self) -> Vec<Value> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dialogues").join(self.file);
        let text = std::fs::read_to_string(path).expect("the fixture is there");
        text.lines().map(|line| serde_json::from_str(line).expect("a request a line")).collect()
    }

    fn start(&self, world: &TestEnv) -> LineClient {
        let mut client = LineClient::new(world, &(self.args)());
        if let Some(hello) = self.hello {
            client.send(&hello());
            self.answer(&mut client, &json!(0));
        }
        client
    }

    fn id(&self, number: usize) -> Value {
        if self.numbers { json!(number) } else { json!(number.to_string()) }
    }

    /// The line of a request with this id.
    fn line(&self, request: &Value, id: &Value) -> String {
        let mut request = request.clone();
        *request.pointer_mut(self.request_id).expect("a request has an id") = id.clone();
        format!("{request}\n")
    }

    /// Waits for the answer with this id, and returns it without.
    fn answer(&self, client: &mut LineClient, id: &Value) -> Value {
        let mut answer = client.read_until(|message| message.pointer(self.answer_id) == Some(id));
        *answer.pointer_mut(self.answer_id).expect("it was looked for") = Value::Null;
        answer
    }

    /// Sends a request in one piece.
    fn whole(&self, client: &mut LineClient, request: &Value) -> Value {
        let id = self.id(client.number());
        client.run.write_stdin(self.line(request, &id));
        self.answer(client, &id)
    }
}

/// Every cut of every request.
#[test]
fn requests_in_pieces() {
    let (mut dialogues, mut cuts) = (0, 0);
    for protocol in PROTOCOLS {
        let (world, _model) = with_model([anthropic::text("-")]);
        let mut client = protocol.start(&world);
        for request in protocol.requests() {
            dialogues += 1;
            // Some are answered otherwise the first time.
            protocol.whole(&mut client, &request);
            let expected = protocol.whole(&mut client, &request);
            let length = protocol.line(&request, &protocol.id(0)).len();
            for at in 1..length {
                let id = protocol.id(client.number());
                let line = protocol.line(&request, &id);
                let bytes = line.as_bytes();
                // The number may have more digits than the first.
                let at = at.min(bytes.len() - 1);
                client.run.write_stdin(&bytes[..at]).wait_until_read().write_stdin(&bytes[at..]);
                assert_eq!(protocol.answer(&mut client, &id), expected, "cut at {at}: {line}");
                cuts += 1;
            }
        }
        client.hang_up();
    }
    assert!(dialogues >= 50, "{dialogues} dialogues");
    row("IO-5", format_args!("every cut of {dialogues} requests, each answered as in one piece"), cuts);
}

/// All requests at once: each is answered once, under its own id.
#[test]
fn requests_before_others_are_answered() {
    let rounds = 20;
    let mut requests = 0;
    for protocol in PROTOCOLS {
        let (world, _model) = with_model([anthropic::text("-")]);
        let mut client = protocol.start(&world);
        let mut expected = Vec::new();
        for request in protocol.requests() {
            protocol.whole(&mut client, &request);
            expected.push((protocol.whole(&mut client, &request), request));
        }
        let mut open: Vec<(Value, &Value)> = Vec::new();
        let mut lines = String::new();
        for (answer, request) in std::iter::repeat_n(&expected, rounds).flatten() {
            let id = protocol.id(client.number());
            lines.push_str(&protocol.line(request, &id));
            open.push((id, answer));
        }
        requests += open.len();
        client.run.write_stdin(&lines);
        while !open.is_empty() {
            let mut message = client.read();
            let Some(id) = message.pointer(protocol.answer_id).filter(|id| !id.is_null()).cloned() else {
                continue;
            };
            let at = open.iter().position(|(asked, _)| *asked == id);
            let (_, answer) =
                open.swap_remove(at.unwrap_or_else(|| panic!("an answer twice, or to nothing: {message}")));
            *message.pointer_mut(protocol.answer_id).expect("it was looked for") = Value::Null;
            assert_eq!(message, *answer);
        }
        client.hang_up();
    }
    row("IO-5", "all requests at once, each answered once and under its own id", requests);
}
