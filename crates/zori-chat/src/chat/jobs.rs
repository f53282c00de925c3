//! The jobs of the project that a chat is in: what runs them, and what does so when the chat goes on elsewhere.

use crate::scheduler::Scheduler;
use zori_setup::agent_cx::AgentCx;
use zori_setup::schedule::Jobs;
use zori_setup::settings::RunSettings;
use zori_setup::signals::Signals;
use zori_setup::wire_up::Prepared;
use zori_setup::workers::Workers;

/// Starts what runs the jobs of the project while the chat is open.
pub(super) fn scheduler(
    cx: &mut AgentCx<'_>,
    signals: &Signals,
    prepared: &Prepared,
    run: &RunSettings,
) -> Option<Scheduler> {
    let workers = Workers::new(run.bare, &cx.app, cx.ui);
    Scheduler::start(cx, signals, &workers, jobs(cx, prepared, run)?)
}

/// Returns what finds the jobs of the project, if a chat may run them.
pub(super) fn jobs(
    cx: &AgentCx<'_>,
    prepared: &Prepared,
    run: &RunSettings,
) -> Option<impl FnOnce() -> Jobs + Send + 'static + use<>> {
    let base = run.base.clone().filter(|_| run.may_run_jobs)?;
    let (root, env) = (prepared.host.settings.workspace.root.clone(), cx.app.env.clone());
    Some(move || Jobs::of(&base, &root, &env))
}

/// Goes on with the jobs of the project that the chat is in now.
pub(super) fn scheduler_elsewhere(
    cx: &mut AgentCx<'_>,
    signals: &Signals,
    before: Option<Scheduler>,
    prepared: &Prepared,
    run: &RunSettings,
) -> Option<Scheduler> {
    match (before, jobs(cx, prepared, run)) {
        (Some(before), Some(jobs)) => {
            let workers = Workers::new(run.bare, &cx.app, cx.ui);
            before.start_elsewhere(cx, signals, &workers, jobs)
        }
        (None, Some(_)) => scheduler(cx, signals, prepared, run),
        (_, None) => None,
    }
}
