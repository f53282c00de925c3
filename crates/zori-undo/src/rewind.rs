//! Going back: from operations to a plan, and from a plan to files. What the command line, the chat and the protocols share.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use zori_core::checkpoint::Coverage;
use zori_core::files::ClientFiles;

use crate::blobs::Blobs;
use crate::contents::Contents;
use crate::diff::{is_long, line_counts};
use crate::disk::{Disk, Found, split};
use crate::error::UndoError;
use crate::hash::Hash;
use crate::live;
use crate::op::{GitHead, Op, OpKind, Uncovered};
use crate::plan::{Force, Kept, Now, Plan, Reason, Step, plan};
use crate::repository;
use crate::restore::{RestoreFacts, Restored, Restorer};
use crate::state::{Content, State};
use crate::store::{Shelf, Store};
use crate::timeline::{Selection, Timeline};
use crate::tree::MAX_REFLINK;

/// Where to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The state before the last turn that changed files.
    LastChange,
    /// The state before this turn.
    Turn(u32),
    /// The state before the last undo.
    Redo,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Where to go back to.
    pub goal: Goal,
    /// Whether what somebody else changed goes back, too.
    pub force: Force,
    /// Nothing is written.
    pub dry_run: bool,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The turn whose beginning is the goal.
    pub to_turn: u32,
    /// The operation that it is; `None` if no file was changed.
    pub op: Option<u64>,
    /// The operations that it undoes.
    pub undoes: Vec<u64>,
    /// How much of them was captured.
    pub coverage: Coverage,
    /// What went back, or would.
    pub restored: Vec<RestoredFile>,
    /// What stays, and why.
    pub kept: Vec<Kept>,
    /// What was not captured in the first place.
    pub not_covered: Vec<Uncovered>,
    /// Where git's HEAD was before and after, if it moved.
    pub git: Option<(GitHead, GitHead)>,
    /// The commit of git's stash before and after, if it moved; empty without one.
    pub stash: Option<(String, String)>,
    /// Why it ended before its last path.
    pub stopped: Option<String>,
    /// Lines of the record that could not be read.
    pub skipped: u64,
}

/// A path that went back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredFile {
    /// The absolute path.
    pub path: PathBuf,
    /// What was done to it.
    pub how: How,
    /// What is there since.
    pub state: Option<State>,
    /// Lines that came back.
    pub insertions: u64,
    /// Lines that went away.
    pub deletions: u64,
}

/// What was done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is there again.
    Created,
    /// It has its earlier content or permissions.
    Restored,
    /// It is gone again.
    Removed,
}

impl How {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Restored => "restored",
            Self::Removed => "removed",
        }
    }
}

/// What going back needs beside the store.
pub struct RewindContext<'a> {
    /// The file system.
    pub disk: &'a Disk,
    /// Returns whether a file is sensitive.
    pub sensitive: &'a dyn Fn(&Path) -> bool,
    /// The client whose editor may have unsaved changes of files, and through which those it has go back (UNDO-12).
    pub client: Option<&'a dyn ClientFiles>,
    /// Is told the number of the operation and the plan before anything is changed; an error ends it there.
    pub announce: &'a dyn Fn(u64, &Plan) -> Result<(), String>,
    /// Longer files are touched only where their contents were captured.
    pub max_file: u64,
    /// Now, in nanoseconds since 1970.
    pub now: i64,
}

