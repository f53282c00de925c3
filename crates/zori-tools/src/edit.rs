//! `edit`: replaces text in one file; either as asked, or not at all.
//!
//! What is shared with `multi_edit` is here too: `change_file` loads, changes and stores.

pub mod apply;
pub mod nearest;

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::cancel::Cancel;
use zori_core::question::{FileDiff, Preview};
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use self::apply::{Miss, Wanted};
use crate::atomic::{Like, Staged};
use crate::change::file_change;
use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::folder::{OpenError, Slot};
use crate::seen::{Mark, Seen};
use crate::target::Target;
use crate::textfile::{self, FileError, Loaded};
use crate::write::failed;
use crate::{blocking, paths, preview};

/// The tool's table entry.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Edit,
    about: "Replace exact text in a file. `old` must occur exactly expected_replacements times (default 1); all are replaced.",
    params: &[
        Param { name: "path", aliases: &["file_path"], ty: Ty::Text, need: Need::Required, about: "" },
        OLD,
        NEW,
        EXPECTED,
        ALL,
        FIRST,
    ],
};

/// The text to be replaced.
pub(crate) const OLD: Param =
    Param { name: "old", aliases: &["old_string"], ty: Ty::Text, need: Need::Required, about: "" };
/// What replaces it.
pub(crate) const NEW: Param =
    Param { name: "new", aliases: &["new_string"], ty: Ty::Text, need: Need::Required, about: "" };
/// How often it must occur.
pub(crate) const EXPECTED: Param =
    Param { name: "expected_replacements", aliases: &[], ty: Ty::Int, need: Need::Optional, about: "" };
/// Whether it may occur any number of times.
pub(crate) const ALL: Param = Param {
    name: "replace_all",
    aliases: &[],
    ty: Ty::Flag,
    need: Need::Optional,
    about: "replace every occurrence",
};
const FIRST: Param = Param {
    name: "first",
    aliases: &[],
    ty: Ty::Int,
    need: Need::Optional,
    about: "replace only so many, from the start",
};

/// The tool.
pub struct Edit {
    env: Arc<ToolEnv>,
    seen: Arc<Seen>,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    #[serde(flatten)]
    replacement: Replacement,
}

/// One replacement, as `edit` and `multi_edit` are asked for it.
#[derive(Deserialize)]
pub(crate) struct Replacement {
    old: String,
    new: String,
    expected_replacements: Option<i64>,
    replace_all: Option<bool>,
    first: Option<i64>,
}

#[derive(Serialize)]
struct Data {
    path: String,
    replacements: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Edit {
    /// Makes the tool; `seen` is shared with the tools that read.
    pub fn new(env: Arc<ToolEnv>, seen: Arc<Seen>) -> Self {
        Self { env, seen }
    }
}

impl Tool for Edit {
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
        let seen = self.seen.clone();
        Box::pin(preview::plan(raw, move || {
            previewed(&target(Target::found(&path), &path)?, &[args.replacement], &seen)
        }))
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: Args = crate::args::typed(args);
        let path = paths::resolve(&self.env, &args.path);
        let seen = self.seen.clone();
        Box::pin(blocking::run(cx.cancel, self.env.timeout, move |cancel| {
            target(Target::judged(&cx.judged, &path), &path)
                .and_then(|target| change_file(&target, &[args.replacement], &seen, cancel))
                .unwrap_or_else(|failure| failure)
        }))
    }
}

/// Returns the file to be changed, or what the model is told.
pub(crate) fn target(found: Result<Target, OpenError>, path: &Path) -> Result<Target, ToolOutput> {
    found.map_err(|error| FileError::from_open(path, error).output())
}

/// Makes all the replacements in a file, one after another, or none.
pub(crate) fn change_file(
    target: &Target,
    replacements: &[Replacement],
    seen: &Seen,
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let Planned { loaded, held, after, count, notes } = planned(target, replacements, seen)?;
    let Loaded { slot, file, text: before, meta } = loaded;
    let path = &target.path;
    let refuse = |why: &dyn Display| {
        ToolOutput::failure(ToolCode::WriteError, format!("cannot write {}: {why}", path.display()))
    };
    match seen.store(&target.place, &after, cancel) {
        Some(stored) => stored.map_err(|why| refuse(&why))?,
        None => {
            let like = Like { meta: &meta, file: Some(&file) };
            replace(target, &slot, (&before, &after), held, like, cancel)?;
        }
    }
    seen.remember(&target.place, Mark::whole(after.as_bytes()));

    let note = (!notes.is_empty()).then(|| notes.join("; "));
    let data = Data { path: paths::shown(&target.place), replacements: count, note };
    let mut output =
        ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON"));
    output.changes.extend(file_change(path, Some(&before), Some(&after)));
    Ok(output)
}

/// Puts the text after an edit where the one before it was.
fn replace(
    target: &Target,
    slot: &Slot,
    (before, after): (&str, &str),
    held: bool,
    like: Like<'_>,
    cancel: &Cancel,
) -> Result<(), ToolOutput> {
    let refuse = |why: &dyn Display| {
        ToolOutput::failure(ToolCode::WriteError, format!("cannot write {}: {why}", target.path.display()))
    };
    let staged = Staged::new(slot, after.as_bytes(), Some(like), cancel).map_err(|e| failed(&e, refuse))?;
    // Whoever changed the file since it was loaded must not lose that change.
    if !textfile::load(target).is_ok_and(|now| now.text == before) {
        return Err(refuse(&textfile::not_as_loaded(held)));
    }
    staged.replace().map_err(|e| refuse(&e))
}

