//! `write`: creates a file, or replaces its whole content in one step.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use zori_core::cancel::Cancel;
use zori_core::question::FileDiff;
use zori_core::tool::{Leniency, ToolCode, ToolKind, ToolOutput};

use crate::atomic::{AttributeSource, StagedFile, WriteError};
use crate::change::file_change;
use crate::def::{Need, Param, ToolDef, Ty};
use crate::matching::guard;
use crate::one_file::{FileChangeArgs, FileTool, NamedFile};
use crate::open_dir::{FileMeta, NameInDir, OpenError};
use crate::seen::{SeenFiles, SeenState};
use crate::target::{self, Target};
use crate::{paths, preview, textfile};

pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Write,
    about: "Create or overwrite a file. Missing parent directories are created.",
    params: &[
        Param { name: "path", aliases: &["file_path"], ty: Ty::Text, need: Need::Required, about: "" },
        Param { name: "content", aliases: &[], ty: Ty::Text, need: Need::Required, about: "" },
    ],
};

/// The tool.
pub type Write = FileTool<Args>;

/// What it is asked for.
#[derive(Deserialize)]
pub struct Args {
    path: String,
    content: String,
}

#[derive(Serialize)]
struct Data {
    path: String,
    bytes: usize,
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl FileChangeArgs for Args {
    const KIND: ToolKind = DEF.kind;

    fn path(&self) -> &str {
        &self.path
    }

    fn preview(self, file: NamedFile<'_>) -> Result<Vec<FileDiff>, ToolOutput> {
        planned(file.target, file.path, &self.content, file.seen)
    }

    fn change(self, file: NamedFile<'_>, cancel: &Cancel) -> Result<ToolOutput, ToolOutput> {
        let target = file.target.map_err(|error| refused(file.path, error))?;
        write(&target, &self.content, file.seen, file.leniency, cancel)
    }
}

fn write(
    target: &Target,
    content: &str,
    seen: &SeenFiles,
    leniency: Leniency,
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let path = &target.path;
    let refuse = |why: &dyn std::fmt::Display| refusal(path, why);
    if leniency == Leniency::Forgiving
        && path.to_string_lossy().chars().any(char::is_control)
        && std::fs::symlink_metadata(path).is_err()
    {
        let shown = path.to_string_lossy();
        let message = format!("the path {shown:?} has a control character; send the name without it");
        return Err(ToolOutput::failure(ToolCode::InvalidInput, message));
    }
    let parent = target.place.parent().ok_or_else(|| refuse(&"it is a directory"))?;
    let slot = NameInDir::made_at(&target.place, &mut Vec::new()).map_err(|error| match error {
        OpenError::Changed => target::changed(path),
        OpenError::Io(error) => ToolOutput::failure(
            ToolCode::MkdirError,
            format!("cannot create the directory {}: {error}", parent.display()),
        ),
    })?;
    let old = ExistingFile::look(&slot, &target.place, seen).map_err(|e| refused(path, e))?;
    if let Some(why) = old.as_ref().and_then(ExistingFile::objection) {
        return Err(refuse(&why));
    }
    let note = match (&old, leniency) {
        (Some(old), Leniency::Forgiving) => overwriting(target, old, content, seen)?,
        _ => None,
    };

    match seen.store(&target.place, content, cancel) {
        Some(stored) => stored.map_err(|why| refuse(&why))?,
        None => store(target, &slot, content, old.as_ref(), cancel)?,
    }

    seen.remember(&target.place, SeenState::whole(content.as_bytes()));
    let data = Data { path: paths::shown(path), bytes: content.len(), created: old.is_none(), note };
    let mut output =
        ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON"));
    output.changes = match old.map(|old| old.text) {
        None => file_change(path, None, Some(content)),
        Some(Some(before)) => file_change(path, Some(&before), Some(content)),
        Some(None) => None,
    }
    .into_iter()
    .collect();
    Ok(output)
}

/// A file of more lines than this is not overwritten blindly on the first call.
const MANY_LINES: usize = 200;

/// Returns what to say of a file that is overwritten unread, or loses most of its lines; refuses that once where the file
/// is long, and a placeholder always (FOR-7).
fn overwriting(
    target: &Target,
    old: &ExistingFile,
    content: &str,
    seen: &SeenFiles,
) -> Result<Option<String>, ToolOutput> {
    let Some(text) = &old.text else { return Ok(None) };
    let path = target.path.display();
    if let Some(line) = guard::placeholder(text, content) {
        let line = zori_core::text::prefix(line, 80);
        return Err(ToolOutput::failure(
            ToolCode::InvalidInput,
            format!(
                "`content` has the placeholder `{line}` and would remove what it stands for in {path}; send all the text, or edit"
            ),
        ));
    }
    let (before, after) = (text.lines().count(), content.lines().count());
    let unread = seen.mark(&target.place).is_none();
    let loses = before > 4 && kept_lines(text, content) * 2 < before;
    let why = match (unread, loses) {
        (true, _) => "it was never read",
        (false, true) => "most of its lines are removed",
        (false, false) => return Ok(None),
    };
    let lines = |count: usize| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
    let change = format!("{} before, {} after", lines(before), lines(after));
    if before > MANY_LINES && loses && !seen.warned(&target.place, content.as_bytes()) {
        return Err(ToolOutput::failure(
            ToolCode::WriteError,
            format!(
                "{path} was not written: {why} ({change}). Send the same call again if that is meant, or edit it"
            ),
        ));
    }
    Ok(Some(format!("{why}: {change}")))
}

/// Returns how many lines of `before` are in `after` as well.
fn kept_lines(before: &str, after: &str) -> usize {
    let mut there: HashMap<&str, usize> = HashMap::new();
    for line in after.lines() {
        *there.entry(line).or_default() += 1;
    }
    let mut kept = 0;
    for line in before.lines() {
        if let Some(left) = there.get_mut(line).filter(|left| **left > 0) {
            *left -= 1;
            kept += 1;
        }
    }
    kept
}

/// Puts the content on disk.
fn store(
    target: &Target,
    slot: &NameInDir,
    content: &str,
    old: Option<&ExistingFile>,
    cancel: &Cancel,
) -> Result<(), ToolOutput> {
    let refuse = |why: &dyn std::fmt::Display| refusal(&target.path, why);
    let like = old.map(|old| AttributeSource { meta: &old.meta, file: old.file.as_ref() });
    let staged = StagedFile::new(slot, content.as_bytes(), like, cancel).map_err(|e| failed(&e, refuse))?;
    match old {
        Some(old) => {
            // The content took time to write; whoever changed the file meanwhile must not lose that change.
            if !old.still_there(slot) {
                return Err(refuse(&"it was changed by another process meanwhile; read it again first"));
            }
            staged.replace()
        }
        None => staged.create(),
    }
    .map_err(|e| refuse(&e))
}

/// Shows what writing would change, without changing it.
fn planned(
    target: Result<Target, OpenError>,
    path: &Path,
    content: &str,
    seen: &SeenFiles,
) -> Result<Vec<FileDiff>, ToolOutput> {
    let target = target.map_err(|e| refused(path, e))?;
    let old = match NameInDir::at(&target.place) {
        // The folder is not there either.
        Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        slot => slot.and_then(|slot| ExistingFile::look(&slot, &target.place, seen)),
    };
    let old = old.map_err(|e| refused(path, e))?;
    if let Some(why) = old.as_ref().and_then(ExistingFile::objection) {
        return Err(refusal(path, &why));
    }
    Ok(vec![match old {
        None => preview::diff(path, None, Some(content)),
        Some(ExistingFile { text: Some(before), .. }) => preview::diff(path, Some(&before), Some(content)),
        Some(ExistingFile { text: None, meta, file, .. }) => {
            preview::unreadable(path, &meta, file.as_ref(), Some(content))
        }
    }])
}

fn refusal(path: &Path, why: &dyn std::fmt::Display) -> ToolOutput {
    ToolOutput::failure(ToolCode::WriteError, format!("cannot write {}: {why}", path.display()))
}

fn refused(path: &Path, error: OpenError) -> ToolOutput {
    match error {
        OpenError::Changed => target::changed(path),
        OpenError::Io(error) => refusal(path, &error),
    }
}

/// Turns a failure of the file system into the result; a cancelled call is not an error.
pub(crate) fn failed(
    failure: &WriteError,
    refuse: impl Fn(&dyn std::fmt::Display) -> ToolOutput,
) -> ToolOutput {
    match failure {
        WriteError::Cancelled => ToolOutput::failure(ToolCode::Canceled, "cancelled; the file is unchanged"),
        WriteError::Io(error) => refuse(error),
    }
}

/// The file that will be overwritten.
struct ExistingFile {
    meta: FileMeta,
    /// The file, where we may read it.
    file: Option<File>,
    /// Its text, where it is text and not too long to be shown.
    text: Option<String>,
    /// Whether this session has read it and it is not the same any more.
    changed: bool,
}

/// The most that is read of a file only to show what changed.
const MAX_SHOWN: u64 = 1 << 20;

impl ExistingFile {
    fn look(slot: &NameInDir, place: &Path, seen: &SeenFiles) -> Result<Option<Self>, OpenError> {
        let meta = match slot.meta() {
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            meta => meta?,
        };
        let unread = |meta, changed| Self { meta, file: None, text: None, changed };
        if textfile::kind_name(meta.kind).is_some() {
            return Ok(Some(unread(meta, false)));
        }
        // Overwriting needs no right to read.
        let file = match slot.read() {
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied => None,
            file => Some(file?),
        };
        let meta = file.as_ref().map_or(Ok(meta), FileMeta::of)?;
        if textfile::kind_name(meta.kind).is_some() {
            return Ok(Some(unread(meta, false)));
        }
        let mark = seen.mark(place);
        if let Some(text) = seen.held(place) {
            let changed = mark.is_some_and(|mark| !mark.holds(text.as_bytes(), &meta));
            return Ok(Some(Self { meta, file, text: Some(text), changed }));
        }
        if !mark.is_none_or(|mark| mark.plausible(&meta)) {
            return Ok(Some(unread(meta, true)));
        }
        let by_content = matches!(mark, Some(SeenState::Whole { .. }));
        let content = match &file {
            Some(file) if by_content || meta.len <= MAX_SHOWN => read_up_to(file, meta.len)?,
            _ => None,
        };
        let changed = match (mark, &content) {
            (Some(mark), Some(content)) => !mark.holds(content, &meta),
            (Some(SeenState::Whole { .. }), None) => true,
            _ => false,
        };
        Ok(Some(Self { meta, file, text: content.and_then(|c| String::from_utf8(c).ok()), changed }))
    }

    fn objection(&self) -> Option<String> {
        if let Some(kind) = textfile::kind_name(self.meta.kind) {
            return Some(format!("it is a {kind}, not a regular file"));
        }
        self.changed.then(|| "it changed on disk since it was read; read it again, then write".to_owned())
    }

    fn still_there(&self, slot: &NameInDir) -> bool {
        slot.meta().is_ok_and(|now| SeenState::part(&now) == SeenState::part(&self.meta))
    }
}

/// Reads a file. One that has grown past `len` meanwhile is `None`.
fn read_up_to(file: &File, len: u64) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    file.take(len + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= len).then_some(content))
}

#[cfg(test)]
mod tests;
