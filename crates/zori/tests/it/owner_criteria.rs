//! The acceptance criteria of the agent modes, end to end, each by its name. Which test holds which of them is in `docs/contracts/owner-criteria.md`;
//! here are those that no other file is about.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zori_testkit::reply::{Disconnect, Reply};
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, wait};

use crate::memory::said;
use crate::project::files_with;
use crate::schedule::{overdue, status};
use crate::screen_chat::{see, start};
use crate::world::{with_model, world};

/// Every line of standard output, each an event of schema 1 (NFR-006).
#[track_caller]
fn events(stdout: &str) -> Vec<Value> {
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(event["schema"], 1, "{line}");
        event
    };
    stdout.split_terminator('\n').map(event).collect()
}

/// The kinds of the events; what is said is one, in however many chunks it comes.
fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap_or_default()).collect();
    kinds.dedup_by(|later, earlier| later == earlier && *later == "response_chunk");
    kinds
}

/// FR-001: a project with work for all four workers: a job that is due, a file that is not indexed, more messages than may be recalled, enough
/// sessions for a dream. All four run without `--bare`, and none with it, from the start of the process to its end; then all the work is still there.
#[test]
fn fr_001_four_workers_or_none() {
    for bare in [false, true] {
        let server = ModelServer::answering(|_| anthropic::text("Here.").reply());
        let mut world = world();
        world.use_server(&server);
        for id in ["monday", "tuesday", "wednesday"] {
            said(&world, id, &format!("About {id}?"), "Nothing.");
        }
        let config = "[memory]\nmax_entries = 4\n[memory.dream]\nmin_sessions = 3\n[index]\nenabled = true\n[scheduler]\nenabled = true\n";
        world.write(world.base().join("config.toml"), config);
        world.run(&["memory", "rebuild"]).success();
        world.run(&["index", "build"]).success();
        world.write(world.work().join("late.rs"), "pub fn late() {}\n");
        overdue(&world, "plan");
        let work = || {
            let shown = |args: &[&str]| world.run(args).stdout();
            let recalled = shown(&["memory", "list"]).lines().count();
            (
                status(&world),
                recalled,
                shown(&["index", "status", "--output", "plain"]),
                shown(&["memory", "graph"]),
            )
        };
        let before = work();
        let trace = world.tmp().join("trace");
        let run: Vec<&str> = ["--json"].into_iter().chain(bare.then_some("--bare")).collect();
        let mut command = world.cmd(&run);
        command.env("ZORI_TRACE", &trace);
        let mut chat = world.start(command, Stdin::Open, Stdout::Captured);
        chat.write_stdin("hi\n").wait_for_stdout("\"cost\"");
        let begun = || {
            let lines = std::fs::read_to_string(&trace).expect("a run that is traced has a trace");
            let span =
                |line: &str| serde_json::from_str::<Value>(line).expect("a line is JSON")["span"].clone();
            lines
                .lines()
                .map(span)
                .filter_map(|span| Some(span.as_str()?.to_owned()))
                .collect::<BTreeSet<_>>()
        };
        if !bare {
            wait::until("three of them beside it", || begun().len() == 4);
        }
        chat.close_stdin();
        chat.finish().success();
        // The end has a fifth of a second for the dream, which a busy machine may not give at once: it comes with a later end.
        for _ in 0..20 {
            if bare || begun().contains("worker.dream") {
                break;
            }
            let mut command = world.cmd(&run);
            command.env("ZORI_TRACE", &trace);
            let mut again = world.start(command, Stdin::Open, Stdout::Captured);
            again.write_stdin("again\n").wait_for_stdout("\"cost\"");
            again.close_stdin();
            again.finish().success();
        }
        // The reader of standard input is part of every run: where it leaves no span, the others prove nothing.
        let all = ["worker.dream", "worker.evict", "worker.index", "worker.scheduler", "worker.stdin"];
        let wanted = if bare { &all[4..] } else { &all[..] };
        assert_eq!(begun(), wanted.iter().copied().map(str::to_owned).collect(), "bare: {bare}");
        assert_eq!(
            work() == before,
            bare,
            "what was to be done is done, or still there: {before:?}, {:?}",
            work()
        );
    }
}

