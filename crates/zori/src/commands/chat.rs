//! `chat`: the conversation itself is in `chat.rs`.

use zori_contract::command::{Command, Rule};
use zori_contract::exit::{Danger, Exit};
use zori_contract::mode::{Class, Format};

use super::{example, own_streams};
use crate::args::flags;
use crate::chat;
use crate::program::App;

/// The entry; it is also what the bare call means at a terminal.
pub const COMMAND: Command<App> = Command {
    flags: flags::PROMPT.split_first().expect("the prompt is the first").1,
    rules: RECORDING,
    danger: Danger::Mutating,
    class: Class::Interactive,
    formats: &[("plain", Format::Plain)],
    exits: &[Exit::Conflict],
    timeout_ms: None,
    examples: &[
        example("talk about the project in this folder", "zori chat"),
        example("with another model", "zori chat --model anthropic:claude-opus-4"),
    ],
    declares: super::exec::DECLARES,
    ..Command::new(&["chat"], "Chat with the model at a terminal", |cx, args| {
        own_streams(cx, args, chat::run)
    })
};

/// What `--record` and `--replay` have to do with each other.
pub(super) const RECORDING: &[Rule] = &[
    Rule::Excludes { flag: "record", other: "replay" },
    Rule::Excludes { flag: "record", other: "replay-lenient" },
    Rule::Needs { flag: "replay-lenient", value: None, other: "replay" },
];
