//! What file tools change, exactly: the paths they name are looked at before and after, wherever they are (UNDO-3).

use std::fs;
use std::path::{Path, PathBuf};

use zori_core::tool::FileChange;

use super::{CaptureState, Shared};
use crate::disk::{Found, split};
use crate::state::{Change, Content, State};
use crate::store::Shelf;
use crate::tree;

impl Shared {
    /// Takes the state of a path that a file tool is about to write, and of the folders it would make (UNDO-3).
    pub(super) fn look_exact(&self, state: &mut CaptureState, path: &Path) -> Result<(), String> {
        let path = resolved(path);
        for folder in path.ancestors().skip(1).take_while(|folder| fs::symlink_metadata(folder).is_err()) {
            if !is_seen(&state.open.exact, folder) {
                state.open.exact.push((folder.to_owned(), None));
            }
        }
        if !is_seen(&state.open.exact, &path) {
            let now = self.look(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            state.open.exact.push((path, now));
        }
        Ok(())
    }

    /// Returns what is at a path, once the store has its content.
    pub(super) fn look(&self, path: &Path) -> Result<Option<State>, String> {
        let most = self.settings.limits.max_file;
        let failed = |error: std::io::Error| error.to_string();
        let (folder, name) = split(path).ok_or("it has no name")?;
        let folder = match self.disk.folder(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            folder => folder.map_err(failed)?,
        };
        match self.disk.look(&folder, &name, 0).map_err(failed)? {
            Found::Nothing => Ok(None),
            Found::Special => Err("it is no regular file".to_owned()),
            Found::State(State::File { mode, len, .. }) => {
                let shelf = self.shelf(path);
                let taken = match tree::read(path, most) {
                    Ok(bytes) => self.store.put(&bytes, shelf).map(|hash| Some((hash, bytes.len() as u64))),
                    Err(_) if len > most && shelf == Shelf::Plain => {
                        tree::reflink(path, len, &self.store, true)
                    }
                    Err(_) => Ok(None),
                };
                let (content, len) = match taken.map_err(|error| error.to_string())? {
                    Some((hash, len)) => (Content::Stored(hash), len),
                    None => (Content::NotTaken, len),
                };
                Ok(Some(State::File { content, mode, len }))
            }
            Found::State(state) => Ok(Some(state)),
        }
    }

    /// Returns whether what a tool says of a content is not its bytes: text in another encoding, or too long to be copied.
    fn is_better_known(&self, content: &Content, len: u64) -> bool {
        let Content::Stored(hash) = content else { return false };
        if len > self.settings.limits.max_file {
            return true;
        }
        self.store.get(hash).is_some_and(|bytes| matches!(bytes[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]))
    }

    /// Returns what file tools changed. What a tool says it replaced counts more than what was there a moment before.
    pub(super) fn look_after(
        &self,
        exact: Vec<(PathBuf, Option<State>)>,
        handed: &[FileChange],
    ) -> Result<Vec<Change>, String> {
        let mut changes = Vec::new();
        for (path, mut before) in exact {
            let after = self.look(&path)?;
            let tool = handed.iter().find(|change| resolved(&change.path) == path);
            if let (Some(FileChange { before: Some(text), .. }), Some(State::File { content, len, .. })) =
                (tool, &mut before)
                && !self.is_better_known(content, *len)
            {
                let stored = self.store.put(text.as_bytes(), self.shelf(&path));
                let hash = stored.map_err(|error| error.to_string())?;
                (*content, *len) = (Content::Stored(hash), text.len() as u64);
            }
            changes.push(Change { path, before, after });
        }
        Ok(changes)
    }
}

fn is_seen(exact: &[(PathBuf, Option<State>)], path: &Path) -> bool {
    exact.iter().any(|(known, _)| known == path)
}

/// Returns where a path leads: links in it are followed as far as it exists.
pub(super) fn resolved(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => resolved(folder).join(name),
        _ => path.to_owned(),
    }
}
