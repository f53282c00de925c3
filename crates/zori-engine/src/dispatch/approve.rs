//! Whether a call may run: hooks, the decision, the question where there is one, and what its answer changes.
//!
//! An approval holds for exactly what was shown (DEC-4). An answer that brings another input makes another call of it:
//! that one is resolved and judged again, so that no rule is gone around.

use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::confine::Consent;
use zori_core::event::{DecidedBy, EventKind};
use zori_core::hook::Moment;
use zori_core::input::{Approval, PermissionUpdate, Terms};
use zori_core::message::ToolCall;
use zori_core::outcome::CancelCause;
use zori_core::permission::{Decision, Judged, Verdict};
use zori_core::question::{Preview, Question};
use zori_core::render::Sink;
use zori_core::tool::{ResolvedCall, ToolCode};
use zori_policy::always::always;
use zori_policy::call::{Binding, HookAnswer};
use zori_policy::decide::Explanation;
use zori_policy::{Call, explain};

use super::{Dispatch, Job};

const CHANGED: &str = "changed_since_approval: a file of this call is not what it was when it was approved; \
     nothing was executed";

/// What an approval holds for (DEC-4).
pub(super) struct Approved {
    judged: Call,
    binding: Binding,
    preview: Preview,
}

/// What became of a question.
enum Answered {
    /// The call may run, on these terms.
    Yes(Decision, Terms),
    /// It may not; the model reads this.
    No(String),
    /// It may not, and the turn ends.
    Interrupt(String),
}

/// A decision to run a call, or what the model is told in place of its result.
type Decided = Result<Decision, String>;

