//! Sub-agents that somebody described, as the kinds of a session: their tools and their model are those of the session, so
//! a description becomes a kind when a session begins.

use std::path::PathBuf;

use zori_core::provider::Effort;
use zori_core::text::prefix;
use zori_core::tool::ToolSpec;
use zori_engine::agent_kinds::{AgentKind, AgentKinds, SystemPrompt};
use zori_tools::dialect;

use crate::model::ModelGate;
use crate::system_prompt::SystemParts;

/// How many bytes of a description reach the model at most.
const ABOUT_BYTES: usize = 1024;

/// A sub-agent as somebody described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentDescription {
    /// What the model calls it by.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// What it is told in place of the session's own system prompt.
    pub prompt: String,
    /// The only tools it may use; `None` is all of the session.
    pub tools: Option<Vec<String>>,
    /// Tools it may not use.
    pub without: Vec<String>,
    /// The model, in the writer's words.
    pub model: Option<String>,
    /// How much it thinks.
    pub effort: Option<Effort>,
    /// Keys of its file that have no effect here: they would have bounded it, so the user is warned.
    pub unheard: Vec<&'static str>,
    /// The file it stands in; `None` is the caller.
    pub file: Option<PathBuf>,
}

impl AgentDescription {
    /// Returns what it is called in a message.
    fn shown(&self) -> String {
        match &self.file {
            Some(file) => format!("sub-agent `{}` ({})", self.name, file.display()),
            None => format!("sub-agent `{}`", self.name),
        }
    }
}

/// What a session is made of, as far as its sub-agents depend on it.
pub(crate) struct SessionFacts<'a> {
    /// The system prompt in its parts: the guidelines hold for sub-agents, too.
    pub(crate) system: &'a SystemParts,
    /// The tools there are.
    pub(crate) tools: &'a [ToolSpec],
    /// Which models may be used.
    pub(crate) models: &'a ModelGate,
    /// The session's model.
    pub(crate) model: &'a str,
}

/// Returns the kinds of sub-agents of a session, and what to tell the user. Of two of one name the first counts.
pub(crate) fn kinds(described: &[AgentDescription], session: &SessionFacts<'_>) -> (AgentKinds, Vec<String>) {
    let mut remarks = Vec::new();
    let kinds: Vec<AgentKind> = described.iter().map(|one| kind(one, session, &mut remarks)).collect();
    (AgentKinds::new(kinds), remarks)
}

fn kind(described: &AgentDescription, session: &SessionFacts<'_>, remarks: &mut Vec<String>) -> AgentKind {
    let (who, mut left_out) = (described.shown(), Vec::new());
    let tools = match (&described.tools, described.without.is_empty()) {
        (None, true) => None,
        (only, _) => {
            let specs = session.tools.iter().map(|spec| &spec.name);
            let listed = |names: &[String], name: &str| names.iter().any(|wanted| means(wanted, name));
            // What is taken away with a pattern is taken away as a whole: a sub-agent may have less, never more.
            let taken = |name: &str| described.without.iter().any(|word| means(whole(word), name));
            let kept = |name: &&String| only.as_ref().is_none_or(|only| listed(only, name)) && !taken(name);
            left_out = only.iter().flatten().filter(|name| is_odd(name)).cloned().collect();
            Some(specs.filter(kept).cloned().collect())
        }
    };
    if !left_out.is_empty() {
        remarks.push(format!("{who} goes without `{}`: that names no tool", left_out.join("`, `")));
    }
    if !described.unheard.is_empty() {
        remarks.push(format!("`{}` of the {who} has no effect here", described.unheard.join("`, `")));
    }
    let model = described.model.as_deref().filter(|name| !matches!(*name, "" | "inherit"));
    let model = model.and_then(|name| match session.models.check(session.model, name) {
        Ok((model, _)) => Some(model.into()),
        Err(error) => {
            remarks.push(format!("{who} uses the session's model: {error}"));
            None
        }
    });
    let system = SystemParts { own: described.prompt.clone(), others: session.system.others.clone() };
    AgentKind {
        name: described.name.as_str().into(),
        description: prefix(described.about.trim(), ABOUT_BYTES).to_owned(),
        system: SystemPrompt::Replace(system.text().unwrap_or_default()),
        tools,
        model,
        effort: described.effort,
    }
}

/// Returns whether a description's word means the tool of this name: in any dialect's words, or by its server's name.
fn means(wanted: &str, name: &str) -> bool {
    wanted == "*"
        || wanted == name
        || dialect::same_tool(wanted, name)
        || name.strip_prefix(wanted).is_some_and(|rest| wanted.starts_with("mcp__") && rest.starts_with("__"))
}

/// Returns the tool's name without a pattern behind it.
fn whole(word: &str) -> &str {
    word.split_once('(').map_or(word, |(name, _)| name)
}

/// Returns whether a word is no tool's name at all. A pattern behind a name is none either: it would have to hold for each call.
fn is_odd(wanted: &str) -> bool {
    wanted != "*" && !wanted.starts_with("mcp__") && !dialect::knows(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_in_any_words() {
        for (wanted, name, same) in [
            ("Read", "Read", true),
            ("Read", "read", true),
            ("read", "Read", true),
            ("Bash", "read", false),
            ("*", "read", true),
            ("mcp__calc", "mcp__calc__add", true),
            ("mcp__calc__add", "mcp__calc__add", true),
            ("mcp__ca", "mcp__calc__add", false),
            ("Bash(git:*)", "Bash", false),
        ] {
            assert_eq!(means(wanted, name), same, "{wanted} {name}");
        }
        let odd: Vec<_> = ["Read", "WebSearch", "Bash(git:*)", "Raed", "mcp__x", "*"]
            .into_iter()
            .filter(|w| is_odd(w))
            .collect();
        assert_eq!(odd, ["Bash(git:*)", "Raed"]);
    }
}
