//! The names of the Claude protocol (`docs/contracts/claude-protocol.md`), with results as its clients read them best.

use serde_json::{Map, Value};
use zori_core::tool::ToolKind;

use super::{Dialect, Entry, Field, Listed, Results, Source, entry, layout, own, renamed, same};
use crate::args::ArgsError;
use crate::def::{Need, Param, Ty};

pub const CLAUDE: Dialect = Dialect {
    name: "claude",
    tools: &[
        Entry {
            unbuilt: &["pages"],
            layout: Some(layout::numbered),
            ..entry(ToolKind::Read, "Read", &[renamed("file_path", "path"), same("offset"), same("limit")])
        },
        Entry {
            layout: Some(layout::written),
            ..entry(ToolKind::Write, "Write", &[renamed("file_path", "path"), same("content")])
        },
        Entry {
            about: Some(
                "Replace exact text in a file. old_string must occur exactly once unless replace_all is set.",
            ),
            layout: Some(layout::replaced),
            ..entry(
                ToolKind::Edit,
                "Edit",
                &[
                    renamed("file_path", "path"),
                    renamed("old_string", "old"),
                    renamed("new_string", "new"),
                    same("replace_all"),
                ],
            )
        },
        Entry {
            about: Some("Run a shell command in the working directory, without stdin."),
            adapt: Some(milliseconds),
            layout: Some(layout::output),
            ..entry(
                ToolKind::Bash,
                "Bash",
                &[
                    same("command"),
                    own("timeout", Ty::Int, Need::Optional, "milliseconds, at most 600000"),
                    own("description", Ty::Text, Need::Optional, "what it does, in 5 to 10 words"),
                    renamed("run_in_background", "background"),
                ],
            )
        },
        Entry {
            layout: Some(layout::replaced),
            ..entry(
                ToolKind::MultiEdit,
                "MultiEdit",
                &[
                    renamed("file_path", "path"),
                    own(
                        "edits",
                        Ty::Objects(&[OLD_STRING, NEW_STRING, crate::edit::ALL]),
                        Need::Required,
                        "",
                    ),
                ],
            )
        },
        Entry {
            layout: Some(layout::celled),
            ..entry(
                ToolKind::NotebookEdit,
                "NotebookEdit",
                &[
                    renamed("notebook_path", "path"),
                    renamed("cell_id", "cell"),
                    renamed("new_source", "source"),
                    same("cell_type"),
                    renamed("edit_mode", "mode"),
                ],
            )
        },
        Entry {
            layout: Some(layout::files),
            ..entry(ToolKind::Glob, "Glob", &[same("pattern"), same("path")])
        },
        Entry {
            unbuilt: &["-o"],
            adapt: Some(search),
            layout: Some(layout::matches),
            ..entry(
                ToolKind::Grep,
                "Grep",
                &[
                    same("pattern"),
                    same("path"),
                    same("glob"),
                    same("type"),
                    own(
                        "output_mode",
                        Ty::Choice(crate::grep::query::MODES),
                        Need::Optional,
                        "default files_with_matches",
                    ),
                    renamed("-A", "after"),
                    renamed("-B", "before"),
                    Field { name: "-C", aliases: &["context"], source: Source::Canonical("context") },
                    renamed("-i", "ignore_case"),
                    same("multiline"),
                    own("head_limit", Ty::Int, Need::Optional, "default 200, at most 2000"),
                    same("offset"),
                ],
            )
        },
        Entry { layout: Some(layout::entries), ..entry(ToolKind::Ls, "LS", &[same("path"), same("ignore")]) },
        Entry { layout: Some(layout::page), ..entry(ToolKind::Fetch, "WebFetch", &[same("url")]) },
        Entry {
            listed: Listed::WithSearches,
            layout: Some(layout::found_pages),
            ..entry(
                ToolKind::WebSearch,
                "WebSearch",
                &[same("query"), same("allowed_domains"), same("blocked_domains")],
            )
        },
        Entry { layout: Some(layout::todos), ..entry(ToolKind::Todo, "TodoWrite", &[same("todos")]) },
        Entry {
            aliases: &["Agent"],
            unbuilt: &["run_in_background"],
            layout: Some(layout::report),
            ..entry(
                ToolKind::Task,
                "Task",
                &[same("description"), same("prompt"), same("subagent_type"), same("model")],
            )
        },
        Entry {
            listed: Listed::WithSomebody,
            layout: Some(layout::answers),
            ..entry(ToolKind::AskUser, "AskUserQuestion", &[same("questions")])
        },
        Entry {
            aliases: &["BashOutput"],
            unbuilt: &["filter"],
            adapt: Some(blocking),
            layout: Some(layout::job),
            ..entry(
                ToolKind::JobOutput,
                "TaskOutput",
                &[
                    Field {
                        name: "task_id",
                        aliases: &["bash_id", "shell_id"],
                        source: Source::Canonical("job_id"),
                    },
                    own("block", Ty::Flag, Need::Optional, "wait for its end; default true"),
                    own(
                        "timeout",
                        Ty::Int,
                        Need::Optional,
                        "milliseconds to wait, default 30000, at most 600000",
                    ),
                ],
            )
        },
        Entry {
            aliases: &["TaskStop", "KillBash"],
            layout: Some(layout::job),
            ..entry(
                ToolKind::JobKill,
                "KillShell",
                &[Field {
                    name: "shell_id",
                    aliases: &["task_id", "bash_id"],
                    source: Source::Canonical("job_id"),
                }],
            )
        },
    ],
    unbuilt: &["ExitPlanMode", "ListMcpResourcesTool", "ReadMcpResourceTool", "Skill", "LSP"],
    results: Results::Plain,
};

