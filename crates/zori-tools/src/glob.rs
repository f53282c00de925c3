//! The `glob` tool: files whose path matches a pattern, newest first.
//!
//! Newest first because what was touched last is what the work is about, and a cut list should keep that. How a
//! pattern is taken apart is in [`pattern`].

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
use zori_core::permission::Judged;
use zori_core::tool::{Effect, Tool, ToolCx, ToolKind, ToolOutput};

use crate::blocking;
use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::glob::pattern::Pattern;
use crate::glob::times::{Time, Times};
use crate::paths::resolve;
use crate::walk::filter::start_len;
use crate::walk::first::First;
use crate::walk::place::{
    Again, Place, cancelled, invalid, look, look_for_directory, renamed, shown, target,
};
use crate::walk::{Visitor, Walk};

/// How many files a result holds at most (L-13).
pub const MAX_FILES: usize = 500;

/// The canonical face of `glob`.
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

/// The tool.
pub struct Glob {
    env: Arc<ToolEnv>,
}

impl Glob {
    /// Makes the tool.
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
            find(&env, &args, &cx.judged, cancel).unwrap_or_else(|failure| failure)
        }))
    }
}

/// What the model reads.
#[derive(Serialize)]
struct Data<'a> {
    files: Vec<Cow<'a, str>>,
    total: usize,
    truncated: bool,
}

fn find(env: &ToolEnv, args: &GlobArgs, judged: &Judged, cancel: &Cancel) -> Result<ToolOutput, ToolOutput> {
    let base = args.base(env);
    let pattern = Pattern::split(&base, &args.pattern);
    let set = pattern.compile().map_err(|e| invalid(format!("`pattern` is no glob: {}", e.kind())))?;
    look_for_directory(&target(judged, &base)?)?;
    let start = target(judged, &pattern.start)?;
    let mut first = First::new(MAX_FILES);
    match set {
        None => {
            if let Some(time) = Times::default().changed(&start.place) {
                first.push(Hit::new(time, &start.place));
            }
        }
        // Nothing can match below a place that does not exist.
        Some(set) if matches!(look(&start), Ok(Place::Directory)) => {
            let walk = Walk {
                root: &env.root,
                start: &start.place,
                hidden: pattern.hidden(),
                max_depth: pattern.depth(),
                types: None,
            };
            let cut = start_len(&start.place);
            let make = || Finder { set: &set, cut, times: Times::default(), first: First::new(MAX_FILES) };
            for finder in walk.run(cancel, make).map_err(|_| cancelled())? {
                first.merge(finder.first);
            }
        }
        Some(_) => {}
    }
    let seen = first.seen();
    let hits = first.into_sorted();
    let mut again = Again::default();
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
struct Finder<'a> {
    set: &'a GlobSet,
    cut: usize,
    times: Times,
    first: First<Hit>,
}

impl Visitor for Finder<'_> {
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
            Some(time) if self.first.worst().is_some_and(|worst| worst.changed < Reverse(time)) => {
                self.first.pass()
            }
            Some(time) => self.first.push(Hit::new(time, path)),
        }
        WalkState::Continue
    }
}

#[cfg(test)]
mod tests;
