//! What is typed while something else goes on: into a turn, under a question, while files are looked for.

use std::sync::Arc;

use zori_core::ids::CallId;
use zori_core::input::{Approval, Input};
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::question::{Choice, ChoiceOption, Preview, Question};
use zori_core::tool::ToolKind;
use zori_tui::commands::{CommandInfo, ScreenCommand};
use zori_tui::completion::Item;
use zori_tui::confirm::{Confirm, What};
use zori_tui::keymap::{Action, Bound};
use zori_tui::keys::Key;
use zori_tui::question::Asked;
use zori_tui::row::Row;
use zori_tui::terminal::decode::TermEvent;
use zori_tui::update::{Effect, FindRequest, Msg};

use crate::stage::{Chat, columns};

fn screen(chat: &Chat) -> String {
    let rows = zori_tui::chat::view(&chat.state).rows;
    rows.iter().map(|row: &Row| row.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn typed(chat: &Chat) -> String {
    chat.state.composer.buffer.text()
}

/// What has to be done, without what is done anyway.
fn effects(chat: &mut Chat) -> Vec<Effect> {
    let all = std::mem::take(&mut chat.effects);
    all.into_iter().filter(|effect| !matches!(effect, Effect::Keep(_) | Effect::LookAround)).collect()
}

/// CMP-3: a list that is not complete stays open, and is filled when the walk is over; one that was closed stays closed.
#[test]
fn files_that_are_still_looked_for() {
    let found = |pending: bool| {
        let item = Item { text: "src/a b.rs".into(), args: String::new(), about: String::new(), label: None };
        let items = if pending { Vec::new() } else { vec![item] };
        Msg::Found { word: "ab".into(), of: items.len(), all: items.len(), items, pending }
    };
    let find = Effect::Find(FindRequest::Files("ab".into()));
    let mut chat = Chat::new(columns(80));
    chat.typed("@ab").take(found(true));
    insta::assert_snapshot!(screen(&chat), @"

    › @ab
      looking …
    ");
    effects(&mut chat);
    chat.take(Msg::FindAgain);
    assert_eq!(effects(&mut chat), [find]);
    chat.take(found(false));
    insta::assert_snapshot!(screen(&chat), @"

    › @ab
      src/a b.rs                                              1 of 1 · Tab takes it
    ");
    chat.take(Msg::FindAgain);
    assert_eq!(effects(&mut chat), [], "it is complete");
    chat.key("tab");
    assert_eq!(typed(&chat), "@\"src/a b.rs\" ", "a name with a blank stands in quotes");
    let mut chat = Chat::new(columns(80));
    chat.typed("@ab").take(found(true)).key("esc");
    effects(&mut chat);
    chat.take(Msg::FindAgain);
    assert_eq!((effects(&mut chat), chat.state.completion.is_none()), (Vec::new(), true));
}

/// Tab in a turn: words go into it, as they are meant; what is no word for the model does what Enter does, or waits.
#[test]
fn what_goes_into_a_turn() {
    let waits = CommandInfo { name: "/compact", waits: true, ..CommandInfo::NOTHING };
    let now = CommandInfo { name: "/status", ..CommandInfo::NOTHING };
    let steer = |text: &str| vec![Effect::Input(Input::Steer(text.to_owned()))];
    for (line, wanted, queued) in [
        ("look at util.py", steer("look at util.py"), 0),
        ("/usr/bin/env is meant", steer("/usr/bin/env is meant"), 0),
        ("//status is a command", steer("/status is a command"), 0),
        ("# a heading\n\nand more", steer("# a heading\n\nand more"), 0),
        ("##1 is the issue", steer("#1 is the issue"), 0),
        ("!!!important", steer("!!important"), 0),
        ("/status", vec![Effect::Command("/status".into())], 0),
        ("!ls", vec![Effect::Shell { command: "ls".into(), share: true }], 0),
        ("/compact", Vec::new(), 1),
        ("#never push", Vec::new(), 1),
    ] {
        let mut chat = Chat::new(columns(80));
        chat.state.options.commands.extend([waits, now]);
        chat.turn("go");
        chat.state.composer.set(line);
        effects(&mut chat);
        chat.key("ctrl+enter");
        assert_eq!((effects(&mut chat), chat.state.queue.items.len()), (wanted, queued), "{line}");
    }
}

/// KEY-3: a question of the chat itself is refused by Ctrl-C as soon as it is there, and nothing is left by it.
#[test]
fn ctrl_c_refuses_a_question_of_the_chat() {
    let mut chat = Chat::new(columns(80));
    chat.take(Msg::Confirm(Confirm::new(What::Loop, "Continue? [y/N]".into()))).key("ctrl+c");
    assert_eq!(effects(&mut chat), [Effect::Confirmed { what: What::Loop, yes: false }]);
    assert_eq!((chat.state.leaving, chat.state.confirm.is_none()), (None, true));
}

fn asks(chat: &mut Chat, choice: Choice) {
    let preview = Preview::Choices(vec![choice]);
    let question = Question { tool: "ask".into(), preview, grants: Vec::new(), explanation: Vec::new() };
    let decision = Decision::new(Verdict::Allow, Class::Internal, "it is internal");
    chat.take(Msg::Asked(Asked::new(CallId::new("c"), Arc::new(question), decision, None, None)));
    chat.take(Msg::Drawn).wait(2000);
}

fn choice(question: &str, options: usize, secret: bool) -> Choice {
    let option = |i| ChoiceOption { label: format!("option {i}"), description: None };
    Choice {
        question: question.to_owned(),
        header: None,
        options: (0..options).map(option).collect(),
        multiple: false,
        secret,
        form: None,
    }
}

/// KEY-6: what looks like a secret is not shown while it is typed, not kept with the draft, and no older message.
#[test]
fn a_secret_is_neither_shown_nor_kept() {
    let mut chat = Chat::new(columns(80));
    chat.turn("go").typed("later");
    asks(&mut chat, choice("API key?", 0, true));
    chat.key("tab").key("w").typed("hünter2").key("left");
    insta::assert_snapshot!(screen(&chat), @"

    ? the model asks
      API key?
      your answer? Enter says it, Esc goes back
    ✷ Asking you · Esc goes back
    w •••••••
      opus-5-5 · YOLO · 21% of 200k · $0.13 · cache 91% · main · ~/proj
    ");
    assert_eq!(zori_tui::chat::view(&chat.state).caret.column, 8);
    assert_eq!(chat.state.draft().text, "later", "what was being typed before is kept");
    chat.key("up").key("ctrl+r").key("alt+m");
    assert_eq!(typed(&chat), "hünter2");
    chat.key("esc");
    assert_eq!(typed(&chat), "later");
    chat.key("ctrl+_");
    chat.key("ctrl+u").key("up");
    assert_eq!(typed(&chat), "", "nothing of it is left");
    chat.key("tab").key("w").typed("k").key("enter");
    let answer = Approval::answers(vec!["k".into()]);
    assert_eq!(
        effects(&mut chat).pop(),
        Some(Effect::Input(Input::Approve { call: CallId::new("c"), answer }))
    );
    chat.key("up");
    assert_eq!(typed(&chat), "");
}

/// KEY-6: no key sends a secret elsewhere, lists anything for it, or finds it again: it is for whoever asked.
#[test]
fn no_key_leads_a_secret_elsewhere() {
    let answered = |typing: &dyn Fn(&mut Chat)| {
        let mut chat = Chat::new(columns(80));
        chat.turn("go");
        asks(&mut chat, choice("API key?", 0, true));
        chat.key("tab").key("w");
        effects(&mut chat);
        typing(&mut chat);
        let answer = Approval::answers(vec!["hunter2".into()]);
        let approved = Effect::Input(Input::Approve { call: CallId::new("c"), answer });
        assert_eq!(effects(&mut chat), [approved]);
        assert_eq!((chat.state.queue.items.len(), typed(&chat).as_str()), (0, ""));
        chat.key("ctrl+y");
        assert_eq!(typed(&chat), "", "nothing was cut out");
        chat.key("up");
        assert_eq!(typed(&chat), "", "it is no older message");
    };
    answered(&|chat| _ = chat.typed("hunter2").key("ctrl+enter"));
    answered(&|chat| _ = chat.typed("hunter2").key("ctrl+u").typed("hunter2").key("enter"));
    answered(&|chat| {
        chat.state.several_lines = true;
        chat.typed("hunter2").key("enter");
    });
    answered(&|chat| {
        chat.typed("@hunter2");
        assert!(chat.state.completion.is_none());
        chat.key("home").key("delete").key("enter");
    });
    answered(&|chat| {
        chat.state.options.vim = true;
        chat.typed("hunter2").key("esc").key("k").key("/").key("enter");
    });
    // One that was pasted is not known when it comes again.
    let pasted = "hunter2".repeat(200);
    let mut chat = Chat::new(columns(80));
    chat.turn("go");
    asks(&mut chat, choice("API key?", 0, true));
    chat.key("tab").key("w").take(Msg::Term(TermEvent::Paste(pasted.clone()))).key("enter");
    chat.state.composer.set(&pasted);
    assert_eq!(chat.state.composer.buffer.raw(), pasted);
}

/// UI-9: a message of several lines steps aside for a reason, and goes on behind it.
#[test]
fn a_reason_within_several_lines() {
    for (end, reason) in [("enter", Some("no".to_owned())), ("esc", None)] {
        let mut chat = Chat::new(columns(80));
        chat.turn("go").state.begin_lines("first");
        chat.asks("rm x", &[]).take(Msg::Drawn).wait(2000).key("tab").key("w").typed("no");
        effects(&mut chat);
        chat.key(end);
        let told = effects(&mut chat).into_iter().map(|effect| match effect {
            Effect::Input(Input::Approve { answer: Approval::Reject { reason }, .. }) => reason,
            other => panic!("{other:?}"),
        });
        assert_eq!(told.collect::<Vec<_>>(), reason.map(Some).into_iter().collect::<Vec<_>>(), "{end}");
        assert_eq!((typed(&chat).as_str(), chat.state.several_lines), ("first\n", true), "{end}");
    }
}

/// UI-33: options that have no room are counted, and `v` shows all of them.
#[test]
fn many_options() {
    let mut chat = Chat::new(zori_tui::state::Size { rows: 16, columns: 80 });
    chat.turn("go");
    asks(&mut chat, choice("Which one?", 9, false));
    insta::assert_snapshot!(screen(&chat), @"
    ? the model asks
      Which one?
      1 option 0
      … 8 more rows, which v shows
      a number chooses · w your own words… · n no answer
    ✶ Asking you · Esc: no
    ›
      opus-5-5 · YOLO · 21% of 200k · $0.13 · cache 91% · main · ~/proj
    ");
    chat.key("v");
    let rows = zori_tui::pager::screen(&chat.state);
    assert_eq!(rows[9].text(), "  9 option 8");
    chat.key("y").key("q").wait(2000).key("9");
    let answer = Approval::answers(vec!["9".into()]);
    assert_eq!(effects(&mut chat), [Effect::Input(Input::Approve { call: CallId::new("c"), answer })]);
}

/// STA-1: while a question is open the row says so, whatever else runs.
#[test]
fn asking_is_what_it_does() {
    let mut chat = Chat::new(columns(80));
    chat.turn("go").asks("rm x", &[]);
    chat.calls(ToolKind::Bash, r#"{"command":"sleep 9"}"#);
    insta::assert_snapshot!(screen(&chat), @"
    ● $ rm x                                                                     #1
    ● $ sleep 9                                                      running 0s  #2
    ? bash wants to run                      any other shell command · mode default
      in ~/proj · sandbox: workspace, network after your yes
        rm x
      asked because: step 11, no rule covers it                 e explains 12 steps
      y once · n no · w no, because… · e explain · v whole text
    ✶ Asking you · Esc: no
    ›
      opus-5-5 · DEFAULT · 21% of 200k · $0.13 · cache 91% · main · ~/proj
    ");
}

/// UI-41: in a narrow window, too, it is in sight how a turn is stopped.
#[test]
fn how_a_turn_is_stopped() {
    for width in [20, 30, 40] {
        let mut chat = Chat::new(columns(width));
        chat.state.facts.model = "claude-sonnet-5-5-with-a-long-name".into();
        chat.turn("go");
        let screen = screen(&chat);
        let row =
            screen.lines().find(|row| row.starts_with("✶ Waiting")).unwrap_or_else(|| panic!("{screen}"));
        assert!(row.ends_with("… · Esc") && row.chars().count() < usize::from(width), "{row}");
    }
}

/// KEY-1: a key that another action had is taken from it, and that is said; the only key to send or to stop is not taken.
#[test]
fn keys_are_given_away() {
    let keys = CommandInfo { name: "/keys", own: Some(ScreenCommand::Keys), ..CommandInfo::NOTHING };
    for (key, said) in [
        (
            "enter",
            Some(
                "· enter is the only key for \"Send; while a turn runs, queue\": give that another one first, by `/keys submit`.",
            ),
        ),
        (
            "ctrl+c",
            Some(
                "· ctrl+c is the only key for \"Stop, put the draft away, leave\": give that another one first, by `/keys interrupt`.",
            ),
        ),
        ("ctrl+r", Some("· ctrl+r is no longer for \"Search what was sent before\" (search_history).")),
        ("f7", None),
    ] {
        let mut chat = Chat::new(columns(200));
        chat.state.options.commands.push(keys);
        chat.state.composer.set("/keys help");
        chat.key("enter");
        let asked = chat.state.transcript.drain(199).len();
        assert!(asked > 0);
        chat.key(key);
        let commits = chat.state.transcript.drain(199);
        assert_eq!(commits.last().map(|commit| commit.row.text()).as_deref(), said, "{key}");
        let taken = matches!(key, "ctrl+r" | "f7");
        let key = Key::parse(key).unwrap();
        assert_eq!(chat.state.options.keymap.find(&[key]) == Bound::Action(Action::Help), taken, "{key}");
    }
}

/// KEY-1: `/keys ?` names the next key and says what it does.
#[test]
fn keys_are_named() {
    let mut chat = Chat::new(columns(80));
    let keys = CommandInfo { name: "/keys", own: Some(ScreenCommand::Keys), ..CommandInfo::NOTHING };
    chat.state.options.commands.push(keys);
    for (key, said) in [
        ("ctrl+r", "· ctrl+r: Search what was sent before (search_history)"),
        ("ctrl+x", "· ctrl+x begins a chord."),
        ("f7", "· f7 does nothing here."),
        ("x", "· x is typed."),
    ] {
        chat.state.composer.set("/keys ?");
        chat.key("enter").key(key);
        let commits = chat.state.transcript.drain(79);
        assert_eq!(commits.last().map(|commit| commit.row.text()).as_deref(), Some(said));
        assert_eq!(typed(&chat), "");
    }
}
