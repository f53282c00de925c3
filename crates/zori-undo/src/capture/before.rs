//! Before a group of calls: the wait for the first look, what others changed since, and the open window.

use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use zori_core::cancel::Cancel;
use zori_core::checkpoint::{CheckpointError, PendingCall};
use zori_core::tool::Effect;

use super::{CaptureState, OpenWindow, Shared, TreeState};
use crate::live::Live;
use crate::op::{Op, OpKind};
use crate::repository;
use crate::state::Change;
use crate::tree::Refreshed;

/// How often a wait for the first look is looked up from.
const STEP: Duration = Duration::from_millis(20);

impl Shared {
    pub(super) fn begin(&self, calls: &[PendingCall], cancel: &Cancel) -> Result<(), CheckpointError> {
        let _gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let needs_tree =
            self.settings.hooks || calls.iter().flat_map(|call| &call.effects).any(changes_anything);
        let mut state = self.lock();
        if needs_tree {
            state = self.wait(state, cancel);
        }
        let first = state.depth == 0;
        if first {
            state.open = OpenWindow::default();
        }
        let mut why = None;
        if needs_tree && !state.open.tree {
            why = self.look_before(&mut state, first).err();
        }
        let mut lost = None;
        for path in calls.iter().flat_map(|call| &call.effects).filter_map(written) {
            if let Err(error) = self.look_exact(&mut state, path) {
                lost.get_or_insert(error);
            }
        }
        if let (Some(why), true) = (why.as_ref().or(lost.as_ref()), self.settings.required) {
            return Err(CheckpointError(format!(
                "checkpoint_failed: {why}, and `undo.required` is set; nothing was executed"
            )));
        }
        state.open.uncovered = state.open.uncovered.take().or(why);
        state.open.lost = state.open.lost.take().or(lost);
        if first {
            state.open.began = self.now();
            if needs_tree {
                state.open.heads = repository::heads(&self.settings.root);
            }
        }
        if needs_tree && !state.open.announced {
            state.open.announced = true;
            let at = self.now();
            if state.live.is_none() {
                state.live = Live::open(&self.store);
            }
            if let Some(live) = &mut state.live {
                live.begin(at);
            }
        }
        state.open.calls.extend(calls.iter().cloned());
        state.depth += 1;
        Ok(())
    }

    /// Waits for the first look, up to the limit.
    pub(super) fn wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, CaptureState>,
        cancel: &Cancel,
    ) -> MutexGuard<'s, CaptureState> {
        if matches!(state.tree, TreeState::Unseen) {
            state.tree = TreeState::Building;
            drop(state);
            self.build();
            return self.lock();
        }
        let mut left = self.settings.max_wait;
        while matches!(state.tree, TreeState::Building) && !left.is_zero() && !cancel.is_cancelled() {
            let (guard, _) =
                self.ready.wait_timeout(state, STEP.min(left)).unwrap_or_else(PoisonError::into_inner);
            state = guard;
            left = left.saturating_sub(STEP);
        }
        state
    }

    /// Records what others changed.
    pub(super) fn record_outside(
        &self,
        state: &mut CaptureState,
        changes: Vec<Change>,
    ) -> Result<(), String> {
        if changes.is_empty() {
            return Ok(());
        }
        let now = self.now();
        let op = self.op(state).map_err(|error| error.to_string())?;
        let op = Op { kind: OpKind::Outside, window: (now, now), changes, ..op };
        self.store.append_op(&op).map_err(|error| error.to_string())?;
        state.next_op = Some(op.id + 1);
        Ok(())
    }

    /// Records what others changed since the last call (UNDO-4).
    pub(super) fn look_before(&self, state: &mut CaptureState, alone: bool) -> Result<(), String> {
        let refreshed = match &mut state.tree {
            TreeState::Ready(tree) => tree.refresh(&self.taker()),
            TreeState::Building => return Err("the first look at the folder is not done yet".to_owned()),
            TreeState::Unseen => return Err("the folder was not looked at".to_owned()),
            TreeState::Off(why) => return Err(why.clone()),
        };
        match refreshed {
            Ok(Refreshed { sorted, .. }) => {
                state.open.tree = true;
                if alone { self.record_outside(state, sorted.changes) } else { Ok(()) }
            }
            Err(error) => {
                let why = error.to_string();
                state.tree = TreeState::Off(why.clone());
                Err(why)
            }
        }
    }
}

fn changes_anything(effect: &Effect) -> bool {
    effect.mutates() && !matches!(effect, Effect::Write(_))
}

fn written(effect: &Effect) -> Option<&Path> {
    match effect {
        Effect::Write(path) => Some(path),
        _ => None,
    }
}
