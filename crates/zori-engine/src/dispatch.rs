//! Runs the tool calls of one reply: decides them one after another, executes them together, returns results in call
//! order.
//!
//! Calls that touch the same path, at least one of them writing, run one after another in call order. With
//! [`CallOrder::OneByOne`] each call is decided and done before the next. `dispatch/approve.rs` decides.

mod approve;
mod asking;
pub(crate) mod before_turn;
mod capture;
mod live;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc;
use zori_core::cancel::Cancel;
use zori_core::checkpoint::Checkpoints;
use zori_core::confine::Consent;
use zori_core::event::{DecidedBy, Notice, NoticeLevel, StateEvent, ToolEvent, ToolFinished, ToolRequested};
use zori_core::hook::{HookCall, HookEvent, HookInput, HookVerdict, Hooks};
use zori_core::ids::CallId;
use zori_core::image::{Image, ImageSupport};
use zori_core::input::{Approval, Input, PermissionUpdate};
use zori_core::message::{ToolCall, ToolInput, ToolResult};
use zori_core::outcome::CancelCause;
use zori_core::permission::{Class, Decision, PathSnapshot, Verdict};
use zori_core::question::{Preview, Question};
use zori_core::render::Sink;
use zori_core::time::Clock;
use zori_core::tool::{AskUser, Effect, ResolvedCall, ToolCode, ToolCx, ToolKind, ToolOutput, Toolbox};
use zori_policy::call::HookAnswer;
use zori_policy::mode::Protocol;
use zori_policy::withheld::withheld;
use zori_policy::{Approver, Policy};

use self::approve::Approved;
use self::asking::{Asked, CallAsker, CallQuestion};
use self::live::{LiveQueue, OutputChunk};
use crate::agent_registry::AgentRegistry;
use crate::catch_panic::CatchPanic;
use crate::control::Control;
use crate::emitter::Emitter;
use crate::hooks::{self, HookMessage};
use crate::image_support;
use crate::parts::ModeLookup;
use crate::reprompt::{Mistakes, TOLD_REPEATS};
use crate::settings::CallOrder;
use crate::subagent::SubagentSpawner;

/// Runs calls, with what it needs of the engine.
pub(crate) struct Dispatch<'a, 'i, S> {
    pub(crate) toolbox: &'a dyn Toolbox,
    pub(crate) policy: &'a mut Policy,
    pub(crate) modes: &'a ModeLookup,
    pub(crate) hooks: Option<&'a dyn Hooks>,
    pub(crate) checkpoints: Option<Arc<dyn Checkpoints>>,
    /// Texts of hooks for the conversation so far, and why one of them ends the turn.
    pub(crate) hook_messages: Vec<HookMessage>,
    pub(crate) halt: Option<String>,
    /// Whether an answer ends the turn.
    pub(crate) interrupted: bool,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) emitter: &'a mut Emitter<S>,
    pub(crate) control: &'a mut Control<'i>,
    /// Whether the model supports an image.
    pub(crate) image_support: &'a (dyn Fn(&Image) -> ImageSupport + Sync),
    /// Whether output is streamed while a tool runs.
    pub(crate) live: bool,
    /// Ensures that one agent of the session asks at a time.
    pub(crate) registry: &'a AgentRegistry,
    pub(crate) spawner: Arc<SubagentSpawner<S>>,
    /// Permissions granted for the rest of the session.
    pub(crate) granted: &'a mut Vec<PermissionUpdate>,
    pub(crate) order: CallOrder,
    /// What the model is told where none of the calls may run.
    pub(crate) withheld: Option<&'a str>,
    /// What the model got wrong so far, which results tell it.
    pub(crate) mistakes: &'a Mistakes,
    /// The calls whose arguments were repaired.
    pub(crate) repaired: &'a HashSet<CallId>,
    /// The user makes the calls: what would be asked is answered with yes.
    pub(crate) by_user: bool,
}

