//! Test row 5 of the contract: each key in each state, and what comes of it.

use zori_tui::keymap::Action;
use zori_tui::update::{Effect, Msg};

use crate::stage::{Chat, columns};

/// A state: its name, and what leads to it.
type Scene = (&'static str, fn(&mut Chat));

const STATES: &[Scene] = &[
    ("idle", |_| {}),
    ("draft", |chat| _ = chat.typed("one two").key("left")),
    ("list", |chat| _ = chat.typed("/re")),
    ("search", |chat| _ = chat.key("ctrl+r")),
    ("pager", |chat| _ = chat.key("ctrl+o")),
    ("keys", |chat| _ = chat.key("?")),
    ("turn", |chat| _ = chat.turn("go")),
    ("turn, draft", |chat| _ = chat.turn("go").typed("one")),
    ("turn, queue", |chat| _ = chat.turn("go").typed("one").key("enter")),
    ("stopping", |chat| _ = chat.turn("go").key("esc")),
    ("question", question),
    ("question, draft", |chat| {
        question(chat);
        chat.typed("x").wait(2000);
    }),
    ("reason", |chat| {
        question(chat);
        chat.key("w").typed("no");
    }),
];

fn question(chat: &mut Chat) {
    chat.turn("go").asks("rm -rf build", &[("these words", "Bash(rm -rf build)")]);
    chat.take(Msg::Drawn);
    chat.wait(2000);
}

/// What a key did, in a few words: what has to be done, and what is open and typed now.
fn came_of(chat: &mut Chat) -> String {
    let mut parts: Vec<String> = std::mem::take(&mut chat.effects)
        .into_iter()
        .filter(|effect| !matches!(effect, Effect::Keep(_) | Effect::LookAround))
        .map(|effect| match format!("{effect:?}") {
            long if long.len() > 60 && !long.starts_with("Prompt(") => {
                long[..long.find(['(', ' ', '{']).unwrap_or(60)].to_owned()
            }
            short => short,
        })
        .collect();
    let state = &chat.state;
    let open = [
        (state.completion.is_some(), "list"),
        (state.search.is_some(), "search"),
        (state.pager.is_some(), "pager"),
        (state.shortcuts, "keys"),
        (!state.questions.is_empty(), "question"),
        (state.questions.front().is_some_and(|asked| asked.entered), "entered"),
        (state.questions.front().is_some_and(|asked| asked.because.is_some()), "reason"),
        (state.questions.front().is_some_and(|asked| asked.explained), "explained"),
        (state.leaving.is_some(), "leaving"),
        (state.queue.held, "held"),
    ];
    parts.extend(open.into_iter().filter(|(is, _)| *is).map(|(_, name)| name.to_owned()));
    let (text, cursor) = (state.composer.buffer.text(), state.composer.buffer.cursor());
    if !text.is_empty() {
        parts.push(format!("{:?}", format!("{}|{}", &text[..cursor], &text[cursor..])));
    }
    parts.extend(state.queue.items.iter().map(|prompt| format!("queued {:?}", prompt.text)));
    parts.extend(state.hint.iter().map(|hint| format!("says {:?}", hint.text)));
    parts.join(", ")
}

/// The keys of the table, and those that are text or answers.
fn keys() -> Vec<String> {
    let bound = Action::ALL.iter().map(|action| action.keys()[0].to_owned());
    bound.chain(["y", "n", "1", "x", "?"].map(str::to_owned)).collect()
}

#[test]
fn each_key_in_each_state() {
    let mut table = String::new();
    for (name, scene) in STATES {
        table.push_str(&format!("{name}\n"));
        for key in keys() {
            let mut chat = Chat::new(columns(100));
            scene(&mut chat);
            came_of(&mut chat);
            chat.wait(900);
            chat.key(&key);
            let came = came_of(&mut chat);
            // Whatever it was, the next frame can be drawn.
            chat.frame();
            let line = format!("  {key:<14}{came}");
            table.push_str(line.trim_end());
            table.push('\n');
        }
    }
    insta::assert_snapshot!("each_key_in_each_state", table);
}
