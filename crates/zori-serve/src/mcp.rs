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
use std::rc::Rc;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::spawn_local;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_core::tool::ToolSpec;
use zori_mcp::{MessageWriter, ServerInfo, ToolCall};

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
    let offer = ServerInfo {
        name: launcher.name(),
        version: env!("CARGO_PKG_VERSION"),
        about: format!("Tools for files and commands below {}", host.root().display()),
        tools: host.tools(launcher)?.into_iter().chain([prompt_tool()]).collect(),
    };
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
    let mut exit = Exit::Success;
    loop {
        let call = tokio::select! {
            biased;
            Some(Input::Cancel(cause)) = signalled.recv() => {
                // A client that is gone between two calls has got all it asked for.
                exit = if gone.get() { Exit::Success } else { signal_exit(cause) };
                break;
            }
            call = calls.recv() => call,
        };
        let Some(call) = call else { break };
        if let Some(cause) = host.serve(launcher, call, &mut signalled).await {
            exit = if gone.get() { Exit::General } else { signal_exit(cause) };
            break;
        }
    }
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

fn prompt_tool() -> ToolSpec {
    let schema = RawValue::from_string(PROMPT_SCHEMA.to_owned()).expect("the schema is JSON");
    ToolSpec { name: PROMPT.to_owned(), description: PROMPT_ABOUT.to_owned(), schema }
}
