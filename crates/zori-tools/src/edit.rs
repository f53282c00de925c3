//! `edit`: replaces text in one file; either as asked, or not at all.
//!
//! What is shared with `multi_edit` is here too: `change_file` loads, changes and stores.

pub mod apply;
pub mod nearest;

use std::fmt::Display;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use zori_core::cancel::Cancel;
use zori_core::question::{FileDiff, Replaced};
use zori_core::tool::{Leniency, ToolCode, ToolKind, ToolOutput};

use self::apply::{ReplaceCount, ReplaceError};
use crate::atomic::{AttributeSource, StagedFile};
use crate::change::file_change;
use crate::def::{Need, Param, ToolDef, Ty};
use crate::matching::{self, guard};
use crate::one_file::{FileChangeArgs, FileTool, NamedFile};
use crate::open_dir::{NameInDir, OpenError};
use crate::seen::{SeenFiles, SeenState};
use crate::target::Target;
use crate::textfile::{self, Encoding, FileError, Loaded};
use crate::write::failed;
use crate::{paths, preview};

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
pub type Edit = FileTool<Args>;

/// What it is asked for.
#[derive(Deserialize)]
pub struct Args {
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
    /// The changed lines, numbered, where they were not matched exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
}

impl FileChangeArgs for Args {
    const KIND: ToolKind = DEF.kind;

    fn path(&self) -> &str {
        &self.path
    }

    fn preview(self, file: NamedFile<'_>) -> Result<Vec<FileDiff>, ToolOutput> {
        previewed(&target(file.target, file.path)?, &[self.replacement], file.seen, file.leniency)
    }

    fn change(self, file: NamedFile<'_>, cancel: &Cancel) -> Result<ToolOutput, ToolOutput> {
        change_file(&target(file.target, file.path)?, &[self.replacement], file.seen, file.leniency, cancel)
    }
}

/// Returns the file to be changed, or the failure for the model.
pub(crate) fn target(found: Result<Target, OpenError>, path: &Path) -> Result<Target, ToolOutput> {
    found.map_err(|error| FileError::from_open(path, error).output())
}

/// Makes all the replacements in a file, one after another, or none.
pub(crate) fn change_file(
    target: &Target,
    replacements: &[Replacement],
    seen: &SeenFiles,
    leniency: Leniency,
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let PlannedEdit { held, after, count, notes, now } = planned(target, replacements, seen, leniency)?;
    store(target, &held, &after, seen, cancel)?;

    let note = (!notes.is_empty()).then(|| notes.join("; "));
    let data = Data { path: paths::shown(&target.place), replacements: count, note, now };
    let mut output =
        ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON"));
    output.changes.extend(file_change(&target.path, Some(&held.loaded.text), Some(&after)));
    Ok(output)
}

/// A file's text as it is to be changed.
pub(crate) struct Held {
    /// The file, with the text an editor holds where one does.
    pub(crate) loaded: Loaded,
    /// Whether an editor holds its text.
    by_editor: bool,
    /// Whether somebody else changed the file since it was last read.
    changed: bool,
}

impl Held {
    /// Says that somebody else changed the file.
    pub(crate) fn changed_since_read(&self) -> Option<&'static str> {
        self.changed.then_some("the file changed on disk since it was last read")
    }
}

/// Loads a file that is to be changed.
pub(crate) fn load(target: &Target, seen: &SeenFiles, leniency: Leniency) -> Result<Held, ToolOutput> {
    let mut loaded = textfile::load(target).map_err(|e| e.output())?;
    if leniency == Leniency::Exact && loaded.encoding != Encoding::Utf8 {
        return Err(FileError::utf16(&target.path).output());
    }
    let text = seen.held(&target.place);
    let by_editor = text.is_some();
    if let Some(text) = text {
        loaded.text = text;
    }
    let Loaded { text, meta, encoding, .. } = &loaded;
    let changed = seen.mark(&target.place).is_some_and(|mark| !mark.holds(&encoding.encoded(text), meta));
    Ok(Held { loaded, by_editor, changed })
}

