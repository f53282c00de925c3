//! What no client should send, and clients that stop or go, for every protocol on standard input alike (IO-1 to IO-7). What
//! each of them says about it in detail is in the tests of that protocol.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use crate::processes::{pids, wait_until_gone};
use crate::world::with_model;

/// A protocol: how it is started, a dialogue with one turn, and what its lines look like.
struct Front {
    args: &'static [&'static str],
    /// Lets everything run.
    yolo: &'static [&'static str],
    /// All a client says for one turn. The last line is the prompt.
    dialogue: fn(&str) -> Vec<Value>,
    /// Is on standard output when the turn is over.
    over: &'static str,
    /// A line of a type nobody knows, and an answer to what was never asked.
    unknown: &'static str,
    unasked: &'static str,
    /// How many complaints there are about each of the two.
    minds: (usize, usize),
    complaints: fn(&CommandOutput) -> usize,
}

const FRONTS: &[Front] = &[
    Front {
        args: &[
            "--output-format",
            "stream-json",
            "--input-format",
            "stream-json",
            "--include-partial-messages",
            "--no-session-persistence",
        ],
        yolo: &["--dangerously-skip-permissions"],
        dialogue: |_| {
            let hello = json!({"subtype": "initialize", "hooks": null});
            vec![
                json!({"type": "control_request", "request_id": "r", "request": hello}),
                json!({"type": "user", "message": {"role": "user", "content": "hi"}}),
            ]
        },
        over: "\"type\":\"result\"",
        unknown: r#"{"type":"fly"}"#,
        unasked: r#"{"type":"control_response","response":{"subtype":"success","request_id":"x","response":{}}}"#,
        minds: (1, 1),
        complaints: |output| output.stderr().lines().filter(|line| line.starts_with("Warning: ")).count(),
    },
    Front {
        args: &["--json", "--bare", "--no-save"],
        yolo: &[],
        dialogue: |_| vec![json!({"type": "prompt", "text": "hi"})],
        over: "\"type\":\"cost\"",
        unknown: r#"{"type":"fly"}"#,
        unasked: r#"{"type":"elicitation_response","action":"accept"}"#,
        minds: (1, 1),
        complaints: |output| count(output, "\"type\":\"error\""),
    },
    Front {
        args: &["acp"],
        yolo: &["--permission-mode", "yolo"],
        dialogue: |cwd| {
            let request = |id: u8, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            let words = json!([{"type": "text", "text": "hi"}]);
            vec![
                request(1, "initialize", json!({"protocolVersion": 1})),
                request(2, "session/load", json!({"sessionId": "known", "cwd": cwd, "mcpServers": []})),
                request(3, "session/prompt", json!({"sessionId": "known", "prompt": words})),
            ]
        },
        over: "\"stopReason\":\"end_turn\"",
        unknown: r#"{"jsonrpc":"2.0","id":9,"method":"session/fly"}"#,
        unasked: r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        minds: (1, 0),
        complaints: |output| count(output, "\"error\":{"),
    },
    Front {
        args: &["mcp", "serve"],
        yolo: &["--permission-mode", "yolo"],
        dialogue: |_| {
            let client = json!({"name": "test", "version": "1"});
            let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
            let call = json!({"name": "prompt", "arguments": {"prompt": "hi"}});
            vec![
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
                json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
                json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}),
            ]
        },
        over: "\"id\":3",
        unknown: r#"{"jsonrpc":"2.0","id":9,"method":"tools/fly"}"#,
        unasked: r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        minds: (1, 0),
        complaints: |output| count(output, "\"error\":{"),
    },
];

fn count(output: &CommandOutput, words: &str) -> usize {
    output.stdout().lines().filter(|line| line.contains(words)).count()
}

/// A world with a session to load, and a model that gives these answers after it.
fn prepared(replies: impl IntoIterator<Item = Reply>) -> (TestEnv, ModelServer) {
    let (world, model) = with_model([anthropic::text("One.").reply()].into_iter().chain(replies));
    world.run(&["exec", "--session", "known", "-p", "hi"]).success();
    (world, model)
}

/// The lines of a dialogue in this world.
fn dialogue(front: &Front, world: &TestEnv) -> Vec<String> {
    let cwd = world.work().canonicalize().expect("the folder is there").display().to_string();
    (front.dialogue)(&cwd).iter().map(|line| format!("{line}\n")).collect()
}

/// It came to an end of its own, and not by a panic.
#[track_caller]
fn ended(front: &Front, what: &str, output: &CommandOutput, codes: &[i32]) {
    assert!(
        output.code().is_some_and(|code| codes.contains(&code)),
        "{:?}, {what}: {:?}\n{}",
        front.args,
        output.code(),
        output.stderr()
    );
    assert!(!output.stderr().contains("panicked"), "{:?}, {what}: {}", front.args, output.stderr());
}

