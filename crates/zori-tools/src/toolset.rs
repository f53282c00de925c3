//! The built-in tools as the engine sees them: through one dialect.

mod understand;
mod wrapped;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use zori_core::permission::{EntryKind, PathFacts};
use zori_core::tool::{
    BadCall, Effect, Leniency, ResolvedCall, StandIn, Tool, ToolCode, ToolKind, ToolOutput, ToolSpec, Toolbox,
};

use self::understand::spelled;
use self::wrapped::Wrapped;
use crate::def::ToolDef;
use crate::dialect::{self, Dialect, Entry, Listed, Results};
use crate::env::{ShellProgram, ToolEnv};
use crate::listing::{InUse, Listing};
use crate::process::Processes;
use crate::seen::SeenFiles;
use crate::spelling::Platform;
use crate::{
    ask_user, bash, confined, edit, fetch, glob, grep, job_kill, job_output, lookup, ls, multi_edit,
    notebook_edit, patch, plain, read, task, todo, web_search, write,
};

/// The table of every built-in tool, in the order of the reference page.
pub const DEFS: &[&ToolDef] = &[
    &read::DEF,
    &write::DEF,
    &edit::DEF,
    &bash::DEF,
    &multi_edit::DEF,
    &glob::DEF,
    &grep::DEF,
    &ls::DEF,
    &patch::DEF,
    &notebook_edit::DEF,
    &fetch::DEF,
    &web_search::DEF,
    &todo::DEF,
    &task::DEF,
    &ask_user::DEF,
    &job_output::DEF,
    &job_kill::DEF,
];

/// The tools of a session.
pub struct ToolSet {
    dialect: &'static Dialect,
    /// How the model sees them.
    listing: Listing,
    /// Whether a call was about a notebook.
    notebooks: AtomicBool,
    /// Whether somebody answers questions.
    somebody: bool,
    /// Whether searches are allowed without a question, or were.
    searches: Arc<AtomicBool>,
    /// The built-in ones that are offered, with their entries of the dialect.
    tools: Vec<(&'static Entry, Arc<dyn Tool>)>,
    others: Vec<ExternalTool>,
    /// What came after the session was made: the tools of MCP servers. The last of the chain counts.
    late: OnceLock<Box<Late>>,
    processes: Arc<Processes>,
    seen: Arc<SeenFiles>,
    /// What models get that edit by patches, and which ones those are.
    patching: Option<Patching>,
    env: Arc<ToolEnv>,
    /// Whose spelling of paths the tools get; `None` where they get what the model wrote.
    spelling: Option<Platform>,
    /// How much an agent on a server gets at once; its paths may not lead out of the workspace. `None`: as far as the policy lets them.
    confined: Option<ReadBounds>,
}

/// How much a remote agent's calls return where they do not say it: the bounds of what it is told of the workspace anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBounds {
    /// Bytes of a file.
    pub file_bytes: usize,
    /// How deep folders are listed.
    pub depth: usize,
    /// How many files are listed.
    pub files: usize,
}

impl ReadBounds {
    /// The defaults of the settings for that (`context` in the config).
    pub const DEFAULT: Self = Self { file_bytes: 6_000, depth: 4, files: 200 };

    /// Puts them into the arguments of a call.
    fn fill(self, kind: ToolKind, map: &mut Map<String, Value>) {
        let mut fill = |name: &str, bound: usize| {
            map.entry(name).or_insert_with(|| bound.into());
        };
        match kind {
            ToolKind::Read => fill("max_bytes", self.file_bytes),
            ToolKind::Ls => {
                fill("max_depth", self.depth);
                fill("max_files", self.files);
            }
            _ => {}
        }
    }
}

/// Returns whether a model has learnt to edit files by patches.
pub type PatchModels = fn(&str) -> bool;

/// Tools that came later, and how the model sees all of them since. What replaces them comes behind: requests under way hold on to
/// their listing.
struct Late {
    others: Vec<ExternalTool>,
    /// The names of tools of the beginning that are not there any more.
    gone: Vec<String>,
    listing: Listing,
    patching: Option<Listing>,
    next: OnceLock<Box<Late>>,
}

/// The tools as models see them that edit by patches.
struct Patching {
    models: PatchModels,
    listing: Listing,
}

