//! The `grep` tool: lines that match a regular expression, in the order of paths and lines.
//!
//! This file is the tool. [`query`] turns arguments into something to search with, [`search`] searches one file, [`collect`] keeps the first
//! matches of all files, `bounded` searches no more files than the call wants, and `wire` is the shape of the result.

pub mod bounded;
pub mod collect;
pub mod line;
pub mod query;
pub mod search;
mod wire;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::{DirEntry, WalkState};
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::cancel::Cancel;
use zori_core::permission::PathSnapshot;
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::blocking;
use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::grep::bounded::FilesSearched;
use crate::grep::collect::{Collector, Cutoff};
use crate::grep::query::{GrepArgs, Query};
use crate::grep::search::{Search, SearchError};
use crate::grep::wire::NotSearched;
use crate::target::changed;
use crate::walk::filter::start_len;
use crate::walk::start::{StartKind, cancelled, look, shown, target};
use crate::walk::{Hidden, Visitor, Walk};

/// The definition of `grep`.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Grep,
    about: "Search file contents by regular expression. Skips ignored, hidden and binary files.",
    params: &[
        text("pattern", &["query", "regex"], Need::Required, ""),
        text("path", &["dir", "file_path"], Need::Optional, "file or directory, default `.`"),
        text("glob", &["include"], Need::Optional, "only these files, e.g. `*.rs`; `!` first excludes"),
        text("type", &[], Need::Optional, "file type, e.g. `rust`"),
        Param {
            name: "mode",
            aliases: &["output_mode"],
            ty: Ty::Choice(query::MODES),
            need: Need::Optional,
            about: "default content",
        },
        flag("ignore_case", &["-i"], ""),
        int("before", &["-B"], "lines before each match"),
        int("after", &["-A"], "lines after each match"),
        int("context", &["-C"], "lines around each match"),
        flag("multiline", &[], "let `.` match line ends"),
        flag("literal", &["fixed_strings"], "the pattern is plain text"),
        int("limit", &["head_limit", "max_matches", "max_results"], "default 200, max 2000"),
        int("offset", &[], "matches to skip"),
        int("max_files", &[], "search only the first so many files"),
        int("max_file_bytes", &[], "leave longer files out"),
    ],
};

const fn text(
    name: &'static str,
    aliases: &'static [&'static str],
    need: Need,
    about: &'static str,
) -> Param {
    Param { name, aliases, ty: Ty::Text, need, about }
}

