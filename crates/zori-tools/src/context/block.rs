//! The blocks: the workspace for the agent (CB-5), and the shorter one of the observer (OBS-3).

use std::borrow::Cow;
use std::fmt::Write as _;

use super::preview::{Previews, TRUNCATED, cut};
use super::tree::Tree;
use super::{ContextSettings, Redact, git_status};

const BEGIN: &str = "[AZ_CONTEXT v1]";
const END: &str = "[/AZ_CONTEXT]";
const OBSERVER_END: &str = "[/AZ_OBSERVER]";

/// How much of the files' names is redacted at once.
const REDACTED_AT_ONCE: usize = 32 * 1024;

/// How many files the observer names.
const OBSERVED: usize = 8;
/// How many previews it names.
const OBSERVED_PREVIEWS: usize = 4;

/// What a block says beside the files.
#[derive(Clone, Debug)]
pub struct BlockFacts {
    pub project: String,
    pub profile: String,
    /// The profile's words for the agent; may be empty.
    pub profile_prompt: String,
    pub time_utc: String,
    pub security_mode: String,
    /// A line for each tool, and how one is asked for.
    pub tools: Vec<String>,
}

/// Returns the block, which is never longer than the settings allow.
pub fn block(
    settings: &ContextSettings,
    facts: &BlockFacts,
    tree: &Tree,
    previews: &Previews,
    redact: Redact<'_>,
) -> String {
    let mut lines = vec![
        BEGIN.to_owned(),
        "role: local proxy; it has no agent of its own, and files are reached through tool calls only"
            .to_owned(),
        "policy: relative paths only; nothing outside the workspace".to_owned(),
        format!("project: {}", facts.project),
        format!("agent_profile: {}", facts.profile),
        format!("agent_profile_prompt: {}", facts.profile_prompt),
    ];
    if settings.include_system {
        let root = settings.root.display();
        lines.extend([
            format!("time_utc: {}", facts.time_utc),
            format!("workspace_root: {root}"),
            format!("cwd: {root}"),
            format!("security_mode: {}", facts.security_mode),
            "path_policy: relative_only".to_owned(),
            format!("ignore_dirs: {}", settings.ignore_dirs.join(", ")),
        ]);
    }
    lines.push(format!("context_hash: {}", tree.signature()));
    lines.push(format!("files: {} total, {} bytes", tree.files.len(), tree.bytes()));
    if settings.include_tools {
        lines.push("tools:".to_owned());
        lines.extend(facts.tools.iter().cloned());
    }
    let room = settings.max_bytes.saturating_sub(END.len() + 1);
    let mut text = redact(&lines.join("\n"));
    if settings.include_tree {
        text.push_str("\nworkspace_tree:");
        add_tree(&mut text, tree, room, redact);
    }
    // What has no room any more need not be looked at.
    if text.len() <= room {
        let mut lines = Vec::new();
        if settings.include_git {
            let status = git_status::lines(&settings.root);
            if !status.is_empty() {
                lines.push("git_status:".to_owned());
                lines.extend(status);
            }
        }
        if !previews.files.is_empty() {
            lines.push("file_previews:".to_owned());
            for (name, preview) in &previews.files {
                lines.push(format!("--- {name} ---"));
                lines.push(preview.clone());
            }
        }
        if !lines.is_empty() {
            text.push('\n');
            text.push_str(&redact(&lines.join("\n")));
        }
    }
    format!("{}\n{END}", cut(&within(&text, END), room))
}

/// Returns the text without a mark that would end the block before its end: files are not the user's words.
fn within(text: &str, end: &str) -> String {
    text.replace(end, &end.replacen("[/", "[\\/", 1))
}

/// Returns a path in one line, whatever is in it.
fn in_a_line(path: &str) -> Cow<'_, str> {
    zori_core::text::one_line(path)
}

/// Adds a line for each file, until there is no room for more.
fn add_tree(text: &mut String, tree: &Tree, room: usize, redact: Redact<'_>) {
    let mut lines = String::new();
    for file in &tree.files {
        let _ = write!(lines, "\n- {} ({}B)", in_a_line(&file.path), file.bytes);
        if lines.len() > REDACTED_AT_ONCE {
            text.push_str(&redact(&lines));
            lines.clear();
            if text.len() > room {
                return;
            }
        }
    }
    if tree.truncated {
        let _ = write!(lines, "\n- {TRUNCATED}");
    }
    text.push_str(&redact(&lines));
}

/// Returns the observer's block.
pub fn observer(project: &str, tree: &Tree, previews: &Previews) -> String {
    let mut lines = vec![
        "[AZ_OBSERVER v1]".to_owned(),
        "role: read-only workspace observer".to_owned(),
        "policy: no tool execution, no file mutation".to_owned(),
        format!("project: {project}"),
        format!("context_hash: {}", tree.signature()),
        format!("files: {} total, {} bytes", tree.files.len(), tree.bytes()),
        "workspace_tree_sample:".to_owned(),
    ];
    lines.extend(
        tree.files.iter().take(OBSERVED).map(|file| format!("- {} ({}B)", in_a_line(&file.path), file.bytes)),
    );
    if tree.files.len() > OBSERVED {
        lines.push(format!("- {TRUNCATED}"));
    }
    let named: Vec<&str> =
        previews.files.iter().take(OBSERVED_PREVIEWS).map(|(name, _)| name.as_str()).collect();
    lines.push(format!("preview_files: {}", named.join(", ")));
    format!("{}\n{OBSERVER_END}", within(&lines.join("\n"), OBSERVER_END))
}
