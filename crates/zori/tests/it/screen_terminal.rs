//! The chat and terminals that misbehave (chapters 11 and 12 of the contract, test rows 6 to 10).

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use zori_testkit::gate::Gate;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::reply::Reply;
use zori_testkit::{anthropic, needs, process, wait};

use crate::screen_stage::{Person, SIZE};
use crate::world::{in_shell, with_model};

fn paragraphs(count: usize) -> String {
    (0..count).map(|i| format!("UNIQ-{i:03} lorem ipsum dolor\n\n")).collect()
}

#[track_caller]
fn each_row_once(rows: &[String], count: usize) {
    for i in 0..count {
        let wanted = format!("UNIQ-{i:03} lorem ipsum dolor");
        let found = rows.iter().filter(|row| row.trim_end() == wanted).count();
        assert_eq!(found, 1, "{wanted} in\n{}", rows.join("\n"));
    }
}

/// UI-36: what is typed before there is a screen is in the composer.
#[test]
fn keys_before_the_first_frame_are_kept() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let mut pty = world.screen(&["--no-save"], SIZE);
    pty.send("early bird");
    Person::before(pty, SIZE).sees("› early bird");
}

/// TTY-1: answers that come late, doubled, cut, cut for good: none of them is text, and what is typed is.
#[test]
fn answers_late_cut_and_doubled_are_no_text() {
    let (world, model) = with_model([anthropic::text("Fine.")]);
    let mut person = Person::open(&world, &["--no-save"]);
    for piece in [
        "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
        "\x1b",
        "[?62;4",
        "c",
        "\x1bP>|XTerm(390)\x1b\\\x1b[?2026;2$y\x1b[?2004;2$y\x1b[?1u\x1b[?62;4c\x1b[?62;4c",
        "\x1b[I\x1b[O\x1b[I",
        "\x1b]11;rgb:1e1e/",
    ] {
        person.keys(piece).pauses(60);
    }
    person.keys("no colour").sees("› no colour").pauses(40).keys("\r");
    person.sees("Fine.");
    assert_eq!(model.request(0).conversation(), "user: no colour\n");
    person.leaves();
}

/// TTY-1: at the end answers that are still due are waited for, and no longer than that.
#[test]
fn answers_that_never_come_do_not_keep_the_end() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.keys("\x04");
    let asked = Instant::now();
    person.ends();
    assert!(asked.elapsed() < Duration::from_secs(5));
}

