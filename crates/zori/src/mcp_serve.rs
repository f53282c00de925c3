//! `zori mcp serve`: other agents call zori's tools, and have it run whole turns, by the Model Context Protocol.
//!
//! A call of a tool is a turn without a model (`mcp_serve/relay.rs`): the engine gets it as if a model had asked, so it
//! passes the same decision, hooks and audit log as every other. Calls are taken one after the other. What the messages
//! look like is `zori-mcp`'s business, `docs/protocols/mcp-server.md` says what they mean here.

mod bench;
mod relay;

use std::cell::Cell;
use std::rc::Rc;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_core::tool::ToolSpec;
use zori_mcp::{Call, Offer, Outlet};
use zori_policy::mode::Protocol;

use crate::args::LowArgs;
use crate::commands::Cx;
use crate::mcp_serve::bench::Bench;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::stdin::Lines;
use crate::terminal;
use crate::trust::Asks;
use crate::wire_up;
use crate::workers::Workers;

/// The tool that runs a turn.
pub(crate) const PROMPT: &str = "prompt";

const PROMPT_ABOUT: &str = "Let zori, a coding agent of its own, work on a task in the root directory until it is done. \
     Returns its answer. It knows nothing of your conversation: say in the prompt all it needs.";

const PROMPT_SCHEMA: &str = r#"{"type":"object","properties":{"prompt":{"type":"string","description":"The task"},
    "session_id":{"type":"string","description":"Go on with this session of an earlier answer"}},
    "required":["prompt"],"additionalProperties":false}"#;

/// Serves until standard input ends.
pub fn run(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel)?;
    let args = LowArgs { protocol: Some(Protocol::Own), ..args.clone() };
    let settings = Settings::resolve(cx, &args, &Asks::Nobody);
    signals.check()?;
    let bench = Bench::new(cx, settings?)?;
    if cx.terminal.stdin {
        let name = cx.profile.name;
        cx.ui.say(&format!(
            "`{name} mcp serve` is for other agents: it reads JSON-RPC from standard input; Ctrl-D ends it"
        ));
    }
    let lines = Lines::new(Workers::new(args.bare, cx.ui));
    let outlet = Outlet::new(Box::new(terminal::stdout()?));
    let runtime = wire_up::runtime()?;
    let (told, signalled) = mpsc::channel(16);
    let listening = signals.listen(told.clone());
    let served = LocalSet::new().block_on(&runtime, serve(cx, bench, lines, outlet, told, signalled));
    drop(listening);
    signals.leave();
    // A blocking thread that still reads a slow disk must not keep the program from ending.
    runtime.shutdown_background();
    signals.die_of_hangup();
    let exit = served?;
    Ok(signals.ending().unwrap_or(exit))
}

async fn serve(
    cx: &mut Cx<'_>,
    mut bench: Bench,
    mut lines: Lines,
    outlet: Outlet,
    told: mpsc::Sender<Input>,
    mut signalled: mpsc::Receiver<Input>,
) -> Result<Exit, Failure> {
    let offer = Offer {
        name: cx.profile.name,
        version: env!("CARGO_PKG_VERSION"),
        about: format!("Tools for files and commands below {}", bench.root().display()),
        tools: bench.tools(cx)?.into_iter().chain([prompt_tool()]).collect(),
    };
    let (sender, read) = mpsc::channel(64);
    let gone = Rc::new(Cell::new(false));
    let gone_to = gone.clone();
    spawn_local(async move {
        while let Some(line) = lines.next().await {
            if sender.send(line.text()).await.is_err() {
                return;
            }
        }
        drop(sender);
        // What was asked is still answered, unless the client is gone altogether and waits for nothing.
        terminal::reader_gone().await;
        gone_to.set(true);
        let _ = told.send(Input::Cancel(CancelCause::User)).await;
    });
    let (sender, mut calls) = mpsc::channel::<Call>(64);
    let serving = spawn_local(zori_mcp::serve(offer, read, outlet, sender));
    let mut exit = Exit::Success;
    loop {
        let call = tokio::select! {
            biased;
            Some(Input::Cancel(cause)) = signalled.recv() => {
                // A client that is gone between two calls has got all it asked for.
                exit = if gone.get() { Exit::Success } else { ended_by(cause) };
                break;
            }
            call = calls.recv() => call,
        };
        let Some(call) = call else { break };
        if let Some(cause) = bench.serve(cx, call, &mut signalled).await {
            exit = if gone.get() { Exit::General } else { ended_by(cause) };
            break;
        }
    }
    bench.end(cx).await;
    if exit != Exit::Success || gone.get() {
        return Ok(exit);
    }
    match serving.await {
        Ok(Err(why)) => {
            cx.ui.warn(&format!("the client was not served to the end: {why}"));
            Ok(Exit::General)
        }
        Ok(Ok(())) | Err(_) => Ok(Exit::Success),
    }
}

fn ended_by(cause: CancelCause) -> Exit {
    if cause == CancelCause::User { Exit::Interrupted } else { Exit::Terminated }
}

fn prompt_tool() -> ToolSpec {
    let schema = RawValue::from_string(PROMPT_SCHEMA.to_owned()).expect("the schema is JSON");
    ToolSpec { name: PROMPT.to_owned(), description: PROMPT_ABOUT.to_owned(), schema }
}
