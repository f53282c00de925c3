//! Decides whether a call may run: hooks, policy, the question to the user, and what the answer changes.
//!
//! An approval holds for exactly what was shown (DEC-4). An answer that replaces the input makes it another call, which
//! is resolved and judged again, so that no rule is bypassed.

use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::confine::{Consent, Holding};
use zori_core::event::{DecidedBy, ToolEvent};
use zori_core::hook::HookInput;
use zori_core::input::{Approval, PermissionUpdate, Terms};
use zori_core::message::ToolCall;
use zori_core::outcome::CancelCause;
use zori_core::permission::{APPROVAL_UNAVAILABLE, Class, Decision, Obligations, PathSnapshot, Verdict};
use zori_core::question::{Choice, Preview, Question};
use zori_core::render::Sink;
use zori_core::tool::{ResolvedCall, ToolCode, ToolKind};
use zori_policy::call::{ApprovalBinding, HookAnswer};
use zori_policy::decide::Explanation;
use zori_policy::grants::{count_past, grants};
use zori_policy::{Approver, Call, Mode, explain};

use super::{Dispatch, Job};

const CHANGED_SINCE_APPROVAL: &str = "changed_since_approval: a file of this call is not what it was when it was approved; nothing was executed";

/// What an approval holds for (DEC-4).
pub(super) struct Approved {
    policy_call: Call,
    binding: ApprovalBinding,
    preview: Preview,
}

/// The answer to a question.
enum Answered {
    /// The call may run on these terms.
    Yes(Decision, Terms),
    /// The call may not run; the model reads this.
    No(String),
    /// The call may not run, and the turn ends.
    Interrupt(String),
}

/// A decision to run a call, or the text that the model reads as its result.
type Decided = Result<Decision, String>;