/// A tool that is not built in: one of an MCP server, or one that only the binary can make. It has its own name, gets
/// its arguments as the model wrote them, and formats its own results.
#[derive(Clone)]
pub struct ExternalTool {
    /// How the model sees it.
    pub spec: ToolSpec,
    /// What runs.
    pub tool: Arc<dyn Tool>,
}

/// Which of the dialect's tools are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Offered {
    /// Every one.
    #[default]
    All,
    /// Those of these names, in any dialect's words.
    Named(Vec<String>),
    /// All that need no model.
    WithoutModel,
}

impl Offered {
    fn holds(&self, entry: &Entry) -> bool {
        match self {
            Self::All => true,
            Self::WithoutModel => {
                !matches!(entry.kind, ToolKind::Task | ToolKind::AskUser | ToolKind::WebSearch)
            }
            Self::Named(names) => {
                let kind = |name: &String| {
                    dialect::ALL.iter().filter_map(|dialect| dialect.find(name)).any(|e| e.kind == entry.kind)
                };
                // Who may start a job may look after it.
                let bash = |name: &String| dialect::same_tool(name, "bash");
                names.iter().any(kind) || entry.listed == Listed::WithJobs && names.iter().any(bash)
            }
        }
    }
}

impl ToolSet {
    /// Makes the tools the dialect shows.
    pub fn new(env: Arc<ToolEnv>, dialect: &'static Dialect) -> Self {
        Self::with(env, dialect, &Offered::All, Vec::new())
    }

    /// Makes those that are offered of the tools the dialect shows, and adds others. A tool whose name is taken is left
    /// out, so a built-in tool cannot be replaced.
    pub fn with(
        env: Arc<ToolEnv>,
        dialect: &'static Dialect,
        offered: &Offered,
        others: Vec<ExternalTool>,
    ) -> Self {
        let seen = Arc::new(SeenFiles::of(env.files.clone()));
        let processes = Arc::new(Processes::new(env.temp_parent.clone()));
        let shown: Vec<&'static Entry> = dialect.tools.iter().filter(|entry| offered.holds(entry)).collect();
        // Clients of the other dialects have words of their own.
        let hints = env.leniency == Leniency::Forgiving
            && dialect.name == "zori"
            && dialect.results == Results::Plain;
        // What was asked for by name is not waited for.
        let listed = |entry: &Entry| match offered {
            Offered::Named(_) if entry.listed == Listed::WithNotebooks => Listed::Always,
            _ => entry.listed,
        };
        let mut specs: Vec<(ToolSpec, Listed)> =
            shown.iter().map(|entry| (spec(entry, env.shell), listed(entry))).collect();
        for ((spec, _), entry) in specs.iter_mut().zip(&shown).filter(|_| hints) {
            spec.description.push_str(&hint(entry.kind, &shown, &env));
        }
        let mut kept: Vec<ExternalTool> = Vec::new();
        for other in others {
            if dialect.find(&other.spec.name).is_none()
                && specs.iter().all(|(spec, _)| spec.name != other.spec.name)
            {
                specs.push((other.spec.clone(), Listed::Always));
                kept.push(other);
            }
        }
        let searches = Arc::new(AtomicBool::new(false));
        let make = |kind| make(kind, &env, &seen, &processes, &searches);
        let tools = shown.iter().map(|entry| (*entry, make(entry.kind))).collect();
        Self {
            dialect,
            listing: Listing::new(specs),
            notebooks: AtomicBool::new(false),
            somebody: false,
            searches,
            tools,
            others: kept,
            late: OnceLock::new(),
            processes,
            seen,
            patching: None,
            env,
            spelling: None,
            confined: None,
        }
    }

    /// Refuses every path that is absolute or leads out of the workspace, and returns so much where a call does not say how much it wants.
    pub fn confined(mut self, bounds: ReadBounds) -> Self {
        self.confined = Some(bounds);
        self
    }