/// Goes back, or says what that would do. `None`: there is nothing to go back to.
pub fn rewind(
    store: &Store,
    context: &RewindContext<'_>,
    request: Request,
) -> Result<Option<Report>, UndoError> {
    let read = store.read_ops()?;
    let mut ops = read.ops;
    let blobs = Blobs::resolve(store, &mut ops);
    let timeline = Timeline::new(&ops);
    let again = request.force == Force::Replace;
    let replaces_something = |selection: &Selection<'_>| {
        let long = long_files(context, &selection.ops);
        !plan(&selection.ops, Force::Replace, &mut |path| look(context, &selection.ops, &long, path))
            .steps
            .is_empty()
    };
    let selection = match request.goal {
        Goal::LastChange => {
            // What the last undo has kept comes before what is further back.
            let kept = again.then(|| timeline.just_undone()).flatten().map(|turn| timeline.since(turn, true));
            let last = || timeline.last_turn().map(|turn| timeline.since(turn, again));
            kept.filter(replaces_something).or_else(last)
        }
        Goal::Turn(turn) => Some(timeline.since(turn, again)),
        Goal::Redo => timeline.redo(),
    };
    let Some(Selection { ops: selected, to_turn }) = selection else { return Ok(None) };
    let kind = if request.goal == Goal::Redo { OpKind::Redo } else { OpKind::Undo };
    let shelf = |path: &Path| if (context.sensitive)(path) { Shelf::Sensitive } else { Shelf::Plain };
    let (disk, client, max_file) = (context.disk, context.client, context.max_file);
    let restorer = Restorer { store, contents: &blobs, disk, client, shelf: &shelf, max_file };
    let long = long_files(context, &selected);
    let planned =
        restorer.check(plan(&selected, request.force, &mut |path| look(context, &selected, &long, path)));
    let facts = RestoreFacts { op: timeline.next_id(), turn: to_turn, kind, now: context.now };
    if !request.dry_run && planned.steps.is_empty() && planned.kept.is_empty() {
        restorer.note(&planned, &facts)?;
    }
    let outcome = match request.dry_run || planned.steps.is_empty() {
        true => Restored { steps: planned.steps.clone(), kept: planned.kept.clone(), ..Restored::default() },
        false => {
            let counted = count(&planned, &blobs, context);
            (context.announce)(facts.op, &planned).map_err(UndoError::Untold)?;
            let done = restorer.run(&planned, &facts)?;
            return Ok(Some(report(store, &selected, to_turn, done, counted, read.skipped)));
        }
    };
    let counted = count(&planned, &blobs, context);
    Ok(Some(report(store, &selected, to_turn, outcome, counted, read.skipped)))
}

/// Finishes what a crash left behind in this session, if anything.
pub fn recover(store: &Store, context: &RewindContext<'_>) -> Result<Vec<Restored>, UndoError> {
    if crate::restore::pending(store.dir()).is_empty() {
        return Ok(Vec::new());
    }
    let mut ops = store.read_ops()?.ops;
    let blobs = Blobs::resolve(store, &mut ops);
    let shelf = |path: &Path| if (context.sensitive)(path) { Shelf::Sensitive } else { Shelf::Plain };
    let (disk, client, max_file) = (context.disk, context.client, context.max_file);
    Restorer { store, contents: &blobs, disk, client, shelf: &shelf, max_file }.recover()
}

fn look(context: &RewindContext<'_>, ops: &[&Op], long: &[&Path], path: &Path) -> Now {
    let Some((folder, name)) = split(path) else { return Now::Kept(Reason::PathMoved) };
    let folder = match context.disk.folder(folder) {
        Ok(folder) => folder,
        // Below a file there is nothing either; a link on the way is an error of its own.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Now::State(None);
        }
        Err(_) => return Now::Kept(Reason::PathMoved),
    };
    let most = if long.contains(&path) { MAX_REFLINK.max(context.max_file) } else { context.max_file };
    match context.disk.look(&folder, &name, most) {
        Ok(Found::Nothing) => Now::State(None),
        Ok(Found::State(State::File { content: Content::NotTaken, .. })) => Now::Kept(Reason::TooLarge),
        Ok(Found::State(State::File { .. })) if is_unsaved(context, ops, path) => {
            Now::Kept(Reason::UnsavedInEditor)
        }
        Ok(Found::State(state)) => Now::State(Some(state)),
        Ok(Found::Special) => Now::Kept(Reason::NotAFile),
        Err(_) => Now::Kept(Reason::ReadOnly),
    }
}

