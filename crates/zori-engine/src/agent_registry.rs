//! The agents of a session: what the run has used, which sub-agents are running, which agent has a question open, and
//! which call ids are taken.
//!
//! The main engine receives every input. It forwards those that concern a sub-agent through the registry.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use zori_core::cost::Spent;
use zori_core::ids::{AgentId, CallId};
use zori_core::input::Input;
use zori_policy::Call;

/// The capacity of a sub-agent's input channel. At most one answer and one cancel are pending at a time.
const INPUT_CAPACITY: usize = 64;

/// How many calls that were asked about are remembered.
const MAX_ASKED: usize = 64;

/// The state that all agents of a session share.
pub(crate) struct AgentRegistry {
    state: Mutex<State>,
    /// Held while a question is open: a person reads one at a time, and an answer can only mean one call.
    prompt: Semaphore,
}

struct State {
    /// What all requests of the run used, by every agent.
    spent: Spent,
    /// The replies received for the current prompt.
    requests: u32,
    /// How many sub-agents the current prompt has started.
    started: u32,
    /// The number of the newest sub-agent of the session.
    last: u32,
    agents: Vec<(AgentId, mpsc::Sender<Input>)>,
    asking: Option<(AgentId, CallId)>,
    /// The ids of all calls of the session.
    calls: HashSet<CallId>,
    /// The newest calls that somebody was asked about.
    asked: VecDeque<Call>,
}

/// A running sub-agent. Dropping the handle removes it from the registry.
pub(crate) struct AgentHandle {
    registry: Arc<AgentRegistry>,
    pub(crate) id: AgentId,
    pub(crate) inputs: mpsc::Receiver<Input>,
}

/// The right to ask the user a question, released when dropped.
pub(crate) struct PromptPermit<'a> {
    registry: &'a AgentRegistry,
    _permit: Option<SemaphorePermit<'a>>,
}

impl AgentRegistry {
    /// Creates the registry of a session. `spent` is what the run used before it.
    pub(crate) fn new(spent: Spent) -> Arc<Self> {
        let (agents, calls) = (Vec::new(), HashSet::new());
        let state = State {
            spent,
            requests: 0,
            started: 0,
            last: 0,
            agents,
            asking: None,
            calls,
            asked: VecDeque::new(),
        };
        Arc::new(Self { state: Mutex::new(state), prompt: Semaphore::new(1) })
    }

    /// Returns the calls that were asked about before, and adds one.
    pub(crate) fn asked_before(&self, call: &Call) -> Vec<Call> {
        let asked = &mut self.lock().asked;
        let before = asked.iter().cloned().collect();
        asked.truncate(MAX_ASKED - 1);
        asked.push_front(call.clone());
        before
    }

    /// Reserves an id for a new call: the provider's own, or with a number appended if the session has used it before.
    /// Some servers restart their numbering with every reply, but approvals and results are matched by id.
    pub(crate) fn unique_call_id(&self, id: &CallId) -> CallId {
        let calls = &mut self.lock().calls;
        let others = (2_u32..).map(|n| CallId::new(format!("{id}_{n}")));
        let mut names = std::iter::once(id.clone()).chain(others);
        names.find(|name| calls.insert(name.clone())).expect("there are more numbers than calls")
    }

    /// Frees an id that no event has mentioned.
    pub(crate) fn release_call_id(&self, id: &CallId) {
        self.lock().calls.remove(id);
    }

    /// Adds what a request used.
    pub(crate) fn add_spent(&self, spent: Spent) {
        self.lock().spent += spent;
    }

    /// Counts a reply.
    pub(crate) fn count_reply(&self) {
        self.lock().requests += 1;
    }

    /// Returns what the run has used, and how many replies the current prompt has received.
    pub(crate) fn used(&self) -> (Spent, u32) {
        let state = self.lock();
        (state.spent, state.requests)
    }

    /// Resets the counters that hold for one prompt.
    pub(crate) fn start_prompt(&self) {
        let mut state = self.lock();
        (state.requests, state.started) = (0, 0);
    }

