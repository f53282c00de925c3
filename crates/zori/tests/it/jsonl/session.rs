//! A program that talks to `--json` on standard input: prompts, commands, questions and their answers.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::Size;
use zori_testkit::running::{Running, Stdin, Stdout};

use super::{checked, events};
use crate::world::{with_model, world};

/// A session that is not saved, with a standard input that stays open.
fn session(world: &TestEnv, args: &[&str]) -> Running {
    let args = [&["--json", "--no-save"], args].concat();
    world.start(world.cmd(&args), Stdin::Open, Stdout::Captured)
}

fn touch(id: &str) -> anthropic::Message {
    anthropic::tool_use(id, "bash", json!({"command": "touch made"}))
}

/// What an event is about, in a word or two.
fn outline(stdout: &str) -> Vec<String> {
    let said = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let line = |event: &Value| match event["type"].as_str().unwrap_or_default() {
        "response_chunk" => format!("chunk {}", said(event, "text")),
        "tool_call" => format!("call {}", event["input"]),
        "tool_result" => format!("result {} {}", event["exit_code"], said(event, "output")),
        "error" => format!("{}: {}", said(event, "code"), said(event, "message")),
        "elicitation" => format!("asks {}", said(event, "prompt").lines().next().unwrap_or_default()),
        other => other.to_owned(),
    };
    events(stdout).iter().map(line).collect()
}

/// Each line is a turn of one conversation, a JSON prompt may have several lines, and a slash command is answered.
#[test]
fn lines_commands_and_the_end() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let lines = "  first  \n\n{\"type\":\"prompt\",\"text\":\"a\\nb\"}\n/model\n/nonsens\n{\"type\":\"fly\"}\nquit\nnever\n";
    let output = world.run_with_stdin(&["--json", "--no-save"], lines);
    insta::assert_snapshot!(checked(output), @r#"
    {"type":"response_chunk","schema":1,"text":"One."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"estimated_usd":0.00007}
    {"type":"response_chunk","schema":1,"text":"Two."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"estimated_usd":0.00007}
    {"type":"response_chunk","schema":1,"text":"Model: claude-sonnet-5-5"}
    {"type":"response_end","schema":1}
    {"type":"error","schema":1,"message":"Unknown command /nonsens (/help shows them all)","code":"bad_command"}
    {"type":"error","schema":1,"message":"`fly` is no command; the commands are prompt, command, elicitation_response, interrupt, exit","code":"bad_command"}
    ------- stderr -------
    Model: claude-sonnet-5-5
    [exit status: 0]
    "#);
    assert_eq!(model.request(1).conversation(), "user: first\nassistant: One.\nuser: a\nb\n");
}

/// A slash command that does not exist is said to be none, and reaches no model: those that other programs have, too.
#[test]
fn slash_commands_that_are_not_there() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("One.")]);
    let lines = "/zebra a\n/elephant\n{\"type\":\"command\",\"text\":\"/zebra\"}\n{\"type\":\"command\",\"text\":\"schedule\"}\n\
                 {\"type\":\"prompt\",\"text\":\"/schedule is a word\"}\n";
    for bare in [&["--bare"][..], &[]] {
        let output = world.run_with_stdin(&[bare, &["--json", "--no-save"]].concat(), lines);
        assert_eq!(
            outline(&output.stdout()),
            [
                "bad_command: Unknown command /zebra (/help shows them all)",
                "bad_command: Unknown command /elephant (/help shows them all)",
                "bad_command: Unknown command /zebra (/help shows them all)",
                "bad_command: `schedule` is no slash command; `/help` shows them all",
                // What is said to be a prompt is one, whatever it begins with.
                "chunk One.",
                "response_end",
                "cost",
            ],
            "{bare:?}"
        );
        assert_eq!(model.request(model.count() - 1).conversation(), "user: /schedule is a word\n");
    }
}

