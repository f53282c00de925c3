//! The panel (`zori tui`) through a pseudo terminal: opened, used, left, and refused where it cannot be.

use rustix::process::Signal;
use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::wait;

use crate::screen_stage::{Person, check_bytes};
use crate::world::{with_model, world};

const SIZE: Size = Size { rows: 36, cols: 120 };
const F2: &str = "\x1bOQ";
const F10: &str = "\x1b[21~";

#[track_caller]
fn open(world: &TestEnv, args: &[&str]) -> Person {
    let args: Vec<&str> = ["tui"].iter().chain(args).copied().collect();
    let mut person = Person::before(world.screen(&args, SIZE), SIZE);
    person.sees("[Chat 1]").sees("F10 quit");
    person
}

/// Waits until the dialog may be answered (SAF-1), and answers it.
#[track_caller]
fn answers(person: &mut Person, key: &str) {
    person.sees("bash asks").pauses(1300).keys(key);
}

/// UI-11, UI-50, UI-51: a prompt, a question with its answer, a second tab, back, and out; the last turn is where the shell goes on.
#[test]
fn from_open_to_quit() {
    let (world, model) = with_model([
        anthropic::text("I look.").tool_use("t1", "bash", json!({"command": "echo hi > made.txt"})),
        anthropic::text("The file **is** there."),
        anthropic::text("Another conversation."),
    ]);
    let mut person = open(&world, &["--permission-mode", "default"]);
    person.sees("SESSION").sees("Studio Dark").sees("LIVE FEED");
    person.says("make it");
    answers(&mut person, "y");
    person.sees("The file is there.").sees("approved by you").sees("waiting  NO");
    assert_eq!(std::fs::read_to_string(world.work().join("made.txt")).unwrap(), "hi\n");
    person.says("/new other").sees("[other]").sees_no_more("The file is there.");
    person.says("hello").sees("Another conversation.").sees("waiting  NO");
    person.keys("\x1b1").sees("[Chat 1]").sees("The file is there.");
    person.keys(F10);
    let (status, drawn) = person.ends();
    assert!(status.success(), "{status}");
    let left = drawn.rsplit("\x1b[?1049l").next().unwrap_or_default();
    assert!(left.contains("make it") && left.contains(" there."), "{left:?}");
    assert!(left.contains("zori -c goes on"), "{left:?}");
    // Each tab is a session of its own.
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    assert!(!String::from_utf8_lossy(&requests[2].body).contains("make it"));
}

/// UI-54: a turn goes on while another tab is shown; its sign says so, and that something came.
#[test]
fn a_turn_goes_on_in_the_background() {
    let gate = Gate::new();
    let (world, _model) = with_model([
        Reply::from(anthropic::text("Late, but here.")).wait_after(1, &gate),
        Reply::from(anthropic::text("From the second.")),
    ]);
    let mut person = open(&world, &["--no-save"]);
    person.says("first").sees("Waiting for");
    person.says("/new").sees("[Chat 2]").says("second").sees("From the second.");
    gate.open();
    person.sees("Chat 1 •");
    person.keys("\x1b1").sees("Late, but here.").sees_no_more("Chat 1 •");
    person.keys(F10);
    assert!(person.ends().0.success());
}

/// UI-54: a question of a hidden tab takes no focus; keys there are text, and it is answered in its own tab.
#[test]
fn a_question_of_a_hidden_tab() {
    let gate = Gate::new();
    let (world, _model) = with_model([
        Reply::from(anthropic::text("").tool_use("t1", "bash", json!({"command": "echo hi > made.txt"})))
            .wait_after(1, &gate),
        Reply::from(anthropic::text("Denied, then.")),
    ]);
    let mut person = open(&world, &["--no-save", "--permission-mode", "default"]);
    person.says("first").sees("Waiting for");
    person.says("/new").sees("[Chat 2]");
    gate.open();
    person.sees("Chat 1 ?");
    person.pauses(1500).types("yes").sees("› yes");
    person.keys("\x1b1");
    answers(&mut person, "n");
    person.sees("Denied, then.").keys("\x1b2").sees("› yes");
    person.keys(F10);
    assert!(person.ends().0.success());
}

