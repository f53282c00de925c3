//! The order of calls: each is written, then its result, then the next, in whatever order the engine announces them.

use std::collections::{HashMap, VecDeque};

use zori_core::ids::{AgentId, CallId};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Call { id: CallId, name: String, input: String },
    Result { id: CallId, answer: Answer },
}

/// What came of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) content: String,
    pub(super) is_error: bool,
}

/// The calls of each agent whose result is not written yet.
#[derive(Default)]
pub(super) struct Calls(HashMap<AgentId, VecDeque<Open>>);

struct Open {
    id: CallId,
    /// Name and input, until they are written.
    untold: Option<(String, String)>,
    answer: Option<Answer>,
}

impl Calls {
    pub(super) fn requested(&mut self, agent: AgentId, id: CallId, name: String, input: String) -> Vec<Step> {
        let open = Open { id, untold: Some((name, input)), answer: None };
        self.0.entry(agent).or_default().push_back(open);
        self.next(agent)
    }

    /// Replaces the input of a call, unless it was written.
    pub(super) fn changed(&mut self, agent: AgentId, id: &CallId, input: String) {
        let held = self.0.get_mut(&agent).into_iter().flatten().find(|open| open.id == *id);
        if let Some((_, before)) = held.and_then(|open| open.untold.as_mut()) {
            *before = input;
        }
    }

    pub(super) fn finished(&mut self, agent: AgentId, id: &CallId, answer: Answer) -> Vec<Step> {
        if let Some(open) = self.0.get_mut(&agent).into_iter().flatten().find(|open| open.id == *id) {
            open.answer = Some(answer);
        }
        self.next(agent)
    }

    /// Returns what can be written: the first call, and as long as it has a result, the next.
    fn next(&mut self, agent: AgentId) -> Vec<Step> {
        let mut steps = Vec::new();
        let Some(open) = self.0.get_mut(&agent) else { return steps };
        while let Some(first) = open.front_mut() {
            if let Some((name, input)) = first.untold.take() {
                steps.push(Step::Call { id: first.id.clone(), name, input });
            }
            let Some(answer) = first.answer.take() else { return steps };
            steps.push(Step::Result { id: first.id.clone(), answer });
            open.pop_front();
        }
        self.0.remove(&agent);
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(steps: Vec<Step>) -> String {
        let say = |step: Step| match step {
            Step::Call { id, input, .. } => format!("call {id} {input}"),
            Step::Result { id, answer } => format!("result {id} {}", answer.content),
        };
        steps.into_iter().map(say).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn results_wait_for_their_call_to_be_told() {
        let (mut calls, main, other) = (Calls::default(), AgentId::MAIN, AgentId(1));
        let id = |text: &str| CallId::new(text);
        let answer = |text: &str| Answer { content: text.to_owned(), is_error: false };
        let mut ask = |agent, name: &str| told(calls.requested(agent, id(name), "t".into(), "{}".into()));
        assert_eq!(ask(main, "a"), "call a {}");
        assert_eq!([ask(main, "b"), ask(main, "c")], ["", ""]);
        assert_eq!(ask(other, "x"), "call x {}", "a sub-agent has an order of its own");
        calls.changed(main, &id("a"), "late".into());
        calls.changed(main, &id("c"), "{1}".into());
        assert_eq!(told(calls.finished(main, &id("b"), answer("B"))), "");
        assert_eq!(
            told(calls.finished(main, &id("a"), answer("A"))),
            "result a A, call b {}, result b B, call c {1}"
        );
        assert_eq!(told(calls.finished(main, &id("nobody"), answer("?"))), "");
        assert_eq!(told(calls.finished(main, &id("c"), answer("C"))), "result c C");
        assert!(!calls.0.contains_key(&main) && calls.0.contains_key(&other));
    }
}
