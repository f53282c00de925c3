//! The panel: every screen at the sizes the contract names, and what its keys do.

use zori_core::event::{CALL_REASON, EventKind, MessageEvent, Notice, NoticeLevel, PROVIDER_STATUS};
use zori_core::question::{FileAction, FileDiff, Preview};
use zori_core::tool::ToolKind;
use zori_tui::ascii;
use zori_tui::keys::Key;
use zori_tui::panel::arcade::Kind;
use zori_tui::panel::{self, Open, Panel, PanelEffect, PanelView, Sign, Tab, TabFacts, TabSign};
use zori_tui::row::Row;
use zori_tui::state::Size;
use zori_tui::terminal::inline::Brush;
use zori_tui::terminal::paint::Links;
use zori_tui::terminal::screen::Screen;
use zori_tui::theme::{Depth, Paint, Theme};
use zori_tui::update::{Effect, Msg};

use crate::stage::{Chat, edit, shell};

const SIZES: [(u16, u16); 6] = [(120, 36), (200, 60), (100, 30), (80, 24), (60, 20), (40, 16)];

/// A panel on a stage.
struct Stage {
    chat: Chat,
    panel: Panel,
    effects: Vec<Effect>,
}

impl Stage {
    fn new((columns, rows): (u16, u16)) -> Self {
        let mut chat = Chat::new(Size { rows, columns });
        let mut tab = Tab::new("Chat 1");
        tab.facts = TabFacts {
            project: "default".into(),
            agent: "default".into(),
            has_agents: false,
            api: "http://localhost:50001".into(),
            answered: Some(true),
            stream: true,
            stream_mode: Some("sse"),
            shell: true,
            context: None,
            web: None,
        };
        chat.state.tab = Some(Box::new(tab));
        chat.state.facts.mode = "default".into();
        let mut panel = Panel::new("zori", "Studio Dark");
        panel.themes = Theme::names().map(str::to_owned).collect();
        let other = |name: &str, sign| TabSign { name: name.into(), sign };
        panel.tabs = vec![
            TabSign::of(&chat.state),
            other("Chat 2", Sign::Unread),
            other("Chat 3", Sign::Asks),
            other("notes", Sign::None),
        ];
        Self { chat, panel, effects: Vec::new() }
    }

    /// Presses a key, which is the panel's or the chat's.
    fn key(&mut self, key: &str) -> &mut Self {
        self.chat.wait(50);
        let pressed = Key::parse(key).expect("it is a key");
        if !self.panel.key(&mut self.chat.state, pressed, &mut self.effects) {
            self.chat.key(key);
        }
        self
    }

    fn view(&mut self) -> PanelView {
        self.panel.settle(&self.chat.state, &mut self.effects);
        self.panel.tick(&self.chat.state);
        let width = panel::chat_width(&self.chat.state);
        panel::lay_out(&mut self.chat.state, width);
        self.panel.tabs[0] = TabSign::of(&self.chat.state);
        panel::view(&self.chat.state, &self.panel)
    }

    fn screen(&mut self) -> String {
        let view = self.view();
        let rows: Vec<String> = view.rows.iter().map(|row| row.text().trim_end().to_owned()).collect();
        rows.join("\n")
    }
}

