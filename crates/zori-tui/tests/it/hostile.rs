//! SAF-6, test row 10: whatever is in the texts of others, a terminal gets our own sequences and harmless characters only.

use proptest::prelude::*;
use zori_core::cost::Spent;
use zori_core::event::{EventKind, Notice, NoticeLevel};
use zori_core::outcome::Outcome;
use zori_core::provider::StopReason;
use zori_core::tool::{ToolCode, ToolKind, ToolOutput};
use zori_tui::clean::CleanText;
use zori_tui::completion::Item;
use zori_tui::terminal::modes;
use zori_tui::update::{Msg, TurnOver};

use crate::stage::{Chat, columns, edit, shell};

/// Text with everything a terminal would obey, hide or turn round.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z |*`#>-]{1,6}",
        1 => Just("\n".to_owned()),
        1 => Just("\x1b]52;c;aGk=\x07".to_owned()),
        1 => Just("\x1b]0;owned\x1b\\".to_owned()),
        1 => Just("\x1b[2J\x1b[3J\x1b[H\x1b[?1049h\x1bc".to_owned()),
        1 => Just("\x1b[31m".to_owned()),
        1 => Just("\r\x08\t\x00\x7f".to_owned()),
        1 => Just("\u{9b}2J\u{9d}0;x\u{9c}\u{85}".to_owned()),
        1 => Just("\u{202e}\u{2066}\u{200b}\u{feff}\u{ad}\u{e0041}".to_owned()),
        1 => Just("日本🚀é".to_owned()),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 1..10).prop_map(|pieces| pieces.concat())
}

/// Takes out the sequences a frame may have; returns what is left.
fn rest(frame: &str) -> String {
    let mut left = String::new();
    let mut rest = frame;
    while let Some(at) = rest.find('\x1b') {
        left.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = ["\x1b[?2026h", "\x1b[?2026l", "\x1b]133;A\x1b\\"];
        if let Some(known) = known.iter().find(|known| rest.starts_with(**known)) {
            rest = &rest[known.len()..];
            continue;
        }
        let body = rest.strip_prefix("\x1b[").unwrap_or_default();
        let end = body.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(0);
        assert!(body[end..].starts_with(['m', 'A', 'B', 'G', 'K', 'J']), "{rest:?} in {frame:?}");
        rest = &body[end + 1..];
    }
    left.push_str(rest);
    left
}

fn check(frame: &str) {
    for c in rest(frame).chars() {
        let harmless = !c.is_control() || matches!(c, '\r' | '\n');
        let hides = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e007f}');
        assert!(harmless && !hides, "{c:?} in {frame:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn nothing_of_others_is_obeyed(text in hostile(), width in 20_u16..120) {
        let mut chat = Chat::new(columns(width));
        chat.state.facts.branch = Some(text.clone());
        chat.state.facts.folder.clone_from(&text);
        chat.state.facts.model.clone_from(&text);
        chat.state.facts.title = Some(text.clone());
        let mut frames = vec![chat.frame()];
        chat.turn(&text).thinks(&text);
        frames.push(chat.frame());
        chat.says(&text).says(&format!("\n\n```{text}\n{text}\n```\n\n| {text} | b |\n|---|---|\n| {text} | c |\n\n[{text}]({text})\n\n{text}"));
        frames.push(chat.frame());
        chat.calls(ToolKind::Bash, &serde_json::json!({ "command": text }).to_string()).prints(&text).wait(1000);
        frames.push(chat.frame());
        chat.ends(ToolKind::Bash, shell(&text, 1), 5);
        chat.calls(ToolKind::Edit, &serde_json::json!({ "path": text }).to_string());
        chat.ends(ToolKind::Edit, edit(&text, &text, &format!("{text}x")), 5);
        chat.calls(ToolKind::Fetch, &serde_json::json!({ "url": text }).to_string());
        chat.ends(ToolKind::Fetch, ToolOutput::failure(ToolCode::FetchError, text.clone()), 5);
        frames.push(chat.frame());
        let notice = Notice { level: NoticeLevel::Warning, code: "x", text: text.clone() };
        chat.event(EventKind::Notice(notice));
        chat.asks(&text, &[(&text, &text)]);
        frames.push(chat.frame());
        chat.wait(2000).key("e");
        frames.push(chat.frame());
        let over = TurnOver {
            outcome: Some(Outcome::Completed(StopReason::EndTurn)),
            error: Some(text.clone()),
            details: Some(text.clone()),
            ways_out: vec![text.clone()],
            context: 0,
            spent: Spent::NOTHING,
        };
        chat.take(Msg::TurnOver(over));
        chat.state.transcript.error(&text, std::slice::from_ref(&text));
        chat.typed("/model x");
        let items = vec![Item { text: text.clone(), args: text.clone(), about: text.clone(), label: None }];
        chat.take(Msg::Found { word: "x".into(), items, of: 1, all: 1, pending: false });
        frames.push(chat.frame());
        chat.key("esc").take(Msg::Term(zori_tui::terminal::decode::TermEvent::Paste(text.clone())));
        chat.take(Msg::TurnBegins(text.as_str().into())).key("enter");
        frames.push(chat.frame());
        frames.iter().for_each(|frame| check(frame));
        let title = modes::title(&CleanText::from(chat.state.title()));
        let inner = title.strip_prefix("\x1b]2;").and_then(|title| title.strip_suffix("\x1b\\")).expect("it is a title");
        prop_assert!(!inner.contains(char::is_control), "{inner:?}");
    }
}
