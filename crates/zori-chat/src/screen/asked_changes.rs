//! What calls of a saved conversation changed, as far as it holds that: what they asked for. The files may be others by now, and are not looked at.

use serde::Deserialize;
use zori_core::tool::ToolKind;
use zori_tools::patch::parse::{self, Action, Hunk, HunkLine};
use zori_tui::cells::{AskedChange, ChangedPlace};

/// What the result of a call says of it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Made {
    /// Whether the file was not there before.
    #[serde(default)]
    created: bool,
    /// In how many places something was replaced.
    #[serde(default)]
    replacements: Option<usize>,
}

#[derive(Deserialize)]
struct Write {
    path: String,
    content: String,
}

#[derive(Deserialize)]
struct Edit {
    path: String,
    #[serde(flatten)]
    replacement: Replacement,
}

#[derive(Deserialize)]
struct MultiEdit {
    path: String,
    edits: Vec<Replacement>,
}

#[derive(Deserialize)]
struct Replacement {
    old: String,
    new: String,
}

#[derive(Deserialize)]
struct Patch {
    patch: String,
}

impl Replacement {
    fn place(self, times: usize) -> ChangedPlace {
        ChangedPlace { before: self.old, after: self.new, line: None, times }
    }
}

/// Returns what a call changed that went well; nothing where its arguments do not tell.
pub fn asked_changes(kind: Option<ToolKind>, args: &str, made: Made) -> Vec<AskedChange> {
    let edited = |path, places| vec![AskedChange { path, verb: "Edit", places }];
    let found = match kind {
        Some(ToolKind::Write) => serde_json::from_str(args).map(|Write { path, content }| {
            let whole = ChangedPlace { before: String::new(), after: content, line: Some(1), times: 1 };
            match made.created {
                true => vec![AskedChange { path, verb: "Create", places: vec![whole] }],
                // What stood there before is not known.
                false => vec![AskedChange { path, verb: "Write", places: Vec::new() }],
            }
        }),
        Some(ToolKind::Edit) => serde_json::from_str(args).map(|Edit { path, replacement }| {
            edited(path, vec![replacement.place(made.replacements.unwrap_or(1))])
        }),
        Some(ToolKind::MultiEdit) => serde_json::from_str(args).map(|MultiEdit { path, edits }| {
            edited(path, edits.into_iter().map(|replacement| replacement.place(1)).collect())
        }),
        Some(ToolKind::Patch) => serde_json::from_str(args).map(|Patch { patch }| patched(&patch)),
        _ => return Vec::new(),
    };
    found.unwrap_or_default()
}

fn patched(patch: &str) -> Vec<AskedChange> {
    let change = |file: parse::FilePatch| {
        let path = file.path;
        match file.action {
            Action::Add(content) => {
                let whole = ChangedPlace { before: String::new(), after: content, line: Some(1), times: 1 };
                AskedChange { path, verb: "Create", places: vec![whole] }
            }
            Action::Delete => AskedChange { path, verb: "Delete", places: Vec::new() },
            Action::Update { hunks, move_to } => AskedChange {
                path: move_to.unwrap_or(path),
                verb: "Edit",
                places: hunks.iter().map(hunk).collect(),
            },
        }
    };
    parse::parse(patch).unwrap_or_default().into_iter().map(change).collect()
}

fn hunk(hunk: &Hunk) -> ChangedPlace {
    let (mut before, mut after) = (String::new(), String::new());
    for line in &hunk.lines {
        let (text, sides) = match line {
            HunkLine::Keep(text) => (text, [true, true]),
            HunkLine::Remove(text) => (text, [true, false]),
            HunkLine::Add(text) => (text, [false, true]),
        };
        for (side, wanted) in [&mut before, &mut after].into_iter().zip(sides) {
            if wanted {
                side.push_str(text);
                side.push('\n');
            }
        }
    }
    ChangedPlace { before, after, line: None, times: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(before: &str, after: &str, line: Option<usize>, times: usize) -> ChangedPlace {
        ChangedPlace { before: before.to_owned(), after: after.to_owned(), line, times }
    }

    #[test]
    fn by_the_arguments() {
        let created = Made { created: true, replacements: None };
        let thrice = Made { created: false, replacements: Some(3) };
        let change = |path: &str, verb, places| AskedChange { path: path.to_owned(), verb, places };
        let write = r#"{"path":"a","content":"x\n"}"#;
        let patch = serde_json::json!({ "patch": concat!(
            "*** Begin Patch\n*** Add File: new\n+one\n*** Delete File: old\n",
            "*** Update File: a\n*** Move to: b\n@@\n kept\n-gone\n+came\n*** End Patch\n",
        ) });
        let unified =
            serde_json::json!({ "patch": "--- a/f\n+++ b/f\n@@ -7,2 +7,2 @@\n kept\n-gone\n+came\n" });
        let hunk = place("kept\ngone\n", "kept\ncame\n", None, 1);
        let cases = [
            (
                ToolKind::Write,
                write,
                created,
                vec![change("a", "Create", vec![place("", "x\n", Some(1), 1)])],
            ),
            (ToolKind::Write, write, Made::default(), vec![change("a", "Write", vec![])]),
            (
                ToolKind::Edit,
                r#"{"path":"a","old":"x","new":"y","replace_all":true}"#,
                thrice,
                vec![change("a", "Edit", vec![place("x", "y", None, 3)])],
            ),
            (
                ToolKind::MultiEdit,
                r#"{"path":"a","edits":[{"old":"x","new":"y"},{"old":"p","new":"q"}]}"#,
                Made::default(),
                vec![change("a", "Edit", vec![place("x", "y", None, 1), place("p", "q", None, 1)])],
            ),
            (
                ToolKind::Patch,
                &patch.to_string(),
                Made::default(),
                vec![
                    change("new", "Create", vec![place("", "one\n", Some(1), 1)]),
                    change("old", "Delete", vec![]),
                    change("b", "Edit", vec![hunk.clone()]),
                ],
            ),
            (ToolKind::Patch, &unified.to_string(), Made::default(), vec![change("f", "Edit", vec![hunk])]),
            (ToolKind::Patch, r#"{"patch":"?"}"#, Made::default(), vec![]),
            (ToolKind::Edit, "[]", Made::default(), vec![]),
            (ToolKind::Bash, r#"{"path":"a","content":"x"}"#, created, vec![]),
        ];
        for (kind, args, made, changes) in cases {
            assert_eq!(asked_changes(Some(kind), args, made), changes, "{kind:?} {args}");
        }
    }
}
