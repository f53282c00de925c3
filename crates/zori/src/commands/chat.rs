//! `chat`: the conversation itself is in `chat.rs`.

use zori_contract::command::{Command, Rule};
use zori_contract::exit::Danger;
use zori_contract::mode::{Class, Format};
use zori_host::Which;

use super::{AGENT_EXITS, example, exec, own_streams};
use zori_chat::chat;
use zori_setup::app::App;
use zori_setup::args::flags;

/// The entry; it is also what the bare call means at a terminal.
pub const COMMAND: Command<App> = Command {
    flags: flags::WITH_CHAT.split_first().expect("the prompt is the first").1,
    args: const { &[flags::FIRST_PROMPT] },
    rules: RECORDING,
    danger: Danger::Mutating,
    class: Class::Interactive,
    // A prompt is run as `-p` would (DECISIONS 49).
    without_terminal: |args| args.text(&flags::FIRST_PROMPT).is_some(),
    formats: &[("plain", Format::Plain)],
    // Without a terminal it is a run of one prompt.
    exits: AGENT_EXITS,
    timeout_ms: None,
    examples: &[
        example("talk about the project in this folder", "zori chat"),
        example("with the first prompt", "zori chat \"why does the test fail?\""),
        example("go on with the newest session of this folder", "zori chat -c"),
        example("with another model", "zori chat --model anthropic:claude-opus-4"),
    ],
    declares: exec::DECLARES,
    ..Command::new(&["chat"], "Chat with the model at a terminal", |cx, args| {
        own_streams(cx, args, |cx, args| match !cx.terminal.interactive() && args.prompt.text.is_some() {
            true => exec::one_turn(cx, args, Which::BySettings),
            false => chat::run(cx, args),
        })
    })
};

/// What `--record` and `--replay` have to do with each other.
pub(super) const RECORDING: &[Rule] = &[
    Rule::Excludes { flag: &flags::RECORD, other: &flags::REPLAY },
    Rule::Excludes { flag: &flags::RECORD, other: &flags::REPLAY_LENIENT },
    Rule::Needs { flag: &flags::REPLAY_LENIENT, value: None, other: &flags::REPLAY },
];
