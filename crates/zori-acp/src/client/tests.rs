use serde_json::json;
use zori_core::ids::CallId;
use zori_core::input::Approval;
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::question::{Preview, Question};

use super::*;
use crate::request::{OpenMode, SessionSetup};
use crate::sample::{Paper, client, redactor, stranger};

/// What a line comes to: the request, if it is one, and what the client is told at once.
fn hear((client, paper): &(AcpClient, Paper), line: &str) -> (Option<Request>, Vec<Value>) {
    let request = client.handle_line(line);
    (request, paper.told())
}

fn error(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[test]
fn the_first_words() {
    let client = stranger();
    let asked = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":7,
        "clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":true}}}"#;
    let (request, told) = hear(&client, &asked.replace('\n', ""));
    assert!(request.is_none());
    assert_eq!(
        told,
        [json!({"jsonrpc": "2.0", "id": "a", "result": {
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": true},
                "sessionCapabilities":
                    {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
                "auth": {},
            },
            "authMethods": [{"id": "key", "name": "A key", "description": "Set it"}],
            "agentInfo": {"name": "zori", "version": "1.2.3"},
        }})]
    );
    let can = ClientSupport { read_files: true, terminals: true, ..ClientSupport::default() };
    assert_eq!(client.0.support(), can);
}

#[test]
fn nothing_comes_before_them() {
    let client = stranger();
    let (request, told) =
        hear(&client, r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}"#);
    assert!(request.is_none());
    assert_eq!(told, [error(json!(1), -32600, "`initialize` comes before everything else")]);
}

#[test]
fn lines_that_are_no_requests() {
    let client = client();
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for (line, wanted) in [
        ("", None),
        ("  ", None),
        (r#"{"jsonrpc":"2.0","method":"session/unheard_of"}"#, None),
        (r#"{"jsonrpc":"2.0","method":"session/cancel"}"#, None),
        // Answers to what was never asked, and answers that make no sense.
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, None),
        (r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":2}"#, None),
        ("{", Some(error(Value::Null, -32700, "Parse error"))),
        (deep.as_str(), Some(error(Value::Null, -32700, "Parse error"))),
        ("17", Some(error(Value::Null, -32600, "Invalid request"))),
        (r#"{"jsonrpc":"2.0"}{"jsonrpc":"2.0"}"#, Some(error(Value::Null, -32700, "Parse error"))),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"session/list"}]"#,
            Some(error(Value::Null, -32600, "Invalid request")),
        ),
    ] {
        let (request, mut told) = hear(&client, line);
        assert!(request.is_none(), "{line}");
        // What the crate adds as data is its own business.
        told.iter_mut().for_each(|told| drop(told["error"].as_object_mut().unwrap().remove("data")));
        assert_eq!(told, Vec::from_iter(wanted), "{line}");
    }
}

#[test]
fn requests_that_cannot_be() {
    let client = client();
    for (method, params, code, message) in [
        ("session/new", json!({}), -32602, "invalid params: missing field `cwd`"),
        (
            "session/new",
            json!({"cwd": "x", "mcpServers": []}),
            -32602,
            "`cwd` must be an absolute path, not `x`",
        ),
        (
            "session/resume",
            json!({"sessionId": "s", "cwd": "/w", "additionalDirectories": ["/v", "lib"]}),
            -32602,
            "`additionalDirectories` must be an absolute path, not `lib`",
        ),
        ("session/prompt", json!({"sessionId": "s", "prompt": []}), -32602, "the prompt is empty"),
        (
            "session/set_config_option",
            json!({"sessionId": "s", "configId": "mode", "type": "boolean", "value": true}),
            -32602,
            "`value` must be the id of one of the option's values",
        ),
    ] {
        let line = json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}).to_string();
        let (request, told) = hear(&client, &line);
        assert!(request.is_none(), "{line}");
        assert_eq!(told, [error(json!(5), code, message)], "{line}");
    }
    let (_, told) = hear(&client, r#"{"jsonrpc":"2.0","id":5,"method":"session/teleport"}"#);
    let message = "Method not found";
    let data = "there is no method `session/teleport`";
    let wanted =
        json!({"jsonrpc": "2.0", "id": 5, "error": {"code": -32601, "message": message, "data": data}});
    assert_eq!(told, [wanted]);
}

#[test]
fn requests() {
    let client = client();
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/w",
        "additionalDirectories":["/v"],"mcpServers":[{"name":"m","command":"/bin/m","args":[],"env":[]}]}}"#;
    let (request, _) = hear(&client, &line.replace('\n', ""));
    let Some(Request::Open { how, place, reply }) = request else { panic!("it opens a session") };
    let server = ("m".to_owned(), json!({"command": "/bin/m", "args": [], "env": {}}));
    let wanted = SessionSetup { cwd: "/w".into(), more: vec!["/v".into()], servers: vec![server] };
    assert_eq!((how, place), (OpenMode::Load("s".to_owned()), wanted));
    // Nobody answers, and the client is told.
    drop(reply);
    assert_eq!(
        client.1.told(),
        [error(json!(1), -32603, "the request came to nothing: its session is over")]
    );
    let prompt = r#"{"jsonrpc":"2.0","id":"p-1","method":"session/prompt","params":{"sessionId":"s",
        "prompt":[{"type":"text","text":"hi"}]}}"#;
    let (request, _) = hear(&client, &prompt.replace('\n', ""));
    assert_eq!(request.as_ref().and_then(Request::id).as_deref(), Some("p-1"));
    let Some(Request::Prompt { session, prompt, reply }) = request else { panic!("it is a prompt") };
    assert_eq!((session.as_str(), prompt.text.as_str()), ("s", "hi"));
    reply.ok(crate::outcome::PromptEnd::EndTurn);
    assert_eq!(
        client.1.told(),
        [json!({"jsonrpc": "2.0", "id": "p-1", "result": {"stopReason": "end_turn"}})]
    );
}

fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

async fn ask(client: &AcpClient, question: &Question) -> Option<Approval> {
    let decision = Decision::new(Verdict::Ask, Class::Shell, "why");
    client.ask("s", &CallId::new("c"), question, &decision, &redactor()).await
}

/// The second answer, and one for a question that was taken back, change nothing (IO-7).
#[test]
fn questions_and_answers() {
    let question = Question {
        tool: "t".to_owned(),
        preview: Preview::Input("{}".to_owned()),
        grants: Vec::new(),
        explanation: Vec::new(),
    };
    let (client, paper) = client();
    let unavailable = |why: &str| Some(Approval::Unavailable { why: why.to_owned() });
    let answer = |line: &'static str| {
        let (client, question) = (&client, &question);
        now(async move {
            let answered = async {
                tokio::task::yield_now().await;
                assert!(client.handle_line(line).is_none());
                assert!(client.handle_line(line).is_none());
            };
            let (approval, ()) = tokio::join!(ask(client, question), answered);
            approval
        })
    };
    let yes = r#"{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}"#;
    assert_eq!(answer(yes), Some(Approval::Allow));
    let failed = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no window"}}"#;
    assert_eq!(answer(failed), unavailable("the client did not answer: no window"));
    paper.told();

    now(async {
        let mut asking = std::pin::pin!(ask(&client, &question));
        assert!(
            std::future::poll_fn(|cx| std::task::Poll::Ready(asking.as_mut().poll(cx))).await.is_pending()
        );
    });
    let told = paper.told();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1], json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 3}}));

    let gone = now(async {
        let hung_up = async {
            tokio::task::yield_now().await;
            client.disconnect();
        };
        tokio::join!(ask(&client, &question), hung_up).0
    });
    assert_eq!(gone, unavailable("the client is gone, so nobody can answer"));
    assert_eq!(now(ask(&client, &question)), unavailable("the client is gone, so nobody can answer"));
}

/// A terminal that is made after the call was given up is killed and released; the client is told that it was.
#[test]
fn a_terminal_that_comes_too_late() {
    let (client, paper) = client();
    let terminals = crate::terminal::EditorTerminals::new(client.clone(), "s");
    let call = CallId::new("c");
    let job = zori_core::terminal::TerminalCommand {
        call: &call,
        command: "make",
        cwd: std::path::Path::new("/w"),
        timeout: None,
        max_output: 0,
    };
    now(async {
        let mut running = zori_core::terminal::ClientTerminals::run(&terminals, job);
        assert!(
            std::future::poll_fn(|cx| std::task::Poll::Ready(running.as_mut().poll(cx))).await.is_pending()
        );
    });
    let methods = |told: &[Value]| told.iter().map(|told| told["method"].clone()).collect::<Vec<_>>();
    assert_eq!(methods(&paper.told()), ["terminal/create", "$/cancel_request"]);
    let made = r#"{"jsonrpc":"2.0","id":1,"result":{"terminalId":"t-1"}}"#;
    assert!(client.handle_line(made).is_none());
    let told = paper.told();
    assert_eq!(methods(&told), ["terminal/kill", "terminal/release"]);
    assert_eq!(told[1]["params"], json!({"sessionId": "s", "terminalId": "t-1"}));
    // Twice is once.
    assert!(client.handle_line(made).is_none());
    assert_eq!(paper.told(), Vec::<Value>::new());
}
