//! What turns changed, as a unified diff. Contents of sensitive files are never shown (UNDO-32).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use similar::{ChangeTag, TextDiff};

use crate::blobs::Blobs;
use crate::contents::Contents;
use crate::error::UndoError;
use crate::op::{Op, shown};
use crate::state::{Content, State};
use crate::store::Store;
use crate::timeline::Timeline;

/// Texts longer than this are not compared line by line.
const MAX_COMPARED: usize = 4 << 20;

/// Contents longer than this are not compared where only the number of lines is asked for.
const MAX_COUNTED: u64 = 256 << 10;

/// Turns with more changes than this are not counted.
const MAX_COUNTED_FILES: usize = 50;

/// Returns whether a file is too long to be compared line by line.
pub(crate) fn is_long(state: &State) -> bool {
    matches!(state, State::File { len, .. } if *len > MAX_COMPARED as u64)
}

/// Returns how many lines were added and removed; binary contents have none.
pub fn line_counts(before: &[u8], after: &[u8]) -> (u64, u64) {
    let (Some(before), Some(after)) = (text(before), text(after)) else { return (0, 0) };
    let diff = TextDiff::from_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
    (count(ChangeTag::Insert), count(ChangeTag::Delete))
}

/// Returns what a turn changed, or the whole session, as a document; empty if nothing.
pub fn unified(
    store: &Store,
    turn: Option<u32>,
    sensitive: &dyn Fn(&Path) -> bool,
) -> Result<String, UndoError> {
    let mut ops = store.read_ops()?.ops;
    let blobs = Blobs::resolve(store, &mut ops);
    let timeline = Timeline::new(&ops);
    let turns = turn.map_or(0..=u32::MAX, |turn| turn..=turn);
    let selected = timeline.since(0, false).ops;
    let changed = net(selected.into_iter().rev().filter(|op| turns.contains(&op.turn)));
    let mut out = String::new();
    for (path, (before, after)) in changed {
        push_file(&mut out, &shown(store.root(), path), before, after, &blobs, sensitive(path));
    }
    Ok(out)
}

/// Returns how many lines each of these turns added and removed; `None` where that cannot be said cheaply, or at all.
pub fn turn_line_counts(
    store: &Store,
    turns: &[u32],
) -> Result<BTreeMap<u32, Option<(u64, u64)>>, UndoError> {
    let mut ops = store.read_ops()?.ops;
    let mut active = BTreeSet::new();
    active.extend(Timeline::new(&ops).since(0, false).ops.iter().map(|op| op.id));
    ops.retain(|op| active.contains(&op.id) && turns.contains(&op.turn));
    let files = |turn: u32| ops.iter().filter(|op| op.turn == turn).map(|op| op.changes.len()).sum::<usize>();
    let cheap: Vec<u32> = turns.iter().copied().filter(|turn| files(*turn) <= MAX_COUNTED_FILES).collect();
    // What git holds is asked of git, so only what is counted is resolved.
    ops.retain(|op| cheap.contains(&op.turn));
    let blobs = Blobs::resolve(store, &mut ops);
    let of_turn = |turn: u32| {
        let mut sum = (0, 0);
        for (before, after) in net(ops.iter().filter(|op| op.turn == turn)).into_values() {
            let long = |state: &State| matches!(state, State::File { len, .. } if *len > MAX_COUNTED);
            if [before, after].into_iter().flatten().any(long) {
                return None;
            }
            let (added, removed) = line_counts(&bytes(before, &blobs)?, &bytes(after, &blobs)?);
            sum = (sum.0 + added, sum.1 + removed);
        }
        Some(sum)
    };
    let mut counts = BTreeMap::new();
    counts.extend(turns.iter().map(|turn| (*turn, cheap.contains(turn).then(|| of_turn(*turn)).flatten())));
    Ok(counts)
}

/// What a path was before and after.
type Net<'a> = (Option<&'a State>, Option<&'a State>);

/// Returns what operations changed in the end, by path.
fn net<'a>(ops: impl Iterator<Item = &'a Op>) -> BTreeMap<&'a Path, Net<'a>> {
    let mut paths: BTreeMap<&Path, Net<'_>> = BTreeMap::new();
    for change in ops.flat_map(|op| &op.changes) {
        let (before, after) = (change.before.as_ref(), change.after.as_ref());
        paths.entry(&change.path).or_insert((before, after)).1 = after;
    }
    paths.retain(|_, (before, after)| before != after);
    paths
}

/// Returns what is compared of a file, a link or a folder; `None` if it was not kept.
fn bytes(state: Option<&State>, contents: &dyn Contents) -> Option<Vec<u8>> {
    match state {
        None | Some(State::Dir { .. }) => Some(Vec::new()),
        Some(State::Link { to }) => Some(to.clone()),
        Some(State::File { content: Content::Stored(hash), .. }) => contents.get(hash),
        Some(State::File { .. }) => None,
    }
}

fn push_file(
    out: &mut String,
    path: &str,
    before: Option<&State>,
    after: Option<&State>,
    contents: &dyn Contents,
    hidden: bool,
) {
    if [before, after].into_iter().flatten().all(State::is_dir) {
        return;
    }
    let path: String = path.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let (from, to) = (
        if before.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() },
        if after.is_some() { format!("b/{path}") } else { "/dev/null".to_owned() },
    );
    let _ = writeln!(out, "diff --git a/{path} b/{path}");
    match (before.and_then(State::mode), after.and_then(State::mode)) {
        (Some(old), Some(new)) if old != new => {
            let _ = writeln!(out, "old mode 100{old:03o}\nnew mode 100{new:03o}");
        }
        (None, Some(new)) => {
            let _ = writeln!(out, "new file mode 100{new:03o}");
        }
        (Some(old), None) => {
            let _ = writeln!(out, "deleted file mode 100{old:03o}");
        }
        _ => {}
    }
    if hidden {
        let _ = writeln!(out, "# contents hidden");
        return;
    }
    let kept = |state: &State| match state.content() {
        Some(Content::Stored(hash)) => contents.has(hash),
        content => content.is_none(),
    };
    let mut states = [before, after].into_iter().flatten();
    if states.clone().any(is_long) && states.all(kept) {
        let _ = writeln!(out, "Binary files {from} and {to} differ");
        return;
    }
    let (Some(old), Some(new)) = (bytes(before, contents), bytes(after, contents)) else {
        let _ = writeln!(out, "# contents not kept");
        return;
    };
    let (Some(old), Some(new)) = (text(&old), text(&new)) else {
        let _ = writeln!(out, "Binary files {from} and {to} differ");
        return;
    };
    if old != new {
        let diff = TextDiff::from_lines(old, new);
        let _ = write!(out, "{}", diff.unified_diff().context_radius(3).header(&from, &to));
    }
}

fn text(bytes: &[u8]) -> Option<&str> {
    (bytes.len() <= MAX_COMPARED && !bytes.contains(&0)).then(|| std::str::from_utf8(bytes).ok()).flatten()
}
