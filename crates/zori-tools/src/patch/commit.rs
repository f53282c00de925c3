//! Writes a plan to disk, or has an editor write it that holds the files; or puts everything back.

use std::fs::File;

use zori_core::cancel::Cancel;
use zori_core::tool::{ToolCode, ToolOutput};

use super::{io_error, refused};
use crate::atomic::{self, AttributeSource, StagedFile, WriteError};
use crate::open_dir::{FileMeta, NameInDir};
use crate::seen::SeenFiles;
use crate::target::Target;
use crate::textfile::{self, Encoding};

/// One file of a plan.
pub(super) struct Entry {
    /// The path, and the file behind it.
    pub target: Target,
    /// What is there now.
    pub before: Option<OriginalFile>,
    /// What will be there; `None` for nothing.
    pub after: Option<String>,
    /// Another file whose attributes it takes over.
    pub like: Option<FileMeta>,
    /// Whether a change named it, even if its content stays the same.
    pub touched: bool,
}

/// A file before the patch.
pub(super) struct OriginalFile {
    /// Its text; `None` if it is not text.
    pub text: Option<String>,
    pub encoding: Encoding,
    /// Whether an editor holds it.
    pub held: bool,
    pub meta: FileMeta,
    /// The file, where its text was read.
    pub file: Option<File>,
    /// Why it has no text.
    pub unreadable: Option<String>,
}

impl OriginalFile {
    fn like(&self) -> AttributeSource<'_> {
        AttributeSource { meta: &self.meta, file: self.file.as_ref() }
    }
}

impl Entry {
    /// Returns whether the file exists at this point of the plan.
    pub fn exists(&self) -> bool {
        match (&self.before, &self.after) {
            (_, Some(_)) => true,
            // A file that is no text is there until it is deleted.
            (Some(before), None) => before.text.is_none() && !self.touched,
            (None, None) => false,
        }
    }

    /// Returns how the file is written: as it was.
    pub fn encoding(&self) -> Encoding {
        self.before.as_ref().map_or(Encoding::Utf8, |before| before.encoding)
    }

    /// Returns the text at this point of the plan.
    pub fn text(&self) -> Result<&str, ToolOutput> {
        let why = self.before.as_ref().and_then(|before| before.unreadable.as_deref());
        self.after.as_deref().ok_or_else(|| io_error(&self.target.path, &why.unwrap_or("it has no text")))
    }
}

/// A step that was done and can be undone.
enum UndoStep<'a> {
    MadeDir(NameInDir),
    Created(NameInDir),
    Replaced(NameInDir, &'a OriginalFile),
    Stored(NameInDir, &'a Entry),
    Aside { own: NameInDir, aside: NameInDir },
}

/// Writes every entry. On a failure all of them are as they were.
pub(super) fn commit(entries: &[Entry], seen: &SeenFiles, cancel: &Cancel) -> Result<(), ToolOutput> {
    let mut done = Vec::new();
    let result = run(entries, seen, cancel, &mut done);
    if result.is_err() {
        done.into_iter().rev().for_each(|step| undo(step, seen));
    } else {
        for step in done {
            if let UndoStep::Aside { aside, .. } = step {
                let _ = aside.remove();
            }
        }
    }
    result
}

fn run<'a>(
    entries: &'a [Entry],
    seen: &SeenFiles,
    cancel: &Cancel,
    done: &mut Vec<UndoStep<'a>>,
) -> Result<(), ToolOutput> {
    // Content goes to disk first: a full disk is noticed before anything has changed.
    let (mut staged, mut told) = (Vec::new(), Vec::new());
    for entry in entries {
        let Some(after) = &entry.after else { continue };
        if entry.before.as_ref().is_some_and(|before| before.text.as_ref() == Some(after)) {
            continue;
        }
        let path = &entry.target.path;
        let mut made = Vec::new();
        let slot = match &entry.before {
            Some(_) => NameInDir::at(&entry.target.place),
            None => NameInDir::made_at(&entry.target.place, &mut made),
        };
        done.extend(made.into_iter().map(UndoStep::MadeDir));
        let slot = slot.map_err(|e| refused(path, e))?;
        if seen.stores() {
            told.push((entry, slot, after));
            continue;
        }
        let like = entry.before.as_ref().map(OriginalFile::like);
        let content =
            StagedFile::new(&slot, &entry.encoding().encoded(after), like, cancel).map_err(|e| match e {
                WriteError::Cancelled => {
                    ToolOutput::failure(ToolCode::Canceled, "cancelled; nothing was changed")
                }
                WriteError::Io(error) => io_error(path, &error),
            })?;
        if let Some(meta) = &entry.like {
            content.set_mode(meta).map_err(|e| io_error(path, &e))?;
        }
        staged.push((entry, slot, content));
    }
    for entry in entries {
        if let Some(OriginalFile { text: Some(before), held, .. }) = &entry.before
            && !is_unchanged(&entry.target, before, *held, seen)
        {
            return Err(io_error(&entry.target.path, &textfile::not_as_loaded(*held)));
        }
    }
    for (entry, slot, after) in told {
        let stored = seen.store(&entry.target.place, after, cancel);
        // Whatever an editor does that fails to store a file, what it had is stored again.
        done.push(UndoStep::Stored(slot, entry));
        if let Err(why) = stored.unwrap_or_else(|| Err("the editor stores nothing any more".to_owned())) {
            return Err(io_error(&entry.target.path, &why));
        }
    }
    for (entry, slot, content) in staged {
        match &entry.before {
            Some(before) => {
                content.replace().map_err(|e| io_error(&entry.target.path, &e))?;
                done.push(UndoStep::Replaced(slot, before));
            }
            None => {
                content.create().map_err(|e| io_error(&entry.target.path, &e))?;
                done.push(UndoStep::Created(slot));
            }
        }
    }
    for entry in entries {
        if entry.before.is_some() && !entry.exists() {
            let path = &entry.target.path;
            // The link goes, not what it points to.
            let own = NameInDir::at(&entry.target.own).map_err(|e| refused(path, e))?;
            let aside = atomic::set_aside(&own).map_err(|e| io_error(path, &e))?;
            done.push(UndoStep::Aside { own, aside });
        }
    }
    Ok(())
}

/// Returns whether a file is as it was loaded. If no editor stores the text, the disk must have it as well.
fn is_unchanged(target: &Target, before: &str, held: bool, seen: &SeenFiles) -> bool {
    match held && seen.stores() {
        true => seen.held(&target.place).is_some_and(|now| now == before),
        false => textfile::load(target).is_ok_and(|now| now.text == before),
    }
}

/// Undoes a step as well as it can; failures cannot be reported any more.
fn undo(step: UndoStep, seen: &SeenFiles) {
    match step {
        UndoStep::MadeDir(folder) => {
            let _ = folder.remove_folder();
        }
        UndoStep::Created(slot) => {
            let _ = slot.remove();
        }
        UndoStep::Replaced(slot, before) => {
            if let Some(text) = &before.text
                && let Ok(old) = StagedFile::new(
                    &slot,
                    &before.encoding.encoded(text),
                    Some(before.like()),
                    &Cancel::new(),
                )
            {
                let _ = old.replace();
            }
        }
        UndoStep::Stored(slot, entry) => {
            match entry.before.as_ref().and_then(|before| before.text.as_deref()) {
                Some(before) => drop(seen.store(&entry.target.place, before, &Cancel::new())),
                None => drop(slot.remove()),
            }
        }
        UndoStep::Aside { own, aside } => {
            let _ = aside.rename(&own);
        }
    }
}
