//! CAN-6 and chapter 10: many sessions in one server. One of them is cancelled, and the others go on; all of them take turn after turn, and
//! the process does not grow.

use std::cell::Cell;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::random::{Random, cases};
use zori_testkit::server::ModelServer;

use super::line_client::LineClient;
use super::{large, oracle, row};
use crate::world::world;

/// An editor with so many sessions, and their ids.
fn with_sessions(world: &TestEnv, count: usize) -> (LineClient, Vec<String>) {
    let mut client = LineClient::new(world, &["acp", "--permission-mode", "yolo"]);
    client.call("initialize", json!({"protocolVersion": 1}));
    let cwd = world.work().canonicalize().expect("the folder is there");
    let mut open = || {
        let answer = client.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
        answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let sessions = (0..count).map(|_| open()).collect();
    (client, sessions)
}

/// Sends a prompt to each session; returns the ids of the requests.
fn prompt_all(client: &mut LineClient, sessions: &[String]) -> Vec<usize> {
    let prompt = |session: &String| json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
    sessions.iter().map(|session| client.ask("session/prompt", prompt(session))).collect()
}

fn stop_reason(answer: &Value) -> &str {
    answer["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// CAN-6.
#[test]
fn one_of_many_sessions_is_cancelled() {
    const SESSIONS: usize = 16;
    let rounds = cases(5, 200);
    let gate = Arc::new(Mutex::new(Gate::new()));
    let server = ModelServer::answering({
        let gate = gate.clone();
        move |_| {
            let gate = gate.lock().expect("nobody panics with it");
            anthropic::text("Some words").reply().wait_after(4, &gate)
        }
    });
    let mut world = world();
    world.use_server(&server);
    let (mut client, sessions) = with_sessions(&world, SESSIONS);
    let mut slowest = Duration::ZERO;
    for round in 1..=rounds {
        let victim = Random::new(round as u64).below(SESSIONS);
        let asked = prompt_all(&mut client, &sessions);
        server.wait_for_requests(round * SESSIONS);
        let begun = Instant::now();
        client.send(
            &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": sessions[victim]}}),
        );
        // Nobody else can end: their answers wait at the gate.
        let first = client.read_until(|message| message.get("result").is_some());
        slowest = slowest.max(begun.elapsed());
        assert_eq!(
            (&first["id"], stop_reason(&first)),
            (&json!(asked[victim]), "cancelled"),
            "round {round}"
        );
        std::mem::replace(&mut *gate.lock().expect("nobody panics with it"), Gate::new()).open();
        let mut open: Vec<_> = asked.iter().filter(|id| **id != asked[victim]).collect();
        while !open.is_empty() {
            let answer = client.read_until(|message| message.get("result").is_some());
            let at =
                open.iter().position(|id| answer["id"] == json!(id)).unwrap_or_else(|| panic!("{answer}"));
            open.swap_remove(at);
            assert_eq!(stop_reason(&answer), "end_turn", "round {round}");
        }
    }
    client.hang_up();
    for session in &sessions {
        let found = oracle::look(&world, session, "afterwards").expect("each session has a file");
        assert_eq!(found.prompts.len(), rounds, "{session}");
    }
    row(
        "CAN-6",
        format_args!("0 others disturbed of {SESSIONS} sessions, the slowest {slowest:.0?}"),
        rounds,
    );
}

/// Chapter 10: a server with many sessions, each of them with turn after turn.
#[test]
fn many_sessions_turn_after_turn() {
    const MAX_GROWTH: u64 = 20 << 20;
    let (count, turns) = (cases(8, 64), cases(6, 120));
    let server = ModelServer::answering(|request| {
        // A request for a summary has no tools.
        if request.json()["tools"].as_array().is_none_or(Vec::is_empty) {
            return anthropic::text("Goal: say hi.").reply();
        }
        let last = request.messages().pop().expect("a message").to_string();
        match last.contains("tool_result") {
            true => anthropic::text("Done.").reply(),
            false => anthropic::tool_use("t", "bash", json!({"command": "echo hi"})).reply(),
        }
    });
    let mut world = world();
    world.use_server(&server);
    world.write(world.base().join("config.toml"), "context_window = 30000\nmax_tokens = 1000\n");
    let (mut client, sessions) = with_sessions(&world, count);
    let pid = client.run.pid();
    let entries = |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count);
    let (mut warm, most) = (None, Cell::new(0));
    for turn in 1..=turns {
        let mut open = prompt_all(&mut client, &sessions);
        while !open.is_empty() {
            let answer = client.read_until(|message| message.get("result").is_some());
            let at =
                open.iter().position(|id| answer["id"] == json!(id)).unwrap_or_else(|| panic!("{answer}"));
            open.swap_remove(at);
            assert_eq!(stop_reason(&answer), "end_turn", "turn {turn}");
        }
        let now = large::resident(pid);
        most.set(most.get().max(now));
        if turn == turns.div_ceil(2) {
            warm = Some((now, entries("fd"), entries("task")));
            most.set(now);
        }
    }
    let (resident, descriptors, threads) = warm.expect("there is a first half");
    let growth = most.get().saturating_sub(resident);
    assert!(growth < MAX_GROWTH, "{} MiB more after {turns} turns", growth >> 20);
    let after = (entries("fd"), entries("task"));
    assert!(
        after.0 <= descriptors + 2 && after.1 <= threads + 2,
        "{descriptors} and {threads} became {after:?}"
    );
    client.hang_up();
    for session in &sessions {
        let found = oracle::look(&world, session, "afterwards").expect("each session has a file");
        assert_eq!(found.prompts.len(), turns, "{session}");
    }
    row(
        "ACP sessions",
        format_args!("{count} sessions of {turns} turns: {} KiB more in the second half", growth >> 10),
        count * turns,
    );
}