/// Stores the text after a change, unless somebody else changed the file since it was loaded.
pub(crate) fn store(
    target: &Target,
    held: &Held,
    after: &str,
    seen: &SeenFiles,
    cancel: &Cancel,
) -> Result<(), ToolOutput> {
    let Held { loaded: Loaded { slot, file, text: before, encoding, meta }, by_editor, .. } = held;
    let path = &target.path;
    match seen.store(&target.place, after, cancel) {
        Some(stored) => stored.map_err(|why| {
            ToolOutput::failure(ToolCode::WriteError, format!("cannot write {}: {why}", path.display()))
        })?,
        None => {
            let like = AttributeSource { meta, file: Some(file) };
            replace(target, slot, (before, &encoding.encoded(after)), *by_editor, like, cancel)?;
        }
    }
    seen.remember(&target.place, SeenState::whole(&encoding.encoded(after)));
    Ok(())
}

/// Stores the text after an edit.
fn replace(
    target: &Target,
    slot: &NameInDir,
    (before, after): (&str, &[u8]),
    held: bool,
    like: AttributeSource<'_>,
    cancel: &Cancel,
) -> Result<(), ToolOutput> {
    let refuse = |why: &dyn Display| {
        ToolOutput::failure(ToolCode::WriteError, format!("cannot write {}: {why}", target.path.display()))
    };
    let staged = StagedFile::new(slot, after, Some(like), cancel).map_err(|e| failed(&e, refuse))?;
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
    seen: &SeenFiles,
    leniency: Leniency,
) -> Result<Vec<FileDiff>, ToolOutput> {
    let PlannedEdit { held, after, .. } = planned(target, replacements, seen, leniency)?;
    let replaced = match replacements {
        [Replacement { old, new, .. }] => Some(Replaced { old: old.clone(), new: new.clone() }),
        _ => None,
    };
    Ok(vec![FileDiff { replaced, ..preview::diff(&target.path, Some(&held.loaded.text), Some(&after)) }])
}

/// A file's content before and after an edit.
struct PlannedEdit {
    held: Held,
    after: String,
    count: usize,
    notes: Vec<String>,
    /// The lines that were changed by a tolerant match.
    now: Option<String>,
}

/// Computes what a file would hold, without changing it.
fn planned(
    target: &Target,
    replacements: &[Replacement],
    seen: &SeenFiles,
    leniency: Leniency,
) -> Result<PlannedEdit, ToolOutput> {
    let wanted: Vec<ReplaceCount> = numbered(replacements, |replacement| replacement.wanted())?;
    let path = &target.path;
    let held = load(target, seen, leniency)?;
    let before = &held.loaded.text;
    let mut notes: Vec<String> = held.changed_since_read().map(str::to_owned).into_iter().collect();

    let mut after: Option<String> = None;
    let mut count = 0;
    let mut now = String::new();
    let mut wanted = wanted.into_iter();
    numbered(replacements, |Replacement { old, new, .. }| {
        let text = after.as_ref().unwrap_or(before);
        let wanted = wanted.next().expect("one for each replacement");
        if leniency == Leniency::Forgiving && old == new {
            let message = "`old` and `new` are the same, so nothing would change";
            return Err(ToolOutput::failure(ToolCode::InvalidInput, message));
        }
        if leniency == Leniency::Forgiving
            && let Some(line) = guard::placeholder(old, new)
        {
            return Err(placeholder(path, text, old, line));
        }
        let applied = apply::apply(text, old, new, wanted, leniency)
            .map_err(|miss| nothing_replaced(path, text, (old, new), wanted, &miss))?;
        count += applied.replacements;
        if let Some(tolerated) = applied.tolerated {
            notes.push(format!(
                "`old` was matched without regard to {}; it now reads as shown",
                tolerated.what
            ));
            now.push_str(&echoed(&applied.text, tolerated.place));
        }
        if applied.line_ends {
            notes.push("line ends were written as the file has them (CRLF)".to_owned());
        }
        after = Some(applied.text);
        Ok(())
    })?;
    let after = after.unwrap_or_default();
    let now = (!now.is_empty()).then(|| now.trim_end_matches('\n').to_owned());
    Ok(PlannedEdit { held, after, count, notes, now })
}