    /// Offers models that have learnt to edit by patches the patch tool alone, in the form they know. Call it last: what is
    /// added to the tools later does not reach them.
    pub fn patching(mut self, models: PatchModels) -> Self {
        let name =
            |kind: ToolKind| self.tools.iter().find(|(entry, _)| entry.kind == kind).map(|(e, _)| e.name);
        let Some(patch) = name(ToolKind::Patch) else { return self };
        let replaced = [name(ToolKind::Edit), name(ToolKind::MultiEdit)];
        let listing = self.listing.map(|spec| match spec.name.as_str() {
            name if replaced.contains(&Some(name)) => None,
            name if name == patch => Some(patch::native_spec(patch)),
            _ => Some(spec.clone()),
        });
        self.patching = Some(Patching { models, listing });
        self
    }

    /// Lists the tool that asks the user, where somebody answers. It is understood whether or not it is listed.
    pub fn answered(mut self, somebody: bool) -> Self {
        self.somebody = somebody;
        self
    }

    /// Lists the tool that searches the web, where the provider has one and nobody is asked about it. It is understood whether or
    /// not it is listed.
    pub fn searching(self, allowed: bool) -> Self {
        self.searches.store(allowed, Ordering::Relaxed);
        self
    }

    /// Accepts paths in any platform's spelling, for clients and models of other platforms.
    pub fn any_spelling(mut self, here: Platform) -> Self {
        self.spelling = Some(here);
        self
    }

    /// Adds tools to a session that is under way, in place of those that were added before. One whose name is taken is left out.
    pub fn add_late(&self, others: Vec<ExternalTool>) {
        self.replace_late(others, Vec::new());
    }

    /// Does the same, and takes away tools that were there from the beginning and are not built in.
    pub fn replace_late(&self, others: Vec<ExternalTool>, gone: Vec<String>) {
        let mut slot = &self.late;
        while let Some(late) = slot.get() {
            slot = &late.next;
        }
        let left = |name: &str| gone.iter().any(|gone| gone == name);
        let taken = |name: &str| self.dialect.find(name).is_some() || self.listing.names(name) && !left(name);
        let kept: Vec<ExternalTool> = others.into_iter().filter(|other| !taken(&other.spec.name)).collect();
        let listing = |of: &Listing| {
            let specs = kept.iter().map(|other| other.spec.clone());
            of.map(|spec| (!left(&spec.name)).then(|| spec.clone())).with(specs)
        };
        let late = Late {
            listing: listing(&self.listing),
            patching: self.patching.as_ref().map(|patching| listing(&patching.listing)),
            others: kept,
            gone,
            next: OnceLock::new(),
        };
        let _ = slot.set(Box::new(late));
    }

    /// Returns the tools that were added last.
    fn late(&self) -> Option<&Late> {
        let mut last = self.late.get()?;
        while let Some(next) = last.next.get() {
            last = next;
        }
        Some(last)
    }

    /// Returns whether tools were added to the session already.
    pub fn has_late(&self) -> bool {
        self.late.get().is_some()
    }

    /// Finds a tool that is not built in, also one that another stands for.
    fn other(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let late = self.late();
        let left = |other: &&ExternalTool| late.is_some_and(|late| late.gone.contains(&other.spec.name));
        let all = || {
            let own = self.others.iter().filter(|other| !left(other));
            own.chain(late.into_iter().flat_map(|late| &late.others))
        };
        let listed = all().find(|other| other.spec.name == name).map(|other| other.tool.clone());
        listed
            .or_else(|| name.starts_with("mcp__").then(|| all().find_map(|other| other.tool.named(name)))?)
    }

    /// Adds the names and descriptions of the sub-agents to the task tool.
    pub fn with_agents<'a>(mut self, kinds: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let entry =
            self.tools.iter().find(|(entry, _)| entry.kind == ToolKind::Task).map(|(entry, _)| entry.name);
        let listed = task::listed(kinds);
        self.listing = self.listing.map(|spec| {
            let mut spec = spec.clone();
            if Some(spec.name.as_str()) == entry {
                spec.description.push_str(&listed);
            }
            Some(spec)
        });
        self
    }

    /// Returns whether a built-in tool is among them.
    pub fn offers(&self, kind: ToolKind) -> bool {
        self.tools.iter().any(|(entry, _)| entry.kind == kind)
    }

    /// Returns the process table of the tools, for others that run processes.
    pub fn processes(&self) -> Arc<Processes> {
        self.processes.clone()
    }

    /// Forgets files that somebody else changed for a reason that the model is told.
    pub fn forget<'p>(&self, paths: impl Iterator<Item = &'p PathBuf>) {
        paths.for_each(|path| self.seen.forget(path));
    }

    /// Ends every process the tools have started and not ended, and removes their temporary files. Call it once,
    /// when the run is over; it blocks until that is done, a little over five seconds at most.
    pub fn shutdown(&self) {
        self.processes.shutdown();
    }

    fn in_use(&self) -> InUse {
        InUse {
            jobs: self.processes.jobs().any(),
            notebooks: self.notebooks.load(Ordering::Relaxed),
            somebody: self.somebody,
            searches: self.searches.load(Ordering::Relaxed),
        }
    }

    /// Formats the reason as the dialect formats failures of its tools.
    fn bad_call(&self, code: ToolCode, message: String) -> BadCall {
        let plain = self.dialect.tools.iter().any(|entry| entry.layout.is_some());
        BadCall { code, text: plain.then(|| message.as_str().into()), message }
    }
}