/// D-17: a stream of commands takes no braces for a prompt; without `--bare` a person may type them.
#[test]
fn braces() {
    let (world, model) = with_model([anthropic::text("One.")]);
    let lines = "{not json\n{\"no\":\"type\"}\n";
    let bare = world.run_with_stdin(&["--json", "--bare", "--no-save"], lines);
    assert_eq!(
        outline(&bare.stdout()),
        [
            "bad_command: this line is no command: key must be a string at line 1 column 2",
            "bad_command: this line is no command: missing field `type` at line 1 column 13",
        ]
    );
    assert_eq!((bare.code(), model.count()), (Some(0), 0));
    let output = world.run_with_stdin(&["--json", "--no-save"], "{not json\n");
    assert_eq!(outline(&output.stdout()), ["chunk One.", "response_end", "cost"]);
}

/// Every kind of bad line costs that line and no more (IO-4).
#[test]
fn bad_lines() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    let mut lines =
        b"{\"type\":\"prompt\",\"text\":\"\xff\"}\n{\"type\":\"exit\"} {\"type\":\"exit\"}\n".to_vec();
    lines.extend_from_slice(&vec![b'x'; (16 << 20) + 2]);
    lines.extend_from_slice(b"\n{\"type\":\"elicitation_response\",\"action\":\"accept\"}\nhi");
    let output = world.run_with_stdin(&["--json", "--bare", "--no-save"], lines);
    assert_eq!(
        outline(&output.stdout()),
        [
            "bad_command: a line is not UTF-8 text (byte 25)",
            "bad_command: this line is no command: trailing characters at line 1 column 17",
            "bad_command: a line has more than 16777216 bytes",
            "bad_command: no question is open",
            "chunk One.",
            "response_end",
            "cost",
        ]
    );
    assert_eq!(output.code(), Some(0));
}

/// A question is an event, and its answer a command; a plain line does, too.
#[test]
fn questions_and_answers() {
    let (world, model) = with_model([touch("t1"), touch("t2"), anthropic::text("Done.")]);
    let mut run = session(&world, &["--permission-mode", "default", "--sandbox", "off"]);
    run.write_stdin("go\n").wait_for_stdout("elicitation");
    let asked = events(&run.stdout()).pop().unwrap();
    let field = |name: &str, kind: &str, required: bool, about: &str| json!({"name": name, "type": kind, "required": required, "description": about, "sensitive": false});
    let wanted = json!({
        "type": "elicitation",
        "schema": 1,
        "prompt": "bash: mode default asks about XF: A plain file operation by the shell, inside the workspace\n  \
                   in $WORK\n  | touch made",
        "fields": [
            field("approve", "boolean", true, "Run it"),
            field("always", "boolean", false, "Also allow in this session: Bash(touch made)"),
            field(
                "grant",
                "integer",
                false,
                "Or allow in this session: 1 for Bash(touch made); 2 for Bash(touch:*), Edit(/$WORK/**)"
            ),
            field("reason", "string", false, "What the model is told when it is declined"),
        ],
    });
    assert_eq!(asked, wanted);
    let decline = r#"{"type":"elicitation_response","action":"decline","content":{"reason":"not yet"}}"#;
    run.write_stdin(format!("{decline}\n"));
    run.wait_until("the second question", |run| run.stdout().matches("elicitation").count() == 2);
    assert!(!world.work().join("made").exists());
    run.write_stdin("y\n").wait_for_stdout("\"cost\"").close_stdin();
    let output = run.finish();
    assert_eq!(
        outline(&output.stdout()),
        [
            "call {\"command\":\"touch made\"}",
            "asks bash: mode default asks about XF: A plain file operation by the shell, inside the workspace",
            "result 126 The user rejected this call: not yet",
            "call {\"command\":\"touch made\"}",
            "asks bash: mode default asks about XF: A plain file operation by the shell, inside the workspace",
            "result 0 ",
            "chunk Done.",
            "response_end",
            "cost",
        ]
    );
    assert!(world.work().join("made").exists());
    assert_eq!((output.code(), model.count()), (Some(0), 3));
}

