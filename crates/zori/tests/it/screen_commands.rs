//! Commands of the chat on its screen: the list of sessions and its keys, going back, what runs while a turn does, reports, the footer, own themes.

use std::fs;

use rustix::process::Signal;
use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::{anthropic, wait};

use crate::screen_stage::Person;
use crate::world::with_model;

/// Talks once in a chat of its own, and leaves.
fn talked(world: &TestEnv, prompt: &str, answer: &str) {
    let mut person = Person::open(world, &[]);
    person.says(prompt).sees(answer).leaves();
}

/// The rows of the open list, without what stands at their right.
fn listed(person: &Person) -> Vec<String> {
    let rows = person.rows();
    let at = rows.iter().rposition(|row| row.starts_with("› /resume")).expect("the list has a head");
    let parts = |row: &String| {
        row.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" | ")
    };
    rows[at + 1..].iter().map(parts).collect()
}

/// RSM-2: age, title, messages, cost, branch and the last prompt; Ctrl-A lists all folders, Ctrl-P shows one, Ctrl-D puts one into the trash.
#[test]
fn the_list_of_sessions_has_keys() {
    let (world, _model) = with_model([
        anthropic::text("First answer."),
        anthropic::text("Second answer."),
        anthropic::text("Elsewhere."),
    ]);
    world.write(".git/HEAD", "ref: refs/heads/main\n");
    talked(&world, "fix the parser", "First answer.");
    talked(&world, "speed it up", "Second answer.");
    fs::create_dir_all(world.work().join("sub/.git")).unwrap();
    let sub = world.work().join("sub").display().to_string();
    let mut person = Person::open(&world, &["--root", &sub]);
    person.says("in the other folder").sees("Elsewhere.").leaves();

    let size = Size { rows: 24, cols: 140 };
    let mut person = Person::before(world.screen(&[], size), size);
    person.keys("/resume ").sees("this folder 2 of 2 · Ctrl-A all 3 · Ctrl-P shows · Ctrl-D trash");
    assert_eq!(
        listed(&person),
        [
            "now | speed it up | 2 messages | $0.00 | main | \"speed it up\"",
            "now | fix the parser | 2 messages | $0.00 | main | \"fix the parser\"",
        ]
    );
    person.keys("\x01").sees("all folders 3 of 3 · Ctrl-A this one");
    assert!(listed(&person)[0].contains("in the other folder"), "{:?}", listed(&person));
    person.keys("parser").sees("all folders 1 of 3");
    person.keys("\x10").sees("First answer.").sees("q back").keys("q").sees_no_more("q back");
    person.sees("› /resume parser").keys("\x04").sees("In the trash: ");
    person.pauses(2200).sees("all folders 0 of 2").keys("\x15");
    person.pauses(50).leaves();
    let trash: Vec<_> = fs::read_dir(world.base().join("sessions/trash")).unwrap().collect();
    assert_eq!(trash.len(), 1, "the session can be had again");
}

/// A session that another chat has open is gone on with in a copy.
#[test]
fn a_session_that_is_open_elsewhere_is_copied() {
    let (world, model) = with_model([anthropic::text("First answer."), anthropic::text("Copied.")]);
    let mut first = Person::open(&world, &[]);
    first.says("the first").sees("First answer.");
    let mut second = Person::open(&world, &[]);
    second
        .keys("/resume first")
        .sees("Enter forks")
        .pauses(50)
        .keys("\r")
        .sees("is open elsewhere; this is a copy");
    second.says("go on").sees("Copied.");
    insta::assert_snapshot!(model.request(1).conversation(), @r"
    user: the first
    assistant: First answer.
    user: go on
    ");
    second.leaves();
    first.leaves();
}

/// TRN-8, SAF-1: what goes back is listed, asked on the screen, and answered by a key that was meant for it; the prompt is back then.
#[test]
fn undo_asks_on_the_screen() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "write", json!({"path": "new.txt", "content": "x\n"})),
        anthropic::text("Written."),
    ]);
    let mut person = Person::open(&world, &[]);
    person.says("write it").sees("Written.").says("/undo").sees("Go ahead? [y/N]");
    let rows = person.rows();
    let at = rows.iter().rposition(|row| row.contains("Go ahead?")).unwrap();
    assert_eq!(
        rows[at - 2..=at],
        [
            "  Would put back 1 file to before turn 1: new.txt (removed)",
            "  The conversation would go back to before turn 1.",
            "? Go ahead? [y/N]",
        ]
    );
    person.pauses(1300).keys("n").sees("Nothing was changed.");
    assert!(world.work().join("new.txt").exists());
    person.says("/undo").sees("Go ahead? [y/N]").pauses(1300).keys("y").sees("Put back 1 file");
    wait::until("the file to go", || !world.work().join("new.txt").exists());
    person.sees("› write it").keys("\x15").pauses(50).leaves();
}

