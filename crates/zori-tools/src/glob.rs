//! The `glob` tool: files whose path matches a pattern, newest first.
//!
//! Newest first, because recently changed files matter most and must survive when the list is cut. How a pattern is
//! taken apart is in [`pattern`].

pub mod pattern;
pub mod times;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{Candidate, GlobSet};
use ignore::{DirEntry, WalkState};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::cancel::Cancel;
use zori_core::permission::PathSnapshot;
use zori_core::tool::{Effect, Tool, ToolCx, ToolKind, ToolOutput};

use crate::blocking;
use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::glob::pattern::Pattern;
use crate::glob::times::{Time, Times};
use crate::paths::resolve;
use crate::walk::filter::start_len;
use crate::walk::smallest::SmallestN;
use crate::walk::start::{
    Relookup, StartKind, cancelled, invalid, look, look_for_directory, renamed, shown, target,
};
use crate::walk::{Visitor, Walk};

/// How many files a result holds at most (L-13).
pub const MAX_FILES: usize = 500;

/// The definition of `glob`.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Glob,
    about: "Find files by glob pattern, newest first. Skips ignored files and, unless the pattern names them, hidden ones.",
    params: &[
        Param {
            name: "pattern",
            aliases: &["glob"],
            ty: Ty::Text,
            need: Need::Required,
            about: "relative to path, e.g. `src/**/*.rs`",
        },
        Param {
            name: "path",
            aliases: &["dir"],
            ty: Ty::Text,
            need: Need::Optional,
            about: "directory, default `.`",
        },
    ],
};

pub struct Glob {
    env: Arc<ToolEnv>,
}

impl Glob {
    pub fn new(env: Arc<ToolEnv>) -> Self {
        Self { env }
    }
}

#[derive(Deserialize)]
struct GlobArgs {
    pattern: String,
    path: Option<String>,
}

impl GlobArgs {
    fn parse(args: &RawValue) -> Self {
        serde_json::from_str(args.get()).expect("arguments are checked before a tool sees them")
    }

    fn base(&self, env: &ToolEnv) -> PathBuf {
        resolve(env, self.path.as_deref().unwrap_or_default())
    }
}

impl Tool for Glob {
    fn kind(&self) -> Option<ToolKind> {
        Some(ToolKind::Glob)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args = GlobArgs::parse(args);
        let base = args.base(&self.env);
        let start = Pattern::split(&base, &args.pattern).start;
        // Both are looked at: a pattern may lead out of the directory it was given with, also over a link in it.
        if start == base { vec![Effect::Read(base)] } else { vec![Effect::Read(base), Effect::Read(start)] }
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args = GlobArgs::parse(args);
        let env = Arc::clone(&self.env);
        Box::pin(blocking::run(cx.cancel, self.env.timeout, move |cancel| {
            find(&env, &args, &cx.snapshot, cancel).unwrap_or_else(|failure| failure)
        }))
    }
}

#[derive(Serialize)]
struct Data<'a> {
    files: Vec<Cow<'a, str>>,
    total: usize,
    truncated: bool,
}

fn find(
    env: &ToolEnv,
    args: &GlobArgs,
    snapshot: &PathSnapshot,
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let base = args.base(env);
    let pattern = Pattern::split(&base, &args.pattern);
    let set = pattern.compile().map_err(|e| invalid(format!("`pattern` is no glob: {}", e.kind())))?;
    look_for_directory(&target(snapshot, &base)?)?;
    let start = target(snapshot, &pattern.start)?;
    let mut smallest = SmallestN::new(MAX_FILES);
    match set {
        None => {
            if let Some(time) = Times::default().changed(&start.place) {
                smallest.push(Hit::new(time, &start.place));
            }
        }
        // Nothing can match below a place that does not exist.
        Some(set) if matches!(look(&start), Ok(StartKind::Directory)) => {
            let walk = Walk {
                root: &env.root,
                start: &start.place,
                hidden: pattern.hidden(),
                max_depth: pattern.depth(),
                types: None,
            };
            let cut = start_len(&start.place);
            let make = || GlobVisitor {
                set: &set,
                cut,
                times: Times::default(),
                smallest: SmallestN::new(MAX_FILES),
            };
            for finder in walk.run(cancel, make).map_err(|_| cancelled())? {
                smallest.merge(finder.smallest);
            }
        }
        Some(_) => {}
    }
    let seen = smallest.seen();
    let hits = smallest.into_sorted();
    let mut again = Relookup::default();
    let mut there = |hit: &&Hit| again.find(hit.path()).is_some_and(|slot| slot.own_meta().is_ok());
    let files: Vec<_> = hits.iter().filter(&mut there).map(|hit| renamed(&start, hit.path())).collect();
    let total = seen - (hits.len() - files.len());
    let files: Vec<_> = files.iter().map(|path| shown(&env.root, path)).collect();
    let data = Data { truncated: total > files.len(), files, total };
    Ok(ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON")))
}

/// A file that matched. Ordered as it is shown: newest first, then by path.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    changed: Reverse<Time>,
    path: Box<[u8]>,
}

impl Hit {
    fn new(changed: Time, path: &Path) -> Self {
        Self { changed: Reverse(changed), path: path.as_os_str().as_bytes().into() }
    }

    fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }
}

/// Collects the files one thread finds.
struct GlobVisitor<'a> {
    set: &'a GlobSet,
    cut: usize,
    times: Times,
    smallest: SmallestN<Hit>,
}

impl Visitor for GlobVisitor<'_> {
    fn visit(&mut self, entry: &DirEntry) -> WalkState {
        if !entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink()) {
            return WalkState::Continue;
        }
        let path = entry.path();
        if !self.set.is_match_candidate(&Candidate::from_bytes(&path.as_os_str().as_bytes()[self.cut..])) {
            return WalkState::Continue;
        }
        match self.times.changed(path) {
            // A link that leads to no file, or a file that vanished meanwhile.
            None => {}
            Some(time) if self.smallest.worst().is_some_and(|worst| worst.changed < Reverse(time)) => {
                self.smallest.pass()
            }
            Some(time) => self.smallest.push(Hit::new(time, path)),
        }
        WalkState::Continue
    }
}

#[cfg(test)]
mod tests;
