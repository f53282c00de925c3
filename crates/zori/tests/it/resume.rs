//! Going on with a session: what is sent back, and what becomes of one that its process could not finish.

use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use crate::sessions::{exec_in, put_session, saved};
use crate::world::{with_model, world};

/// Makes a session file look as if it was last changed then.
fn date(world: &TestEnv, id: &str, seconds: u64) {
    let path = world.base().join(format!("sessions/{id}.jsonl"));
    let file = File::options().write(true).open(path).expect("the session exists");
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).expect("our own file can be dated");
}

/// Goes on with a session whatever happened to it, and returns what the model was sent. The model refuses a history
/// that a provider would refuse (LOG-11).
#[track_caller]
fn go_on(world: &mut TestEnv, id: &str) -> String {
    let model = ModelServer::strict([anthropic::text("Going on.")]);
    world.use_server(&model);
    let output = world.run(&["sessions", "resume", id, "-p", "next"]).success();
    assert_eq!(output.stdout(), "Going on.\n");
    model.request(0).conversation()
}

const META: &str =
    "{\"type\":\"meta\",\"schema_version\":1,\"ts\":\"2026-01-01T00:00:00Z\",\"root\":\"/\"}\n";
const USER: &str =
    "{\"type\":\"message\",\"role\":\"user\",\"text\":\"first\",\"ts\":\"2026-01-01T00:00:00Z\"}\n";
const ASSISTANT: &str =
    "{\"type\":\"message\",\"role\":\"assistant\",\"text\":\"One.\",\"ts\":\"2026-01-01T00:00:00Z\"}\n";
const CALL: &str = "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"bash\",\"input\":{\"command\":\"make\"},\"ts\":\"2026-01-01T00:00:00Z\"}\n";

#[test]
fn the_latest_session_by_default() {
    let (world, model) = with_model([anthropic::text("Two.")]);
    put_session(&world, "old", &[META, USER, ASSISTANT].concat().replace("first", "from the old one"));
    put_session(&world, "new", &[META, USER, ASSISTANT].concat());
    date(&world, "old", 1_000_000_000);
    date(&world, "new", 1_000_000_001);
    insta::assert_snapshot!(world.run(&["sessions", "resume", "--any", "-p", "second"]), @"
    Two.
    [exit status: 0]
    ");
    assert_eq!(model.request(0).conversation(), "user: first\nassistant: One.\nuser: second\n");
    assert_eq!(saved(&world, "new").lines().count(), 5);
    assert_eq!(saved(&world, "old").lines().count(), 3);
}

#[test]
fn a_session_by_its_id() {
    let (world, model) = with_model([anthropic::text("Two."), anthropic::text("Three.")]);
    put_session(&world, "a", &[META, USER, ASSISTANT].concat());
    put_session(&world, "b", &[META, USER, ASSISTANT].concat().replace("first", "other"));
    date(&world, "a", 1_000_000_000);
    world.run(&["sessions", "resume", "a", "-p", "second"]).success();
    assert_eq!(model.request(0).conversation(), "user: first\nassistant: One.\nuser: second\n");
    world.run(&["sessions", "resume", "--session", "b", "-p", "second"]).success();
    assert_eq!(model.request(1).conversation(), "user: other\nassistant: One.\nuser: second\n");
}

#[test]
fn nothing_to_resume() {
    let (world, model) = with_model([anthropic::text("x")]);
    insta::assert_snapshot!(world.run(&["sessions", "resume", "-p", "hi"]), @r"
    ------- stderr -------
    Error: There is no session of this folder to go on with
    Hint: `zori sessions list` shows the sessions there are
    Hint: `--any` takes the newest of all folders
    [exit status: 5]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "resume", "nope", "-p", "hi"]), @"
    ------- stderr -------
    Error: No session 'nope' to resume
    Hint: `zori sessions list` shows the sessions there are
    [exit status: 5]
    ");
    assert!(!world.base().exists());
    assert_eq!(model.count(), 0);
}

/// DECISIONS 24: a chat without a terminal.
#[test]
fn a_chat_needs_a_terminal() {
    let (world, model) = with_model([anthropic::text("x")]);
    put_session(&world, "s", &[META, USER, ASSISTANT].concat());
    insta::assert_snapshot!(world.run_with_stdin(&["sessions", "resume", "s"], "hi\n"), @"
    ------- stderr -------
    Error: a chat needs a terminal
    Hint: give one prompt with `-p TEXT`
    [exit status: 4]
    ");
    assert_eq!(model.count(), 0);
}

/// CLI-2.
#[test]
fn the_root_is_the_one_given_now() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "pwd -P"})),
        anthropic::text("There."),
    ]);
    put_session(&world, "s", &[META, USER, ASSISTANT].concat());
    world.write("inner/AGENTS.md", "Be brief.");
    insta::assert_snapshot!(world.run(&["sessions", "resume", "s", "--root", "inner", "-p", "where?"]), @r#"
    There.
    ------- stderr -------
    Loaded AGENTS.md from: $WORK/inner/AGENTS.md
    Tool requested: bash command="pwd -P"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    [exit status: 0]
    "#);
    let result = model.request(1).conversation();
    let there = world.work().join("inner");
    assert!(result.ends_with(&format!(" {}\n", there.display())), "{result}");
}

