//! What is being typed while something else wants the composer, and what was said and is not read yet.

use zori_core::cost::Spent;
use zori_core::event::{EventKind, TurnEvent};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::image::Image;
use zori_core::outcome::Outcome;
use zori_core::provider::StopReason;
use zori_tui::commands::{CommandInfo, ScreenCommand};
use zori_tui::completion::Item;
use zori_tui::confirm::{Confirm, What};
use zori_tui::row::Row;
use zori_tui::update::{Effect, Msg, TurnOver};

use crate::stage::{Chat, columns};

fn typed(chat: &Chat) -> String {
    chat.state.composer.buffer.text()
}

fn rows(chat: &Chat) -> Vec<String> {
    let rows = zori_tui::chat::view(&chat.state).rows;
    rows.iter().map(|row: &Row| row.text().trim_end().to_owned()).collect()
}

fn found(word: &str) -> Msg<'static> {
    let item = Item { text: "sonnet".into(), args: String::new(), about: String::new(), label: None };
    Msg::Found { word: word.into(), items: vec![item], of: 1, all: 1, pending: false }
}

/// Alt-M is for the model: what was being typed is there before and after it, whatever becomes of the list.
#[test]
fn a_list_that_a_key_opened() {
    let open = || {
        let mut chat = Chat::new(columns(80));
        chat.typed("half a thought").key("left").key("alt+m");
        assert_eq!((typed(&chat).as_str(), chat.state.draft().text.as_str()), ("/model ", "half a thought"));
        chat
    };
    for closes in ["esc", "ctrl+c"] {
        let mut chat = open();
        chat.key(closes).typed("!");
        assert_eq!(typed(&chat), "half a though!t", "{closes}");
    }
    let mut chat = open();
    chat.typed("son").key("esc");
    assert_eq!(typed(&chat), "half a thought");
    assert_eq!(
        chat.state.composer.history.search(""),
        ["/model son"],
        "what was typed for the list is not lost"
    );
    let mut chat = open();
    chat.take(found("")).key("enter");
    assert_eq!(chat.effects.last(), Some(&Effect::Command("/model sonnet".into())));
    assert_eq!(typed(&chat), "half a thought");
    // Nothing was being typed, and nothing stays.
    let mut chat = Chat::new(columns(80));
    let rewind = chat.state.options.commands.iter_mut().find(|command| command.name == "/rewind");
    rewind.expect("it is there").args = "[TURN]";
    chat.key("esc").key("esc");
    assert_eq!(typed(&chat), "/rewind ");
    chat.key("esc");
    assert_eq!(typed(&chat), "");
    // What somebody typed as a command stays what they typed.
    chat.typed("/model son").key("esc");
    assert_eq!(typed(&chat), "/model son");
}

/// NFR-007: the prompt of a turn that failed does not take the keys that answer, and is back behind the answer.
#[test]
fn a_loop_after_a_turn_that_failed() {
    for (key, yes) in [("y", true), ("n", false), ("enter", false)] {
        let mut chat = Chat::new(columns(80));
        chat.turn("two").take(Msg::TurnOver(TurnOver {
            outcome: Some(Outcome::Failed(ProviderFailure::new(FailureKind::HttpStatus, "HTTP 429"))),
            error: Some("HTTP 429".into()),
            details: None,
            ways_out: Vec::new(),
            context: 0,
            spent: Spent::NOTHING,
        }));
        assert_eq!(typed(&chat), "two");
        chat.take(Msg::Confirm(Confirm::new(What::Loop, "loop, turn 1 · Continue? [y/N]".into())));
        assert_eq!((typed(&chat).as_str(), chat.state.draft().text.as_str()), ("", "two"));
        chat.take(Msg::Drawn).wait(2000).key(key);
        assert_eq!(chat.effects.last(), Some(&Effect::Confirmed { what: What::Loop, yes }), "{key}");
        assert_eq!(typed(&chat), "two", "{key}");
    }
}

/// UI-36: what went into the turn is in sight until the model has read it.
#[test]
fn what_was_sent_into_a_turn() {
    let mut chat = Chat::new(columns(80));
    chat.turn("go").typed("use tabs").key("tab");
    let row = |chat: &Chat| rows(chat).iter().find(|row| row.starts_with('⏎')).cloned();
    assert_eq!(row(&chat).as_deref(), Some("⏎ sent in: use tabs"));
    chat.typed("then test").key("enter");
    let both = ["⏎ sent in: use tabs", "⏎ queued: then test · ↑ edits"];
    let waiting = |chat: &Chat| rows(chat).into_iter().filter(|row| row.starts_with('⏎')).collect::<Vec<_>>();
    assert_eq!(waiting(&chat), both);
    for text in ["three", "four"] {
        chat.typed(text).key("enter");
    }
    assert_eq!(waiting(&chat)[1..], ["⏎ queued: then test", "⏎ queued: three · +1 · ↑ edits"]);
    chat.event(EventKind::Turn(TurnEvent::Steered { text: "use tabs".into() }));
    assert_eq!(waiting(&chat).len(), 3);
    assert_eq!(waiting(&chat)[0], "⏎ queued: then test");
}