/// Returns the files that are read although they are longer than others may be, because something that long was captured.
fn long_files<'a>(context: &RewindContext<'_>, ops: &[&'a Op]) -> Vec<&'a Path> {
    let shared = |state: &State| matches!(state, State::File { content: Content::Stored(_), len, .. } if *len > context.max_file);
    let changes = ops.iter().flat_map(|op| &op.changes);
    let long = changes.filter(|change| [&change.before, &change.after].into_iter().flatten().any(shared));
    long.map(|change| change.path.as_path()).collect()
}

/// Returns whether the client's editor has a text of a file that is nowhere else: not on disk, and in none of the operations, as a
/// buffer would have that was not read again after a command.
fn is_unsaved(context: &RewindContext<'_>, ops: &[&Op], path: &Path) -> bool {
    let Some(held) = context.client.and_then(|client| client.read(path)) else { return false };
    if std::fs::read(path).is_ok_and(|bytes| same_text(&held, &bytes)) {
        return false;
    }
    let hash = Hash::of(held.as_bytes());
    let changes = ops.iter().flat_map(|op| &op.changes).filter(|change| change.path == path);
    let mut states = changes.flat_map(|change| [&change.before, &change.after]).flatten();
    !states.any(|state| state.content() == Some(&Content::Stored(hash)))
}

/// Returns whether an editor's text is that of a file. Editors have their own way with line ends and byte-order marks.
fn same_text(held: &str, bytes: &[u8]) -> bool {
    let plain = |text: &str| text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    std::str::from_utf8(bytes).is_ok_and(|text| text == held || plain(text) == plain(held))
}

/// The lines that came back and went away, by path and ordered by it.
type Counted = Vec<(PathBuf, (u64, u64))>;

/// Counts lines before anything is changed, since what is there now may be in no store yet.
fn count(plan: &Plan, contents: &dyn Contents, context: &RewindContext<'_>) -> Counted {
    let text = |state: &Option<State>| match state.as_ref().and_then(State::content) {
        Some(Content::Stored(hash)) => contents.get(hash),
        _ => None,
    };
    let steps = plan.steps.iter().filter(|step| !(context.sensitive)(&step.path));
    let steps = steps.filter(|step| ![&step.expect, &step.target].into_iter().flatten().any(is_long));
    let counts = steps.map(|step| {
        let now = text(&step.expect).or_else(|| std::fs::read(&step.path).ok()).unwrap_or_default();
        let now = if step.expect.is_none() { Vec::new() } else { now };
        (step.path.clone(), line_counts(&now, &text(&step.target).unwrap_or_default()))
    });
    counts.collect()
}

fn report(
    store: &Store,
    ops: &[&Op],
    to_turn: u32,
    outcome: Restored,
    counted: Counted,
    skipped: u64,
) -> Report {
    let mut not_covered: Vec<Uncovered> = Vec::new();
    for one in ops.iter().flat_map(|op| &op.uncovered) {
        match not_covered.iter_mut().find(|known| known.what == one.what) {
            Some(known) => known.count += one.count,
            None => not_covered.push(one.clone()),
        }
    }
    if live::was_cut_off(store) {
        not_covered.push(Uncovered { what: "cut-off command".to_owned(), count: 1 });
    }
    let restored = |step: &Step| {
        let known = counted.binary_search_by(|(path, _)| path.cmp(&step.path));
        let (insertions, deletions) = known.map_or((0, 0), |at| counted[at].1);
        let how = match (&step.expect, &step.target) {
            (_, None) => How::Removed,
            (None, Some(_)) => How::Created,
            (Some(_), Some(_)) => How::Restored,
        };
        RestoredFile { path: step.path.clone(), how, state: step.target.clone(), insertions, deletions }
    };
    let heads = || ops.iter().filter_map(|op| op.git.as_ref());
    let git =
        heads().next_back().zip(heads().next()).map(|(oldest, newest)| (oldest.0.clone(), newest.1.clone()));
    let stashes = || ops.iter().filter_map(|op| op.stash.as_ref());
    let stash = stashes()
        .next_back()
        .zip(stashes().next())
        .map(|(oldest, newest)| (oldest.0.clone(), newest.1.clone()));
    // Whoever moved them back already needs no advice.
    let now = repository::heads(store.root());
    Report {
        to_turn,
        op: outcome.op,
        undoes: ops.iter().map(|op| op.id).collect(),
        coverage: match ops.iter().all(|op| op.coverage == Coverage::Full) {
            true => Coverage::Full,
            false => Coverage::Tools,
        },
        restored: outcome.steps.iter().map(restored).collect(),
        kept: outcome.kept,
        not_covered,
        git: git
            .filter(|(before, after)| before != after && now.as_ref().is_none_or(|now| now.head != *before)),
        stash: stash
            .filter(|(before, after)| before != after && now.as_ref().is_none_or(|now| now.stash != *before)),
        stopped: outcome.stopped,
        skipped,
    }
}
