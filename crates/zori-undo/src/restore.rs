//! Puts files back: plan on disk first, then exchange and verify, path by path (UNDO-14, UNDO-16, UNDO-18).
//!
//! Nothing that a person wrote is overwritten. What takes a file's place goes in by an exchange, what came out is held and
//! compared, and only what the store has byte for byte is unlinked. `restore/place.rs` does one path.

mod journal;
mod place;

use std::collections::BTreeSet;
use std::path::PathBuf;

use zori_core::checkpoint::Coverage;
use zori_core::files::ClientFiles;

use self::journal::Journal;
pub use self::journal::{pending, session_of_pending};
use self::place::{Placed, Placement};
use crate::contents::Contents;
use crate::disk::Disk;
use crate::error::UndoError;
use crate::op::{Op, OpKind};
use crate::plan::{Kept, Plan, Reason, Step};
use crate::state::{Change, Content, State};
use crate::store::{Shelf, Store};
use crate::tree;

/// What a restore came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The paths that went back.
    pub steps: Vec<Step>,
    /// The paths that did not, and why.
    pub kept: Vec<Kept>,
    /// The operation that it is; `None` if nothing was changed.
    pub op: Option<u64>,
    /// Why it ended before its last path.
    pub stopped: Option<String>,
}

/// What the operation of a restore says of itself.
#[derive(Clone, Debug)]
pub struct RestoreFacts {
    /// Its number.
    pub op: u64,
    /// The turn it belongs to.
    pub turn: u32,
    /// `Undo` or `Redo`.
    pub kind: OpKind,
    /// Now, in nanoseconds since 1970.
    pub now: i64,
}

/// Puts files back.
pub struct Restorer<'a> {
    /// Where contents come from, and where everything is written down.
    pub store: &'a Store,
    /// The contents that are not in the store, too.
    pub contents: &'a dyn Contents,
    /// The file system.
    pub disk: &'a Disk,
    /// The client that may hold files, which go back through it.
    pub client: Option<&'a dyn ClientFiles>,
    /// Which contents are sensitive.
    pub shelf: &'a dyn Fn(&std::path::Path) -> Shelf,
    /// Files longer than this are not read to be kept; their blocks are shared, or they stay.
    pub max_file: u64,
}

