//! The persistent mode: lines on standard input while turns run.

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::reply::Reply;
use zori_testkit::running::Running;
use zori_testkit::server::ModelServer;

use super::{HI, brief, opened, told};
use crate::world::with_model;

#[test]
fn turns_one_after_another_and_one_init() {
    let (world, model) =
        with_model([anthropic::text("One."), anthropic::text("Two."), anthropic::text("Three.")]);
    let nested = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"three"}]},"session_id":"x"}"#;
    let input =
        format!("\n{HI}{{\"type\":\"keep_alive\"}}\n{{\"type\":\"user\",\"content\":\"two\"}}\n{nested}\n");
    let output = told(&world, input);
    insta::assert_snapshot!(brief(&output), @r#"
    init s default
    {"type":"text","content":"One.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "One."
    {"type":"message_stop"}
    {"type":"text","content":"Two.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Two."
    {"type":"message_stop"}
    {"type":"text","content":"Three.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Three."
    {"type":"message_stop"}
    [exit status: 0]
    "#);
    let said = "user: hi\nassistant: One.\nuser: two\nassistant: Two.\nuser: three\n";
    assert_eq!(model.request(2).conversation(), said);
}

/// A GUI that waits for `init` before it says anything is not left waiting.
#[test]
fn init_comes_before_the_first_line() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    let mut run = opened(&world, &[]);
    run.wait_for_stdout("\"subtype\":\"init\"").write_stdin(HI).wait_for_stdout("message_stop").close_stdin();
    assert_eq!(run.finish().code(), Some(0));
}

fn approve(id: &str, approved: bool) -> String {
    format!("{}\n", json!({"type": "tool_approval", "id": id, "approved": approved}))
}

fn asking() -> (TestEnv, ModelServer) {
    with_model([
        anthropic::tool_use("t1", "Write", json!({"file_path": "a.txt", "content": "a"})).tool_use(
            "t2",
            "Write",
            json!({"file_path": "b.txt", "content": "b"}),
        ),
        anthropic::text("Done."),
    ])
}

fn start(world: &TestEnv, args: &[&str]) -> Running {
    let mut run = opened(world, args);
    run.write_stdin(HI);
    run
}

/// The call is told, then waits; the next one is told when it has its result.
#[test]
fn questions_are_answered_by_the_gui() {
    let (world, model) = asking();
    let mut run = start(&world, &[]);
    run.wait_for_stdout("\"id\":\"t1\"");
    assert!(!run.stdout().contains("t2") && !run.stdout().contains("tool_result"), "{}", run.stdout());
    run.write_stdin(approve("t2", true)).wait_for_stderr("no call `t2`");
    run.write_stdin(approve("nobody", true)).wait_for_stderr("no call `nobody`");
    run.write_stdin(approve("t1", true)).wait_for_stdout("\"id\":\"t2\"");
    run.write_stdin(approve("t1", false)).wait_for_stderr("no call `t1`");
    let no = json!({"type": "tool_approval", "id": "t2", "approved": false, "message": "not this one"});
    run.write_stdin(format!("{no}\n")).wait_for_stdout("message_stop").close_stdin();
    insta::assert_snapshot!(brief(&run.finish()), @r#"
    init s default
    usage 10 5
    {"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"a.txt","content":"a"}}
    {"type":"tool_result","tool_use_id":"t1","content":"Created $WORK/a.txt (1 bytes)","is_error":false}
    {"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"b.txt","content":"b"}}
    {"type":"tool_result","tool_use_id":"t2","content":"The user rejected this call: not this one","is_error":true}
    {"type":"text","content":"Done.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=3 "Done."
    {"type":"message_stop"}
    ------- stderr -------
    Warning: no call `t2` waits for an answer
    Warning: no call `nobody` waits for an answer
    Warning: no call `t1` waits for an answer
    [exit status: 0]
    "#);
    assert_eq!(world.read(world.work().join("a.txt")), "a");
    assert!(!world.work().join("b.txt").exists());
    assert!(model.request(1).conversation().contains("not this one"));
}

/// A mode holds for the calls that are not decided yet, and is told.
#[test]
fn another_mode_while_a_call_waits() {
    let (world, _model) = asking();
    let mut run = start(&world, &["--permission-mode", "interactive"]);
    run.wait_for_stdout("\"id\":\"t1\"");
    run.write_stdin("{\"type\":\"set_permission_mode\",\"mode\":\"sudo\"}\n").wait_for_stdout("bad_mode");
    run.write_stdin("{\"type\":\"set_permission_mode\",\"mode\":\"auto\"}\n");
    run.write_stdin(approve("t1", false)).wait_for_stdout("message_stop").close_stdin();
    insta::assert_snapshot!(brief(&run.finish()), @r#"
    init s interactive
    usage 10 5
    {"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"a.txt","content":"a"}}
    {"type":"error","message":"`mode` cannot be `sudo` (the modes are acceptEdits, auto, balanced, bypassPermissions, default, deny, dontAsk, god_mode, interactive, paranoid, plan, yolo)","code":"bad_mode"}
    {"type":"tool_result","tool_use_id":"t1","content":"The user rejected this call","is_error":true}
    {"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"b.txt","content":"b"}}
    {"type":"system","subtype":"status","status":null,"permissionMode":"auto","session_id":"s","uuid":"$SESSION"}
    {"type":"tool_result","tool_use_id":"t2","content":"Created $WORK/b.txt (1 bytes)","is_error":false}
    {"type":"text","content":"Done.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=3 "Done."
    {"type":"message_stop"}
    ------- stderr -------
    Warning: `mode` cannot be `sudo` (the modes are acceptEdits, auto, balanced, bypassPermissions, default, deny, dontAsk, god_mode, interactive, paranoid, plan, yolo)
    [exit status: 0]
    "#);
    assert!(!world.work().join("a.txt").exists() && world.work().join("b.txt").exists());
}

/// Chapter 5: an id names one call of the session, a sub-agent's too, whatever the server does; answers go by it.
#[test]
fn calls_that_share_an_id() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "Task", json!({"description": "count", "prompt": "Please count."})),
        anthropic::tool_use("t1", "Bash", json!({"command": "echo three"})),
        anthropic::text("Three."),
        anthropic::tool_use("t1", "Bash", json!({"command": "echo four"})),
        anthropic::text("Done."),
    ]);
    let mut run = start(&world, &["--permission-mode", "interactive", "--sandbox", "off"]);
    for id in ["t1", "t1_2", "t1_3"] {
        run.wait_for_stdout(&format!("\"id\":\"{id}\"")).write_stdin(approve(id, true));
    }
    run.wait_for_stdout("message_stop").close_stdin();
    insta::assert_snapshot!(brief(&run.finish()), @r#"
    init s interactive
    usage 10 5
    {"type":"tool_use","id":"t1","name":"Task","input":{"description":"count","prompt":"Please count."}}
    {"type":"tool_use","id":"t1_2","name":"Bash","input":{"command":"echo three"},"parent_tool_use_id":"t1"}
    {"type":"tool_result","tool_use_id":"t1_2","content":"three","is_error":false,"parent_tool_use_id":"t1"}
    {"type":"tool_result","tool_use_id":"t1","content":"Three.","is_error":false}
    usage 10 5
    {"type":"tool_use","id":"t1_3","name":"Bash","input":{"command":"echo four"}}
    {"type":"tool_result","tool_use_id":"t1_3","content":"four","is_error":false}
    {"type":"text","content":"Done.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=3 "Done."
    {"type":"message_stop"}
    [exit status: 0]
    "#);
    insta::assert_snapshot!(model.request(4).conversation(), @r#"
    user: hi
    assistant: tool_use t1 Task {"description":"count","prompt":"Please count."}
    user: tool_result t1 Three.
    assistant: tool_use t1_3 Bash {"command":"echo four"}
    user: tool_result t1_3 four
    "#);
}

/// Chapter 6: who does not answer in time says no; what comes later comes too late.
#[test]
fn an_answer_that_does_not_come() {
    let (world, _model) = asking();
    world.write(world.base().join("config.toml"), "approval_timeout_secs = 1\n");
    let mut run = start(&world, &[]);
    run.wait_for_stdout("\"id\":\"t2\"").write_stdin(approve("t1", true)).wait_for_stderr("no call `t1`");
    run.write_stdin(approve("t2", true)).wait_for_stdout("message_stop").close_stdin();
    insta::assert_snapshot!(brief(&run.finish()), @r#"
    init s default
    usage 10 5
    {"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"a.txt","content":"a"}}
    {"type":"tool_result","tool_use_id":"t1","content":"nobody has answered in time (`approval_timeout_secs`)","is_error":true}
    {"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"b.txt","content":"b"}}
    {"type":"tool_result","tool_use_id":"t2","content":"Created $WORK/b.txt (1 bytes)","is_error":false}
    {"type":"text","content":"Done.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=3 "Done."
    {"type":"message_stop"}
    ------- stderr -------
    Warning: no call `t1` waits for an answer
    [exit status: 0]
    "#);
}

#[test]
fn an_interrupt_ends_the_turn_and_not_the_run() {
    let gate = Gate::new();
    let (world, model) = with_model([
        anthropic::text("I begin and").reply().wait_after(4, &gate),
        anthropic::text("Again.").reply(),
    ]);
    let mut run = start(&world, &[]);
    run.wait_for_stdout("begin").write_stdin("{\"type\":\"interrupt\"}\n");
    run.wait_for_stdout("message_stop").write_stdin("{\"type\":\"interrupt\"}\n").write_stdin(HI);
    run.wait_for_stdout("Again.").close_stdin();
    let output = run.finish();
    gate.open();
    insta::assert_snapshot!(brief(&output), @r#"
    init s default
    {"type":"text","content":"I ","id":"$SESSION"}
    {"type":"text","content":"begin ","id":"$SESSION"}
    usage 10 1
    {"type":"interrupt"}
    result error_during_execution is_error=true "aborted_streaming" turns=2 ["Request was aborted"]
    {"type":"message_stop"}
    {"type":"text","content":"Again.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Again."
    {"type":"message_stop"}
    ------- stderr -------

    ^C Interrupted.
    [exit status: 0]
    "#);
    assert_eq!(model.request(1).conversation(), "user: hi\nassistant: I begin \nuser: hi\n");
}

#[test]
fn an_interrupt_while_a_call_waits() {
    let (world, _model) = asking();
    let mut run = start(&world, &[]);
    run.wait_for_stdout("\"id\":\"t1\"").write_stdin("{\"type\":\"interrupt\"}\n");
    run.wait_for_stdout("message_stop").close_stdin();
    insta::assert_snapshot!(brief(&run.finish()), @r#"
    init s default
    usage 10 5
    {"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"a.txt","content":"a"}}
    {"type":"tool_result","tool_use_id":"t1","content":"The call was canceled before it was done","is_error":true}
    {"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"b.txt","content":"b"}}
    {"type":"tool_result","tool_use_id":"t2","content":"The call was canceled before it was done","is_error":true}
    {"type":"interrupt"}
    result error_during_execution is_error=true "aborted_tools" turns=4 ["Request was aborted"]
    {"type":"message_stop"}
    ------- stderr -------

    ^C Interrupted.
    [exit status: 1]
    "#);
}

/// Requests of the other dialect are never left without an answer.
#[test]
fn requests_of_sdks() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    let input = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"initialize"}}
{"type":"control_request","request_id":"r2","request":{"subtype":"interrupt"}}
{"type":"control_request","request_id":"r3","request":{"subtype":"set_permission_mode","mode":"deny"}}
"#;
    let output = told(&world, input);
    insta::assert_snapshot!(brief(&output), @r#"
    init s default
    {"type":"control_response","response":{"subtype":"error","request_id":"r1","error":"this request is not known in the flat dialect"}}
    {"type":"control_response","response":{"subtype":"success","request_id":"r2"}}
    {"type":"control_response","response":{"subtype":"success","request_id":"r3"}}
    {"type":"system","subtype":"status","status":null,"permissionMode":"deny","session_id":"s","uuid":"$SESSION"}
    [exit status: 0]
    "#);
}

/// Standard input may end at any point: what was asked for is done, and a question has nobody left to answer it.
#[test]
fn the_end_of_input_at_each_point() {
    let (world, _model) = asking();
    let mut run = start(&world, &[]);
    run.wait_for_stdout("\"id\":\"t1\"").close_stdin();
    insta::assert_snapshot!(brief(&run.finish()), @r#"
    init s default
    usage 10 5
    {"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"a.txt","content":"a"}}
    {"type":"tool_result","tool_use_id":"t1","content":"standard input has ended, so nobody can answer","is_error":true}
    {"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"b.txt","content":"b"}}
    {"type":"tool_result","tool_use_id":"t2","content":"standard input has ended, so nobody can answer","is_error":true}
    {"type":"text","content":"Done.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=3 "Done."
    {"type":"message_stop"}
    [exit status: 0]
    "#);
    let gate = Gate::new();
    let (world, model) = with_model([anthropic::text("Late.").reply().wait(&gate)]);
    let mut run = start(&world, &[]);
    run.wait_until("the request", |_| model.count() == 1).close_stdin();
    gate.open();
    insta::assert_snapshot!(brief(&run.finish()), @r#"
    init s default
    {"type":"text","content":"Late.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Late."
    {"type":"message_stop"}
    [exit status: 0]
    "#);
    let (world, _model) = with_model([anthropic::text("x")]);
    insta::assert_snapshot!(brief(&told(&world, "{\"type\":\"keep_alive\"}")), @r#"
    init s default
    [exit status: 0]
    "#);
}

/// DECISIONS 24.
#[test]
fn signals() {
    let signalled = |signal: fn(&mut Running) -> &mut Running| {
        let (world, model) = with_model([Reply::stall()]);
        let mut run = start(&world, &[]);
        run.wait_until("the request", |_| model.count() == 1);
        signal(&mut run);
        brief(&run.finish())
    };
    insta::assert_snapshot!(signalled(Running::interrupt), @r#"
    init s default
    usage 0 0
    {"type":"interrupt"}
    result error_during_execution is_error=true "aborted_streaming" turns=2 ["Request was aborted"]
    {"type":"message_stop"}
    ------- stderr -------

    ^C Interrupted.
    [exit status: 130]
    "#);
    insta::assert_snapshot!(signalled(Running::terminate), @r#"
    init s default
    usage 0 0
    {"type":"interrupt"}
    result error_during_execution is_error=true "aborted_streaming" turns=2 ["Request was aborted"]
    {"type":"message_stop"}
    ------- stderr -------

    ^C Interrupted.
    [exit status: 143]
    "#);
    let idle = |signal: fn(&mut Running) -> &mut Running| {
        let (world, _model) = with_model([Reply::stall()]);
        let mut run = opened(&world, &[]);
        run.wait_for_stdout("\"subtype\":\"init\"");
        signal(&mut run);
        run.finish().code()
    };
    assert_eq!([idle(Running::interrupt), idle(Running::terminate)], [Some(130), Some(143)]);
}

/// ASK-2: what a GUI says along with its yes is the answer to a question of the model's.
#[test]
fn a_question_of_the_model() {
    let question =
        json!({"questions": [{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]});
    let (world, model) =
        with_model([anthropic::tool_use("t1", "AskUserQuestion", question), anthropic::text("Done.")]);
    let mut run = start(&world, &[]);
    run.wait_for_stdout("\"id\":\"t1\"");
    let answer = json!({"type": "tool_approval", "id": "t1", "approved": true, "message": "2"});
    run.write_stdin(format!("{answer}\n")).wait_for_stdout("Done.").close_stdin();
    run.finish();
    let told = model.request(1).messages().pop().unwrap()["content"][0]["content"].clone();
    assert_eq!(told, "The user answered:\n\"Which?\" = \"b\"");
}
