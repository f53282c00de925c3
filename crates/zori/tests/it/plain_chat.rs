//! The chat line by line (ACC-1): the cells and the commands of the screen, as rows that are only appended.

use std::process::Command;

use serde_json::json;
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::reply::Reply;
use zori_testkit::wait;

use crate::chat::screen::{AS_ROOT, over, settled, type_line};
use crate::screen_stage::{Person, SIZE};
use crate::world::with_model;

/// A turn with an answer, an edit, a command with much to say, one that fails, and thinking.
fn work() -> Vec<Message> {
    let edit = json!({"path": "calc.py", "old": "a - b", "new": "a + b"});
    let run = json!({"command": "seq -f 'line %g' 9"});
    vec![
        anthropic::thinking("The operator is wrong.", "sig")
            .text("The function **subtracts**:\n\n- line 2")
            .tool_use("t1", "edit", edit),
        anthropic::tool_use("t2", "bash", run),
        anthropic::tool_use("t3", "bash", json!({"command": "echo no >&2; exit 3"})),
        anthropic::text("Both calls of `add()` return the sum."),
    ]
}

fn world_of(replies: Vec<Message>) -> (TestEnv, zori_testkit::server::ModelServer) {
    let (world, model) = with_model(replies);
    world.write("calc.py", "def add(a, b):\n    return a - b\n");
    (world, model)
}

/// A terminal that can do nothing but print.
fn dumb(world: &TestEnv, args: &[&str]) -> Pty {
    let mut command: Command = world.cmd(args);
    command.env("TERM", "dumb");
    Pty::start(command, SIZE, world.rewrite())
}

/// Waits for the n-th prompt of a dumb terminal, and types a line.
#[track_caller]
fn says(pty: &mut Pty, prompt: usize, line: &str) {
    let came = wait::poll(wait::BOUND, || {
        let drawn = pty.drawn();
        (drawn.matches("you> ").count() >= prompt && drawn.ends_with("> ")).then_some(())
    });
    assert!(came.is_some(), "prompt {prompt} did not come:\n{}", pty.drawn());
    pty.send(&format!("{line}\n"));
}

/// What was drawn, without carriage returns and what depends on who runs the tests, and with every time as `T`.
fn told(drawn: &str) -> String {
    let lines =
        drawn.lines().map(|line| line.trim_end_matches('\r')).filter(|line| !line.starts_with(AS_ROOT));
    lines.map(|line| settled(&format!("{line}\n"))).collect()
}

/// The rows of cells among what was drawn.
fn cells(text: &str) -> Vec<String> {
    let from = text.lines().position(|line| line.contains("fix it")).map_or(0, |at| at + 1);
    let rows = text.lines().skip(from).filter(|line| !line.trim().is_empty() && !line.starts_with('✶'));
    rows.take_while(|line| !line.starts_with(['›', 'y']) && !line.starts_with("  claude"))
        .map(str::to_owned)
        .collect()
}

/// The rows of cells in a panel: beside them are cards, below them the feed. Columns are as wide as there is room.
fn cells_of_panel(screen: &str) -> Vec<String> {
    let chat = screen.lines().map(|line| line.split('│').next().unwrap_or_default().trim());
    let rows =
        chat.skip_while(|line| !line.ends_with("fix it")).skip(1).take_while(|line| *line != "LIVE FEED");
    told(&rows.collect::<Vec<_>>().join("\n")).lines().filter(|line| !line.is_empty()).map(words).collect()
}

fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Test row 13 of the contract: the same conversation has the same cells, line by line, on the screen and in the panel.
#[test]
fn the_cells_of_the_screen() {
    let (world, _model) = world_of(work());
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("fix it").sees("return the sum").sees("1 file");
    let on_screen = cells(&told(&person.rows().join("\n")));
    person.leaves();
    let (world, _model) = world_of(work());
    let mut pty = dumb(&world, &["--no-save"]);
    says(&mut pty, 1, "fix it");
    says(&mut pty, 2, ":q");
    let (status, drawn) = pty.finish();
    assert!(status.success(), "{drawn}");
    assert_eq!(cells(&told(&drawn)), on_screen);
    assert_eq!(on_screen.len(), 18, "{on_screen:#?}");
    let (world, _model) = world_of(work());
    let size = Size { rows: 60, cols: 120 };
    let mut person = Person::before(world.screen(&["tui", "--no-save"], size), size);
    person.says("fix it").sees("return the sum").sees("1 file").sees("waiting  NO");
    let in_panel = cells_of_panel(&person.screen());
    assert_eq!(in_panel, on_screen.iter().map(|row| words(row)).collect::<Vec<_>>());
    person.keys("\x1b[21~");
    assert!(person.ends().0.success());
}

/// The whole of it on a terminal that can do nothing: no escape sequence, status in words when it changes, and the commands about cells.
#[test]
fn a_dumb_terminal() {
    let (world, model) = world_of(work());
    let mut pty = dumb(&world, &["--no-save"]);
    says(&mut pty, 1, "fix\\");
    pty.wait_for("...> ").send("it\n");
    for (at, line) in [
        "/show 3",
        "/show 99",
        "/find LINE 4",
        "/find nowhere",
        "/copy 3",
        "/todo",
        "/rerun 3",
        "/keys",
        "/shwo 3",
        "/history",
        ":q",
    ]
    .iter()
    .enumerate()
    {
        says(&mut pty, at + 2, line);
    }
    let (status, drawn) = pty.finish();
    assert!(status.success(), "{drawn}");
    assert!(!drawn.contains('\x1b'), "{drawn:?}");
    insta::assert_snapshot!(told(&drawn), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> fix\
    ...> it
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    ∴ Thought T · 6 tokens · /show 1
    The function subtracts:

    • line 2
    ✶ Running Edit calc.py  #2
    ● Edit calc.py  +1 -1  T  #2
        1   def add(a, b):
        2 -     return a - b
        2 +     return a + b
    ✶ Waiting for claude-sonnet-5-5
    ✶ Running $ seq -f 'line %g' 9  #3
    ● $ seq -f 'line %g' 9  exit 0 · T  #3
      line 1
      line 2
      … 4 rows · /show 3
      line 7
      line 8
      line 9
    ✶ Waiting for claude-sonnet-5-5
    ✶ Running $ echo no >&2; exit 3  #4
    ✗ $ echo no >&2; exit 3  exit 3 · T  #4
      no
    ✶ Waiting for claude-sonnet-5-5
    Both calls of add() return the sum.
    ✓ T · 1 file +1 -1
    you> /show 3
    ● $ seq -f 'line %g' 9  exit 0 · T  #3
      seq -f 'line %g' 9
      line 1
      line 2
      line 3
      line 4
      line 5
      line 6
      line 7
      line 8
      line 9
    you> /show 99
    · There is no cell 99.
    you> /find LINE 4
    #3     line 4
    you> /find nowhere
    · `nowhere` is nowhere here.
    you> /copy 3
    Error: this terminal has no clipboard that could be written to
    Hint: `/show N` prints a cell, `/export FILE` writes the conversation to a file
    you> /todo
    · There is no task list.
    you> /rerun 3
    ✶ Running $ seq -f 'line %g' 9  #5
    ● $ seq -f 'line %g' 9  exit 0 · T  #5
      line 1
      line 2
      … 4 rows · /show 5
      line 7
      line 8
      line 9
    you> /keys
    · A backslash at the end of a line: another line. Ctrl-C: stop a turn, or put the line away; twice:
      leave. Ctrl-D: leave.
    you> /shwo 3
    Unknown command /shwo; did you mean /show? (/help shows them all)
    you> /history
    › fix
      it
    ∴ Thought T · 6 tokens · /show 1
    The function subtracts:

    • line 2
    ● Edit calc.py  +1 -1  T  #2
        1   def add(a, b):
        2 -     return a - b
        2 +     return a + b
    ● $ seq -f 'line %g' 9  exit 0 · T  #3
      line 1
      line 2
      … 4 rows · /show 3
      line 7
      line 8
      line 9
    ✗ $ echo no >&2; exit 3  exit 3 · T  #4
      no
    Both calls of add() return the sum.
    ✓ T · 1 file +1 -1
    · There is no task list.
    ● $ seq -f 'line %g' 9  exit 0 · T  #5
      line 1
      line 2
      … 4 rows · /show 5
      line 7
      line 8
      line 9
    you> :q
    Goodbye!
    ");
    assert_eq!(model.request(0).conversation(), "user: fix\nit\n");
}

/// Ctrl-C at the prompt puts the line away, twice it leaves; in a turn it stops that.
#[test]
fn control_c_on_a_dumb_terminal() {
    let (world, model) = with_model([Reply::stall(), anthropic::text("Here.").reply()]);
    let mut pty = dumb(&world, &["--no-save"]);
    says(&mut pty, 1, "one");
    model.wait_for_requests(1);
    pty.send("\x03");
    says(&mut pty, 2, "two");
    pty.wait_for("Here.");
    wait::until("the prompt", || pty.drawn().ends_with("you> "));
    pty.send("not this").wait_for("not this").send("\x03");
    pty.wait_for("(Ctrl-C again");
    wait::until("the prompt", || pty.drawn().ends_with("you> "));
    pty.send("\x03");
    let (status, drawn) = pty.finish();
    assert!(status.success(), "{status}: {drawn}");
    insta::assert_snapshot!(told(&drawn), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> one
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    ^C
    ■ Stopped after T
    you> two
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Here.
    you> not this^C
    (Ctrl-C again, Ctrl-D or :q to quit)
    you> ^C
    ");
    assert_eq!(model.request(1).conversation(), "user: two\n");
}

/// Where the terminal can edit lines, it does; what is said is painted and nothing else (no CSI but SGR).
#[test]
fn no_cursor_motion_in_what_is_said() {
    let (world, _model) = world_of(work());
    let mut pty = world.pty(&["--no-save"], SIZE);
    type_line(&mut pty, 1, "fix it");
    type_line(&mut pty, 2, "/show 3");
    type_line(&mut pty, 3, "/clear");
    type_line(&mut pty, 4, ":q");
    let drawn = pty.drawn();
    for said in
        drawn.split("\x1b[?2004l").skip(1).map(|part| part.split("\x1b[?2004h").next().unwrap_or_default())
    {
        // The editor leaves its line with a newline of its own.
        for sequence in said.split("\x1b[").skip(1) {
            let end = sequence.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(0);
            assert_eq!(sequence[end..].chars().next(), Some('m'), "{said:?}");
        }
    }
    assert!(over(pty).ends_with("Goodbye!\n[exit status: 0]"));
}

/// Answers the question that a line has led to.
#[track_caller]
fn answers(pty: &mut Pty, question: &str, answer: &str) {
    let asked = wait::poll(wait::BOUND, || pty.drawn().ends_with(question).then_some(()));
    assert!(asked.is_some(), "`{question}` was not asked:\n{}", pty.drawn());
    pty.send(&format!("{answer}\n"));
}

/// ACC-1: where the screen has lists there are numbers; CMP-6: `#` is for AGENTS.md, and a doubled sign is one.
#[test]
fn numbers_and_signs() {
    let (world, model) =
        with_model([anthropic::text("One."), anthropic::text("Two."), anthropic::text("Three.")]);
    world.write("elsewhere/.git/HEAD", "ref: refs/heads/main\n");
    let elsewhere = world.work().join("elsewhere").display().to_string();
    let mut pty = dumb(&world, &["--session", "far-away", "--root", &elsewhere]);
    says(&mut pty, 1, "in another folder");
    says(&mut pty, 2, ":q");
    assert!(pty.finish().0.success());

    let mut pty = dumb(&world, &["--session", "first"]);
    says(&mut pty, 1, "fix add() in calc.py");
    says(&mut pty, 2, "/resume");
    says(&mut pty, 3, "/new");
    says(&mut pty, 4, "/resume");
    answers(&mut pty, "Which, 1 to 1? (Enter: none) ", "7");
    says(&mut pty, 5, "/resume");
    answers(&mut pty, "Which, 1 to 1? (Enter: none) ", "");
    says(&mut pty, 6, "/resume");
    answers(&mut pty, "Which, 1 to 1? (Enter: none) ", "1");
    says(&mut pty, 7, "/effort");
    answers(&mut pty, "(Enter: none) ", "high");
    says(&mut pty, 8, "#run the tests with make");
    answers(&mut pty, "[y/N] ", "n");
    says(&mut pty, 9, "#run the tests with make");
    answers(&mut pty, "[y/N] ", "y");
    says(&mut pty, 10, "##not a rule");
    says(&mut pty, 11, ":q");
    let (status, drawn) = pty.finish();
    assert!(status.success(), "{drawn}");
    insta::assert_snapshot!(told(&drawn).replace(" \n", "\n"), @r#"
    Warning: Session 'first' does not exist yet; starting it
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    Session: first
    you> fix add() in calc.py
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Two.
    you> /resume
    No sessions found to resume
    you> /new
    Session: $SESSION
    you> /resume
      1  now  fix add() in calc.py   2 messages  $0.00  "fix add() in calc.py"
    Which, 1 to 1? (Enter: none) 7
    7 is none of them; nothing was changed.
    you> /resume
      1  now  fix add() in calc.py   2 messages  $0.00  "fix add() in calc.py"
    Which, 1 to 1? (Enter: none)
    Nothing was changed.
    you> /resume
      1  now  fix add() in calc.py   2 messages  $0.00  "fix add() in calc.py"
    Which, 1 to 1? (Enter: none) 1
    Session: first
    Loaded 2 previous messages
    › fix add() in calc.py
    Two.
    you> /effort
      1  default  as the provider has it   now
      2  off
      3  low
      4  medium
      5  high
      6  max
    Which, 1 to 6? (Enter: none) high
    Effort: high
    you> #run the tests with make
      AGENTS.md  +1
        + - run the tests with make
    Add this line to AGENTS.md? [y/N] n
    AGENTS.md is as it was.
    you> #run the tests with make
      AGENTS.md  +1
        + - run the tests with make
    Add this line to AGENTS.md? [y/N] y
    Added to AGENTS.md; it counts from the next session on.
    you> ##not a rule
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Three.
    you> :q
    Goodbye!
    "#);
    assert_eq!(world.read("AGENTS.md"), "- run the tests with make\n");
    insta::assert_snapshot!(model.request(2).conversation(), @r"
    user: fix add() in calc.py
    assistant: Two.
    user: #not a rule
    ");
}

/// The models of this provider, by their numbers.
#[test]
fn a_model_by_its_number() {
    let (world, model) = with_model([anthropic::text("One.")]);
    let mut pty = dumb(&world, &["--no-save"]);
    says(&mut pty, 1, "/model");
    let asked = wait::poll(wait::BOUND, || pty.drawn().ends_with("(Enter: none) ").then_some(()));
    assert!(asked.is_some(), "{}", pty.drawn());
    let drawn = pty.drawn();
    let row = |name: &str| {
        let line = drawn.lines().find(|line| line.contains(name)).expect("it is listed");
        line.split_whitespace().next().expect("it has a number").to_owned()
    };
    assert!(!drawn.contains(" openai:"), "for another provider the chat has to be left: {drawn}");
    pty.send(&format!("{}\n", row(" claude-haiku-4-5")));
    pty.wait_for("Model: claude-haiku-4-5");
    says(&mut pty, 2, "hi");
    says(&mut pty, 3, ":q");
    assert!(pty.finish().0.success());
    assert_eq!(model.request(0).json()["model"], "claude-haiku-4-5");
}