impl<S: Sink + 'static> Dispatch<'_, '_, S> {
    /// Decides about each call in order, asking where the policy says so, before any of them starts.
    pub(super) async fn approve(&mut self, jobs: &mut [Job<'_>]) -> Result<(), CancelCause> {
        for job in jobs.iter_mut().filter(|job| job.ready.is_some()) {
            let (hook, input) = self.fire_pre_hooks(job).await?;
            if let Some(input) = input
                && let Err(why) = self.replace_input(job, input)
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
            match self.recheck(ready, approved).await? {
                Some(snapshot) => (job.snapshot, job.consent) = (snapshot, Consent::Person),
                None => self.deny(job, CHANGED_SINCE_APPROVAL.to_owned()),
            }
        }
        Ok(())
    }

    async fn fire_pre_hooks(
        &mut self,
        job: &Job<'_>,
    ) -> Result<(Option<HookAnswer>, Option<String>), CancelCause> {
        let Some(ready) = &job.ready else { return Ok((None, None)) };
        self.fire_hooks(HookInput::PreToolUse(job.hook_call(ready))).await
    }

    /// Replaces the input of a call. An error says why the new input is refused.
    fn replace_input(&mut self, job: &mut Job<'_>, input: String) -> Result<(), String> {
        let raw =
            RawValue::from_string(input).map_err(|error| format!("the changed input is no JSON: {error}"))?;
        let ready = self.toolbox.resolve(&job.call.name, &raw);
        let ready = ready.map_err(|bad| format!("the changed input does not fit: {}", bad.message))?;
        if job.ready.as_ref().is_some_and(|was| was.args.get() == ready.args.get()) {
            return Ok(());
        }
        let (call, effects) = (job.call.id.clone(), ready.effects.clone());
        self.emitter.emit(ToolEvent::ToolChanged { call, input: raw.into(), effects });
        job.kind = ready.tool.kind();
        job.ready = Some(Arc::new(ready));
        Ok(())
    }

    fn judge(
        &mut self,
        job: &Job<'_>,
        ready: &ResolvedCall,
        hook: Option<HookAnswer>,
    ) -> (Call, Explanation) {
        let mut policy_call = Call::new(&job.call.name, job.kind, &ready.effects, &self.policy.workspace);
        policy_call.hook = hook;
        // The disk is read after the hooks have run, since they may change files.
        policy_call.gather(|path| self.toolbox.path_facts(path));
        // In `yolo` nothing is asked about for what it may read, so nobody has to walk through folders.
        if self.policy.mode.mode != Mode::Yolo {
            policy_call.gather_trees(&self.policy.workspace, |folder| self.toolbox.folder_names(folder));
            policy_call.gather_repository(&self.policy.workspace, &|path| self.toolbox.small_file(path));
        }
        let explanation = explain(self.policy, &policy_call);
        (policy_call, explanation)
    }

    /// Returns what the mode wants of the sandbox.
    pub(super) fn holding(&self) -> Holding {
        match self.policy.mode.mode {
            Mode::Yolo => Holding::Loose,
            Mode::Plan => Holding::ReadOnly,
            _ => Holding::Usual,
        }
    }

    async fn decide(&mut self, job: &mut Job<'_>, hook: Option<HookAnswer>) -> Result<Decided, CancelCause> {
        let ready = job.ready.as_ref().expect("only what was resolved is decided about");
        self.apply_pending_modes();
        let (policy_call, Explanation { decision, steps }) = self.judge(job, ready, hook.clone());
        let verdict = match decision.verdict {
            Verdict::Allow if self.asks_user(job.kind) => {
                let preview = self.control.until(ready.tool.preview(&ready.args)).await?;
                if matches!(preview, Preview::Choices(_)) { Verdict::Ask } else { Verdict::Allow }
            }
            verdict => verdict,
        };
        match verdict {
            Verdict::Allow => {
                let asks = self.policy.mode.mode != Mode::Yolo;
                let obligations = Obligations {
                    read_only: asks && decision.class == Class::ShellRead,
                    private_addresses: !asks,
                    holding: self.holding(),
                };
                job.snapshot = policy_call.facts.into_snapshot().with_obligations(obligations);
                if self.by_user {
                    job.consent = Consent::Person;
                }
                Ok(Ok(decision))
            }
            Verdict::Ask if self.by_user => {
                job.snapshot = policy_call.facts.into_snapshot();
                job.consent = Consent::Person;
                let decision = Decision { verdict: Verdict::Allow, ..decision };
                self.resolved(&job.call, decision.clone(), DecidedBy::User);
                Ok(Ok(decision))
            }
            Verdict::Deny => Ok(Err(self.denied(&job.call, decision))),
            Verdict::Ask => {
                let binding = policy_call.binding(ready.args.get(), &self.policy.workspace.cwd);
                let preview = self.control.until(ready.tool.preview(&ready.args)).await?;
                let mut offered = match &preview {
                    Preview::Choices(_) => Vec::new(),
                    _ => grants(self.policy, &policy_call, &decision),
                };
                count_past(self.policy, &mut offered, &self.registry.asked_before(&policy_call));
                let question = Arc::new(Question {
                    tool: job.call.name.clone(),
                    preview: preview.clone(),
                    grants: offered,
                    explanation: Explanation { decision: decision.clone(), steps }.lines(),
                });
                let (decision, mut terms) = match self.ask(&job.call, decision, question).await? {
                    Answered::Yes(decision, terms) => (decision, terms),
                    Answered::No(refusal) => return Ok(Err(refusal)),
                    Answered::Interrupt(refusal) => {
                        self.interrupted = true;
                        return Ok(Err(refusal));
                    }
                };
                if let Preview::Choices(choices) = &preview {
                    job.answers = answers(choices, &mut terms);
                }
                job.approved = Some(Approved { policy_call, binding, preview });
                self.grant(terms.updates);
                match terms.input {
                    Some(input) => self.decide_replaced(job, input, hook, decision).await,
                    None => {
                        self.resolved(&job.call, decision.clone(), DecidedBy::User);
                        Ok(Ok(decision))
                    }
                }
            }
        }
    }

    /// Returns whether a call that is allowed asks the user, and somebody is there.
    fn asks_user(&self, kind: Option<ToolKind>) -> bool {
        kind == Some(ToolKind::AskUser) && !self.by_user && self.policy.approver == Approver::Present
    }

    /// Judges a call whose input an answer replaced. The new input counts as approved, so there is no second question; a
    /// denial still holds.
    async fn decide_replaced(
        &mut self,
        job: &mut Job<'_>,
        input: String,
        hook: Option<HookAnswer>,
        approved: Decision,
    ) -> Result<Decided, CancelCause> {
        if let Err(why) = self.replace_input(job, input) {
            let decision = Decision { verdict: Verdict::Deny, reason: why, ..approved };
            return Ok(Err(self.denied(&job.call, decision)));
        }
        let ready = job.ready.as_ref().expect("it was ready and is");
        let (policy_call, Explanation { decision, .. }) = self.judge(job, ready, hook);
        if decision.verdict == Verdict::Deny {
            return Ok(Err(self.denied(&job.call, decision)));
        }
        let binding = policy_call.binding(ready.args.get(), &self.policy.workspace.cwd);
        let preview = self.control.until(ready.tool.preview(&ready.args)).await?;
        job.approved = Some(Approved { policy_call, binding, preview });
        let decision = Decision { verdict: Verdict::Allow, ..decision };
        self.resolved(&job.call, decision.clone(), DecidedBy::User);
        Ok(Ok(decision))
    }

    /// Returns the call's paths if they and the preview are still what the user approved. Questions about other calls take
    /// time, so this runs after the last of them.
    async fn recheck(
        &mut self,
        ready: &ResolvedCall,
        approved: Approved,
    ) -> Result<Option<PathSnapshot>, CancelCause> {
        let Approved { mut policy_call, binding, preview } = approved;
        policy_call.gather(|path| self.toolbox.path_facts(path));
        if policy_call.binding(ready.args.get(), &self.policy.workspace.cwd) != binding {
            return Ok(None);
        }
        let same = self.control.until(ready.tool.preview(&ready.args)).await? == preview;
        let obligations = Obligations { holding: self.holding(), ..Obligations::default() };
        Ok(same.then(|| policy_call.facts.into_snapshot().with_obligations(obligations)))
    }

    fn deny(&mut self, job: &mut Job<'_>, reason: String) {
        job.ready = None;
        job.approved = None;
        self.finish(job, self.toolbox.refuse(ToolCode::PermissionDenied, reason));
    }

    /// Emits the denial of a call, and returns what the model reads: why, and what would be allowed (DEC-3).
    fn denied(&mut self, call: &ToolCall, decision: Decision) -> String {
        let message = match &decision.instead {
            Some(instead) => format!("{}. {instead}", decision.reason),
            None => decision.reason.clone(),
        };
        self.resolved(call, decision, DecidedBy::Policy);
        message
    }

    /// Asks the user and waits. The caller emits an approval, since its terms may replace the input.
    async fn ask(
        &mut self,
        call: &ToolCall,
        decision: Decision,
        question: Arc<Question>,
    ) -> Result<Answered, CancelCause> {
        let permit = self.registry.prompt_permit(self.emitter.agent(), &call.id);
        let _permit = self.control.until(permit).await?;
        self.emitter.emit(ToolEvent::ApprovalRequested {
            call: call.id.clone(),
            decision: decision.clone(),
            question: question.clone(),
        });
        self.emitter.idle();
        let answer = self.control.approval(&call.id).await.inspect_err(|_| {
            let denied = Decision { verdict: Verdict::Deny, ..decision.clone() };
            self.resolved(call, denied, DecidedBy::Cancelled);
        })?;
        let yes = |terms| Ok(Answered::Yes(Decision { verdict: Verdict::Allow, ..decision.clone() }, terms));
        let (by, reason, interrupt) = match answer {
            // One question about searches is enough for a session.
            Some(Approval::Allow)
                if question.grants.first().is_some_and(|grant| grant.rules == ["WebSearch"]) =>
            {
                let rule = "WebSearch".to_owned();
                let updates = vec![PermissionUpdate::AddRule { verdict: Verdict::Allow, rule }];
                return yes(Terms { updates, ..Terms::default() });
            }
            Some(Approval::Allow) => return yes(Terms::default()),
            Some(Approval::Grant(index)) => {
                let rule =
                    |rule: &String| PermissionUpdate::AddRule { verdict: Verdict::Allow, rule: rule.clone() };
                let granted = question.grants.get(index).map_or(&[][..], |grant| &grant.rules);
                let updates = granted.iter().map(rule).collect();
                return yes(Terms { updates, ..Terms::default() });
            }
            Some(Approval::AllowWith(terms)) => return yes(terms),
            Some(Approval::Reject { reason }) => {
                let said = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                let what = match question.preview {
                    Preview::Choices(_) => "The user did not answer",
                    _ => "The user rejected this call",
                };
                (DecidedBy::User, format!("{what}{said}"), false)
            }
            Some(Approval::Refuse { message, interrupt }) => (DecidedBy::User, message, interrupt),
            Some(Approval::Unavailable { why }) => {
                (DecidedBy::Policy, format!("{APPROVAL_UNAVAILABLE}: {why}"), false)
            }
            None => {
                let reason = format!("{APPROVAL_UNAVAILABLE}: nobody is left to answer");
                (DecidedBy::Policy, reason, false)
            }
        };
        let nobody_to_ask = by == DecidedBy::Policy;
        let decision = Decision { verdict: Verdict::Deny, reason: reason.clone(), nobody_to_ask, ..decision };
        self.resolved(call, decision, by);
        Ok(if interrupt { Answered::Interrupt(reason) } else { Answered::No(reason) })
    }

    fn resolved(&mut self, call: &ToolCall, decision: Decision, by: DecidedBy) {
        self.emitter.emit(ToolEvent::ApprovalResolved { call: call.id.clone(), decision, by });
    }
}

/// Returns what was answered to each question. Clients of the Claude protocol put it into the input, by the words of the
/// question; that input is no other call.
pub(super) fn answers(choices: &[Choice], terms: &mut Terms) -> Vec<String> {
    if !terms.answers.is_empty() {
        let said = choices.iter().zip(&terms.answers);
        return said.map(|(choice, text)| choice.answer(text)).collect();
    }
    let Some(input) = terms.input.take() else { return Vec::new() };
    let input: serde_json::Value = serde_json::from_str(&input).unwrap_or_default();
    let text = |answer: &serde_json::Value| match answer {
        serde_json::Value::Array(several) => {
            several.iter().filter_map(|one| one.as_str()).collect::<Vec<_>>().join(", ")
        }
        one => one.as_str().unwrap_or_default().to_owned(),
    };
    choices.iter().map(|choice| text(&input["answers"][&choice.question])).collect()
}
