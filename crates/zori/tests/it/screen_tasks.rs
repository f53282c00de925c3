//! What people do all day, typed through a pseudo terminal: tasks with approvals, second thoughts, mistakes and ways back.
//!
//! Each is a test of its own, so that they run beside one another; none takes longer than the guard of a question (SAF-1) makes it.

use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::{anthropic, wait};

use crate::screen_stage::Person;
use crate::world::with_model;

/// In the mode that asks, without a sandbox.
const ASKING: [&str; 5] = ["--no-save", "--permission-mode", "default", "--sandbox", "off"];
const UNSAVED: [&str; 1] = ["--no-save"];

fn bash(id: &str, command: &str) -> anthropic::Message {
    anthropic::tool_use(id, "bash", json!({ "command": command }))
}

fn edit(id: &str, path: &str, old: &str, new: &str) -> anthropic::Message {
    anthropic::tool_use(id, "edit", json!({ "path": path, "old": old, "new": new }))
}

fn calc(world: &TestEnv) {
    world.write("calc.sh", "echo $(($1 - $2))\n");
}

#[test]
fn fix_this_test_with_an_approval_in_between() {
    let (world, model) = with_model([
        anthropic::text("I look at it.").tool_use("t1", "read", json!({"path": "calc.sh"})),
        edit("t2", "calc.sh", "-", "+"),
        bash("t3", "sh calc.sh 2 3"),
        anthropic::text("`calc.sh` **adds** now."),
    ]);
    calc(&world);
    let mut person = Person::open(&world, &ASKING);
    person
        .says("fix this test")
        .answers("y")
        .sees("y run it once")
        .pauses(800)
        .keys("y")
        .sees("● Edit calc.sh  +1 -1");
    person.sees("bash wants to").answers("y");
    person.sees("calc.sh adds now.").sees("  5");
    assert_eq!(world.read("calc.sh"), "echo $(($1 + $2))\n");
    assert_eq!(model.count(), 4);
    person.leaves();
}

#[test]
fn resume_yesterday_undo_and_try_another_model() {
    let (world, model) = with_model([
        edit("t1", "calc.sh", "-", "*"),
        anthropic::text("Done."),
        anthropic::text("Fresh eyes."),
    ]);
    calc(&world);
    let mut person = Person::open(&world, &[]);
    person.says("fix it").sees("Done.").leaves();
    let mut person = Person::open(&world, &["-c"]);
    person.sees("› fix it").sees("Done.");
    person.says("/undo").sees("[y/N]").pauses(1300).keys("y");
    wait::until("the file to be back", || world.read("calc.sh") == "echo $(($1 - $2))\n");
    person.sees("Put back 1 file").keys("\x15");
    person.pauses(300).says("/model claude-opus-4-1").pauses(300).says("again").sees("Fresh eyes.");
    assert_eq!(model.request(2).json()["model"], "claude-opus-4-1");
}