type Scene = (&'static str, fn(&mut Stage));

const SCENES: &[Scene] = &[
    ("idle", |_| {}),
    ("turn", turn),
    ("question", question),
    ("menu", |stage| {
        stage.key("f2").key("right").key("down");
    }),
    ("cards", |stage| {
        stage.key("f2").key("up");
    }),
    ("help", |stage| {
        stage.key("f1");
    }),
    ("completion", |stage| {
        stage.chat.typed("/re");
    }),
    ("scrolled", |stage| {
        turn(stage);
        stage.view();
        for number in 0..50 {
            stage.chat.state.transcript.notice(NoticeLevel::Info, &format!("notice {number}"));
        }
        stage.view();
        stage.key("pageup");
    }),
    ("loop", |stage| {
        let text = "loop, turn 3 · Continue? [y/N]".to_owned();
        let confirm = zori_tui::confirm::Confirm::new(zori_tui::confirm::What::Loop, text);
        stage.chat.take(Msg::Confirm(confirm));
    }),
];

fn turn(stage: &mut Stage) {
    let chat = &mut stage.chat;
    chat.turn("fix add() in calc.py and run it").thinks("The operator is wrong; edit, then run the file");
    chat.says("The function subtracts. I change the operator and run the file.");
    chat.calls(ToolKind::Edit, r#"{"path":"calc.py","old":"a - b","new":"a + b"}"#);
    let program = |sign: char| format!("def add(a, b):\n    return a {sign} b\n");
    chat.ends(ToolKind::Edit, edit("calc.py", &program('-'), &program('+')), 3);
    chat.calls(ToolKind::Bash, r#"{"command":"python3 calc.py"}"#).ends(ToolKind::Bash, shell("5\n", 0), 103);
    chat.says("Both calls of `add()` now return the sum. `sub()` in util.py has the same mistake; sh");
    chat.typed("then look at util.py").key("enter").wait(12_000);
    stage.panel.waiting_game = None;
}

fn question(stage: &mut Stage) {
    stage.chat.turn("clean and push").asks(
        "rm -rf build && git push origin main",
        &[("these words", "Bash(rm -rf build), Bash(git push origin main)")],
    );
    stage.view();
    stage.chat.take(Msg::Drawn);
    stage.chat.wait(2000);
}

#[test]
fn every_screen_at_every_size() {
    for (name, scene) in SCENES {
        let mut text = String::new();
        for size in SIZES {
            let mut stage = Stage::new(size);
            scene(&mut stage);
            text.push_str(&format!("{}x{}\n{}\n\n", size.0, size.1, stage.screen()));
        }
        insta::assert_snapshot!(format!("panel_{name}"), text);
    }
}

/// ACC-3: every sign of the panel and its games has one in ASCII.
#[test]
fn every_screen_in_ascii() {
    let check = |name: &str, stage: &mut Stage| {
        for row in stage.view().rows {
            let text = ascii::row(row).text();
            assert!(text.is_ascii(), "{name}: {text}");
        }
    };
    for (name, scene) in SCENES {
        let mut stage = Stage::new((120, 50));
        scene(&mut stage);
        check(name, &mut stage);
    }
    for kind in [Kind::Invaders, Kind::Pong] {
        let mut stage = Stage::new((120, 50));
        stage.panel.waiting_game = Some(kind);
        stage.key("f3").key("space");
        stage.chat.wait(3000);
        check(kind.as_str(), &mut stage);
    }
}

/// Exactly as many rows as the terminal has, none too wide, the caret within, from tiny to huge.
#[test]
fn it_fits_every_size() {
    for (name, scene) in SCENES {
        for columns in [10, 12, 19, 20, 21, 40, 59, 60, 99, 100, 140] {
            for rows in [2, 7, 8, 9, 16, 30] {
                let mut stage = Stage::new((columns, rows));
                scene(&mut stage);
                let view = stage.view();
                assert_eq!(view.rows.len(), usize::from(rows), "{name} at {columns}x{rows}");
                for row in &view.rows {
                    assert!(
                        row.width() <= usize::from(columns),
                        "{name} at {columns}x{rows}: {:?}",
                        row.text()
                    );
                }
                if let Some(caret) = view.caret {
                    let inside = caret.row < usize::from(rows) && caret.column <= usize::from(columns);
                    assert!(inside, "{name} at {columns}x{rows}: {caret:?}");
                }
            }
        }
    }
}

/// A frame that changes one row writes one row, and the theme's ground is behind it.
#[test]
fn only_what_changed_is_written() {
    let paint = Paint { theme: Theme::named("Studio Dark").expect("it is ours"), depth: Depth::True };
    let brush = Brush { paint: &paint, links: Links::Left };
    let (mut stage, mut screen) = (Stage::new((100, 30)), Screen::default());
    let view = stage.view();
    let first = screen.frame(view.rows, view.caret, brush);
    assert_eq!(first.matches(";1H").count(), 30);
    assert!(first.contains("48;2;20;23;28"), "the ground of the theme");
    let view = stage.view();
    assert_eq!(screen.frame(view.rows, view.caret, brush), "");
    stage.chat.typed("x");
    let view = stage.view();
    let changed = screen.frame(view.rows, view.caret, brush);
    assert_eq!(changed.matches("\x1b[K").count(), 1, "{changed:?}");
}

/// SAF-1 to SAF-3 in the dialog: a key answers only when it was seen, Enter explains, and an approval is one.
#[test]
fn a_question_is_answered_on_purpose() {
    let mut stage = Stage::new((120, 36));
    stage.key("f3");
    assert!(matches!(stage.panel.open, Some(Open::Game(_))));
    stage.chat.turn("run it").asks("cargo test", &[]);
    stage.view();
    assert_eq!(stage.panel.open, None, "a question ends the game");
    stage.chat.take(Msg::Drawn);
    stage.key("y");
    assert_eq!(stage.chat.state.questions.len(), 1, "too early");
    stage.key("backspace").chat.wait(2000);
    stage.key("enter");
    assert!(stage.chat.state.questions[0].explained, "Enter explains");
    stage.chat.wait(2000);
    stage.key("f2").key("f3");
    assert_eq!(stage.panel.open, None, "nothing opens over a question");
    stage.chat.wait(2000);
    stage.key("y");
    assert!(stage.chat.state.questions.is_empty());
    assert!(stage.chat.effects.iter().any(|effect| matches!(effect, Effect::Input(_))));
}

/// SAF-4: what the dialog does not show has to be read before a yes counts.
#[test]
fn what_is_hidden_is_read_first() {
    let mut stage = Stage::new((80, 24));
    let long: String = (0..60).map(|i| format!("echo {i}\n")).collect();
    stage.chat.turn("run it").asks(&long, &[]);
    stage.view();
    stage.chat.take(Msg::Drawn);
    assert!(stage.screen().contains("/60 lines, v shows them"));
    stage.chat.wait(2000);
    stage.key("y");
    assert_eq!(stage.chat.state.questions.len(), 1);
    assert!(stage.chat.state.pager.is_some());
}

#[test]
fn keys_of_the_panel() {
    let panel_effect = |effect| vec![Effect::Panel(effect)];
    for (key, wanted) in [
        ("f10", panel_effect(PanelEffect::Quit)),
        ("f5", panel_effect(PanelEffect::WebUi)),
        ("alt+2", panel_effect(PanelEffect::Tab(1))),
        ("alt+9", Vec::new()),
    ] {
        let mut stage = Stage::new((80, 24));
        stage.key(key);
        assert_eq!(stage.effects, wanted, "{key}");
        assert!(stage.chat.state.composer.is_empty(), "{key} types nothing");
    }
}

/// UI-52: going over themes shows them, Esc puts the old one back, Enter keeps.
#[test]
fn themes_are_tried() {
    let theme = |name: &str, keep| Effect::Theme { name: name.into(), keep };
    let mut stage = Stage::new((80, 24));
    stage.key("f2").key("right").key("down").key("esc");
    let tried = [theme("Studio Dark", false), theme("High Tech 2026", false), theme("Studio Dark", false)];
    assert_eq!(stage.effects, tried);
    assert_eq!(stage.panel.open, None);
    // Whatever closes the menu puts it back.
    for key in ["f1", "f2", "f3"] {
        stage.effects.clear();
        stage.key("f2").key("right").key("down").key(key);
        assert_eq!(stage.effects, tried, "{key}");
        stage.key("esc");
        assert_eq!(stage.panel.open, None, "{key}");
    }
    stage.effects.clear();
    stage.key("f2").key("enter").key("down").key("enter");
    assert_eq!(stage.effects.last(), Some(&theme("High Tech 2026", true)));
    stage.effects.clear();
    // Actions are below the themes; the first opens a tab.
    stage.key("f2").key("down").key("right").key("enter");
    assert_eq!(stage.effects, [Effect::Panel(PanelEffect::NewTab(None))]);
}

/// UI-53: a game needs room, motion and colours; Esc ends it and types nothing.
#[test]
fn games() {
    let mut stage = Stage::new((59, 20));
    stage.key("f3");
    assert_eq!(stage.panel.open, None);
    let mut stage = Stage::new((80, 24));
    stage.panel.waiting_game = Some(Kind::Pong);
    stage.key("f3").key("left").key("space").key("p");
    assert!(stage.screen().contains("ARCADE · pong"), "{}", stage.screen());
    assert!(stage.screen().contains("paused"));
    assert_eq!(stage.panel.next_tick(&stage.chat.state), None, "a game that pauses wakes nobody");
    stage.key("p");
    assert!(stage.panel.next_tick(&stage.chat.state).is_some());
    stage.key("esc");
    assert_eq!(stage.panel.open, None);
    assert!(stage.chat.state.composer.is_empty());
    assert_eq!(stage.panel.next_tick(&stage.chat.state), None);
}

/// The waiting game plays in its card while a turn runs, and only then.
#[test]
fn it_plays_while_somebody_waits() {
    let mut stage = Stage::new((120, 50));
    assert!(!stage.screen().contains("ARCADE"));
    stage.chat.turn("wait");
    assert!(stage.screen().contains("ARCADE  invaders"));
    let before = stage.screen();
    stage.chat.wait(500);
    assert_ne!(stage.screen(), before);
    stage.chat.state.options.motion = false;
    stage.chat.wait(100);
    assert!(!stage.screen().contains("ARCADE"), "reduced motion");
}

/// A new width lays everything out anew, in the middle of an answer, too; nothing is doubled or lost.
#[test]
fn a_new_width_in_the_middle_of_an_answer() {
    let mut stage = Stage::new((120, 50));
    turn(&mut stage);
    stage.view();
    stage.chat.says("ow it.\n\nA second paragraph that is stable.\n\nA third one ");
    stage.view();
    for columns in [80, 140, 60, 120] {
        stage.chat.state.size.columns = columns;
        stage.view();
    }
    stage.chat.says("ends.\n");
    stage.chat.state.transcript.settle_all();
    stage.chat.state.transcript.notice(NoticeLevel::Info, "the end of it");
    stage.view();
    stage.chat.wait(10);
    stage.view();
    let rows: Vec<String> =
        stage.chat.state.tab.as_ref().map_or(Vec::new(), |tab| tab.rows().iter().map(Row::text).collect());
    for text in ["fix add() in calc.py and run it", "A second paragraph that is stable.", "A third one ends."]
    {
        assert_eq!(rows.iter().filter(|row| row.contains(text)).count(), 1, "{text}:\n{}", rows.join("\n"));
    }
    let last = rows.last().map(String::as_str);
    assert_eq!(last, Some("· the end of it"), "in the order it was said:\n{}", rows.join("\n"));
    assert!(stage.chat.state.tab.as_ref().is_some_and(|tab| tab.last_turn()[0].text().contains("fix add()")));
}

/// UI-50: a notch of the wheel is three rows, as far as there are any; nothing moves under what is open.
#[test]
fn the_wheel_scrolls() {
    let mut stage = Stage::new((120, 36));
    for number in 0..50 {
        stage.chat.state.transcript.notice(NoticeLevel::Info, &format!("notice {number}"));
    }
    stage.view();
    let scrolled = |stage: &Stage| stage.chat.state.tab.as_ref().map_or(0, |tab| tab.scroll);
    stage.panel.wheel(&mut stage.chat.state, true);
    stage.panel.wheel(&mut stage.chat.state, true);
    assert_eq!(scrolled(&stage), 6);
    stage.panel.wheel(&mut stage.chat.state, false);
    assert_eq!(scrolled(&stage), 3);
    stage.key("f2");
    stage.panel.wheel(&mut stage.chat.state, true);
    assert_eq!(scrolled(&stage), 3);
    stage.key("esc");
    for _ in 0..100 {
        stage.panel.wheel(&mut stage.chat.state, true);
    }
    assert!(stage.screen().contains("notice 0"), "{}", stage.screen());
}

/// UI-4: what a provider says of its work is in the feed alone, unless somebody wants it in the chat, too.
#[test]
fn what_a_provider_says_of_its_work() {
    for in_chat in [false, true] {
        let mut stage = Stage::new((120, 36));
        stage.chat.state.options.status_in_chat = in_chat;
        let text = "Context ready".to_owned();
        stage.chat.event(EventKind::Notice(Notice { level: NoticeLevel::Info, code: PROVIDER_STATUS, text }));
        let screen = stage.screen();
        assert!(screen.contains(" status    Context ready"), "{screen}");
        assert_eq!(screen.contains("· Context ready"), in_chat, "{screen}");
    }
}

/// APR-1: the words of whoever asks for a call are in the dialog, beside why it is asked about; those of an earlier call are not.
#[test]
fn what_a_call_is_for() {
    let mut stage = Stage::new((120, 36));
    question(&mut stage);
    let text = "The server asks for `python3 calc.py`: check the result".to_owned();
    stage.chat.event(EventKind::Notice(Notice { level: NoticeLevel::Info, code: CALL_REASON, text }));
    let purpose = |stage: &mut Stage| {
        let screen = stage.screen();
        screen.lines().find(|row| row.contains("purpose")).map(|row| row.trim().to_owned())
    };
    insta::assert_snapshot!(purpose(&mut stage).expect("it is there"), @"│ purpose  The server asks for `python3 calc.py`: check the result                                 │");
    stage.chat.event(EventKind::Message(MessageEvent::RequestStarted));
    assert_eq!(purpose(&mut stage), None);
}

/// APR-4: what a question begins with, by what the call would do; the rest is counted, and the whole text has all of it.
#[test]
fn previews() {
    let diff =
        |count: usize, sign: char| (1..=count).map(|n| format!("{sign}line {n}\n")).collect::<String>();
    let file = |action, diff: String| FileDiff::new("/w/a.py", action, diff);
    let input = |count: usize| {
        let list: Vec<String> = (0..count).map(|n| format!("\"v{n}\"")).collect();
        Preview::Input(format!("{{\"query\":\"x\",\"list\":[{}]}}", list.join(",")))
    };
    let long = format!("-{}\n+short\n", "x".repeat(300));
    for (name, preview, lines) in [
        ("a new file", Preview::Changes(vec![file(FileAction::Create, diff(40, '+'))]), Some((13, 41, 28))),
        ("a change", Preview::Changes(vec![file(FileAction::Change, diff(40, '-'))]), Some((16, 41, 25))),
        ("a long line", Preview::Changes(vec![file(FileAction::Change, long)]), Some((2, 3, 1))),
        ("arguments", input(30), Some((12, 35, 23))),
        ("few arguments", input(2), None),
    ] {
        let mut stage = Stage::new((120, 50));
        stage.chat.turn("go").asks_about(preview);
        stage.view();
        stage.chat.take(Msg::Drawn);
        let screen = stage.screen();
        match lines {
            Some((shown, all, more)) => {
                assert!(
                    screen.contains(&format!("preview  {shown}/{all} lines, v shows them")),
                    "{name}:\n{screen}"
                );
                let word = if more == 1 { "line" } else { "lines" };
                assert!(screen.contains(&format!("  ... ({more} more {word})")), "{name}:\n{screen}");
            }
            None => assert!(!screen.contains("more lines"), "{name}:\n{screen}"),
        }
        // A yes opens what is missing first.
        stage.chat.wait(2000);
        stage.key("y");
        assert_eq!(stage.chat.state.pager.is_some(), lines.is_some(), "{name}");
    }
}

/// The composer is in sight below a question, however small the panel is: what is typed there is no answer.
#[test]
fn what_is_typed_under_a_question_is_seen() {
    for size in [(40, 12), (60, 14), (80, 24)] {
        let mut stage = Stage::new(size);
        question(&mut stage);
        stage.key("x").key("x");
        let screen = stage.screen();
        assert!(screen.lines().any(|row| row.starts_with("› xx")), "{size:?}:\n{screen}");
        assert!(screen.contains("[more e]") || screen.contains("[ Explain e ]"), "{size:?}:\n{screen}");
    }
}

/// What the cards say can be read where they have no room, and so can what keys do.
#[test]
fn narrow_screens() {
    let mut stage = Stage::new((40, 12));
    stage.key("f2").key("down").key("down").key("right");
    let mut said = String::new();
    for _ in 0..40 {
        let screen = stage.screen();
        let chosen = screen.lines().find_map(|row| row.split("│ › ").nth(1)).expect("a line is chosen");
        said.push_str(chosen.trim_end_matches('│').trim());
        stage.key("down");
    }
    for words in ["agentdefault", "shellon", "http://localhost:50001", "~/proj(main)", "42kof200k"] {
        assert!(said.replace(' ', "").contains(words), "{words}: {said}");
    }
    stage.key("esc").key("f1");
    let mut said = String::new();
    for _ in 0..60 {
        let first = stage.screen().lines().nth(3).unwrap_or_default().trim_matches(['│', ' ']).to_owned();
        said.push_str(&format!("{first} "));
        stage.key("down");
    }
    for words in ["close what is open, else stop the turn", "into the running turn; to the question"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// All of the menu can be gone through where it is higher than the screen, and a game is offered only where it can be played.
#[test]
fn small_screens() {
    let mut stage = Stage::new((40, 12));
    stage.panel.colour = true;
    assert!(!stage.screen().contains("F3 game"));
    stage.key("f2").key("right");
    for _ in 0..20 {
        let screen = stage.screen();
        assert!(screen.lines().any(|row| row.contains("│ › ")), "{screen}");
        assert!(screen.lines().last().is_some_and(|row| row.starts_with('└')), "{screen}");
        stage.key("down");
    }
}
