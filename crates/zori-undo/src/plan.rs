//! What a restore would do, from operations and what is on disk now. Pure (UNDO-13, UNDO-16).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::op::Op;
use crate::state::{Content, State, same};

/// What to do, and what not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Paths to change, ordered by path.
    pub steps: Vec<Step>,
    /// Paths that stay as they are.
    pub kept: Vec<Kept>,
    /// The operations it undoes, newest first.
    pub undoes: Vec<u64>,
}

/// A path to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The absolute path.
    pub path: PathBuf,
    /// What must be there.
    pub expect: Option<State>,
    /// What shall be there.
    pub target: Option<State>,
}

impl Step {
    /// Sorts by path, for all that sorts these.
    pub(crate) fn sort(all: &mut [Self]) {
        all.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

/// A path that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The absolute path.
    pub path: PathBuf,
    /// Why.
    pub reason: Reason,
    /// The name under which something is kept beside it.
    pub saved_as: Option<PathBuf>,
}

impl Kept {
    /// Sorts by path, for all that sorts these.
    pub(crate) fn sort(all: &mut [Self]) {
        all.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

macro_rules! reasons {
    ($($name:ident $text:literal $words:literal),* $(,)?) => {
        /// Why a path stays as it is (UNDO-15).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason { $(#[doc = $words] $name),* }

        impl Reason {
            /// Returns the stable name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns the reason as people read it.
            pub fn words(self) -> &'static str {
                match self { $(Self::$name => $words),* }
            }
        }
    };
}

reasons! {
    ChangedSince "changed_since" "it was changed afterwards",
    Exists "exists" "something else is there now",
    DeletedByYou "deleted_by_you" "it was deleted afterwards",
    HardLink "hard_link" "it has several names, and a new file would have one",
    PathMoved "path_moved" "its folder is not what it was",
    NotAFile "not_a_file" "a pipe, socket or device is there now",
    NotEmpty "not_empty" "the folder has other files",
    UnsavedInEditor "unsaved_in_editor" "the editor has unsaved changes",
    Shared "shared" "another session ran a command at the same time",
    ContentGone "content_gone" "its content is no longer kept",
    TooLarge "too_large" "it is too large to be captured",
    ReadOnly "read_only" "the system refused to change it",
}

/// What is at a path now, as far as a plan needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// This, or nothing.
    State(Option<State>),
    /// It stays, for this reason.
    Kept(Reason),
}

/// How a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// What somebody else changed stays.
    Keep,
    /// It goes back, too, once its bytes are stored.
    Replace,
}

/// Makes a plan that undoes `ops`, newest first. `now` looks at a path.
pub fn plan(ops: &[&Op], force: Force, now: &mut dyn FnMut(&Path) -> Now) -> Plan {
    let mut paths: BTreeMap<&Path, Vec<(&Op, usize)>> = BTreeMap::new();
    for op in ops {
        for (index, change) in op.changes.iter().enumerate() {
            paths.entry(&change.path).or_default().push((op, index));
        }
    }
    let mut plan = Plan { undoes: ops.iter().map(|op| op.id).collect(), ..Plan::default() };
    let mut missing: Vec<(&Path, u32)> = Vec::new();
    for (&path, changes) in &paths {
        let expect = match now(path) {
            Now::State(state) => state,
            Now::Kept(reason) => {
                plan.kept.push(Kept { path: path.to_owned(), reason, saved_as: None });
                continue;
            }
        };
        let (target, stopped) = walk_back(&expect, changes, force);
        if let (None, None, Some(mode)) = (&expect, &target, folder_mode(changes)) {
            missing.push((path, mode));
        }
        if let Some(reason) = stopped {
            plan.kept.push(Kept { path: path.to_owned(), reason, saved_as: None });
        }
        if !same(expect.as_ref(), target.as_ref()) && expect != target {
            plan.steps.push(Step { path: path.to_owned(), expect, target });
        }
    }
    plan.keep_folders(&missing);
    plan.make_folders(now);
    plan
}

/// Returns the permissions of a path that was a folder at some time.
fn folder_mode(changes: &[(&Op, usize)]) -> Option<u32> {
    let states = changes.iter().map(|(op, index)| &op.changes[*index]);
    states.flat_map(|change| [&change.before, &change.after]).flatten().find_map(|state| match state {
        State::Dir { mode } => Some(*mode),
        _ => None,
    })
}

impl Plan {
    /// A folder that one turn made may hold what somebody put there later and another turn took away: where that comes back
    /// the folder stays, or is made again. `missing`: paths that are nothing and stay it, and were folders once.
    fn keep_folders(&mut self, missing: &[(&Path, u32)]) {
        let there = self.steps.iter().filter(|step| step.target.is_some());
        let mut needed = BTreeSet::new();
        needed.extend(there.flat_map(|step| step.path.ancestors().skip(1)).map(Path::to_owned));
        let kept = &mut self.kept;
        self.steps.retain(|step| {
            let stays = step.target.is_none()
                && step.expect.as_ref().is_some_and(State::is_dir)
                && needed.contains(&step.path);
            if stays {
                let (path, reason) = (step.path.clone(), Reason::NotEmpty);
                kept.push(Kept { path, reason, saved_as: None });
            }
            !stays
        });
        for (path, mode) in missing.iter().filter(|(path, _)| needed.contains(*path)) {
            let target = Some(State::Dir { mode: *mode });
            self.steps.push(Step { path: (*path).to_owned(), expect: None, target });
        }
        Step::sort(&mut self.steps);
    }
}

