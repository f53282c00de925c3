//! Who gets what: the answer on stdout, everything else on stderr, and nothing a terminal would obey.

use std::fs::File;

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::output::CommandOutput;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};

use crate::world::{in_shell, with_model, world};

/// Runs one prompt on which the model calls this tool, then says `Done.`.
#[track_caller]
fn run_call(name: &str, input: serde_json::Value) -> CommandOutput {
    let (world, _server) =
        with_model([anthropic::tool_use("toolu_1", name, input), anthropic::text("Done.")]);
    world.write("a.txt", "content\n");
    world.run(&["exec", "-p", "go"])
}

/// OUT-4: what has arrived is on stdout while the rest has not.
#[test]
fn text_goes_out_as_it_comes() {
    let gate = Gate::new();
    let reply = anthropic::text("Hello world").reply().wait_after(3, &gate);
    let (world, _server) = with_model([reply]);
    let mut run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Null, Stdout::Captured);
    run.wait_for_stdout("Hello ");
    assert_eq!(run.stdout(), "Hello ");
    gate.open();
    assert_eq!(run.finish().to_string(), "Hello world\n[exit status: 0]");
}

/// OUT-5.
#[test]
fn a_tool_has_one_line() {
    insta::assert_snapshot!(run_call("read", json!({"path": "a.txt"})), @r"
    Done.
    ------- stderr -------
    ⚙ Running read... Done. (X.XXs)
    [exit status: 0]
    ");
}

/// OUT-5: a person sees what runs while it runs.
#[test]
fn the_line_begins_when_the_tool_does() {
    let (world, _server) = with_model([
        anthropic::tool_use("toolu_1", "bash", json!({"command": "until test -e go; do :; done"})),
        anthropic::text("Done."),
    ]);
    let mut run = world.start(world.cmd(&["exec", "-p", "go"]), Stdin::Null, Stdout::Captured);
    run.wait_for_stderr("⚙ Running bash...");
    assert_eq!(
        run.stderr(),
        "Tool requested: bash command=\"until test -e go; do :; done\"\n⚙ Running bash..."
    );
    world.write("go", "");
    run.finish().success();
}

/// OUT-5: each part is a line of its own that names the tool.
#[test]
fn tools_that_run_together() {
    let (world, _server) = with_model([
        anthropic::tool_use("toolu_1", "bash", json!({"command": "until test -e flag; do :; done"}))
            .tool_use(
                "toolu_2",
                "bash",
                json!({"command": "until test -e go; do :; done; touch flag; exit 3"}),
            ),
        anthropic::text("Done."),
    ]);
    let mut run = world.start(world.cmd(&["exec", "-p", "go"]), Stdin::Null, Stdout::Captured);
    run.wait_for_stderr("⚙ Running bash #2...");
    world.write("go", "");
    let output = run.finish();
    let mut lines: Vec<_> = output.stderr().lines().map(str::to_owned).collect();
    // Which of the two is noticed first is up to the scheduler.
    lines[4..].sort();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    Tool requested: bash command="until test -e flag; do :; done"
    Tool requested: bash command="until test -e go; do :; done; touch flag; exit 3"
    ⚙ Running bash #1...
    ⚙ Running bash #2...
    Tool finished: bash exit=0
    Tool finished: bash exit=3
    ⚙ bash #1 Done. (X.XXs)
    ⚙ bash #2 Done. (X.XXs)
    "#);
}

/// OUT-6.
#[test]
fn a_command_and_its_exit_code() {
    insta::assert_snapshot!(run_call("bash", json!({"command": "echo hi; exit 3"})), @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="echo hi; exit 3"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=3
    [exit status: 0]
    "#);
}

/// OUT-6: one line, whatever the command looks like.
#[test]
fn a_command_of_several_lines() {
    insta::assert_snapshot!(run_call("bash", json!({"command": "echo \"a\tb\"\necho c\r\n"})), @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="echo "a\tb"\necho c\r\n"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    [exit status: 0]
    "#);
}

/// OUT-6.
#[test]
fn a_command_that_takes_too_long() {
    insta::assert_snapshot!(run_call("bash", json!({"command": "sleep 60", "timeout_secs": 1})), @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="sleep 60"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash timed_out=true
    [exit status: 0]
    "#);
}

/// OUT-6: whether the call fails when it is checked or when it is run.
#[test]
fn a_command_that_cannot_be_run() {
    insta::assert_snapshot!(run_call("bash", json!({"command": "a\0b"})), @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="a\x00b"
    Tool denied: bash: the command has a NUL byte in it
    [exit status: 0]
    "#);
    insta::assert_snapshot!(run_call("bash", json!({"timeout_secs": 1})), @r#"
    Done.
    ------- stderr -------
    Tool finished: bash error="missing field `command`. Fields of `bash`: `command` (a string, required), `timeout_secs` (an integer), `background` (a boolean), `stay` (a boolean)"
    [exit status: 0]
    "#);
}

/// EXIT-2: a failing tool is the model's business.
#[test]
fn a_tool_that_fails_says_so_and_fails_nothing() {
    insta::assert_snapshot!(run_call("read", json!({"path": "missing.txt"})), @r"
    Done.
    ------- stderr -------
    ⚙ Running read... Done. (X.XXs)
    Tool failed: read path_error: File not found: $WORK/missing.txt (ENOENT); check the path
    [exit status: 0]
    ");
    insta::assert_snapshot!(run_call("nonsense", json!({})), @"
    Done.
    ------- stderr -------
    Tool failed: nonsense unknown_tool: `nonsense` is not a tool; the tools are read, write, edit, bash, multi_edit, glob, grep, ls, apply_patch, web_fetch, web_search, todo_write, task
    [exit status: 0]
    ");
}

#[test]
fn a_task_list_is_shown() {
    let todos = json!([
        {"content": "look", "status": "completed"},
        {"content": "change", "status": "in_progress"},
        {"content": "test", "status": "pending"},
    ]);
    insta::assert_snapshot!(run_call("todo_write", json!({"todos": todos})), @r"
    Done.
    ------- stderr -------
    ⚙ Running todo_write... Done. (X.XXs)
    Tasks:
      [x] look
      [>] change
      [ ] test
    [exit status: 0]
    ");
}

/// OUT-7.
#[test]
fn an_error_of_the_provider() {
    let (world, _server) =
        with_model([anthropic::http_error(400, "invalid_request_error", "no\nsuch thing")]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 400: no such thing
      Details: {"error":{"message":"no\nsuch thing","type":"invalid_request_error"},"type":"error"}
    [exit status: 1]
    "#);
    let (world, _server) = with_model([Reply::bytes(404, "text/plain", "")]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error [http_status]: HTTP 404
    [exit status: 1]
    ");
}

/// OUT-8.
#[test]
fn an_interrupt() {
    let gate = Gate::new();
    let (world, _server) = with_model([anthropic::text("Hello world").reply().wait_after(3, &gate)]);
    let mut run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Null, Stdout::Captured);
    run.wait_for_stdout("Hello ").interrupt();
    assert_eq!(
        run.finish().to_string(),
        "Hello \n------- stderr -------\n\n^C Interrupted.\n[exit status: 130]"
    );
}

const HOSTILE: &str = "red \x1b[31mtext\x1b[0m \x1b]0;title\x07 \u{9b}2J \u{202e}back\u{202c} a\rb";

/// OUT-9: a program gets the model's bytes.
#[test]
fn control_characters_are_exact_on_a_pipe() {
    let (world, _server) = with_model([anthropic::text(HOSTILE)]);
    assert_eq!(world.run(&["exec", "-p", "hi"]).stdout, format!("{HOSTILE}\n").as_bytes());
}

/// OUT-9: a terminal gets harmless ones.
#[test]
fn control_characters_are_visible_on_a_terminal() {
    let (world, _server) = with_model([anthropic::text(HOSTILE)]);
    let (status, drawn) = world.pty(&["exec", "-p", "hi"], Size::CLASSIC).finish();
    let harmless = "red \\x1b[31mtext\\x1b[0m \\x1b]0;title\\x07 \\x9b2J \\u{202e}back\\u{202c} a\\rb\r\n";
    assert_eq!((status.code(), drawn.as_str()), (Some(0), harmless));
}

/// OUT-9: what models and tools say about themselves is as hostile as the answer.
#[test]
fn control_characters_in_names_commands_and_errors() {
    insta::assert_snapshot!(run_call("ba\x1b[2Jsh", json!({})), @r#"
    Done.
    ------- stderr -------
    Tool failed: ba\x1b[2Jsh unknown_tool: `ba\x1b[2Jsh` is not a tool; the tools are read, write, edit, bash, multi_edit, glob, grep, ls, apply_patch, web_fetch, web_search, todo_write, task
    [exit status: 0]
    "#);
    insta::assert_snapshot!(run_call("bash", json!({"command": "true \x1b[2J"})), @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="true \x1b[2J"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    [exit status: 0]
    "#);
    insta::assert_snapshot!(run_call("read", json!({"path": "\x1b[2J"})), @r"
    Done.
    ------- stderr -------
    ⚙ Running read... Done. (X.XXs)
    Tool failed: read path_error: File not found: $WORK/\x1b[2J (ENOENT); check the path
    [exit status: 0]
    ");
    let (world, _server) = with_model([anthropic::http_error(400, "invalid_request_error", "\x1b[2J")]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 400: \x1b[2J
      Details: {"error":{"message":"\u001b[2J","type":"invalid_request_error"},"type":"error"}
    [exit status: 1]
    "#);
}

/// Returns what a terminal is sent in a run with one tool call.
fn drawn(variables: &[(&str, &str)]) -> String {
    let (mut world, _server) =
        with_model([anthropic::tool_use("toolu_1", "ls", json!({})), anthropic::text("Done.")]);
    for (name, value) in variables {
        world.set_var(name, value);
    }
    let (status, drawn) = world.pty(&["exec", "-p", "hi"], Size::CLASSIC).finish();
    assert_eq!(status.code(), Some(0), "{drawn}");
    drawn
}

/// OUT-9.
#[test]
fn colour_is_for_terminals_that_want_it() {
    assert_eq!(drawn(&[]), "\x1b[2m⚙ Running ls...\x1b[0m\x1b[2m Done. (X.XXs)\x1b[0m\r\nDone.\r\n");
    let plain = "⚙ Running ls... Done. (X.XXs)\r\nDone.\r\n";
    assert_eq!(drawn(&[("NO_COLOR", "1")]), plain);
    // DECISIONS 20: nobody is there to see it.
    assert_eq!(drawn(&[("CI", "true")]), plain);
}

/// Both streams on one screen: a line of text is left before anything is said about a tool.
#[test]
fn text_and_tools_on_one_screen() {
    let (mut world, _server) = with_model([
        anthropic::text("I look.").tool_use("toolu_1", "ls", json!({})),
        anthropic::text("Done."),
    ]);
    world.set_var("NO_COLOR", "1");
    let (_, drawn) = world.pty(&["exec", "-p", "hi"], Size::CLASSIC).finish();
    assert_eq!(drawn, "I look.\r\n⚙ Running ls... Done. (X.XXs)\r\nDone.\r\n");
}

/// Thinking is for watching, and never part of the answer.
#[test]
fn thinking_is_dim_on_a_terminal_and_nowhere_else() {
    let reply = || anthropic::thinking("Hm \x07", "sig").text("Yes.");
    let (world, _server) = with_model([reply(), reply()]);
    let (_, drawn) = world.pty(&["exec", "-p", "hi"], Size::CLASSIC).finish();
    assert_eq!(drawn, "\x1b[2mHm \\x07\x1b[0m\r\nYes.\r\n");
    assert_eq!(world.run(&["exec", "-p", "hi"]).to_string(), "Yes.\n[exit status: 0]");
}

/// Runs with stdout closed after so many bytes.
fn run_closed(world: &TestEnv, args: &[&str], after: usize) -> CommandOutput {
    world.start(world.cmd(args), Stdin::Null, Stdout::ClosedAfter(after)).finish()
}

/// OUT-10, DECISIONS 24: `zori exec ... | head -1` ends the turn, which was not over: 1.
#[test]
fn a_reader_that_leaves_ends_the_turn_quietly() {
    let gate = Gate::new();
    let reply = anthropic::text("one two").reply().wait_after(3, &gate);
    let (world, server) = with_model([reply, anthropic::text("never").reply()]);
    let run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Null, Stdout::ClosedAfter(0));
    // The gate never opens: the end must not wait for the model.
    assert_eq!(run.finish().to_string(), "[exit status: 1]");
    assert_eq!(server.count(), 1);
    drop(gate);
}

/// OUT-10: nobody is left to see what a tool would do.
#[test]
fn no_tool_is_started_for_a_reader_that_has_left() {
    for (name, input) in
        [("bash", json!({"command": "touch done"})), ("write", json!({"path": "done", "content": ""}))]
    {
        // In one piece, so that nothing is written before the call is known.
        let reply = anthropic::text("I will.").tool_use("toolu_1", name, input);
        let (world, server) = with_model([Reply::json(200, reply.json())]);
        world.write(world.base().join("config.toml"), "stream = false\n");
        assert_eq!(run_closed(&world, &["exec", "-p", "hi"], 0).code(), Some(1));
        assert!(!world.work().join("done").exists(), "{name}");
        assert_eq!(server.count(), 1);
    }
}

/// DECISIONS 24: the turn was over when the reader turned out to be gone, so it is a success.
#[test]
fn a_reader_that_leaves_at_the_end_is_no_failure() {
    let (world, _server) = with_model([Reply::json(200, anthropic::text("Hello").json())]);
    world.write(world.base().join("config.toml"), "stream = false\n");
    assert_eq!(run_closed(&world, &["exec", "-p", "hi"], 0).to_string(), "[exit status: 0]");
}

/// The session is kept whatever becomes of the reader (IO-2).
#[test]
fn what_a_reader_did_not_take_is_in_the_session() {
    let (world, _server) = with_model([Reply::json(200, anthropic::text("Hello").json())]);
    world.write(world.base().join("config.toml"), "stream = false\n");
    run_closed(&world, &["exec", "-p", "hi", "--session", "s"], 0);
    let shown = world.run(&["sessions", "show", "s"]);
    insta::assert_snapshot!(shown, @r"
    ### Session (schema v1)

    ### You
    hi

    ### Assistant
    Hello
    [exit status: 0]
    ");
}

/// DECISIONS 24.
#[test]
fn a_reader_of_a_utility_command_may_leave() {
    let world = world();
    for args in [&["config", "path"][..], &["sessions", "list"], &["--help"], &["--version"]] {
        assert_eq!(run_closed(&world, args, 0).to_string(), "[exit status: 0]", "{args:?}");
    }
}

/// A full disk is not a reader that leaves: the answer is lost, and that is said.
#[test]
fn a_stdout_that_cannot_be_written_to() {
    let (world, _server) = with_model([anthropic::text("Hello")]);
    let full = || Stdout::File(File::options().write(true).open("/dev/full").unwrap());
    let run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Null, full());
    insta::assert_snapshot!(run.finish(), @r"
    ------- stderr -------
    Warning: Failed to write the answer: No space left on device (os error 28)
    [exit status: 1]
    ");
    let run = world.start(world.cmd(&["config", "path"]), Stdin::Null, full());
    insta::assert_snapshot!(run.finish(), @"
    ------- stderr -------
    Error: cannot write to standard output: No space left on device (os error 28)
    [exit status: 1]
    ");
}

/// A run whose stderr is gone goes on; its answer is on stdout.
#[test]
fn a_closed_stderr_changes_nothing() {
    let (world, _server) =
        with_model([anthropic::tool_use("toolu_1", "ls", json!({})), anthropic::text("Hello")]);
    let shell = in_shell(&world, "exec \"$0\" \"$@\" 2>&-", &["exec", "-p", "hi"]);
    let run = world.start(shell, Stdin::Null, Stdout::Captured);
    assert_eq!(run.finish().to_string(), "Hello\n[exit status: 0]");
}