/// Alt-Up takes the newest message forward place by place, and Alt-Down back.
#[test]
fn the_queue_is_put_in_order() {
    let mut chat = Chat::new(columns(80));
    chat.turn("go");
    for text in ["one", "two", "three"] {
        chat.typed(text).key("enter");
    }
    let order = |chat: &Chat| {
        chat.state.queue.items.iter().map(|prompt| prompt.text.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order(chat.key("alt+up")), "one three two");
    assert_eq!(order(chat.key("alt+up")), "three one two");
    assert_eq!(order(chat.key("alt+up")), "three one two", "there is no place before the first");
    assert_eq!(order(chat.key("alt+down")), "one three two");
    assert_eq!(order(chat.key("left").key("alt+up")), "one two three", "it is the newest again");
}

/// KEY-6: Esc answers the question or stops the turn, and the status row says which.
#[test]
fn what_esc_does_under_a_question() {
    let mut chat = Chat::new(columns(80));
    chat.turn("clean").asks("rm -rf build", &[]).take(Msg::Drawn);
    chat.wait(2000);
    let says = |chat: &Chat, words: &str| rows(chat).iter().any(|row| row.ends_with(words));
    assert!(says(&chat, "Asking you · Esc: no"));
    chat.typed("x");
    assert!(says(&chat, "Asking you · Esc stops"));
    chat.key("tab");
    assert!(says(&chat, "Asking you · Esc: no"));
    chat.key("w");
    assert!(says(&chat, "Asking you · Esc goes back"));
}

/// The keys are listed in columns where there is room for them, and below each other elsewhere.
#[test]
fn the_list_of_keys() {
    for width in [120, 100, 80, 60, 40] {
        let mut chat = Chat::new(columns(width));
        let keys = CommandInfo { name: "/keys", own: Some(ScreenCommand::Keys), ..CommandInfo::NOTHING };
        chat.state.options.commands.push(keys);
        chat.typed("/keys").key("enter");
        let commits = chat.state.transcript.drain(width - 1);
        let shown: Vec<String> = commits.iter().map(|commit| commit.row.text()).collect();
        let at = shown.iter().position(|row| row.contains("ctrl+x ctrl+e")).expect("the editor has keys");
        match width {
            100 | 120 => assert_eq!(
                shown[at].split("  ").filter(|part| !part.is_empty()).collect::<Vec<_>>(),
                ["ctrl+g, ctrl+x ctrl+e", "Edit the draft in $VISUAL or $EDITOR", "editor"]
            ),
            40 => assert_eq!(
                shown[at..at + 3],
                ["  ctrl+g, ctrl+x ctrl+e", "    Edit the draft in $VISUAL or", "    $EDITOR  editor"]
            ),
            _ => {}
        }
        assert!(shown[at..].iter().all(|row| row.is_empty() || row.starts_with("  ")), "{width}: {shown:#?}");
    }
}

/// UI-36: the search through older messages leaves what was being typed as it was, or makes it an older message; images stay.
#[test]
fn a_search_loses_nothing() {
    const PNG: &[u8] =
        b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\
        \x08\x02\x00\x00\x00\x90\x77\x53\xde\x00\x00\x00\x0c\x49\x44\x41\x54\x78\x9c\x63\x60\x60\x60\x00\
        \x00\x00\x04\x00\x01\xf6\x17\x38\x55\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";
    let search = |keys: &[&str]| {
        let mut chat = Chat::new(columns(80));
        chat.typed("older").key("enter").typed("half a thought");
        chat.state.composer.attach(Image::parse(PNG.to_vec()).expect("it is an image"));
        chat.key("ctrl+r").typed("old");
        keys.iter().for_each(|key| _ = chat.key(key));
        let images = chat.state.composer.buffer.images();
        (typed(&chat), images, chat.state.composer.history.search("").join("|"))
    };
    let as_it_was = ("half a thought".to_owned(), 1, "older".to_owned());
    for closes in ["esc", "ctrl+c"] {
        assert_eq!(search(&[closes]), as_it_was, "{closes}");
    }
    assert_eq!(search(&["x", "enter"]), as_it_was, "nothing was found");
    assert_eq!(search(&["enter"]), ("older".to_owned(), 1, "half a thought|older".to_owned()));
}

/// A message of which nothing comes does not keep those behind it.
#[test]
fn what_stands_behind_nothing() {
    let mut chat = Chat::new(columns(80));
    let rerun =
        CommandInfo { name: "/rerun", waits: true, own: Some(ScreenCommand::Rerun), ..CommandInfo::NOTHING };
    chat.state.options.commands.push(rerun);
    chat.turn("go").typed("/rerun 9").key("enter").typed("then this").key("enter");
    chat.effects.clear();
    chat.take(Msg::TurnOver(TurnOver {
        outcome: Some(Outcome::Completed(StopReason::EndTurn)),
        error: None,
        details: None,
        ways_out: Vec::new(),
        context: 0,
        spent: Spent::NOTHING,
    }));
    assert!(chat.effects.contains(&Effect::Prompt("then this".into())), "{:?}", chat.effects);
    assert!(chat.state.queue.items.is_empty());
}