/// Every bad line costs itself and is complained about once; the turn behind it works.
#[test]
fn lines_that_are_none() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
    let huge = format!("{{\"type\":\"{}\"}}", "x".repeat(50 << 20));
    let garbage: &[(&str, &[u8])] = &[
        ("half a line", b"{\"type\":\"user\","),
        ("two objects", b"{\"type\":\"fly\"} {\"type\":\"fly\"}"),
        ("50 MB", huge.as_bytes()),
        ("invalid UTF-8", b"{\"type\":\"\xff\xfe\"}"),
        ("NUL", b"{\"type\":\0}"),
        ("deep nesting", deep.as_bytes()),
    ];
    for front in FRONTS {
        let twice = format!("{0}\n{0}", front.unasked);
        let mut rows: Vec<(&str, &[u8], usize)> =
            garbage.iter().map(|(what, bytes)| (*what, *bytes, 1)).collect();
        rows.push(("an unknown type", front.unknown.as_bytes(), front.minds.0));
        rows.push(("an answer nobody asked for", front.unasked.as_bytes(), front.minds.1));
        rows.push(("the same answer twice", twice.as_bytes(), 2 * front.minds.1));
        let (world, _model) = prepared(rows.iter().map(|_| anthropic::text("ok").reply()));
        for (what, bytes, complaints) in rows {
            let lines = dialogue(front, &world);
            let (prompt, before) = lines.split_last().expect("there is a prompt");
            let input = [before.concat().as_bytes(), bytes, b"\n", prompt.as_bytes()].concat();
            let output = world.run_with_stdin(front.args, input);
            ended(front, what, &output, &[0]);
            assert_eq!(
                (front.complaints)(&output),
                complaints,
                "{:?}, {what}\n{}",
                front.args,
                output.stderr()
            );
            assert!(output.stdout().contains(front.over), "{:?}, {what}\n{}", front.args, output.stdout());
        }
    }
}

/// Standard input may end behind every line, and in the middle of each.
#[test]
fn the_end_at_each_point() {
    for front in FRONTS {
        let (world, _model) = prepared([anthropic::text("ok").reply()]);
        let lines = dialogue(front, &world);
        for taken in 0..=lines.len() {
            let whole = lines[..taken].concat();
            let output = world.run_with_stdin(front.args, whole.clone());
            ended(front, &format!("the end behind {taken} lines"), &output, &[0]);
            assert_eq!(output.stdout().contains(front.over), taken == lines.len(), "{:?}", front.args);
            if let Some(next) = lines.get(taken) {
                let output = world.run_with_stdin(front.args, whole + &next[..next.len() / 2]);
                ended(front, &format!("the end in line {taken}"), &output, &[0]);
            }
        }
    }
}

/// A reader may go at any time; the run then ends, and says nothing.
#[test]
fn a_reader_that_goes() {
    let taken = [0, 150, 700, 1400];
    for front in FRONTS {
        let (world, _model) = prepared(taken.map(|_| anthropic::text(&"word ".repeat(50)).reply()));
        for bytes in taken {
            let stdin = Stdin::Bytes(dialogue(front, &world).concat().into_bytes());
            let output = world.start(world.cmd(front.args), stdin, Stdout::ClosedAfter(bytes)).finish();
            ended(front, &format!("a reader that goes after {bytes} bytes"), &output, &[0, 1]);
        }
    }
}

/// A reader that stops holds the run up; when it goes, the run ends.
#[test]
fn a_reader_that_stops_and_goes() {
    for front in FRONTS {
        let words = format!("{} ", "long".repeat(500)).repeat(150);
        let (world, _model) = prepared([anthropic::text(&words).reply()]);
        let (reader, writer) = io::pipe().expect("a pipe can be made");
        let stdin = Stdin::Bytes(dialogue(front, &world).concat().into_bytes());
        let run = world.start(world.cmd(front.args), stdin, Stdout::File(File::from(OwnedFd::from(writer))));
        // A pipe of 64 KiB; writes that do not fit its pages leave gaps.
        let full = || rustix::io::ioctl_fionread(&reader).is_ok_and(|bytes| bytes > 25_000).then_some(());
        assert!(wait::poll(wait::BOUND, full).is_some(), "{:?}: the pipe never filled up", front.args);
        drop(reader);
        ended(front, "a reader that stops and goes", &run.finish(), &[0, 1]);
    }
}

/// What a command has started ends with the run.
#[test]
fn no_child_is_left_behind() {
    let command = "sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait";
    for front in FRONTS {
        let call = anthropic::tool_use("1", "bash", json!({ "command": command }));
        let (world, _model) = prepared([call.reply()]);
        let args = [front.args, front.yolo].concat();
        let mut run = world.start(world.cmd(&args), Stdin::Open, Stdout::Captured);
        run.write_stdin(dialogue(front, &world).concat());
        wait::until(format_args!("{:?}: the command runs", front.args), || pids(&world).is_some());
        run.terminate();
        ended(front, "a signal in a command", &run.finish(), &[143]);
        wait_until_gone(&pids(&world).expect("it was waited for"));
    }
}