#[test]
fn read_a_table() {
    let table = "| name | value |\n|---|---|\n| one | 1 |\n| two | 22 |\n\nThat is all.";
    let (world, _model) = with_model([anthropic::text(table)]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("show it").sees("That is all.");
    let rows = person.rows();
    assert!(
        rows.iter().any(|row| row.contains("two") && row.contains("22") && !row.contains('|')),
        "{}",
        rows.join("\n")
    );
    person.leaves();
}

#[test]
fn queue_a_message_while_it_works() {
    let gate = Gate::new();
    let (world, model) = with_model([
        Reply::from(anthropic::text("One.")).wait_after(0, &gate),
        anthropic::text("Two.").into(),
    ]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("first").sees("Waiting for").says("second").sees("⏎ queued: second");
    gate.open();
    person.sees("Two.");
    assert_eq!(model.request(1).conversation(), "user: first\nassistant: One.\nuser: second\n");
    person.leaves();
}

#[test]
fn steer_the_turn_that_runs() {
    let gate = Gate::new();
    let (world, model) = with_model([
        Reply::from(bash("t1", "echo hi")).wait_after(0, &gate),
        anthropic::text("As you like.").into(),
    ]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("go").sees("Waiting for").types("use tabs").pauses(20).keys("\t").sees_no_more("Tab sends");
    gate.open();
    person.sees("As you like.");
    assert!(model.request(1).conversation().contains("use tabs"), "{}", model.request(1).conversation());
    person.leaves();
}

#[test]
fn what_comes_too_late_for_a_turn_is_the_next_message() {
    let gate = Gate::new();
    let (world, model) = with_model([
        Reply::from(anthropic::text("One.")).wait_after(0, &gate),
        anthropic::text("Two.").into(),
    ]);
    let mut person = Person::open(&world, &UNSAVED);
    person
        .says("first")
        .sees("Waiting for")
        .types("use tabs")
        .pauses(20)
        .keys("\t")
        .sees_no_more("Tab sends");
    gate.open();
    person.sees("Two.");
    assert_eq!(model.request(1).conversation(), "user: first\nassistant: One.\nuser: use tabs\n");
    person.leaves();
}

#[test]
fn change_what_is_queued() {
    let gate = Gate::new();
    let (world, model) = with_model([
        Reply::from(anthropic::text("One.")).wait_after(0, &gate),
        anthropic::text("Two.").into(),
    ]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("first").sees("Waiting for").says("secand").sees("queued: secand");
    person
        .keys("\x1b[A")
        .sees("› secand")
        .keys("\x7f\x7f\x7f")
        .types("ond")
        .pauses(20)
        .keys("\r")
        .sees("queued: second");
    gate.open();
    person.sees("Two.");
    assert!(model.request(1).conversation().ends_with("user: second\n"));
    person.leaves();
}

/// What stands behind a command in the queue, or behind a line for AGENTS.md, goes out when that is done.
#[test]
fn queue_a_command_and_what_follows() {
    let gate = Gate::new();
    let (world, model) = with_model([
        Reply::from(anthropic::text("One.")).wait_after(0, &gate),
        anthropic::text("Two.").into(),
    ]);
    let mut person = Person::open(&world, &[]);
    person.says("first").sees("Waiting for").says("#never push").sees("⏎ queued: #never push");
    person.says("/new").sees("⏎ queued: /new").says("second").sees("⏎ queued: second");
    gate.open();
    person.sees("Add this line to AGENTS.md? [y/N]").pauses(1300).keys("y").sees("Two.");
    assert_eq!(model.request(1).conversation(), "user: second\n");
    person.leaves();
}

/// What stands behind an undo that is refused may have counted on it, and waits for Enter.
#[test]
fn queue_an_undo_and_refuse_it() {
    let gate = Gate::new();
    let (world, model) = with_model([
        Reply::from(edit("t1", "calc.sh", "-", "*")),
        Reply::from(anthropic::text("Done.")).wait_after(0, &gate),
        anthropic::text("Otherwise.").into(),
    ]);
    calc(&world);
    let mut person = Person::open(&world, &[]);
    person.says("fix it").sees("● Edit calc.sh").says("/undo").sees("⏎ queued: /undo");
    person.says("use plus").sees("⏎ queued: use plus");
    gate.open();
    person.sees("Go ahead? [y/N]").pauses(1300).keys("n").sees("⏎ held: use plus · Enter sends");
    assert_eq!(model.count(), 2);
    person.keys("\r").sees("Otherwise.").leaves();
}

/// DECISIONS 47: a provider of one's own is another provider as those of the catalogue are.
#[test]
fn go_on_with_a_provider_of_ones_own() {
    let (mut world, model) =
        with_model([anthropic::text("One."), anthropic::text("Two."), anthropic::text("Three.")]);
    world.set_var("CORP_KEY", "corp-0123456789");
    let own = format!(
        "[providers.corp]\napi = \"anthropic\"\nbase_url = \"{}\"\nkey_env = \"CORP_KEY\"\nmodels = [\"large\", \"small\"]\n",
        model.url()
    );
    world.write(world.base().join("config.toml"), own);
    let mut person = Person::open(&world, &[]);
    person.says("first").sees("One.").keys("/model corp").sees("  corp:large").pauses(50).keys("\r");
    person.sees("Model: corp:large").says("second").sees("Two.");
    person
        .says("/provider anthropic")
        .sees("Model: anthropic:")
        .says("/model corp:small")
        .sees("Model: corp:small");
    person.says("third").sees("Three.").says("/provider corp").sees("Provider: corp");
    let asked = |at: usize| {
        (model.request(at).json()["model"].clone(), model.request(at).header("x-api-key").map(str::to_owned))
    };
    let corp = Some("corp-0123456789".to_owned());
    assert_eq!((asked(1), asked(2)), ((json!("large"), corp.clone()), (json!("small"), corp)));
    person.leaves();
}

#[test]
fn stop_and_say_it_better() {
    let (world, model) = with_model([Reply::stall(), anthropic::text("Better.").into()]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("do it").sees("Waiting for").pauses(50).keys("\x1b").sees("■ Stopped after").sees("› do it");
    person.types(" well").pauses(20).keys("\r").sees("Better.");
    assert!(model.request(1).conversation().ends_with("do it well\n"));
    person.leaves();
}

#[test]
fn say_no_and_why() {
    let (world, model) = with_model([bash("t1", "rm -rf build"), anthropic::text("Then not.")]);
    let mut person = Person::open(&world, &ASKING);
    person
        .says("clean")
        .answers("w")
        .sees("why not?")
        .types("use make clean")
        .pauses(20)
        .keys("\r")
        .sees("Then not.");
    assert!(model.request(1).json().to_string().contains("use make clean"));
    person.sees("⊘").leaves();
}

#[test]
fn a_plain_no_denies_the_call() {
    let (world, model) = with_model([bash("t1", "touch made"), anthropic::text("Then not.")]);
    let mut person = Person::open(&world, &ASKING);
    person.says("make it").answers("n").sees("Then not.");
    assert!(!world.work().join("made").exists());
    assert_eq!(model.count(), 2);
    person.leaves();
}

#[test]
fn grant_it_for_the_session() {
    let (world, _model) =
        with_model([bash("t1", "touch one"), bash("t2", "touch one"), anthropic::text("Twice.")]);
    let mut person = Person::open(&world, &ASKING);
    person.says("twice").sees("1 ").answers("1").sees("Twice.");
    assert!(world.work().join("one").exists());
    person.leaves();
}

#[test]
fn let_it_explain_first() {
    let explained = anthropic::text("It makes an empty file.");
    let (world, _model) = with_model([bash("t1", "touch made"), explained, anthropic::text("Made.")]);
    let mut person = Person::open(&world, &ASKING);
    // All steps are more than there is room for, so they have the screen until they are read.
    person.says("make it").answers("e").sees("nobody to ask").pauses(100).keys("y").pauses(100);
    assert!(!world.work().join("made").exists());
    person.keys("q").answers("y").sees("Made.").leaves();
}

/// SAF-4: what does not fit is read to its end before it is allowed.
#[test]
fn read_all_of_a_long_command() {
    let long: String = (0..60).map(|i| format!("touch file{i}\n")).collect();
    let (world, model) = with_model([bash("t1", &long), anthropic::text("Long.")]);
    let mut person = Person::open(&world, &ASKING);
    person.says("run it").answers("y").sees("space next page");
    assert_eq!(model.count(), 1);
    person.pauses(800).keys("y").sees("y run it once").pauses(800).keys("y").sees("Long.").leaves();
}

#[test]
fn a_draft_is_finished_before_the_question() {
    let (world, _model) =
        with_model([bash("t1", "touch made"), anthropic::text("Made."), anthropic::text("Tagged.")]);
    let mut person = Person::open(&world, &ASKING);
    person.says("make it").sees("wants to run").types("yes, tag it").sees("Tab: answer the question");
    assert!(!world.work().join("made").exists());
    person
        .keys("\t")
        .pauses(50)
        .keys("y")
        .sees("Made.")
        .sees("› yes, tag it")
        .pauses(20)
        .keys("\r")
        .sees("Tagged.");
    person.leaves();
}

/// A question of a sub-agent names it.
#[test]
fn say_yes_to_a_sub_agent() {
    let order = json!({"description": "count files", "prompt": "Count."});
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "task", order),
        bash("t2", "touch counted"),
        anthropic::text("Three."),
        anthropic::text("It counted."),
    ]);
    let mut person = Person::open(&world, &ASKING);
    person.says("count").sees("? general-purpose: count files: bash wants to run").answers("y");
    person.sees("It counted.").sees("● Task: count files").leaves();
    assert!(world.work().join("counted").exists());
}

/// TRN-3: what is too much for the model and the screen is in a file, and `/show` opens that.
#[test]
fn see_all_that_was_printed() {
    let (world, _model) = with_model([bash("t1", "seq 100000"), anthropic::text("Many.")]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("count").sees("Many.").says("/show 1").sees("1-23 of 100000");
    person.keys("/54321\r").sees("54321").sees("54321-54343 of 100000");
    person.keys("q").sees_no_more("of 100000").leaves();
}

#[test]
fn two_questions_one_after_another() {
    let two = anthropic::tool_use("t1", "bash", json!({"command": "touch one"})).tool_use(
        "t2",
        "bash",
        json!({"command": "touch two"}),
    );
    let (world, _model) = with_model([two, anthropic::text("Both.")]);
    let mut person = Person::open(&world, &ASKING);
    person.says("both").answers("y").sees("touch two").pauses(1300).keys("y").sees("Both.");
    assert!(world.work().join("one").exists() && world.work().join("two").exists());
    person.leaves();
}

#[test]
fn ask_first_from_now_on() {
    let (world, _model) = with_model([bash("t1", "touch made"), anthropic::text("Made.")]);
    let mut person = Person::open(&world, &["--no-save", "--sandbox", "off"]);
    person.sees("YOLO ·").keys("\x1b[Z").sees("DEFAULT ·");
    person.says("make it").answers("y").sees("Made.");
    // SAF-8: a mode that asks less is said.
    person.keys("\x1b[Z").sees("ACCEPTEDITS ·").sees("Mode acceptEdits: edits in the workspace run");
    person.leaves();
}

#[test]
fn another_model_from_the_list() {
    let (world, model) = with_model([anthropic::text("Hello.")]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("/model claude-opus-4-1").sees("Model: claude-opus-4-1").says("greet me").sees("Hello.");
    assert_eq!(model.request(0).json()["model"], "claude-opus-4-1");
    person.leaves();
}

#[test]
fn complete_a_command() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let mut person = Person::open(&world, &UNSAVED);
    person.types("/hel").sees("/help").keys("\t").pauses(50).keys("\r").sees("/model");
    person.leaves();
}

#[test]
fn name_a_file() {
    let (world, model) = with_model([anthropic::text("Read.")]);
    calc(&world);
    let mut person = Person::open(&world, &UNSAVED);
    person
        .types("look at @cal")
        .sees("calc.sh")
        .keys("\t")
        .sees("@calc.sh")
        .pauses(30)
        .keys("\r")
        .sees("Read.");
    assert!(model.request(0).conversation().contains("calc.sh"));
    person.leaves();
}

#[test]
fn the_last_prompt_again() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let mut person = Person::open(&world, &UNSAVED);
    person
        .says("say a number")
        .sees("One.")
        .sees_no_more("Esc stops")
        .keys("\x1b[A")
        .pauses(50)
        .keys("\r")
        .sees("Two.");
    assert_eq!(model.request(1).conversation(), "user: say a number\nassistant: One.\nuser: say a number\n");
    person.leaves();
}

#[test]
fn find_an_old_prompt() {
    let (world, model) =
        with_model([anthropic::text("One."), anthropic::text("Two."), anthropic::text("Three.")]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("count the sheep").sees("One.").says("feed the goats").sees("Two.");
    person.keys("\x12").types("sheep").sees("1/1").keys("\r").pauses(50).keys("\r").sees("Three.");
    assert!(model.request(2).conversation().ends_with("count the sheep\n"));
    person.leaves();
}

#[test]
fn write_several_lines() {
    let (world, model) = with_model([anthropic::text("Read.")]);
    let mut person = Person::open(&world, &UNSAVED);
    person.types("one").pauses(30).keys("\x1b\r").types("two").pauses(30).keys("\\").pauses(30).keys("\r");
    person.types("three").pauses(30).keys("\r").sees("Read.");
    assert_eq!(model.request(0).conversation(), "user: one\\ntwo\\nthree\n".replace("\\n", "\n"));
    person.leaves();
}

#[test]
fn paste_a_log() {
    let (world, model) = with_model([anthropic::text("Read.")]);
    let mut person = Person::open(&world, &UNSAVED);
    let log: String = (0..30).map(|i| format!("error {i}\r")).collect();
    person
        .types("why?")
        .keys(" ")
        .keys(&format!("\x1b[200~{log}\x1b[201~"))
        .sees("[30 lines pasted]")
        .pauses(30)
        .keys("\r")
        .sees("Read.");
    assert!(model.request(0).conversation().contains("error 29"));
    person.leaves();
}

#[test]
fn write_it_in_an_editor() {
    let (mut world, model) = with_model([anthropic::text("Read.")]);
    let editor = world.write("editor.sh", "#!/bin/sh\nprintf ', please' >> \"$1\"\n");
    world.set_var("VISUAL", format!("sh {}", editor.display()));
    let mut person = Person::open(&world, &UNSAVED);
    person.types("fix it").keys("\x18\x05").sees("› fix it, please").pauses(30).keys("\r").sees("Read.");
    assert_eq!(model.request(0).conversation(), "user: fix it, please\n");
    person.leaves();
}

#[test]
fn go_on_with_the_last_session() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let mut person = Person::open(&world, &[]);
    person.says("first").sees("One.");
    let drawn = person.leaves();
    assert!(drawn.contains("zori -c goes on"), "{drawn}");
    let mut person = Person::open(&world, &["-c"]);
    person.sees("One.").says("second").sees("Two.");
    assert_eq!(model.request(1).conversation(), "user: first\nassistant: One.\nuser: second\n");
    person.leaves();
}

#[test]
fn begin_anew_and_come_back() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let mut person = Person::open(&world, &[]);
    person.says("first").sees("One.").says("/new").pauses(300).says("second").sees("Two.");
    assert_eq!(model.request(1).conversation(), "user: second\n");
    person.leaves();
}

#[test]
fn send_it_again_after_an_error() {
    let (world, model) = with_model([
        anthropic::http_error(400, "invalid_request_error", "not now"),
        anthropic::text("Now.").into(),
    ]);
    let mut person = Person::open(&world, &UNSAVED);
    person
        .says("go")
        .sees("✗")
        .sees("Enter sends again")
        .sees_no_more("Esc stops")
        .pauses(50)
        .keys("\r")
        .sees("Now.");
    assert_eq!(model.count(), 2);
    person.leaves();
}

#[test]
fn look_through_the_cells() {
    let lines = "for i in $(seq 40); do echo row $i; done";
    let (world, _model) = with_model([bash("t1", lines), anthropic::text("Forty.")]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("count").sees("Forty.").sees_no_more("Esc stops").keys("\x0f").sees("q back");
    person.keys("/").types("row 17").keys("\r").sees("row 17").keys("q").sees_no_more("q back");
    person.says("/show 1").sees("row 3").keys("q").sees_no_more("q back").leaves();
}

#[test]
fn copy_the_answer() {
    let (world, _model) = with_model([anthropic::text("Copy me.\n\n```sh\necho code\n```\n")]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("go").sees("echo code").sees_no_more("Esc stops").says("/copy code").sees("Copied");
    let drawn = person.leaves();
    assert!(drawn.contains("\x1b]52;c;ZWNobyBjb2Rl\x07"), "OSC 52 with `echo code`");
}

#[test]
fn see_what_it_thought_and_its_tasks() {
    let todos = json!({"todos": [{"content": "look", "status": "completed"}, {"content": "tell", "status": "in_progress"}]});
    let (world, _model) = with_model([
        anthropic::thinking("Let me think.", "sig").tool_use("t1", "todo_write", todos),
        anthropic::text("Told."),
    ]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("go").sees("∴ Thought").sees("Told.").sees_no_more("Esc stops").leaves();
}

#[test]
fn leave_with_a_draft_and_find_it_again() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    let mut person = Person::open(&world, &[]);
    person.says("first").sees("One.").sees_no_more("Esc stops").types("half a thought").pauses(500);
    person.signal(rustix::process::Signal::TERM);
    let (status, _) = person.ends();
    assert_eq!(status.code(), Some(143));
    let mut person = Person::open(&world, &["-c"]);
    person.sees("› half a thought");
}

/// CMP-10: nothing was said yet, so that no session leads to the draft. The next chat of the folder has it, once the one it was typed in is gone.
#[test]
fn a_draft_before_the_first_prompt() {
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::HUP] {
        let (world, model) = with_model([anthropic::text("One.")]);
        let kept = || std::fs::read_dir(world.base().join("drafts")).map_or(0, Iterator::count);
        let mut person = Person::open(&world, &[]);
        person.types("half a thought");
        wait::until("the draft to be kept", || kept() == 1);
        let mut beside = Person::open(&world, &[]);
        beside.pauses(50);
        assert!(!beside.screen().contains("half"), "it is being typed elsewhere: {}", beside.screen());
        beside.keys("\x04");
        beside.ends();
        person.signal(signal);
        drop(person);
        let mut person = Person::open(&world, &[]);
        person
            .sees("What was being typed here before is back.")
            .sees("› half a thought")
            .pauses(50)
            .keys("\r");
        person.sees("One.");
        assert_eq!(model.request(0).conversation(), "user: half a thought\n");
        person.leaves();
        assert_eq!(kept(), 0, "{signal:?}");
    }
}

/// Where there is no session to choose, the chat says so at once and is there for another.
#[test]
fn choose_a_session_where_there_is_none() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    let mut person = Person::open(&world, &["--resume"]);
    person.sees("No sessions found to resume").sees_no_more("› /resume");
    person.says("first").sees("One.").leaves();
}

#[test]
fn ctrl_c_twice_leaves() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    let mut person = Person::open(&world, &UNSAVED);
    person
        .types("away")
        .keys("\x03")
        .sees_no_more("› away")
        .pauses(30)
        .keys("\x03")
        .sees("Ctrl-C again leaves")
        .keys("\x03");
    assert!(person.ends().0.success());
}

