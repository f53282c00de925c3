//! Kinds of sub-agents: the system prompt, tools and model of each. The caller defines them.

use std::sync::Arc;

use zori_core::provider::Effort;
use zori_core::tool::{ToolCode, ToolOutput};

/// The kind a task gets that names none.
pub const GENERAL: &str = "general-purpose";

/// Appended to the parent's system prompt for the general kind.
const GENERAL_PROMPT: &str = "You are a sub-agent: another agent gave you the task, and nobody else reads what you write. Do the \
                            task without asking back. Your last message is your report; put everything into it that was asked \
                            for.";

/// A kind of sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentKind {
    /// The name the model selects the kind by.
    pub name: Arc<str>,
    /// Tells the model what the kind is for.
    pub description: String,
    /// How its system prompt is made.
    pub system: SystemPrompt,
    /// The tools it may use, by their names in the session; `None` allows all tools of the parent.
    pub tools: Option<Vec<String>>,
    /// The model's id; `None` means the model of the parent.
    pub model: Option<Arc<str>>,
    /// The thinking effort; `None` means the effort of the parent.
    pub effort: Option<Effort>,
}

/// How the system prompt of a sub-agent relates to that of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemPrompt {
    /// Follows the parent's system prompt.
    Append(Arc<str>),
    /// Takes the place of the parent's system prompt.
    Replace(Arc<str>),
}

/// The kinds of a session, which always include the general one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentKinds(Arc<[AgentKind]>);

impl AgentKinds {
    /// Collects kinds. Of two with the same name the first counts; the general kind is added if it is missing.
    pub fn new(named: impl IntoIterator<Item = AgentKind>) -> Self {
        let mut kinds: Vec<AgentKind> = Vec::new();
        for kind in named.into_iter().chain([general()]) {
            if kinds.iter().all(|held| held.name != kind.name) {
                kinds.push(kind);
            }
        }
        Self(kinds.into())
    }

    /// Returns all kinds, in the order they were given.
    pub fn all(&self) -> &[AgentKind] {
        &self.0
    }

    /// Returns the named kind, or the failure that the model reads.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<&AgentKind, ToolOutput> {
        let name = name.unwrap_or(GENERAL);
        self.0.iter().find(|kind| &*kind.name == name).ok_or_else(|| {
            let known: Vec<_> = self.0.iter().map(|kind| format!("`{}`", kind.name)).collect();
            let message = format!("There is no sub-agent `{name}`; there is {}", known.join(", "));
            ToolOutput::failure(ToolCode::InvalidInput, message)
        })
    }
}

fn general() -> AgentKind {
    AgentKind {
        name: GENERAL.into(),
        description: "Searches and side work of any kind".to_owned(),
        system: SystemPrompt::Append(GENERAL_PROMPT.into()),
        tools: None,
        model: None,
        effort: None,
    }
}

impl SystemPrompt {
    /// Returns the system prompt of a sub-agent, given that of its parent.
    pub(crate) fn resolve(&self, parent: Option<&str>) -> Arc<str> {
        match (self, parent) {
            (Self::Append(more), Some(parent)) => format!("{parent}\n\n{more}").into(),
            (Self::Append(alone), None) | (Self::Replace(alone), _) => alone.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, description: &str) -> AgentKind {
        AgentKind { name: name.into(), description: description.to_owned(), ..general() }
    }

    #[test]
    fn of_two_of_one_name_the_first_counts() {
        let names = |kinds: AgentKinds| -> Vec<String> {
            kinds.all().iter().map(|kind| format!("{}: {}", kind.name, kind.description)).collect()
        };
        assert_eq!(names(AgentKinds::new([])), ["general-purpose: Searches and side work of any kind"]);
        assert_eq!(
            names(AgentKinds::new([named("a", "1"), named("b", "2"), named("a", "3"), named(GENERAL, "4")])),
            ["a: 1", "b: 2", "general-purpose: 4"]
        );
    }

    #[test]
    fn the_general_one_need_not_be_named() {
        let kinds = AgentKinds::new([named("a", "")]);
        let found = |name| {
            kinds.find(name).map_or_else(|no| no.envelope.get().to_owned(), |kind| kind.name.to_string())
        };
        assert_eq!((found(None), found(Some("a"))), (GENERAL.to_owned(), "a".to_owned()));
        assert_eq!(
            found(Some("x")),
            r#"{"ok":false,"error":{"code":"invalid_input","message":"There is no sub-agent `x`; there is `a`, `general-purpose`"}}"#
        );
    }
}