/// Shows what the replacements would change.
pub(crate) fn previewed(
    target: &Target,
    replacements: &[Replacement],
    seen: &Seen,
) -> Result<Vec<FileDiff>, ToolOutput> {
    let Planned { loaded, after, .. } = planned(target, replacements, seen)?;
    Ok(vec![preview::diff(&target.path, Some(&loaded.text), Some(&after))])
}

/// A file as it is, and as it would be.
struct Planned {
    loaded: Loaded,
    /// Whether its text is an editor's.
    held: bool,
    after: String,
    count: usize,
    notes: Vec<String>,
}

/// Works out what a file would hold, without changing it.
fn planned(target: &Target, replacements: &[Replacement], seen: &Seen) -> Result<Planned, ToolOutput> {
    let wanted: Vec<Wanted> = numbered(replacements, |replacement| replacement.wanted())?;
    let path = &target.path;
    let mut loaded = textfile::load(target).map_err(|e| e.output())?;
    let held = seen.held(&target.place);
    let is_held = held.is_some();
    if let Some(text) = held {
        loaded.text = text;
    }
    let Loaded { text: before, meta, .. } = &loaded;
    let mut notes = Vec::new();
    if seen.mark(&target.place).is_some_and(|mark| !mark.holds(before.as_bytes(), meta)) {
        notes.push("the file changed on disk since it was last read".to_owned());
    }

    let mut after: Option<String> = None;
    let mut count = 0;
    let mut wanted = wanted.into_iter();
    numbered(replacements, |Replacement { old, new, .. }| {
        let text = after.as_ref().unwrap_or(before);
        let wanted = wanted.next().expect("one for each replacement");
        let applied =
            apply::apply(text, old, new, wanted).map_err(|miss| missed(path, text, old, wanted, &miss))?;
        count += applied.replacements;
        if let Some(what) = applied.tolerated {
            notes.push(format!("`old` was matched without regard to {what}"));
        }
        after = Some(applied.text);
        Ok(())
    })?;
    let after = after.unwrap_or_default();
    Ok(Planned { loaded, held: is_held, after, count, notes })
}

impl Replacement {
    /// Checks the values in the order of EDIT-2.
    fn wanted(&self) -> Result<Wanted, ToolOutput> {
        let invalid = |message: &str| Err(ToolOutput::failure(ToolCode::InvalidInput, message));
        if self.old.is_empty() {
            return invalid("`old` must not be empty; to create a file, write it");
        }
        match (self.expected_replacements, self.replace_all, self.first) {
            (Some(n), ..) if n < 1 => invalid("`expected_replacements` must be at least 1"),
            (.., Some(n)) if n < 1 => invalid("`first` must be at least 1"),
            (Some(n), ..) => Ok(Wanted::Exactly(usize::try_from(n).unwrap_or(usize::MAX))),
            (None, Some(true), _) => Ok(Wanted::All),
            (None, _, Some(n)) => Ok(Wanted::First(usize::try_from(n).unwrap_or(usize::MAX))),
            (None, ..) => Ok(Wanted::Exactly(1)),
        }
    }
}

/// Does something for each replacement; where there are several, a failure says which one it was.
fn numbered<T>(
    replacements: &[Replacement],
    mut each: impl FnMut(&Replacement) -> Result<T, ToolOutput>,
) -> Result<Vec<T>, ToolOutput> {
    let many = replacements.len();
    let label = |n: usize, output: ToolOutput| match output.failure {
        Some(failure) if many > 1 => {
            let message = format!("edit {} of {many}: {}; no edit was made", n + 1, failure.message);
            ToolOutput::failure(failure.code, message)
        }
        _ => output,
    };
    replacements.iter().enumerate().map(|(n, r)| each(r).map_err(|output| label(n, output))).collect()
}

/// Says why nothing was replaced, and what would match.
fn missed(path: &Path, text: &str, old: &str, wanted: Wanted, miss: &Miss) -> ToolOutput {
    let path = path.display();
    match miss {
        Miss::Count { found } => {
            let Wanted::Exactly(expected) = wanted else { unreachable!("only a fixed number can be missed") };
            ToolOutput::failure(
                ToolCode::CountMismatch,
                format!(
                    "expected {expected} and found {found} occurrences of `old` in {path}; add surrounding lines to \
                     make it unique, or ask for all {found}"
                ),
            )
        }
        Miss::NotFound => {
            let lines = nearest::nearest(text, old);
            let mut message = format!("`old` was not found in {path}");
            if lines.is_empty() {
                message.push_str(", and no line is like it; read the file again");
                return ToolOutput::failure(ToolCode::OldNotFound, message);
            }
            message.push_str("; it must match exactly. The nearest lines are:");
            for line in &lines {
                message.push_str(&format!("\n{}\t{}", line.line, line.text));
            }
            let details = serde_json::json!({ "nearest": lines }).to_string();
            ToolOutput::failure_with(ToolCode::OldNotFound, message, &details)
        }
    }
}

#[cfg(test)]
mod tests;
