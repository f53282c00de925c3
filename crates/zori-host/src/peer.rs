//! The other end of a session: a person at a terminal, a program behind a protocol, or nobody.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use zori_core::event::Event;
use zori_core::ids::{AgentId, CallId};
use zori_core::input::{Approval, Input};
use zori_core::permission::Decision;
use zori_core::question::Question;
use zori_policy::Approver;

/// The other end of a session while a turn runs.
///
/// The host calls [`ask`](Self::ask) and [`tell`](Self::tell) between two waits for [`next`](Self::next), in the order in
/// which things happened; a question always comes before what the peer says next. None of the three may block.
pub trait Peer {
    /// Takes something that the session wants from the peer. The answer comes out of [`next`](Self::next), now or
    /// later; a turn that ends first does not wait for it.
    fn ask(&mut self, request: PeerRequest);

    /// Takes an event that the front end listens for ([`FrontendParts::listens_for`](crate::FrontendParts)).
    fn tell(&mut self, _: &Event) {}

    /// Waits for what the peer has to say to the turn. A wait that is dropped must lose nothing: the host drops it
    /// whenever something else happens, and waits again. A peer that has nothing more to say waits for ever.
    fn next(&mut self) -> impl Future<Output = Input>;
}

/// Waits for a future, if there is one, and else for ever: for a peer whose [`next`](Peer::next) selects among things that
/// may not be there, such as the answer to a question.
pub async fn pending_or<T>(future: &mut Option<Pin<Box<dyn Future<Output = T> + '_>>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// What a session wants from its peer while a turn runs.
#[derive(Clone, Debug)]
pub enum PeerRequest {
    /// Whether a call may run. The answer is an [`Input::Approve`] for the call.
    Approval {
        /// The agent that wants to make the call.
        agent: AgentId,
        /// The id that the answer has to name.
        call: CallId,
        /// Why it is asked about.
        decision: Decision,
        /// What is asked, with what would happen.
        question: Arc<Question>,
    },
}

/// Who answers questions about calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Nobody; what would be asked is denied.
    Nobody,
    /// Every question has been answered with yes in advance; the host does so, and no peer is asked.
    Yes,
    /// A person at the terminal.
    Person,
    /// The program at the other end.
    Client,
}

impl Answers {
    /// Returns what the policy has to know about it.
    pub fn approver(self) -> Approver {
        match self {
            Self::Nobody => Approver::Absent,
            Self::Yes | Self::Person | Self::Client => Approver::Present,
        }
    }
}

/// The peer of a session that nobody attends: every question is answered with no, and nothing else is said.
#[derive(Debug, Default)]
pub struct Unattended(VecDeque<Input>);

impl Peer for Unattended {
    fn ask(&mut self, request: PeerRequest) {
        let PeerRequest::Approval { call, .. } = request;
        let why = "nobody attends this session".to_owned();
        self.0.push_back(Input::Approve { call, answer: Approval::Unavailable { why } });
    }

    async fn next(&mut self) -> Input {
        match self.0.pop_front() {
            Some(input) => input,
            None => std::future::pending().await,
        }
    }
}
