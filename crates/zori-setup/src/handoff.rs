//! Collects what the next session needs from a session's records: files, open tasks, commands (HO-5 to HO-7).
//!
//! It is a pure function of the records. Asking a model for better words is in `handoff/model.rs`; where secrets are taken
//! out and where the text goes is the command's business.

pub mod model;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zori_core::ids::CallId;
use zori_core::message::{Role, ToolInput};
use zori_core::tool::ToolKind;
use zori_store::{Record, RecordKind};
use zori_tools::dialect::{self, Entry, Source};

const MAX_FILES: usize = 20;
const MAX_COMMANDS: usize = 10;
/// How many characters of the last reply are repeated.
const MAX_LAST_REPLY: usize = 800;

/// The facts that the records hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// Files that were written, then those that were only read; the newest first.
    pub files: Vec<String>,
    pub tasks: Vec<String>,
    /// Commands that worked, in their order.
    pub commands: Vec<String>,
    /// What the session was about: its first request.
    pub about: Option<String>,
    /// The model's last reply.
    pub last: Option<String>,
}

/// The document's prose, made from the records or written by a model (HO-8).
#[derive(Debug, PartialEq, Eq)]
pub struct HandoffText {
    /// A prompt for the next session. It begins with the goal, unchanged.
    pub starter: String,
    /// The open tasks, one line each.
    pub tasks: Vec<String>,
}