impl Restorer<'_> {
    /// Takes from a plan what cannot be done: contents that are gone. Writes nothing.
    pub fn check(&self, mut plan: Plan) -> Plan {
        let (kept, root) = (&mut plan.kept, self.store.root());
        plan.steps.retain(|step| {
            let reason = self.objection(step).or((step.path == root).then_some(Reason::PathMoved));
            kept.extend(reason.map(|reason| Kept { path: step.path.clone(), reason, saved_as: None }));
            reason.is_none()
        });
        keep_filled_folders(&mut plan);
        Kept::sort(&mut plan.kept);
        plan
    }

    fn objection(&self, step: &Step) -> Option<Reason> {
        let target = step.target.as_ref().and_then(State::content);
        let expect = step.expect.as_ref().and_then(State::content);
        let missing = match target {
            Some(Content::Stored(hash)) => !self.contents.has(hash),
            Some(Content::Git(_) | Content::NotTaken) => true,
            None => false,
        };
        match expect {
            _ if missing && target != expect => Some(Reason::ContentGone),
            Some(Content::NotTaken) => Some(Reason::TooLarge),
            _ => None,
        }
    }

    /// Carries out a plan that was checked. One restore runs in a project at a time.
    pub fn run(&self, plan: &Plan, facts: &RestoreFacts) -> Result<Restored, UndoError> {
        let _lock = journal::lock(self.store)?;
        let mut kept = plan.kept.clone();
        let mut steps = plan.steps.clone();
        steps.retain(|step| match self.keep_expected(step) {
            Ok(None) => true,
            Ok(Some(reason)) => {
                kept.push(Kept { path: step.path.clone(), reason, saved_as: None });
                false
            }
            Err(_) => {
                kept.push(Kept { path: step.path.clone(), reason: Reason::ReadOnly, saved_as: None });
                false
            }
        });
        if steps.is_empty() {
            return Ok(Restored { kept, ..Restored::default() });
        }
        let journal = Journal { facts: facts.clone(), undoes: plan.undoes.clone(), steps };
        let file = journal.write(self.store)?;
        let restored = self.carry_out(&journal, kept)?;
        self.close(&journal, restored, &file)
    }

    /// Finishes the restores that a crash left behind. Returns what each came to.
    pub fn recover(&self) -> Result<Vec<Restored>, UndoError> {
        let mut finished = Vec::new();
        if pending(self.store.dir()).is_empty() {
            return Ok(finished);
        }
        let _lock = journal::lock(self.store)?;
        for file in pending(self.store.dir()) {
            let Some(journal) = Journal::read(&file, self.store)? else { continue };
            let restored = self.carry_out(&journal, Vec::new())?;
            finished.push(self.close(&journal, restored, &file)?);
        }
        Ok(finished)
    }

    /// Writes down that an undo has found nothing to put back, so that the next one goes on before it.
    pub fn note(&self, plan: &Plan, facts: &RestoreFacts) -> Result<(), UndoError> {
        if plan.undoes.is_empty() {
            return Ok(());
        }
        self.store.append_op(&op(facts, plan.undoes.clone(), Vec::new()))
    }

    /// Writes down what was done, and forgets the plan.
    fn close(
        &self,
        journal: &Journal,
        mut restored: Restored,
        file: &std::path::Path,
    ) -> Result<Restored, UndoError> {
        Kept::sort(&mut restored.kept);
        if !restored.steps.is_empty() {
            let RestoreFacts { op: id, kind, .. } = journal.facts;
            let change = |step: &Step| Change {
                path: step.path.clone(),
                before: step.expect.clone(),
                after: step.target.clone(),
            };
            let known = self.store.read_ops()?.ops.iter().any(|known| known.id == id && known.kind == kind);
            if !known {
                let changes = restored.steps.iter().map(change).collect();
                self.store.append_op(&op(&journal.facts, journal.undoes.clone(), changes))?;
            }
            restored.op = Some(id);
        }
        std::fs::remove_file(file).map_err(UndoError::at(file))?;
        Ok(restored)
    }

    /// Makes sure that the store has what will be taken away. Returns why that cannot be.
    fn keep_expected(&self, step: &Step) -> Result<Option<Reason>, UndoError> {
        let Some(State::File { content: Content::Stored(hash), len, .. }) = &step.expect else {
            return Ok(None);
        };
        if self.store.has(hash) && self.store.is_whole(hash) {
            return Ok(None);
        }
        let shelf = (self.shelf)(&step.path);
        if *len > self.max_file {
            let shared = match shelf {
                Shelf::Plain => tree::reflink(&step.path, *len, self.store, true)?,
                Shelf::Sensitive => None,
            };
            return Ok(match shared {
                Some((stored, _)) => (stored != *hash).then_some(Reason::ChangedSince),
                None => Some(Reason::TooLarge),
            });
        }
        let bytes = match std::fs::read(&step.path) {
            Ok(bytes) => bytes,
            Err(_) => return Ok(Some(Reason::ChangedSince)),
        };
        let stored = self.store.put(&bytes, shelf)?;
        Ok((stored != *hash).then_some(Reason::ChangedSince))
    }

    /// Goes through all paths in an order in which each finds what it needs: files removed, folders removed, folders made,
    /// files, modes.
    fn carry_out(&self, journal: &Journal, kept: Vec<Kept>) -> Result<Restored, UndoError> {
        let mut work = Work {
            place: Placement { disk: self.disk, contents: self.contents, client: self.client },
            journal,
            failed: vec![false; journal.steps.len()],
            kept,
            stopped: None,
        };
        let is_dir = |state: &Option<State>| state.as_ref().is_some_and(State::is_dir);
        let is_leaf = |state: &Option<State>| state.as_ref().is_some_and(|state| !state.is_dir());
        let all = 0..journal.steps.len();
        // What a crash left under a temporary name comes first.
        work.each(&mut all.clone(), &|place, step, temp| place.settle(step, temp));
        let leaves = |step: &Step| is_leaf(&step.expect) && !is_leaf(&step.target);
        work.each(&mut all.clone(), &|place, step, temp| match leaves(step) {
            true => place.remove(step, temp),
            false => Ok(Placed::Done),
        });
        work.each(&mut all.clone().rev(), &|place, step, _| match is_dir(&step.expect)
            && !is_dir(&step.target)
        {
            true => place.remove_dir(step),
            false => Ok(Placed::Done),
        });
        work.each(&mut all.clone(), &|place, step, _| match is_dir(&step.target) && !is_dir(&step.expect) {
            true => place.make_dir(step),
            false => Ok(Placed::Done),
        });
        work.each(
            &mut all.clone(),
            &|place, step, temp| match (is_leaf(&step.expect), is_leaf(&step.target)) {
                (true, true) => place.replace(step, temp),
                (false, true) => place.create(step, temp),
                _ => Ok(Placed::Done),
            },
        );
        work.each(&mut all.rev(), &|place, step, _| match is_dir(&step.target) {
            true => place.set_dir_mode(step),
            false => Ok(Placed::Done),
        });
        let Work { failed, kept, stopped, .. } = work;
        let done = journal.steps.iter().zip(failed).filter(|(_, failed)| !failed);
        Ok(Restored { steps: done.map(|(step, _)| step.clone()).collect(), kept, op: None, stopped })
    }
}

