//! What people do all day in the chat on its screen: commands of their own, files by `@`, going on later, `/btw`, vim's keys, other folders.

use std::time::{Duration, Instant};

use serde_json::json;
use zori_testkit::gate::Gate;
use zori_testkit::pty::Pty;
use zori_testkit::reply::Reply;
use zori_testkit::{anthropic, wait};

use crate::screen_chat::{rows, say, see, start};
use crate::screen_stage::Person;
use crate::world::{with_model, world};

/// The rows from one that begins so on, without blank ones and without what stands at the right.
fn from(pty: &Pty, start: &str) -> Vec<String> {
    let shown = rows(pty);
    let at = shown.iter().rposition(|row| row.starts_with(start)).unwrap_or_else(|| {
        panic!("no row begins with `{start}`:\n{}", shown.join("\n"));
    });
    let left = |row: &String| row.split("   ").next().unwrap_or_default().trim_end().to_owned();
    shown[at..].iter().map(left).filter(|row| !row.is_empty()).collect()
}

/// Waits as long as a question has to stand before a key answers it (SAF-1).
fn pause() {
    let shown = Instant::now();
    wait::until("the question to have been read", || shown.elapsed() > Duration::from_millis(1200));
}

/// CMP-5: it runs at once, without the model, and the next prompt carries what came of it; with two signs it stays private.
#[test]
fn a_command_of_ones_own() {
    let (world, model) = with_model([anthropic::text("I see.")]);
    let mut pty = start(&world, &["--no-save"]);
    say(&mut pty, "!echo from-me");
    see(&mut pty, "exit 0");
    say(&mut pty, "!!echo hidden");
    see(&mut pty, "● $ echo hidden");
    see(&mut pty, "  hidden");
    assert_eq!(model.count(), 0);
    say(&mut pty, "what did I run?");
    see(&mut pty, "I see.");
    insta::assert_snapshot!(model.request(0).conversation(), @r"
    user: what did I run?
    user: The user ran this command in the terminal, beside the conversation:
    $ echo from-me
    from-me
    ");
    say(&mut pty, "/rerun 1");
    wait::until("the command to run again", || {
        rows(&pty).iter().filter(|row| row.starts_with("● $ echo from-me")).count() == 2
    });
}

/// CMP-5: also while a turn runs, whose answer goes on undisturbed.
#[test]
fn a_command_beside_a_turn() {
    let gate = Gate::new();
    let (world, _model) =
        with_model([Reply::from(anthropic::text("The answer is one line.")).wait_after(0, &gate)]);
    let mut pty = start(&world, &["--no-save"]);
    say(&mut pty, "go");
    see(&mut pty, "Waiting for");
    say(&mut pty, "!echo beside");
    see(&mut pty, "  beside");
    see(&mut pty, "Waiting for");
    gate.open();
    see(&mut pty, "The answer is one line.");
}

/// The person's word answers what would be asked; a denial holds.
#[test]
fn a_rule_holds_for_ones_own_commands() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let args = ["--no-save", "--permission-mode", "default", "--sandbox", "off", "--deny", "Bash(touch no*)"];
    let mut pty = start(&world, &args);
    say(&mut pty, "!touch yes");
    see(&mut pty, "● $ touch yes");
    wait::until("the file", || world.work().join("yes").exists());
    say(&mut pty, "!touch no");
    see(&mut pty, "⊘ $ touch no");
    assert!(!world.work().join("no").exists());
}