impl Bundle {
    /// Collects the facts. Paths are shown relative to `root` where they are below it.
    pub fn from_records(records: &[Record], root: &Path) -> Self {
        let mut found = Self::default();
        let (mut written, mut read) = (Vec::new(), Vec::new());
        let mut unanswered: Option<String> = None;
        for (at, record) in records.iter().enumerate() {
            match &record.kind {
                RecordKind::Message { role: Role::User, text, .. } => {
                    found.tasks.extend(unanswered.replace(one_line(text)));
                    found.about.get_or_insert_with(|| one_line(text));
                }
                RecordKind::Message { role: Role::Assistant, text, .. } => {
                    unanswered = None;
                    found.tasks.extend(text.lines().filter_map(unchecked));
                    found.last = Some(text.trim().to_owned());
                }
                RecordKind::ToolUse(call) => {
                    let ToolInput::Json(input) = &call.input else { continue };
                    let Some(output) = result(&records[at..], &call.id) else { continue };
                    let input: Value = serde_json::from_str(input.get()).unwrap_or_default();
                    // A session is in the words of the client it was had with.
                    let Some(entry) = dialect::ALL.iter().find_map(|dialect| dialect.find(&call.name)) else {
                        continue;
                    };
                    let path = || argument(entry, &input, "path").map(|path| shown(path, root));
                    match entry.kind {
                        ToolKind::Write | ToolKind::Edit | ToolKind::MultiEdit | ToolKind::NotebookEdit => {
                            written.extend(path())
                        }
                        ToolKind::Read => read.extend(path()),
                        ToolKind::Bash if output["data"]["exit_code"] == 0 => {
                            found.commands.extend(argument(entry, &input, "command").map(str::to_owned));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        found.tasks.extend(unanswered);
        newest_first(&mut found.commands, MAX_COMMANDS);
        found.commands.reverse();
        newest_first(&mut written, MAX_FILES);
        newest_first(&mut read, MAX_FILES);
        read.retain(|path| !written.contains(path));
        let (inside, outside): (Vec<_>, Vec<_>) =
            written.into_iter().chain(read).partition(|path| !path.starts_with('/'));
        found.files = inside.into_iter().chain(outside).take(MAX_FILES).collect();
        let mut seen = Vec::new();
        found.tasks.retain(|task| {
            !seen.contains(task) && {
                seen.push(task.clone());
                true
            }
        });
        found
    }

    /// Returns the prose that needs no model.
    pub fn text_without_model(&self, goal: &str, session: &str) -> HandoffText {
        HandoffText { starter: self.starter(goal, session), tasks: self.tasks.clone() }
    }

    /// Returns the document, in its fixed order (HO-5).
    pub fn markdown(&self, goal: &str, document: &HandoffText) -> String {
        let mut text = format!("# Handoff\n\n## Goal\n\n{goal}\n\n## Starter prompt\n\n");
        text.push_str(&fenced("text", &document.starter));
        text.push_str("\n## Relevant files\n\n");
        text.push_str(&bullets("- ", &self.files));
        text.push_str("\n## Open tasks\n\n");
        text.push_str(&bullets("- [ ] ", &document.tasks));
        text.push_str("\n## Repro commands\n\n");
        match self.commands.as_slice() {
            [] => text.push_str("- none\n"),
            commands => text.push_str(&fenced("sh", &commands.join("\n"))),
        }
        text
    }

    /// Returns a prompt for the next session.
    fn starter(&self, goal: &str, session: &str) -> String {
        let mut text = format!("{goal}\n\nThis continues the session {session}.");
        if let Some(about) = &self.about {
            let _ = write!(text, " It began with: {about}");
        }
        if !self.files.is_empty() {
            let _ = write!(text, "\n\nLook at these files first: {}", self.files.join(", "));
        }
        if !self.tasks.is_empty() {
            let _ = write!(text, "\n\nStill open:\n{}", bullets("- ", &self.tasks).trim_end());
        }
        if let Some(last) = &self.last {
            let _ = write!(text, "\n\nThe last thing said was:\n{}", cut(last));
        }
        text
    }
}

/// Returns an argument by the name the tool itself has for it, whatever the client calls it.
fn argument<'a>(entry: &Entry, input: &'a Value, name: &str) -> Option<&'a str> {
    let field =
        entry.fields.iter().find(|field| matches!(field.source, Source::Canonical(own) if own == name));
    let known = field.into_iter().flat_map(|field| std::iter::once(&field.name).chain(field.aliases));
    known.copied().chain([name, "file_path"]).find_map(|name| input[name].as_str())
}

/// Returns the result of a call that succeeded.
fn result(after: &[Record], id: &CallId) -> Option<Value> {
    after.iter().find_map(|record| match &record.kind {
        RecordKind::ToolResult { call, output, ok: true, .. } if call == id => {
            serde_json::from_str(output.get()).ok()
        }
        _ => None,
    })
}

/// Keeps each the last time it occurs, the newest first.
fn newest_first(items: &mut Vec<String>, max: usize) {
    let mut kept: Vec<String> = Vec::new();
    for item in items.drain(..).rev() {
        if kept.len() < max && !kept.contains(&item) {
            kept.push(item);
        }
    }
    *items = kept;
}

fn shown(path: &str, root: &Path) -> String {
    let full: PathBuf = root.join(path);
    full.strip_prefix(root).unwrap_or(&full).display().to_string()
}

/// Returns the task of a checklist line that is not checked.
fn unchecked(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix(['-', '*', '+'])?.trim_start();
    let task = rest.strip_prefix("[ ]")?.trim();
    (!task.is_empty()).then(|| task.to_owned())
}

fn one_line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_LAST_REPLY) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

fn bullets(mark: &str, items: &[String]) -> String {
    match items {
        [] => "- none\n".to_owned(),
        items => items.iter().map(|item| format!("{mark}{item}\n")).collect(),
    }
}

/// Puts a text into a fence that it cannot close.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_as_nothing() {
        let nothing = Bundle::default();
        let text = nothing.markdown("Go on", &nothing.text_without_model("Go on", "s"));
        assert_eq!(
            text,
            "# Handoff\n\n## Goal\n\nGo on\n\n## Starter prompt\n\n```text\nGo on\n\nThis continues the session s.\n```\n\n\
             ## Relevant files\n\n- none\n\n## Open tasks\n\n- none\n\n## Repro commands\n\n- none\n"
        );
    }

    #[test]
    fn a_fence_that_cannot_be_closed() {
        assert_eq!(fenced("text", "a ``` b"), "````text\na ``` b\n````\n");
        assert_eq!(fenced("sh", "ls\n"), "```sh\nls\n```\n");
    }

    #[test]
    fn checklists() {
        assert_eq!(unchecked("  - [ ] do it"), Some("do it".into()));
        assert_eq!(unchecked("* [ ] or this"), Some("or this".into()));
        assert_eq!(unchecked("- [x] done"), None);
        assert_eq!(unchecked("text"), None);
    }

    #[test]
    fn each_once_and_the_newest_first() {
        let mut items: Vec<String> = ["a", "b", "a", "c"].map(str::to_owned).into();
        newest_first(&mut items, 2);
        assert_eq!(items, ["c", "a"]);
    }
}