/// D-18: the end of standard input is a no; so is a run that has nobody to ask, which does not ask.
#[test]
fn nobody_answers() {
    let replies = || [touch("t1"), anthropic::text("ok")];
    for (args, lines, asked, why) in [
        (&["--json"][..], "go\n", 1, "approval_unavailable: standard input has ended, so nobody can answer"),
        (
            &["--json", "-p", "go"],
            "",
            1,
            "approval_unavailable: standard input has ended, so nobody can answer",
        ),
        (&["--json", "--bare"], "go\ny\n", 0, "approval_unavailable: "),
        (&["--json", "--bare", "-p", "go"], "y\n", 0, "approval_unavailable: "),
    ] {
        let extra = if lines == "go\ny\n" { vec![anthropic::text("two")] } else { Vec::new() };
        let (world, _model) = with_model(replies().into_iter().chain(extra));
        let args = [args, &["--no-save", "--permission-mode", "default"]].concat();
        let output = world.run_with_stdin(&args, lines);
        let said = outline(&output.stdout());
        assert_eq!(said.iter().filter(|line| line.starts_with("asks")).count(), asked, "{args:?} {said:?}");
        assert!(said.iter().any(|line| line.starts_with(&format!("result 126 {why}"))), "{args:?} {said:?}");
        assert!(!world.work().join("made").exists(), "{args:?}");
        assert_eq!(output.code(), Some(0), "{args:?}");
    }
}

/// FR-006: `-y` answers, and nobody is asked or read; by config, too.
#[test]
fn yes() {
    for flags in [&["-y"][..], &["--auto"], &[]] {
        let (world, _model) = with_model([touch("t1"), anthropic::text("ok")]);
        if flags.is_empty() {
            world.write(world.base().join("config.toml"), "[cli]\nauto = true\n");
        }
        let args = ["--json", "-p", "go", "--no-save", "--permission-mode", "default", "--sandbox", "off"];
        let args = [&args, flags].concat();
        let mut run = world.start(world.cmd(&args), Stdin::Open, Stdout::Captured);
        run.wait_for_stdout("\"cost\"");
        let said = outline(&run.finish().stdout());
        assert_eq!(said[..2], ["call {\"command\":\"touch made\"}", "result 0 "], "{flags:?}");
        assert!(world.work().join("made").exists());
    }
}

/// An interrupt ends the turn and not the session; the last failed turn gives the exit code.
#[test]
fn an_interrupt_by_the_program() {
    let gate = Gate::new();
    let (world, _model) = with_model([
        anthropic::text("Some words").reply().wait_after(4, &gate),
        anthropic::text("Two.").reply(),
    ]);
    let mut run = session(&world, &["--bare"]);
    run.write_stdin("one\n").wait_for_stdout("words").write_stdin("two\n{\"type\":\"interrupt\"}\n");
    run.wait_for_stdout("Two.").write_stdin("{\"type\":\"exit\"}\n");
    let output = run.finish();
    assert_eq!(
        outline(&output.stdout()),
        [
            "chunk Some ",
            "chunk words",
            "interrupted: Interrupted",
            "response_end",
            "cost",
            "chunk Two.",
            "response_end",
            "cost"
        ]
    );
    assert_eq!(output.code(), Some(130));
}

/// Ctrl-C means the whole run, not the first of many lines; waiting for a line it is the end at once.
#[test]
fn ctrl_c_in_a_session() {
    let gate = Gate::new();
    let (world, model) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
    let mut run = session(&world, &[]);
    run.write_stdin("one\ntwo\n").wait_for_stdout("words").interrupt();
    assert_eq!((run.finish().code(), model.count()), (Some(130), 1));
    let (world, _model) = with_model([anthropic::text("One.")]);
    let mut run = session(&world, &[]);
    run.write_stdin("one\n").wait_for_stdout("\"cost\"").terminate();
    assert_eq!(run.finish().code(), Some(143));
}

