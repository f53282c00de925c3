//! Sub-agents from the outside: what people see of them, what is kept, and what they may not do.

use serde_json::{Value, json};
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};

use crate::asking::reply;
use crate::audit::{picked, project_log, records};
use crate::chat::screen::{over, type_line};
use crate::jsonl::events;
use crate::processes::{pids, wait_until_gone};
use crate::sessions::saved;
use crate::world::with_model;

fn task(id: &str, description: &str) -> Message {
    anthropic::tool_use(id, "task", order(description))
}

fn order(description: &str) -> Value {
    json!({"description": description, "prompt": format!("Please {description}.")})
}

fn bash(id: &str, command: &str) -> Message {
    anthropic::tool_use(id, "bash", json!({"command": command}))
}

/// Two at once, each with a conversation of its own; the answer is on stdout, their work on stderr.
#[test]
fn two_side_by_side() {
    let both = Message::new().tool_use("t1", "task", order("count")).tool_use("t2", "task", order("count"));
    let (world, model) =
        with_model([both, anthropic::text("Three."), anthropic::text("Three."), anthropic::text("Six.")]);
    let output = world.run(&["exec", "-p", "hi"]);
    assert_eq!((output.stdout().as_str(), output.code()), ("Six.\n", Some(0)), "{output}");
    // Which of the two is done first is up to the model.
    let said = output.stderr();
    let mut lines: Vec<_> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "  [1] general-purpose: count",
            "  [2] general-purpose: count",
            "⚙ Running task #1...",
            "⚙ Running task #2...",
            "⚙ task #1 Done. (X.XXs)",
            "⚙ task #2 Done. (X.XXs)",
        ]
    );
    insta::assert_snapshot!(model.request(1).conversation(), @"user: Please count.");
    insta::assert_snapshot!(model.request(3).conversation(), @r#"
    user: hi
    assistant: tool_use t1 task {"description":"count","prompt":"Please count."}
    assistant: tool_use t2 task {"description":"count","prompt":"Please count."}
    user: tool_result t1 Three.
    user: tool_result t2 Three.
    "#);
}

