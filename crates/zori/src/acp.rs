//! `zori acp`: editors drive sessions by the Agent Client Protocol on standard input and output.
//!
//! One thread and one runtime for everybody: this file reads lines and hands what they ask for to `acp/desk.rs`, which
//! knows the sessions; each session is a task (`acp/seat.rs`) with an engine of its own. What the messages look like is
//! `zori-acp`'s business, `docs/protocols/acp.md` says what they mean here.

mod desk;
mod seat;
mod words;

use tokio::sync::mpsc;
use tokio::task::LocalSet;
use zori_acp::{Me, Outlet, Peer};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_policy::mode::Protocol;

use crate::acp::desk::Desk;
use crate::args::LowArgs;
use crate::commands::Cx;
use crate::signals::Signals;
use crate::stdin::{Line, Lines};
use crate::terminal;
use crate::wire_up;
use crate::workers::Workers;

/// The one way to a key that `authenticate` knows.
pub(crate) const LOGIN: &str = "key";

/// Serves the editor until it hangs up.
pub fn run(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel)?;
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
    let me = Me { name, version: env!("CARGO_PKG_VERSION"), auth: (LOGIN, "Key or login", auth) };
    let peer = Peer::new(Outlet::new(Box::new(terminal::stdout()?)), me);
    let lines = Lines::new(Workers::new(args.bare, cx.ui));
    let (told, heard) = mpsc::channel(16);
    let listening = signals.listen(told);
    let exit = LocalSet::new().block_on(&runtime, serve(cx, args, &peer, lines, heard));
    drop(listening);
    signals.leave();
    // A blocking thread that still reads a slow disk must not keep the program from ending.
    runtime.shutdown_background();
    signals.die_of_hangup();
    Ok(signals.ending().unwrap_or(exit))
}

async fn serve(
    cx: &mut Cx<'_>,
    args: &LowArgs,
    peer: &Peer,
    mut lines: Lines,
    mut signalled: mpsc::Receiver<Input>,
) -> Exit {
    let mut desk = Desk::new(peer.clone(), LowArgs { protocol: Some(Protocol::Own), ..args.clone() });
    let mut exit = Exit::Success;
    loop {
        let line = tokio::select! {
            biased;
            // What ends the program comes before what it is asked.
            Some(Input::Cancel(cause)) = signalled.recv() => {
                exit = if cause == CancelCause::User { Exit::Interrupted } else { Exit::Terminated };
                desk.cancel_all();
                break;
            }
            // A reader that is gone is found out by a turn that writes.
            cut_off = desk.turn_over() => match peer.is_closed() {
                true => {
                    exit = if cut_off { Exit::General } else { Exit::Success };
                    break;
                }
                false => continue,
            },
            line = lines.next() => line,
        };
        match line.map(Line::text) {
            Some(Ok(text)) => {
                if let Some(request) = peer.take(&text) {
                    desk.serve(cx, request).await;
                }
            }
            Some(Err(why)) => peer.unreadable(&why),
            None => {
                // Turns go on to their ends; what would be asked is denied (IO-3).
                peer.hung_up();
                tokio::select! {
                    cut_off = desk.finish() => {
                        if cut_off && peer.is_closed() {
                            exit = Exit::General;
                        }
                    }
                    Some(Input::Cancel(cause)) = signalled.recv() => {
                        exit = if cause == CancelCause::User { Exit::Interrupted } else { Exit::Terminated };
                        desk.cancel_all();
                    }
                    // An editor that is gone altogether waits for nothing.
                    () = terminal::reader_gone() => {
                        desk.cancel_all();
                        if desk.finish().await {
                            exit = Exit::General;
                        }
                    }
                }
                break;
            }
        }
    }
    peer.hung_up();
    desk.cancel_all();
    desk.finish().await;
    exit
}
