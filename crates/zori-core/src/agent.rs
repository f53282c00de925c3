//! Sub-agents as tools and front ends see them: a task that is handed on, as a trait over values.
//!
//! Who runs one, and with what, is the engine's business.

use std::sync::Arc;

use crate::BoxFuture;
use crate::tool::ToolOutput;

/// Work for a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// What it is about, in a few words.
    pub description: String,
    /// All the sub-agent is told.
    pub prompt: String,
    /// Which kind of sub-agent; `None` is the general one.
    pub kind: Option<String>,
    /// The model's id; `None` is the model of whoever asks.
    pub model: Option<String>,
}

/// Starts sub-agents on behalf of one call.
pub trait Agents: Send + Sync {
    /// Hands the task on and waits for its end. It never fails: an error is an output with `failure` set. Dropping the
    /// future ends the sub-agent with everything it runs.
    fn run(&self, task: Task) -> BoxFuture<'_, ToolOutput>;
}

/// A sub-agent that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFacts {
    /// What it is about, in a few words of the model.
    pub description: Arc<str>,
    /// Which kind it is.
    pub kind: Arc<str>,
    /// The model that answers.
    pub model: Arc<str>,
    /// What it was told.
    pub prompt: Arc<str>,
}
