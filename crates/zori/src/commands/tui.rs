//! `tui`: the panel itself is in `screen/panel.rs`.

use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_contract::mode::{Class, Format};

use super::{example, own_streams};
use zori_chat::chat;
use zori_setup::app::App;
use zori_setup::args::flags;

/// The entry: everything a chat takes.
pub const COMMAND: Command<App> = Command {
    flags: flags::WITH_CHAT.split_first().expect("the prompt is the first").1,
    args: const { &[flags::FIRST_PROMPT] },
    rules: super::chat::RECORDING,
    danger: Danger::Mutating,
    class: Class::Interactive,
    formats: &[("plain", Format::Plain)],
    // There may be no session to go on with, and a file that exists.
    exits: &[Exit::NotFound, Exit::Conflict],
    timeout_ms: None,
    examples: &[
        example("open the panel in this folder", "zori tui"),
        example("with the first prompt", "zori tui \"why does the test fail?\""),
        example("go on with the newest session of this folder", "zori tui -c"),
    ],
    declares: super::exec::DECLARES,
    ..Command::new(&["tui"], "Open the full-screen panel: chats in tabs, cards, feed, themes", |cx, args| {
        own_streams(cx, args, chat::panel)
    })
};
