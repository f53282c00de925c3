//! `acp`: the protocol is in `zori-serve`.

use tokio::sync::mpsc;
use tokio::task::LocalSet;
use zori_acp::{AcpClient, AgentInfo, MessageWriter};
use zori_contract::command::Command;
use zori_contract::error::IO_ERROR;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::mode::{Class, Format};
use zori_policy::mode::Protocol;
use zori_serve::acp::{self, LOGIN};

use super::{AgentCx, example, own_streams};
use crate::serving::Serving;
use zori_setup::app::App;
use zori_setup::args::{LowArgs, flags};
use zori_setup::signals::Signals;
use zori_setup::stdin::Lines;
use zori_setup::terminal;
use zori_setup::wire_up;
use zori_setup::workers::Workers;

/// Editors start it; the folder, and what is said, come by the protocol.
pub const COMMAND: Command<App> = Command {
    flags: const { &[flags::TRUST_WORKSPACE, flags::MCP_CONFIG, flags::STRICT_MCP_CONFIG] },
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
    standalone: true,
    ..Command::new(
        &["acp"],
        "Serve an editor by the Agent Client Protocol on standard input and output",
        |cx, args| own_streams(cx, args, run),
    )
};

/// Serves the editor until it hangs up.
fn run(cx: &mut AgentCx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let runtime = wire_up::runtime()?;
    let name = cx.profile.name;
    if cx.terminal.stdin {
        cx.ui.say(&format!(
            "`{name} acp` is for editors: it reads JSON-RPC from standard input; Ctrl-D ends it"
        ));
    }
    let auth = format!(
        "Set the key's environment variable, or run `{name} auth login` in a terminal, then try again"
    );
    let me = AgentInfo { name, version: env!("CARGO_PKG_VERSION"), auth: (LOGIN, "Key or login", auth) };
    let client = AcpClient::new(MessageWriter::new(Box::new(terminal::stdout()?)), me);
    let lines = Lines::new(Workers::new(args.bare, &cx.app, cx.ui));
    let (told, signalled) = mpsc::channel(16);
    let listening = signals.listen(told);
    let mut serving = Serving { cx, args: args.speaking(Protocol::Own) };
    let served = acp::serve(&mut serving, &client, lines, signalled, terminal::reader_gone());
    let exit = LocalSet::new().block_on(&runtime, served);
    drop(listening);
    signals.leave();
    // A blocking thread that still reads a slow disk must not keep the program from ending.
    runtime.shutdown_background();
    signals.die_of_hangup();
    if let Some(error) = client.take_failure() {
        return Err(Failure::new(&IO_ERROR, format!("cannot write to standard output: {error}")));
    }
    Ok(signals.ending().unwrap_or(exit))
}
