//! `multi_edit`: several replacements in one file, one after another, all or none.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::question::Preview;
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::edit::{self, Replacement, change_file, previewed, target};
use crate::env::ToolEnv;
use crate::seen::SeenFiles;
use crate::target::Target;
use crate::{blocking, paths, preview};

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

pub struct MultiEdit {
    env: Arc<ToolEnv>,
    seen: Arc<SeenFiles>,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    edits: Vec<Replacement>,
}

impl MultiEdit {
    /// Makes the tool; `seen` is shared with the tools that read.
    pub fn new(env: Arc<ToolEnv>, seen: Arc<SeenFiles>) -> Self {
        Self { env, seen }
    }
}

impl Tool for MultiEdit {
    fn kind(&self) -> Option<ToolKind> {
        Some(DEF.kind)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: Args = crate::args::typed(args);
        vec![Effect::Write(paths::resolve(&self.env, &args.path))]
    }

    fn preview<'a>(&'a self, raw: &'a RawValue) -> BoxFuture<'a, Preview> {
        let args: Args = crate::args::typed(raw);
        let path = paths::resolve(&self.env, &args.path);
        let (seen, leniency) = (self.seen.clone(), self.env.leniency);
        Box::pin(preview::plan(raw, move || {
            check(&args.edits)?;
            previewed(&target(Target::found(&path), &path)?, &args.edits, &seen, leniency)
        }))
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: Args = crate::args::typed(args);
        let path = paths::resolve(&self.env, &args.path);
        let (seen, leniency) = (self.seen.clone(), self.env.leniency);
        Box::pin(blocking::run(cx.cancel, self.env.timeout, move |cancel| {
            check(&args.edits)
                .and_then(|()| target(Target::from_snapshot(&cx.snapshot, &path), &path))
                .and_then(|target| change_file(&target, &args.edits, &seen, leniency, cancel))
                .unwrap_or_else(|failure| failure)
        }))
    }
}

fn check(edits: &[Replacement]) -> Result<(), ToolOutput> {
    match edits {
        [] => Err(ToolOutput::failure(ToolCode::InvalidInput, "`edits` must hold at least one edit")),
        _ => Ok(()),
    }
}
