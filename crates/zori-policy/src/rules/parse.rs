//! One rule from its text.

use zori_core::tool::ToolKind;

use super::Scope;
use super::host::HostPattern;
use super::tools::ToolName;
use super::words::WordPattern;
use crate::paths::pattern::{Anchors, PathPattern, PatternError};

/// Why a rule cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// No tool has that name.
    #[error("there is no tool `{name}`{}", near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    UnknownTool {
        /// What was written.
        name: String,
        /// What may be meant.
        near: Option<&'static str>,
    },
    /// What stands in the brackets cannot be used.
    #[error("{what}")]
    Scope {
        /// The tool it is about.
        tool: ToolName,
        what: String,
    },
}

impl RuleError {
    /// Returns the tool the rule is about, if that much can be said.
    pub fn tool(&self) -> Option<ToolName> {
        match self {
            Self::UnknownTool { .. } => None,
            Self::Scope { tool, .. } => Some(tool.clone()),
        }
    }
}

/// Reads a rule.
pub fn rule(text: &str, anchors: &Anchors<'_>) -> Result<(ToolName, Scope), RuleError> {
    let text = text.trim();
    let (name, inside) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => (name.trim_end(), Some(rest)),
    };
    let unknown = || RuleError::UnknownTool { name: name.to_owned(), near: ToolName::nearest(name) };
    let tool = ToolName::parse(name).ok_or_else(unknown)?;
    let Some(inside) = inside else { return Ok((tool, Scope::All)) };
    let bad = |what: String| RuleError::Scope { tool: tool.clone(), what };
    let inside = inside.strip_suffix(')').ok_or_else(|| bad("the `(` is not closed".into()))?;
    if inside.contains('\0') {
        return Err(bad("there is a NUL character in it".into()));
    }
    let scope = match &tool {
        // Brackets with nothing or everything in them say no more than the name.
        _ if inside.trim() == "" => return Err(bad("there is nothing between the brackets".into())),
        tool if tool.covers_shell() => {
            Scope::Command(WordPattern::parse(inside).map_err(|what| bad(what.into()))?)
        }
        tool if tool.covers(ToolKind::Fetch) => {
            let host = inside.strip_prefix("domain:").and_then(HostPattern::parse);
            Scope::Host(host.ok_or_else(|| bad("it takes `domain:HOST` or `domain:*.HOST`".into()))?)
        }
        ToolName::BuiltIn(kinds) if kinds.iter().all(|kind| takes_paths(*kind)) => Scope::Path(
            PathPattern::parse(inside, anchors).map_err(|error: PatternError| bad(error.to_string()))?,
        ),
        ToolName::BuiltIn(_)
        | ToolName::Agent
        | ToolName::Memory
        | ToolName::Schedule
        | ToolName::Mcp { .. } => {
            return Err(bad("this tool takes no brackets".into()));
        }
    };
    Ok((tool, scope))
}

fn takes_paths(kind: ToolKind) -> bool {
    !matches!(kind, ToolKind::Todo | ToolKind::AskUser | ToolKind::JobOutput | ToolKind::JobKill)
}
