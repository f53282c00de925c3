//! The panel (`zori tui`) through a pseudo terminal: opened, used, left, and refused where it cannot be.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::reply::Reply;
use zori_testkit::{process, wait};

use crate::screen_stage::{Person, check_bytes};
use crate::world::{in_shell, with_model, world};

const SIZE: Size = Size { rows: 36, cols: 120 };
const F2: &str = "\x1bOQ";
const F5: &str = "\x1b[15~";
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
    // Where Landlock confines commands they can write only what is there (SB-3).
    world.write("made.txt", "");
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

/// RSM-1: which session goes on is chosen from the list, in the panel too.
#[test]
fn a_session_from_the_list() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    world.run(&["exec", "--session", "first", "-p", "say hello"]).success();
    let mut person = open(&world, &["--resume"]);
    person.sees("this folder 1 of 1").sees("› /resume").keys("\r");
    person.sees("Loaded 2 previous messages").sees("› say hello").sees("Hello.");
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
    // Who opens the list and presses Enter is shown what there is, and closes nothing.
    person.keys("/").sees("› /").sees("Show these commands").sees("Close this tab");
    let list = person.rows();
    let at = |words: &str| list.iter().position(|row| row.contains(words));
    assert!(at("/help ") < at("/close "), "{}", list.join("\n"));
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
    person.says("hello").sees("I am the mock server inside this program").sees("waiting  NO");
    person.says("write a note").sees("write_file asks").pauses(1300).keys("y");
    person.sees("write_file ran here").sees("waiting  NO");
    assert_eq!(world.read("mock-note.txt"), "A note by the mock server.\n");
    person.says("run it").sees("The tool did not run: shell commands").sees("waiting  NO");
    person.keys(F10);
    assert!(person.ends().0.success());
}

/// SEC-2, AZ-8: what is said of the settings at the start is on the screen of the panel, however narrow it is.
#[test]
fn warnings_of_the_start() {
    let world = world();
    let config = "[connection]\nuse_mock = true\n[context]\nredact_patterns = [\"(\"]\n[security]\nallow_shell = true\n";
    world.write(world.base().join("config.toml"), config);
    let size = Size { rows: 30, cols: 80 };
    let mut person = Person::before(world.screen(&["--as", "a0"], size), size);
    person.sees("[Chat 1]").sees("a script inside this program answers, no server");
    person.sees("`security.allow_shell` lets the model run shell commands").sees("is no regular expression");
    let screen = person.screen();
    assert!(screen.contains("! `connection.use_mock`") && screen.contains("F10 quit"), "{screen}");
    person.keys(F10);
    assert!(person.ends().0.success());
}

/// UI-3: what the server was told of the workspace is in the card while it still thinks.
#[test]
fn the_context_card_in_the_first_turn() {
    let gate = Gate::new();
    let held = gate.clone();
    let server = zori_testkit::server::ModelServer::answering(move |_| {
        Reply::json(200, json!({"context_id": "c", "response": "At last."})).wait_after(0, &held)
    });
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    let mut person = Person::before(world.screen(&["--as", "a0"], SIZE), SIZE);
    person.sees("on_change · Pending").says("hello").sees("on_change · sent, hash").sees("waiting  YES");
    gate.open();
    person.sees("At last.").sees("waiting  NO").keys(F10);
    assert!(person.ends().0.success());
}

/// UI-52: a theme that was only tried is gone with the menu, also where another tab is shown.
#[test]
fn a_theme_that_was_only_tried() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let mut person = open(&world, &["--no-save"]);
    person.says("/new").sees("[Chat 2]");
    person
        .keys(F2)
        .sees("Themes")
        .keys("\x1b[C")
        .sees("› Studio Dark")
        .keys("\x1b[B")
        .sees("| High Tech 2026");
    person.keys("\x1b1").sees("[Chat 1]").sees("| Studio Dark").sees_no_more("Menu").keys(F10);
    assert!(person.ends().0.success());
}

/// ACC-3: where only ASCII can be shown, the frames, the cards and the games are ASCII, and so is what is left behind.
#[test]
fn where_only_ascii_can_be_shown() {
    let (mut world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "touch made"})),
        anthropic::text("x"),
    ]);
    for name in ["LANG", "LC_ALL", "LC_CTYPE"] {
        world.set_var(name, "C");
    }
    let mut person = Person::at(
        world.screen(&["tui", "--no-save", "--permission-mode", "default", "--sandbox", "off"], SIZE),
        SIZE,
    );
    person
        .sees("[Chat 1]")
        .keys(F2)
        .sees("Themes")
        .keys("\x1b[C")
        .sees("> Studio Dark")
        .keys("\x1b")
        .sees_no_more("Menu");
    person.keys("\x1bOR").sees("ARCADE").keys("\x1b").sees_no_more("ARCADE").says("go");
    answers(&mut person, "n");
    person.sees("waiting  NO").keys(F10);
    let (status, drawn) = person.ends();
    assert!(status.success());
    let foreign: std::collections::BTreeSet<char> = drawn.chars().filter(|c| !c.is_ascii()).collect();
    // The title of the window is not on the screen.
    assert!(foreign.iter().all(|c| "✶–".contains(*c)), "{foreign:?}");
}