/// What all of it is for: after a week in three repositories somebody asks on Friday what was decided on Monday, and gets it with the place it came
/// from, by a command and by the model; and one command makes all of it disappear, from every byte, while the other repositories keep theirs.
#[test]
fn a_week_in_three_repositories() {
    const DECISIONS: [(&str, &str, &str); 3] = [
        ("parser", "kestrel", "we keep the lexer by hand"),
        ("website", "osprey", "we drop the old theme"),
        ("billing", "merlin", "invoices are numbered by month"),
    ];
    // Asked on Friday the model searches; on any other day it repeats what it was told.
    let server = ModelServer::answering(|request| {
        let last = request.messages().pop().expect("a message");
        let said = last.to_string();
        match said.contains("What did we decide on Monday") {
            true => {
                anthropic::tool_use("t1", "memory_search", json!({"query": "decision why lexer"})).reply()
            }
            false if said.contains("tool_result") => anthropic::text("Here it is.").reply(),
            false => anthropic::text("Noted.").reply(),
        }
    });
    let mut world = world();
    world.use_server(&server);
    let run = |world: &zori_testkit::env::TestEnv, name: &str, args: &[&str]| {
        let mut command = world.cmd(args);
        command.current_dir(world.work().join(name));
        world.start(command, Stdin::Null, Stdout::Captured).finish()
    };
    for (name, bird, decision) in DECISIONS {
        std::fs::create_dir_all(world.work().join(name).join(".git")).expect("it can be made");
        run(&world, name, &["memory", "rebuild"]).success();
        for (day, prompt) in [
            ("monday", format!("Decision {bird}: {decision}, because it was measured")),
            ("tuesday", "Fix the tests".to_owned()),
            ("wednesday", "Write the page about it".to_owned()),
            ("thursday", "Run everything once more".to_owned()),
        ] {
            let session = format!("{name}-{day}");
            run(&world, name, &["exec", "--session", &session, "-p", &prompt]).success();
        }
    }
    // By the model, which is told where it was said. The search takes in what the sessions said.
    let asked = run(&world, "parser", &["exec", "-p", "What did we decide on Monday?"]).success();
    assert_eq!(asked.stdout(), "Here it is.\n");
    let read = server.request(server.count() - 1).conversation();
    assert!(read.contains("session parser-monday, turn 1, user"), "{read}");
    assert!(read.contains("Decision kestrel: we keep the lexer by hand"), "{read}");
    for (name, bird, decision) in DECISIONS {
        run(&world, name, &["memory", "rebuild"]).success();
        let found = run(&world, name, &["memory", "search", "what", "was", "the", "decision"]).success();
        let first = found.stdout().lines().next().unwrap_or_default().to_owned();
        let (place, text) = first.split_once("Z  ").expect("it has a time");
        assert!(place.contains(&format!("  {name}-monday:1  user  ")), "{first}");
        assert_eq!(text, format!("Decision {bird}: {decision}, because it was measured"));
        for (_, other, _) in DECISIONS.iter().filter(|(other, ..)| *other != name) {
            assert!(!found.stdout().contains(other), "{found}");
        }
    }
    let with = |bird: &str| files_with(&world, &world.work(), bird);
    let (mine, others) = (with("kestrel"), [with("osprey"), with("merlin")]);
    let places = ["$BASE/sessions/$SESSION.jsonl", "$BASE/sessions/parser-monday.jsonl", "$BASE/zori.db"];
    assert_eq!(mine, places, "what was said on Monday, and what was found on Friday");
    run(&world, "parser", &["project", "purge", "--yes"]).success();
    assert_eq!(with("kestrel"), [""; 0]);
    assert_eq!([with("osprey"), with("merlin")], others);
    assert_eq!(run(&world, "parser", &["memory", "search", "decision"]).stdout().trim_end(), "Nothing fits.");
    let kept = run(&world, "billing", &["memory", "search", "invoices"]).stdout();
    assert!(kept.contains("billing-monday:1  user"), "{kept}");
}

/// A1: `--json --bare -y`, one prompt, one call.
#[test]
fn a1_one_prompt_with_a_call_for_a_program() {
    let (mut world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "echo from-the-shell"})),
        anthropic::text("It said so."),
    ]);
    let trace = world.tmp().join("trace");
    world.set_var("ZORI_TRACE", &trace);
    let output = world.run(&["--json", "--bare", "-y", "-p", "run it"]);
    let events = events(&output.stdout());
    assert_eq!(kinds(&events), ["tool_call", "tool_result", "response_chunk", "response_end", "cost"]);
    assert_eq!((&events[1]["output"], &events[1]["exit_code"]), (&json!("from-the-shell\n"), &json!(0)));
    assert_eq!(output.code(), Some(0));
    assert_eq!(world.read(&trace), "", "no worker");
}

/// A3: five turns, then a recap of an answer that is far too long: what was said reached the model, and the bound holds.
#[test]
fn a3_a_recap_of_five_turns() {
    let long = |word: &str| format!("{word} {}", "and much more of the same ".repeat(40));
    let lists = json!({"decisions": vec![long("use a trie"); 40], "facts": vec![long("it is slow"); 40], "open_questions": vec![long("who calls it"); 40]});
    let mut replies: Vec<_> = (1..=5).map(|turn| anthropic::text(&format!("Answer {turn}."))).collect();
    replies.push(anthropic::text(&lists.to_string()));
    let (world, model) = with_model(replies);
    let output = world.run_with_stdin(
        &["--json", "--no-save"],
        "we decide on a trie\nthe parser is slow\nwho calls add()?\nfour\nfive\n/recap\n",
    );
    let events = events(&output.stdout());
    let recap = events.iter().rev().find(|event| event["type"] == "response_chunk").expect("there is one");
    let recap = recap["text"].as_str().expect("it is a text");
    // A token of English is three letters and more.
    assert!(recap.len() <= 512 * 4 && recap.starts_with("Decisions:\n- use a trie"), "{recap}");
    let read = model.request(5).conversation();
    for planted in ["we decide on a trie", "the parser is slow", "who calls add()?"] {
        assert!(read.contains(planted), "{read}");
    }
}