#[test]
fn a_prompt_on_the_command_line() {
    let (world, model) = with_model([anthropic::text("At once.")]);
    let mut person = Person::open(&world, &["--no-save", "say hello"]);
    person.sees("› say hello").sees("At once.");
    assert_eq!(model.request(0).conversation(), "user: say hello\n");
    person.leaves();
}

#[test]
fn several_calls_at_once() {
    let two = anthropic::tool_use("t1", "read", json!({"path": "calc.sh"})).tool_use(
        "t2",
        "grep",
        json!({"pattern": "echo", "path": "."}),
    );
    let (world, _model) = with_model([two, anthropic::text("Both read.")]);
    calc(&world);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("look").sees("Both read.");
    let row = person.rows().into_iter().find(|row| row.starts_with("● Read")).expect("it is a row");
    assert_eq!(row.split_whitespace().collect::<Vec<_>>().join(" "), "● Read 1 file, searched \"echo\" #1-2");
    person.leaves();
}

#[test]
fn in_forty_columns_without_colours() {
    let (mut world, _model) = with_model([
        bash("t1", "echo hi"),
        anthropic::text("It says hi, in few columns and in no colours at all."),
    ]);
    world.set_var("NO_COLOR", "1").set_var("LANG", "C").set_var("LC_ALL", "C");
    let size = Size { rows: 15, cols: 40 };
    let mut person = Person::at(world.screen(&UNSAVED, size), size);
    person.keys("go").sees("> go").pauses(30).keys("\r").sees("colours at all.").sees("* $ echo hi");
    let drawn = person.leaves();
    let colours: Vec<&str> =
        ["\x1b[0;3", "\x1b[0;9", "38;5", "38;2", "48;"].into_iter().filter(|c| drawn.contains(c)).collect();
    assert_eq!(colours, [""; 0]);
}

#[test]
fn a_long_answer_stays_readable() {
    let text: String = (0..200).map(|i| format!("Paragraph {i:03} of the answer.\n\n")).collect();
    let (world, _model) = with_model([anthropic::text(&text)]);
    let mut person = Person::open(&world, &UNSAVED);
    person.says("write a book").sees("Paragraph 199");
    let rows = person.rows();
    for i in 0..200 {
        let wanted = format!("Paragraph {i:03} of the answer.");
        assert_eq!(rows.iter().filter(|row| **row == wanted).count(), 1, "{wanted}");
    }
    person.leaves();
}