/// UI-5: F5 opens the server's own pages, or says where they are.
#[test]
fn the_web_ui() {
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", "http://a0.invalid/api_message");
    world.set_var("PATH", world.tmp());
    let mut person = Person::before(world.screen(&["--as", "a0"], SIZE), SIZE);
    person.sees("F5 web UI").keys(F5).sees("xdg-open is not there; open http://a0.invalid yourself");
    world.write(
        world.tmp().join("xdg-open"),
        "#!/bin/sh\nprintf %s \"$1\" > \"$(/usr/bin/dirname \"$0\")/opened\"\n",
    );
    let script = world.tmp().join("xdg-open");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    person.keys(F5).sees("opened http://a0.invalid");
    wait::until("the page", || {
        std::fs::read_to_string(world.tmp().join("opened")).is_ok_and(|url| url == "http://a0.invalid")
    });
    person.keys(F10);
    assert!(person.ends().0.success());
}

/// AZ-8: the demo under that name is played in the panel, says what it is, and how to go on with a server.
#[test]
fn the_demo_of_a0() {
    let world = world();
    let mut person = Person::before(world.screen(&["--as", "a0", "demo"], SIZE), SIZE);
    person.sees("[Chat 1]").sees("mock server, no network");
    person.sees("I am the mock server inside this program").sees("waiting  NO");
    // It begins as with a real server: what changes something is asked about (DECISIONS 11).
    person.sees("BALANCED").sees("shell off").sees("on_change · sent");
    person.says("write a note").sees("write_file asks").pauses(1300).keys("y");
    person.sees("Create mock-note.txt").sees("waiting  NO");
    person.says("run a command").sees("shell commands are off").sees("waiting  NO");
    person.says("/new").sees("this is the demo, which has one tab");
    person.keys(F10);
    let (status, drawn) = person.ends();
    assert!(status.success(), "{status}");
    let left = drawn.rsplit("\x1b[?1049l").next().unwrap_or_default();
    assert!(left.contains("That was a0 with a script for a server."), "{left:?}");
    assert!(left.contains("export AGENTZERO_API_URL="), "{left:?}");
}

/// The panel of a shell, which has its terminal again when the panel stops.
fn in_a_shell(world: &TestEnv, script: &str, args: &[&str]) -> Person {
    let args: Vec<&str> = ["tui"].iter().chain(args).copied().collect();
    let mut command = in_shell(world, script, &args);
    command.env("TERM", "xterm-256color").env_remove("ACCESSIBLE");
    Person::before(Pty::start(command, SIZE, world.rewrite()), SIZE)
}

/// A window of one column and one row: nothing can be shown, nothing is lost, and all is there when it is larger.
#[test]
fn one_by_one() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    let mut person = Person::at(world.screen(&["tui", "--no-save"], Size { rows: 1, cols: 1 }), SIZE);
    person.pauses(300).keys("hi").pauses(100).keys("\r").pauses(300);
    person.pty.resize(SIZE);
    person.sees("› hi").sees("Hello.").sees("waiting  NO").keys(F10);
    assert!(person.ends().0.success());
}

/// A storm of sizes, down to one column and back, while an answer streams and while a question is open: the answer is whole, the question is one.
#[test]
fn a_storm_of_sizes() {
    let gate = Gate::new();
    let text: String = (0..8).map(|i| format!("UNIQ-{i:03} lorem ipsum dolor\n\n")).collect();
    let (world, _model) = with_model([
        Reply::from(anthropic::text(&text).tool_use("t1", "bash", json!({"command": "touch made"})))
            .chunks_of(64)
            .wait_after(2, &gate),
        Reply::from(anthropic::text("Done.")),
    ]);
    let mut person = open(&world, &["--no-save", "--permission-mode", "default", "--sandbox", "off"]);
    person.says("go").sees("Waiting for");
    for i in 0..60_u16 {
        person.pty.resize(Size {
            rows: [36, 1, 7, 24][usize::from(i % 4)],
            cols: [120, 1, 60, 9, 200][usize::from(i % 5)],
        });
        if i == 30 {
            gate.open();
        }
    }
    person.pty.resize(SIZE);
    let mut person = Person::at(person.pty, SIZE);
    answers(&mut person, "y");
    person.sees("Done.").sees("waiting  NO");
    let screen = person.screen();
    for i in 0..8 {
        let wanted = format!("UNIQ-{i:03} lorem ipsum dolor");
        // The feed has the words, too, in a line of its own.
        let found = screen.lines().filter(|row| row.starts_with(&format!(" {wanted} "))).count();
        assert_eq!(found, 1, "{wanted} in\n{screen}");
    }
    assert!(world.work().join("made").exists());
    person.keys(F10);
    assert!(person.ends().0.success());
}

