//! Whether a call runs. Pure and total: the same values give the same decision, and there is one for every call.

use zori_core::permission::{Class, Decision, Reach, Verdict};

use crate::call::Call;
use crate::policy::Policy;
use crate::steps::{Finding, STEPS};
use crate::subject::Subject;

/// Decides about a call.
pub fn decide(policy: &Policy, call: &Call) -> Decision {
    explain(policy, call).decision
}

/// A decision with all that was looked at on the way to it.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The decision.
    pub decision: Decision,
    /// One entry per step, in order.
    pub steps: Vec<StepNote>,
}

/// What a step had to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepNote {
    /// Which step, from 1.
    pub number: u8,
    /// What it looks at.
    pub title: &'static str,
    /// What came of it.
    pub outcome: StepOutcome,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// It had nothing to say.
    Passed,
    /// It decided, or changed what was decided.
    Found {
        /// What it says.
        verdict: Verdict,
        /// Why.
        reason: String,
    },
    /// An earlier step had decided.
    NotReached,
}

impl Explanation {
    /// Returns one line per step, for people.
    pub fn lines(&self) -> Vec<String> {
        let line = |step: &StepNote| {
            let said = match &step.outcome {
                StepOutcome::Passed => "-".to_owned(),
                StepOutcome::NotReached => "not reached".to_owned(),
                StepOutcome::Found { verdict, reason } => format!("{}: {reason}", verdict.as_str()),
            };
            format!("{:>2}  {:<27} {said}", step.number, step.title)
        };
        self.steps.iter().map(line).collect()
    }
}

/// Decides about a call and says what each step had to say (RULE-8).
pub fn explain(policy: &Policy, call: &Call) -> Explanation {
    let subject = Subject::new(policy, call);
    let mut held: Option<(u8, Finding)> = None;
    let mut steps = Vec::with_capacity(STEPS.len());
    for (number, step) in (1..).zip(STEPS) {
        let last = usize::from(number) == STEPS.len();
        let outcome = if held.is_some() && !last {
            StepOutcome::NotReached
        } else {
            match (step.look)(&subject, held.as_ref().map(|(_, finding)| finding)) {
                None => StepOutcome::Passed,
                Some(finding) => {
                    let outcome =
                        StepOutcome::Found { verdict: finding.verdict, reason: finding.reason.clone() };
                    held = Some((number, finding));
                    outcome
                }
            }
        };
        steps.push(StepNote { number, title: step.title, outcome });
    }
    let (step, finding) = held.expect("the table always has a cell");
    let reason = match (&policy.agent, finding.verdict) {
        (Some(agent), Verdict::Ask) => format!("sub-agent {agent}: {}", finding.reason),
        _ => finding.reason,
    };
    let decision = Decision {
        verdict: finding.verdict,
        class: subject.class,
        reason,
        instead: finding.instead.map(str::to_owned),
        rule: finding.rule,
        step,
        reach: reach(subject.class, finding.verdict),
        unresolved: subject.unresolved().is_some() || subject.class == Class::Xu,
    };
    Explanation { decision, steps }
}

/// A command that nobody looks at gets no network in a sandbox; one that a person approves does (DECISIONS 38).
fn reach(class: Class, verdict: Verdict) -> Reach {
    match (class.is_shell(), verdict) {
        (false, _) => Reach::NoProcess,
        (true, Verdict::Ask) => Reach::Online,
        (true, Verdict::Allow | Verdict::Deny) => Reach::Offline,
    }
}

#[cfg(test)]
mod tests;
