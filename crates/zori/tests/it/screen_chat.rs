//! The chat on its screen: keys through a pseudo terminal, and what a terminal shows then.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::reply::Reply;
use zori_testkit::{anthropic, wait};

use crate::world::with_model;

const SIZE: Size = Size { rows: 24, cols: 100 };

pub fn start(world: &TestEnv, args: &[&str]) -> Pty {
    let mut pty = world.screen(args, SIZE);
    see(&mut pty, "›");
    pty
}

/// Everything from the oldest row of the scrollback to the last row of the screen, without what differs between machines.
pub fn rows(pty: &Pty) -> Vec<String> {
    let mut terminal = vt100::Parser::new(SIZE.rows, SIZE.cols, 1000);
    terminal.process(pty.drawn().as_bytes());
    terminal.screen_mut().set_scrollback(usize::MAX);
    let most = terminal.screen().scrollback();
    let mut rows = Vec::new();
    for back in (1..=most).rev() {
        terminal.screen_mut().set_scrollback(back);
        rows.extend(terminal.screen().rows(0, SIZE.cols).next());
    }
    terminal.screen_mut().set_scrollback(0);
    rows.extend(terminal.screen().rows(0, SIZE.cols));
    rows.iter_mut().for_each(|row| row.truncate(row.trim_end().len()));
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

/// Waits until a row of the screen has this text.
#[track_caller]
pub fn see(pty: &mut Pty, text: &str) {
    let seen = wait::poll(wait::BOUND, || rows(pty).iter().any(|row| row.contains(text)).then_some(()));
    assert!(seen.is_some(), "`{text}` is not on the screen:\n{}", rows(pty).join("\n"));
}

/// Types text and waits for its echo; then Enter.
#[track_caller]
pub fn say(pty: &mut Pty, text: &str) {
    pty.send(text);
    see(pty, &format!("› {text}"));
    // Keys that come right after one another are a paste.
    let typed = Instant::now();
    wait::until("a pause behind the last key", || typed.elapsed() > Duration::from_millis(20));
    pty.send("\r");
}

/// Waits until the keys of a question count (SAF-1): it stands, and no key came for a while.
#[track_caller]
pub fn answer(pty: &mut Pty, key: &str) {
    see(pty, "y once");
    let shown = Instant::now();
    wait::until("the question to have been read", || shown.elapsed() > Duration::from_millis(1500));
    pty.send(key);
}

#[test]
fn a_conversation_with_a_tool() {
    let (world, model) = with_model([
        anthropic::text("I look.").tool_use("t1", "bash", json!({"command": "echo hi"})),
        anthropic::text("It says **hi**."),
    ]);
    let mut pty = start(&world, &[]);
    say(&mut pty, "look");
    see(&mut pty, "It says hi.");
    let shown = rows(&pty);
    let at = shown.iter().position(|row| row == "› look").expect("the prompt is in the transcript");
    let said: Vec<&str> = shown[at..]
        .iter()
        .map(|row| row.split("  ").next().unwrap_or_default().trim_end())
        .filter(|row| !row.is_empty())
        .collect();
    assert_eq!(said[..4], ["› look", "I look.", "● $ echo hi", "It says hi."], "{}", shown.join("\n"));
    assert!(!pty.echoes(), "raw while it runs");
    wait::until("the turn to be over", || !rows(&pty).iter().any(|row| row.contains("Esc stops")));
    pty.send("\x04");
    let (status, drawn) = pty.finish();
    assert!(status.success(), "{status}");
    for forbidden in ["\x1b[3J", "\x1b[2J", "\x1bM", "\x1b[?1049h"] {
        assert!(!drawn.contains(forbidden), "{forbidden:?} (UI-30)");
    }
    for switched in ["2004", "1004", "2031"] {
        let (on, off) = (format!("\x1b[?{switched}h"), format!("\x1b[?{switched}l"));
        assert_eq!(drawn.matches(&on).count(), drawn.matches(&off).count(), "{switched} (TTY-3)");
    }
    assert_eq!(model.count(), 2);
}

/// TRN-5: what went wrong is said, with the ways out, and the prompt is back in the composer.
#[test]
fn a_turn_that_fails_says_why() {
    let (world, _model) =
        with_model([anthropic::http_error(400, "invalid_request_error", "the model is not for you")]);
    let mut pty = start(&world, &["--no-save"]);
    say(&mut pty, "look");
    see(&mut pty, "/model takes another");
    let shown = rows(&pty);
    let at = shown.iter().position(|row| row == "› look").expect("the prompt is in the transcript");
    let said: Vec<&str> = shown[at..].iter().map(String::as_str).filter(|row| !row.is_empty()).collect();
    assert_eq!(
        said[..4],
        [
            "› look",
            "✗ HTTP 400: the model is not for you",
            "  Enter sends again · /model takes another · details: /show 1",
            "› look",
        ],
        "{}",
        shown.join("\n")
    );
}

#[test]
fn messages_are_queued_while_a_turn_runs() {
    let gate = Gate::new();
    let (world, model) = with_model([
        Reply::from(anthropic::text("First.")).wait_after(0, &gate),
        anthropic::text("Second.").into(),
    ]);
    let mut pty = start(&world, &["--no-save"]);
    say(&mut pty, "one");
    see(&mut pty, "Waiting for");
    say(&mut pty, "two");
    see(&mut pty, "⏎ queued: two · ↑ edits");
    gate.open();
    see(&mut pty, "Second.");
    insta::assert_snapshot!(model.request(1).conversation(), @r"
    user: one
    assistant: First.
    user: two
    ");
}

#[test]
fn escape_stops_a_turn_and_gives_the_prompt_back() {
    let (world, _model) = with_model([Reply::stall()]);
    let mut pty = start(&world, &["--no-save"]);
    say(&mut pty, "long work");
    see(&mut pty, "Esc stops");
    pty.send("\x1b");
    see(&mut pty, "■ Stopped after");
    see(&mut pty, "› long work");
}

#[test]
fn a_question_waits_for_a_key_that_means_it() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "touch made"})),
        anthropic::text("Made."),
    ]);
    let mut pty = start(&world, &["--no-save", "--permission-mode", "default", "--sandbox", "off"]);
    say(&mut pty, "make it");
    // At once: a key for the draft, not for the question.
    see(&mut pty, "bash wants to run");
    pty.send("y");
    see(&mut pty, "› y");
    assert_eq!(model.count(), 1);
    pty.send("\x7f");
    answer(&mut pty, "y");
    see(&mut pty, "Made.");
    assert!(world.work().join("made").exists());
}

