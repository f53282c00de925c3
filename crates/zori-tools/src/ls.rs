//! The `ls` tool: what a directory holds, by name, to a given depth.
//!
//! Hidden names are shown, because that is what one lists a directory for; what ignore files name is not.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
use crate::paths::resolve;
use crate::walk::filter::{Filter, start_len};
use crate::walk::smallest::SmallestN;
use crate::walk::start::{Relookup, cancelled, invalid, look_for_directory, number, shown, target};
use crate::walk::{Hidden, Visitor, Walk};

/// How many entries a result holds at most, and unless told otherwise.
pub const MAX_ENTRIES: usize = 1000;

/// How deep a listing can go; beyond it `glob` is the better tool.
const MAX_DEPTH: usize = 10;

/// The definition of `ls`.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Ls,
    about: "List a directory with file sizes. Ignored files are left out.",
    params: &[
        Param { name: "path", aliases: &["dir"], ty: Ty::Text, need: Need::Optional, about: "default `.`" },
        Param {
            name: "depth",
            aliases: &["max_depth"],
            ty: Ty::Int,
            need: Need::Optional,
            about: "levels to list, default 1, max 10",
        },
        Param {
            name: "ignore",
            aliases: &["exclude"],
            ty: Ty::TextList,
            need: Need::Optional,
            about: "globs to leave out",
        },
        Param {
            name: "limit",
            aliases: &["max_files"],
            ty: Ty::Int,
            need: Need::Optional,
            about: "max entries, up to 1000",
        },
        Param {
            name: "files_only",
            aliases: &[],
            ty: Ty::Flag,
            need: Need::Optional,
            about: "leave directories out",
        },
    ],
};

pub struct Ls {
    env: Arc<ToolEnv>,
}

impl Ls {
    pub fn new(env: Arc<ToolEnv>) -> Self {
        Self { env }
    }
}

#[derive(Deserialize)]
struct LsArgs {
    path: Option<String>,
    depth: Option<i64>,
    ignore: Option<Vec<String>>,
    limit: Option<i64>,
    files_only: Option<bool>,
}

impl LsArgs {
    fn parse(args: &RawValue) -> Self {
        serde_json::from_str(args.get()).expect("arguments are checked before a tool sees them")
    }

    fn start(&self, env: &ToolEnv) -> PathBuf {
        resolve(env, self.path.as_deref().unwrap_or_default())
    }
}

impl Tool for Ls {
    fn kind(&self) -> Option<ToolKind> {
        Some(ToolKind::Ls)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        vec![Effect::Read(LsArgs::parse(args).start(&self.env))]
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args = LsArgs::parse(args);
        let env = Arc::clone(&self.env);
        Box::pin(blocking::run(cx.cancel, self.env.timeout, move |cancel| {
            list(&env, &args, &cx.snapshot, cancel).unwrap_or_else(|failure| failure)
        }))
    }
}

#[derive(Serialize)]
struct Data<'a> {
    path: Cow<'a, str>,
    entries: Vec<Entry>,
    total: usize,
    truncated: bool,
}

/// One entry: a directory's name ends with a slash; a file has a size, a link a target.
#[derive(Serialize)]
struct Entry {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

fn list(
    env: &ToolEnv,
    args: &LsArgs,
    snapshot: &PathSnapshot,
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let depth = number("depth", args.depth, 1, 1..=MAX_DEPTH)?;
    let limit = number("limit", args.limit, MAX_ENTRIES, 1..=MAX_ENTRIES)?;
    let ignore = Filter::new(args.ignore.iter().flatten().map(String::as_str))
        .map_err(|error| invalid(format!("`ignore` holds no glob: {}", error.kind())))?;
    let start = target(snapshot, &args.start(env))?;
    look_for_directory(&start)?;
    let walk = Walk {
        root: &env.root,
        start: &start.place,
        hidden: Hidden::Show,
        max_depth: Some(depth),
        types: None,
    };
    let cut = start_len(&start.place);
    let files_only = args.files_only == Some(true);
    let make = || LsVisitor { ignore: &ignore, cut, files_only, smallest: SmallestN::new(limit) };
    let mut smallest = SmallestN::new(limit);
    for lister in walk.run(cancel, make).map_err(|_| cancelled())? {
        smallest.merge(lister.smallest);
    }
    let seen = smallest.seen();
    let names = smallest.into_sorted();
    let mut again = Relookup::default();
    let entries: Vec<_> = names.iter().filter_map(|name| describe(&mut again, &start.place, name)).collect();
    let total = seen - (names.len() - entries.len());
    let data = Data { path: shown(&env.root, &start.path), truncated: total > entries.len(), entries, total };
    Ok(ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON")))
}

/// Looks at an entry again, for what is shown of it beside its name; `None` if it is not there.
fn describe(again: &mut Relookup, start: &Path, name: &[u8]) -> Option<Entry> {
    let slot = again.find(&start.join(OsStr::from_bytes(name)))?;
    let meta = slot.own_meta().ok()?;
    let target = if meta.kind.is_symlink() { slot.link_target().ok() } else { None };
    Some(Entry {
        name: String::from_utf8_lossy(name).into_owned(),
        size: meta.kind.is_file().then_some(meta.len),
        target: target.map(|target| target.to_string_lossy().into_owned()),
    })
}

/// Collects the names that one thread finds, relative to the start.
struct LsVisitor<'a> {
    ignore: &'a Filter,
    cut: usize,
    files_only: bool,
    smallest: SmallestN<Vec<u8>>,
}

impl Visitor for LsVisitor<'_> {
    fn visit(&mut self, entry: &DirEntry) -> WalkState {
        let relative = &entry.path().as_os_str().as_bytes()[self.cut..];
        if self.ignore.matches(relative) {
            return WalkState::Skip;
        }
        let mut name = relative.to_vec();
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            if self.files_only {
                return WalkState::Continue;
            }
            name.push(b'/');
        }
        self.smallest.push(name);
        WalkState::Continue
    }
}

#[cfg(test)]
mod tests;