const fn int(name: &'static str, aliases: &'static [&'static str], about: &'static str) -> Param {
    Param { name, aliases, ty: Ty::Int, need: Need::Optional, about }
}

const fn flag(name: &'static str, aliases: &'static [&'static str], about: &'static str) -> Param {
    Param { name, aliases, ty: Ty::Flag, need: Need::Optional, about }
}

pub struct Grep {
    env: Arc<ToolEnv>,
}

impl Grep {
    pub fn new(env: Arc<ToolEnv>) -> Self {
        Self { env }
    }
}

impl Tool for Grep {
    fn kind(&self) -> Option<ToolKind> {
        Some(ToolKind::Grep)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        vec![Effect::Read(GrepArgs::parse(args).start(&self.env))]
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args = GrepArgs::parse(args);
        let env = Arc::clone(&self.env);
        Box::pin(blocking::run(cx.cancel, self.env.timeout, move |cancel| {
            grep(&env, &args, &cx.snapshot, cancel).unwrap_or_else(|failure| failure)
        }))
    }
}

fn grep(
    env: &ToolEnv,
    args: &GrepArgs,
    snapshot: &PathSnapshot,
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let query = Query::new(args)?;
    let start = target(snapshot, &args.start(env))?;
    let place = look(&start)?;
    let collector = Collector::new(&query.page, query.mode);
    let (unsearched, withheld) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut files = FilesSearched { count: query.bounds.is_set().then_some(1), ..FilesSearched::default() };
    match place {
        StartKind::File if query.bounds.is_too_long(&start.place) => {
            files = FilesSearched { count: Some(0), too_long: 1, ..files };
        }
        StartKind::File => match Search::new(&query, cancel).file(&start.place) {
            Ok(Some(found)) => collector.add(start.place.as_os_str().as_bytes(), found),
            Ok(None) => {}
            Err(trouble) => return Err(search_failed(&env.root, &start.path, &trouble)),
        },
        StartKind::Directory => {
            let walk = Walk {
                root: &env.root,
                start: &start.place,
                hidden: if query.names_hidden() { Hidden::Show } else { Hidden::Skip },
                max_depth: None,
                types: query.types.clone(),
            };
            let make = || GrepVisitor {
                query: &query,
                search: Search::new(&query, cancel),
                cut: start_len(&start.place),
                collector: &collector,
                cutoff: Cutoff::default(),
                unsearched: &unsearched,
                snapshot,
                withheld: &withheld,
            };
            match query.bounds.is_set() {
                false => drop(walk.run(cancel, make).map_err(|_| cancelled())?),
                true => files = bounded::run(&walk, &query, cancel, make())?,
            }
        }
    }
    let found = collector.finish();
    let left = NotSearched { unsearched: unsearched.into_inner(), withheld: withheld.into_inner(), files };
    Ok(ToolOutput::success(&wire::data(&env.root, &start, &query, &found, left)))
}

/// Returns the failure for a file that the call named; a file that a walk finds is only counted.
fn search_failed(root: &Path, path: &Path, trouble: &SearchError) -> ToolOutput {
    let name = shown(root, path);
    let message = match trouble {
        SearchError::Cancelled => return cancelled(),
        SearchError::Changed => return changed(path),
        SearchError::Binary => format!("{name} is a binary file; search it with `bash` and `grep -a`"),
        SearchError::TooLong => format!("{name} has a line of more than 8 MiB; search it with `bash`"),
        SearchError::Io(error) => format!("{name} cannot be searched: {error}"),
    };
    ToolOutput::failure(ToolCode::ReadError, message)
}

/// Searches the files that one thread finds.
struct GrepVisitor<'a> {
    query: &'a Query,
    search: Search<'a>,
    cut: usize,
    collector: &'a Collector,
    cutoff: Cutoff,
    unsearched: &'a AtomicUsize,
    snapshot: &'a PathSnapshot,
    withheld: &'a AtomicUsize,
}

impl Visitor for GrepVisitor<'_> {
    fn visit(&mut self, entry: &DirEntry) -> WalkState {
        let Some(kind) = entry.file_type() else { return WalkState::Continue };
        let path = entry.path();
        let bytes = path.as_os_str().as_bytes();
        if kind.is_dir() {
            return if self.collector.wants_below(bytes, &mut self.cutoff) {
                WalkState::Continue
            } else {
                WalkState::Skip
            };
        }
        if !kind.is_file()
            || !self.query.wants_name(&bytes[self.cut..])
            || !self.collector.wants(bytes, &mut self.cutoff)
        {
            return WalkState::Continue;
        }
        self.take(path)
    }

    fn failed(&mut self) {
        self.unsearched.fetch_add(1, Ordering::Relaxed);
    }
}

impl GrepVisitor<'_> {
    fn take(&mut self, path: &Path) -> WalkState {
        match self.search.file(path) {
            // Asked only where something was found, since a tree may have many files.
            Ok(Some(_)) if self.snapshot.withholds(path) => {
                self.withheld.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Some(found)) => self.collector.add(path.as_os_str().as_bytes(), found),
            Ok(None) | Err(SearchError::Binary) => {}
            Err(SearchError::TooLong | SearchError::Changed | SearchError::Io(_)) => self.failed(),
            Err(SearchError::Cancelled) => return WalkState::Quit,
        }
        WalkState::Continue
    }
}

#[cfg(test)]
mod tests;
