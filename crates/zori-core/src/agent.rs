//! Sub-agents as tools and front ends see them: a task, and a trait that runs it. The engine implements it.

use std::sync::Arc;

use crate::BoxFuture;
use crate::tool::ToolOutput;

/// A task for a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// A short description of the task.
    pub description: String,
    /// The prompt: all that the sub-agent knows of the task.
    pub prompt: String,
    /// The kind of sub-agent; `None` means the general one.
    pub kind: Option<String>,
    /// The id of the model; `None` means the model of the caller.
    pub model: Option<String>,
}

/// Starts sub-agents on behalf of one call.
pub trait Agents: Send + Sync {
    /// Runs the task to its end. It never fails: an error is an output with `failure` set. Dropping the future ends the
    /// sub-agent and everything it runs.
    fn run(&self, task: Task) -> BoxFuture<'_, ToolOutput>;
}

/// A sub-agent that has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFacts {
    /// A short description of its task, by the model.
    pub description: Arc<str>,
    /// The kind of sub-agent.
    pub kind: Arc<str>,
    /// The id of its model.
    pub model: Arc<str>,
    /// The task it was given.
    pub prompt: Arc<str>,
}
