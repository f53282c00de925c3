//! The names of the core document: what `zori` shows by default, with results as plain text, and what `zdx` shows, with the
//! envelopes as they are.

use serde_json::{Map, Value, json};
use zori_core::tool::ToolKind;

use super::{Dialect, Entry, Listed, Results, entry, own, same};
use crate::args::ArgsError;
use crate::def::{Need, Ty};
use crate::edit::{EXPECTED, NEW, OLD};

/// The table. What is not listed here (search types, multi-line search, byte limits) is understood all the same:
/// each field shown costs every request its tokens.
pub const ZORI: Dialect = Dialect {
    name: "zori",
    tools: &[
        entry(ToolKind::Read, "read", &[same("path"), same("offset"), same("limit")]),
        entry(ToolKind::Write, "write", &[same("path"), same("content")]),
        entry(
            ToolKind::Edit,
            "edit",
            &[same("path"), same("old"), same("new"), same("expected_replacements")],
        ),
        entry(
            ToolKind::Bash,
            "bash",
            &[same("command"), same("timeout_secs"), same("background"), same("stay")],
        ),
        entry(
            ToolKind::MultiEdit,
            "multi_edit",
            &[same("path"), own("edits", Ty::Objects(&[OLD, NEW, EXPECTED]), Need::Required, "")],
        ),
        Entry {
            listed: Listed::WithNotebooks,
            ..entry(
                ToolKind::NotebookEdit,
                "notebook_edit",
                &[same("path"), same("cell"), same("source"), same("cell_type"), same("mode")],
            )
        },
        entry(ToolKind::Glob, "glob", &[same("pattern"), same("path")]),
        entry(
            ToolKind::Grep,
            "grep",
            &[
                same("pattern"),
                same("path"),
                same("glob"),
                same("mode"),
                same("ignore_case"),
                same("context"),
                same("limit"),
                same("offset"),
            ],
        ),
        entry(ToolKind::Ls, "ls", &[same("path"), same("depth")]),
        entry(ToolKind::Patch, "apply_patch", &[same("patch")]),
        entry(ToolKind::Fetch, "web_fetch", &[same("url"), same("raw")]),
        Entry {
            listed: Listed::WithSearches,
            ..entry(
                ToolKind::WebSearch,
                "web_search",
                &[same("query"), same("allowed_domains"), same("blocked_domains")],
            )
        },
        entry(ToolKind::Todo, "todo_write", &[same("todos")]),
        entry(
            ToolKind::Task,
            "task",
            &[same("description"), same("prompt"), same("subagent_type"), same("model")],
        ),
        Entry {
            listed: Listed::WithSomebody,
            adapt: Some(one_question),
            ..entry(
                ToolKind::AskUser,
                "ask_user",
                &[
                    own("question", Ty::Text, Need::Optional, ""),
                    own("options", Ty::TextList, Need::Optional, "short answers to choose from"),
                    own("multiple", Ty::Flag, Need::Optional, "several may be chosen"),
                ],
            )
        },
        Entry {
            listed: Listed::WithJobs,
            ..entry(ToolKind::JobOutput, "job_output", &[same("job_id"), same("wait_secs")])
        },
        Entry { listed: Listed::WithJobs, ..entry(ToolKind::JobKill, "job_kill", &[same("job_id")]) },
    ],
    unbuilt: &[],
    results: Results::Plain,
};

/// One question a call is enough, and costs less to describe.
fn one_question(map: &mut Map<String, Value>) -> Result<(), ArgsError> {
    let (question, options) = (map.remove("question"), map.remove("options"));
    let multiple = map.remove("multiple").unwrap_or(Value::Bool(false));
    let Some(question) = question else {
        // Several may be asked in the form of the Claude protocol.
        return if map.contains_key("questions") {
            Ok(())
        } else {
            Err(ArgsError::Missing("question".into()))
        };
    };
    let options = options.and_then(|list| list.as_array().cloned()).unwrap_or_default();
    let options: Vec<Value> = options.into_iter().map(|label| json!({ "label": label })).collect();
    let asked = json!([{ "question": question, "options": options, "multiSelect": multiple }]);
    map.insert("questions".to_owned(), asked);
    Ok(())
}

/// The same names, and results as the core document has them.
pub const ZDX: Dialect = Dialect { name: "zdx", results: Results::Envelope, ..ZORI };