/// CMP-3: found by its letters, and its content goes along.
#[test]
fn a_file_by_its_letters() {
    let (world, model) = with_model([anthropic::text("Read.")]);
    world.write("src/deep/calc.py", "a - b\n");
    world.write("src/other.py", "x\n");
    let mut pty = start(&world, &["--no-save"]);
    pty.send("why @clc");
    see(&mut pty, "src/deep/calc.py");
    pty.send("\t");
    see(&mut pty, "› why @src/deep/calc.py");
    pause();
    pty.send("\r");
    see(&mut pty, "Read.");
    // A frame may be half way through the terminal.
    let sent = ["› why @src/deep/calc.py", "· + src/deep/calc.py (6 bytes)"];
    wait::until("the prompt, and what goes with it", || {
        let shown = rows(&pty);
        shown.iter().any(|row| row.starts_with("› why"))
            && from(&pty, "› why").get(..2) == Some(&sent.map(str::to_owned))
    });
    insta::assert_snapshot!(model.request(0).conversation().replace("py \n", "py\n"), @r"
    user: why @src/deep/calc.py
    user: The user refers to this file, as it is now: src/deep/calc.py
    ```
    a - b
    ```
    ");
}

/// TRN-7: the last turns are there as cells, with their calls; those before them are in the pager.
#[test]
fn going_on_shows_cells() {
    let (world, _model) = with_model([
        anthropic::text("One."),
        anthropic::text("Two."),
        anthropic::text("Three."),
        anthropic::text("I look.").tool_use("t1", "bash", json!({"command": "echo hi"})),
        anthropic::text("It says hi."),
    ]);
    let mut pty = start(&world, &[]);
    for (prompt, answer) in [("a", "One."), ("b", "Two."), ("c", "Three."), ("look", "It says hi.")] {
        say(&mut pty, prompt);
        see(&mut pty, answer);
    }
    pty.send("\x04");
    pty.finish();
    let mut pty = start(&world, &["-c"]);
    see(&mut pty, "It says hi.");
    let shown = from(&pty, "… 1 earlier turn");
    insta::assert_snapshot!(shown[..9].join("\n"), @r"
    … 1 earlier turn · Ctrl-O
    › b
    Two.
    › c
    Three.
    › look
    I look.
    ● $ echo hi
      hi
    ");
    pty.send("\x0f");
    see(&mut pty, "One.");
}

/// DECISIONS 56: what may run unasked is said once in a folder, and the key that changes it.
#[test]
fn the_first_chat_in_a_folder() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let mut pty = start(&world, &[]);
    see(&mut pty, "Mode yolo asks nothing: commands, edits and the network run");
    see(&mut pty, "Shift-Tab");
    pty.send("\x04");
    pty.finish();
    let pty = start(&world, &[]);
    assert!(!rows(&pty).iter().any(|row| row.contains("asks nothing:")), "{}", rows(&pty).join("\n"));
}

/// Point 6 of the first start: what to do without a key, in three lines, each of which can be typed.
#[test]
fn a_chat_without_a_key() {
    let mut world = world();
    world.remove_var("ANTHROPIC_API_KEY");
    let mut pty = start(&world, &["--no-save", "--provider", "anthropic"]);
    see(&mut pty, "/login");
    see(&mut pty, "/model ollama:…");
    see(&mut pty, "/demo");
    say(&mut pty, "hello");
    see(&mut pty, "/login stores a key");
    see(&mut pty, "› hello");
    // The demo needs none, and the chat is there again behind it.
    pty.send("\x15");
    say(&mut pty, "/demo");
    see(&mut pty, "This is a demo");
    see(&mut pty, "✓");
    pty.send("\x04");
    see(&mut pty, "That was zori with a script for a model");
    wait::until("the chat again", || rows(&pty).last().is_some_and(|row| row.contains("YOLO")));
    // Nobody has pressed Ctrl-C there yet.
    assert!(!rows(&pty).iter().any(|row| row.contains("Ctrl-C again leaves")), "{}", rows(&pty).join("\n"));
    pty.send("\x03");
    see(&mut pty, "Ctrl-C again leaves");
}

/// `/btw` asks beside the conversation: the answer is shown, and nothing of it is part of what follows.
#[test]
fn by_the_way() {
    let (world, model) =
        with_model([anthropic::text("First."), anthropic::text("Paris."), anthropic::text("Second.")]);
    let mut pty = start(&world, &["--no-save"]);
    say(&mut pty, "one");
    see(&mut pty, "First.");
    say(&mut pty, "/btw what is the capital of France?");
    see(&mut pty, "Paris.");
    say(&mut pty, "two");
    see(&mut pty, "Second.");
    insta::assert_snapshot!(model.request(2).conversation(), @r"
    user: one
    assistant: First.
    user: two
    ");
}

/// NFR-007: the question stands in the status row and is answered by a key, but not by one that was meant for the draft.
#[test]
fn a_loop_asks_in_the_status_row() {
    let (world, model) = with_model([anthropic::text("First."), anthropic::text("Second.")]);
    let mut pty = start(&world, &["--no-save"]);
    say(&mut pty, "/loop one");
    see(&mut pty, "↻ loop, turn 1 · Continue? [y/N]");
    pause();
    pty.send("y");
    wait::until("the question to go", || !rows(&pty).iter().any(|row| row.starts_with("↻ loop, turn 1")));
    say(&mut pty, "two");
    see(&mut pty, "↻ loop, turn 2 · Continue? [y/N]");
    pause();
    pty.send("\r");
    see(&mut pty, "The loop is over.");
    assert_eq!(model.count(), 2);
}

/// What is queued in a loop waits for the answer, too.
#[test]
fn a_loop_holds_the_queue() {
    let gate = Gate::new();
    let (world, model) = with_model([
        Reply::from(anthropic::text("First.")).wait_after(0, &gate),
        anthropic::text("Second.").into(),
    ]);
    let mut pty = start(&world, &["--no-save"]);
    say(&mut pty, "/loop one");
    see(&mut pty, "Waiting for");
    say(&mut pty, "two");
    see(&mut pty, "⏎ queued: two");
    gate.open();
    see(&mut pty, "↻ loop, turn 1 · Continue? [y/N]");
    pause();
    assert_eq!(model.count(), 1);
    pty.send("y");
    see(&mut pty, "Second.");
}

/// CMP-6: a line for AGENTS.md is shown before it is written.
#[test]
fn a_guideline() {
    let (world, _model) = with_model([anthropic::text("x")]);
    world.write("AGENTS.md", "# Rules");
    let mut pty = start(&world, &["--no-save"]);
    say(&mut pty, "#run the tests with make");
    see(&mut pty, "+ - run the tests with make");
    pause();
    pty.send("y");
    see(&mut pty, "Added to AGENTS.md");
    assert_eq!(world.read("AGENTS.md"), "# Rules\n- run the tests with make\n");
}

/// KEY-1: insert and normal mode in the composer.
#[test]
fn vims_keys() {
    let (world, model) = with_model([anthropic::text("Done.")]);
    std::fs::create_dir_all(world.base()).unwrap();
    std::fs::write(world.base().join("config.toml"), "[ui]\nkeys = \"vim\"\n").unwrap();
    let mut pty = start(&world, &["--no-save"]);
    pty.send("fix the bug");
    see(&mut pty, "› fix the bug");
    pty.send("\x1b");
    see(&mut pty, ": fix the bug");
    pty.send("0wcw");
    see(&mut pty, "› fix  bug");
    pty.send("my");
    see(&mut pty, "› fix my bug");
    pause();
    pty.send("\r");
    see(&mut pty, "Done.");
    insta::assert_snapshot!(model.request(0).conversation(), @"user: fix my bug");
}

/// The colours, the title and the folder change while the conversation goes on.
#[test]
fn themes_titles_and_folders() {
    let (world, model) = with_model([anthropic::text("First."), anthropic::text("Second.")]);
    world.write("sub/x", "");
    let mut pty = start(&world, &[]);
    say(&mut pty, "/theme Mac One");
    see(&mut pty, "Theme Mac One, kept in");
    assert_eq!(
        std::fs::read_to_string(world.base().join("config.toml")).unwrap(),
        "[ui]\ntheme = \"Mac One\"\n"
    );
    say(&mut pty, "one");
    see(&mut pty, "First.");
    say(&mut pty, "/rename the first one");
    see(&mut pty, "Title: the first one");
    pty.send("/resume first");
    see(&mut pty, "the first one   2 messages");
    pty.send("\x15");
    wait::until("an empty composer", || rows(&pty).iter().any(|row| row == "›"));
    say(&mut pty, "/cd nowhere");
    see(&mut pty, "✗ ");
    say(&mut pty, "/cd sub");
    see(&mut pty, "The chat goes on in");
    say(&mut pty, "two");
    see(&mut pty, "Second.");
    insta::assert_snapshot!(model.request(1).conversation(), @r"
    user: one
    assistant: First.
    user: two
    ");
    assert!(model.request(1).json().to_string().contains("/sub"), "the model is told where it is");
}

/// RSM-3: a model that was asked for gives the session its title, beside the conversation; what it costs counts, at its own price.
#[test]
fn a_model_gives_the_title() {
    let (world, model) = with_model([
        anthropic::text("It subtracts."),
        anthropic::text("\"Repair the sum.\""),
        anthropic::text("Yes."),
    ]);
    world
        .write(world.base().join("config.toml"), "[session]\ntitle_model = \"anthropic:claude-haiku-4-5\"\n");
    let mut pty = start(&world, &[]);
    say(&mut pty, "why does add() fail?");
    see(&mut pty, "It subtracts.");
    wait::until("the title", || pty.drawn().contains("\x1b]2;Repair the sum – zori"));
    let asked = model.request(1);
    assert_eq!(asked.json()["model"], "claude-haiku-4-5");
    assert!(asked.json()["tools"].as_array().is_none_or(Vec::is_empty), "it can do nothing");
    say(&mut pty, "is it so?");
    see(&mut pty, "Yes.");
    assert_eq!(model.count(), 3, "it is asked once");
    insta::assert_snapshot!(model.request(2).conversation(), @r"
    user: why does add() fail?
    assistant: It subtracts.
    user: is it so?
    ");
    pty.send("/resume sum");
    see(&mut pty, "Repair the sum   4 messages");
}

/// The same where it fails: nobody hears of it, and the title is the one of the rule.
#[test]
fn a_title_that_no_model_gives() {
    let (world, model) = with_model([
        anthropic::text("It subtracts.").reply(),
        anthropic::http_error(400, "invalid_request_error", "no"),
        anthropic::text("Yes.").reply(),
    ]);
    world.write(world.base().join("config.toml"), "[session]\ntitle_model = \"claude-haiku-4-5\"\n");
    let mut pty = start(&world, &[]);
    say(&mut pty, "why does add() fail?");
    see(&mut pty, "It subtracts.");
    model.wait_for_requests(2);
    say(&mut pty, "is it so?");
    see(&mut pty, "Yes.");
    assert!(rows(&pty).iter().all(|row| !row.contains('✗')), "{:#?}", rows(&pty));
    assert!(pty.drawn().contains("\x1b]2;why does add() fail? – zori"), "{:?}", pty.drawn());
}

/// TRN-7: a conversation that goes on shows what was edited, as far as it was kept: what the calls asked for, and never the files as they are now.
#[test]
fn edits_of_a_conversation_that_goes_on() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "write", json!({"path": "new.py", "content": "one\ntwo\n"})),
        anthropic::tool_use(
            "t2",
            "edit",
            json!({"path": "calc.py", "old": "return a - b", "new": "return a + b"}),
        ),
        anthropic::tool_use("t3", "read", json!({"path": "long.txt", "offset": 1, "limit": 120})),
        anthropic::text("Done."),
    ]);
    world.write(world.work().join("calc.py"), "def add(a, b):\n    return a - b\n");
    world.write(world.work().join("long.txt"), "line\n".repeat(412));
    let cells = |person: &Person| {
        let rows = person.rows();
        let first = rows.iter().position(|row| row.starts_with("● Create")).expect("the first cell");
        let last = rows.iter().position(|row| row.starts_with("● Read")).expect("the last cell");
        // How long each took is another time another.
        let untimed = |row: &String| match row.starts_with('●') {
            true => row.split("   ").next().unwrap_or_default().to_owned(),
            false => row.clone(),
        };
        rows[first..=last].iter().map(untimed).collect::<Vec<_>>()
    };
    let mut person = Person::open(&world, &[]);
    person.says("fix add").sees("Done.");
    let live = cells(&person);
    person.leaves();
    world.write(world.work().join("calc.py"), "another file by now\n");
    let mut person = Person::open(&world, &["-c"]);
    person.sees("Done.");
    let recalled = cells(&person);
    person.leaves();
    insta::assert_snapshot!(live.join("\n"), @"
    ● Create new.py  +2
        1 + one
        2 + two
    ● Edit calc.py  +1 -1
        1   def add(a, b):
        2 -     return a - b
        2 +     return a + b
    ● Read long.txt  1-120 of 412
    ");
    insta::assert_snapshot!(recalled.join("\n"), @"
    ● Create new.py  +2
        1 + one
        2 + two
    ● Edit calc.py  +1 -1
          - return a - b
          + return a + b
    ● Read long.txt  1-120 of 412
    ");
}
