//! Runs the tool calls of one reply: decided one after another, executed together, answered in call order.
//!
//! Calls that touch the same path, at least one of them writing, run one after another in call order; for front ends that
//! want it each call is decided and done before the next one is looked at. How a call is decided about is
//! `dispatch/approve.rs`.

mod approve;
mod live;

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use zori_core::cancel::Cancel;
use zori_core::confine::Consent;
use zori_core::event::{EventKind, ToolFinished, ToolRequested};
use zori_core::hook::{HookEvent, HookVerdict, Hooks, Moment, ToolMoment};
use zori_core::image::{Image, Sight};
use zori_core::input::{Input, PermissionUpdate};
use zori_core::message::{ToolCall, ToolInput, ToolResult};
use zori_core::outcome::CancelCause;
use zori_core::permission::{Decision, Judged, Verdict};
use zori_core::render::Sink;
use zori_core::time::Clock;
use zori_core::tool::{Effect, ResolvedCall, ToolCode, ToolCx, ToolKind, ToolOutput, Toolbox};
use zori_policy::Policy;
use zori_policy::call::HookAnswer;
use zori_policy::mode::Protocol;
use zori_policy::withheld::withheld;

use self::approve::Approved;
use self::live::{LiveQueue, Piece};
use crate::catch::Caught;
use crate::control::Control;
use crate::crew::Crew;
use crate::emitter::Emitter;
use crate::engine::{CallOrder, Modes};
use crate::hooks::{self, Said};
use crate::sight;
use crate::subagent::Nest;

/// What running calls needs of the engine.
pub(crate) struct Dispatch<'a, 'i, S> {
    pub(crate) toolbox: &'a dyn Toolbox,
    pub(crate) policy: &'a mut Policy,
    pub(crate) modes: &'a Modes,
    pub(crate) hooks: Option<&'a dyn Hooks>,
    /// What hooks told the model so far, and why one wants the turn to end.
    pub(crate) said: Vec<Said>,
    pub(crate) halt: Option<String>,
    /// Whether an answer wants the turn to end.
    pub(crate) interrupted: bool,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) emitter: &'a mut Emitter<S>,
    pub(crate) control: &'a mut Control<'i>,
    /// Whether the model sees an image.
    pub(crate) sees: &'a (dyn Fn(&Image) -> Sight + Sync),
    /// Whether output is told while a tool runs.
    pub(crate) live: bool,
    /// All agents of the session; only one of them asks at a time.
    pub(crate) crew: &'a Crew,
    /// What starts sub-agents.
    pub(crate) nest: Arc<Nest<S>>,
    /// What somebody let hold for the rest of the session.
    pub(crate) granted: &'a mut Vec<PermissionUpdate>,
    /// Which calls go together.
    pub(crate) order: CallOrder,
}

/// What became of the calls.
pub(crate) struct Dispatched {
    /// One result per call, in call order.
    pub(crate) results: Vec<ToolResult>,
    /// Whether a tool that changes something was started.
    pub(crate) effects: bool,
    /// For each call, in call order, whether it was denied.
    pub(crate) denied: Vec<bool>,
    /// What hooks tell the model.
    pub(crate) said: Vec<Said>,
    /// Why a hook wants the turn to end.
    pub(crate) halt: Option<String>,
    /// Set when the turn was cancelled meanwhile; the calls that were not done have a `canceled` result.
    pub(crate) cancelled: Option<CancelCause>,
}

/// A call on its way through the dispatcher.
struct Job<'c> {
    call: &'c ToolCall,
    kind: Option<ToolKind>,
    /// What can be run; `None` for a call that was answered without running.
    ready: Option<ResolvedCall>,
    output: Option<ToolOutput>,
    started: Option<Duration>,
    /// Why it may run.
    decision: Option<Decision>,
    /// What somebody was shown when they let it run.
    approved: Option<Approved>,
    /// When it was done, if that has not been told yet.
    done: Option<Duration>,
    /// Where its paths led when it was judged.
    judged: Judged,
    /// Who let it run.
    consent: Consent,
}