/// Where no file changed nothing is asked, and the prompt is back all the same.
#[test]
fn undo_of_words_gives_the_prompt_back() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    let mut person = Person::open(&world, &[]);
    person
        .says("say hello")
        .sees("Hello.")
        .sees_no_more("· Esc")
        .says("/undo")
        .sees("Its prompt was: say hello");
    person.sees("› say hello").keys("\x15").pauses(50).leaves();
}

/// CMD-1: what need not wait is done while the turn runs; the others are queued.
#[test]
fn commands_while_a_turn_runs() {
    let gate = Gate::new();
    let (world, _model) = with_model([Reply::from(anthropic::text("Late.")).wait_after(0, &gate)]);
    fs::create_dir_all(world.base()).unwrap();
    fs::write(world.base().join("config.toml"), "max_tokens = 1234\n").unwrap();
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("go").sees("Waiting for");
    person.says("/cost").sees("(as it was when the turn began)");
    person.says("/mode default").sees("DEFAULT");
    person.says("/effort high").sees("Effort: high, from the next request on");
    person.says("/model claude-haiku-4-5").sees("from the next request on");
    person.says("/config").sees("1234");
    person.says("/fork").sees("⏎ queued: /fork");
    gate.open();
    person.sees("Late.").sees("there is no saved conversation to copy yet");
    // What was chosen in a turn holds in the next session, too.
    person.says("/new").sees_no_more("› /new").pauses(300);
    assert!(person.rows().last().is_some_and(|row| row.contains("DEFAULT")), "{}", person.screen());
    person.leaves();
}

/// The same in a session that is saved: a copy of it, a summary beside the turn, jobs and provider.
#[test]
fn more_commands_while_a_turn_runs() {
    let gate = Gate::new();
    let summary = r#"{"decisions":["Use tabs."],"facts":[],"open_questions":[]}"#;
    let (world, _model) = with_model([
        anthropic::text("One.").into(),
        Reply::from(anthropic::text("Late.")).wait_after(0, &gate),
        anthropic::text(summary).into(),
    ]);
    let mut person = Person::open(&world, &[]);
    person.says("first").sees("One.").pauses(300).says("go").sees("Waiting for");
    person.says("/jobs").sees("No jobs were started.");
    person.says("/provider").sees("Provider: anthropic");
    person.says("/fork").sees("Copied what was said so far");
    person.says("/recap").sees("Use tabs.");
    gate.open();
    person.sees("Late.");
    assert_eq!(world.session_files().len(), 2);
    person.leaves();
}

/// TRN-6: what cannot be undone is not offered; whoever types it is told why.
#[test]
fn nothing_to_go_back_to() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "write", json!({"path": "new.txt", "content": "x\n"})),
        anthropic::text("Written."),
    ]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("write it").sees("Written.").sees("· 1 file +1");
    let rows = person.rows();
    let over = rows.iter().find(|row| row.contains("· 1 file +1")).unwrap();
    assert_eq!(over.split_once('·').unwrap().1, " 1 file +1 -0");
    person.types("/und").sees("› /und");
    assert!(!person.screen().contains("/undo"), "{}", person.screen());
    person.keys("o").pauses(20).keys("\r").sees("checkpoints are off: the session is not saved");
    person.leaves();
}

/// What is attached from outside is listed at once, what helps to understand a turn that does not end is written at once, and a command that
/// does not exist is said so at once.
#[test]
fn lists_while_a_turn_runs() {
    let gate = Gate::new();
    let (world, _model) = with_model([Reply::from(anthropic::text("Late.")).wait_after(0, &gate)]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("go").sees("Waiting for");
    person.says("/mcp").sees("There are no MCP servers; `zori mcp add NAME -- COMMAND` adds one.");
    person.says("/agents").sees("No sub-agent was described; the general one can be started.");
    person.says("/hooks").sees("There are no hooks.");
    person.says("/skills").sees("· Skills:");
    person.says("/effort").sees("Effort: as the provider has it");
    person.says("/HELPP").sees("Unknown command /HELPP; did you mean /help?");
    person.says("/login nobody").sees("nobody");
    person.says("/feedback").sees("Nothing was sent; look through it before you pass it on.");
    assert!(!person.screen().contains("queued"), "{}", person.screen());
    gate.open();
    person.sees("Late.").leaves();
}

/// CMD-2: what helps to understand a problem has the recording, too, where one is written.
#[test]
fn feedback_with_a_recording() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    let mut person = Person::open(&world, &["--record", "talk.rec"]);
    person.says("greet me").sees("Hello.").says("/feedback").sees("recording.jsonl").leaves();
    let folder = fs::read_dir(world.base().join("feedback")).unwrap().next().expect("there is one").unwrap();
    let text = fs::read_to_string(folder.path().join("recording.jsonl")).unwrap();
    assert!(text.contains("greet me"), "{text}");
    assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{text}");
}

