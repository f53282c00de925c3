//! `mcp serve`: the server is in `mcp_serve.rs`; `mcp validate` checks it.

mod drift;
pub mod validate;

use zori_contract::command::Command;
use zori_contract::exit::Danger;
use zori_contract::mode::{Class, Format};

use super::{example, own_streams};
use crate::args::flags;
use crate::mcp_serve;
use crate::program::App;

/// The entry. Other agents start it.
pub const SERVE: Command<App> = Command {
    flags: const { &[flags::TRUST_WORKSPACE] },
    danger: Danger::Mutating,
    class: Class::Protocol,
    formats: &[("plain", Format::Plain)],
    timeout_ms: None,
    examples: &[
        example("what another agent is told to start", "zori mcp serve"),
        example(
            "for another folder, with nothing that changes",
            "zori mcp serve --root ../lib --permission-mode plan",
        ),
    ],
    declares: super::exec::DECLARES,
    ..Command::new(
        &["mcp", "serve"],
        "Serve tools, and whole turns, by the Model Context Protocol on standard input and output",
        |cx, args| own_streams(cx, args, mcp_serve::run),
    )
};
