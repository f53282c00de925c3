//! Kinds of sub-agents: what each is told and may use. Where they come from is not known here.

use std::sync::Arc;

use zori_core::provider::Effort;
use zori_core::tool::{ToolCode, ToolOutput};

/// The kind nobody has to name.
pub const GENERAL: &str = "general-purpose";

/// What the general kind is told beside what its parent is told.
const ABOUT_ITSELF: &str = "You are a sub-agent: another agent gave you the task, and nobody else reads what you write. Do the \
                            task without asking back. Your last message is your report; put everything into it that was asked \
                            for.";

/// A kind of sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What the model calls it by.
    pub name: Arc<str>,
    /// What it is for, in the words the model chooses by.
    pub about: String,
    /// What it is told.
    pub told: Told,
    /// The tools it may use, by the names they have in the session; `None` is all that its parent may.
    pub tools: Option<Vec<String>>,
    /// The model's id; `None` is the model of whoever asks.
    pub model: Option<Arc<str>>,
    /// How much the model should think, if not as much as its parent's.
    pub effort: Option<Effort>,
}

/// What a sub-agent is told before its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// This behind what its parent is told.
    Also(Arc<str>),
    /// This alone.
    Only(Arc<str>),
}

/// The kinds of a session. The general one is always among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds(Arc<[Kind]>);

impl Kinds {
    /// Takes kinds; of two of one name the first counts. The general kind comes last unless it is among them.
    pub fn new(named: impl IntoIterator<Item = Kind>) -> Self {
        let mut kinds: Vec<Kind> = Vec::new();
        for kind in named.into_iter().chain([general()]) {
            if kinds.iter().all(|held| held.name != kind.name) {
                kinds.push(kind);
            }
        }
        Self(kinds.into())
    }

    /// Returns them all, in order.
    pub fn all(&self) -> &[Kind] {
        &self.0
    }

    /// Returns the kind that is meant, or what the model is told instead.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<&Kind, ToolOutput> {
        let name = name.unwrap_or(GENERAL);
        self.0.iter().find(|kind| &*kind.name == name).ok_or_else(|| {
            let known: Vec<_> = self.0.iter().map(|kind| format!("`{}`", kind.name)).collect();
            let message = format!("There is no sub-agent `{name}`; there is {}", known.join(", "));
            ToolOutput::failure(ToolCode::InvalidInput, message)
        })
    }
}

fn general() -> Kind {
    Kind {
        name: GENERAL.into(),
        about: "Searches and side work of any kind".to_owned(),
        told: Told::Also(ABOUT_ITSELF.into()),
        tools: None,
        model: None,
        effort: None,
    }
}

impl Told {
    /// Returns the system prompt of a sub-agent whose parent has this one.
    pub(crate) fn beside(&self, parent: Option<&str>) -> Arc<str> {
        match (self, parent) {
            (Self::Also(more), Some(parent)) => format!("{parent}\n\n{more}").into(),
            (Self::Also(alone), None) | (Self::Only(alone), _) => alone.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, about: &str) -> Kind {
        Kind { name: name.into(), about: about.to_owned(), ..general() }
    }

    #[test]
    fn of_two_of_one_name_the_first_counts() {
        let names = |kinds: Kinds| -> Vec<String> {
            kinds.all().iter().map(|kind| format!("{}: {}", kind.name, kind.about)).collect()
        };
        assert_eq!(names(Kinds::new([])), ["general-purpose: Searches and side work of any kind"]);
        assert_eq!(
            names(Kinds::new([named("a", "1"), named("b", "2"), named("a", "3"), named(GENERAL, "4")])),
            ["a: 1", "b: 2", "general-purpose: 4"]
        );
    }

    #[test]
    fn the_general_one_need_not_be_named() {
        let kinds = Kinds::new([named("a", "")]);
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
