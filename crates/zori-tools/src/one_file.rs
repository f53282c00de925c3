//! Tools that change one file, which their argument `path` names: `write`, `edit`, `multi_edit`, `notebook_edit`. What they have in
//! common is here; what each makes of its file is its [`FileChangeArgs`].

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::cancel::Cancel;
use zori_core::question::{FileDiff, Preview};
use zori_core::tool::{Effect, Leniency, Tool, ToolCx, ToolKind, ToolOutput};

use crate::env::ToolEnv;
use crate::open_dir::OpenError;
use crate::seen::SeenFiles;
use crate::target::Target;
use crate::{blocking, paths, preview};

/// The arguments of such a tool, and what it does by them.
pub trait FileChangeArgs: DeserializeOwned + Send + 'static {
    /// Which tool it is.
    const KIND: ToolKind;

    /// Returns the path as the model gave it.
    fn path(&self) -> &str;

    /// Returns what would be changed; a failure is what the tool would answer.
    fn preview(self, file: NamedFile<'_>) -> Result<Vec<FileDiff>, ToolOutput>;

    /// Changes the file.
    fn change(self, file: NamedFile<'_>, cancel: &Cancel) -> Result<ToolOutput, ToolOutput>;
}

/// The file that a call names.
pub struct NamedFile<'a> {
    pub(crate) target: Result<Target, OpenError>,
    pub(crate) path: &'a Path,
    pub(crate) seen: &'a SeenFiles,
    pub(crate) leniency: Leniency,
}

/// A tool with these arguments.
pub struct FileTool<A> {
    env: Arc<ToolEnv>,
    seen: Arc<SeenFiles>,
    args: PhantomData<fn() -> A>,
}

impl<A> FileTool<A> {
    /// Makes the tool; `seen` is shared with the tools that read.
    pub fn new(env: Arc<ToolEnv>, seen: Arc<SeenFiles>) -> Self {
        Self { env, seen, args: PhantomData }
    }
}

impl<A: FileChangeArgs> Tool for FileTool<A> {
    fn kind(&self) -> Option<ToolKind> {
        Some(A::KIND)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: A = crate::args::typed(args);
        vec![Effect::Write(paths::resolve(&self.env, args.path()))]
    }

    fn preview<'a>(&'a self, raw: &'a RawValue) -> BoxFuture<'a, Preview> {
        let args: A = crate::args::typed(raw);
        let path = paths::resolve(&self.env, args.path());
        let (seen, leniency) = (self.seen.clone(), self.env.leniency);
        Box::pin(preview::plan(raw, move || {
            args.preview(NamedFile { target: Target::found(&path), path: &path, seen: &seen, leniency })
        }))
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: A = crate::args::typed(args);
        let path = paths::resolve(&self.env, args.path());
        let (seen, leniency) = (self.seen.clone(), self.env.leniency);
        Box::pin(blocking::run(cx.cancel, self.env.timeout, move |cancel| {
            let target = Target::from_snapshot(&cx.snapshot, &path);
            args.change(NamedFile { target, path: &path, seen: &seen, leniency }, cancel)
                .unwrap_or_else(|failure| failure)
        }))
    }
}