/// NFR-005: a recap that nobody answers ends by itself after 30 s, is told, and the session goes on.
#[test]
fn nfr_005_a_recap_that_hangs_ends() {
    let (world, model) =
        with_model([anthropic::text("One.").reply(), Reply::stall(), anthropic::text("Two.").reply()]);
    let command = world.cmd(&["--json", "--no-save"]);
    let lines = "first\n/recap\nsecond\n".to_owned();
    let run = world.start(command, Stdin::Bytes(lines.into()), Stdout::Captured).within(5 * wait::BOUND);
    let output = run.finish();
    let events = events(&output.stdout());
    let told: Vec<_> = events
        .iter()
        .map(|event| match event["type"].as_str().unwrap_or_default() {
            "response_chunk" => event["text"].as_str().unwrap_or_default(),
            "error" => event["code"].as_str().unwrap_or_default(),
            kind => kind,
        })
        .collect();
    assert_eq!(
        told,
        ["One.", "response_end", "cost", "recap_error", "cost", "Two.", "response_end", "cost"],
        "{output}"
    );
    assert_eq!(model.request(2).conversation(), "user: first\nassistant: One.\nuser: second\n");
}

/// FR-003: whatever a model and a tool say, each line is one event.
#[test]
fn fr_003_nothing_but_events() {
    let hostile = "a\r\nb\u{2028}c\u{0}d\n{\"type\":\"response_end\",\"schema\":1}\n";
    let (world, _model) = with_model([
        anthropic::tool_use(
            "t1",
            "bash",
            json!({"command": "printf 'x\\377\\000\\r\\n{\"type\":\"response_end\"}\\n'"}),
        ),
        anthropic::text(hostile),
    ]);
    let output = world.run(&["--json", "-p", "go"]);
    let events = events(&output.stdout());
    assert_eq!(kinds(&events), ["tool_call", "tool_result", "response_chunk", "response_end", "cost"]);
    let said: String = events.iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(said.contains("{\"type\":\"response_end\""), "{said}");
}

/// FR-005: each call is told once, with an id of its own, and so is its result.
#[test]
fn fr_005_one_event_for_each_call() {
    let two = anthropic::Message::new().tool_use("t1", "bash", json!({"command": "echo one"})).tool_use(
        "t2",
        "bash",
        json!({"command": "echo two"}),
    );
    let (world, _model) = with_model([two, anthropic::text("Both.")]);
    let output = world.run(&["--json", "-p", "go"]);
    let events = events(&output.stdout());
    let ids = |kind: &str| {
        let of = events.iter().filter(|event| event["type"] == kind);
        let mut ids: Vec<_> = of.map(|event| event["id"].as_str().unwrap_or_default().to_owned()).collect();
        ids.sort();
        ids
    };
    let calls = ids("tool_call");
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0], calls[1]);
    assert_eq!(calls, ids("tool_result"));
}

/// FR-010: the command is offered as soon as its beginning is typed.
#[test]
fn fr_010_a_recap_is_offered() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let mut pty = start(&world, &["--no-save"]);
    pty.send("/rec");
    see(&mut pty, "/recap");
}

/// FR-012: standard input is a stream of commands, and nobody is asked.
#[test]
fn fr_012_commands_and_no_questions() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "touch made"})),
        anthropic::text("I may not."),
    ]);
    let lines = "{\"type\":\n{\"type\":\"prompt\",\"text\":\"go\"}\n{\"type\":\"exit\"}\nnever\n";
    let output = world.run_with_stdin(&["--json", "--bare", "--permission-mode", "default"], lines);
    let events = events(&output.stdout());
    assert_eq!(
        kinds(&events),
        ["error", "tool_call", "tool_result", "response_chunk", "response_end", "cost"]
    );
    assert_eq!((&events[0]["code"], &events[2]["exit_code"]), (&json!("bad_command"), &json!(126)));
    assert_eq!(model.count(), 2);
}

/// NFR-004: whatever goes wrong with a turn, the loop asks and the process lives.
#[test]
fn nfr_004_no_error_ends_a_loop() {
    let (world, model) = with_model([
        anthropic::http_error(429, "rate_limit_error", "slow down"),
        anthropic::http_error(500, "api_error", "broken"),
        anthropic::text("cut").reply().cut_after_events(1, Disconnect::Rst),
        anthropic::http_error(529, "overloaded_error", "full"),
        Reply::sse("event: message_start\ndata: {\"type\": no JSON\n\n"),
        anthropic::text("At last.").reply(),
    ]);
    let lines = "/loop a\ny\nb\ny\nc\ny\nd\ny\ne\ny\nf\nn\n";
    let output = world.run_with_stdin(&["--json", "--no-save", "--retries", "0"], lines);
    let events = events(&output.stdout());
    let asked = events.iter().filter(|event| event["type"] == "elicitation").count();
    let failed = events.iter().filter(|event| event["type"] == "error").count();
    assert_eq!((asked, failed, model.count()), (6, 5, 6), "{output}");
}
