//! Editors drive sessions by the Agent Client Protocol.
//!
//! One thread and one runtime for everybody: this file reads lines and hands what they ask for to `acp/registry.rs`, which
//! knows the sessions; each session is a task (`acp/session_task.rs`) with an engine of its own. What the messages look like is
//! `zori-acp`'s business, `docs/protocols/acp.md` says what they mean here.

mod forms;
mod registry;
mod session_task;
mod slash;

use tokio::sync::mpsc;
use zori_acp::AcpClient;
use zori_contract::exit::Exit;
use zori_core::input::Input;

use self::registry::SessionRegistry;
use crate::signal_exit;
use crate::{Launcher, Lines};

/// The one way to a key that `authenticate` knows.
pub const LOGIN: &str = "key";

/// Serves the editor until it hangs up. `signalled`: signals; `reader_gone`: ends when nobody reads any more.
pub async fn serve<L: Launcher>(
    launcher: &mut L,
    peer: &AcpClient,
    mut lines: impl Lines,
    mut signalled: mpsc::Receiver<Input>,
    reader_gone: impl Future<Output = ()>,
) -> Exit {
    let mut registry = SessionRegistry::new(peer.clone());
    let mut exit = Exit::Success;
    loop {
        let line = tokio::select! {
            biased;
            // What ends the program comes before what it is asked.
            Some(Input::Cancel(cause)) = signalled.recv() => {
                exit = signal_exit(cause);
                registry.cancel_all();
                break;
            }
            // A reader that is gone is found out by a turn that writes.
            cut_off = registry.turn_over() => match peer.is_closed() {
                true => {
                    exit = if cut_off { Exit::General } else { Exit::Success };
                    break;
                }
                false => continue,
            },
            line = lines.next() => line,
        };
        match line {
            Some(Ok(text)) => {
                if let Some(request) = peer.handle_line(&text) {
                    registry.serve(launcher, request).await;
                }
            }
            Some(Err(why)) => peer.reject_line(&why),
            None => {
                // Turns go on to their ends; what would be asked is denied (IO-3).
                peer.disconnect();
                tokio::select! {
                    cut_off = registry.finish() => {
                        if cut_off && peer.is_closed() {
                            exit = Exit::General;
                        }
                    }
                    Some(Input::Cancel(cause)) = signalled.recv() => {
                        exit = signal_exit(cause);
                        registry.cancel_all();
                    }
                    // An editor that is gone altogether waits for nothing.
                    () = reader_gone => {
                        registry.cancel_all();
                        if registry.finish().await {
                            exit = Exit::General;
                        }
                    }
                }
                break;
            }
        }
    }
    peer.disconnect();
    registry.cancel_all();
    registry.finish().await;
    exit
}
