//! `mcp serve`: the server is in `zori-serve`; `mcp validate` checks it.

mod drift;
mod listen;
pub mod login;
pub mod servers;
pub mod tools;
pub mod validate;

use std::net::SocketAddr;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::mode::{Class, Format};
use zori_mcp::{HttpGate, MessageWriter};
use zori_policy::mode::Protocol;
use zori_serve::Launcher;
use zori_serve::mcp::{self, McpHost};

use super::{AgentCx, example, own_streams};
use crate::serving::Serving;
use zori_setup::app::App;
use zori_setup::args::{LowArgs, flags};
use zori_setup::signals::Signals;
use zori_setup::stdin::Lines;
use zori_setup::terminal;
use zori_setup::wire_up;
use zori_setup::workers::Workers;

/// Other agents start it.
pub const SERVE: Command<App> = Command {
    flags: const { &[listen::HTTP, listen::ALLOW_REMOTE, flags::TRUST_WORKSPACE] },
    rules: listen::RULES,
    validate: listen::validate,
    danger: Danger::Mutating,
    class: Class::Protocol,
    formats: &[("plain", Format::Plain)],
    timeout_ms: None,
    examples: &[
        example("what another agent is told to start", "zori mcp serve"),
        example("for clients that do not start it", "zori mcp serve --http 127.0.0.1:4242"),
        example(
            "for another folder, with nothing that changes",
            "zori mcp serve --root ../lib --permission-mode plan",
        ),
    ],
    declares: super::exec::DECLARES,
    ..Command::new(
        &["mcp", "serve"],
        "Serve tools, and whole turns, by the Model Context Protocol on standard input and output, or over HTTP",
        |cx, args| {
            let address = listen::address(args);
            own_streams(cx, args, |cx, args| match address {
                Some(address) => run_http(cx, args, address),
                None => run(cx, args),
            })
        },
    )
};

/// Serves until standard input ends.
fn run(cx: &mut AgentCx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let mut serving = Serving { cx, args: args.speaking(Protocol::Own) };
    let resolved = serving.resolve(None);
    signals.check()?;
    let host = McpHost::new(&serving, resolved?)?;
    let AgentCx { profile, app, terminal: streams, ui, .. } = &mut *serving.cx;
    if streams.stdin {
        let name = profile.name;
        ui.say(&format!(
            "`{name} mcp serve` is for other agents: it reads JSON-RPC from standard input; Ctrl-D ends it"
        ));
    }
    let lines = Lines::new(Workers::new(args.bare, app, ui));
    let writer = MessageWriter::new(Box::new(terminal::stdout()?));
    let runtime = wire_up::runtime()?;
    let (told, signalled) = mpsc::channel(16);
    let listening = signals.listen(told.clone());
    let served = mcp::serve(&mut serving, host, lines, writer, told, signalled, terminal::reader_gone());
    let served = LocalSet::new().block_on(&runtime, served);
    drop(listening);
    leave(&signals, runtime, served)
}

/// Serves over HTTP until a signal ends it.
fn run_http(cx: &mut AgentCx<'_>, args: &LowArgs, address: SocketAddr) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let token = listen::Token::find(&cx.app.env)?;
    let listener = listen::bind(address)?;
    let mut serving = Serving { cx, args: args.speaking(Protocol::Own) };
    let resolved = serving.resolve(None);
    signals.check()?;
    let host = McpHost::new(&serving, resolved?)?;
    listen::announce(serving.cx, &listener, &token)?;
    let gate = HttpGate { token: token.text, loopback: address.ip().is_loopback() };
    let runtime = wire_up::runtime()?;
    let (told, signalled) = mpsc::channel(16);
    let listening = signals.listen(told);
    let served = mcp::serve_http(&mut serving, host, listener, gate, signalled);
    let served = LocalSet::new().block_on(&runtime, served);
    drop(listening);
    leave(&signals, runtime, served)
}

fn leave(signals: &Signals, runtime: Runtime, served: Result<Exit, Failure>) -> Result<Exit, Failure> {
    signals.leave();
    // A blocking thread that still reads a slow disk must not keep the program from ending.
    runtime.shutdown_background();
    signals.die_of_hangup();
    let exit = served?;
    Ok(signals.ending().unwrap_or(exit))
}