/// IO-2: a reader that is gone ends the session after the turn it was gone in.
#[test]
fn a_reader_that_leaves_a_session() {
    let (world, model) = with_model([anthropic::text("One.")]);
    let lines = Stdin::Bytes(b"one\ntwo\nthree\n".to_vec());
    let run = world.start(world.cmd(&["--json", "--no-save"]), lines, Stdout::ClosedAfter(0));
    assert_eq!(
        run.finish().to_string(),
        "------- stderr -------\nModel: claude-sonnet-5-5\n[exit status: 1]"
    );
    assert_eq!(model.count(), 1);
}

/// DECISIONS 24: the code of the last turn that failed.
#[test]
fn a_turn_that_fails_does_not_end_the_session() {
    let (world, _model) = with_model([
        anthropic::http_error(429, "rate_limit_error", "slow down"),
        anthropic::http_error(401, "authentication_error", "who?"),
        anthropic::text("Two.").reply(),
    ]);
    let output = world.run_with_stdin(&["--json", "--no-save", "--retries", "0"], "one\ntwo\nthree\n");
    assert_eq!(
        outline(&output.stdout()),
        [
            "rate_limited: HTTP 429: slow down",
            "cost",
            "auth_error: HTTP 401: who?",
            "cost",
            "chunk Two.",
            "response_end",
            "cost",
        ]
    );
    assert_eq!(output.code(), Some(8));
}