impl<S: Sink + 'static> Dispatch<'_, '_, S> {
    /// Runs all calls of one reply.
    pub(crate) async fn run(&mut self, calls: &[ToolCall]) -> Dispatched {
        let mut jobs = self.request(calls);
        let at_once = match self.order {
            CallOrder::Together => jobs.len().max(1),
            CallOrder::OneByOne => 1,
        };
        let (mut cancelled, mut effects) = (None, false);
        for group in jobs.chunks_mut(at_once) {
            cancelled = self.run_group(group, &mut effects).await.err();
            if cancelled.is_some() || self.emitter.stop().is_some() {
                break;
            }
        }
        for job in jobs.iter_mut().filter(|job| job.output.is_none()) {
            let canceled = "The call was canceled before it was done".to_owned();
            self.settle(job, self.toolbox.refuse(ToolCode::Canceled, canceled));
        }
        jobs.iter_mut().for_each(|job| self.announce(job));
        let denied = jobs.iter().map(Job::is_denied).collect();
        let results = jobs.into_iter().map(Job::into_result).collect();
        let (said, halt) = (std::mem::take(&mut self.said), self.halt.take());
        Dispatched { results, effects, denied, said, halt, cancelled }
    }

    /// Decides about some calls and runs those that may.
    async fn run_group(&mut self, jobs: &mut [Job<'_>], effects: &mut bool) -> Result<(), CancelCause> {
        let decided = self.approve(jobs).await;
        // What was said so far goes out before anything is done; when nobody takes it any more, nothing is.
        self.emitter.idle();
        decided?;
        if self.emitter.stop().is_some() {
            return Ok(());
        }
        let ready: Vec<_> = jobs.iter_mut().map(|job| job.ready.take()).collect();
        *effects |= ready.iter().flatten().any(|r| r.effects.iter().any(Effect::mutates));
        self.execute(jobs, &ready).await?;
        self.tell_results(jobs, &ready).await
    }

    /// Tells hooks of a call. Returns their verdict, and the input they want it to have.
    async fn tell(
        &mut self,
        moment: Moment<'_>,
    ) -> Result<(Option<HookAnswer>, Option<String>), CancelCause> {
        let (event, mode) = (moment.event(), self.policy.mode.mode.name_in(Protocol::Claude));
        let heard = hooks::tell(self.hooks, moment, mode, self.emitter, self.control).await?;
        self.said.extend(Said::all(event, heard.context));
        let answer = heard.verdict.map(|HookVerdict { verdict, reason }| HookAnswer { verdict, reason });
        let Some(why) = heard.halt else { return Ok((answer, heard.input)) };
        self.halt.get_or_insert_with(|| why.clone());
        Ok((Some(HookAnswer { verdict: Verdict::Deny, reason: why }), None))
    }

    /// Tells hooks how the calls went that have run, in call order, and everybody else after them. What a hook objects to
    /// has happened: the model is told.
    async fn tell_results(
        &mut self,
        jobs: &mut [Job<'_>],
        ready: &[Option<ResolvedCall>],
    ) -> Result<(), CancelCause> {
        for (job, ready) in jobs.iter_mut().zip(ready) {
            let (Some(ready), Some(output)) = (ready, &job.output) else { continue };
            let moment = Moment::PostToolUse { call: job.moment(ready), result: &output.envelope };
            if let (Some(HookAnswer { verdict: Verdict::Deny, reason }), _) = self.tell(moment).await? {
                self.said.extend(Said::all(HookEvent::PostToolUse, vec![reason]));
            }
            self.announce(job);
        }
        Ok(())
    }

    /// Returns whether hooks want to know how a call went before anybody else does.
    fn heard_first(&self, job: &Job<'_>, ready: &ResolvedCall, output: &ToolOutput) -> bool {
        let moment = Moment::PostToolUse { call: job.moment(ready), result: &output.envelope };
        self.hooks.is_some_and(|hooks| hooks.listens(&moment))
    }

    /// Resolves the calls and announces all of them before the first one runs.
    fn request<'c>(&mut self, calls: &'c [ToolCall]) -> Vec<Job<'c>> {
        let mut jobs: Vec<_> = calls.iter().map(|call| self.resolve(call)).collect();
        for job in &jobs {
            let effects = job.ready.as_ref().map_or_else(Vec::new, |ready| ready.effects.clone());
            let call = job.call.clone();
            self.emitter.emit(EventKind::ToolRequested(ToolRequested {
                call,
                kind: job.kind,
                effects,
                of: calls.len(),
            }));
        }
        for job in jobs.iter_mut() {
            if let Some(output) = job.output.take() {
                self.settle(job, output);
            }
        }
        jobs
    }

    fn resolve<'c>(&self, call: &'c ToolCall) -> Job<'c> {
        let resolved = match &call.input {
            ToolInput::Json(args) => self.toolbox.resolve(&call.name, args).map_err(ToolOutput::from),
            ToolInput::Malformed(_) => Err(self.toolbox.refuse(
                ToolCode::InvalidInput,
                "The arguments are not valid JSON, or were cut off. Nothing was executed. Send the call again with \
                 one complete JSON object."
                    .to_owned(),
            )),
        };
        let (kind, ready, output) = match resolved {
            Ok(ready) => (ready.tool.kind(), Some(ready), None),
            Err(output) => (None, None, Some(output)),
        };
        Job {
            call,
            kind,
            ready,
            output,
            started: None,
            decision: None,
            approved: None,
            done: None,
            judged: Judged::default(),
            consent: Consent::Rule,
        }
    }

    /// Runs what can be run, together where paths allow it. `Err` means cancelled: what still ran was dropped.
    async fn execute(
        &mut self,
        jobs: &mut [Job<'_>],
        ready: &[Option<ResolvedCall>],
    ) -> Result<(), CancelCause> {
        let blockers = blockers(ready);
        let mut live = self.live.then(LiveQueue::default);
        let mut running: Vec<(usize, Caught<'_>)> = Vec::new();
        loop {
            for (index, slot) in ready.iter().enumerate() {
                let Some(resolved) = slot else { continue };
                let job = &jobs[index];
                let free = blockers[index].iter().all(|&earlier| jobs[earlier].output.is_some());
                if job.output.is_some() || job.started.is_some() || !free {
                    continue;
                }
                let judged = match job.kind {
                    // It opens files that nobody has named.
                    Some(ToolKind::Grep) => {
                        let approved = job.consent == Consent::Person;
                        job.judged.clone().withholding(withheld(self.policy, approved))
                    }
                    _ => job.judged.clone(),
                };
                let cx = ToolCx {
                    call: job.call.id.clone(),
                    cancel: Cancel::new(),
                    consent: job.consent,
                    live: live.as_ref().map(|queue| queue.of(&job.call.id)),
                    agents: (job.kind == Some(ToolKind::Task))
                        .then(|| self.nest.agents(&job.call.id, self.policy)),
                    judged,
                };
                let name = job.call.name.as_str().into();
                let call = job.call.id.clone();
                let decision = jobs[index].decision.take().expect("only what was allowed is ready");
                self.emitter.emit(EventKind::ToolStarted { call, name, decision });
                jobs[index].started = Some(self.clock.elapsed());
                running.push((index, Caught(resolved.tool.run(cx, &resolved.args))));
            }
            if running.is_empty() {
                return Ok(());
            }
            self.emitter.idle();
            if self.emitter.stop().is_some() {
                // Nobody reads the results; the caller sees the same and ends the turn.
                self.crew.tell_all(&Input::Cancel(CancelCause::User));
                self.see_off(jobs, running).await;
                return Ok(());
            }
            let step = match self.control.until(next(&mut running, live.as_mut())).await {
                Ok(step) => step,
                Err(cause) => {
                    self.see_off(jobs, running).await;
                    return Err(cause);
                }
            };
            match step {
                Step::Done(index, output) => {
                    let output = sight::shown(output, self.sees);
                    let ready = ready[index].as_ref().expect("what runs was ready");
                    let job = &mut jobs[index];
                    let later = self.heard_first(job, ready, &output);
                    if let Some(live) = &live {
                        live.forget(&job.call.id);
                    }
                    job.done = Some(self.clock.elapsed());
                    job.output = Some(output);
                    if !later {
                        self.announce(job);
                    }
                }
                Step::Live(deltas) => {
                    for (call, stream, text) in deltas {
                        self.emitter.emit(EventKind::ToolOutputDelta { call, stream, text });
                    }
                }
            }
        }
    }

    /// Drops what still runs, but for sub-agents: they were told to end, and get to say what became of their calls.
    async fn see_off(&mut self, jobs: &mut [Job<'_>], mut running: Vec<(usize, Caught<'_>)>) {
        running.retain(|(index, _)| jobs[*index].kind == Some(ToolKind::Task));
        while !running.is_empty() {
            if let Step::Done(index, output) = next(&mut running, None).await {
                self.settle(&mut jobs[index], output);
            }
        }
    }

    /// Gives a call its one result, and says so.
    fn settle(&mut self, job: &mut Job<'_>, output: ToolOutput) {
        job.done = Some(self.clock.elapsed());
        job.output = Some(output);
        self.announce(job);
    }

    /// Says what came of a call, unless that was said.
    fn announce(&mut self, job: &mut Job<'_>) {
        let (Some(done), Some(output)) = (job.done.take(), &job.output) else { return };
        let todos = output.todos.clone();
        self.emitter.emit(EventKind::ToolFinished(ToolFinished {
            call: job.call.id.clone(),
            name: job.call.name.as_str().into(),
            kind: job.kind,
            output: output.clone(),
            duration: job.started.map(|start| done.saturating_sub(start)),
        }));
        if let Some(todos) = todos {
            self.emitter.emit(EventKind::TodosChanged { todos });
        }
    }
}

impl Job<'_> {
    fn moment<'a>(&'a self, ready: &'a ResolvedCall) -> ToolMoment<'a> {
        ToolMoment { id: &self.call.id, name: &self.call.name, kind: self.kind, args: &ready.args }
    }

    fn is_denied(&self) -> bool {
        let failure = self.output.as_ref().and_then(|output| output.failure.as_ref());
        failure.is_some_and(|failure| failure.code == ToolCode::PermissionDenied)
    }

    fn into_result(self) -> ToolResult {
        let output = self.output.expect("every job is settled before results are taken");
        ToolResult {
            call: self.call.id.clone(),
            name: self.call.name.clone(),
            ok: output.ok(),
            envelope: output.envelope,
            text: output.text,
            images: output.images,
        }
    }
}