impl<S: Sink + 'static> Dispatch<'_, '_, S> {
    /// Decides about each call in order, asking where the policy says so, before any of them starts.
    pub(super) async fn approve(&mut self, jobs: &mut [Job<'_>]) -> Result<(), CancelCause> {
        for job in jobs.iter_mut().filter(|job| job.ready.is_some()) {
            let (hook, input) = self.before(job).await?;
            if let Some(input) = input
                && let Err(why) = self.change(job, input)
            {
                self.deny(job, why);
                continue;
            }
            match self.decide(job, hook).await? {
                Ok(decision) => job.decision = Some(decision),
                Err(reason) => self.deny(job, reason),
            }
            if std::mem::take(&mut self.interrupted) {
                return Err(CancelCause::User);
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

    async fn before(&mut self, job: &Job<'_>) -> Result<(Option<HookAnswer>, Option<String>), CancelCause> {
        let Some(ready) = &job.ready else { return Ok((None, None)) };
        self.tell(Moment::PreToolUse(job.moment(ready))).await
    }

    /// Gives a call another input, whole. An error says why it cannot have it.
    fn change(&mut self, job: &mut Job<'_>, input: String) -> Result<(), String> {
        let raw =
            RawValue::from_string(input).map_err(|error| format!("the changed input is no JSON: {error}"))?;
        let ready = self.toolbox.resolve(&job.call.name, &raw);
        let ready = ready.map_err(|bad| format!("the changed input does not fit: {}", bad.message))?;
        if job.ready.as_ref().is_some_and(|was| was.args.get() == ready.args.get()) {
            return Ok(());
        }
        let (call, effects) = (job.call.id.clone(), ready.effects.clone());
        self.emitter.emit(EventKind::ToolChanged { call, input: raw.into(), effects });
        job.kind = ready.tool.kind();
        job.ready = Some(ready);
        Ok(())
    }

    fn judge(
        &mut self,
        job: &Job<'_>,
        ready: &ResolvedCall,
        hook: Option<HookAnswer>,
    ) -> (Call, Explanation) {
        let mut judged = Call::new(&job.call.name, job.kind, &ready.effects, &self.policy.ground);
        judged.hook = hook;
        // Looked at after the hooks have run: they may change what is there.
        judged.gather(|path| self.toolbox.look(path));
        let explanation = explain(self.policy, &judged);
        (judged, explanation)
    }

    async fn decide(&mut self, job: &mut Job<'_>, hook: Option<HookAnswer>) -> Result<Decided, CancelCause> {
        let ready = job.ready.as_ref().expect("only what was resolved is decided about");
        self.heed();
        let (judged, Explanation { decision, steps }) = self.judge(job, ready, hook.clone());
        match decision.verdict {
            Verdict::Allow => {
                job.judged = judged.facts.into_judged();
                Ok(Ok(decision))
            }
            Verdict::Deny => Ok(Err(self.denied(job.call, decision))),
            Verdict::Ask => {
                let binding = judged.binding(ready.args.get(), &self.policy.ground.cwd);
                let preview = self.control.until(ready.tool.preview(&ready.args)).await?;
                let question = Arc::new(Question {
                    tool: job.call.name.clone(),
                    preview: preview.clone(),
                    always: always(&judged, &decision),
                    explanation: Explanation { decision: decision.clone(), steps }.lines(),
                });
                let (decision, terms) = match self.ask(job.call, decision, question).await? {
                    Answered::Yes(decision, terms) => (decision, terms),
                    Answered::No(refusal) => return Ok(Err(refusal)),
                    Answered::Interrupt(refusal) => {
                        self.interrupted = true;
                        return Ok(Err(refusal));
                    }
                };
                job.approved = Some(Approved { judged, binding, preview });
                self.update(terms.updates);
                match terms.input {
                    Some(input) => self.decide_changed(job, input, hook, decision).await,
                    None => {
                        self.resolved(job.call, decision.clone(), DecidedBy::User);
                        Ok(Ok(decision))
                    }
                }
            }
        }
    }

    /// Judges what an answer made of the call. Whoever changed it has approved it, so that nobody is asked again; what is
    /// denied stays denied.
    async fn decide_changed(
        &mut self,
        job: &mut Job<'_>,
        input: String,
        hook: Option<HookAnswer>,
        approved: Decision,
    ) -> Result<Decided, CancelCause> {
        if let Err(why) = self.change(job, input) {
            let decision = Decision { verdict: Verdict::Deny, reason: why, ..approved };
            return Ok(Err(self.denied(job.call, decision)));
        }
        let ready = job.ready.as_ref().expect("it was ready and is");
        let (judged, Explanation { decision, .. }) = self.judge(job, ready, hook);
        if decision.verdict == Verdict::Deny {
            return Ok(Err(self.denied(job.call, decision)));
        }
        let binding = judged.binding(ready.args.get(), &self.policy.ground.cwd);
        let preview = self.control.until(ready.tool.preview(&ready.args)).await?;
        job.approved = Some(Approved { judged, binding, preview });
        let decision = Decision { verdict: Verdict::Allow, ..decision };
        self.resolved(job.call, decision.clone(), DecidedBy::User);
        Ok(Ok(decision))
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
        job.approved = None;
        self.settle(job, self.toolbox.refuse(ToolCode::PermissionDenied, reason));
    }

    /// Says that the policy denies a call, and returns what the model is told: why, and what would be allowed (DEC-3).
    fn denied(&mut self, call: &ToolCall, decision: Decision) -> String {
        let said = match &decision.instead {
            Some(instead) => format!("{}. {instead}", decision.reason),
            None => decision.reason.clone(),
        };
        self.resolved(call, decision, DecidedBy::Policy);
        said
    }

    /// Asks and waits. A yes is not told yet: its terms may change what it is about.
    async fn ask(
        &mut self,
        call: &ToolCall,
        decision: Decision,
        question: Arc<Question>,
    ) -> Result<Answered, CancelCause> {
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
        let yes = |terms| Ok(Answered::Yes(Decision { verdict: Verdict::Allow, ..decision.clone() }, terms));
        let (by, reason, interrupt) = match answer {
            Some(Approval::Allow) => return yes(Terms::default()),
            Some(Approval::Always) => {
                let rule = |rule| PermissionUpdate::AddRule { verdict: Verdict::Allow, rule };
                let updates = question.always.clone().map(rule).into_iter().collect();
                return yes(Terms { updates, ..Terms::default() });
            }
            Some(Approval::AllowWith(terms)) => return yes(terms),
            Some(Approval::Reject { reason }) => {
                let said = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                (DecidedBy::User, format!("The user rejected this call{said}"), false)
            }
            Some(Approval::Refuse { message, interrupt }) => (DecidedBy::User, message, interrupt),
            None => {
                let gone = "approval_unavailable: nobody is left to answer";
                (DecidedBy::Policy, gone.to_owned(), false)
            }
        };
        let decision = Decision { verdict: Verdict::Deny, reason: reason.clone(), ..decision };
        self.resolved(call, decision, by);
        Ok(if interrupt { Answered::Interrupt(reason) } else { Answered::No(reason) })
    }

    fn resolved(&mut self, call: &ToolCall, decision: Decision, by: DecidedBy) {
        self.emitter.emit(EventKind::ApprovalResolved { call: call.id.clone(), decision, by });
    }
}
