//! What became of an undo, as people read it.

use std::path::Path;

use zori_undo::op::shown;
use zori_undo::plan::Reason;

use super::Undone;

/// Says what became of an undo, as people read it. `root`: the project.
pub fn undo_lines(undone: &Undone, root: &Path, dry_run: bool) -> Vec<String> {
    lines(undone, root, dry_run, " (--replace takes it anyway)")
}

/// Says the same where there is no flag to give.
pub fn undo_answer(undone: &Undone, root: &Path) -> Vec<String> {
    lines(undone, root, false, "")
}

fn lines(undone: &Undone, root: &Path, dry_run: bool, by_force: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let turn = undone.to_turn;
    if let Some(report) = &undone.files {
        let names: Vec<String> = report
            .restored
            .iter()
            .map(|file| {
                let gone = if file.state.is_none() { " (removed)" } else { "" };
                format!("{}{gone}", shown(root, &file.path))
            })
            .collect();
        let files = if names.len() == 1 { "file" } else { "files" };
        let verb = if dry_run { "Would put back" } else { "Put back" };
        lines.push(match names.len() {
            count if undone.redo && count > 0 => {
                let verb = if dry_run { "Would redo" } else { "Redid" };
                format!("{verb} turn {turn}, {count} {files}: {}", listed(&names))
            }
            0 => format!("No file {} back to before turn {turn}.", if dry_run { "would go" } else { "went" }),
            count => format!("{verb} {count} {files} to before turn {turn}: {}", listed(&names)),
        });
        for kept in &report.kept {
            let beside = kept
                .saved_as
                .as_ref()
                .map_or_else(String::new, |path| format!("; what was in the way is {}", shown(root, path)));
            let way = match kept.reason {
                Reason::ChangedSince | Reason::Exists | Reason::DeletedByYou | Reason::Shared => by_force,
                _ => "",
            };
            lines.push(format!("Kept {}: {}{way}{beside}", shown(root, &kept.path), kept.reason.words()));
        }
        for missed in &report.not_covered {
            let (count, plural) = (missed.count, if missed.count == 1 { "" } else { "s" });
            lines.push(match missed.what.as_str() {
                "command" => {
                    format!(
                        "Not covered: {count} command{plural} may have changed files outside {}",
                        root.display()
                    )
                }
                "changed by others" => {
                    format!("Not covered: {count} file{plural} that somebody else changed meanwhile")
                }
                "cut-off command" => {
                    "Not covered: zori was killed in a command; what that changed was not captured".to_owned()
                }
                "ignored folder" | "ignored file" => {
                    format!("Not covered: {count} {}{plural} that went away", missed.what)
                }
                what => format!("Not covered: {count} {what}{plural}"),
            });
        }
        if let Some((before, after)) = &report.git {
            let short = |id: &str| id.get(..7).unwrap_or(id).to_owned();
            let name = before.name.strip_prefix("refs/heads/").unwrap_or(&before.name);
            lines.push(match before.name == after.name {
                true => format!(
                    "git: {name} moved {} to {}; to move it back: git reset --soft {}",
                    short(&before.commit),
                    short(&after.commit),
                    short(&before.commit)
                ),
                false => format!("git: HEAD moved from {} to {}", before.name, after.name),
            });
        }
        if let Some((before, after)) = &report.stash {
            lines.push(match before.is_empty() || !after.is_empty() {
                true => "git: the stash has changed; `git stash list` shows what is in it".to_owned(),
                false => format!("git: the stash is gone; to have it back: git stash store {before}"),
            });
        }
        if let Some(why) = &report.stopped {
            lines.push(format!("Stopped: {why}"));
        }
        if report.skipped > 0 {
            lines.push(format!("{} lines of the record of changes could not be read", report.skipped));
        }
    }
    if undone.chat {
        let verb = if dry_run { "would go" } else { "went" };
        lines.push(match undone.redo {
            true => format!("The conversation {verb} on with turn {turn}."),
            false => format!("The conversation {verb} back to before turn {turn}."),
        });
    }
    lines
}

/// So many names are listed.
const MOST_LISTED: usize = 20;

pub(super) fn listed(names: &[String]) -> String {
    let first = names.iter().take(MOST_LISTED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_LISTED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