/// Returns the operation that a restore is.
fn op(facts: &RestoreFacts, undoes: Vec<u64>, changes: Vec<Change>) -> Op {
    let RestoreFacts { op, turn, kind, now } = *facts;
    Op {
        id: op,
        turn,
        call: None,
        kind,
        window: (now, now),
        coverage: Coverage::Full,
        shared: false,
        git: None,
        stash: None,
        uncovered: Vec::new(),
        undoes,
        changes,
    }
}

/// Takes from a plan the removal of folders that hold something else, from the inside out.
fn keep_filled_folders(plan: &mut Plan) {
    let gone = plan.steps.iter().filter(|step| step.target.is_none());
    let (mut removed, mut stays) = (BTreeSet::new(), BTreeSet::new());
    removed.extend(gone.map(|step| step.path.clone()));
    for at in (0..plan.steps.len()).rev() {
        let step = &plan.steps[at];
        let is_dir = |state: &Option<State>| state.as_ref().is_some_and(State::is_dir);
        if !is_dir(&step.expect) || is_dir(&step.target) {
            continue;
        }
        let mut inside = std::fs::read_dir(&step.path).into_iter().flatten().flatten();
        let is_kept = |path: PathBuf| !removed.contains(&path) || stays.contains(&path);
        if inside.any(|entry| is_kept(entry.path())) {
            let path = plan.steps.remove(at).path;
            stays.insert(path.clone());
            plan.kept.push(Kept { path, reason: Reason::NotEmpty, saved_as: None });
        }
    }
}

/// A restore under way.
struct Work<'a> {
    place: Placement<'a>,
    journal: &'a Journal,
    /// The steps that are not to be gone on with.
    failed: Vec<bool>,
    kept: Vec<Kept>,
    stopped: Option<String>,
}

impl Work<'_> {
    fn each(
        &mut self,
        order: &mut dyn Iterator<Item = usize>,
        act: &dyn Fn(&Placement<'_>, &Step, &str) -> std::io::Result<Placed>,
    ) {
        for at in order {
            if self.failed[at] {
                continue;
            }
            let step = &self.journal.steps[at];
            let temp = self.journal.temp(at);
            if self.stopped.is_some() {
                self.keep(at, Reason::ReadOnly, None);
                continue;
            }
            match act(&self.place, step, &temp) {
                Ok(Placed::Done) => {}
                Ok(Placed::Kept { reason, saved_as }) => self.keep(at, reason, saved_as),
                Err(error) => {
                    // Whatever was under way is brought to one of its two ends.
                    let settled = self.place.settle(step, &temp);
                    if self.place.is_done(step) {
                        continue;
                    }
                    let saved_as = match settled {
                        Ok(Placed::Kept { saved_as, .. }) => saved_as,
                        _ => None,
                    };
                    self.keep(at, reason_of(&error), saved_as);
                    if error.kind() == std::io::ErrorKind::StorageFull {
                        self.stopped = Some(format!("{}: {error}", step.path.display()));
                    }
                }
            }
        }
    }

    fn keep(&mut self, at: usize, reason: Reason, saved_as: Option<PathBuf>) {
        self.failed[at] = true;
        let path = self.journal.steps[at].path.clone();
        self.kept.push(Kept { path, reason, saved_as });
    }
}

fn reason_of(error: &std::io::Error) -> Reason {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::LOOP | Errno::NOTDIR | Errno::NOENT) => Reason::PathMoved,
        _ => Reason::ReadOnly,
    }
}