/// UI-52: a theme is tried from the menu, and kept.
#[test]
fn themes() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let mut person = open(&world, &["--no-save"]);
    let ground = |person: &Person, colour: &str| person.pty.drawn().rfind(colour);
    person
        .keys(F2)
        .sees("Themes")
        .keys("\x1b[C")
        .sees("› Studio Dark")
        .keys("\x1b[B")
        .sees("› High Tech 2026");
    person.sees("| High Tech 2026");
    assert!(ground(&person, "48;5;").is_some(), "a ground of 256 colours");
    person.keys("\x1b").sees("| Studio Dark").sees_no_more("Menu");
    person.keys(F2).sees("Themes").keys("\r").sees("› Studio Dark").keys("\x1b[B").keys("\r");
    person.sees("Theme High Tech 2026, kept in");
    person.keys(F10);
    assert!(person.ends().0.success());
    let kept = std::fs::read_to_string(world.base().join("config.toml")).unwrap();
    assert!(kept.contains("theme = \"High Tech 2026\""), "{kept}");
}

/// The last tab stays, a tab in a turn is not closed, and F10 while turns run has to come twice.
#[test]
fn what_closes_and_what_does_not() {
    let gate = Gate::new();
    let (world, _model) = with_model([Reply::from(anthropic::text("never")).wait_after(1, &gate)]);
    let mut person = open(&world, &["--no-save"]);
    person.says("/close").sees("this is the last tab");
    person.says("/new").sees("[Chat 2]").says("/close").sees("[Chat 1]").sees_no_more("Chat 2");
    person.says("go").sees("Waiting for").says("/close").sees("this is the last tab");
    person.keys(F10).sees("F10 again stops and leaves").keys(F10);
    assert!(person.ends().0.success());
}

/// UI-16, TTY-3: a signal and a defect leave the terminal as it was, on its own screen.
#[test]
fn the_terminal_is_as_it_was() {
    let (mut world, _model) = with_model([anthropic::text("x")]);
    let mut person = open(&world, &["--no-save"]);
    person.signal(Signal::TERM);
    let (status, _) = person.ends();
    assert_eq!(status.code(), Some(143));
    world.set_var("ZORI_TEST_PANIC", "view");
    let mut pty = world.screen(&["tui", "--no-save"], SIZE);
    pty.wait_for("a test wants this panic");
    wait::until("the terminal to echo again", || pty.echoes());
    let (status, drawn) = pty.finish();
    assert!(!status.success());
    check_bytes(&drawn);
    assert!(drawn.rfind("\x1b[?1049l") < drawn.rfind("a test wants this panic"), "{drawn:?}");
}

/// A new size, small and back, in a turn and out of it: nothing is lost.
#[test]
fn sizes() {
    let (world, _model) = with_model([anthropic::text("One line of an answer.")]);
    let mut person = open(&world, &["--no-save"]);
    person.says("go").sees("One line of an answer.");
    let mut pty = person.pty;
    for (rows, cols) in [(20, 60), (5, 12), (1, 1), (60, 200), (36, 120)] {
        pty.resize(Size { rows, cols });
        std::thread::yield_now();
    }
    let mut person = Person::at(pty, SIZE);
    person.sees("One line of an answer.").sees("SESSION").keys("x").sees("› x").keys("\x7f").keys(F10);
    assert!(person.ends().0.success());
}

/// Without a terminal, or with one that cannot show a screen: said, and refused with a code of its own.
#[test]
fn where_there_is_no_panel() {
    let world = world();
    let piped = world.run(&["tui"]);
    assert_eq!((piped.code(), piped.stderr().contains("`tui` needs a terminal")), (Some(4), true), "{piped}");
    let (status, drawn) = world.pty(&["tui"], SIZE).finish();
    assert!(drawn.contains("the panel needs a terminal that can show a screen"), "{drawn}");
    assert!(!drawn.contains("\x1b[?1049h"), "the other screen was not entered");
    assert_eq!(status.code(), Some(4));
}

/// DECISIONS 19: the bare call under the name `a0` opens the panel with that provider, and the panel works with it.
#[test]
fn the_bare_call_of_a0() {
    let world = world();
    std::fs::create_dir_all(world.base()).unwrap();
    std::fs::write(world.base().join("config.toml"), "[connection]\nuse_mock = true\n").unwrap();
    let mut person = Person::before(world.screen(&["--as", "a0"], SIZE), SIZE);
    person.sees("[Chat 1]").sees("BALANCED").sees("mock server, no network").sees_no_more("F5 web UI");
    person.says("hi").sees("I am the mock server inside this program").sees("waiting  NO");
    person.keys(F10);
    assert!(person.ends().0.success());
}