/// TTY-4: the terminal goes away in the middle of a turn: every tab's turn is cancelled, drafts are kept, the program ends.
#[test]
fn a_hang_up_ends_it_and_keeps_the_draft() {
    let (world, _model) = with_model([Reply::from(anthropic::text("First.")), Reply::stall()]);
    let mut person = in_a_shell(&world, "set -m; \"$0\" \"$@\" & echo $! > pid; fg", &[]);
    person.says("one").sees("First.").says("two").sees("Waiting for").types("half a thought");
    let pid: i32 = world.read("pid").trim().parse().expect("the shell wrote a number");
    person.signal(Signal::KILL);
    let panel = rustix::process::Pid::from_raw(pid).expect("it is a process");
    wait::until("the panel to end", || {
        rustix::process::test_kill_process(panel).is_err() || process::is_zombie(pid)
    });
    let kept: Vec<String> = std::fs::read_dir(world.base().join("drafts"))
        .expect("there are drafts")
        .map(|file| std::fs::read_to_string(file.expect("it is there").path()).expect("it can be read"))
        .collect();
    assert_eq!(kept, [r#"{"draft":"half a thought","queue":[]}"#]);
}

/// TTY-3: Ctrl-Z in every state: the shell has its terminal on its own screen, and the panel is as it was afterwards.
#[test]
fn it_can_be_stopped_in_every_state() {
    let tool = || Reply::from(anthropic::tool_use("t1", "bash", json!({"command": "touch made"})));
    let states: [(&str, &str, &str, Reply); 6] = [
        ("idle", "", "[Chat 1]", tool()),
        ("a draft", "half", "› half", tool()),
        ("the menu", F2, "Themes", tool()),
        ("a game", "\x1bOR", "ARCADE", tool()),
        ("a turn", "go\r", "Waiting for", Reply::stall()),
        ("a question", "go\r", "bash asks", tool()),
    ];
    for (name, keys, seen, reply) in states {
        let (world, _model) = with_model([reply]);
        let script = "trap : INT; set -m; \"$0\" \"$@\"; echo stopped; stty -a | tr ';' '\\n' | grep -E -o -e '-?(icanon|echo) ' | tr -d '\\n'; \
                      echo .; read go; fg >/dev/null; echo over";
        let args = ["--no-save", "--permission-mode", "default", "--sandbox", "off"];
        let mut person = in_a_shell(&world, script, &args);
        match keys.strip_suffix('\r') {
            Some(text) => drop(person.says(text)),
            None => drop(person.keys(keys)),
        }
        person.sees(seen).keys("\x1a").sees("stopped").sees("icanon echo .");
        let before = person.pty.drawn().len();
        person.keys("\r");
        wait::until("the screen to be back", || person.pty.drawn()[before..].contains("\x1b[?1049h"));
        person.sees(seen);
        assert!(!person.pty.echoes(), "{name}: raw again");
        // The menu and a game are closed first; a turn wants it twice, and a question is answered by the end of its turn.
        // One key more than it takes is echoed by the terminal.
        let over =
            |person: &Person| person.rows().iter().any(|row| row.trim_start_matches("^[[21~") == "over");
        for key in ["\x1b", F10, F10, F10] {
            if !over(&person) {
                person.keys(key).pauses(300);
            }
        }
        let ended = wait::poll(Duration::from_secs(30), || over(&person).then_some(()));
        assert!(ended.is_some(), "{name} did not end:\n{}", person.rows().join("\n"));
        let (_, drawn) = person.ends();
        assert!(drawn.ends_with("over\r\n"), "{name}: {drawn:?}");
    }
}

/// A stop that nobody announced: everything is set up again when the program goes on.
#[test]
fn it_goes_on_after_a_stop_without_warning() {
    let (world, _model) = with_model([anthropic::text("Still here.")]);
    let mut person = open(&world, &["--no-save"]);
    person.types("half").signal(Signal::STOP);
    let before = person.pty.drawn().len();
    person.signal(Signal::CONT);
    wait::until("the modes to be set again", || person.pty.drawn()[before..].contains("\x1b[?2004h"));
    person.pauses(20).keys("\r").sees("Still here.").sees("waiting  NO").keys(F10);
    assert!(person.ends().0.success());
}

/// KEY-3, as in the chat: a turn that does not end when it is stopped is given up after three seconds, and the tab goes on with what was said before, saved
/// or not.
#[test]
fn a_turn_that_does_not_end() {
    for args in [&[][..], &["--no-save"]] {
        let (mut world, model) =
            with_model([anthropic::text("First.").reply(), Reply::stall(), anthropic::text("Here.").reply()]);
        world.set_var("ZORI_TEST_DEAF", "turn");
        let mut person = open(&world, args);
        person.says("one").sees("First.").sees("waiting  NO").says("two");
        model.wait_for_requests(2);
        person.keys("\x03").sees("Stopping").sees("was given up; Ctrl-C now ends the");
        person.sees_no_more("Stopping").sees("› two").keys("\x15").says("three").sees("Here.");
        let told = model.request(2).conversation();
        assert!(
            told.starts_with("user: one\nassistant: First.\n") && told.ends_with("user: three\n"),
            "{told}"
        );
        person.sees("waiting  NO").keys(F10);
        assert!(person.ends().0.success());
        let sessions = world.run(&["sessions", "list", "--output", "plain"]).success().stdout().to_owned();
        // It is the same session as before.
        assert_eq!(sessions.trim() == "No sessions found.", !args.is_empty(), "{sessions}");
        assert_eq!(sessions.lines().count(), 1, "{sessions}");
    }
}

/// A plan stops with the turn that was given up: the next answer is no plan, and the mode is what it was.
#[test]
fn a_plan_whose_turn_does_not_end() {
    let (mut world, model) = with_model([Reply::stall(), anthropic::text("1. Do it").reply()]);
    world.set_var("ZORI_TEST_DEAF", "turn");
    let mut person = open(&world, &[]);
    person.says("/plan mend it");
    model.wait_for_requests(1);
    person
        .keys("\x03")
        .sees("was given up; Ctrl-C now ends")
        .sees("There is no plan, since the turn did not come");
    person.sees_no_more("Stopping").keys("\x15").says("three").sees("1. Do it").sees("waiting  NO");
    assert!(!person.screen().contains("Run this step?"), "{}", person.screen());
    person.sees("mode     YOLO").keys(F10);
    assert!(person.ends().0.success());
}

/// The same with Ctrl-C as the next key: the program ends, 130, and the terminal is as it was.
#[test]
fn control_c_after_a_turn_that_does_not_end() {
    let (mut world, model) = with_model([Reply::stall()]);
    world.set_var("ZORI_TEST_DEAF", "turn");
    let mut person = open(&world, &[]);
    person.says("one");
    model.wait_for_requests(1);
    person.keys("\x03").sees("was given up; Ctrl-C now ends").sees_no_more("Stopping").keys("\x03");
    let (status, drawn) = person.ends();
    assert_eq!(status.code(), Some(130));
    assert!(drawn.contains("\x1b[?1049l"), "the other screen is left");
}

/// A signal ends the panel in order although a turn does not end, with the code that the signal has.
#[test]
fn a_signal_while_a_turn_does_not_end() {
    for (signal, code, by) in [(Signal::TERM, Some(143), None), (Signal::HUP, None, Some(1))] {
        let (mut world, model) = with_model([anthropic::text("First.").reply(), Reply::stall()]);
        world.set_var("ZORI_TEST_DEAF", "turn");
        let mut person = open(&world, &[]);
        person.says("one").sees("First.").sees("waiting  NO").says("two");
        model.wait_for_requests(2);
        person.keys("kept").sees("kept");
        let (status, drawn) = person.signal(signal).ends();
        assert_eq!((status.code(), status.signal()), (code, by), "{drawn}");
        assert!(drawn.contains("\x1b[?1049l"), "the other screen is left");
        // The session was closed: what was being typed is kept, and nobody has its lock.
        let mut person = open(&world, &["-c"]);
        person.sees("What was being typed is back.").sees("kept").keys("\x15").keys(F10);
        assert!(person.ends().0.success());
    }
}

/// Ctrl-C twice on nothing leaves, 0; with another key between, or later than two seconds, it does not.
#[test]
fn control_c_twice_leaves() {
    let (world, _model) = with_model([anthropic::text("Unasked.")]);
    let mut person = open(&world, &["--no-save"]);
    person.keys("\x03").sees("Ctrl-C again leaves").types("x").keys("\x7f").pauses(50).keys("\x03");
    person.pauses(2200).sees_no_more("Ctrl-C again leaves").keys("\x03").sees("Ctrl-C again leaves");
    person.pauses(50).keys("\x03");
    assert_eq!(person.ends().0.code(), Some(0));
}
