//! The chat as rows that are only appended (ACC-1): the rows of the screen, and what a turn does in words.

use zori_core::tool::ToolKind;
use zori_tui::plain::PlainChat;
use zori_tui::state::{Facts, Options, State};
use zori_tui::terminal::inline::Voice;

use crate::stage::{Chat, columns, edit, shell};

/// Takes out what has come, as `voice row`.
fn rows(plain: &mut PlainChat, chat: &mut Chat) -> Vec<String> {
    std::mem::swap(&mut plain.state, &mut chat.state);
    let rows = plain.drain();
    std::mem::swap(&mut plain.state, &mut chat.state);
    let voice = |voice| match voice {
        Voice::Prompt | Voice::User => "user",
        Voice::Answer => "answer",
        Voice::Words => "words",
        Voice::Gap => "gap",
    };
    rows.iter().map(|commit| format!("{} {}", voice(commit.voice), commit.row.text())).collect()
}

#[test]
fn a_turn_in_words() {
    let mut chat = Chat::new(columns(80));
    let mut plain = PlainChat::new(State::new(columns(80), Options::default(), Facts::default()), "");
    rows(&mut plain, &mut chat);
    chat.turn("fix it");
    assert_eq!(rows(&mut plain, &mut chat), ["user › fix it", "words ✶ Waiting for opus-5-5 · Ctrl-C stops"]);
    chat.says("I look");
    assert_eq!(rows(&mut plain, &mut chat), [""; 0], "an answer that comes at once says so itself");
    chat.wait(1000).says(".");
    assert_eq!(rows(&mut plain, &mut chat), ["words ✶ Answering"]);
    chat.calls(ToolKind::Edit, r#"{"path":"calc.py"}"#);
    assert_eq!(rows(&mut plain, &mut chat), ["answer I look.", "words ✶ Running Edit calc.py  #1"]);
    chat.ends(ToolKind::Edit, edit("calc.py", "a - b\n", "a + b\n"), 3);
    chat.calls(ToolKind::Bash, r#"{"command":"make"}"#);
    assert_eq!(
        rows(&mut plain, &mut chat),
        [
            format!("words {:<72}3ms  #1", "● Edit calc.py  +1 -1").as_str(),
            "words     1 - a - b",
            "words     1 + a + b",
            "words ✶ Running $ make  #2"
        ]
    );
    chat.prints("one\n").wait(5000);
    assert_eq!(rows(&mut plain, &mut chat), [""; 0], "nothing moves");
    chat.ends(ToolKind::Bash, shell("one\n", 0), 40);
    assert_eq!(
        rows(&mut plain, &mut chat),
        [format!("words {:<62}exit 0 · 40ms  #2", "● $ make").as_str(), "words   one"]
    );
}