/// The results of the calls of one reply.
pub(crate) struct Dispatched {
    /// One result per call, in call order.
    pub(crate) results: Vec<ToolResult>,
    /// Whether a tool that changes something was started.
    pub(crate) effects: bool,
    /// For each call, in call order, whether it was denied.
    pub(crate) denied: Vec<bool>,
    /// Texts of hooks for the conversation.
    pub(crate) hook_messages: Vec<HookMessage>,
    /// Why a hook ends the turn.
    pub(crate) halt: Option<String>,
    /// Set when the turn was cancelled meanwhile; the calls that were not done have a `canceled` result.
    pub(crate) cancelled: Option<CancelCause>,
}

/// A call and its progress through the dispatcher.
struct Job<'c> {
    /// The call as everybody but the model knows it.
    call: Cow<'c, ToolCall>,
    /// The name the model called it by.
    sent_name: &'c str,
    kind: Option<ToolKind>,
    /// The call to run; `None` once it has been answered without running.
    ready: Option<Arc<ResolvedCall>>,
    /// The earlier calls, by index, that must finish before this one starts.
    blockers: Vec<usize>,
    output: Option<ToolOutput>,
    started: Option<Duration>,
    /// Why it may run.
    decision: Option<Decision>,
    /// What the user was shown on approving it.
    approved: Option<Approved>,
    /// When it finished, until that is announced.
    done: Option<Duration>,
    /// Its paths as the decision saw them.
    snapshot: PathSnapshot,
    /// Who approved it.
    consent: Consent,
    /// What the user answered to its questions.
    answers: Vec<String>,
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
            self.finish(job, self.toolbox.refuse(ToolCode::Canceled, canceled));
        }
        jobs.iter_mut().for_each(|job| self.announce(job));
        let denied = jobs.iter().map(Job::is_denied).collect();
        let results = jobs.into_iter().map(|job| job.into_result(self.toolbox)).collect();
        let (hook_messages, halt) = (std::mem::take(&mut self.hook_messages), self.halt.take());
        Dispatched { results, effects, denied, hook_messages, halt, cancelled }
    }

    /// Decides a group of calls and runs the allowed ones.
    async fn run_group(&mut self, jobs: &mut [Job<'_>], effects: &mut bool) -> Result<(), CancelCause> {
        let decided = self.approve(jobs).await;
        // Events go out before anything runs; if nobody reads them any more, nothing runs.
        self.emitter.idle();
        decided?;
        if self.emitter.stop().is_some() {
            return Ok(());
        }
        let capture = self.begin_capture(jobs).await?;
        *effects |= jobs.iter().any(Job::mutates);
        let mut ran = self.execute(jobs).await;
        if ran.is_ok() {
            ran = self.fire_post_hooks(jobs).await;
        }
        // Also what a cancelled call has changed by now can be put back.
        self.end_capture(capture, jobs).await;
        ran
    }

    /// Fires the hooks of a call. Returns their verdict and the input they replace its own with.
    async fn fire_hooks(
        &mut self,
        input: HookInput<'_>,
    ) -> Result<(Option<HookAnswer>, Option<String>), CancelCause> {
        let (event, mode) = (input.event(), self.policy.mode.mode.name_in(Protocol::Claude));
        let response = hooks::fire(self.hooks, input, mode, self.emitter, self.control).await?;
        self.hook_messages.extend(HookMessage::from_context(event, response.context));
        let answer = response.verdict.map(|HookVerdict { verdict, reason }| HookAnswer { verdict, reason });
        let Some(why) = response.halt else { return Ok((answer, response.input.or(response.output))) };
        self.halt.get_or_insert_with(|| why.clone());
        Ok((Some(HookAnswer { verdict: Verdict::Deny, reason: why }), None))
    }

    /// Fires the `PostToolUse` hooks in call order, and announces each result after them. The call has already run, so a
    /// denial only becomes text for the model.
    async fn fire_post_hooks(&mut self, jobs: &mut [Job<'_>]) -> Result<(), CancelCause> {
        for job in jobs {
            let (Some(ready), Some(output)) = (&job.ready, &job.output) else { continue };
            let input = HookInput::PostToolUse { call: job.hook_call(ready), result: &output.envelope };
            let (answer, changed) = self.fire_hooks(input).await?;
            if let Some(HookAnswer { verdict: Verdict::Deny, reason }) = answer {
                self.hook_messages.extend(HookMessage::from_context(HookEvent::PostToolUse, vec![reason]));
            }
            // The results of our own tools are what happened; those of others may be edited before the model reads them.
            if let (Some(text), true) = (changed, job.call.name.starts_with("mcp__")) {
                let data = serde_json::json!({ "output": text }).to_string();
                job.output = Some(ToolOutput { text: Some(text.into()), ..ToolOutput::success(&data) });
            }
            self.announce(job);
        }
        Ok(())
    }

    /// Returns whether a `PostToolUse` hook has to run before the result is announced.
    fn post_hooks_want(&self, job: &Job<'_>, output: &ToolOutput) -> bool {
        let Some(ready) = &job.ready else { return false };
        let input = HookInput::PostToolUse { call: job.hook_call(ready), result: &output.envelope };
        self.hooks.is_some_and(|hooks| hooks.wants(&input))
    }

    /// Resolves the calls and announces all of them before the first one runs.
    fn request<'c>(&mut self, calls: &'c [ToolCall]) -> Vec<Job<'c>> {
        let mut jobs: Vec<_> = calls.iter().map(|call| self.resolve(call)).collect();
        for job in &jobs {
            let effects = job.ready.as_ref().map_or_else(Vec::new, |ready| ready.effects.clone());
            let call = job.call.clone().into_owned();
            self.emitter.emit(ToolEvent::ToolRequested(ToolRequested {
                call,
                kind: job.kind,
                effects,
                of: calls.len(),
            }));
        }
        for job in jobs.iter_mut() {
            if let Some(output) = job.output.take() {
                self.finish(job, output);
            }
        }
        jobs
    }

    fn resolve<'c>(&self, call: &'c ToolCall) -> Job<'c> {
        let resolved = match (&call.input, self.withheld) {
            (_, Some(why)) => Err(self.toolbox.refuse(ToolCode::InvalidInput, why.to_owned())),
            (ToolInput::Json(args), None) => self.toolbox.resolve(&call.name, args).map_err(ToolOutput::from),
            (ToolInput::Malformed(_), None) => Err(self.toolbox.refuse(
                ToolCode::InvalidInput,
                "The arguments are not valid JSON, or were cut off. Nothing was executed. Send the call again with \
                 one complete JSON object."
                    .to_owned(),
            )),
        };
        let (kind, ready, output) = match resolved {
            Ok(ready) => (ready.tool.kind(), Some(Arc::new(ready)), None),
            Err(output) => (None, None, Some(output)),
        };
        // A call that stands for another one is that one to everybody but the model (MCP-44).
        let meant = ready.as_ref().and_then(|ready| Some((ready.name.clone()?, &ready.args)));
        let shown = match meant {
            None => Cow::Borrowed(call),
            Some((name, args)) => {
                let input = ToolInput::Json(args.clone());
                Cow::Owned(ToolCall { name, input, ..call.clone() })
            }
        };
        Job {
            call: shown,
            sent_name: &call.name,
            kind,
            ready,
            blockers: Vec::new(),
            output,
            started: None,
            decision: None,
            approved: None,
            done: None,
            snapshot: PathSnapshot::default(),
            consent: Consent::Rule,
            answers: Vec::new(),
        }
    }

    /// Runs the allowed calls, together where their paths permit it. `Err` means cancelled; calls still running are dropped.
    async fn execute(&mut self, jobs: &mut [Job<'_>]) -> Result<(), CancelCause> {
        find_blockers(jobs);
        let mut live = self.live.then(LiveQueue::default);
        let (asks, mut asked) = mpsc::unbounded_channel();
        let somebody = self.policy.approver == Approver::Present && !self.by_user;
        let mut running: Vec<RunningCall> = Vec::new();
        loop {
            for index in 0..jobs.len() {
                let Some(ready) = startable(jobs, index) else { continue };
                let job = &mut jobs[index];
                let snapshot = match job.kind {
                    // It opens files that the call does not name, as one that is not built in may.
                    Some(ToolKind::Grep) | None => {
                        let approved = job.consent == Consent::Person;
                        job.snapshot.clone().withholding(withheld(self.policy, approved))
                    }
                    _ => job.snapshot.clone(),
                };
                let cx = ToolCx {
                    call: job.call.id.clone(),
                    cancel: Cancel::new(),
                    consent: job.consent,
                    live: live.as_ref().map(|queue| queue.output_of(&job.call.id)),
                    agents: (job.kind == Some(ToolKind::Task))
                        .then(|| self.spawner.agents(&job.call.id, self.policy)),
                    search: self.spawner.search().filter(|_| job.kind == Some(ToolKind::WebSearch)),
                    snapshot,
                    answers: std::mem::take(&mut job.answers),
                    ask: job.kind.is_none().then(|| {
                        let (call, queue) = (job.call.id.clone(), asks.clone());
                        Arc::new(CallAsker { call, queue, somebody }) as Arc<dyn AskUser>
                    }),
                };
                let name = job.call.name.as_str().into();
                let call = job.call.id.clone();
                let decision = job.decision.take().expect("only what was allowed is ready");
                self.emitter.emit(ToolEvent::ToolStarted { call, name, decision });
                job.started = Some(self.clock.elapsed());
                let output = CatchPanic(Box::pin(async move { ready.tool.run(cx, &ready.args).await }));
                running.push(RunningCall { index, output });
            }
            if running.is_empty() {
                // What the last call warned of as it ended.
                while let Ok(Asked::Warning(text)) = asked.try_recv() {
                    self.warn(text);
                }
                return Ok(());
            }
            self.emitter.idle();
            if self.emitter.stop().is_some() {
                // Nobody reads the results; the caller sees the same and ends the turn.
                self.registry.broadcast(&Input::Cancel(CancelCause::User));
                self.finish_subagents(jobs, running).await;
                return Ok(());
            }
            let step = match self.control.until(next(&mut running, live.as_mut(), Some(&mut asked))).await {
                Ok(step) => step,
                Err(cause) => {
                    self.finish_subagents(jobs, running).await;
                    return Err(cause);
                }
            };
            match step {
                Step::Done(index, output) => self.ended(&mut jobs[index], output, live.as_ref()),
                Step::Live(deltas) => self.stream(deltas),
                Step::Asked(Asked::Warning(text)) => self.warn(text),
                Step::Asked(Asked::Question(question)) => {
                    if let Err(cause) = self.put(question, jobs, &mut running, live.as_mut()).await {
                        self.finish_subagents(jobs, running).await;
                        return Err(cause);
                    }
                }
            }
        }
    }

    /// Takes the output of a call that has ended.
    fn ended(&mut self, job: &mut Job<'_>, output: ToolOutput, live: Option<&LiveQueue>) {
        let output = image_support::check_output(output, self.image_support);
        let later = self.post_hooks_want(job, &output);
        if let Some(live) = live {
            live.forget(&job.call.id);
        }
        job.done = Some(self.clock.elapsed());
        job.output = Some(output);
        if !later {
            self.announce(job);
        }
    }

    /// Says what a running call warns of.
    fn warn(&mut self, text: String) {
        self.emitter.emit(Notice { level: NoticeLevel::Warning, code: "mcp_form", text });
    }

    fn stream(&mut self, deltas: Vec<OutputChunk>) {
        for (call, stream, text) in deltas {
            self.emitter.emit(ToolEvent::ToolOutputDelta { call, stream, text });
        }
    }

    /// Puts the question of a running call to the user, as those about calls are put, while all calls run on.
    async fn put(
        &mut self,
        question: CallQuestion,
        jobs: &mut [Job<'_>],
        running: &mut Vec<RunningCall>,
        mut live: Option<&mut LiveQueue>,
    ) -> Result<(), CancelCause> {
        let CallQuestion { call, choices, mut reply } = question;
        let Some(asks) = jobs.iter().position(|job| job.call.id == call) else { return Ok(()) };
        let permit = self.registry.prompt_permit(self.emitter.agent(), &call);
        let _permit = self.control.until(permit).await?;
        let decision = Decision::new(Verdict::Ask, Class::Internal, "the call asks the user");
        let preview = Preview::Choices(choices.clone());
        let question = Question {
            tool: jobs[asks].call.name.clone(),
            preview,
            grants: Vec::new(),
            explanation: Vec::new(),
        };
        self.emitter.emit(ToolEvent::ApprovalRequested {
            call: call.clone(),
            decision: decision.clone(),
            question: Arc::new(question),
        });
        self.emitter.idle();
        let (mut done, mut deltas) = (Vec::new(), Vec::new());
        let answer = {
            let mut approval = std::pin::pin!(self.control.approval(&call));
            loop {
                tokio::select! {
                    biased;
                    answer = &mut approval => break answer.map(Some),
                    // Whoever asked does not wait any more.
                    () = reply.closed() => break Ok(None),
                    step = next(running, live.as_deref_mut(), None), if !running.is_empty() => match step {
                        Step::Done(index, output) => done.push((index, output)),
                        Step::Live(more) => deltas.extend(more),
                        Step::Asked(_) => {}
                    },
                }
            }
        };
        let by = if matches!(answer, Ok(Some(_))) { DecidedBy::User } else { DecidedBy::Cancelled };
        let answers = match &answer {
            Ok(Some(Some(Approval::Allow | Approval::Grant(_)))) => Some(Vec::new()),
            Ok(Some(Some(Approval::AllowWith(terms)))) => {
                Some(approve::answers(&choices, &mut terms.clone()))
            }
            _ => None,
        };
        let verdict = if answers.is_some() { Verdict::Allow } else { Verdict::Deny };
        let decision = Decision { verdict, ..decision };
        self.emitter.emit(ToolEvent::ApprovalResolved { call, decision, by });
        let _ = reply.send(answers);
        self.stream(deltas);
        for (index, output) in done {
            self.ended(&mut jobs[index], output, live.as_deref());
        }
        answer.map(drop)
    }

    /// Drops the running calls, except for sub-agents: those were cancelled, and still emit the results of their calls.
    async fn finish_subagents(&mut self, jobs: &mut [Job<'_>], mut running: Vec<RunningCall>) {
        running.retain(|call| jobs[call.index].kind == Some(ToolKind::Task));
        while !running.is_empty() {
            if let Step::Done(index, output) = next(&mut running, None, None).await {
                self.finish(&mut jobs[index], output);
            }
        }
    }

    /// Sets the result of a call, and announces it.
    fn finish(&mut self, job: &mut Job<'_>, output: ToolOutput) {
        job.done = Some(self.clock.elapsed());
        job.output = Some(output);
        self.announce(job);
    }

    /// Adds to a result what the model should know of its mistake: that its arguments were repaired, that the call fails again
    /// and again.
    fn with_mistakes(&self, call: &ToolCall, output: ToolOutput) -> ToolOutput {
        if self.repaired.contains(&call.id) && output.ok() {
            return output.mended("the arguments were not valid JSON and were repaired");
        }
        match self.mistakes.repeats_of(call) {
            times if output.ok() || times < TOLD_REPEATS || self.withheld.is_some() => output,
            3 => output.repeated("This call failed in the same way for the third time; do something else"),
            times => output.repeated(&format!("This call failed {times} times in a row; do something else")),
        }
    }

    /// Emits the result of a call, unless that was done before.
    fn announce(&mut self, job: &mut Job<'_>) {
        let Some(done) = job.done.take() else { return };
        let Some(output) = job.output.take() else { return };
        let output = job.output.insert(self.with_mistakes(&job.call, output));
        let todos = output.todos.clone();
        self.emitter.emit(ToolEvent::ToolFinished(ToolFinished {
            call: job.call.id.clone(),
            name: job.call.name.as_str().into(),
            kind: job.kind,
            output: output.clone(),
            duration: job.started.map(|start| done.saturating_sub(start)),
        }));
        if let Some(todos) = todos {
            self.emitter.emit(StateEvent::TodosChanged { todos });
        }
    }
}

impl Job<'_> {
    fn hook_call<'a>(&'a self, ready: &'a ResolvedCall) -> HookCall<'a> {
        HookCall { id: &self.call.id, name: &self.call.name, kind: self.kind, args: &ready.args }
    }

    /// Returns whether it will run and may change something outside the session.
    fn mutates(&self) -> bool {
        self.ready.as_ref().is_some_and(|ready| ready.effects.iter().any(Effect::mutates))
    }

    fn is_denied(&self) -> bool {
        let failure = self.output.as_ref().and_then(|output| output.failure.as_ref());
        failure.is_some_and(|failure| failure.code == ToolCode::PermissionDenied)
    }

    fn into_result(self, toolbox: &dyn Toolbox) -> ToolResult {
        let output = self.output.expect("every job is settled before results are taken");
        let ok = output.ok();
        let text = output.text.or_else(|| toolbox.plain(self.sent_name, &output.envelope));
        ToolResult {
            call: self.call.id.clone(),
            name: self.sent_name.to_owned(),
            ok,
            envelope: output.envelope,
            text,
            images: output.images,
        }
    }
}

/// Returns the call at `index` if it is allowed, has not started, and nothing blocks it any more.
fn startable(jobs: &[Job<'_>], index: usize) -> Option<Arc<ResolvedCall>> {
    let job = &jobs[index];
    let free = job.blockers.iter().all(|&earlier| jobs[earlier].output.is_some());
    let waits = job.output.is_none() && job.started.is_none();
    job.ready.clone().filter(|_| waits && free)
}

/// Finds, for each call, the earlier calls that must finish before it starts.
fn find_blockers(jobs: &mut [Job<'_>]) {
    // For each path: the calls that touch it so far, and whether they write.
    let mut touched: HashMap<&Path, Vec<(usize, bool)>> = HashMap::new();
    for (index, job) in jobs.iter_mut().enumerate() {
        let Job { ready: Some(ready), blockers, .. } = job else { continue };
        for effect in &ready.effects {
            let (path, writes) = match effect {
                Effect::Read(path) => (path.as_path(), false),
                Effect::Write(path) => (path.as_path(), true),
                Effect::Exec { .. }
                | Effect::Net { .. }
                | Effect::Mcp { .. }
                | Effect::Agent
                | Effect::Memory
                | Effect::Schedule
                | Effect::Internal => continue,
            };
            let before = touched.entry(path).or_default();
            blockers.extend(before.iter().filter(|(i, w)| *i != index && (*w || writes)).map(|(i, _)| *i));
            before.push((index, writes));
        }
    }
}

/// A call that runs: which one, and its output to come.
struct RunningCall {
    index: usize,
    output: CatchPanic<'static>,
}

enum Step {
    Done(usize, ToolOutput),
    Live(Vec<OutputChunk>),
    Asked(Asked),
}

/// Waits until a running call finishes, asks the user, or has output to stream.
async fn next(
    running: &mut Vec<RunningCall>,
    mut live: Option<&mut LiveQueue>,
    mut asked: Option<&mut mpsc::UnboundedReceiver<Asked>>,
) -> Step {
    poll_fn(|cx| {
        // What a call says comes before its end.
        if let Some(asked) = &mut asked
            && let Poll::Ready(Some(question)) = asked.poll_recv(cx)
        {
            return Poll::Ready(Step::Asked(question));
        }
        for slot in 0..running.len() {
            if let Poll::Ready(output) = Pin::new(&mut running[slot].output).poll(cx) {
                let RunningCall { index, .. } = running.remove(slot);
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