/// By each of its names.
#[test]
fn leaving_while_a_turn_runs() {
    for name in ["/exit", "/quit", ":q"] {
        let gate = Gate::new();
        let (world, _model) = with_model([Reply::from(anthropic::text("Late.")).wait_after(0, &gate)]);
        let mut person = Person::open(&world, &["--no-save"]);
        person.says("go").sees("Waiting for").says(name);
        let (status, _) = person.ends();
        assert!(status.success(), "{name}: {status}");
    }
}

/// The program's own reports, beside the conversation.
#[test]
fn reports() {
    let (world, _model) = with_model([anthropic::text("**Bold** answer.")]);
    let mut person = Person::open(&world, &[]);
    person.says("/export").sees("there is no saved conversation yet");
    person.says("say it").sees("Bold answer.");
    person.says("/export talk.md").sees("Written to");
    assert!(world.read("talk.md").contains("**Bold** answer."), "{}", world.read("talk.md"));
    person.says("/export talk.md").sees("talk.md exists already");
    person.says("/doctor").sees("sandbox");
    person.leaves();
}

/// STA-2: the parts and their order are the user's; the mode stays. What is wrong is said.
#[test]
fn the_footer_is_the_users() {
    let (world, _model) = with_model([anthropic::text("x")]);
    fs::create_dir_all(world.base()).unwrap();
    let config = "[ui]\nfooter = [\"branch\", \"cost\", \"time\"]\n";
    fs::write(world.base().join("config.toml"), config).unwrap();
    world.write(".git/HEAD", "ref: refs/heads/topic\n");
    let mut person = Person::open(&world, &["--no-save"]);
    person.sees("`ui.footer`: `time` is no part of the footer; there are model, mode,");
    assert_eq!(person.rows().last().map(String::as_str), Some("  YOLO · topic · $0.00"));
    person.leaves();
}

/// THM-1: a theme of the user's own is listed, taken and kept; `terminal` is one, too, at the next start.
#[test]
fn own_themes() {
    let (world, _model) = with_model([anthropic::text("x")]);
    fs::create_dir_all(world.base().join("themes")).unwrap();
    let colours = "primary = \"#112233\"\nsecondary = \"#112233\"\nwarning = \"#112233\"\nerror = \"#112233\"\nsuccess = \"#112233\"\n\
                   accent = \"#112233\"\nforeground = \"#112233\"\nbackground = \"#ffffff\"\nsurface = \"#eeeeee\"\npanel = \"#dddddd\"\nboost = \"#ffffff\"\n";
    fs::write(world.base().join("themes/mine.toml"), colours).unwrap();
    fs::write(world.base().join("themes/half.toml"), "primary = \"no colour\"\n").unwrap();
    let mut person = Person::open(&world, &["--no-save"]);
    person
        .keys("/theme ")
        .sees("your own")
        .sees("of 15")
        .keys("mine")
        .pauses(100)
        .keys("\r")
        .sees("Theme mine, kept in");
    person.says("/theme half").sees("! theme `half`: `primary` is `no colour`;");
    person.says("/theme terminal").sees("Theme terminal, kept in");
    person.leaves();
    let mut person = Person::open(&world, &["--no-save"]);
    assert!(!person.screen().contains("theme"), "{}", person.screen());
    person.leaves();
}