impl Replacement {
    /// Checks the values in the order of EDIT-2.
    fn wanted(&self) -> Result<ReplaceCount, ToolOutput> {
        let invalid = |message: &str| Err(ToolOutput::failure(ToolCode::InvalidInput, message));
        if self.old.is_empty() {
            return invalid("`old` must not be empty; to create a file, write it");
        }
        match (self.expected_replacements, self.replace_all, self.first) {
            (Some(n), ..) if n < 1 => invalid("`expected_replacements` must be at least 1"),
            (.., Some(n)) if n < 1 => invalid("`first` must be at least 1"),
            (Some(n), ..) => Ok(ReplaceCount::Exactly(usize::try_from(n).unwrap_or(usize::MAX))),
            (None, Some(true), _) => Ok(ReplaceCount::All),
            (None, _, Some(n)) => Ok(ReplaceCount::First(usize::try_from(n).unwrap_or(usize::MAX))),
            (None, ..) => Ok(ReplaceCount::Exactly(1)),
        }
    }
}

/// Runs `each` for every replacement; a failure says which one it was if there are several.
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

/// How many changed lines are echoed.
const MAX_ECHOED: usize = 12;

/// Returns the lines at these bytes with their numbers.
pub(crate) fn echoed(text: &str, place: Range<usize>) -> String {
    let first = text[..place.start].rfind('\n').map_or(0, |newline| newline + 1);
    let last = text[place.end..].find('\n').map_or(text.len(), |newline| place.end + newline);
    // A place that ends with a newline does not reach into the next line.
    let last = if place.end > place.start && text[..place.end].ends_with('\n') { place.end } else { last };
    let number = matching::line_at(text, first);
    let lines = text[first..last.max(first)].lines().enumerate();
    let mut out: String = lines
        .clone()
        .take(MAX_ECHOED)
        .map(|(n, line)| format!("{}\t{}\n", number + n, zori_core::text::prefix(line, 200)))
        .collect();
    if lines.count() > MAX_ECHOED {
        out.push_str("...\n");
    }
    out
}

/// Returns the failure for new text that stands for text it does not hold.
fn placeholder(path: &Path, text: &str, old: &str, line: &str) -> ToolOutput {
    let place = text.find(old).map_or_else(String::new, |at| {
        let (first, last) = (matching::line_at(text, at), matching::line_at(text, at + old.trim_end().len()));
        format!(" of lines {first}-{last}")
    });
    let line = zori_core::text::prefix(line, 80);
    ToolOutput::failure(
        ToolCode::InvalidInput,
        format!(
            "`new` has the placeholder `{line}`, which would remove what it stands for{place} in {}; send all the text, or \
             a smaller `old`",
            path.display()
        ),
    )
}

/// Returns the failure: why nothing was replaced, and what would match.
fn nothing_replaced(
    path: &Path,
    text: &str,
    (old, new): (&str, &str),
    wanted: ReplaceCount,
    miss: &ReplaceError,
) -> ToolOutput {
    let path = path.display();
    match miss {
        ReplaceError::Count { starts } => {
            let ReplaceCount::Exactly(expected) = wanted else {
                unreachable!("only a fixed number can be missed")
            };
            let (found, lines) = (starts.len(), matching::lines_at(text, starts));
            ToolOutput::failure(
                ToolCode::CountMismatch,
                format!(
                    "expected {expected} and found {found} occurrences of `old` in {path}, at lines {lines}; add surrounding \
                     lines to make it unique, or ask for all {found}"
                ),
            )
        }
        ReplaceError::Several { what, starts } => {
            let lines = matching::lines_at(text, starts);
            ToolOutput::failure(
                ToolCode::CountMismatch,
                format!(
                    "`old` was not found in {path}; without regard to {what} it fits at lines {lines}; send the exact text \
                     of one of them"
                ),
            )
        }
        ReplaceError::NotFound => {
            let lines = nearest::nearest(text, old);
            let mut message = format!("`old` was not found in {path}");
            if let Some(at) =
                text.find(new).filter(|_| new.chars().filter(|c| c.is_alphanumeric()).count() > 2)
            {
                message.push_str(&format!(
                    ", and `new` is there already at line {}",
                    matching::line_at(text, at)
                ));
            }
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
