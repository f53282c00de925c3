//! What all agents of a session share: what the run has used, who is at work, whose question is open, and which ids calls
//! have had.
//!
//! The engine that the user talks to hears everything that is said; what concerns a sub-agent it passes on through here.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use zori_core::cost::Spent;
use zori_core::ids::{AgentId, CallId};
use zori_core::input::Input;

/// So much may be said to one sub-agent before it listens. There is one question at a time, and one cancel.
const WAITING: usize = 64;

/// The agents of a session.
pub(crate) struct Crew {
    state: Mutex<State>,
    /// Held by whoever asks: a person reads one question at a time, and an answer can only mean one call.
    floor: Semaphore,
}

struct State {
    /// What all requests of the run used, whoever sent them.
    spent: Spent,
    /// The requests answered for this prompt.
    requests: u32,
    /// How many sub-agents were started for this prompt.
    started: u32,
    /// The number of the last one of the session.
    last: u32,
    members: Vec<(AgentId, mpsc::Sender<Input>)>,
    asking: Option<(AgentId, CallId)>,
    /// The ids of all calls there were.
    calls: HashSet<CallId>,
}

/// A sub-agent at work; it is one for as long as this lives.
pub(crate) struct Member {
    crew: Arc<Crew>,
    pub(crate) id: AgentId,
    pub(crate) inputs: mpsc::Receiver<Input>,
}

/// The right to ask; given back when dropped.
pub(crate) struct Floor<'a> {
    crew: &'a Crew,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Crew {
    /// Returns the crew of a session. `spent`: what the run has used before it.
    pub(crate) fn new(spent: Spent) -> Arc<Self> {
        let (members, calls) = (Vec::new(), HashSet::new());
        let state = State { spent, requests: 0, started: 0, last: 0, members, asking: None, calls };
        Arc::new(Self { state: Mutex::new(state), floor: Semaphore::new(1) })
    }

    /// Returns the id of one more call: the provider's, unless the session has had a call of that id. Some servers count
    /// from the beginning in every answer, but answers to questions and results go by the id.
    pub(crate) fn name(&self, id: &CallId) -> CallId {
        let calls = &mut self.lock().calls;
        let others = (2_u32..).map(|n| CallId::new(format!("{id}_{n}")));
        let mut names = std::iter::once(id.clone()).chain(others);
        names.find(|name| calls.insert(name.clone())).expect("there are more numbers than calls")
    }

    /// Takes an id back that was told to nobody.
    pub(crate) fn forget(&self, id: &CallId) {
        self.lock().calls.remove(id);
    }

    /// Counts what a request used.
    pub(crate) fn pay(&self, spent: Spent) {
        self.lock().spent += spent;
    }

    /// Counts a reply.
    pub(crate) fn answered(&self) {
        self.lock().requests += 1;
    }

    /// Returns what the run has used, and how many replies there were to this prompt.
    pub(crate) fn used(&self) -> (Spent, u32) {
        let state = self.lock();
        (state.spent, state.requests)
    }

    /// Begins to count for another prompt.
    pub(crate) fn prompted(&self) {
        let mut state = self.lock();
        (state.requests, state.started) = (0, 0);
    }

    /// Takes one more sub-agent in, unless there were `max` for this prompt.
    pub(crate) fn join(self: &Arc<Self>, max: u32) -> Option<Member> {
        let mut state = self.lock();
        if state.started >= max {
            return None;
        }
        state.started += 1;
        state.last += 1;
        let id = AgentId(state.last);
        let (say, inputs) = mpsc::channel(WAITING);
        state.members.push((id, say));
        Some(Member { crew: self.clone(), id, inputs })
    }

    /// Says something to every sub-agent at work.
    pub(crate) fn tell_all(&self, input: &Input) {
        for (_, say) in &self.lock().members {
            // One that no longer listens has come to its end.
            let _ = say.try_send(input.clone());
        }
    }

    /// Passes an answer on if it is for a sub-agent's question, else gives it back.
    pub(crate) fn pass_on(&self, call: &CallId, input: Input) -> Option<Input> {
        let state = self.lock();
        let asking = state.asking.as_ref().filter(|(_, asked)| asked == call);
        let Some((_, say)) =
            asking.and_then(|(agent, _)| state.members.iter().find(|(member, _)| member == agent))
        else {
            return Some(input);
        };
        let _ = say.try_send(input);
        None
    }

    /// Waits until nobody else asks, and notes who does.
    pub(crate) async fn floor(&self, agent: AgentId, call: &CallId) -> Floor<'_> {
        // Nobody closes it.
        let permit = self.floor.acquire().await.ok();
        self.lock().asking = Some((agent, call.clone()));
        Floor { crew: self, _permit: permit }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.crew.lock().members.retain(|(id, _)| *id != self.id);
    }
}

impl Drop for Floor<'_> {
    fn drop(&mut self) {
        self.crew.lock().asking = None;
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
        let crew = Crew::new(Spent::NOTHING);
        let (mut one, mut two) = (crew.join(2).unwrap(), crew.join(2).unwrap());
        let call = CallId::new("c");
        assert_eq!(crew.pass_on(&call, answer("c")), Some(answer("c")), "nobody asks");
        let floor = crew.floor(two.id, &call).await;
        assert_eq!(crew.pass_on(&CallId::new("d"), answer("d")), Some(answer("d")), "about another call");
        assert_eq!(crew.pass_on(&call, answer("c")), None);
        drop(floor);
        assert_eq!(crew.pass_on(&call, answer("c")), Some(answer("c")), "it was answered");
        assert_eq!((one.inputs.try_recv().ok(), two.inputs.try_recv().ok()), (None, Some(answer("c"))));
        assert_eq!(two.inputs.try_recv().ok(), None);
    }

    #[test]
    fn no_two_calls_have_one_id() {
        let crew = Crew::new(Spent::NOTHING);
        let names = ["a", "a", "b", "a_2", "a"].map(|id| crew.name(&CallId::new(id)).to_string());
        assert_eq!(names, ["a", "a_2", "b", "a_2_2", "a_3"]);
    }

    #[test]
    fn everybody_at_work_hears_a_cancel() {
        let crew = Crew::new(Spent::NOTHING);
        let (gone, mut here) = (crew.join(3).unwrap(), crew.join(3).unwrap());
        drop(gone);
        crew.tell_all(&Input::Cancel(CancelCause::User));
        assert_eq!(here.inputs.try_recv().ok(), Some(Input::Cancel(CancelCause::User)));
        assert_eq!(
            (here.id, crew.join(3).unwrap().id),
            (AgentId(2), AgentId(3)),
            "numbers are not used twice"
        );
        assert!(crew.join(3).is_none(), "three were started for this prompt");
        crew.prompted();
        assert!(crew.join(3).is_some());
    }
}