    /// Registers a new sub-agent; `None` if the current prompt has already started `max`.
    pub(crate) fn register(self: &Arc<Self>, max: u32) -> Option<AgentHandle> {
        let mut state = self.lock();
        if state.started >= max {
            return None;
        }
        state.started += 1;
        state.last += 1;
        let id = AgentId(state.last);
        let (sender, inputs) = mpsc::channel(INPUT_CAPACITY);
        state.agents.push((id, sender));
        Some(AgentHandle { registry: self.clone(), id, inputs })
    }

    /// Returns a number for events that belong to no agent of the conversation.
    pub(crate) fn number_agent(&self) -> AgentId {
        let mut state = self.lock();
        state.last += 1;
        AgentId(state.last)
    }

    /// Sends an input to every running sub-agent.
    pub(crate) fn broadcast(&self, input: &Input) {
        for (_, sender) in &self.lock().agents {
            // A closed channel belongs to a sub-agent that has ended.
            let _ = sender.try_send(input.clone());
        }
    }

    /// Forwards an answer to the sub-agent whose question it is for; returns it if there is none.
    pub(crate) fn forward_answer(&self, call: &CallId, input: Input) -> Option<Input> {
        let state = self.lock();
        let asking = state.asking.as_ref().filter(|(_, asked)| asked == call);
        let Some((_, sender)) =
            asking.and_then(|(agent, _)| state.agents.iter().find(|(running, _)| running == agent))
        else {
            return Some(input);
        };
        let _ = sender.try_send(input);
        None
    }

    /// Waits until no other question is open, and records whose question is next.
    pub(crate) async fn prompt_permit(&self, agent: AgentId, call: &CallId) -> PromptPermit<'_> {
        // The semaphore is never closed.
        let permit = self.prompt.acquire().await.ok();
        self.lock().asking = Some((agent, call.clone()));
        PromptPermit { registry: self, _permit: permit }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AgentHandle {
    fn drop(&mut self) {
        self.registry.lock().agents.retain(|(id, _)| *id != self.id);
    }
}

impl Drop for PromptPermit<'_> {
    fn drop(&mut self) {
        self.registry.lock().asking = None;
    }
}

#[cfg(test)]
mod tests {
    use zori_core::input::Approval;
    use zori_core::outcome::CancelCause;

    use super::*;

    fn answer(call: &str) -> Input {
        Input::Approve { call: CallId::new(call), answer: Approval::Allow }
    }

    #[tokio::test]
    async fn an_answer_reaches_whoever_asks_and_nobody_else() {
        let registry = AgentRegistry::new(Spent::NOTHING);
        let (mut one, mut two) = (registry.register(2).unwrap(), registry.register(2).unwrap());
        let call = CallId::new("c");
        assert_eq!(registry.forward_answer(&call, answer("c")), Some(answer("c")), "nobody asks");
        let permit = registry.prompt_permit(two.id, &call).await;
        assert_eq!(
            registry.forward_answer(&CallId::new("d"), answer("d")),
            Some(answer("d")),
            "about another call"
        );
        assert_eq!(registry.forward_answer(&call, answer("c")), None);
        drop(permit);
        assert_eq!(registry.forward_answer(&call, answer("c")), Some(answer("c")), "it was answered");
        assert_eq!((one.inputs.try_recv().ok(), two.inputs.try_recv().ok()), (None, Some(answer("c"))));
        assert_eq!(two.inputs.try_recv().ok(), None);
    }

    #[test]
    fn no_two_calls_have_one_id() {
        let registry = AgentRegistry::new(Spent::NOTHING);
        let names =
            ["a", "a", "b", "a_2", "a"].map(|id| registry.unique_call_id(&CallId::new(id)).to_string());
        assert_eq!(names, ["a", "a_2", "b", "a_2_2", "a_3"]);
    }

    #[test]
    fn everybody_at_work_hears_a_cancel() {
        let registry = AgentRegistry::new(Spent::NOTHING);
        let (gone, mut here) = (registry.register(3).unwrap(), registry.register(3).unwrap());
        drop(gone);
        registry.broadcast(&Input::Cancel(CancelCause::User));
        assert_eq!(here.inputs.try_recv().ok(), Some(Input::Cancel(CancelCause::User)));
        assert_eq!(
            (here.id, registry.register(3).unwrap().id),
            (AgentId(2), AgentId(3)),
            "numbers are not used twice"
        );
        assert!(registry.register(3).is_none(), "three were started for this prompt");
        registry.start_prompt();
        assert!(registry.register(3).is_some());
    }
}
