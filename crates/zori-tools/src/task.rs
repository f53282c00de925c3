//! The `task` tool: hands a task to a sub-agent, which the engine runs. Only its definition is here.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::agent;
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;

/// The definition of `task`.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Task,
    about: "Hand a task to a sub-agent with the same tools and a conversation of its own; its last message is the \
            result. Good for searches and side work. Several calls in one reply run side by side.",
    params: &[
        Param {
            name: "description",
            aliases: &["title"],
            ty: Ty::Text,
            need: Need::Required,
            about: "3 to 5 words",
        },
        Param {
            name: "prompt",
            aliases: &["task", "instructions"],
            ty: Ty::Text,
            need: Need::Required,
            about: "all it has to know, and what to report",
        },
        Param {
            name: "subagent_type",
            aliases: &["agent", "agent_type"],
            ty: Ty::Text,
            need: Need::Optional,
            about: "default general-purpose",
        },
        Param { name: "model", aliases: &[], ty: Ty::Text, need: Need::Optional, about: "default: yours" },
    ],
};

pub struct Task {}

impl Task {
    /// Makes the tool. It needs nothing from the environment.
    pub fn new(_: Arc<ToolEnv>) -> Self {
        Self {}
    }
}

/// Returns what the model reads of the kinds there are.
pub fn listed<'a>(kinds: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let words = |about: &str| about.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: String = kinds.map(|(name, about)| format!("\n- {name}: {}", words(about))).collect();
    format!(" The kinds of sub-agents (`subagent_type`):{lines}")
}

#[derive(Deserialize)]
struct TaskArgs {
    description: String,
    prompt: String,
    subagent_type: Option<String>,
    model: Option<String>,
}

impl Tool for Task {
    fn kind(&self) -> Option<ToolKind> {
        Some(ToolKind::Task)
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Agent]
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let task = match order(args) {
                Ok(task) => task,
                Err(failure) => return failure,
            };
            match cx.agents {
                Some(agents) => agents.run(task).await,
                None => ToolOutput::failure(ToolCode::AgentError, "Sub-agents cannot be started here"),
            }
        })
    }
}

fn order(args: &RawValue) -> Result<agent::Task, ToolOutput> {
    let args: TaskArgs =
        serde_json::from_str(args.get()).expect("arguments are checked before a tool sees them");
    if args.prompt.trim().is_empty() {
        let message = "`prompt` is empty; say what the sub-agent is to do and to report";
        return Err(ToolOutput::failure(ToolCode::InvalidInput, message));
    }
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    Ok(agent::Task {
        description: args.description,
        prompt: args.prompt,
        kind: said(args.subagent_type),
        model: said(args.model),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx, runtime};
    use zori_core::agent::Agents;

    /// Says what it was told.
    struct Echo;

    impl Agents for Echo {
        fn run(&self, task: agent::Task) -> BoxFuture<'_, ToolOutput> {
            Box::pin(async move { ToolOutput::success(&format!("{:?}", format!("{task:?}"))) })
        }
    }

    fn hand_on(args: &str) -> String {
        let args = RawValue::from_string(args.to_owned()).unwrap();
        let cx = ToolCx { agents: Some(Arc::new(Echo)), ..cx() };
        runtime().block_on(Task {}.run(cx, &args)).envelope.get().replace("\\\"", "'")
    }

    #[test]
    fn the_task_is_handed_on() {
        assert_eq!(
            hand_on(r#"{"description":"d","prompt":"p"}"#),
            r#"{"ok":true,"data":"Task { description: 'd', prompt: 'p', kind: None, model: None }"}"#
        );
        assert_eq!(
            hand_on(r#"{"description":"d","prompt":"p","subagent_type":"x","model":" "}"#),
            r#"{"ok":true,"data":"Task { description: 'd', prompt: 'p', kind: Some('x'), model: None }"}"#
        );
    }

    #[test]
    fn what_cannot_be_handed_on() {
        assert_eq!(
            hand_on(r#"{"description":"d","prompt":" "}"#),
            r#"{"ok":false,"error":{"code":"invalid_input","message":"`prompt` is empty; say what the sub-agent is to do and to report"}}"#
        );
        let alone = call(&Task {}, &DEF, r#"{"description":"d","prompt":"p"}"#);
        assert_eq!(
            alone.envelope.get(),
            r#"{"ok":false,"error":{"code":"agent_error","message":"Sub-agents cannot be started here"}}"#
        );
    }

    #[test]
    fn it_is_judged_as_a_sub_agent() {
        let args = RawValue::from_string(r#"{"description":"d","prompt":"p"}"#.to_owned()).unwrap();
        assert_eq!((Task {}).effects(&args), [Effect::Agent]);
    }
}