impl Toolbox for ToolSet {
    fn specs(&self) -> &Arc<[ToolSpec]> {
        self.late().map_or(&self.listing, |late| &late.listing).listed(self.in_use())
    }

    fn specs_for(&self, model: &str) -> &Arc<[ToolSpec]> {
        match &self.patching {
            Some(patching) if (patching.models)(model) => {
                let late = self.late().and_then(|late| late.patching.as_ref());
                late.unwrap_or(&patching.listing).listed(self.in_use())
            }
            _ => self.specs(),
        }
    }

    fn resolve(&self, name: &str, args: &RawValue) -> Result<ResolvedCall, BadCall> {
        if let Some(tool) = self.other(name) {
            crate::args::object(args.get())
                .map_err(|bad| self.bad_call(ToolCode::InvalidInput, bad.to_string()))?;
            let Some(meant) = tool.stands_for(args) else {
                return Ok(ResolvedCall {
                    effects: tool.effects(args),
                    tool,
                    args: args.to_owned(),
                    name: None,
                });
            };
            let meant = meant.map_err(|why| self.bad_call(ToolCode::InvalidInput, why))?;
            let StandIn { name, tool, args } = meant;
            return Ok(ResolvedCall { effects: tool.effects(&args), tool, args, name: Some(name) });
        }
        let (entry, canonical, mended) = self.understand(name, args)?;
        let canonical = match self.spelling {
            Some(here) => spelled(canonical, entry.kind, here),
            None => canonical,
        };
        let canonical = RawValue::from_string(canonical).expect("canonical arguments are JSON");
        let found = self.tools.iter().find(|(offered, _)| offered.kind == entry.kind);
        let (shown, tool) = found.cloned().expect("`entry` finds only tools that are offered");
        let effects = tool.effects(&canonical);
        if self.confined.is_some() {
            let asked = crate::args::object(args.get()).unwrap_or_default();
            if let Some(why) = confined::refusal(&self.env.root, entry.kind, &asked, &effects) {
                return Err(self.bad_call(ToolCode::InvalidInput, why));
            }
        }
        let is_notebook = |effect: &Effect| {
            let (Effect::Read(path) | Effect::Write(path)) = effect else { return false };
            path.extension().is_some_and(|extension| extension == "ipynb")
        };
        if effects.iter().any(is_notebook) {
            self.notebooks.store(true, Ordering::Relaxed);
        }
        let tool: Arc<dyn Tool> = match mended.is_empty() {
            true => tool,
            false => {
                let what = mended.join("; ");
                Arc::new(Wrapped { tool, changed: move |output: ToolOutput| output.mended(&what) })
            }
        };
        let tool = match shown.layout {
            None => tool,
            Some(layout) => {
                let asked = crate::args::object(args.get()).unwrap_or_default();
                Arc::new(Wrapped { tool, changed: move |output: ToolOutput| layout(&asked, output) })
            }
        };
        Ok(ResolvedCall { tool, args: canonical, effects, name: None })
    }

    fn refuse(&self, code: ToolCode, message: String) -> ToolOutput {
        self.bad_call(code, message).into()
    }

    fn plain(&self, name: &str, envelope: &RawValue) -> Option<Arc<str>> {
        if self.dialect.results == Results::Envelope {
            return None;
        }
        let entry = self.dialect.entry_named(name, |_| true).map(|entry| entry.kind);
        // The call may have had another agent's name for it.
        let kind = entry.or_else(|| self.folded(name).map(|entry| entry.kind));
        Some(plain::plain(kind, envelope.get()).into())
    }