/// `/model`, `/resume` and `/rewind` alone open their lists; `/rewind` asks then what goes back.
#[test]
fn lists_by_the_command_alone() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "write", json!({"path": "new.txt", "content": "x\n"})),
        anthropic::text("Written."),
        anthropic::text("Other."),
    ]);
    let mut person = Person::open(&world, &[]);
    person.says("/resume").sees("No sessions found to resume");
    person.says("write it").sees("Written.").sees_no_more("· Esc");
    person
        .says("/model")
        .sees("now claude-sonnet-5-5 · 15 tokens cached")
        .types("haiku-4-5")
        .pauses(50)
        .keys("\r");
    person.sees("Model: claude-haiku-4-5");
    person.says("/rewind").sees("  1             1 file +1 -0   write it").keys("\r").sees("the files alone");
    person.keys("f").sees_no_more("the conversation alone").pauses(50).keys("\r").sees("Go ahead? [y/N]");
    person.pauses(1300).keys("y").sees("Put back 1 file");
    wait::until("the file to go", || !world.work().join("new.txt").exists());
    person.says("go on").sees("Other.");
    assert_eq!(model.request(2).json()["model"], "claude-haiku-4-5");
    assert!(model.request(2).conversation().starts_with("user: write it\n"), "the conversation stayed");
    person.leaves();
}

/// STA-3: a session that goes on has its title, the one it was given before the one of its first prompt.
#[test]
fn a_session_that_goes_on_has_its_title() {
    let (world, _model) = with_model([anthropic::text("First."), anthropic::text("Second.")]);
    talked(&world, "fix the parser", "First.");
    let drawn = Person::open(&world, &["-c"]).leaves();
    assert!(drawn.contains("\x1b]2;fix the parser – zori\x1b\\"), "{drawn:?}");
    let mut person = Person::open(&world, &["-c"]);
    person.says("/rename my parser").sees("Title: my parser").leaves();
    let mut person = Person::open(&world, &[]);
    person.says("/resume").sees("my parser").pauses(50).keys("\r").sees("Loaded 2 previous messages");
    let drawn = person.leaves();
    assert!(drawn.contains("\x1b]2;my parser – zori\x1b\\"), "{drawn:?}");
}

/// CMP-10: a command that leads to another session is no draft of the one that was left, and `/resume` brings back what was being typed there.
#[test]
fn a_draft_belongs_to_its_session() {
    let (world, _model) = with_model([anthropic::text("First."), anthropic::text("Second.")]);
    let mut person = Person::open(&world, &[]);
    person
        .says("one")
        .sees("First.")
        .sees_no_more("· Esc")
        .types("/new")
        .pauses(500)
        .keys("\r")
        .sees("Session: ");
    person.leaves();
    assert_eq!(fs::read_dir(world.base().join("drafts")).unwrap().count(), 0);
    let mut person = Person::open(&world, &["-c"]);
    person.sees("First.").types("half of it").pauses(500).signal(Signal::TERM);
    person.ends();
    let mut person = Person::open(&world, &[]);
    person.says("/resume").sees("2 messages").pauses(50).keys("\r");
    person.sees("What was being typed is back.").sees("› half of it").keys("\x15").pauses(500).leaves();
    assert_eq!(fs::read_dir(world.base().join("drafts")).unwrap().count(), 0);
}

/// A turn that changed nothing is said to be one: others of the session may have changed something.
#[test]
fn a_diff_of_nothing() {
    let (world, _model) = with_model([anthropic::text("Hi.")]);
    let mut person = Person::open(&world, &[]);
    person.says("hello").sees("Hi.").sees_no_more("· Esc");
    person.says("/diff").sees("The last turn changed no file; `/diff session` shows");
    person.says("/diff 1").sees("Turn 1 changed no file.");
    person.says("/diff session").sees("No file was changed in this session.").leaves();
}

/// CMD-1: what only looks, or changes nothing of the turn, is answered while it runs; of the rest it is said that it waits.
#[test]
fn commands_beside_a_turn() {
    let gate = Gate::new();
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "write", json!({"path": "new.txt", "content": "x\n"})).reply(),
        anthropic::text("Written.").reply(),
        anthropic::text("Late.").reply().wait_after(0, &gate),
    ]);
    let mut person = Person::open(&world, &[]);
    person.says("write it").sees("Written.").sees_no_more("· Esc").says("more").sees("· Esc");
    person.says("/diff 1").sees("+x");
    person.says("/diff x").sees("`/diff x`: a turn is a number; `/diff session` shows all");
    person.says("/project").sees("Project: default");
    person.says("/agent").sees("an agent profile is for an Agent Zero server; this provider is `anthropic`");
    person.says("/observer").sees("the observer is for an Agent Zero server");
    person.says("/debug-dump").sees("Debug dumps go to");
    person.says("/debug-dump off").sees("No debug dumps are written.");
    person.says("/undo").sees("/undo waits for the end of the turn").sees("⏎ queued: /undo");
    gate.open();
    person
        .sees("Late.")
        .sees("The conversation went back to before turn 2.")
        .sees("› more")
        .keys("\x15")
        .leaves();
}
