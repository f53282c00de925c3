//! Which operations an undo, a rewind or a redo is about. Pure.

use std::collections::BTreeSet;

use crate::op::{Op, OpKind};

/// The operations of a session, with what undos and redos made of them.
pub struct Timeline<'o> {
    ops: &'o [Op],
    undone: BTreeSet<u64>,
}

/// What an undo is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection<'o> {
    /// The operations, newest first.
    pub ops: Vec<&'o Op>,
    /// The turn whose beginning is the goal.
    pub to_turn: u32,
}

impl<'o> Timeline<'o> {
    /// Reads the operations in the order they were made.
    pub fn new(ops: &'o [Op]) -> Self {
        let mut undone = BTreeSet::new();
        for op in ops {
            match op.kind {
                OpKind::Undo => undone.extend(op.undoes.iter().copied()),
                // A redo undoes one undo, and with it everything that undo took back.
                OpKind::Redo => {
                    for undo in ops.iter().filter(|undo| op.undoes.contains(&undo.id)) {
                        undo.undoes.iter().for_each(|id| {
                            undone.remove(id);
                        });
                        undone.insert(undo.id);
                    }
                }
                OpKind::Tool | OpKind::Command | OpKind::Mcp | OpKind::Outside => {}
            }
        }
        Self { ops, undone }
    }

    /// Returns the last turn with changes that were not taken back.
    pub fn last_turn(&self) -> Option<u32> {
        self.ops.iter().filter(|op| self.is_active(op) && !op.changes.is_empty()).map(|op| op.turn).max()
    }

    /// Returns the turn that the last undo went back to, where nothing was changed since. What it kept can still go back.
    pub fn just_undone(&self) -> Option<u32> {
        let last = self.ops.iter().rev().find(|op| op.kind != OpKind::Outside)?;
        (last.kind == OpKind::Undo).then_some(last.turn)
    }

    /// Returns what goes back to the beginning of a turn. With `again` also what an earlier undo was about, whose paths may
    /// have been kept then.
    pub fn since(&self, turn: u32, again: bool) -> Selection<'o> {
        let wanted = |op: &&Op| op.turn >= turn && (self.is_active(op) || (again && is_call(op)));
        Selection { ops: self.ops.iter().rev().filter(wanted).collect(), to_turn: turn }
    }

    /// Returns the last undo that was not itself taken back and that no later change follows.
    pub fn redo(&self) -> Option<Selection<'o>> {
        let undo =
            self.ops.iter().rev().find(|op| {
                op.kind == OpKind::Undo && !op.changes.is_empty() && !self.undone.contains(&op.id)
            })?;
        let later = self.ops.iter().any(|op| op.id > undo.id && is_call(op) && !op.changes.is_empty());
        let to_turn = undo.turn;
        (!later).then_some(Selection { ops: vec![undo], to_turn })
    }

    /// Returns the number for the next operation.
    pub fn next_id(&self) -> u64 {
        self.ops.iter().map(|op| op.id).max().unwrap_or(0) + 1
    }

    fn is_active(&self, op: &Op) -> bool {
        is_call(op) && !self.undone.contains(&op.id)
    }
}

fn is_call(op: &Op) -> bool {
    matches!(op.kind, OpKind::Tool | OpKind::Command | OpKind::Mcp)
}

#[cfg(test)]
mod tests {
    use zori_core::checkpoint::Coverage;

    use super::*;
    use crate::state::{Change, State};

    /// An operation that made a folder.
    fn op(id: u64, turn: u32, kind: OpKind, undoes: &[u64]) -> Op {
        let change = Change { path: "/a".into(), before: None, after: Some(State::Dir { mode: 0o755 }) };
        Op {
            id,
            turn,
            call: None,
            kind,
            window: (0, 0),
            coverage: Coverage::Full,
            shared: false,
            git: None,
            stash: None,
            uncovered: vec![],
            undoes: undoes.to_vec(),
            changes: vec![change],
        }
    }

    #[test]
    fn undo_and_redo_take_turns() {
        let mut ops =
            vec![op(1, 1, OpKind::Tool, &[]), op(2, 2, OpKind::Outside, &[]), op(3, 2, OpKind::Command, &[])];
        let ids = |selection: Selection<'_>| selection.ops.iter().map(|op| op.id).collect::<Vec<_>>();
        assert_eq!(Timeline::new(&ops).last_turn(), Some(2));
        assert_eq!(ids(Timeline::new(&ops).since(1, false)), [3, 1]);
        ops.push(op(4, 2, OpKind::Undo, &[3]));
        let line = Timeline::new(&ops);
        assert_eq!((line.last_turn(), line.next_id()), (Some(1), 5));
        assert_eq!(ids(line.redo().unwrap()), [4]);
        assert_eq!(ids(line.since(1, false)), [1]);
        assert_eq!(ids(line.since(1, true)), [3, 1]);
        ops.push(op(5, 2, OpKind::Redo, &[4]));
        let line = Timeline::new(&ops);
        assert_eq!((line.last_turn(), line.redo()), (Some(2), None));
        // What was done after an undo makes a redo impossible.
        ops.push(op(6, 3, OpKind::Undo, &[3]));
        ops.push(op(7, 4, OpKind::Tool, &[]));
        assert_eq!(Timeline::new(&ops).redo(), None);
    }
}
