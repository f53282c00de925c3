//! `schedule run`: takes the slots of this project's jobs as they come and runs each as `exec` in a process of its own, so that a run
//! that fails takes nothing with it. Nobody is there to ask.

use std::time::Duration;

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::gate::Preview;
use zori_contract::mode::Verbosity;
use zori_contract::reply::Reply;

use super::{open, read, time};
use crate::commands::memory::{now, place_of};
use crate::commands::{Context, example};
use zori_chat::scheduler::{RunOutput, Runner, Waited};
use zori_setup::app::App;
use zori_setup::memory::unusable;

const ONCE: Flag = Flag::switch("once", "Run what is due now, and end");

/// How long a runner waits at most before it looks whether a job was added.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How often a run is looked after.
const TICK: Duration = Duration::from_millis(200);
/// How long a run that was asked to end may take.
const LAST_WORDS: Duration = Duration::from_secs(5);

pub const COMMAND: Command<App> = Command {
    flags: const { &[ONCE] },
    danger: Danger::Mutating,
    timeout_ms: None,
    examples: &[
        example("as long as it is not stopped", "zori schedule run"),
        example("what is due now, from a timer of the system", "zori schedule run --once"),
    ],
    preview: Some(|cx, _| {
        let jobs = read(cx)?.map(|store| store.jobs()).transpose().map_err(|error| unusable(&error))?;
        let now = now(cx);
        let due =
            jobs.unwrap_or_default().into_iter().filter(|job| job.next_run.is_some_and(|next| next <= now));
        Ok(Preview { verb: "run", items: due.map(|job| job.name).collect(), reversible: false })
    }),
    output_schema: r#"{"type":"object","required":["effect","runs"],"properties":{"runs":{"type":"array","x-ordered":true,
        "items":{"type":"object","required":["name","scheduled_for","status"]}}}}"#,
    declares: r#"{"has_network_io":true,
        "subprocess":{"binary":"zori","user_controlled_args":false,"hardcoded_args":["exec"]},"filesystem_side_effects":[
        {"path":"$ZORI_HOME/zori.db","type":"cache","clearable_with":"zori project purge"},
        {"path":"$ZORI_HOME/sessions","type":"log","clearable_with":"zori sessions rm"},
        {"path":"$ZORI_HOME/projects","type":"log","clearable_with":"zori project purge"},
        {"path":"the workspace","type":"config"}]}"#,
    ..Command::new(&["schedule", "run"], "Run the scheduled jobs of this project when they are due", run)
};

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let mut runs = Vec::new();
    let begun = now(cx);
    loop {
        cx.cancel.check()?;
        // A project without a database has no jobs, and gets none by looking.
        let (next, is_ahead) = match read(cx)? {
            Some(store) => {
                let next = store.next_due().map_err(|error| unusable(&error))?;
                (next, store.is_ahead(now(cx)).map_err(|error| unusable(&error))?)
            }
            None => (None, false),
        };
        // What becomes due meanwhile is left to the next call.
        let until = if args.has(&ONCE) { begun } else { now(cx) };
        let claim = match is_ahead || next.is_some_and(|next| next <= until) {
            true => open(cx)?.claim(now(cx)).map_err(|error| unusable(&error))?,
            false => None,
        };
        match claim {
            Some(claim) => {
                let runner = Runner {
                    env: cx.app.env.clone(),
                    place: place_of(cx)?,
                    output: RunOutput::Stderr,
                    grace: LAST_WORDS,
                };
                let (status, leaving) = runner.perform(&claim, || match cx.cancel.wait(TICK) {
                    Ok(()) => Waited::GoOn,
                    Err(_) => Waited::Stop,
                });
                open(cx)?.finish(&claim, &status, now(cx)).map_err(|error| unusable(&error))?;
                if let Some(leaving) = leaving {
                    leaving.wait(runner.grace);
                }
                cx.say(
                    Verbosity::Errors,
                    &format!("{} ({}): {status}", claim.job.name, time(claim.scheduled_for)),
                );
                cx.steps.done(&claim.job.name);
                runs.push(json!({"name": claim.job.name, "scheduled_for": time(claim.scheduled_for), "status": status}));
            }
            // Where no job will run there is nothing to wait for.
            None if args.has(&ONCE) || next.is_none() => break,
            None => {
                let until = next.map(|next| Duration::from_secs((next - now(cx)).max(0) as u64));
                cx.cancel.wait(until.map_or(LOOK_AGAIN, |until| until.clamp(TICK, LOOK_AGAIN)))?;
            }
        }
    }
    let text = match runs.len() {
        0 => "Nothing is due.".to_owned(),
        n => format!("Ran {n}"),
    };
    let effect = if runs.is_empty() { "noop" } else { "updated" };
    Ok(Reply::one(json!({"effect": effect, "runs": runs})).text(text))
}
