//! `mcp serve`: the server is in `zori-serve`; `mcp validate` checks it.

mod drift;
pub mod validate;

use tokio::sync::mpsc;
use tokio::task::LocalSet;
use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::mode::{Class, Format};
use zori_mcp::MessageWriter;
use zori_policy::mode::Protocol;
use zori_serve::Launcher;
use zori_serve::mcp::{self, McpHost};

use super::{AgentCx, example, own_streams};
use crate::args::{LowArgs, flags};
use crate::program::App;
use crate::serving::Serving;
use crate::signals::Signals;
use crate::stdin::Lines;
use crate::terminal;
use crate::wire_up;
use crate::workers::Workers;

/// Other agents start it.
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
        |cx, args| own_streams(cx, args, run),
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
    signals.leave();
    // A blocking thread that still reads a slow disk must not keep the program from ending.
    runtime.shutdown_background();
    signals.die_of_hangup();
    let exit = served?;
    Ok(signals.ending().unwrap_or(exit))
}