    fn path_facts(&self, path: &Path) -> PathFacts {
        lookup::look(path)
    }

    fn small_file(&self, path: &Path) -> Option<String> {
        lookup::small_file(path)
    }

    fn folder_names(&self, folder: &Path) -> Option<Vec<(OsString, EntryKind)>> {
        lookup::names(folder)
    }
}

/// Returns what a model must know of a tool beside what it does: when to use which, and what does not carry over.
fn hint(kind: ToolKind, shown: &[&'static Entry], env: &ToolEnv) -> String {
    let name = |kind| shown.iter().find(|entry| entry.kind == kind).map(|entry| entry.name);
    match kind {
        ToolKind::Edit => {
            let mut hint = " Read the file first.".to_owned();
            if let Some(several) = name(ToolKind::MultiEdit) {
                hint.push_str(&format!(" Several changes in a file: {several}."));
            }
            if let Some(patch) = name(ToolKind::Patch) {
                hint.push_str(&format!(" In several files: {patch}."));
            }
            hint
        }
        ToolKind::Write if name(ToolKind::Edit).is_some() => " To change part of a file, edit it.".to_owned(),
        ToolKind::Bash => {
            let limit = match (env.job_after, env.timeout) {
                (Some(patience), _) => {
                    format!(" Without timeout_secs it goes on as a job after {} s.", patience.as_secs())
                }
                (None, Some(limit)) => format!(" It is ended after {} s, or timeout_secs.", limit.as_secs()),
                (None, None) => String::new(),
            };
            format!(" Each call starts afresh: no folder or variable carries over.{limit}")
        }
        _ => String::new(),
    }
}

/// Returns a tool as the model sees it; the shell's name is the one that runs (FOR-1).
fn spec(entry: &Entry, shell: ShellProgram) -> ToolSpec {
    let mut spec = entry.spec(def(entry.kind));
    if entry.kind == ToolKind::Bash && shell == ShellProgram::Bash {
        spec.description =
            spec.description.replace("`sh -c`", "`bash -c`").replace("shell command", "bash command");
    }
    spec
}

/// Returns the definition of a built-in tool.
pub fn def(kind: ToolKind) -> &'static ToolDef {
    DEFS.iter().find(|def| def.kind == kind).expect("every tool is in the table")
}

fn make(
    kind: ToolKind,
    env: &Arc<ToolEnv>,
    seen: &Arc<SeenFiles>,
    processes: &Arc<Processes>,
    searches: &Arc<AtomicBool>,
) -> Arc<dyn Tool> {
    let env = env.clone();
    match kind {
        ToolKind::Read => Arc::new(read::Read::new(env, seen.clone())),
        ToolKind::Write => Arc::new(write::Write::new(env, seen.clone())),
        ToolKind::Edit => Arc::new(edit::Edit::new(env, seen.clone())),
        ToolKind::MultiEdit => Arc::new(multi_edit::MultiEdit::new(env, seen.clone())),
        ToolKind::NotebookEdit => Arc::new(notebook_edit::NotebookEdit::new(env, seen.clone())),
        ToolKind::Patch => Arc::new(patch::Patch::new(env, seen.clone())),
        ToolKind::Glob => Arc::new(glob::Glob::new(env)),
        ToolKind::Grep => Arc::new(grep::Grep::new(env)),
        ToolKind::Ls => Arc::new(ls::Ls::new(env)),
        ToolKind::Bash => Arc::new(bash::Bash::new(env, processes.clone())),
        ToolKind::Fetch => Arc::new(fetch::Fetch::new(env)),
        ToolKind::WebSearch => Arc::new(web_search::WebSearch::new(env, searches.clone())),
        ToolKind::Todo => Arc::new(todo::Todo::new(env)),
        ToolKind::Task => Arc::new(task::Task::new(env)),
        ToolKind::AskUser => Arc::new(ask_user::AskUser::new(env)),
        ToolKind::JobOutput => Arc::new(job_output::JobOutput::new(processes.clone())),
        ToolKind::JobKill => Arc::new(job_kill::JobKill::new(processes.clone())),
    }
}

#[cfg(test)]
mod tests;
