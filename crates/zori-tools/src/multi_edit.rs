//! `multi_edit`: several replacements in one file, one after another, all or none.

use serde::Deserialize;
use zori_core::cancel::Cancel;
use zori_core::question::FileDiff;
use zori_core::tool::{ToolCode, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::edit::{self, Replacement, change_file, previewed, target};
use crate::one_file::{FileChangeArgs, FileTool, NamedFile};

pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::MultiEdit,
    about: "Several edits of one file, in order, all or none.",
    params: &[
        Param { name: "path", aliases: &["file_path"], ty: Ty::Text, need: Need::Required, about: "" },
        Param {
            name: "edits",
            aliases: &[],
            ty: Ty::Objects(&[edit::OLD, edit::NEW, edit::EXPECTED, edit::ALL]),
            need: Need::Required,
            about: "",
        },
    ],
};

/// The tool.
pub type MultiEdit = FileTool<Args>;

/// What it is asked for.
#[derive(Deserialize)]
pub struct Args {
    path: String,
    edits: Vec<Replacement>,
}

impl FileChangeArgs for Args {
    const KIND: ToolKind = DEF.kind;

    fn path(&self) -> &str {
        &self.path
    }

    fn preview(self, file: NamedFile<'_>) -> Result<Vec<FileDiff>, ToolOutput> {
        check(&self.edits)?;
        previewed(&target(file.target, file.path)?, &self.edits, file.seen, file.leniency)
    }

    fn change(self, file: NamedFile<'_>, cancel: &Cancel) -> Result<ToolOutput, ToolOutput> {
        check(&self.edits)?;
        change_file(&target(file.target, file.path)?, &self.edits, file.seen, file.leniency, cancel)
    }
}

fn check(edits: &[Replacement]) -> Result<(), ToolOutput> {
    match edits {
        [] => Err(ToolOutput::failure(ToolCode::InvalidInput, "`edits` must hold at least one edit")),
        _ => Ok(()),
    }
}
