//! `notebook_edit`: replaces, inserts or deletes one cell of a Jupyter notebook; the rest of the file keeps its bytes.

use serde::{Deserialize, Serialize};
use zori_core::cancel::Cancel;
use zori_core::question::FileDiff;
use zori_core::tool::{Leniency, ToolCode, ToolKind, ToolOutput};

use crate::change::file_change;
use crate::def::{Need, Param, ToolDef, Ty};
use crate::edit::{self, Held, target};
use crate::notebook::{self, CellKind, Change, Changed};
use crate::one_file::{FileChangeArgs, FileTool, NamedFile};
use crate::seen::SeenFiles;
use crate::target::Target;
use crate::{paths, preview};

pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::NotebookEdit,
    about: "Replace, insert or delete a cell of a Jupyter notebook (.ipynb).",
    params: &[
        Param {
            name: "path",
            aliases: &["notebook_path", "file_path"],
            ty: Ty::Text,
            need: Need::Required,
            about: "",
        },
        Param {
            name: "cell",
            aliases: &["cell_id", "cell_number", "cell_index"],
            ty: Ty::Name,
            need: Need::Optional,
            about: "id, or number from 0; insert puts the new cell after it, else first",
        },
        Param {
            name: "source",
            aliases: &["new_source", "content"],
            ty: Ty::Text,
            need: Need::Optional,
            about: "the whole new text of the cell",
        },
        Param {
            name: "cell_type",
            aliases: &["type"],
            ty: Ty::Choice(&["code", "markdown", "raw"]),
            need: Need::Optional,
            about: "",
        },
        Param {
            name: "mode",
            aliases: &["edit_mode"],
            ty: Ty::Choice(&["replace", "insert", "delete"]),
            need: Need::Optional,
            about: "default replace",
        },
    ],
};

/// The tool.
pub type NotebookEdit = FileTool<Args>;

/// What it is asked for.
#[derive(Deserialize)]
pub struct Args {
    path: String,
    cell: Option<String>,
    source: Option<String>,
    cell_type: Option<String>,
    mode: Option<String>,
}

#[derive(Serialize)]
struct Data {
    path: String,
    mode: String,
    cell: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell_id: Option<String>,
    cell_type: &'static str,
    cells: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl FileChangeArgs for Args {
    const KIND: ToolKind = DEF.kind;

    fn path(&self) -> &str {
        &self.path
    }

    fn preview(self, file: NamedFile<'_>) -> Result<Vec<FileDiff>, ToolOutput> {
        let target = target(file.target, file.path)?;
        let (held, changed) = planned(&target, &self, file.seen, file.leniency)?;
        Ok(vec![preview::diff(&target.path, Some(&held.loaded.text), Some(&changed.text))])
    }

    fn change(self, file: NamedFile<'_>, cancel: &Cancel) -> Result<ToolOutput, ToolOutput> {
        change_cell(&target(file.target, file.path)?, self, file.seen, file.leniency, cancel)
    }
}

fn change_cell(
    target: &Target,
    args: Args,
    seen: &SeenFiles,
    leniency: Leniency,
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let (held, changed) = planned(target, &args, seen, leniency)?;
    edit::store(target, &held, &changed.text, seen, cancel)?;
    let Changed { text, cell, id, kind, cells, language, .. } = changed;
    let data = Data {
        path: paths::shown(&target.place),
        mode: args.mode.unwrap_or_else(|| "replace".to_owned()),
        cell,
        cell_id: id,
        cell_type: kind.as_str(),
        cells,
        language,
        note: held.changed_since_read().map(str::to_owned),
    };
    let mut output =
        ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON"));
    output.changes.extend(file_change(&target.path, Some(&held.loaded.text), Some(&text)));
    Ok(output)
}

/// Computes what the file would hold, without changing it.
fn planned(
    target: &Target,
    args: &Args,
    seen: &SeenFiles,
    leniency: Leniency,
) -> Result<(Held, Changed), ToolOutput> {
    let change = wanted(args)?;
    let held = edit::load(target, seen, leniency)?;
    let changed = notebook::change(&held.loaded.text, change).map_err(|why| {
        ToolOutput::failure(ToolCode::InvalidInput, format!("{}: {why}", target.path.display()))
    })?;
    Ok((held, changed))
}

/// Checks that the call says all that its mode needs.
fn wanted(args: &Args) -> Result<Change<'_>, ToolOutput> {
    let missing = |what: &str| ToolOutput::failure(ToolCode::InvalidInput, what);
    let kind = args.cell_type.as_deref().and_then(CellKind::named);
    let source =
        || args.source.as_deref().ok_or_else(|| missing("`source` is missing: the new text of the cell"));
    let cell = || {
        args.cell
            .as_deref()
            .ok_or_else(|| missing("`cell` is missing: the id of the cell, or its number from 0"))
    };
    match args.mode.as_deref() {
        Some("insert") => {
            let kind =
                kind.ok_or_else(|| missing("`cell_type` is missing: code or markdown for a new cell"))?;
            Ok(Change::Insert { after: args.cell.as_deref(), source: source()?, kind })
        }
        Some("delete") => Ok(Change::Delete { cell: cell()? }),
        _ => Ok(Change::Replace { cell: cell()?, source: source()?, kind }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::{Scratch, call};

    const NOTEBOOK: &str = r#"{"cells":[{"cell_type":"code","execution_count":1,"id":"a","metadata":{},"outputs":[],"source":["1"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;

    /// The result of a call, and what the file holds then.
    fn edited(args: &str) -> (String, String) {
        let scratch = Scratch::new();
        scratch.put("n.ipynb", NOTEBOOK);
        let tool = NotebookEdit::new(scratch.env().into(), Arc::default());
        let output = call(&tool, &DEF, args);
        (scratch.hide(output.envelope.get()), scratch.get("n.ipynb"))
    }

    #[test]
    fn a_cell_is_replaced() {
        let (result, file) = edited(r#"{"path":"n.ipynb","cell":"a","source":"2"}"#);
        assert_eq!(
            result,
            r#"{"ok":true,"data":{"path":"$ROOT/n.ipynb","mode":"replace","cell":0,"cell_id":"a","cell_type":"code","cells":1}}"#
        );
        assert_eq!(
            file,
            NOTEBOOK
                .replace("\"execution_count\":1", "\"execution_count\":null")
                .replace("[\"1\"]", "[\"2\"]")
        );
    }

    #[test]
    fn nothing_is_written_when_something_is_missing() {
        let cases = [
            (r#"{"path":"n.ipynb","cell":"a"}"#, "`source` is missing: the new text of the cell"),
            (
                r#"{"path":"n.ipynb","source":"2"}"#,
                "`cell` is missing: the id of the cell, or its number from 0",
            ),
            (
                r#"{"path":"n.ipynb","source":"2","mode":"insert"}"#,
                "`cell_type` is missing: code or markdown for a new cell",
            ),
            (
                r#"{"path":"n.ipynb","cell":"b","mode":"delete"}"#,
                "$ROOT/n.ipynb: there is no cell `b`; the only one is 0 (id a, code)",
            ),
        ];
        for (args, why) in cases {
            let (result, file) = edited(args);
            let expected =
                serde_json::json!({"ok": false, "error": {"code": "invalid_input", "message": why}});
            assert_eq!((result, file.as_str()), (expected.to_string(), NOTEBOOK), "{args}");
        }
    }
}
