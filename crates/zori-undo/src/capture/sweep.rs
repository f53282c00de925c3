//! What commands changed without the watcher being told: files that are written through a mapping (UNDO-5). Everything is
//! looked at before an undo, and at the end where that is quick.

use super::{Shared, TreeState};
use crate::op::{Op, OpKind};
use crate::state::Change;

/// At the end nobody waits longer for it.
const LAST_SWEEP_NS: i64 = 50_000_000;

impl Shared {
    /// The last sweep of a process, where it is known to be quick and a command has run since the one before.
    pub(super) fn last_sweep(&self) {
        let quick = {
            let state = self.lock();
            state.looked_for < LAST_SWEEP_NS && !state.windows.is_empty()
        };
        if quick {
            self.sweep();
        }
    }

    /// Looks at everything. A change belongs to the command in whose time it happened, else to somebody else.
    pub(super) fn sweep(&self) {
        let mut state = self.lock();
        if state.depth > 0 || state.windows.is_empty() {
            return;
        }
        let TreeState::Ready(tree) = &mut state.tree else { return };
        let Some(found) = tree.sweep(&self.taker()) else { return };
        let mut ours: Vec<(u32, Vec<Change>)> = Vec::new();
        let mut outside = Vec::new();
        for (change, at) in found {
            let window = state.windows.iter().rev().find(|((began, ended), _)| *began <= at && at <= *ended);
            match window {
                Some((_, turn)) => match ours.iter_mut().find(|(known, _)| known == turn) {
                    Some((_, changes)) => changes.push(change),
                    None => {
                        let at = ours.partition_point(|(known, _)| known < turn);
                        ours.insert(at, (*turn, vec![change]));
                    }
                },
                None => outside.push(change),
            }
        }
        let ops = ours.into_iter().map(|(turn, changes)| (OpKind::Command, turn, changes));
        let turn = state.turn;
        let others = (!outside.is_empty()).then_some((OpKind::Outside, turn, outside));
        for (kind, turn, changes) in ops.chain(others) {
            let now = self.now();
            let Ok(op) = self.op(&mut state) else { return };
            let op = Op { kind, turn, window: (now, now), changes, ..op };
            // What cannot be written down now could not be undone before either.
            if self.store.append_op(&op).is_ok() {
                state.next_op = Some(op.id + 1);
            }
        }
    }
}