/// What it is told beside the task, and that it has every tool but the one that starts another.
#[test]
fn what_a_sub_agent_is_told() {
    let (world, model) =
        with_model([task("t1", "count"), anthropic::text("Three."), anthropic::text("Done.")]);
    world.run(&["exec", "--system-prompt", "Be brief.", "-p", "hi"]).success();
    let (main, sub) = (model.request(0).json(), model.request(1).json());
    insta::assert_snapshot!(sub["system"][0]["text"].as_str().unwrap(), @"
    Be brief.

    You are a sub-agent: another agent gave you the task, and nobody else reads what you write. Do the task without asking back. Your last message is your report; put everything into it that was asked for.
    ");
    let names = |request: &Value| -> Vec<String> {
        let tools = request["tools"].as_array().expect("there are tools").iter();
        tools.map(|tool| tool["name"].as_str().expect("tools have names").to_owned()).collect()
    };
    let (all, fewer) = (names(&main), names(&sub));
    assert!(all.contains(&"task".to_owned()));
    assert_eq!(fewer, all.into_iter().filter(|name| name != "task").collect::<Vec<_>>());
}

/// DEC-5, DECISIONS 28: the rules hold inside, and what they kept from happening is in both logs.
#[test]
fn a_denial_inside() {
    let replies = [
        task("t1", "tidy"),
        bash("c1", "touch made"),
        anthropic::text("I may not."),
        anthropic::text("Pity."),
    ];
    let (world, _model) = with_model(replies);
    let args = ["exec", "--session", "s", "--deny", "Bash(touch:*)", "-p", "hi"];
    insta::assert_snapshot!(world.run(&args), @"
    Pity.
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it
    ⚙ Running task...
      [1] general-purpose: tidy
      [1] denied: the rule `Bash(touch:*)` (--deny) denies touch made
    ⚙ task Done. (X.XXs)
    [exit status: 0]
    ");
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"tool_use","id":"t1","name":"task","input":{"description":"tidy","prompt":"Please tidy."},"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"approval","tool_use_id":"c1","decision":"blocked","by":"policy","class":"XF","reason":"the rule `Bash(touch:*)` (--deny) denies touch made","ts":"$TS","mode":"yolo","parent_tool_use_id":"t1"}
    {"type":"tool_result","tool_use_id":"t1","output":{"ok":true,"data":{"text":"I may not."}},"ok":true,"ts":"$TS"}
    {"type":"message","role":"assistant","text":"Pity.","ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    "#);
    assert_eq!(
        picked(
            &records(&world, project_log(&world)),
            &["event", "tool", "verdict", "result", "parent", "turn"]
        ),
        [
            json!(["decision", "task", "allow", null, null, null]),
            json!(["decision", "bash", "deny", null, "t1", null]),
            json!(["tool", "bash", null, "denied", "t1", 1]),
            json!(["tool", "task", null, "ok", null, 1]),
        ]
    );
    assert!(!world.work().join("made").exists());
}

/// DEC-5: the question names who asks.
#[test]
fn a_question_at_the_terminal() {
    let replies =
        [task("t1", "tidy up"), bash("c1", "touch made"), anthropic::text("Tidy."), anthropic::text("Done.")];
    let (world, _model) = with_model(replies);
    let mut pty = world.pty(
        &["--no-save", "--permission-mode", "default", "--sandbox", "off"],
        Size { rows: 50, cols: 160 },
    );
    type_line(&mut pty, 1, "go");
    reply(&mut pty, 1, "y\r");
    type_line(&mut pty, 2, ":q");
    insta::assert_snapshot!(over(pty), @r#"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> go
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    ✶ Running Task: tidy up  #1
    ? bash: sub-agent 1 "tidy up": mode default asks about XF: A plain file operation by the shell, inside the workspace
      in $WORK
      | touch made
      1: always in this session: Bash(touch made)
      2: always in this session: Bash(touch:*), Edit(/$WORK/**)
      u1, u2: the same, and in later sessions: it goes to $BASE/config.toml
      a or y: yes, once; r or n: no, or `r WHY` to tell the model; e: explain
    [A]pprove / [R]eject / [E]xplain? y
    ● Task: tidy up  T  #1
      1 call · 30 tokens
      Tidy.
    ✶ Waiting for claude-sonnet-5-5
    Done.
    you> :q
    Goodbye!
    [exit status: 0]
    "#);
    assert!(world.work().join("made").exists());
}

/// A program is asked as well, and hears of the call and its result only.
#[test]
fn a_question_to_a_program() {
    let replies =
        [task("t1", "tidy up"), bash("c1", "touch made"), anthropic::text("Tidy."), anthropic::text("Done.")];
    let (world, _model) = with_model(replies);
    let command = world.cmd(&["--json", "--no-save", "--permission-mode", "default", "--sandbox", "off"]);
    let mut run = world.start(command, Stdin::Open, Stdout::Captured);
    run.write_stdin("go\n").wait_for_stdout("elicitation");
    run.write_stdin("y\n").close_stdin();
    let output = run.finish();
    events(&output.stdout());
    insta::assert_snapshot!(output, @r#"
    {"type":"tool_call","schema":1,"tool":"task","input":{"description":"tidy up","prompt":"Please tidy up."},"id":"t1"}
    {"type":"elicitation","schema":1,"prompt":"bash: sub-agent 1 \"tidy up\": mode default asks about XF: A plain file operation by the shell, inside the workspace\n  in $WORK\n  | touch made","fields":[{"name":"approve","type":"boolean","required":true,"description":"Run it","sensitive":false},{"name":"always","type":"boolean","required":false,"description":"Also allow in this session: Bash(touch made)","sensitive":false},{"name":"grant","type":"integer","required":false,"description":"Or allow in this session: 1 for Bash(touch made); 2 for Bash(touch:*), Edit(/$WORK/**)","sensitive":false},{"name":"reason","type":"string","required":false,"description":"What the model is told when it is declined","sensitive":false}]}
    {"type":"tool_result","schema":1,"id":"t1","output":"{\"text\":\"Tidy.\"}","exit_code":0}
    {"type":"response_chunk","schema":1,"text":"Done."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":40,"output_tokens":20,"cache_read_tokens":0,"estimated_usd":0.00028}
    ------- stderr -------
    Model: claude-sonnet-5-5
    [exit status: 0]
    "#);
    assert!(world.work().join("made").exists());
}

/// INT-3: a sub-agent's command ends with the turn, and everything has its record.
#[test]
fn a_cancel_inside() {
    let (world, _model) =
        with_model([task("t1", "wait"), bash("c1", "echo $$ > new; mv new pids; exec sleep 60")]);
    let command = world.cmd(&["exec", "--session", "s", "-p", "hi"]);
    let mut run = world.start(command, Stdin::Null, Stdout::Captured);
    run.wait_until("the child", |_| pids(&world).is_some()).interrupt();
    insta::assert_snapshot!(run.finish(), @"
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it
    ⚙ Running task...
      [1] general-purpose: wait
      [1] bash echo $$ > new; mv new pids; exec sleep 60
    ⚙ task Done. (X.XXs)
    Tool failed: task canceled: The sub-agent was canceled before it was done

    ^C Interrupted.
    [exit status: 130]
    ");
    wait_until_gone(&pids(&world).expect("it has started"));
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"tool_use","id":"t1","name":"task","input":{"description":"wait","prompt":"Please wait."},"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"changed","tool_use_id":"c1","op":1,"created":1,"modified":0,"deleted":0,"paths":["pids"],"coverage":"full","ts":"$TS"}
    {"type":"tool_result","tool_use_id":"t1","output":{"ok":false,"error":{"code":"canceled","message":"The sub-agent was canceled before it was done"}},"ok":false,"ts":"$TS"}
    {"type":"interrupted","role":"system","text":"Interrupted","ts":"$TS"}
    "#);
    assert_eq!(
        picked(&records(&world, project_log(&world)), &["event", "tool", "result", "parent"]),
        [
            json!(["decision", "task", null, null]),
            json!(["decision", "bash", null, "t1"]),
            json!(["tool", "bash", "cancelled", "t1"]),
            json!(["tool", "task", "cancelled", null]),
        ]
    );
}

fn configured(
    config: &str,
    replies: impl IntoIterator<Item = Message>,
) -> (TestEnv, zori_testkit::server::ModelServer) {
    let (world, model) = with_model(replies);
    world.write(world.base().join("config.toml"), config);
    (world, model)
}

#[test]
fn how_deep() {
    let (world, model) = configured("subagent_depth = 0\n", [task("t1", "count"), anthropic::text("Done.")]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Done.
    ------- stderr -------
    Tool failed: task unknown_tool: `task` is not available here: no further sub-agent may be started
    [exit status: 0]
    ");
    assert!(!String::from_utf8_lossy(&model.request(0).body).contains("\"task\""));

    let replies = ["t1", "t2", "t3"].map(|id| task(id, "count")).into_iter();
    let (world, _model) =
        configured("subagent_depth = 2\n", replies.chain(["Three.", "Two.", "One."].map(anthropic::text)));
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    One.
    ------- stderr -------
    ⚙ Running task...
      [1] general-purpose: count
      [1] task
      [2] general-purpose: count
    ⚙ task Done. (X.XXs)
    [exit status: 0]
    ");
}

#[test]
fn how_many() {
    let both = Message::new().tool_use("t1", "task", order("count")).tool_use("t2", "task", order("count"));
    let (world, model) =
        configured("subagent_max = 1\n", [both, anthropic::text("Three."), anthropic::text("Done.")]);
    world.run(&["exec", "-p", "hi"]).success();
    insta::assert_snapshot!(model.request(2).conversation(), @r#"
    user: hi
    assistant: tool_use t1 task {"description":"count","prompt":"Please count."}
    assistant: tool_use t2 task {"description":"count","prompt":"Please count."}
    user: tool_result t1 Three.
    user: tool_result (error) t2 error agent_error: This prompt has started 1 sub-agent, which is all it may (`subagent_max`). Do the rest yourself.
    "#);
}

/// What a sub-agent uses is used up for the run: 35 micro-dollars a request.
#[test]
fn limits_count_what_it_uses() {
    let restless = || {
        let looks = (1..=9).map(|n| anthropic::tool_use(&format!("c{n}"), "ls", json!({})));
        std::iter::once(task("t1", "look around")).chain(looks)
    };
    for (limit, requests) in
        [(["--max-turns", "3"], 3), (["--max-budget-usd", "0.0001"], 3), (["--max-tokens-total", "60"], 4)]
    {
        let (world, model) = with_model(restless());
        let output = world.run(&[&["exec", "--model", "claude-haiku-4-5", "-p", "hi"], &limit[..]].concat());
        assert_eq!((output.code(), model.count()), (Some(3), requests), "{limit:?}\n{output}");
    }
    let (world, _model) = with_model(restless());
    insta::assert_snapshot!(world.run(&["exec", "--max-turns", "3", "-p", "hi"]), @"
    ------- stderr -------
    ⚙ Running task...
      [1] general-purpose: look around
      [1] ls $WORK
      [1] ls $WORK
    ⚙ task Done. (X.XXs)
    Tool failed: task agent_error: The sub-agent did not come to an end: the turns of this prompt are used up (`--max-turns`). It said nothing.
    Error: Reached the limit of 3 turns (`--max-turns`)
    [exit status: 3]
    ");
}

/// The cost of a turn has its sub-agents in it.
#[test]
fn the_cost_is_the_sum() {
    let (world, _model) =
        with_model([task("t1", "count"), anthropic::text("Three."), anthropic::text("Done.")]);
    let output = world.run(&["--json", "-p", "hi"]);
    let cost = output.stdout().lines().last().expect("there is a cost").to_owned();
    let cost: Value = serde_json::from_str(&cost).expect("events are JSON");
    assert_eq!(cost["type"], "cost");
    assert_eq!((&cost["input_tokens"], &cost["output_tokens"]), (&json!(30), &json!(15)), "{cost}");
}

/// A provider that fails inside fails the call, not the turn.
#[test]
fn a_failure_inside() {
    let refused = anthropic::http_error(400, "invalid_request_error", "no such thing");
    let (world, model) =
        with_model([Reply::from(task("t1", "count")), refused, Reply::from(anthropic::text("Then not."))]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Then not.
    ------- stderr -------
    ⚙ Running task...
      [1] general-purpose: count
    ⚙ task Done. (X.XXs)
    Tool failed: task agent_error: The sub-agent did not come to an end: http_status: HTTP 400: no such thing. It said nothing.
    [exit status: 0]
    ");
    insta::assert_snapshot!(model.request(2).conversation(), @r#"
    user: hi
    assistant: tool_use t1 task {"description":"count","prompt":"Please count."}
    user: tool_result (error) t1 error agent_error: The sub-agent did not come to an end: http_status: HTTP 400: no such thing. It said nothing.
    "#);
}

/// A failure after a sub-agent has changed something is a partial one.
#[test]
fn its_effects_are_the_turns() {
    let refused = anthropic::http_error(400, "invalid_request_error", "no such thing");
    let replies = [
        Reply::from(task("t1", "tidy")),
        Reply::from(bash("c1", "touch made")),
        Reply::from(anthropic::text("Tidy.")),
        refused,
    ];
    let (world, _model) = with_model(replies);
    assert_eq!(world.run(&["exec", "-p", "hi"]).code(), Some(3));
}
