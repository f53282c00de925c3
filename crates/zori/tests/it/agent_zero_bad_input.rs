//! Servers that misbehave (the bad input of the contract), through the executable: what stdout has, what is said, and the exit code.

use serde_json::{Value, json};
use zori_testkit::agent_zero::KEY;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::reply::{Disconnect, Reply};
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use crate::world::world;

fn at(server: &ModelServer) -> TestEnv {
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    world.set_var("AGENTZERO_KEEPALIVE_SECONDS", "0");
    world.set_var("AGENTZERO_CONTEXT", "no");
    world
}

const EXEC: [&str; 6] = ["exec", "--no-save", "--provider", "agent-zero", "-p", "go"];

/// Standard output, the talk without what depends on the run, and the exit code.
fn told(server: &ModelServer) -> String {
    let output = at(server).run(&EXEC);
    let said = output.stderr().replace(&server.url(), "$SERVER");
    // A slow machine says that it waits.
    let said = said.replace("Waiting for the model; it may take as long as it likes\n", "");
    format!("{}------- stderr -------\n{said}[{:?}]", output.stdout(), output.code())
}

#[test]
fn answers_that_are_none() {
    let sse = |body: Vec<u8>| Reply::bytes(200, "text/event-stream", body);
    let mut big = b"data: ".to_vec();
    big.extend(vec![b'x'; 17 << 20]);
    big.extend_from_slice(b"\n\n");
    let cases: [(&str, Reply); 7] = [
        ("html", Reply::bytes(200, "text/html", "<!doctype html><title>Login</title>")),
        ("an event of 17 MiB", sse(big)),
        ("invalid UTF-8", sse(b"data: {\"type\":\"final_response\",\"content\":\"caf\xe9 \xf0\x9f\"}\n\n".to_vec())),
        ("half an event", sse(b"data: {\"type\":\"status\",\"content\":\"s\"}\n\ndata: {\"type\":\"final_resp".to_vec())),
        (
            "a connection that breaks off",
            Reply::sse("data: {\"type\":\"status\",\"content\":\"s\"}\n\ndata: {\"type\":\"final_response\",\"content\":\"never\"}\n\n")
                .cut_after(40, Disconnect::Rst),
        ),
        ("nothing at all", Reply::bytes(200, "application/json", "")),
        ("an error in the stream", sse(b"data: {\"type\":\"error\",\"message\":\"no model\"}\n\n".to_vec())),
    ];
    let mut text = String::new();
    for (name, reply) in cases {
        let server = ModelServer::answering(move |_| reply.clone());
        text.push_str(&format!("== {name}\n{}\n", told(&server)));
    }
    insta::assert_snapshot!(text, @r#"
    == html
    ------- stderr -------
    Error [parse]: the server answered with a web page, not with a message; check the address (http://127.0.0.1:$PORT/api_message)
      Details: <!doctype html><title>Login</title>
    [Some(1)]
    == an event of 17 MiB
    ------- stderr -------
    Error [parse]: an event of the stream is larger than 16 MiB
    [Some(1)]
    == invalid UTF-8
    caf� �
    ------- stderr -------
    [Some(0)]
    == half an event
    ------- stderr -------
    s
    Error [transport]: the server's answer ended in the middle of an event
    [Some(12)]
    == a connection that breaks off
    ------- stderr -------
    s
    Error [transport]: connection lost: Connection reset by peer (os error 104)
    [Some(12)]
    == nothing at all
    ------- stderr -------
    Warning: The model stopped for an unknown reason: the server's answer was empty
    [Some(0)]
    == an error in the stream
    ------- stderr -------
    Error [api_error]: no model
    [Some(1)]
    "#);
}

/// TR-8: the fifty-first request for a tool ends the turn; fifty results were sent.
#[test]
fn fifty_one_rounds() {
    let server = ModelServer::answering(|_| {
        Reply::json(200, json!({"context_id": "c", "response": {"type": "tool_request", "tool_name": "ls"}}))
    });
    let output = at(&server).run(&EXEC);
    assert_eq!((output.code(), &*output.stdout()), (Some(1), ""), "{output}");
    assert!(
        output
            .stderr()
            .contains("the server asked for tools 50 times in a row (`connection.max_tool_rounds`)"),
        "{output}"
    );
    assert_eq!(server.count(), 51);
}

/// TR-4: a result that has nowhere to go is not sent, and that is said.
#[test]
fn a_result_without_a_chat() {
    let server = ModelServer::answering(|_| {
        Reply::json(200, json!({"response": {"type": "tool_request", "tool_name": "ls"}}))
    });
    let output = at(&server).run(&EXEC);
    assert!(
        output.stderr().contains("The tool's result was not sent: the server has given no context id"),
        "{output}"
    );
    assert_eq!(server.count(), 1);
}

/// SRV-6: a chat that is lost in the middle of a tool round cannot be gone on with; that is said, and nothing is sent twice.
#[test]
fn a_chat_lost_in_a_round() {
    let server = ModelServer::answering(|request| {
        let body: Value = request.json();
        match body["message"].as_str().is_some_and(|message| message.contains("tool_result")) {
            true => Reply::json(404, json!({"error": "Context not found"})),
            false => Reply::json(
                200,
                json!({"context_id": "c", "response": {"type": "tool_request", "tool_name": "ls"}}),
            ),
        }
    });
    let output = at(&server).run(&EXEC);
    assert!(
        output.stderr().contains("the server lost this chat while it ran; ask again to begin a new one"),
        "{output}"
    );
    assert_eq!((output.code(), server.count()), (Some(1), 2), "{output}");
}

/// REQ-7: whoever interrupts a wait without a limit is heard at once: 130.
#[test]
fn an_interrupt_while_the_server_thinks() {
    let gate = Gate::new();
    let held = gate.clone();
    let server = ModelServer::answering(move |_| Reply::sse("data: [DONE]\n\n").wait_after(0, &held));
    let world = at(&server);
    let mut run = world.start(world.cmd(&EXEC), Stdin::Null, Stdout::Captured);
    zori_testkit::wait::until("the message", || server.count() == 1);
    run.interrupt();
    let output = run.finish();
    gate.open();
    assert_eq!((output.code(), &*output.stdout()), (Some(130), ""), "{output}");
}
