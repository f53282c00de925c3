//! Writes a plan to disk, or puts everything back.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use zori_core::cancel::Cancel;
use zori_core::tool::{ToolCode, ToolOutput};

use super::io_error;
use crate::atomic::{self, Staged, WriteFailure};
use crate::textfile;

/// One file of a plan.
pub(super) struct Entry {
    /// The path as the tool understood it.
    pub path: PathBuf,
    /// The file behind it, symbolic links followed.
    pub target: PathBuf,
    /// What is there now.
    pub before: Option<Before>,
    /// What will be there; `None` for nothing.
    pub after: Option<String>,
    /// Another file whose attributes it takes over.
    pub like: Option<Metadata>,
    /// Whether a change named it, even if its content stays the same.
    pub touched: bool,
}

/// A file before the patch.
pub(super) struct Before {
    /// Its text; `None` if it is none.
    pub text: Option<String>,
    /// What it is.
    pub meta: Metadata,
    /// Why it has no text.
    pub unreadable: Option<String>,
}

impl Entry {
    /// Returns whether the file exists as far as the plan has come.
    pub fn exists(&self) -> bool {
        match (&self.before, &self.after) {
            (_, Some(_)) => true,
            // A file that is no text is there until it is deleted.
            (Some(before), None) => before.text.is_none() && !self.touched,
            (None, None) => false,
        }
    }

    /// Returns the text as far as the plan has come.
    pub fn text(&self) -> Result<&str, ToolOutput> {
        let why = self.before.as_ref().and_then(|before| before.unreadable.as_deref());
        self.after.as_deref().ok_or_else(|| io_error(&self.path, &why.unwrap_or("it has no text")))
    }
}

/// What has been done and can be undone.
enum Done<'a> {
    Folder(PathBuf),
    Created(&'a Path),
    Replaced(&'a Path, &'a Before),
    Aside { path: &'a Path, aside: PathBuf },
}

/// Writes every entry. On a failure all of them are as they were.
pub(super) fn commit(entries: &[Entry], cancel: &Cancel) -> Result<(), ToolOutput> {
    let mut done = Vec::new();
    let result = run(entries, cancel, &mut done);
    if result.is_err() {
        done.into_iter().rev().for_each(undo);
    } else {
        for step in done {
            if let Done::Aside { aside, .. } = step {
                let _ = fs::remove_file(aside);
            }
        }
    }
    result
}

fn run<'a>(entries: &'a [Entry], cancel: &Cancel, done: &mut Vec<Done<'a>>) -> Result<(), ToolOutput> {
    // Content goes to disk first: a full disk is noticed before anything has changed.
    let mut staged = Vec::new();
    for entry in entries {
        let Some(after) = &entry.after else { continue };
        if entry.before.as_ref().is_some_and(|before| before.text.as_ref() == Some(after)) {
            continue;
        }
        if entry.before.is_none() {
            make_parents(&entry.target, done).map_err(|e| io_error(&entry.path, &e))?;
        }
        let like = entry.before.as_ref().map(|before| &before.meta);
        let content = Staged::new(&entry.target, after.as_bytes(), like, cancel).map_err(|e| match e {
            WriteFailure::Cancelled => {
                ToolOutput::failure(ToolCode::Canceled, "cancelled; nothing was changed")
            }
            WriteFailure::Io(error) => io_error(&entry.path, &error),
        })?;
        if let Some(meta) = &entry.like {
            content.set_mode(meta).map_err(|e| io_error(&entry.path, &e))?;
        }
        staged.push((entry, content));
    }
    for entry in entries {
        if let Some(Before { text: Some(before), .. }) = &entry.before
            && !textfile::load(&entry.target).is_ok_and(|now| now.text == *before)
        {
            return Err(io_error(&entry.path, &"another process changed it meanwhile; read it again"));
        }
    }
    for (entry, content) in staged {
        match &entry.before {
            Some(before) => {
                content.replace().map_err(|e| io_error(&entry.path, &e))?;
                done.push(Done::Replaced(&entry.target, before));
            }
            None => {
                content.create().map_err(|e| io_error(&entry.path, &e))?;
                done.push(Done::Created(&entry.target));
            }
        }
    }
    for entry in entries {
        if entry.before.is_some() && !entry.exists() {
            // The link goes, not what it points to.
            let aside = atomic::set_aside(&entry.path).map_err(|e| io_error(&entry.path, &e))?;
            done.push(Done::Aside { path: &entry.path, aside });
        }
    }
    Ok(())
}

fn make_parents(target: &Path, done: &mut Vec<Done>) -> io::Result<()> {
    let Some(parent) = target.parent() else { return Ok(()) };
    let missing: Vec<&Path> = parent.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            Ok(()) => done.push(Done::Folder(folder.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Takes a step back, as well as it can: there is nobody left to tell.
fn undo(step: Done) {
    match step {
        Done::Folder(folder) => {
            let _ = fs::remove_dir(folder);
        }
        Done::Created(path) => {
            let _ = fs::remove_file(path);
        }
        Done::Replaced(path, before) => {
            if let Some(text) = &before.text
                && let Ok(old) = Staged::new(path, text.as_bytes(), Some(&before.meta), &Cancel::new())
            {
                let _ = old.replace();
            }
        }
        Done::Aside { path, aside } => {
            let _ = fs::rename(aside, path);
        }
    }
}