/// The permissions of a folder of which nothing is known.
const FOLDER_MODE: u32 = 0o755;

impl Plan {
    /// Folders that nobody of ours has removed, and that are needed again.
    fn make_folders(&mut self, now: &mut dyn FnMut(&Path) -> Now) {
        let known =
            |folder: &Path| self.steps.binary_search_by(|step| step.path.as_path().cmp(folder)).is_ok();
        let mut made = BTreeSet::new();
        for step in self.steps.iter().filter(|step| step.target.is_some() && step.expect.is_none()) {
            for folder in step.path.ancestors().skip(1) {
                if folder.parent().is_none()
                    || known(folder)
                    || made.contains(folder)
                    || now(folder) != Now::State(None)
                {
                    break;
                }
                made.insert(folder.to_owned());
            }
        }
        let target = Some(State::Dir { mode: FOLDER_MODE });
        self.steps.extend(made.into_iter().map(|path| Step { path, expect: None, target: target.clone() }));
        Step::sort(&mut self.steps);
    }
}

/// Goes from what is there to what was there before the oldest of the changes, as far as each change is what it was.
fn walk_back(
    from: &Option<State>,
    changes: &[(&Op, usize)],
    force: Force,
) -> (Option<State>, Option<Reason>) {
    let mut state = from.clone();
    let goal = changes.last().and_then(|(op, index)| op.changes[*index].before.as_ref());
    if same(from.as_ref(), goal) {
        // Whoever brought it there.
        return (state, None);
    }
    for (op, index) in changes {
        let change = &op.changes[*index];
        let is_after = same(state.as_ref(), change.after.as_ref());
        if op.shared && force == Force::Keep && !same(state.as_ref(), change.before.as_ref()) {
            return (state, Some(Reason::Shared));
        }
        if is_after || (force == Force::Replace && !same(state.as_ref(), change.before.as_ref())) {
            if change.before.as_ref().and_then(State::content) == Some(&Content::NotTaken) {
                return (state, Some(Reason::TooLarge));
            }
            state = change.before.clone();
        } else if !same(state.as_ref(), change.before.as_ref()) {
            return (state.clone(), Some(why_kept(state.as_ref(), change.after.as_ref())));
        }
    }
    (state, None)
}

fn why_kept(state: Option<&State>, after: Option<&State>) -> Reason {
    match (state, after) {
        (_, Some(State::File { content: Content::NotTaken, .. })) => Reason::TooLarge,
        (None, Some(_)) => Reason::DeletedByYou,
        (Some(_), None) => Reason::Exists,
        _ => Reason::ChangedSince,
    }
}

#[cfg(test)]
mod tests {
    use zori_core::checkpoint::Coverage;

    use super::*;
    use crate::hash::Hash;
    use crate::op::OpKind;
    use crate::state::Change;

    fn file(text: &str) -> Option<State> {
        (!text.is_empty()).then(|| State::File {
            content: Content::Stored(Hash::of(text.as_bytes())),
            mode: 0o644,
            len: text.len() as u64,
        })
    }

    fn op(id: u64, before: &str, after: &str) -> Op {
        Op {
            id,
            turn: id as u32,
            call: None,
            kind: OpKind::Command,
            window: (0, 0),
            coverage: Coverage::Full,
            shared: false,
            git: None,
            stash: None,
            uncovered: vec![],
            undoes: vec![],
            changes: vec![Change { path: "/a".into(), before: file(before), after: file(after) }],
        }
    }

    /// One line: where the path goes, and why it stops there.
    fn check(ops: &[Op], now: &str, force: Force) -> String {
        let newest: Vec<_> = ops.iter().rev().collect();
        let plan = plan(&newest, force, &mut |_| Now::State(file(now)));
        let name = |state: &Option<State>| {
            let known = ["", "A", "B", "C", "U"];
            known.iter().find(|text| file(text) == *state).map_or("?".to_owned(), |t| format!("'{t}'"))
        };
        let steps = plan.steps.iter().map(|s| format!("{}->{}", name(&s.expect), name(&s.target)));
        let kept = plan.kept.iter().map(|kept| kept.reason.as_str().to_owned());
        steps.chain(kept).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_somebody_wrote_stays() {
        let ops = [op(1, "A", "B"), op(2, "B", "C")];
        for (now, expected) in
            [("C", "'C'->'A'"), ("B", "'B'->'A'"), ("A", ""), ("U", "changed_since"), ("", "deleted_by_you")]
        {
            assert_eq!(check(&ops, now, Force::Keep), expected, "{now}");
        }
        // The user edited between the turns: the walk ends at that edit.
        let ops = [op(1, "A", "B"), op(2, "U", "C")];
        assert_eq!(check(&ops, "C", Force::Keep), "'C'->'U' changed_since");
        assert_eq!(check(&ops, "C", Force::Replace), "'C'->'A'");
        assert_eq!(check(&[op(1, "A", "")], "U", Force::Keep), "exists");
        assert_eq!(check(&[op(1, "", "B")], "B", Force::Keep), "'B'->''");
        assert_eq!(check(&[op(1, "A", "B")], "", Force::Replace), "''->'A'");
    }

    #[test]
    fn what_another_session_may_have_written_stays() {
        let shared = Op { shared: true, ..op(1, "A", "B") };
        assert_eq!(check(std::slice::from_ref(&shared), "B", Force::Keep), "shared");
        assert_eq!(check(&[shared], "B", Force::Replace), "'B'->'A'");
    }
}