/// For each call, the earlier ones that must be done before it starts.
fn blockers(ready: &[Option<ResolvedCall>]) -> Vec<Vec<usize>> {
    // For each path: who touched it so far, and whether by writing.
    let mut touched: HashMap<&Path, Vec<(usize, bool)>> = HashMap::new();
    ready
        .iter()
        .enumerate()
        .map(|(index, slot)| {
            let mut earlier = Vec::new();
            for effect in slot.iter().flat_map(|resolved| &resolved.effects) {
                let (path, writes) = match effect {
                    Effect::Read(path) => (path.as_path(), false),
                    Effect::Write(path) => (path.as_path(), true),
                    Effect::Exec { .. }
                    | Effect::Net { .. }
                    | Effect::Mcp { .. }
                    | Effect::Agent
                    | Effect::Memory
                    | Effect::Internal => continue,
                };
                let before = touched.entry(path).or_default();
                earlier.extend(before.iter().filter(|(i, w)| *i != index && (*w || writes)).map(|(i, _)| *i));
                before.push((index, writes));
            }
            earlier
        })
        .collect()
}

enum Step {
    Done(usize, ToolOutput),
    Live(Vec<Piece>),
}

/// Waits until one of the running calls is done, or has output to show.
async fn next(running: &mut Vec<(usize, Caught<'_>)>, mut live: Option<&mut LiveQueue>) -> Step {
    poll_fn(|cx| {
        for slot in 0..running.len() {
            if let Poll::Ready(output) = Pin::new(&mut running[slot].1).poll(cx) {
                let (index, _) = running.remove(slot);
                return Poll::Ready(Step::Done(index, output));
            }
        }
        match &mut live {
            Some(live) => live.poll(cx).map(Step::Live),
            None => Poll::Pending,
        }
    })
    .await
}
