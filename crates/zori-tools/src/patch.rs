//! `apply_patch`: changes several files, all or none.
//!
//! Everything is computed in memory first (`plan` below), then written (`commit.rs`), on disk or by the editor that holds
//! the files; what fails on the way leaves no trace.

mod commit;
pub mod hunk;
pub mod parse;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::cancel::Cancel;
use zori_core::question::{FileDiff, Preview};
use zori_core::tool::{Effect, Leniency, Tool, ToolCode, ToolCx, ToolKind, ToolOutput, ToolSpec};

use self::commit::{Entry, OriginalFile};
use self::parse::{Action, FilePatch};
use crate::change::file_change;
use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::mended_path::{self, Use};
use crate::open_dir::{FileMeta, NameInDir, OpenError};
use crate::seen::{SeenFiles, SeenState};
use crate::target::{self, Target};
use crate::textfile::{self, Encoding, FileError, Loaded};
use crate::{blocking, paths, preview};

pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Patch,
    about: "Apply a patch to one or more files, all or nothing: a unified diff, or `*** Begin Patch`, then per file \
            `*** Add File: P`, `*** Delete File: P` or `*** Update File: P` (optional `*** Move to: P`) with lines \
            prefixed by blank, - or + under `@@` headers, then `*** End Patch`.",
    params: &[Param {
        name: "patch",
        aliases: &["diff", "input"],
        ty: Ty::Text,
        need: Need::Required,
        about: "",
    }],
};

/// Returns the tool as models know it that have learnt to edit with it: one field, `input`, and one format.
pub(crate) fn native_spec(name: &str) -> ToolSpec {
    let about = "Edit files with a patch, all or nothing; the only tool for edits. `input` is `*** Begin Patch`, then per file \
                 `*** Add File: P`, `*** Delete File: P` or `*** Update File: P` (optional `*** Move to: P`), then `*** End \
                 Patch`. An update has chunks: `@@` with the enclosing line where needed, three lines of context around each \
                 change, lines prefixed by blank, `-` or `+`. Read a file before you change it.";
    let schema = r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;
    ToolSpec {
        name: name.to_owned(),
        description: about.to_owned(),
        schema: RawValue::from_string(schema.to_owned()).expect("the schema is JSON"),
    }
}

pub struct Patch {
    env: Arc<ToolEnv>,
    seen: Arc<SeenFiles>,
}

#[derive(Deserialize)]
struct Args {
    patch: String,
}

#[derive(Serialize)]
struct Data {
    files: Vec<Changed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The lines of hunks that were not matched exactly, numbered.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
}

#[derive(Serialize)]
struct Changed {
    path: String,
    action: &'static str,
}

impl Patch {
    /// Makes the tool; `seen` is shared with the tools that read.
    pub fn new(env: Arc<ToolEnv>, seen: Arc<SeenFiles>) -> Self {
        Self { env, seen }
    }
}

impl Tool for Patch {
    fn kind(&self) -> Option<ToolKind> {
        Some(DEF.kind)
    }

    /// A patch that cannot be read changes nothing, so it has no effects.
    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: Args = crate::args::typed(args);
        let files = parse::parse(&args.patch).unwrap_or_default();
        let names = files.into_iter().flat_map(|file| match file.action {
            Action::Update { move_to: Some(to), .. } => {
                vec![meant(&self.env, &file.path), paths::resolve(&self.env, &to)]
            }
            Action::Add(_) => vec![paths::resolve(&self.env, &file.path)],
            _ => vec![meant(&self.env, &file.path)],
        });
        names.map(Effect::Write).collect()
    }

    fn preview<'a>(&'a self, raw: &'a RawValue) -> BoxFuture<'a, Preview> {
        let args: Args = crate::args::typed(raw);
        let (env, seen) = (self.env.clone(), self.seen.clone());
        Box::pin(preview::plan(raw, move || {
            previewed(&PatchContext { env: &env, find: &Target::found, seen: &seen }, &args.patch)
        }))
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: Args = crate::args::typed(args);
        let (env, seen) = (self.env.clone(), self.seen.clone());
        Box::pin(blocking::run(cx.cancel, self.env.timeout, move |cancel| {
            let find = |path: &Path| Target::from_snapshot(&cx.snapshot, path);
            let cx = PatchContext { env: &env, find: &find, seen: &seen };
            patch(&cx, &args.patch, cancel).unwrap_or_else(|failure| failure)
        }))
    }
}

/// What a patch is applied to.
struct PatchContext<'a> {
    env: &'a ToolEnv,
    /// Finds where a path leads.
    find: &'a dyn Fn(&Path) -> Result<Target, OpenError>,
    seen: &'a SeenFiles,
}

