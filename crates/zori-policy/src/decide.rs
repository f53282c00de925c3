//! Whether a call runs. Pure and total: the same values give the same decision, and there is one for every call.

use zori_core::permission::{Class, Decision, Verdict};

use crate::call::Call;
use crate::classified::ClassifiedCall;
use crate::policy::Policy;
use crate::steps::{Finding, STEPS};

/// Decides about a call.
pub fn decide(policy: &Policy, call: &Call) -> Decision {
    explain(policy, call).decision
}

/// A decision with the findings of every step.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub decision: Decision,
    /// One entry per step, in order.
    pub steps: Vec<StepNote>,
}

/// What a step found, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepNote {
    /// Which step, from 1.
    pub number: u8,
    pub title: &'static str,
    pub outcome: StepOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// It found nothing.
    Passed,
    /// It decided, or changed what was decided.
    Found { verdict: Verdict, reason: String },
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

/// Decides about a call and records what each step found (RULE-8).
pub fn explain(policy: &Policy, call: &Call) -> Explanation {
    let classified = ClassifiedCall::new(policy, call);
    let mut held: Option<(u8, Finding)> = None;
    let mut steps = Vec::with_capacity(STEPS.len());
    for (number, step) in (1..).zip(STEPS) {
        let last = usize::from(number) == STEPS.len();
        let outcome = if held.is_some() && !last {
            StepOutcome::NotReached
        } else {
            match (step.look)(&classified, held.as_ref().map(|(_, finding)| finding)) {
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
        class: classified.class,
        reason,
        instead: finding.instead.map(str::to_owned),
        rule: finding.rule,
        step,
        nobody_to_ask: finding.nobody_to_ask,
        unresolved: classified.unresolved().is_some() || classified.class == Class::ShellUnknown,
    };
    Explanation { decision, steps }
}

#[cfg(test)]
mod tests;