/// `/new` goes on with another session, whose id the cost has.
#[test]
fn another_session() {
    let (world, _model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let output = world.run_with_stdin(
        &["--json", "--session", "s"],
        "one\n{\"type\":\"command\",\"text\":\"/new\"}\ntwo\n",
    );
    let ids: Vec<_> = events(&output.stdout())
        .iter()
        .filter_map(|event| event["session_id"].as_str().map(str::to_owned))
        .collect();
    assert!(ids.len() == 2 && ids[0] == "s" && ids[1] != "s", "{output}");
    assert_eq!(world.session_files().len(), 2);
}

/// At a terminal each line is a turn, and nothing but events is printed on stdout.
#[test]
fn at_a_terminal() {
    let (mut world, _model) = with_model([anthropic::text("One.")]);
    world.set_var("NO_COLOR", "1");
    let mut pty = world.pty(&["--json", "--no-save"], Size { rows: 20, cols: 200 });
    pty.wait_for("Model: claude-sonnet-5-5\r\n");
    pty.send("hi\r");
    pty.wait_for("\"cost\"");
    pty.send("\x04");
    let (status, drawn) = pty.finish();
    assert_eq!(status.code(), Some(0), "{drawn}");
    insta::assert_snapshot!(drawn.replace('\r', ""), @r#"
    Model: claude-sonnet-5-5
    hi
    {"type":"response_chunk","schema":1,"text":"One."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"estimated_usd":0.00007}
    "#);
}

/// FR-001: what runs in the background is in the trace; nothing else but the reader of standard input does.
#[test]
fn the_trace_of_workers() {
    let frame = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n";
    let stream = ["--input-format", "stream-json", "--output-format", "stream-json", "--no-save"];
    for (args, lines, workers) in [
        (&["--json", "--bare", "--no-save"][..], "hi\n", vec!["worker.stdin"]),
        (&["--json", "--no-save"], "hi\n", vec!["worker.stdin"]),
        (&["--json", "--no-save", "-p", "hi"], "", Vec::new()),
        (&["exec", "--no-save", "-p", "hi"], "", Vec::new()),
        (&["start", "--no-save"], frame, vec!["worker.stdin"]),
        (&["start", "--no-save", "--bare"], frame, vec!["worker.stdin"]),
        (&["start", "--no-save", "--prompt", "hi"], "", Vec::new()),
        (&stream, frame, vec!["worker.stdin"]),
    ] {
        let (mut world, _model) = with_model([anthropic::text("One.")]);
        world.set_var("ZORI_TRACE", world.tmp().join("trace"));
        world.run_with_stdin(args, lines).success();
        let trace = std::fs::read_to_string(world.tmp().join("trace")).unwrap_or_default();
        let spans: Vec<Value> = trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let opened: Vec<_> =
            spans.iter().filter(|span| span["event"] == "open").map(|span| &span["span"]).collect();
        assert_eq!(opened, workers, "{args:?}");
    }
    let mut world = world();
    world.set_var("ZORI_TRACE", world.work());
    let output = world.run_with_stdin(&["--json", "--no-save", "--provider", "ollama", "--model", "m"], "");
    insta::assert_snapshot!(checked(output), @"
    ------- stderr -------
    Model: m
    Warning: cannot write the trace $WORK (`ZORI_TRACE`): Is a directory (os error 21)
    [exit status: 0]
    ");
}

/// `/loop` (FR-007, FR-008, NFR-007): one question after every turn, whatever came of it, and the counter goes on.
#[test]
fn a_loop_asks_after_every_turn() {
    let limited = anthropic::http_error(429, "rate_limit_error", "Too many requests");
    let (world, model) =
        with_model([anthropic::text("One.").reply(), limited, anthropic::text("Three.").reply()]);
    let lines = "/loop a\ny\nb\ny\nc\nmaybe\nn\n/model\n";
    let output = world.run_with_stdin(&["--json", "--retries", "0"], lines);
    assert_eq!(
        outline(&output.stdout()),
        [
            "chunk One.",
            "response_end",
            "cost",
            "asks Continue? [y/N]",
            "rate_limited: HTTP 429: Too many requests",
            "cost",
            "asks Continue? [y/N]",
            "chunk Three.",
            "response_end",
            "cost",
            "asks Continue? [y/N]",
            "asks Continue? [y/N]",
            "chunk Model: claude-sonnet-5-5",
            "response_end",
        ],
        "{output}"
    );
    assert_eq!(model.request(2).conversation(), "user: a\nassistant: One.\nuser: c\n");
}

/// The answers of a program, an empty line, and the end of the input, which is a no.
#[test]
fn ways_out_of_a_loop() {
    for (answer, left) in [
        (r#"{"type":"elicitation_response","action":"accept","content":{"continue":true}}"#, false),
        (r#"{"type":"elicitation_response","action":"accept","content":{"continue":false}}"#, true),
        (r#"{"type":"elicitation_response","action":"decline"}"#, true),
        (r#"{"type":"interrupt"}"#, true),
        ("", true),
        ("YES", false),
    ] {
        let (world, _model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
        let mut run = session(&world, &[]);
        run.write_stdin("/loop a\n").wait_for_stdout("elicitation");
        run.write_stdin(format!("{answer}\nb\n")).wait_for_stdout("Two.").close_stdin();
        let output = run.finish();
        let mut wanted = vec!["chunk One.", "response_end", "cost", "asks Continue? [y/N]"];
        wanted.extend(["chunk Two.", "response_end", "cost"]);
        wanted.extend((!left).then_some("asks Continue? [y/N]"));
        assert_eq!(
            (outline(&output.stdout()), output.code()),
            (wanted.iter().map(|w| (*w).to_owned()).collect(), Some(0)),
            "{answer}"
        );
    }
}

/// `/recap` (FR-009, NFR-005): an answer beside the conversation, with its cost.
#[test]
fn a_recap_is_no_turn() {
    let recap = r#"{"decisions":["use a trie"],"facts":[],"open_questions":["who calls add()?"]}"#;
    let (world, model) = with_model([
        anthropic::text("One.").reply(),
        anthropic::text(recap).reply(),
        anthropic::http_error(400, "invalid_request_error", "no"),
        anthropic::text("Two.").reply(),
    ]);
    let output =
        world.run_with_stdin(&["--json", "--no-save", "--bare"], "/recap\nfirst\n/recap\n/recap\nsecond\n");
    insta::assert_snapshot!(checked(output), @r#"
    {"type":"response_chunk","schema":1,"text":"No turns in session"}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"estimated_usd":0.0}
    {"type":"response_chunk","schema":1,"text":"One."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"estimated_usd":0.00007}
    {"type":"response_chunk","schema":1,"text":"Decisions:\n- use a trie\n\nFacts:\n- none\n\nOpen questions:\n- who calls add()?"}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"estimated_usd":0.00007}
    {"type":"error","schema":1,"message":"HTTP 400: no","code":"recap_error"}
    {"type":"cost","schema":1,"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"estimated_usd":0.0}
    {"type":"response_chunk","schema":1,"text":"Two."}
    {"type":"response_end","schema":1}
    {"type":"cost","schema":1,"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"estimated_usd":0.00007}
    ------- stderr -------
    Model: claude-sonnet-5-5
    [exit status: 0]
    "#);
    assert_eq!(model.request(3).conversation(), "user: first\nassistant: One.\nuser: second\n");
}

/// What was piped early is an answer, too: an empty line leaves the loop, and the next line is a prompt as ever.
#[test]
fn an_empty_line_that_comes_early() {
    let (world, _model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let output = world.run_with_stdin(&["--json", "--no-save"], "/loop a\n\nb\n");
    assert_eq!(
        outline(&output.stdout()),
        ["chunk One.", "response_end", "cost", "asks Continue? [y/N]", "chunk Two.", "response_end", "cost"]
    );
}

/// ASK-2: questions of the model's are fields of one event; a plain line answers one, too.
#[test]
fn questions_of_the_model() {
    let options = json!([{"label": "Red"}, {"label": "Blue"}]);
    let two = json!({"questions": [
        {"question": "Which colour?", "options": options},
        {"question": "Which others?", "options": options, "multiSelect": true},
    ]});
    let one = json!({"question": "Why?"});
    let (world, model) = with_model([
        anthropic::tool_use("t1", "ask_user", two),
        anthropic::tool_use("t2", "ask_user", one),
        anthropic::text("Done."),
    ]);
    let mut run = session(&world, &["--permission-mode", "default", "--sandbox", "off"]);
    run.write_stdin("go\n").wait_for_stdout("elicitation");
    let field = |name: &str, about: &str| json!({"name": name, "type": "string", "required": true, "description": about, "sensitive": false, "options": ["Red", "Blue"]});
    let mut several = field("answer_2", "Which others?");
    several["multiple"] = json!(true);
    assert_eq!(
        events(&run.stdout()).pop().unwrap(),
        json!({
            "type": "elicitation",
            "schema": 1,
            "prompt": "The model asks\n  | Which colour?\n  1  Red\n  2  Blue\n  | Which others?\n  1  Red\n  2  Blue",
            "fields": [field("answer_1", "Which colour?"), several],
        })
    );
    let nothing = json!({"type": "elicitation_response", "action": "accept", "content": {"approve": true}});
    run.write_stdin(format!("{nothing}\n")).wait_for_stdout("`content.answer` must be text");
    let answers = json!({"type": "elicitation_response", "action": "accept", "content": {"answer_1": "2", "answer_2": "1,2"}});
    run.write_stdin(format!("{answers}\n"));
    run.wait_until("the second question", |run| run.stdout().matches("\"elicitation\"").count() == 2);
    run.write_stdin("because I say so\n").wait_for_stdout("\"cost\"").close_stdin();
    run.finish();
    let results: Vec<_> =
        (1..3).map(|n| model.request(n).messages().pop().unwrap()["content"][0]["content"].clone()).collect();
    assert_eq!(
        results,
        ["Which colour?\nthe user: Blue\nWhich others?\nthe user: Red, Blue", "the user: because I say so"]
    );
}
