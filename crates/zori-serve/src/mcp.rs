//! Other agents call our tools, and have us run whole turns, by the Model Context Protocol.
//!
//! A call of a tool is a turn without a model (`mcp/direct_call.rs`): the engine gets it as if a model had asked, so it
//! passes the same decision, hooks and audit log as every other. Calls are taken one after the other. What the messages
//! look like is `zori-mcp`'s business, `docs/protocols/mcp-server.md` says what they mean here.

mod call_peer;
mod direct_call;
mod mcp_host;

pub use self::mcp_host::McpHost;

use std::cell::Cell;
use std::net::TcpListener;
use std::rc::Rc;

use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_local;
use zori_contract::error::IO_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_core::tool::ToolSpec;
use zori_host::random_bytes;
use zori_mcp::{HttpGate, MessageWriter, ServerInfo, ToolCall};

use crate::signal_exit;
use crate::{Launcher, Lines};

/// The tool that runs a turn.
pub const PROMPT: &str = "prompt";

const PROMPT_ABOUT: &str = "Let zori, a coding agent of its own, work on a task in the root directory until it is done. \
     Returns its answer. It knows nothing of your conversation: say in the prompt all it needs.";

const PROMPT_SCHEMA: &str = r#"{"type":"object","properties":{"prompt":{"type":"string","description":"The task"},
    "session_id":{"type":"string","description":"Go on with this session of an earlier answer"}},
    "required":["prompt"],"additionalProperties":false}"#;

/// Serves until the client's lines end. `told` is the other end of `signalled`; `reader_gone` ends when nobody reads any
/// more.
pub async fn serve<L: Launcher>(
    launcher: &mut L,
    mut host: McpHost<L>,
    mut lines: impl Lines + 'static,
    writer: MessageWriter,
    told: mpsc::Sender<Input>,
    mut signalled: mpsc::Receiver<Input>,
    reader_gone: impl Future<Output = ()> + 'static,
) -> Result<Exit, Failure> {
    let offer = offer(launcher, &mut host)?;
    let (sender, read) = mpsc::channel(64);
    let gone = Rc::new(Cell::new(false));
    let gone_to = gone.clone();
    spawn_local(async move {
        while let Some(line) = lines.next().await {
            if sender.send(line).await.is_err() {
                return;
            }
        }
        drop(sender);
        // What was asked is still answered, unless the client is gone altogether and waits for nothing.
        reader_gone.await;
        gone_to.set(true);
        let _ = told.send(Input::Cancel(CancelCause::User)).await;
    });
    let (sender, mut calls) = mpsc::channel::<ToolCall>(64);
    let serving = spawn_local(zori_mcp::serve(offer, read, writer, sender));
    let ended = answer(launcher, &mut host, &mut calls, &mut signalled).await;
    let exit = match ended {
        Ended::Calls => Exit::Success,
        // A client that is gone between two calls has got all it asked for.
        Ended::Between(_) if gone.get() => Exit::Success,
        Ended::Amid(_) if gone.get() => Exit::General,
        Ended::Between(cause) | Ended::Amid(cause) => signal_exit(cause),
    };
    host.end(launcher).await;
    if exit != Exit::Success || gone.get() {
        return Ok(exit);
    }
    match serving.await {
        Ok(Err(why)) => {
            launcher.people().warn(format!("the client was not served to the end: {why}"));
            Ok(Exit::General)
        }
        Ok(Ok(())) | Err(_) => Ok(Exit::Success),
    }
}

/// Serves clients over HTTP until a signal ends it. The listener is bound.
pub async fn serve_http<L: Launcher>(
    launcher: &mut L,
    mut host: McpHost<L>,
    listener: TcpListener,
    gate: HttpGate,
    mut signalled: mpsc::Receiver<Input>,
) -> Result<Exit, Failure> {
    let offer = offer(launcher, &mut host)?;
    let (sender, mut calls) = mpsc::channel::<ToolCall>(64);
    let (stop, stopped) = watch::channel(());
    let serving = spawn_local(zori_mcp::serve_http(offer, listener, gate, sender, stopped));
    let ended = answer(launcher, &mut host, &mut calls, &mut signalled).await;
    drop((stop, calls));
    let served = serving.await;
    host.end(launcher).await;
    match (ended, served) {
        (Ended::Between(cause) | Ended::Amid(cause), _) => Ok(signal_exit(cause)),
        (Ended::Calls, Ok(Err(error))) => {
            Err(Failure::new(&IO_ERROR, format!("cannot serve over HTTP: {error}")))
        }
        (Ended::Calls, Ok(Ok(())) | Err(_)) => Ok(Exit::General),
    }
}

fn offer<L: Launcher>(launcher: &mut L, host: &mut McpHost<L>) -> Result<ServerInfo, Failure> {
    Ok(ServerInfo {
        name: launcher.name(),
        version: env!("CARGO_PKG_VERSION"),
        about: format!("Tools for files and commands below {}", host.root().display()),
        tools: host.tools(launcher)?.into_iter().chain([prompt_tool()]).collect(),
        secret,
    })
}

/// Returns a text that nobody can guess.
pub fn secret() -> String {
    random_bytes::<32>().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What ended the calls.
enum Ended {
    /// There are no more.
    Calls,
    /// A signal, while none was done.
    Between(CancelCause),
    /// A signal, and it ended one.
    Amid(CancelCause),
}

/// Does calls, one after the other.
async fn answer<L: Launcher>(
    launcher: &mut L,
    host: &mut McpHost<L>,
    calls: &mut mpsc::Receiver<ToolCall>,
    signalled: &mut mpsc::Receiver<Input>,
) -> Ended {
    loop {
        let call = tokio::select! {
            biased;
            Some(Input::Cancel(cause)) = signalled.recv() => return Ended::Between(cause),
            call = calls.recv() => call,
        };
        let Some(call) = call else { return Ended::Calls };
        if let Some(cause) = host.serve(launcher, call, signalled).await {
            return Ended::Amid(cause);
        }
    }
}

fn prompt_tool() -> ToolSpec {
    let schema = RawValue::from_string(PROMPT_SCHEMA.to_owned()).expect("the schema is JSON");
    ToolSpec { name: PROMPT.to_owned(), description: PROMPT_ABOUT.to_owned(), schema }
}
