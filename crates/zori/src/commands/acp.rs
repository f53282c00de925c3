//! `acp`: the protocol is in `acp.rs`.

use zori_contract::command::Command;
use zori_contract::exit::Danger;
use zori_contract::mode::{Class, Format};

use super::{example, own_streams};
use crate::acp;
use crate::args::flags;
use crate::program::App;

/// The entry. Editors start it; the folder, and what is said, come by the protocol.
pub const COMMAND: Command<App> = Command {
    flags: const { &[flags::TRUST_WORKSPACE] },
    danger: Danger::Mutating,
    class: Class::Protocol,
    formats: &[("plain", Format::Plain)],
    timeout_ms: None,
    examples: &[
        example("what an editor is told to start", "zori acp"),
        example(
            "with another model, and fewer questions",
            "zori acp --model anthropic:claude-opus-4 --permission-mode acceptEdits",
        ),
    ],
    declares: super::exec::DECLARES,
    ..Command::new(
        &["acp"],
        "Serve an editor by the Agent Client Protocol on standard input and output",
        |cx, args| own_streams(cx, args, acp::run),
    )
};
