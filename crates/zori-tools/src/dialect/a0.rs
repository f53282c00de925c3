//! The names of the Agent Zero provider. Where its tools may go is decided in `confined.rs`.

use serde_json::{Map, Value};
use zori_core::tool::ToolKind;

use super::{Dialect, Entry, Field, Results, Source, entry, layout, own, same};
use crate::args::ArgsError;
use crate::def::{Need, Ty};
use crate::grep::bounded;
use crate::toolset::ReadBounds;

pub const A0: Dialect = Dialect {
    name: "a0",
    tools: &[
        Entry {
            aliases: &["read"],
            about: Some("Read a text file, or some of its lines."),
            adapt: Some(lines),
            layout: Some(layout::text),
            ..entry(
                ToolKind::Read,
                "read_file",
                &[
                    Field { name: "path", aliases: &["file", "target"], source: Source::Canonical("path") },
                    own("start_line", Ty::Int, Need::Optional, "from 1"),
                    own("end_line", Ty::Int, Need::Optional, "inclusive"),
                    same("max_bytes"),
                ],
            )
        },
        Entry {
            aliases: &["tree", "ls"],
            about: Some("List the files below a directory."),
            adapt: Some(bounds),
            layout: Some(layout::sizes),
            ..entry(
                ToolKind::Ls,
                "list_files",
                &[
                    Field { name: "path", aliases: &["dir"], source: Source::Canonical("path") },
                    own("max_depth", Ty::Int, Need::Optional, ""),
                    own("max_files", Ty::Int, Need::Optional, ""),
                    own("include_sizes", Ty::Flag, Need::Optional, "default true"),
                ],
            )
        },
        Entry {
            aliases: &["search", "rg"],
            about: Some("Find lines that contain a text."),
            adapt: Some(plain_search),
            layout: Some(layout::found_lines),
            ..entry(
                ToolKind::Grep,
                "search_text",
                &[
                    Field {
                        name: "query",
                        aliases: &["pattern", "text"],
                        source: Source::Canonical("pattern"),
                    },
                    same("path"),
                    own("max_matches", Ty::Int, Need::Optional, "default 50"),
                    own("max_files", Ty::Int, Need::Optional, "default 2000"),
                    own(
                        "max_file_bytes",
                        Ty::Int,
                        Need::Optional,
                        "default 200000; longer files are left out",
                    ),
                    own("case_sensitive", Ty::Flag, Need::Optional, "default false"),
                ],
            )
        },
        Entry {
            aliases: &["file_write"],
            adapt: Some(any_content),
            layout: Some(layout::written),
            ..entry(
                ToolKind::Write,
                "write_file",
                &[
                    same("path"),
                    Field { name: "content", aliases: &["text"], source: Source::Canonical("content") },
                ],
            )
        },
        Entry {
            aliases: &["replace"],
            about: Some(
                "Replace text in a file: the first `count` occurrences (default 1), or all if it is 0.",
            ),
            adapt: Some(count),
            layout: Some(layout::replaced_or_not),
            ..entry(
                ToolKind::Edit,
                "replace_text",
                &[
                    same("path"),
                    Field { name: "old", aliases: &["find"], source: Source::Canonical("old") },
                    Field { name: "new", aliases: &["replace"], source: Source::Canonical("new") },
                    own("count", Ty::Int, Need::Optional, ""),
                ],
            )
        },
        Entry {
            aliases: &["patch"],
            layout: Some(layout::patched),
            ..entry(
                ToolKind::Patch,
                "apply_patch",
                &[Field { name: "patch", aliases: &["diff"], source: Source::Canonical("patch") }],
            )
        },
        Entry {
            aliases: &["terminal", "command", "bash"],
            layout: Some(layout::output),
            ..entry(ToolKind::Bash, "shell", &[same("command")])
        },
    ],
    unbuilt: &[],
    results: Results::Plain,
};

/// What holds where nobody says anything else.
const MAX_PREVIEW: i64 = ReadBounds::DEFAULT.file_bytes as i64;
const DEPTH: i64 = ReadBounds::DEFAULT.depth as i64;
const FILES: i64 = ReadBounds::DEFAULT.files as i64;
/// How many files a search looks into, and how long they may be.
const SEARCHED_FILES: i64 = 2_000;
const SEARCHED_BYTES: i64 = 200_000;

/// First and last line become a first line and a number of lines.
fn lines(map: &mut Map<String, Value>) -> Result<(), ArgsError> {
    let mut take = |name| map.remove(name).and_then(|value| value.as_i64());
    let (start, end) = (take("start_line"), take("end_line"));
    let first = start.unwrap_or(1).max(1);
    map.entry("max_bytes").or_insert_with(|| MAX_PREVIEW.into());
    if start.is_some() || end.is_some() {
        map.insert("offset".into(), first.into());
    }
    if let Some(end) = end {
        if end < first {
            return Err(ArgsError::Wrong {
                field: "end_line".into(),
                wanted: format!("at least {first}, the first line"),
                found: end.to_string(),
            });
        }
        map.insert("limit".into(), (end - first + 1).into());
    }
    Ok(())
}

/// Clamps limits to the tool's own maximum.
fn bounds(map: &mut Map<String, Value>) -> Result<(), ArgsError> {
    let mut take = |name| map.remove(name).and_then(|value| value.as_i64());
    let (depth, files) = (take("max_depth"), take("max_files"));
    map.insert("depth".into(), depth.unwrap_or(DEPTH).clamp(1, 10).into());
    map.insert("limit".into(), files.unwrap_or(FILES).clamp(1, 1000).into());
    map.insert("files_only".into(), true.into());
    Ok(())
}

/// Plain text, by default in any case.
fn plain_search(map: &mut Map<String, Value>) -> Result<(), ArgsError> {
    let mut take = |name, usual: i64| map.remove(name).and_then(|value| value.as_i64()).unwrap_or(usual);
    let (limit, files) = (take("max_matches", 50), take("max_files", SEARCHED_FILES));
    let bytes = take("max_file_bytes", SEARCHED_BYTES);
    map.insert("max_files".into(), files.clamp(1, bounded::MOST_FILES).into());
    map.insert("max_file_bytes".into(), bytes.clamp(1, bounded::MOST_BYTES).into());
    let exact = map.remove("case_sensitive").and_then(|value| value.as_bool()).unwrap_or(false);
    map.insert("limit".into(), limit.clamp(1, 2000).into());
    map.insert("ignore_case".into(), (!exact).into());
    map.insert("literal".into(), true.into());
    Ok(())
}

/// Content that is not a string is written as JSON.
fn any_content(map: &mut Map<String, Value>) -> Result<(), ArgsError> {
    if let Some(content) = map.get_mut("content").filter(|content| !content.is_string()) {
        *content = Value::String(content.to_string());
    }
    Ok(())
}

/// A number of replacements; 0 or less is all of them.
fn count(map: &mut Map<String, Value>) -> Result<(), ArgsError> {
    match map.remove("count").and_then(|value| value.as_i64()) {
        Some(n) if n <= 0 => map.insert("replace_all".into(), true.into()),
        n => map.insert("first".into(), n.unwrap_or(1).into()),
    };
    Ok(())
}