const OLD_STRING: Param =
    Param { name: "old_string", aliases: &["old"], ty: Ty::Text, need: Need::Required, about: "" };
const NEW_STRING: Param =
    Param { name: "new_string", aliases: &["new"], ty: Ty::Text, need: Need::Required, about: "" };

/// The time limit is in milliseconds here; a begun second counts.
fn milliseconds(map: &mut Map<String, Value>) -> Result<(), ArgsError> {
    if let Some(ms) = map.remove("timeout").and_then(|value| value.as_i64()) {
        if !(1..=600_000).contains(&ms) {
            return Err(ArgsError::Wrong {
                field: "timeout".into(),
                wanted: "1 to 600000 milliseconds".into(),
                found: ms.to_string(),
            });
        }
        map.insert("timeout_secs".into(), ((ms + 999) / 1000).into());
    }
    Ok(())
}

/// A call waits for the end of the job unless it says no; a begun second counts.
fn blocking(map: &mut Map<String, Value>) -> Result<(), ArgsError> {
    let ms = map.remove("timeout").and_then(|value| value.as_i64()).unwrap_or(30_000);
    if !(0..=600_000).contains(&ms) {
        return Err(ArgsError::Wrong {
            field: "timeout".into(),
            wanted: "0 to 600000 milliseconds".into(),
            found: ms.to_string(),
        });
    }
    let block = map.remove("block").and_then(|value| value.as_bool()).unwrap_or(true);
    map.insert("wait_secs".into(), if block { (ms + 999) / 1000 } else { 0 }.into());
    Ok(())
}

/// Clients expect file names unless they ask for lines, and no limit when they say 0.
fn search(map: &mut Map<String, Value>) -> Result<(), ArgsError> {
    let mode = map.remove("output_mode").unwrap_or_else(|| "files_with_matches".into());
    map.insert("mode".into(), mode);
    if let Some(limit) = map.remove("head_limit").and_then(|value| value.as_i64()) {
        map.insert("limit".into(), if limit == 0 { 2000 } else { limit.min(2000) }.into());
    }
    Ok(())
}
