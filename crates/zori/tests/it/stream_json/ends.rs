//! Chapter 10: signals and readers that go, at each point of a session. The end of standard input at each point is in
//! `bad_input.rs`.

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use super::{args, asked, outline, request, start, user};
use crate::processes::{pids, wait_until_gone};
use crate::world::with_model;
use zori_testkit::env::TestEnv;

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    /// Nothing was said.
    Silent,
    /// The client has introduced itself.
    Introduced,
    /// The model answers.
    Streaming,
    /// A command runs.
    Command,
    /// The client is asked.
    Asked,
    /// The client's tools are waited for.
    Connecting,
    /// A turn is over.
    Between,
}

const POINTS: &[Point] = &[
    Point::Silent,
    Point::Introduced,
    Point::Streaming,
    Point::Command,
    Point::Asked,
    Point::Connecting,
    Point::Between,
];

/// A session at a point; the gate keeps the model silent.
fn at(point: Point, gate: &Gate) -> (TestEnv, ModelServer, Running) {
    let command = "sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait";
    let reply = match point {
        Point::Streaming => anthropic::text("one two").reply().wait_after(3, gate),
        Point::Command | Point::Asked => {
            anthropic::tool_use("1", "Bash", json!({ "command": command })).reply()
        }
        _ => anthropic::text("ok").reply(),
    };
    let (world, model) = with_model([reply]);
    let mode = match point {
        Point::Asked => &["--permission-prompt-tool", "stdio"][..],
        _ => &["--dangerously-skip-permissions", "--include-partial-messages"],
    };
    let mut run = start(&world, mode);
    let servers = if point == Point::Connecting { json!(["calc"]) } else { json!([]) };
    if point != Point::Silent {
        run.write_stdin(request("r", json!({"subtype": "initialize", "sdkMcpServers": servers})));
        run.wait_for_stdout("\"request_id\":\"r\"");
    }
    if !matches!(point, Point::Silent | Point::Introduced) {
        run.write_stdin(user("go"));
    }
    match point {
        Point::Silent => {
            // Signals count from when they are listened for, which is before the first line is read.
            run.write_stdin("{\"type\":\"fly\"}\n").wait_for_stderr("fly");
        }
        Point::Introduced => {}
        Point::Streaming => {
            run.wait_for_stdout("text_delta");
        }
        Point::Command => wait::until("the command runs", || pids(&world).is_some()),
        Point::Asked => {
            asked(&mut run, "can_use_tool", 0);
        }
        Point::Connecting => {
            asked(&mut run, "mcp_message", 0);
        }
        Point::Between => {
            run.wait_for_stdout("{\"type\":\"result\"");
        }
    }
    (world, model, run)
}

/// A signal ends a session wherever it is, with the `result` of a turn that runs as the last word, and with what it runs.
#[test]
fn signals_at_each_point() {
    for point in POINTS {
        for (terminate, code) in [(false, 130), (true, 143)] {
            let gate = Gate::new();
            let (world, _model, mut run) = at(*point, &gate);
            if terminate {
                run.terminate()
            } else {
                run.interrupt()
            };
            let output = run.finish();
            assert_eq!(output.code(), Some(code), "{point:?} {output}");
            let said = outline(&output.stdout());
            let last = said.lines().last().unwrap_or_default();
            match point {
                Point::Silent => assert_eq!(said, "", "{point:?}"),
                Point::Introduced | Point::Connecting => assert!(!said.contains("over "), "{point:?} {said}"),
                Point::Streaming => assert!(last.contains("aborted_streaming"), "{point:?} {said}"),
                Point::Command | Point::Asked => assert!(last.contains("aborted_tools"), "{point:?} {said}"),
                Point::Between => assert!(last.starts_with("over success \"ok\""), "{point:?} {said}"),
            }
            assert!(!output.stderr().contains("panicked"), "{point:?} {output}");
            wait_until_gone(&pids(&world).unwrap_or_default());
        }
    }
}

/// A reader that goes is missed at the next line, wherever that is; the run ends without a word, and leaves nothing.
#[test]
fn readers_that_go_at_each_line() {
    let replies = || {
        let command = "echo $$ > new; mv new pids; echo ok";
        [
            anthropic::text("I run.").tool_use("1", "Bash", json!({ "command": command })),
            anthropic::text("ok"),
            // Whoever goes late has been answered once more.
            anthropic::text("again"),
        ]
    };
    let more = ["--dangerously-skip-permissions", "--include-partial-messages"];
    let (world, _model) = with_model(replies());
    let whole = world.run_with_stdin(&args(&more), user("go"));
    let mut taken = 0;
    for line in whole.stdout().lines() {
        let (world, _model) = with_model(replies());
        let stdin = Stdin::Bytes([user("go"), user("again")].concat().into_bytes());
        let output = world.start(world.cmd(&args(&more)), stdin, Stdout::ClosedAfter(taken)).finish();
        assert!(matches!(output.code(), Some(0 | 1)), "{taken}: {output}");
        assert_eq!(output.stderr(), "", "{taken}");
        wait_until_gone(&pids(&world).unwrap_or_default());
        taken += line.len() + 1;
    }
}
