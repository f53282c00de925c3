//! Sub-agents that somebody described: in `--agents`, in `initialize`, or in files with front matter.
//!
//! A description becomes a kind of the engine's when a session begins ([`kinds`]), because its tools and its model are those of
//! the session. JSON is read in `agents/json.rs`, a file in `agents/file.rs`, folders in `agents/folder.rs`.

pub mod file;
pub mod folder;
pub mod json;

use std::path::PathBuf;

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::provider::Effort;
use zori_core::text::prefix;
use zori_core::tool::ToolSpec;
use zori_engine::kinds::{Kind, Kinds, Told};
use zori_tools::dialect;

use self::json::Described;
use crate::args::LowArgs;
use crate::base::Base;
use crate::model_change::ModelGate;
use crate::settings::system_prompt::SystemParts;
use crate::trust::Standing;
use crate::ui::Ui;

/// So many bytes of a description reach the model.
const ABOUT_BYTES: usize = 1024;

/// A sub-agent as somebody described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
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
    /// What its file asks for beside that, and what would bound it: the user has to know that it does not.
    pub unheard: Vec<&'static str>,
    /// The file it stands in; `None` is the caller.
    pub file: Option<PathBuf>,
}

impl Description {
    /// Returns what it is called in a message.
    fn shown(&self) -> String {
        match &self.file {
            Some(file) => format!("sub-agent `{}` ({})", self.name, file.display()),
            None => format!("sub-agent `{}`", self.name),
        }
    }
}

/// Returns the sub-agents of a run, and says what of them cannot be used: the caller's, then the project's where the folder is
/// trusted, then the user's.
pub fn gather(
    args: &LowArgs,
    base: Option<&Base>,
    standing: &Standing,
    ui: &mut Ui,
) -> Result<Vec<Description>, Failure> {
    let mut agents = Vec::new();
    if let Some(text) = &args.claude.agents {
        let invalid = |why: String| Failure::new(&VALIDATION_ERROR, format!("`--agents`: {why}"));
        let value = serde_json::from_str(text).map_err(|error| invalid(format!("it is no JSON: {error}")))?;
        let Described { agents: said, remarks } = json::read(&value).map_err(invalid)?;
        remarks.iter().for_each(|why| ui.warn(why));
        agents.extend(said);
    }
    let (theirs, warnings) = standing.agents();
    agents.extend_from_slice(theirs);
    warnings.iter().for_each(|why| ui.warn(why));
    if let Some(base) = base.filter(|_| args.claude.sources.user) {
        let (mine, warnings) = folder::of_user(&base.agents());
        agents.extend(mine);
        warnings.iter().for_each(|why| ui.warn(why));
    }
    Ok(agents)
}

/// Returns why a name is none.
fn bad_name(name: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    let good = (1..=64).contains(&name.len()) && name.chars().all(fits);
    (!good).then(|| "a name has 1 to 64 letters, digits, `-`, `_`, `.` or `:`".to_owned())
}

/// What a session is made of, as far as its sub-agents depend on it.
pub struct Session<'a> {
    /// The system prompt in its parts: the guidelines hold for sub-agents, too.
    pub system: &'a SystemParts,
    /// The tools there are.
    pub tools: &'a [ToolSpec],
    /// Which models may be used.
    pub models: &'a ModelGate,
    /// The session's model.
    pub model: &'a str,
}

/// Returns the kinds of sub-agents of a session, and what to tell the user. Of two of one name the first counts.
pub fn kinds(described: &[Description], session: &Session<'_>) -> (Kinds, Vec<String>) {
    let mut remarks = Vec::new();
    let kinds: Vec<Kind> = described.iter().map(|one| kind(one, session, &mut remarks)).collect();
    (Kinds::new(kinds), remarks)
}

fn kind(described: &Description, session: &Session<'_>, remarks: &mut Vec<String>) -> Kind {
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
        Err(failure) => {
            remarks.push(format!("{who} uses the session's model: {}", failure.message));
            None
        }
    });
    let system = SystemParts { own: described.prompt.clone(), others: session.system.others.clone() };
    Kind {
        name: described.name.as_str().into(),
        about: prefix(described.about.trim(), ABOUT_BYTES).to_owned(),
        told: Told::Only(system.text().unwrap_or_default()),
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

    #[test]
    fn names() {
        let bad: Vec<_> = ["a", "code-reviewer", "x:y.z_1", "", "a b", "a\u{1b}", "ä"]
            .into_iter()
            .filter(|name| bad_name(name).is_some())
            .collect();
        assert_eq!(bad, ["", "a b", "a\u{1b}", "ä"]);
        assert!(bad_name(&"a".repeat(65)).is_some());
    }
}
