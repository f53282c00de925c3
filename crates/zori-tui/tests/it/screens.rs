//! Every screen of UI-41 at the widths the contract names, in both terminals, and in every depth of colour.

use zori_core::cost::Spent;
use zori_core::event::{EventKind, NoticeLevel, StateEvent};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::outcome::Outcome;
use zori_core::tool::{Todo, TodoStatus, ToolCode, ToolKind, ToolOutput};
use zori_testkit::pty;
use zori_testkit::terminal::{KINDS, Terminal};
use zori_tui::completion::Item;
use zori_tui::confirm::{Confirm, What};
use zori_tui::theme::{Depth, Paint, Rgb, Theme};
use zori_tui::update::{Msg, TurnOver};

use crate::stage::{Chat, columns, edit, shell};

const WIDTHS: [u16; 6] = [120, 100, 80, 60, 40, 20];

/// A screen: its name, and what leads to it.
type Scene = (&'static str, fn(&mut Chat));

const SCREENS: &[Scene] = &[
    ("idle", |_| {}),
    ("streaming", streaming),
    ("command", command),
    ("finished", finished),
    ("question", question),
    ("explained", explained),
    ("completion", |chat| _ = chat.typed("/re")),
    ("models", models),
    ("sessions", sessions),
    ("undo", undo),
    ("notice", notice),
    ("error", error),
    ("search", search),
    ("thinking", thinking),
    ("scripts", scripts),
];

fn streaming(chat: &mut Chat) {
    chat.turn("why does add() fail?").wait(1000);
    chat.says("The function **subtracts**: line 2 of `calc.py` has `a - b`. Two callers depend on it:\n\n");
    chat.wait(2000)
        .says("- src/main.rs:14 prints the sum\n- tests/calc.rs:9 expects 5; this is the test that fa");
    chat.typed("also run the tests").key("enter").typed("and look at util.py").wait(100);
}

fn command(chat: &mut Chat) {
    let todo = |content: &str, status| Todo { content: content.to_owned(), status };
    let todos = vec![
        todo("read", TodoStatus::Completed),
        todo("edit", TodoStatus::Completed),
        todo("run the tests", TodoStatus::InProgress),
        todo("write", TodoStatus::Pending),
        todo("tell", TodoStatus::Pending),
    ];
    chat.turn("test it").event(EventKind::State(StateEvent::TodosChanged { todos: todos.into() }));
    chat.calls(ToolKind::Bash, r#"{"command":"cargo test --workspace"}"#);
    let lines: String = (0..212).map(|i| format!("test early::{i} ... ok\n")).collect();
    chat.prints(&lines)
        .prints("test turn::steers ... ok\ntest turn::cancels ... ok\ntest turn::retries ... ok\n");
    chat.prints("test turn::limits ... ok\ntest turn::hooks ... ").wait(12_000);
}

fn finished(chat: &mut Chat) {
    chat.turn("fix add()");
    chat.calls(ToolKind::Edit, r#"{"path":"calc.py","old":"a - b","new":"a + b"}"#);
    let program = |sign: char| format!("def add(a, b):\n    return a {sign} b\n\nprint(add(2, 3))\n");
    chat.ends(ToolKind::Edit, edit("calc.py", &program('-'), &program('+')), 3);
    let command = "python3 calc.py; for i in $(seq 9); do echo line $i; done";
    chat.calls(ToolKind::Bash, &serde_json::json!({ "command": command }).to_string());
    let lines: String = (1..10).map(|i| format!("line {i}\n")).collect();
    chat.ends(ToolKind::Bash, shell(&format!("5\n{lines}"), 0), 103);
    chat.calls(ToolKind::Edit, r#"{"path":"util.py","old":"x","new":"y"}"#);
    let failed = ToolOutput::failure(ToolCode::OldNotFound, "`old` was not found; nearest is line 31");
    chat.ends(ToolKind::Edit, failed, 1);
    chat.calls(ToolKind::Bash, r#"{"command":"cargo test"}"#).ends(
        ToolKind::Bash,
        shell("FAILED\n", 101),
        2300,
    );
    chat.says("Both calls of `add()` now return the sum:\n\n```python\ndef add(a, b):\n    return a + b  # was a - b\n```\n");
}

fn question(chat: &mut Chat) {
    chat.turn("clean and push").asks(
        "rm -rf build && git push origin main",
        &[
            ("these words", "Bash(rm -rf build), Bash(git push origin main)"),
            ("any push", "Bash(rm -rf build), Bash(git push:*)"),
        ],
    );
    chat.take(Msg::Drawn);
    chat.typed("then tag it").wait(800);
}

fn explained(chat: &mut Chat) {
    chat.turn("clean").asks("rm -rf build", &[("these words", "Bash(rm -rf build)")]);
    chat.take(Msg::Drawn);
    chat.wait(2000).key("e");
}

fn models(chat: &mut Chat) {
    chat.typed("/model son");
    let item = |text: &str, about: &str| Item {
        text: text.into(),
        args: String::new(),
        about: about.into(),
        label: None,
    };
    let items = vec![
        item("anthropic:sonnet-5", "200k   $3/$15    key ok"),
        item("openrouter:sonnet-5", "200k   $3/$15    no key     zori auth login --provider openrouter"),
    ];
    chat.take(Msg::Found { word: "son".into(), items, of: 63, all: 63, pending: false });
}

fn sessions(chat: &mut Chat) {
    chat.typed("/resume calc");
    let item = |id: &str, label: &str, about: &str| Item {
        text: id.into(),
        args: String::new(),
        about: about.into(),
        label: Some(label.into()),
    };
    let items = vec![
        item(
            "0199aa",
            "  2h  fix add() in calc.py",
            "12 messages  $0.04  main  \"the test still fails, why\"",
        ),
        item("0199bb", "  1d  calc: speed", " 3 messages  $0.01  main  open in pid 4711: Enter forks"),
    ];
    chat.take(Msg::Found { word: "calc".into(), items, of: 4, all: 118, pending: false });
}

fn undo(chat: &mut Chat) {
    let lines = [
        "Would put back 2 files to before turn 3: calc.py, neu.txt (removed)",
        "Not covered: 1 command may have changed files outside /home/me/proj",
    ];
    let question = Confirm::new(What::Undo, "Go ahead? [y/N]".to_owned());
    chat.take(Msg::Confirm(question.below(lines.map(str::to_owned).to_vec())));
}

/// A word to the user while an answer is being written: it is seen at once, and the answer goes on as if it were not there.
fn notice(chat: &mut Chat) {
    chat.turn("show it").says("It is this:\n\n```sh\necho one\nec");
    chat.state.transcript.notice(NoticeLevel::Info, "Effort: high, from the next request on");
    chat.says("ho two\necho thr");
}

fn error(chat: &mut Chat) {
    chat.turn("fix add() in calc.py");
    let message =
        "Rate limited by anthropic: 5 h window is full, free again at 16:40 (retried 4 times, 31 s)";
    let failure = ProviderFailure::new(FailureKind::HttpStatus, message);
    chat.take(Msg::TurnOver(TurnOver {
        outcome: Some(Outcome::Failed(failure)),
        error: Some(message.to_owned()),
        details: None,
        ways_out: vec!["Enter sends again".into(), "/model takes another".into()],
        context: 42_000,
        spent: Spent::NOTHING,
    }));
}

fn search(chat: &mut Chat) {
    for entry in ["fix the test", "why does add() fail?"] {
        chat.state.composer.history.add(entry);
    }
    chat.key("ctrl+r").typed("add");
}

fn thinking(chat: &mut Chat) {
    chat.turn("think").thinks("Let me see. ").wait(8000).thinks("The operator is wrong.").wait(300);
}

/// Right to left, wide, joined, combining, and what hides.
fn scripts(chat: &mut Chat) {
    chat.turn("日本語で説明して 👩‍🔬").says("مرحبا بالعالم: the sum is 5.\n\n");
    chat.says("日本語のテキストは幅が二倍です。幅を数えて、正しく折り返します。改行の位置も同じです。\n\n");
    chat.says("café, cafe\u{301}, 🚀 and 👨‍👩‍👧 in one row; a\u{202e}b hides.\n\n| 名前 | 値 |\n|---|---|\n| 日本 | 1 |\n| x | 22 |\n\nend");
}

/// Draws a screen at a width, in both terminals, which must agree.
fn drawn(name: &str, screen: fn(&mut Chat), width: u16) -> (Vec<String>, (usize, usize)) {
    let [cutting, reflowing] = KINDS.map(|kind| {
        let mut chat = Chat::new(columns(width));
        let mut terminal = Terminal::new(kind, pty::Size { rows: 30, cols: width });
        terminal.feed("$ zori\r\n");
        terminal.feed(&chat.frame());
        screen(&mut chat);
        terminal.feed(&chat.frame());
        (terminal.rows(), terminal.cursor())
    });
    // The model that reflows knows no clusters of several characters.
    if name != "scripts" {
        assert_eq!(cutting, reflowing, "{name} at {width}: the terminals agree");
    }
    cutting
}

#[test]
fn every_screen_at_every_width() {
    for (name, screen) in SCREENS {
        let mut text = String::new();
        for width in WIDTHS {
            let (rows, caret) = drawn(name, *screen, width);
            text.push_str(&format!("{width} columns, caret at {}:{}\n", caret.0, caret.1));
            for row in rows {
                text.push_str(row.trim_end());
                text.push('\n');
            }
            text.push('\n');
        }
        insta::assert_snapshot!(*name, text);
    }
}

/// UI-34: nothing is wider than the terminal, and nothing is drawn as blanks at the end of a row.
#[test]
fn no_row_is_too_wide_at_any_width() {
    for (name, screen) in SCREENS {
        for width in (10..24).chain([39, 40, 59, 60, 61, 79, 100, 121]) {
            for rows in [2, 5, 30] {
                let mut chat = Chat::new(zori_tui::state::Size { rows, columns: width });
                screen(&mut chat);
                let commits = chat.state.transcript.drain(chat.state.size.width());
                let view = zori_tui::chat::view(&chat.state);
                let most = usize::from(chat.state.size.width());
                for row in view.rows.iter().chain(commits.iter().map(|commit| &commit.row)) {
                    assert!(row.width() <= most, "{name} at {width}x{rows}: {:?}", row.text());
                    if width > 20 {
                        assert!(
                            row.text() == "  " || row.text() == "› " || !row.text().ends_with(' '),
                            "{name}: {:?}",
                            row.text()
                        );
                    }
                }
                assert!(view.rows.len() <= chat.state.size.viewport(), "{name} at {width}x{rows}");
                assert!(view.caret.row < view.rows.len(), "{name} at {width}x{rows}");
                assert!(view.caret.column <= most, "{name} at {width}x{rows}");
            }
        }
    }
}

/// THM-3: the same screens in true colour, 16 colours and none, on light and dark ground.
#[test]
fn colours() {
    let looks: [(&str, Paint); 6] = [
        ("true colour, dark", look(false, Depth::True)),
        ("true colour, light", look(true, Depth::True)),
        ("16 colours, dark", look(false, Depth::Ansi16)),
        ("16 colours, light", look(true, Depth::Ansi16)),
        ("none", look(false, Depth::None)),
        (
            "Studio Dark",
            Paint { theme: Theme::named("Studio Dark").expect("it is ours"), depth: Depth::True },
        ),
    ];
    let mut text = String::new();
    for (name, paint) in looks {
        let mut chat = Chat::painted(columns(80), paint);
        finished(&mut chat);
        question(&mut chat);
        let bytes = chat.frame();
        text.push_str(&format!(
            "── {name}\n{}\n\n",
            bytes.replace('\x1b', "␛").replace("\r\n", "\n").replace('\r', "␍")
        ));
    }
    insta::assert_snapshot!("colours", text);
}

fn look(light: bool, depth: Depth) -> Paint {
    let ground = if light { Rgb(255, 255, 255) } else { Rgb(0x14, 0x17, 0x1c) };
    Paint { theme: Theme::terminal(light, Some(ground)), depth }
}
