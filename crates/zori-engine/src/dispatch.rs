//! Runs the tool calls of one reply: decided one after another, executed together, answered in call order.
//!
//! Calls that touch the same path, at least one of them writing, run one after another in call order.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use zori_core::cancel::Cancel;
use zori_core::confine::Consent;
use zori_core::event::{DecidedBy, EventKind, ToolFinished, ToolRequested};
use zori_core::hook::{HookEvent, HookVerdict, Hooks, Moment, ToolMoment};
use zori_core::ids::CallId;
use zori_core::image::{Image, Sight};
use zori_core::input::{Approval, Input};
use zori_core::message::{ToolCall, ToolInput, ToolResult};
use zori_core::outcome::CancelCause;
use zori_core::permission::{Decision, Judged, Verdict};
use zori_core::question::{Preview, Question};
use zori_core::render::Sink;
use zori_core::time::Clock;
use zori_core::tool::{Effect, OutputStream, ResolvedCall, ToolCode, ToolCx, ToolKind, ToolOutput, Toolbox};
use zori_policy::always::always;
use zori_policy::call::{Binding, HookAnswer};
use zori_policy::decide::Explanation;
use zori_policy::mode::Protocol;
use zori_policy::withheld::withheld;
use zori_policy::{Call, Policy, explain};

use crate::catch::Caught;
use crate::control::Control;
use crate::crew::Crew;
use crate::emitter::Emitter;
use crate::hooks::{self, Said};
use crate::live::LiveQueue;
use crate::sight;
use crate::subagent::Nest;

/// What running calls needs of the engine.
pub(crate) struct Dispatch<'a, 'i, S> {
    pub(crate) toolbox: &'a dyn Toolbox,
    pub(crate) policy: &'a mut Policy,
    pub(crate) hooks: Option<&'a dyn Hooks>,
    /// What hooks told the model so far, and why one wants the turn to end.
    pub(crate) said: Vec<Said>,
    pub(crate) halt: Option<String>,
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
    /// The rules somebody gave for the rest of the session.
    pub(crate) granted: &'a mut Vec<String>,
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
    /// Where its paths led when it was judged.
    judged: Judged,
    /// Who let it run.
    consent: Consent,
}

/// What an approval holds for (DEC-4).
struct Approved {
    judged: Call,
    binding: Binding,
    preview: Preview,
}

