//! What is said to the engine while a turn runs.
//!
//! Every wait of a turn goes through [`Control::until`], so that a cancel is heard everywhere and within one
//! poll. Prompts wait for the turn's end; steering texts wait for the next request.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc;
use zori_core::ids::CallId;
use zori_core::input::{Approval, Input};
use zori_core::outcome::CancelCause;

use crate::crew::Crew;

/// The listening side of a turn.
pub(crate) struct Control<'a> {
    inputs: &'a mut mpsc::Receiver<Input>,
    open: bool,
    /// What is for later: prompts, a compaction, the end.
    pub(crate) later: VecDeque<Input>,
    /// What the user added to this turn and the model has not seen yet.
    pub(crate) steers: Vec<String>,
    /// What is for the next request of this turn: another model, another effort.
    pub(crate) wishes: Vec<Input>,
    /// The permission modes that were named, for calls not decided yet.
    pub(crate) modes: Vec<String>,
    answers: Vec<(CallId, Approval)>,
    /// The sub-agents that are told what concerns them; only the agent the user talks to tells them.
    crew: Option<Arc<Crew>>,
}

impl<'a> Control<'a> {
    pub(crate) fn new(inputs: &'a mut mpsc::Receiver<Input>, crew: Option<Arc<Crew>>) -> Self {
        Self {
            inputs,
            open: true,
            later: VecDeque::new(),
            steers: Vec::new(),
            wishes: Vec::new(),
            modes: Vec::new(),
            answers: Vec::new(),
            crew,
        }
    }

    /// Waits for `future` or for a cancel, whichever comes first. On a cancel the future is dropped.
    pub(crate) async fn until<T>(&mut self, future: impl Future<Output = T>) -> Result<T, CancelCause> {
        let mut future = std::pin::pin!(future);
        loop {
            tokio::select! {
                biased;
                input = self.inputs.recv(), if self.open => self.take(input)?,
                value = &mut future => return Ok(value),
            }
        }
    }

    /// Waits for the answer about one call. `None` means that nobody can answer any more.
    pub(crate) async fn answer(&mut self, call: &CallId) -> Result<Option<Approval>, CancelCause> {
        loop {
            if let Some(found) = self.answers.iter().position(|(id, _)| id == call) {
                return Ok(Some(self.answers.swap_remove(found).1));
            }
            if !self.open {
                return Ok(None);
            }
            let input = self.inputs.recv().await;
            self.take(input)?;
        }
    }

    /// Returns what is for nobody but this agent; sub-agents hear the rest.
    fn mine(&self, input: Input) -> Option<Input> {
        let Some(crew) = &self.crew else { return Some(input) };
        match &input {
            Input::Cancel(_) | Input::SetMode(_) => crew.tell_all(&input),
            Input::Approve { call, .. } => {
                let call = call.clone();
                return crew.pass_on(&call, input);
            }
            _ => {}
        }
        Some(input)
    }

    fn take(&mut self, input: Option<Input>) -> Result<(), CancelCause> {
        let input = match input {
            Some(input) => match self.mine(input) {
                Some(input) => Some(input),
                None => return Ok(()),
            },
            None => None,
        };
        match input {
            None => self.open = false,
            Some(Input::Cancel(cause)) => return Err(cause),
            Some(Input::Steer(text)) => self.steers.push(text),
            Some(Input::Approve { call, answer }) => self.answers.push((call, answer)),
            Some(Input::SetMode(name)) => self.modes.push(name),
            Some(wish @ (Input::SetModel { .. } | Input::SetEffort(_))) => self.wishes.push(wish),
            Some(
                other @ (Input::Prompt(_) | Input::Compact { .. } | Input::UndoCompact | Input::Shutdown),
            ) => self.later.push_back(other),
        }
        Ok(())
    }
}