fn patch(cx: &PatchContext<'_>, patch: &str, cancel: &Cancel) -> Result<ToolOutput, ToolOutput> {
    let files =
        parse::parse(patch).map_err(|e| ToolOutput::failure(ToolCode::InvalidPatch, e.to_string()))?;
    let Plan { entries, tolerated, now } = plan(cx, &files)?;
    let seen = cx.seen;
    commit::commit(&entries, seen, cancel)?;

    let mut data = Data { files: Vec::new(), note: None, now: None };
    let mut changes = Vec::new();
    for entry in &entries {
        let action = match (&entry.before, &entry.after) {
            (None, None) => continue,
            (None, Some(_)) => "added",
            (Some(_), None) => "deleted",
            (Some(_), Some(_)) => "updated",
        };
        data.files.push(Changed { path: paths::shown(&entry.target.path), action });
        match &entry.after {
            Some(text) => {
                seen.remember(&entry.target.place, SeenState::whole(&entry.encoding().encoded(text)));
            }
            None => seen.forget(&entry.target.place),
        }
        // What is no text has no text to be shown.
        let before = entry.before.as_ref().map(|before| before.text.as_deref());
        if before != Some(None) {
            changes.extend(file_change(&entry.target.path, before.flatten(), entry.after.as_deref()));
        }
    }
    if !tolerated.is_empty() {
        let what = tolerated.join(", ");
        data.note = Some(format!("hunks were matched without regard to {what}; they now read as shown"));
        data.now = Some(now.trim_end_matches('\n').to_owned());
    }
    let mut output = ToolOutput::success(&serde_json::to_string(&data).expect("strings are JSON"));
    output.changes = changes;
    Ok(output)
}

/// Shows what a patch would change, without changing it.
fn previewed(cx: &PatchContext<'_>, patch: &str) -> Result<Vec<FileDiff>, ToolOutput> {
    let files =
        parse::parse(patch).map_err(|e| ToolOutput::failure(ToolCode::InvalidPatch, e.to_string()))?;
    let shown = |entry: &Entry| {
        let after = entry.after.as_deref();
        match &entry.before {
            None => after.map(|after| preview::diff(&entry.target.path, None, Some(after))),
            Some(OriginalFile { text: Some(before), .. }) => {
                Some(preview::diff(&entry.target.path, Some(before), after))
            }
            Some(OriginalFile { text: None, meta, file, .. }) => {
                Some(preview::unreadable(&entry.target.path, meta, file.as_ref(), after))
            }
        }
    };
    Ok(plan(cx, &files)?.entries.iter().filter_map(shown).collect())
}

/// What every file is to hold afterwards.
struct Plan {
    entries: Vec<Entry>,
    tolerated: Vec<&'static str>,
    now: String,
}

/// Computes the new content of every file, without changing any.
fn plan(cx: &PatchContext<'_>, files: &[FilePatch]) -> Result<Plan, ToolOutput> {
    let mut plan = Plan { entries: Vec::new(), tolerated: Vec::new(), now: String::new() };
    for file in files {
        let path = match &file.action {
            Action::Add(_) => paths::resolve(cx.env, &file.path),
            _ => meant(cx.env, &file.path),
        };
        let at = plan.entry(cx, &path)?;
        let entry = &plan.entries[at];
        match &file.action {
            Action::Add(_) if entry.exists() => return Err(exists(&entry.target.path)),
            Action::Add(content) => plan.entries[at].after = Some(content.clone()),
            _ if !entry.exists() => {
                let error = FileError::NotFound { path: entry.target.path.clone() };
                return Err(ToolOutput::failure(ToolCode::FileNotFound, error.to_string()));
            }
            Action::Delete => {
                plan.entries[at].after = None;
                plan.entries[at].touched = true;
            }
            Action::Update { hunks, move_to } => {
                let text = entry.text()?;
                let patched = hunk::apply(text, hunks, cx.env.leniency).map_err(|misfit| {
                    let near = crate::edit::nearest::nearest(text, &misfit.wanted);
                    hunk_mismatch(&entry.target.path, &misfit, &near)
                })?;
                for what in patched.tolerated {
                    if !plan.tolerated.contains(&what) {
                        plan.tolerated.push(what);
                    }
                }
                plan.now.push_str(&patched.now);
                match move_to {
                    None => {
                        plan.entries[at].after = Some(patched.text);
                        plan.entries[at].touched = true;
                    }
                    Some(to) => plan.move_entry(cx, at, to, patched.text)?,
                }
            }
        }
    }
    Ok(plan)
}

