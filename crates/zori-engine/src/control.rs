//! The inputs of a running turn.
//!
//! Every wait of a turn goes through [`Control::until`], so that a cancel takes effect everywhere and within
//! one poll. Prompts wait for the turn's end; steering texts wait for the next request.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc;
use zori_core::ids::CallId;
use zori_core::input::{Approval, Input};
use zori_core::outcome::CancelCause;

use crate::agent_registry::AgentRegistry;

/// Receives and sorts the inputs of a running turn.
pub(crate) struct Control<'a> {
    inputs: &'a mut mpsc::Receiver<Input>,
    open: bool,
    /// Inputs for after the turn: prompts, a compaction, the end.
    pub(crate) queued: VecDeque<Input>,
    /// Steering texts that the model has not seen yet.
    pub(crate) steers: Vec<String>,
    /// Changes for the next request of this turn: model, effort.
    pub(crate) updates: Vec<Input>,
    /// Mode changes, for calls that are not decided yet.
    pub(crate) modes: Vec<String>,
    approvals: Vec<(CallId, Approval)>,
    /// Where inputs for sub-agents go; only the main engine forwards them.
    registry: Option<Arc<AgentRegistry>>,
}

impl<'a> Control<'a> {
    pub(crate) fn new(inputs: &'a mut mpsc::Receiver<Input>, registry: Option<Arc<AgentRegistry>>) -> Self {
        Self {
            inputs,
            open: true,
            queued: VecDeque::new(),
            steers: Vec::new(),
            updates: Vec::new(),
            modes: Vec::new(),
            approvals: Vec::new(),
            registry,
        }
    }

    /// Waits for `future` or a cancel, whichever comes first. A cancel drops the future.
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

    /// Waits for the approval of one call. `None` means that the inputs have ended.
    pub(crate) async fn approval(&mut self, call: &CallId) -> Result<Option<Approval>, CancelCause> {
        loop {
            if let Some(found) = self.approvals.iter().position(|(id, _)| id == call) {
                return Ok(Some(self.approvals.swap_remove(found).1));
            }
            if !self.open {
                return Ok(None);
            }
            let input = self.inputs.recv().await;
            self.take(input)?;
        }
    }

    /// Forwards what concerns sub-agents, and returns the input unless it was for one of them alone.
    fn forward(&self, input: Input) -> Option<Input> {
        let Some(registry) = &self.registry else { return Some(input) };
        match &input {
            Input::Cancel(_) | Input::SetMode(_) => registry.broadcast(&input),
            Input::Approve { call, .. } => {
                let call = call.clone();
                return registry.forward_answer(&call, input);
            }
            _ => {}
        }
        Some(input)
    }

    fn take(&mut self, input: Option<Input>) -> Result<(), CancelCause> {
        let input = match input {
            Some(input) => match self.forward(input) {
                Some(input) => Some(input),
                None => return Ok(()),
            },
            None => None,
        };
        match input {
            None => self.open = false,
            Some(Input::Cancel(cause)) => return Err(cause),
            Some(Input::Steer(text)) => self.steers.push(text),
            Some(Input::Approve { call, answer }) => self.approvals.push((call, answer)),
            Some(Input::SetMode(name)) => self.modes.push(name),
            Some(update @ (Input::SetModel { .. } | Input::SetEffort(_))) => self.updates.push(update),
            Some(
                other @ (Input::Prompt(_)
                | Input::Shell { .. }
                | Input::Compact { .. }
                | Input::UndoCompact
                | Input::Shutdown),
            ) => self.queued.push_back(other),
        }
        Ok(())
    }
}
