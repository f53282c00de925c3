//! Conversations that near the model's window: what is left out, what is said about it, what the session keeps, and
//! that the beginning of a request stays the same bytes (L-10).

use serde_json::json;
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;
use zori_testkit::server::{ModelServer, Request};

use crate::chat::screen::{over, type_line};
use crate::sessions::saved;
use crate::world::{with_model, world};

const NOTE: &str = "Goal: count.\nNext step: go on.";

/// A call whose output is somewhat more than 2000 bytes. The model has counted so many tokens by then.
fn big(n: usize, counted: u64) -> Message {
    let command = "head -c 2000 /dev/zero | tr '\\0' x";
    anthropic::tool_use(&format!("t{n}"), "bash", json!({ "command": command }))
        .usage(json!({"input_tokens": counted, "output_tokens": 5}))
}

/// A model whose replies must fit what every provider demands.
fn strict(config: &str, replies: Vec<zori_testkit::reply::Reply>) -> (TestEnv, ModelServer) {
    let (mut world, model) = (world(), ModelServer::strict(replies));
    world.use_server(&model);
    // The built-in prompt names the folder, whose name differs from run to run, and with it the count.
    world.write(world.base().join("config.toml"), format!("system_prompt = \"\"\n{config}"));
    (world, model)
}

/// Returns a session's records without those that tell of tools, views cut to their length.
fn records(world: &TestEnv, id: &str) -> String {
    let brief = |line: &str| match line.find(r#","view":["#) {
        Some(at) => {
            let messages = line.matches(r#"{"role":"#).count();
            let end = line.rfind(r#","ts""#).expect("a record has a time");
            format!("{},\"view\":[{messages} messages]{}", &line[..at], &line[end..])
        }
        None => line.to_owned(),
    };
    let lines = saved(world, id);
    let told = lines.lines().filter(|line| !line.starts_with(r#"{"type":"tool"#));
    told.map(|line| format!("{}\n", brief(line))).collect()
}

/// The talk on stderr that is about the context.
fn told(stderr: &str) -> String {
    let about = ["Context", "Warning: the", "Warning: The", "Error"];
    stderr
        .lines()
        .filter(|line| about.iter().any(|word| line.starts_with(word)))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn older_outputs_then_older_messages() {
    let mut replies: Vec<_> = (1..=15).map(|n| big(n, 500 * n as u64).reply()).collect();
    replies.push(anthropic::text("First.").usage(json!({"input_tokens": 5_600, "output_tokens": 5})).reply());
    replies.push(anthropic::text(NOTE).reply());
    replies.push(anthropic::text("Second.").reply());
    let (world, model) = strict("context_window = 10000\nmax_tokens = 100\n", replies);
    let output = world.run(&["exec", "--session", "s", "-p", "count"]).success();
    insta::assert_snapshot!(told(&output.stderr()), @"Context: left out 7 older tool outputs, about 8013 -> 5161 tokens");
    world.write(
        world.base().join("config.toml"),
        "system_prompt = \"\"\ncontext_window = 3000\nmax_tokens = 100\n",
    );
    let output = world.run(&["exec", "--session", "s", "-p", "again"]).success();
    insta::assert_snapshot!(told(&output.stderr()), @"Context: summarised the 31 oldest messages, about 5977 -> 1285 tokens");
    insta::assert_snapshot!(records(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"count","ts":"$TS"}
    {"type":"compacted","how":"masked","cause":"nearly_full","before":8013,"after":5161,"view":[31 messages],"ts":"$TS"}
    {"type":"message","role":"assistant","text":"First.","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":5600,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"message","role":"user","text":"again","ts":"$TS"}
    {"type":"compacted","how":"summarised","cause":"nearly_full","before":5977,"after":1285,"view":[3 messages],"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"message","role":"assistant","text":"Second.","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    "#);
    assert_eq!(model.replies_left(), 0);
}

/// A refusal of the provider is the only sign where nobody knows the window.
#[test]
fn a_provider_that_refuses() {
    let refusal = || {
        anthropic::http_error(400, "invalid_request_error", "prompt is too long: 9000 tokens > 8000 maximum")
    };
    let replies = || (1..=4).map(|n| big(n, 2_000 + 600 * n as u64).reply()).collect::<Vec<_>>();
    let run = |rest: Vec<zori_testkit::reply::Reply>| {
        let (world, model) = strict("", [replies(), rest].concat());
        let output = world.run(&["exec", "--no-save", "--model", "claude-unknown", "-p", "count"]);
        (told(&output.stderr()), output.stdout().to_string(), output.code(), model.count())
    };
    let saved = run(vec![refusal(), anthropic::text(NOTE).reply(), anthropic::text("Done.").reply()]);
    insta::assert_snapshot!(format!("{}\n{}{:?} after {}", saved.0, saved.1, saved.2, saved.3), @"
    Warning: The price of `claude-unknown` is not known, so what it costs is not counted
    Context: summarised the 7 oldest messages, about 4913 -> 2784 tokens
    Done.
    Some(0) after 7
    ");
    let note = || anthropic::text(NOTE).reply();
    let lost = run(vec![refusal(), note(), refusal(), note(), refusal()]);
    insta::assert_snapshot!(format!("{}\n{}{:?} after {}", lost.0, lost.1, lost.2, lost.3), @"
    Warning: The price of `claude-unknown` is not known, so what it costs is not counted
    Context: summarised the 7 oldest messages, about 4913 -> 2784 tokens
    Context: summarised the 3 oldest messages, about 2784 -> 1963 tokens
    Error [context_length]: the conversation is too long for the model, and cannot be made shorter; start a new session or use a model with a larger context window (HTTP 400: prompt is too long: 9000 tokens > 8000 maximum)
    Some(3) after 9
    ");
    let unsummarised = run(vec![refusal(), refusal(), anthropic::text("Done.").reply()]);
    insta::assert_snapshot!(
        format!("{}\n{}{:?} after {}", unsummarised.0, unsummarised.1, unsummarised.2, unsummarised.3),
        @"
    Warning: The price of `claude-unknown` is not known, so what it costs is not counted
    Warning: The conversation could not be summarised: HTTP 400: prompt is too long: 9000 tokens > 8000 maximum
    Warning: the 7 oldest messages are left out without a summary, about 4913 -> 2796 tokens
    Done.
    Some(0) after 7
    "
    );
}

/// A prompt that is too long by itself cannot be made shorter: exit 1, and the way out is named.
#[test]
fn a_prompt_that_is_too_long() {
    let refusal =
        anthropic::http_error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum");
    let (world, model) = with_model([refusal]);
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "-p", "hi"]), @r#"
    ------- stderr -------
    Error [context_length]: the conversation is too long for the model, and cannot be made shorter; start a new session or use a model with a larger context window (HTTP 400: prompt is too long: 9 tokens > 8 maximum)
      Details: {"error":{"message":"prompt is too long: 9 tokens > 8 maximum","type":"invalid_request_error"},"type":"error"}
    [exit status: 1]
    "#);
    assert_eq!(model.count(), 1);
}

#[test]
fn by_hand_in_the_chat() {
    let long = "y".repeat(6_000);
    let (world, model) = with_model([
        anthropic::text(&long)
            .usage(json!({"input_tokens": 10, "cache_read_input_tokens": 30, "output_tokens": 1_500})),
        anthropic::text(NOTE),
        anthropic::text("Two."),
        anthropic::text("Three."),
    ]);
    let mut pty = world.pty(&["--no-save", "--system-prompt", ""], Size::CLASSIC);
    for (n, line) in ["/compact", "one", "/cost", "/compact the end", "two", "/compact undo", "three", ":q"]
        .iter()
        .enumerate()
    {
        type_line(&mut pty, n + 1, line);
    }
    let screen = over(pty)
        .replace(&long, "LONG")
        .lines()
        .filter(|line| !line.starts_with("yyyy"))
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!(screen, @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> /compact
    ✶ Compacting · Ctrl-C stops
    · Nothing to compact: the conversation is short
    you> one
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    you> /cost
    Input:        10 tokens
    Output:       1500 tokens
    Cache reads:  30 tokens
    Cache writes: 0 tokens
    Cache hits:   75% of prompt tokens; last turn 75% of prompt tokens
    Turns:        1
    Cost:         $0.015023
    you> /compact the end
    ✶ Compacting · Ctrl-C stops
    ── 2 messages summarised, 1.5k → 734 · /compact undo
    you> two
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Two.
    you> /compact undo
    ── put the conversation back as it was before, 15 → 1.4k
    you> three
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Three.
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    let question = model.request(1).messages()[0]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(question.ends_with("Give most room to this: the end"), "{question}");
    assert_eq!(model.request(1).json().get("tools"), None);
    assert_eq!(
        model.request(3).conversation().replace(&long, "LONG"),
        "user: one\nassistant: LONG\nuser: two\nassistant: Two.\nuser: three\n"
    );
}

/// Returns the body up to the end of its last message, without the cache marks, which move.
fn prefix(request: &Request) -> String {
    let body = String::from_utf8(request.body.clone()).expect("a body is text");
    let body = body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    body.strip_suffix("]}").expect("messages come last").to_owned()
}

/// The next request begins with the bytes of this one: within a turn, over turns, and in another process.
#[test]
fn requests_begin_with_the_one_before() {
    let (world, model) = with_model([
        anthropic::thinking("Hm.", "sig").text("I look.").tool_use("t1", "ls", json!({"path": "."})),
        anthropic::tool_use("t2", "bash", json!({"command": "echo \"é\n\""})),
        anthropic::text("One."),
        anthropic::text("Two."),
        anthropic::text("Three."),
    ]);
    world.write("AGENTS.md", "Be brief.");
    world.run(&["exec", "--session", "s", "-p", "one"]).success();
    world.run(&["exec", "--session", "s", "-p", "two"]).success();
    world.run(&["sessions", "resume", "s", "-p", "three"]).success();
    let prefixes: Vec<_> = model.requests().iter().map(prefix).collect();
    assert_eq!(prefixes.len(), 5);
    for pair in prefixes.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{}\n{}", pair[0], pair[1]);
    }
}

/// What was left out in one process is left out in the next, byte for byte, and can be taken back there.
#[test]
fn a_view_outlives_its_process() {
    let mut replies: Vec<_> = (1..=15).map(|n| big(n, 500 * n as u64).reply()).collect();
    let last =
        |text: &str| anthropic::text(text).usage(json!({"input_tokens": 100, "output_tokens": 5})).reply();
    replies.extend([last("First."), last("Second."), last("Third.")]);
    let (world, model) = strict("context_window = 10000\nmax_tokens = 100\n", replies);
    world.run(&["exec", "--session", "s", "-p", "count"]).success();
    world.run(&["exec", "--session", "s", "-p", "again"]).success();
    let requests = model.requests();
    let (masked, resumed) = (prefix(&requests[15]), prefix(&requests[16]));
    assert!(masked.contains("was left out here") && resumed.starts_with(&masked));
    // Before the first output that was left out, the request is the same as the one before the compaction.
    let whole = prefix(&requests[14]);
    let first = masked.find("The output of `bash`").expect("it is there");
    let same = whole.bytes().zip(masked.bytes()).take_while(|(a, b)| a == b).count();
    assert!(same > first - 60, "{same} of {first}");
    let mut pty = world.pty(&["sessions", "resume", "s"], Size::CLASSIC);
    type_line(&mut pty, 1, "/compact undo");
    type_line(&mut pty, 2, "back");
    type_line(&mut pty, 3, ":q");
    over(pty);
    // In the chat somebody can be asked, so it has a tool more than `exec`: the messages are what counts.
    let messages =
        |prefix: &str| prefix.split_once(r#""messages":["#).expect("there are messages").1.to_owned();
    let back = messages(&prefix(&model.request(17)));
    assert!(!back.contains("left_out") && back.starts_with(&messages(&whole)));
}