impl<S: Sink + 'static> Dispatch<'_, '_, S> {
    /// Runs all calls of one reply.
    pub(crate) async fn run(&mut self, calls: &[ToolCall]) -> Dispatched {
        let mut jobs = self.request(calls);
        let mut cancelled = self.approve(&mut jobs).await.err();
        let mut effects = false;
        // What was said so far goes out before anything is done; when nobody takes it any more, nothing is.
        self.emitter.idle();
        if cancelled.is_none() && self.emitter.stop().is_none() {
            let ready: Vec<_> = jobs.iter_mut().map(|job| job.ready.take()).collect();
            effects = ready.iter().flatten().any(|r| r.effects.iter().any(Effect::mutates));
            cancelled = self.execute(&mut jobs, &ready).await.err();
            if cancelled.is_none() {
                cancelled = self.tell_results(&jobs, &ready).await.err();
            }
        }
        for job in jobs.iter_mut().filter(|job| job.output.is_none()) {
            self.settle(
                job,
                ToolOutput::failure(ToolCode::Canceled, "The call was canceled before it was done"),
            );
        }
        let denied = jobs.iter().map(Job::is_denied).collect();
        let results = jobs.into_iter().map(Job::into_result).collect();
        let (said, halt) = (std::mem::take(&mut self.said), self.halt.take());
        Dispatched { results, effects, denied, said, halt, cancelled }
    }

    async fn tell(&mut self, moment: Moment<'_>) -> Result<Option<HookAnswer>, CancelCause> {
        let (event, mode) = (moment.event(), self.policy.mode.mode.name_in(Protocol::Claude));
        let heard = hooks::tell(self.hooks, moment, mode, self.emitter, self.control).await?;
        self.said.extend(Said::all(event, heard.context));
        let answer = heard.verdict.map(|HookVerdict { verdict, reason }| HookAnswer { verdict, reason });
        let Some(why) = heard.halt else { return Ok(answer) };
        self.halt.get_or_insert_with(|| why.clone());
        Ok(Some(HookAnswer { verdict: Verdict::Deny, reason: why }))
    }

    /// Tells hooks how the calls went that have run, in call order. What one objects to has happened: the model is told.
    async fn tell_results(
        &mut self,
        jobs: &[Job<'_>],
        ready: &[Option<ResolvedCall>],
    ) -> Result<(), CancelCause> {
        for (job, ready) in jobs.iter().zip(ready) {
            let (Some(ready), Some(output)) = (ready, &job.output) else { continue };
            let moment = Moment::PostToolUse { call: job.moment(ready), result: &output.envelope };
            if let Some(HookAnswer { verdict: Verdict::Deny, reason }) = self.tell(moment).await? {
                self.said.extend(Said::all(HookEvent::PostToolUse, vec![reason]));
            }
        }
        Ok(())
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
            ToolInput::Malformed(_) => Err(ToolOutput::failure(
                ToolCode::InvalidInput,
                "The arguments are not valid JSON, or were cut off. Nothing was executed. Send the call again with \
                 one complete JSON object.",
            )),
        };
        let (kind, ready, output) = match resolved {
            Ok(ready) => (Some(ready.tool.kind()), Some(ready), None),
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
            judged: Judged::default(),
            consent: Consent::Rule,
        }
    }

    /// Decides about each call in order, asking where the policy says so, before any of them starts.
    async fn approve(&mut self, jobs: &mut [Job<'_>]) -> Result<(), CancelCause> {
        for job in jobs.iter_mut() {
            let Some(ready) = &job.ready else { continue };
            let mut judged = Call::new(&job.call.name, job.kind, &ready.effects, &self.policy.ground);
            judged.hook = self.tell(Moment::PreToolUse(job.moment(ready))).await?;
            // Looked at after the hooks have run: they may change what is there.
            judged.gather(|path| self.toolbox.look(path));
            let Explanation { decision, steps } = explain(self.policy, &judged);
            let decided = match decision.verdict {
                Verdict::Allow => {
                    job.judged = judged.facts.into_judged();
                    Ok(decision)
                }
                Verdict::Deny => {
                    let said = refusal(&decision);
                    self.resolved(job.call, decision, DecidedBy::Policy);
                    Err(said)
                }
                Verdict::Ask => {
                    let binding = judged.binding(ready.args.get(), &self.policy.ground.cwd);
                    let preview = self.control.until(ready.tool.preview(&ready.args)).await?;
                    let question = Arc::new(Question {
                        tool: job.call.name.clone(),
                        preview: preview.clone(),
                        always: always(&judged, &decision),
                        explanation: Explanation { decision: decision.clone(), steps }.lines(),
                    });
                    let answer = self.ask(job.call, decision, question).await?;
                    job.approved = Some(Approved { judged, binding, preview });
                    answer
                }
            };
            match decided {
                Ok(decision) => job.decision = Some(decision),
                Err(reason) => self.deny(job, reason),
            }
        }
        for job in jobs.iter_mut() {
            let (Some(ready), Some(approved)) = (&job.ready, job.approved.take()) else { continue };
            match self.still(ready, approved).await? {
                Some(judged) => (job.judged, job.consent) = (judged, Consent::Person),
                None => self.deny(job, CHANGED.to_owned()),
            }
        }
        Ok(())
    }

    /// Returns where the call's paths lead, if it still is what somebody approved. The questions about other calls took
    /// their time, so this is looked at after the last of them.
    async fn still(
        &mut self,
        ready: &ResolvedCall,
        approved: Approved,
    ) -> Result<Option<Judged>, CancelCause> {
        let Approved { mut judged, binding, preview } = approved;
        judged.gather(|path| self.toolbox.look(path));
        if judged.binding(ready.args.get(), &self.policy.ground.cwd) != binding {
            return Ok(None);
        }
        let same = self.control.until(ready.tool.preview(&ready.args)).await? == preview;
        Ok(same.then(|| judged.facts.into_judged()))
    }

    fn deny(&mut self, job: &mut Job<'_>, reason: String) {
        job.ready = None;
        self.settle(job, ToolOutput::failure(ToolCode::PermissionDenied, reason));
    }

    /// Asks and waits. Returns the decision to run the call, or why it must not run.
    async fn ask(
        &mut self,
        call: &ToolCall,
        decision: Decision,
        question: Arc<Question>,
    ) -> Result<Result<Decision, String>, CancelCause> {
        let floor = self.crew.floor(self.emitter.agent(), &call.id);
        let _floor = self.control.until(floor).await?;
        self.emitter.emit(EventKind::ApprovalRequested {
            call: call.id.clone(),
            decision: decision.clone(),
            question: question.clone(),
        });
        self.emitter.idle();
        let answer = self.control.answer(&call.id).await.inspect_err(|_| {
            let denied = Decision { verdict: Verdict::Deny, ..decision.clone() };
            self.resolved(call, denied, DecidedBy::Cancelled);
        })?;
        let (verdict, by, refusal) = match answer {
            Some(answer @ (Approval::Allow | Approval::Always)) => {
                if let (Approval::Always, Some(rule)) = (answer, &question.always) {
                    self.policy.allow_for_session(rule);
                    self.granted.push(rule.clone());
                }
                (Verdict::Allow, DecidedBy::User, None)
            }
            Some(Approval::Reject { reason }) => {
                let said = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                (Verdict::Deny, DecidedBy::User, Some(format!("The user rejected this call{said}")))
            }
            None => {
                let gone = "approval_unavailable: nobody is left to answer";
                (Verdict::Deny, DecidedBy::Policy, Some(gone.to_owned()))
            }
        };
        let reason = refusal.clone().unwrap_or_else(|| decision.reason.clone());
        let decision = Decision { verdict, reason, ..decision };
        self.resolved(call, decision.clone(), by);
        Ok(match refusal {
            None => Ok(decision),
            Some(refusal) => Err(refusal),
        })
    }

    fn resolved(&mut self, call: &ToolCall, decision: Decision, by: DecidedBy) {
        self.emitter.emit(EventKind::ApprovalResolved { call: call.id.clone(), decision, by });
    }

    /// Runs what can be run, together where paths allow it. `Err` means cancelled: what still ran was dropped.
    async fn execute(
        &mut self,
        jobs: &mut [Job<'_>],
        ready: &[Option<ResolvedCall>],
    ) -> Result<(), CancelCause> {
        let blockers = blockers(ready);
        let live = self.live.then(|| Arc::new(LiveQueue::default()));
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
            let step = match self.control.until(next(&mut running, live.as_deref())).await {
                Ok(step) => step,
                Err(cause) => {
                    self.see_off(jobs, running).await;
                    return Err(cause);
                }
            };
            match step {
                Step::Done(index, output) => {
                    let output = sight::shown(output, self.sees);
                    self.settle(&mut jobs[index], output);
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
        let todos = output.todos.clone();
        let now = self.clock.elapsed();
        self.emitter.emit(EventKind::ToolFinished(ToolFinished {
            call: job.call.id.clone(),
            name: job.call.name.as_str().into(),
            kind: job.kind,
            output: output.clone(),
            duration: job.started.map(|start| now.saturating_sub(start)),
        }));
        job.output = Some(output);
        if let Some(todos) = todos {
            self.emitter.emit(EventKind::TodosChanged { todos });
        }
    }
}

/// What the model is told about a call that may not run: why, and what would be (DEC-3).
fn refusal(decision: &Decision) -> String {
    match &decision.instead {
        Some(instead) => format!("{}. {instead}", decision.reason),
        None => decision.reason.clone(),
    }
}

const CHANGED: &str = "changed_since_approval: a file of this call is not what it was when it was approved; \
     nothing was executed";

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
    Live(Vec<(CallId, OutputStream, String)>),
}

/// Waits until one of the running calls is done, or has output to show.
async fn next(running: &mut Vec<(usize, Caught<'_>)>, live: Option<&LiveQueue>) -> Step {
    poll_fn(|cx| {
        for slot in 0..running.len() {
            if let Poll::Ready(output) = Pin::new(&mut running[slot].1).poll(cx) {
                let (index, _) = running.remove(slot);
                return Poll::Ready(Step::Done(index, output));
            }
        }
        match live.map(LiveQueue::take) {
            Some(deltas) if !deltas.is_empty() => Poll::Ready(Step::Live(deltas)),
            _ => Poll::Pending,
        }
    })
    .await
}