/// SES-8, L-2: calls, results and reasoning go back as they came, in order.
#[test]
fn tools_and_thinking_are_sent_back() {
    let (world, model) = with_model([
        anthropic::thinking("Which?", "c2lnbmF0dXJl+/==").text("Looking.").tool_use(
            "t1",
            "bash",
            json!({"command": "echo hi"}),
        ),
        anthropic::Message::new().redacted_thinking("aGlkZGVu").text("It says hi."),
        anthropic::text("Bye."),
    ]);
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    world.run(&["sessions", "resume", "s", "-p", "second"]).success();
    insta::assert_snapshot!(model.request(2).conversation(), @r#"
    user: first
    assistant: thinking Which? c2lnbmF0dXJl+/==
    assistant: Looking.
    assistant: tool_use t1 bash {"command":"echo hi"}
    user: tool_result t1 hi
    assistant: {"type":"redacted_thinking","data":"aGlkZGVu"}
    assistant: It says hi.
    user: second
    "#);
    // What a provider gets back has the very bytes it sent, so that its cache and its signatures hold.
    let first = &model.request(1).messages()[..3];
    let strip =
        |messages: &[serde_json::Value]| serde_json::to_string(messages).unwrap().replace(CACHE_MARK, "");
    assert_eq!(strip(&model.request(2).messages()[..3]), strip(first));
}

/// The cache breakpoint moves on with the conversation.
const CACHE_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// SES-9, LOG-2: the torn line stays where it is, on a line of its own.
#[test]
fn a_torn_last_line_is_closed_and_left_out() {
    let (world, model) = with_model([anthropic::text("Two.")]);
    put_session(&world, "s", &[META, USER, ASSISTANT, &USER[..30]].concat());
    insta::assert_snapshot!(world.run(&["sessions", "resume", "s", "-p", "second"]), @"
    Two.
    ------- stderr -------
    Warning: Session 's' is damaged and goes on without line 4 (cut off)
    [exit status: 0]
    ");
    assert_eq!(model.request(0).conversation(), "user: first\nassistant: One.\nuser: second\n");
    let text = world.read(world.base().join("sessions/s.jsonl"));
    let before =
        [META, USER, ASSISTANT, &USER[..30], "\n{\"type\":\"message\",\"role\":\"user\",\"text\":\"second\""]
            .concat();
    assert!(text.starts_with(&before), "{text}");
}

/// LOG-2: wherever the file ends, the session goes on.
#[test]
fn a_file_cut_anywhere_can_be_gone_on_with() {
    let (mut world, _model) = with_model([
        anthropic::thinking("Hm.", "c2ln").text("Look.").tool_use("t1", "bash", json!({"command": "echo é"})),
        anthropic::text("Done."),
    ]);
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    let whole = std::fs::read(world.base().join("sessions/s.jsonl")).unwrap();
    let mut cuts = 0;
    for end in (1..whole.len()).step_by(whole.len() / 40) {
        let path = world.write(world.base().join("sessions/cut.jsonl"), &whole[..end]);
        go_on(&mut world, "cut");
        let text = std::fs::read(path).unwrap();
        assert!(text.starts_with(&whole[..end]), "nothing before the cut at {end} is altered");
        cuts += 1;
    }
    println!("{cuts} cuts");
    assert!(cuts >= 40);
}

/// SES-10.
#[test]
fn a_call_without_a_result_gets_one() {
    let mut world = world();
    put_session(&world, "s", &[META, USER, CALL].concat());
    insta::assert_snapshot!(go_on(&mut world, "s"), @r#"
    user: first
    assistant: tool_use t1 bash {"command":"make"}
    user: tool_result (error) t1 error canceled: The session ended before this call had a result, so it may or may not have run. Check its effects, then call it again if it is still needed.
    user: next
    "#);
    put_session(
        &world,
        "s",
        &[META, USER, CALL, "{\"type\":\"interrupted\",\"role\":\"system\",\"text\":\"Interrupted\"}\n"]
            .concat(),
    );
    insta::assert_snapshot!(go_on(&mut world, "s"), @r#"
    user: first
    assistant: tool_use t1 bash {"command":"make"}
    user: tool_result (error) t1 error canceled: The session ended before this call had a result, so it may or may not have run. Check its effects, then call it again if it is still needed.
    user: next
    "#);
}

/// SES-10: a result without its call, and neighbours of the same role.
#[test]
fn what_providers_would_refuse_is_mended() {
    let mut world = world();
    let stray = "{\"type\":\"tool_result\",\"tool_use_id\":\"t9\",\"output\":{\"ok\":true},\"ok\":true}\n";
    put_session(&world, "s", &[META, ASSISTANT, stray, USER, USER, ASSISTANT, ASSISTANT].concat());
    insta::assert_snapshot!(go_on(&mut world, "s"), @"
    user: [The beginning of this conversation could not be read.]
    assistant: One.
    user: first
    user: first
    assistant: One.
    assistant: One.
    user: next
    ");
}

/// LOG-3.
#[test]
fn damage_in_the_middle_is_reported_by_line_and_loses_only_itself() {
    let (world, model) = with_model([anthropic::text("Two.")]);
    let mut bytes = [META, "{\"type\":\"message\",\"ro\n", USER].concat().into_bytes();
    bytes.extend(b"{\"type\":\"message\",\"role\":\"user\",\"text\":\"\xff\"}\n");
    bytes.extend([0; 64]);
    bytes.extend(format!("\n{ASSISTANT}").into_bytes());
    let path = world.write(world.base().join("sessions/s.jsonl"), &bytes);
    insta::assert_snapshot!(world.run(&["sessions", "resume", "s", "-p", "second"]), @"
    Two.
    ------- stderr -------
    Warning: Session 's' is damaged and goes on without line 2 (not a whole record), line 4 (invalid UTF-8), line 5 (not a whole record)
    [exit status: 0]
    ");
    assert_eq!(model.request(0).conversation(), "user: first\nassistant: One.\nuser: second\n");
    assert!(std::fs::read(path).unwrap().starts_with(&bytes), "nothing is repaired in place");
    insta::assert_snapshot!(world.run(&["sessions", "show", "s"]).stderr(), @"
    Warning: Session 's' is damaged and goes on without line 2 (not a whole record), line 4 (invalid UTF-8), line 5 (not a whole record)
    ");
}

/// A turn with a call and an answer, which stops at `gate` after so many events of the reply `stop_in` (1 or 2).
fn turn(stop_in: usize, events: usize, gate: &Gate, command: &str) -> [Reply; 2] {
    let call = anthropic::thinking("Hm.", "c2ln").text("I will look.").tool_use(
        "t1",
        "bash",
        json!({"command": command}),
    );
    let answer = anthropic::text("It is all in there.");
    let stop = |n: usize, reply: Reply| if n == stop_in { reply.wait_after(events, gate) } else { reply };
    [stop(1, call.reply()), stop(2, answer.reply())]
}

/// Kills the run when `ready` holds, and returns what the model is sent next.
#[track_caller]
fn killed_when(replies: [Reply; 2], ready: impl Fn(&TestEnv, &ModelServer, &str) -> bool) -> String {
    let (mut world, model) = with_model(replies);
    let mut run = exec_in(&world, "s", "first");
    run.wait_until("the moment to kill", |run| ready(&world, &model, &run.stdout())).kill();
    run.finish();
    go_on(&mut world, "s")
}

/// LOG-1, LOG-11.
#[test]
fn killed_while_waiting_for_the_model() {
    let gate = Gate::new();
    let sent = killed_when(turn(1, 0, &gate, "true"), |_, model, _| model.count() == 1);
    assert_eq!(sent, "user: first\nuser: next\n");
}

#[test]
fn killed_while_the_model_speaks() {
    let gate = Gate::new();
    // Five events of thinking and its frame, the start of the text, and its first two words.
    let sent = killed_when(turn(1, 8, &gate, "true"), |_, _, stdout| stdout.contains("I will"));
    assert_eq!(sent, "user: first\nuser: next\n");
}

#[test]
fn killed_while_a_tool_runs() {
    let gate = Gate::new();
    let sent = killed_when(turn(0, 0, &gate, "echo > running; sleep 300"), |world, _, _| {
        world.work().join("running").exists()
    });
    insta::assert_snapshot!(sent, @r#"
    user: first
    assistant: thinking Hm. c2ln
    assistant: I will look.
    assistant: tool_use t1 bash {"command":"echo > running; sleep 300"}
    user: tool_result (error) t1 error canceled: The session ended before this call had a result, so it may or may not have run. Check its effects, then call it again if it is still needed.
    user: next
    "#);
}

#[test]
fn killed_after_a_tool() {
    let gate = Gate::new();
    let sent = killed_when(turn(2, 0, &gate, "echo hi"), |_, model, _| model.count() == 2);
    insta::assert_snapshot!(sent, @r#"
    user: first
    assistant: thinking Hm. c2ln
    assistant: I will look.
    assistant: tool_use t1 bash {"command":"echo hi"}
    user: tool_result t1 hi
    user: next
    "#);
}

#[test]
fn killed_while_the_model_answers() {
    let gate = Gate::new();
    let sent = killed_when(turn(2, 4, &gate, "echo hi"), |_, _, stdout| stdout.contains("It is"));
    insta::assert_snapshot!(sent, @r#"
    user: first
    assistant: thinking Hm. c2ln
    assistant: I will look.
    assistant: tool_use t1 bash {"command":"echo hi"}
    user: tool_result t1 hi
    user: next
    "#);
}