#[test]
fn a_signal_puts_the_terminal_back() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let pty = start(&world, &["--no-save"]);
    kill_process(Pid::from_raw(pty.pid() as i32).unwrap(), Signal::TERM).unwrap();
    wait::until("the terminal to echo again", || pty.echoes());
    let (status, drawn) = pty.finish();
    assert_eq!(status.code(), Some(143));
    assert!(drawn.ends_with("\x1b[?2004l\x1b[?25h\x1b[0m") || drawn.contains("\x1b[?2004l"), "{drawn:?}");
}

/// CMP-10: what was typed is there after the program was killed.
#[test]
fn a_draft_survives_a_kill() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    let mut pty = start(&world, &[]);
    say(&mut pty, "hi");
    see(&mut pty, "Hello.");
    pty.send("half a thou");
    see(&mut pty, "› half a thou");
    let drafts = world.base().join("drafts");
    wait::until("the draft to be kept", || {
        std::fs::read_dir(&drafts).is_ok_and(|mut files| {
            files.any(|file| {
                file.is_ok_and(|file| {
                    std::fs::read_to_string(file.path()).is_ok_and(|text| text.contains("half a thou"))
                })
            })
        })
    });
    kill_process(Pid::from_raw(pty.pid() as i32).unwrap(), Signal::KILL).unwrap();
    drop(pty);
    let mut pty = start(&world, &["sessions", "resume"]);
    see(&mut pty, "› half a thou");
}

#[test]
fn a_paste_is_one_piece_and_is_sent_whole() {
    let (world, model) = with_model([anthropic::text("Read.")]);
    let mut pty = start(&world, &["--no-save"]);
    let text: String = (0..200).map(|i| format!("line {i}\n")).collect();
    pty.send(&format!("\x1b[200~{text}\x1b[201~"));
    see(&mut pty, "[200 lines pasted]");
    let typed = Instant::now();
    wait::until("a pause behind the paste", || typed.elapsed() > Duration::from_millis(20));
    pty.send("\r");
    see(&mut pty, "Read.");
    assert!(model.request(0).json().to_string().contains("line 0\\nline 1\\n"));
}

/// TTY-1: answers of the terminal, cut and late, never reach the composer.
#[test]
fn answers_of_the_terminal_are_no_text() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let mut pty = start(&world, &["--no-save"]);
    for piece in ["\x1b]11;rgb:1e1e/", "1e1e/1e1e\x1b\\", "\x1bP>|XTerm(3", "90)\x1b\\\x1b[?6", "2;4c", "ok"]
    {
        pty.send(piece);
        let sent = Instant::now();
        wait::until("a pause between pieces", || sent.elapsed() > Duration::from_millis(30));
    }
    see(&mut pty, "› ok");
}