/// TTY-4: a terminal that takes nothing does not stop the engine, and shows everything once it takes again.
#[test]
fn a_terminal_that_takes_no_bytes() {
    let (world, model) = with_model([
        Reply::from(anthropic::text(&paragraphs(400)).tool_use(
            "t1",
            "bash",
            json!({"command": "touch made"}),
        )),
        anthropic::text("All done.").into(),
    ]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.types("go").pauses(20);
    let held = person.pty.hold();
    person.keys("\r");
    model.wait_for_requests(2);
    assert!(world.work().join("made").exists());
    drop(held);
    person.sees("All done.");
    each_row_once(&person.rows(), 400);
    person.leaves();
}

/// TTY-4: the terminal goes away in the middle of a turn: the turn is cancelled, the draft is kept, the program ends.
#[test]
fn a_hang_up_ends_it_and_keeps_the_draft() {
    let (world, _model) = with_model([Reply::from(anthropic::text("First.")), Reply::stall()]);
    let script = "set -m; \"$0\" \"$@\" & echo $! > pid; fg";
    let mut person =
        Person::before(Pty::start(with_screen(in_shell(&world, script, &[])), SIZE, world.rewrite()), SIZE);
    person.says("one").sees("First.").says("two").sees("Waiting for").types("half a thought");
    let pid: i32 = world.read("pid").trim().parse().expect("the shell wrote a number");
    // The leader of the session goes, and the terminal with it.
    person.signal(Signal::KILL);
    let chat = rustix::process::Pid::from_raw(pid).expect("it is a process");
    wait::until("the chat to end", || {
        rustix::process::test_kill_process(chat).is_err() || process::is_zombie(pid)
    });
    let drafts = world.base().join("drafts");
    let kept: Vec<String> = std::fs::read_dir(drafts)
        .expect("there are drafts")
        .map(|file| std::fs::read_to_string(file.expect("it is there").path()).expect("it can be read"))
        .collect();
    assert_eq!(kept, [r#"{"draft":"half a thought","queue":[]}"#]);
}

/// Puts the variables of a terminal into a command.
fn with_screen(mut command: std::process::Command) -> std::process::Command {
    command.env("TERM", "xterm-256color").env_remove("ACCESSIBLE");
    command
}

/// TTY-3: Ctrl-Z and `kill -TSTP` in every state: the shell has its terminal, and the chat is as it was afterwards.
#[test]
fn it_can_be_stopped_in_every_state() {
    let tool = || Reply::from(anthropic::tool_use("t1", "bash", json!({"command": "touch made"})));
    let states: [(&str, &str, &str, Reply); 6] = [
        ("idle", "", "›", tool()),
        ("a draft", "half", "› half", tool()),
        ("a list", "/mo", "/model", tool()),
        ("a search", "\x12", "search:", tool()),
        ("a turn", "go\r", "Waiting for", Reply::stall()),
        ("a question", "go\r", "y once", tool()),
    ];
    for (name, keys, seen, reply) in states {
        let (world, _model) = with_model([reply]);
        let script = "trap : INT; set -m; \"$0\" \"$@\"; echo stopped; stty -a | tr ';' '\\n' | grep -E -o -e '-?(icanon|echo) ' | tr -d '\\n'; \
                      echo .; read go; fg >/dev/null; echo over";
        let args = ["--no-save", "--permission-mode", "default", "--sandbox", "off"];
        let pty = Pty::start(with_screen(in_shell(&world, script, &args)), SIZE, world.rewrite());
        let mut person = Person::before(pty, SIZE);
        for key in keys.chars() {
            person.keys(&key.to_string()).pauses(20);
        }
        person.sees(seen).keys("\x1a").sees("stopped").sees("icanon echo .");
        let before = person.pty.drawn().len();
        person.keys("\r");
        wait::until("the screen to be back", || person.pty.drawn()[before..].contains("\x1b[?2004h"));
        person.sees(seen);
        assert!(!person.pty.echoes(), "{name}: raw again");
        // One key more than it takes is echoed by the terminal.
        let over = |person: &Person| person.rows().iter().any(|row| row.trim_start_matches("^C") == "over");
        for _ in 0..8 {
            if !over(&person) {
                person.keys("\x03").pauses(120);
            }
        }
        let ended = wait::poll(Duration::from_secs(8), || over(&person).then_some(()));
        assert!(ended.is_some(), "{name} did not end:\n{}", person.rows().join("\n"));
        let (_, drawn) = person.ends();
        assert!(drawn.ends_with("over\r\n"), "{name}: {drawn:?}");
    }
}

/// A stop that nobody announced: everything is set up again when the program goes on.
#[test]
fn it_goes_on_after_a_stop_without_warning() {
    let (world, _model) = with_model([anthropic::text("Still here.")]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.types("half").signal(Signal::STOP);
    let before = person.pty.drawn().len();
    person.signal(Signal::CONT);
    wait::until("the modes to be set again", || person.pty.drawn()[before..].contains("\x1b[?2004h"));
    person.pauses(20).keys("\r").sees("Still here.").leaves();
}

/// TTY-3: an editor that leaves the terminal odd; the chat has it as before, and so has the shell after it.
#[test]
fn an_editor_may_leave_the_terminal_odd() {
    let (mut world, model) = with_model([anthropic::text("Read.")]);
    let editor = world.write(
        "editor.sh",
        "#!/bin/sh\nstty raw -echo -isig 2>/dev/null\nprintf '\\033[?25l\\033[?1000h\\033[?7l\\033(0\\033[31m'\nprintf 'from the editor' > \"$1\"\n",
    );
    world.set_var("EDITOR", format!("sh {}", editor.display()));
    let mut person = Person::open(&world, &["--no-save"]);
    person.types("draft").keys("\x07").sees("› from the editor");
    assert!(!person.pty.echoes());
    person.pauses(20).keys("\r").sees("Read.");
    assert_eq!(model.request(0).conversation(), "user: from the editor\n");
    let drawn = person.leaves();
    for (odd, right) in [
        ("\x1b[?25l", "\x1b[?25h"),
        ("\x1b[?1000h", "\x1b[?1000l"),
        ("\x1b[?7l", "\x1b[?7h"),
        ("\x1b(0", "\x1b(B"),
    ] {
        assert!(drawn.rfind(odd) < drawn.rfind(right), "{odd:?} is still on");
    }
}

/// The turn goes on while an editor has the terminal: what it does is done, and drawn when the terminal is back.
#[test]
fn a_turn_goes_on_behind_an_editor() {
    let gate = Gate::new();
    let call = anthropic::tool_use("t1", "bash", json!({"command": "touch made"}));
    let (mut world, _model) =
        with_model([Reply::from(call).wait_after(0, &gate), Reply::from(anthropic::text("Made."))]);
    let editor = world.write(
        "editor.sh",
        "#!/bin/sh\ntouch opened\nwhile [ ! -e made ]; do sleep 0.02; done\nprintf edited > \"$1\"\n",
    );
    world.set_var("EDITOR", format!("sh {}", editor.display()));
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("go").sees("Waiting for").keys("\x07");
    wait::until("the editor to open", || world.work().join("opened").exists());
    gate.open();
    person.sees("› edited").sees("Made.").keys("\x15").pauses(20).leaves();
}

/// TTY-3: a defect in what draws: the terminal is as before, and the defect is told where it can be read.
#[test]
fn a_panic_while_drawing_leaves_the_terminal_as_it_was() {
    let (mut world, _model) = with_model([anthropic::text("x")]);
    world.set_var("ZORI_TEST_PANIC", "view");
    let mut pty = world.screen(&["--no-save"], SIZE);
    pty.wait_for("a test wants this panic");
    wait::until("the terminal to echo again", || pty.echoes());
    let (status, drawn) = pty.finish();
    assert!(!status.success());
    crate::screen_stage::check_bytes(&drawn);
    assert!(drawn.rfind("\x1b[?2004l") < drawn.rfind("a test wants this panic"), "{drawn:?}");
}

/// UI-32: a storm of sizes, down to one column and back, while an answer streams: each row is there once.
#[test]
fn a_storm_of_sizes_loses_nothing() {
    let gate = Gate::new();
    let text = paragraphs(60);
    let (world, _model) =
        with_model([Reply::from(anthropic::text(&text)).chunks_of(64).wait_after(6, &gate)]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("go").sees("Waiting for");
    for i in 0..60_u16 {
        person.pty.resize(Size { rows: 24 + i % 3, cols: [100, 1, 60, 9, 120][usize::from(i % 5)] });
        if i == 30 {
            gate.open();
        }
    }
    person.pty.resize(Size { rows: 26, cols: 100 });
    let mut person = Person::before(person.pty, Size { rows: 26, cols: 100 });
    person.sees("UNIQ-059");
    each_row_once(&person.rows(), 60);
    person.leaves();
}

/// BEY-10: nothing wakes the program while nothing happens, and nothing is drawn.
#[test]
fn idling_costs_nothing() {
    if !needs::part_of_the_system("/proc", std::path::Path::new("/proc/self/task").exists()) {
        return;
    }
    let (world, _model) = with_model([anthropic::text("Done.")]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("go").sees("Done.").sees_no_more("Esc stops").pauses(700);
    let before = (switches(person.pty.pid()), person.pty.drawn().len());
    person.pauses(1500);
    assert_eq!((switches(person.pty.pid()), person.pty.drawn().len()), before);
}

/// How often the threads of a process have waited for something.
fn switches(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("the process is there");
    let of = |thread: std::path::PathBuf| {
        let status = std::fs::read_to_string(thread.join("status")).expect("the thread is there");
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.expect("the kernel counts").trim().parse::<u64>().expect("it is a number")
    };
    threads.map(|thread| of(thread.expect("it can be read").path())).sum()
}

/// SAF-6: whatever a model, a command or a file says, a terminal obeys none of it.
#[test]
fn foreign_text_is_no_sequence() {
    let hostile = "\x1b]52;c;aGFjaw==\x07\x1b]0;owned\x07\x1b[2J\x1b[3J\x1b[?1049h\x1bc\u{9b}2J\u{202e}evil";
    let (world, _model) = with_model([
        anthropic::text(&format!("{hostile}\n\n")).tool_use(
            "t1",
            "bash",
            json!({"command": "printf '\\033]52;c;aGFjaw==\\007\\033[3J\\033]2;owned\\007\\033(0\\n'"}),
        ),
        anthropic::text(&format!("# {hostile}\n\n```\n{hostile}\n```\n\nEnd of it.")),
    ]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("go").sees("End of it.");
    person.keys("\x0f").pauses(100).keys("q").pauses(100);
    let drawn = person.leaves();
    for sequence in ["\x1b]52", "\x1b]0;", "\x1b]2;owned", "\x1bc", "\x1b[3J", "\x1b(0", "\u{9b}", "\u{202e}"]
    {
        assert!(!drawn.contains(sequence), "{sequence:?} reached the terminal");
    }
}

/// CMP-2: ten megabytes at once, bracketed: one piece, sent byte for byte.
#[test]
fn ten_megabytes_are_pasted_whole() {
    let (world, model) = with_model([anthropic::text("Read.")]);
    let mut person = Person::open(&world, &["--no-save"]);
    let text: String = (0..280_000).map(|i| format!("line {i:06} with some more text on it\n")).collect();
    assert!(text.len() > 10 << 20);
    person.keys("\x1b[200~").keys(&text).keys("\x1b[201~").sees("[280000 lines pasted]");
    person.pauses(30).keys("\r").sees("Read.");
    let sent = model.request(0).messages();
    let sent = sent[0]["content"].as_str().map_or_else(|| sent[0]["content"][0]["text"].as_str(), Some);
    assert!(sent == Some(text.as_str()), "not byte for byte");
}

/// CMP-2: lines that come with CR and LF, as one piece and key by key from a terminal that brackets nothing: the text that is sent is the text that
/// was pasted.
#[test]
fn two_hundred_lines_are_pasted_whole() {
    let lines: Vec<String> = (0..200).map(|i| format!("line {i}\twith {i}%")).collect();
    for (bracketed, end) in [(true, "\n"), (true, "\r\n"), (true, "\r"), (false, "\n"), (false, "\r")] {
        let (mut world, model) = with_model([anthropic::text("Read.")]);
        world.set_var("TERM", "vt220");
        let mut person = Person::open(&world, &["--no-save"]);
        let text = lines.join(end);
        match bracketed {
            true => person.keys(&format!("\x1b[200~{text}\x1b[201~")),
            false => person.keys(&text),
        };
        person.sees("[200 lines pasted]");
        person.pauses(100).keys("\r").sees("Read.");
        let sent = model.request(0).messages();
        let sent = sent[0]["content"].as_str().map_or_else(|| sent[0]["content"][0]["text"].as_str(), Some);
        // A terminal sends CR for the end of a line.
        let wanted = lines.join(if end == "\r" { "\n" } else { end });
        assert_eq!(sent, Some(wanted.as_str()), "bracketed: {bracketed}, {end:?}");
        person.leaves();
    }
}

/// A line of two kilobytes a second: the engine does not wait for it, frames are left out, and no row is.
#[test]
fn a_slow_line_loses_no_row() {
    let text = paragraphs(60);
    let (world, model) =
        with_model([Reply::from(anthropic::text(&text)).chunks_of(64), anthropic::text("Second.").into()]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.pty.slow_down(2000);
    person.says("go").sees("UNIQ-020");
    // A key is seen although more is due than the line takes.
    person.types("mehr").sees("UNIQ-059").sees_no_more("· Esc");
    each_row_once(&person.rows(), 60);
    let bytes = person.pty.drawn().len();
    assert!(bytes < 6 * text.len(), "{bytes} bytes for a text of {}", text.len());
    person.pty.slow_down(0);
    person.keys("\x15").pauses(50).says("again").sees("Second.").leaves();
    assert_eq!(model.count(), 2);
}

/// TTY-3, TTY-4: whoever leaves before a slow line has taken all of it still has every row, and a terminal as it was.
#[test]
fn a_slow_line_has_all_of_it_at_the_end() {
    const ROWS: usize = 1500;
    let row = |i: usize| format!("UNIQ-{i:04} {}", "lorem ipsum ".repeat(6).trim_end());
    let text: String = (0..ROWS).map(|i| format!("{}\n\n", row(i))).collect();
    let (world, _model) = with_model([Reply::from(anthropic::text(&text))]);
    let mut person = Person::open(&world, &[]);
    person.types("go").pauses(20);
    // More than the system keeps for it is due when the turn is over and the chat is left.
    person.pty.slow_down(40_000);
    person.keys("\r");
    let last = format!("UNIQ-{:04}", ROWS - 1);
    let kept =
        |file: &std::path::PathBuf| std::fs::read_to_string(file).is_ok_and(|text| text.contains(&last));
    wait::until("the answer to be kept", || world.session_files().iter().any(kept));
    person.keys("\x04\x04").ends();
    let rows = person.rows();
    let rows: Vec<&str> =
        rows.iter().map(|row| row.trim_end()).filter(|row| row.starts_with("UNIQ-")).collect();
    assert_eq!(rows, (0..ROWS).map(row).collect::<Vec<_>>());
}

/// MD-5: letters of other scripts and clusters: typed, sent byte for byte, and shown where a terminal shows them.
#[test]
fn other_scripts() {
    let said = "日本語の文 with 👩‍👩‍👧 and é, 한국어";
    let (world, model) =
        with_model([anthropic::text("مرحبا بالعالم\n\n| 名前 | 値 |\n|---|---|\n| 日本 | 🇩🇪 |\n")]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.keys(said).sees("한국어").pauses(50).keys("\r").sees("مرحبا بالعالم").sees("日本").leaves();
    assert_eq!(model.request(0).conversation(), format!("user: {said}\n"));
}

/// A window of one column and one row: nothing can be shown, nothing is lost, and all is there when it is larger.
#[test]
fn one_by_one() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    let tiny = Size { rows: 1, cols: 1 };
    let mut person = Person::at(world.screen(&["--no-save"], tiny), SIZE);
    person.pauses(300).keys("hi").pauses(100).keys("\r").pauses(300);
    person.pty.resize(SIZE);
    person.sees("› hi").sees("Hello.").leaves();
}

/// CMP-10: killed with messages in the queue, a paste in the draft, and an editor open: what was typed is there.
#[test]
fn what_was_typed_survives_a_kill() {
    let (mut world, _model) = with_model([Reply::from(anthropic::text("First.")), Reply::stall()]);
    let editor = world.write("editor.sh", "#!/bin/sh\ntouch opened\nsleep 30\n");
    world.set_var("EDITOR", format!("sh {}", editor.display()));
    let paste: String = (0..20).map(|i| format!("line {i}\n")).collect();
    let mut person = Person::open(&world, &[]);
    person.says("one").sees("First.").says("two").sees("Waiting for").says("three").sees("queued: three");
    person.types("see ").keys(&format!("\x1b[200~{paste}\x1b[201~")).sees("[20 lines pasted]");
    let kept = || -> Vec<String> {
        let files = std::fs::read_dir(world.base().join("drafts")).into_iter().flatten();
        files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok()).collect()
    };
    let wanted = json!({"draft": format!("see {paste}"), "queue": ["three"]}).to_string();
    wait::until("the draft to be kept", || kept() == [wanted.clone()]);
    person.keys("\x07");
    wait::until("the editor to open", || world.work().join("opened").exists());
    person.signal(Signal::KILL);
    drop(person);
    assert_eq!(kept(), [wanted]);
    let mut person = Person::open(&world, &["-c"]);
    person.sees("⏎ held: three").sees("  line 19");
}

/// What is wrong with a theme or with keys is said, and the chat goes on with what is right.
#[test]
fn a_wrong_theme_and_unknown_keys_are_told() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    world.write(world.base().join("themes/mine.toml"), "primary = \"zz\"\n");
    world.write(
        world.base().join("config.toml"),
        "[ui]\ntheme = \"mine\"\n\n[ui.keymap]\nfly = [\"ctrl+f\"]\nhelp = [\"hyper+x\"]\neditor = [\"f4\"]\n\
         steer = [\"enter\"]\n",
    );
    let mut person = Person::open(&world, &["--no-save"]);
    person.sees("theme `mine`: `primary` is `zz`");
    person.sees("`ui.keymap`, line 5 of config.toml: there is no action `fly`").sees("`hyper+x` is no key");
    person.sees("`ui.keymap` leaves `submit` without a key, so it keeps enter");
    person.says("greet me").sees("Hello.").leaves();
}

/// A theme of one's own, from its file.
#[test]
fn a_theme_of_ones_own() {
    let (mut world, _model) = with_model([anthropic::text("Hello.")]);
    world.set_var("COLORTERM", "truecolor");
    let colours = "primary secondary warning error success accent foreground background surface panel boost";
    let file: String = colours
        .split(' ')
        .enumerate()
        .map(|(i, key)| format!("{key} = \"{:06X}\"\n", 0x0a0b00 + i))
        .collect();
    world.write(world.base().join("themes/mine.toml"), file);
    world.write(world.base().join("config.toml"), "[ui]\ntheme = \"Mine\"\n");
    let mut person = Person::open(&world, &["--no-save"]);
    let drawn = person.leaves();
    assert!(drawn.contains("38;2;10;11;0m"), "the primary colour of the file: {drawn:?}");
}

/// KEY-3: a turn that does not end when it is stopped is given up after three seconds, and the conversation goes on without it.
#[test]
fn a_turn_that_does_not_end() {
    let (mut world, model) = with_model([Reply::stall(), anthropic::text("Here.").reply()]);
    world.set_var("ZORI_TEST_DEAF", "turn");
    let mut person = Person::open(&world, &[]);
    person.says("one");
    model.wait_for_requests(1);
    person.keys("\x03").sees("Stopping").sees("was given up; Ctrl-C now ends the program.");
    person.sees_no_more("Stopping").says("two").sees("Here.");
    assert_eq!(model.count(), 2);
    person.leaves();
}

/// The same with Ctrl-C as the next key: the program ends, 130.
#[test]
fn control_c_after_a_turn_that_does_not_end() {
    let (mut world, model) = with_model([Reply::stall()]);
    world.set_var("ZORI_TEST_DEAF", "turn");
    let mut person = Person::open(&world, &[]);
    person.says("one");
    model.wait_for_requests(1);
    person
        .keys("\x03")
        .sees("was given up; Ctrl-C now ends the program.")
        .sees_no_more("Stopping")
        .keys("\x03");
    assert_eq!(person.ends().0.code(), Some(130));
}

/// The same where nothing is saved: what was said before goes on, and the program ends with the next Ctrl-C.
#[test]
fn a_turn_that_does_not_end_in_a_chat_that_is_not_saved() {
    let (mut world, model) = with_model([
        anthropic::text("First.").reply(),
        Reply::stall(),
        anthropic::text("Here.").reply(),
        Reply::stall(),
    ]);
    world.set_var("ZORI_TEST_DEAF", "turn");
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("one").sees("First.").sees_no_more("· Esc").says("two");
    model.wait_for_requests(2);
    person.keys("\x03").sees("Stopping").sees("was given up; Ctrl-C now ends the program.");
    // Nothing came of it, so the prompt is back.
    person.sees_no_more("Stopping").sees("› two").keys("\x15").says("three").sees("Here.");
    insta::assert_snapshot!(model.request(2).conversation(), @r"
    user: one
    assistant: First.
    user: three
    ");
    person.sees_no_more("· Esc").says("four");
    model.wait_for_requests(4);
    person.keys("\x03").pauses(3200).sees_no_more("Stopping").keys("\x03");
    assert_eq!(person.ends().0.code(), Some(130));
}

/// A command of one's own is no turn: it is not given up, and the turn behind it is not either.
#[test]
fn a_command_of_ones_own_is_not_given_up() {
    let (mut world, _model) = with_model([anthropic::text("First."), anthropic::text("Here.")]);
    world.set_var("ZORI_TEST_DEAF", "turn");
    let mut person = Person::open(&world, &[]);
    person.says("one").sees("First.").sees_no_more("· Esc");
    person.says("!sleep 4; echo awake").sees("Running bash").keys("\x03").sees("Stopping");
    person.sees("Ctrl-C again ends zori").sees("  awake").sees_no_more("Stopping");
    person.says("two").sees("Here.").leaves();
}
