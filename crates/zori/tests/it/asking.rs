//! Questions about calls: at the terminal, with `-y`, and where nobody can be asked.

use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::{anthropic, wait};

use crate::chat::screen::{over, type_line};
use crate::world::with_model;

/// A chat in the mode that asks, and no sandbox, whatever the machine has.
fn chat(world: &TestEnv) -> Pty {
    world
        .pty(&["--no-save", "--permission-mode", "default", "--sandbox", "off"], Size { rows: 50, cols: 160 })
}

/// Waits for the n-th time the program wants an answer, from 1, and gives it.
#[track_caller]
pub fn reply(pty: &mut Pty, nth: usize, answer: &str) {
    let found = wait::poll(wait::BOUND, || {
        (pty.drawn().matches("[A]pprove / [R]eject / [E]xplain? ").count() >= nth).then_some(())
    });
    assert!(found.is_some(), "question {nth} did not come; drawn so far:\n{}", pty.drawn());
    pty.send(answer);
}

/// The whole dialog: a command is rejected with a reason, a change is looked at and approved.
#[test]
fn no_and_yes() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "touch made"})),
        anthropic::tool_use("t2", "write", json!({"path": "a.txt", "content": "new\n"})),
        anthropic::text("Done."),
    ]);
    world.write("a.txt", "old\n");
    let mut pty = chat(&world);
    type_line(&mut pty, 1, "go");
    reply(&mut pty, 1, "what?\r");
    reply(&mut pty, 2, "n use write\r");
    reply(&mut pty, 3, "y\r");
    type_line(&mut pty, 2, ":q");
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> go
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    ? bash: mode default asks about XF: A plain file operation by the shell, inside the workspace
      in $WORK
      | touch made
      1: always in this session: Bash(touch made)
      2: always in this session: Bash(touch:*), Edit(/$WORK/**)
      u1, u2: the same, and in later sessions: it goes to $BASE/config.toml
      a or y: yes, once; r or n: no, or `r WHY` to tell the model; e: explain
    [A]pprove / [R]eject / [E]xplain? what?
    that is none of the answers
      1: always in this session: Bash(touch made)
      2: always in this session: Bash(touch:*), Edit(/$WORK/**)
      u1, u2: the same, and in later sessions: it goes to $BASE/config.toml
      a or y: yes, once; r or n: no, or `r WHY` to tell the model; e: explain
    [A]pprove / [R]eject / [E]xplain? n use write
    ⊘ $ touch made: you said no  #1
    ? write: mode default asks about W: Creates or edits inside a workspace root
      change $WORK/a.txt
      | @@ -1 +1 @@
      | -old
      | +new
      1: always in this session: Write(/$WORK/a.txt)
      2: always in this session: Edit(/$WORK/**)
      u1, u2: the same, and in later sessions: it goes to $BASE/config.toml
      a or y: yes, once; r or n: no, or `r WHY` to tell the model; e: explain
    [A]pprove / [R]eject / [E]xplain? y
    ✶ Running Write a.txt  #2
    ● Edit a.txt  +1 -1  T  #2
        1 - old
        1 + new
    ✶ Waiting for claude-sonnet-5-5
    Done.
    ✓ T · 1 file +1 -1
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    insta::assert_snapshot!(model.request(1).conversation(), @r#"
    user: go
    assistant: tool_use t1 bash {"command":"touch made"}
    user: tool_result (error) t1 error permission_denied: The user rejected this call: use write
    "#);
    assert!(!world.work().join("made").exists());
    assert_eq!(std::fs::read_to_string(world.work().join("a.txt")).unwrap(), "new\n");
}

/// APR-4, APR-7: a replacement is asked about with both texts; a file that somebody changes meanwhile, far from what is shown, is another one, and
/// the next call is asked about anew.
#[test]
fn a_file_that_changes_under_the_question() {
    let edit = |id: &str| anthropic::tool_use(id, "edit", json!({"path": "a.txt", "old": "one", "new": "1"}));
    let (world, model) = with_model([edit("t1"), edit("t2"), anthropic::text("Done.")]);
    let lines = |last: &str| format!("one\n{}{last}\n", "same\n".repeat(9));
    world.write("a.txt", lines("theirs"));
    let mut pty = chat(&world);
    type_line(&mut pty, 1, "go");
    wait::until("the question", || pty.drawn().contains("[E]xplain? "));
    world.write("a.txt", lines("others"));
    reply(&mut pty, 1, "y\r");
    reply(&mut pty, 2, "y\r");
    type_line(&mut pty, 2, ":q");
    let screen = over(pty);
    let question =
        "  change $WORK/a.txt\n  old | one\n  new | 1\n  | @@ -1,4 +1,4 @@\n  | -one\n  | +1\n  |  same\n";
    assert_eq!(screen.matches(question).count(), 2, "{screen}");
    insta::assert_snapshot!(model.request(1).conversation(), @r#"
    user: go
    assistant: tool_use t1 edit {"path":"a.txt","old":"one","new":"1"}
    user: tool_result (error) t1 error permission_denied: changed_since_approval: a file of this call is not what it was when it was approved; nothing was executed
    "#);
    let now = std::fs::read_to_string(world.work().join("a.txt")).unwrap();
    assert_eq!(now, lines("others").replacen("one", "1", 1));
}

/// DEC-2, APR-3: the same call is not asked about again in this session; `a` is a yes to one call, and Enter alone is no answer.
#[test]
fn always_for_the_same_call() {
    let call = |id: &str, command: &str| anthropic::tool_use(id, "bash", json!({ "command": command }));
    let (world, _model) = with_model([
        call("t1", "touch a"),
        call("t2", "touch a"),
        call("t3", "touch b"),
        call("t4", "touch c"),
        call("t5", "touch c"),
        anthropic::text("Done."),
    ]);
    let mut pty = chat(&world);
    type_line(&mut pty, 1, "go");
    reply(&mut pty, 1, "1\r");
    reply(&mut pty, 2, "\r");
    reply(&mut pty, 3, "Reject\r");
    reply(&mut pty, 4, "a\r");
    reply(&mut pty, 5, "r\r");
    type_line(&mut pty, 2, ":q");
    let screen = over(pty);
    assert_eq!(screen.matches("[E]xplain?").count(), 5, "{screen}");
    assert!(screen.contains("1: always in this session: Bash(touch a)\n"), "{screen}");
    let made = ["a", "b", "c"].map(|name| world.work().join(name).exists());
    assert_eq!(made, [true, false, true]);
}

/// APR-5: an explanation says the risk and the steps at once, then what a model says that reads the call and nothing else; it decides nothing.
#[test]
fn an_explanation_decides_nothing() {
    let words = "It removes \x1b[31m the folder. ".repeat(30);
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "rm -r build"})),
        anthropic::text(&words),
        anthropic::text("Done."),
    ]);
    let mut pty = chat(&world);
    type_line(&mut pty, 1, "go");
    reply(&mut pty, 1, "e\r");
    reply(&mut pty, 2, "n\r");
    type_line(&mut pty, 2, ":q");
    let screen = over(pty);
    let explained = screen.split("[E]xplain? e\n").nth(1).expect("it was explained");
    let (first, rest) = explained.split_once('\n').expect("there are lines");
    assert_eq!(first, "  risk high: `rm` deletes or formats", "{screen}");
    let said = rest.lines().find(|line| line.starts_with("  the model says: ")).expect("the model was asked");
    assert!(said.starts_with("  the model says: It removes \\x1b[31m the folder. It removes "), "{said}");
    assert!(said.ends_with(" …"), "{said}");
    assert_eq!(said.split(' ').count(), 2 + 3 + 100 + 1, "a hundred words: {said}");
    assert_eq!(model.count(), 3, "{screen}");
    let asked = model.request(1);
    assert_eq!(
        asked.conversation(),
        "user: <call>{\"tool\":\"bash\",\"would\":{\"command\":\"rm -r build\"}}</call>\n"
    );
    assert_eq!(asked.json().get("tools").and_then(|tools| tools.as_array()).map_or(0, Vec::len), 0);
    assert!(!model.request(2).conversation().contains("It removes"), "the conversation is as it was");
}

/// TERM-2: yes counts only once everything has been shown.
#[test]
fn hidden_lines_come_first() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "write", json!({"path": "long", "content": "x\n".repeat(99)})),
        anthropic::text("Done."),
    ]);
    let mut pty = chat(&world);
    type_line(&mut pty, 1, "go");
    reply(&mut pty, 1, "y\r");
    pty.wait_for("88 lines have not been shown; `v` shows them");
    assert!(!world.work().join("long").exists());
    reply(&mut pty, 2, "v\r");
    reply(&mut pty, 3, "y\r");
    type_line(&mut pty, 2, ":q");
    let screen = over(pty);
    assert_eq!(screen.matches("  | +x\n").count(), 99, "{screen}");
    assert!(world.work().join("long").exists());
}

/// Ctrl-C and Ctrl-D end the turn; the chat goes on and the next line is the chat's.
#[test]
fn an_interrupt_is_no() {
    let call = |id| anthropic::tool_use(id, "bash", json!({"command": "touch made"}));
    let (world, model) = with_model([call("t1"), call("t2"), anthropic::text("Hi.")]);
    let mut pty = chat(&world);
    type_line(&mut pty, 1, "one");
    reply(&mut pty, 1, "\x03");
    type_line(&mut pty, 2, "two");
    reply(&mut pty, 2, "\x04");
    type_line(&mut pty, 3, "three");
    type_line(&mut pty, 4, ":q");
    let screen = over(pty);
    assert_eq!(screen.matches("\n■ Stopped after T\n").count(), 2, "{screen}");
    let end = "you> three\n✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops\nHi.\nyou> :q\nGoodbye!\n[exit status: 0]";
    assert!(screen.ends_with(end), "{screen}");
    assert_eq!(model.count(), 3);
    assert!(!world.work().join("made").exists());
}

/// Without anybody to ask the call is denied, and the ways out are named once.
#[test]
fn exec_asks_nobody() {
    let call = |id| anthropic::tool_use(id, "bash", json!({"command": "touch made"}));
    let (world, _model) = with_model([call("t1"), call("t2"), anthropic::text("no")]);
    let output = world.run(&["exec", "--permission-mode", "default", "-p", "go"]);
    insta::assert_snapshot!(output, @r#"
    no
    ------- stderr -------
    Tool requested: bash command="touch made"
    Tool denied: bash: approval_unavailable: mode default asks about XF: A plain file operation by the shell, inside the workspace, and nobody can be asked in this run. Do it another way, or tell the user what would have to be allowed.
    Tool requested: bash command="touch made"
    Tool denied: bash: approval_unavailable: mode default asks about XF: A plain file operation by the shell, inside the workspace, and nobody can be asked in this run. Do it another way, or tell the user what would have to be allowed.
    Hint: nobody could be asked; `--allow RULE` lets such calls run, `-y` answers yes, `--permission-mode MODE` asks less, and the chat asks you
    [exit status: 0]
    "#);
    assert!(!world.work().join("made").exists());
}

/// `-y` answers questions and lifts no deny (MODE-7).
#[test]
fn yes_answers_and_lifts_no_deny() {
    let call = |id, command: &str| anthropic::tool_use(id, "bash", json!({ "command": command }));
    let (world, _model) =
        with_model([call("t1", "touch made"), call("t2", "touch denied"), anthropic::text("ok")]);
    let args = ["exec", "-y", "--permission-mode", "default", "--deny", "Bash(touch denied)", "-p", "go"];
    let output = world.run(&[&args[..], &["--sandbox", "off"]].concat());
    assert_eq!((output.code(), output.stdout().as_str()), (Some(0), "ok\n"));
    assert!(world.work().join("made").exists() && !world.work().join("denied").exists());
}

/// ASK-2: a question of the model's at the terminal: by number, and in one's own words.
#[test]
fn a_question_of_the_model() {
    let question = json!({"question": "Which parser?", "options": ["by hand", "generated"]});
    let (world, model) = with_model([
        anthropic::tool_use("t1", "ask_user", question.clone()),
        anthropic::tool_use("t2", "ask_user", question.clone()),
        anthropic::tool_use("t3", "ask_user", question),
        anthropic::text("Done."),
    ]);
    let mut pty = chat(&world);
    type_line(&mut pty, 1, "go");
    for (nth, answer) in ["2\r", "neither\r", "\r"].into_iter().enumerate() {
        let asked =
            wait::poll(wait::BOUND, || (pty.drawn().matches("for none): ").count() > nth).then_some(()));
        assert!(asked.is_some(), "{}", pty.drawn());
        pty.send(answer);
    }
    type_line(&mut pty, 2, ":q");
    let drawn = over(pty);
    let results: Vec<_> =
        (1..4).map(|n| model.request(n).messages().pop().unwrap()["content"][0]["content"].clone()).collect();
    assert_eq!(
        results,
        ["the user: generated", "the user: neither", "error permission_denied: The user did not answer"],
        "{drawn}"
    );
    // Where somebody is, the model is told that it can ask.
    let tools = model.request(0).json()["tools"].as_array().unwrap().clone();
    assert!(tools.iter().any(|tool| tool["name"] == "ask_user"), "{tools:?}");
}