impl Plan {
    /// Returns the entry of a path; several changes of one file build on each other.
    fn entry(&mut self, cx: &PatchContext<'_>, path: &Path) -> Result<usize, ToolOutput> {
        let target = (cx.find)(path).map_err(|e| refused(path, e))?;
        if let Some(at) = self.entries.iter().position(|entry| entry.target.place == target.place) {
            return Ok(at);
        }
        let before = match textfile::load(&target) {
            Ok(Loaded { text, meta, file, encoding, .. }) => {
                let unsaved = cx.seen.held(&target.place);
                let held = unsaved.is_some();
                let text = Some(unsaved.unwrap_or(text));
                Some(OriginalFile { text, encoding, held, meta, file: Some(file), unreadable: None })
            }
            Err(FileError::NotFound { .. }) => None,
            // It may still be deleted; whoever needs its text gets the error then.
            Err(error @ (FileError::NotText { .. } | FileError::TooLarge { .. })) => {
                let meta = NameInDir::at(&target.place).and_then(|slot| slot.meta());
                let meta: FileMeta = meta.map_err(|e| refused(path, e))?;
                Some(OriginalFile {
                    text: None,
                    encoding: Encoding::Utf8,
                    held: false,
                    meta,
                    file: None,
                    unreadable: Some(error.to_string()),
                })
            }
            Err(error @ FileError::Changed { .. }) => return Err(error.output()),
            Err(FileError::Unresolved { source, .. }) => return Err(io_error(path, &source)),
            Err(error) => return Err(ToolOutput::failure(ToolCode::IoError, error.to_string())),
        };
        let after = before.as_ref().and_then(|before| before.text.clone());
        self.entries.push(Entry { target, before, after, like: None, touched: false });
        Ok(self.entries.len() - 1)
    }

    fn move_entry(
        &mut self,
        cx: &PatchContext<'_>,
        from: usize,
        to: &str,
        text: String,
    ) -> Result<(), ToolOutput> {
        let at = self.entry(cx, &paths::resolve(cx.env, to))?;
        if at == from {
            self.entries[at].after = Some(text);
            self.entries[at].touched = true;
            return Ok(());
        }
        if self.entries[at].exists() {
            return Err(exists(&self.entries[at].target.path));
        }
        // The moved file keeps its mode.
        let like = self.entries[from].before.as_ref().map(|before| before.meta);
        self.entries[from].after = None;
        self.entries[from].touched = true;
        self.entries[at].after = Some(text);
        self.entries[at].like = like;
        Ok(())
    }
}

/// Returns the file that a patch names, under another spelling if it is not there under this one (FOR-8).
fn meant(env: &ToolEnv, name: &str) -> PathBuf {
    let mended = match env.leniency {
        Leniency::Exact => None,
        Leniency::Forgiving => mended_path::mended(env, name, Use::Existing),
    };
    paths::resolve(env, mended.as_deref().unwrap_or(name))
}

fn exists(path: &Path) -> ToolOutput {
    ToolOutput::failure(
        ToolCode::FileExists,
        format!("{} exists already; update it, or delete it first", path.display()),
    )
}

fn refused(path: &Path, error: OpenError) -> ToolOutput {
    match error {
        OpenError::Changed => target::changed(path),
        OpenError::Io(error) => io_error(path, &error),
    }
}

fn io_error(path: &Path, why: &dyn std::fmt::Display) -> ToolOutput {
    ToolOutput::failure(ToolCode::IoError, format!("{}: {why}; nothing was changed", path.display()))
}

fn hunk_mismatch(
    path: &Path,
    misfit: &hunk::HunkMismatch,
    near: &[crate::edit::nearest::Line],
) -> ToolOutput {
    let (hunk, path) = (misfit.hunk, path.display());
    let refused = |code, why: String| ToolOutput::failure(code, format!("hunk {hunk} of {path} {why}"));
    match &misfit.why {
        hunk::Mismatch::NotFound => {}
        hunk::Mismatch::Several(lines) => {
            let why =
                format!("fits at lines {lines}; add lines around it, or an `@@` header. Nothing was changed");
            return refused(ToolCode::PatternNotFound, why);
        }
        hunk::Mismatch::Nothing => {
            return refused(
                ToolCode::InvalidPatch,
                "changes nothing: no line is added or removed".to_owned(),
            );
        }
        hunk::Mismatch::Placeholder(line) => {
            let line = zori_core::text::prefix(line, 80);
            let why = format!(
                "has the placeholder `{line}` for lines it removes; send all lines. Nothing was changed"
            );
            return refused(ToolCode::InvalidPatch, why);
        }
    }
    let mut message = format!(
        "hunk {hunk} does not fit {path}: these lines were not found:\n{}",
        zori_core::text::prefix(misfit.wanted.trim_end_matches('\n'), 300)
    );
    if near.is_empty() {
        message.push_str("\nRead the file again. Nothing was changed");
        return ToolOutput::failure(ToolCode::PatternNotFound, message);
    }
    message.push_str("\nNothing was changed. The nearest lines are:");
    for line in near {
        message.push_str(&format!("\n{}\t{}", line.line, line.text));
    }
    let details = serde_json::json!({ "nearest": near }).to_string();
    ToolOutput::failure_with(ToolCode::PatternNotFound, message, &details)
}

#[cfg(test)]
mod tests;
