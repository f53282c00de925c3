//! After a group of calls: what changed becomes an operation.

use std::path::Path;

use zori_core::checkpoint::{Captured, ChangedFiles, Coverage, PendingCall};
use zori_core::tool::{Effect, FileChange};

use super::{CaptureState, OpenWindow, Shared, TreeState};
use crate::error::UndoError;
use crate::live;
use crate::op::{Op, OpKind, Uncovered, shown};
use crate::repository;
use crate::state::{Change, State, same};
use crate::timeline::Timeline;
use crate::tree::Taker;

/// So many paths are listed in the session log (UNDO-22).
const MOST_PATHS: usize = 50;

impl Shared {
    pub(super) fn end(&self, _: &[PendingCall], handed: &[FileChange]) -> Captured {
        let mut state = self.lock();
        state.open.handed.extend(handed.iter().cloned());
        state.depth = state.depth.saturating_sub(1);
        if state.depth > 0 {
            return Captured::default();
        }
        let mut open = std::mem::take(&mut state.open);
        let lost = open.lost.take();
        let mut captured = Captured::default();
        match self.finish(&mut state, open) {
            Ok((changed, uncovered)) => {
                captured.changed = changed;
                let uncovered = uncovered.filter(|_| !state.told);
                state.told |= uncovered.is_some();
                captured.notices.extend(
                    uncovered.map(|why| format!("Undo covers only what the file tools change here: {why}")),
                );
            }
            // Each time: nothing else says that these calls are lost to it.
            Err(why) => captured.notices.push(format!("The last calls cannot be undone: {why}")),
        }
        if let Some(why) = lost {
            captured.notices.push(format!("A file's change cannot be undone: {why}"));
        }
        captured
    }

    /// Records what the calls changed.
    pub(super) fn finish(
        &self,
        state: &mut CaptureState,
        open: OpenWindow,
    ) -> Result<(Option<ChangedFiles>, Option<String>), String> {
        let OpenWindow { began, exact, handed, calls, tree, announced, mut uncovered, heads, .. } = open;
        let ended = self.now();
        if let Some(live) = state.live.as_mut().filter(|_| announced) {
            live.end(ended);
        }
        let mut exact = self.look_after(exact, &handed)?;
        let (mut removed_folders, mut removed_files) = (0, 0);
        let mut changes = Vec::new();
        let mut outside = Vec::new();
        let window = (began, ended);
        if tree {
            state.windows.push((window, state.turn));
        }
        if tree && let TreeState::Ready(known) = &mut state.tree {
            for change in &exact {
                known.note(&change.path, change.after.as_ref());
            }
            match known.refresh(&Taker { window: Some(window), ..self.taker() }) {
                Ok(found) => {
                    (removed_folders, removed_files) = (found.removed_folders, found.removed_files);
                    (changes, outside) = (found.sorted.changes, found.sorted.outside);
                }
                Err(error) => {
                    uncovered = Some(error.to_string());
                    state.tree = TreeState::Off(error.to_string());
                }
            }
        } else {
            let notes: Vec<_> = exact.iter().map(|c| (c.path.clone(), c.after.clone())).collect();
            state.note(&notes);
        }
        let is_exact = |path: &Path| exact.iter().any(|known| known.path == path);
        changes.retain(|change| !is_exact(&change.path));
        outside.retain(|change| !is_exact(&change.path));
        let others = outside.len() as u64;
        self.record_outside(state, outside)?;
        changes.append(&mut exact);
        changes.retain(|change| !same(change.before.as_ref(), change.after.as_ref()));
        Change::sort(&mut changes);
        let after = if tree { repository::heads(&self.settings.root) } else { None };
        let (git, stash) = heads.zip(after).map_or((None, None), |(before, after)| {
            let moved = (before.head != after.head).then_some((before.head, after.head));
            (moved, (before.stash != after.stash).then_some((before.stash, after.stash)))
        });
        // Where the clock was set back nothing can be told apart; that is listed, though nothing can be undone of it. So is what is
        // gone of ignored folders and files, and where git's HEAD and its stash have moved.
        let listed = removed_folders + removed_files > 0 || git.is_some() || stash.is_some();
        if changes.is_empty() && !listed && (others == 0 || began <= ended) {
            return Ok((None, uncovered));
        }
        let coverage = if uncovered.is_some() { Coverage::Tools } else { Coverage::Full };
        let effects = || calls.iter().flat_map(|call| &call.effects);
        let commands = effects().filter(|effect| matches!(effect, Effect::Exec { .. })).count() as u64;
        let remote = effects().filter(|effect| matches!(effect, Effect::Mcp { .. })).count() as u64;
        let kind = match (commands, remote) {
            (0, 0) => OpKind::Tool,
            (0, _) => OpKind::Mcp,
            _ => OpKind::Command,
        };
        let missed = [
            ("command", commands),
            ("server call", remote),
            ("ignored folder", removed_folders),
            ("ignored file", removed_files),
            ("changed by others", others),
        ];
        let op = Op {
            call: calls.first().map(|call| call.call.to_string()),
            kind,
            window,
            coverage,
            shared: kind != OpKind::Tool && live::overlaps(&self.store, window),
            git,
            stash,
            uncovered: missed
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(what, count)| Uncovered { what: what.to_owned(), count })
                .collect(),
            changes,
            ..self.op(state).map_err(|error| error.to_string())?
        };
        self.store.append_op(&op).map_err(|error| error.to_string())?;
        state.next_op = Some(op.id + 1);
        let changed = calls.first().filter(|_| !op.changes.is_empty()).map(|call| self.summary(&op, call));
        Ok((changed, uncovered))
    }

    /// Returns an operation of the running turn with the next number.
    pub(super) fn op(&self, state: &mut CaptureState) -> Result<Op, UndoError> {
        let id = match state.next_op {
            Some(id) => id,
            None => Timeline::new(&self.store.read_ops()?.ops).next_id(),
        };
        Ok(Op {
            id,
            turn: state.turn,
            call: None,
            kind: OpKind::Tool,
            window: (0, 0),
            coverage: Coverage::Full,
            shared: false,
            git: None,
            stash: None,
            uncovered: Vec::new(),
            undoes: Vec::new(),
            changes: Vec::new(),
        })
    }

    pub(super) fn summary(&self, op: &Op, call: &PendingCall) -> ChangedFiles {
        let files = || op.changes.iter().filter(|change| !is_folder(change));
        let count = |wanted: fn(&Change) -> bool| files().filter(|change| wanted(change)).count() as u64;
        ChangedFiles {
            op: op.id,
            call: call.call.clone(),
            created: count(|change| change.before.is_none()),
            modified: count(|change| change.before.is_some() && change.after.is_some()),
            deleted: count(|change| change.after.is_none()),
            paths: files().take(MOST_PATHS).map(|change| shown(&self.settings.root, &change.path)).collect(),
            coverage: op.coverage,
        }
    }
}

fn is_folder(change: &Change) -> bool {
    [&change.before, &change.after].into_iter().flatten().all(State::is_dir)
}
