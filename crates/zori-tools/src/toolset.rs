//! The built-in tools as the engine sees them: through one dialect.

use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use zori_core::BoxFuture;
use zori_core::permission::PathFacts;
use zori_core::question::Preview;
use zori_core::tool::{
    BadCall, Effect, ResolvedCall, Tool, ToolCode, ToolCx, ToolKind, ToolOutput, ToolSpec, Toolbox,
};

use crate::def::ToolDef;
use crate::dialect::layout::Layout;
use crate::dialect::{self, Dialect, Entry};
use crate::env::ToolEnv;
use crate::process::Processes;
use crate::seen::Seen;
use crate::spelling::{self, Platform};
use crate::{bash, edit, fetch, glob, grep, lookup, ls, multi_edit, patch, read, task, todo, write};

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
    &fetch::DEF,
    &todo::DEF,
    &task::DEF,
];

/// The tools of a session.
pub struct ToolSet {
    dialect: &'static Dialect,
    specs: Arc<[ToolSpec]>,
    /// The built-in ones that are offered, with their entries of the dialect.
    tools: Vec<(&'static Entry, Arc<dyn Tool>)>,
    others: Vec<OtherTool>,
    processes: Arc<Processes>,
    /// Whose spelling of paths the tools get; `None` where they get what the model wrote.
    spelling: Option<Platform>,
}

/// A tool that is not built in: one of an MCP server, or one that only the composition root can make. It is called by its
/// own name, gets its arguments as the model wrote them, and lays its results out itself.
pub struct OtherTool {
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
            Self::WithoutModel => entry.kind != ToolKind::Task,
            Self::Named(names) => {
                let kind = |name: &String| {
                    dialect::ALL.iter().filter_map(|dialect| dialect.find(name)).any(|e| e.kind == entry.kind)
                };
                names.iter().any(kind)
            }
        }
    }
}

impl ToolSet {
    /// Makes the tools the dialect shows.
    pub fn new(env: Arc<ToolEnv>, dialect: &'static Dialect) -> Self {
        Self::with(env, dialect, &Offered::All, Vec::new())
    }

    /// Makes those that are offered of the tools the dialect shows, and adds others. One of a name that is taken is left
    /// out: what is built in cannot be replaced.
    pub fn with(
        env: Arc<ToolEnv>,
        dialect: &'static Dialect,
        offered: &Offered,
        others: Vec<OtherTool>,
    ) -> Self {
        let seen = Arc::new(Seen::of(env.files.clone()));
        let processes = Arc::new(Processes::new(env.temp_parent.clone()));
        let shown: Vec<&'static Entry> = dialect.tools.iter().filter(|entry| offered.holds(entry)).collect();
        let mut specs: Vec<ToolSpec> = shown.iter().map(|entry| entry.spec(def(entry.kind))).collect();
        let mut kept: Vec<OtherTool> = Vec::new();
        for other in others {
            if dialect.find(&other.spec.name).is_none()
                && specs.iter().all(|spec| spec.name != other.spec.name)
            {
                specs.push(other.spec.clone());
                kept.push(other);
            }
        }
        let tools = shown.into_iter().map(|entry| (entry, make(entry.kind, &env, &seen, &processes)));
        Self { dialect, specs: specs.into(), tools: tools.collect(), others: kept, processes, spelling: None }
    }

    /// Takes paths in every spelling there is, for clients and models that may be of another platform.
    pub fn any_spelling(mut self, here: Platform) -> Self {
        self.spelling = Some(here);
        self
    }

    /// Tells the model which kinds of sub-agents there are, by name and what each is for.
    pub fn with_agents<'a>(mut self, kinds: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let entry =
            self.tools.iter().find(|(entry, _)| entry.kind == ToolKind::Task).map(|(entry, _)| entry.name);
        let mut specs = self.specs.to_vec();
        if let Some(spec) = specs.iter_mut().find(|spec| Some(spec.name.as_str()) == entry) {
            spec.description.push_str(&task::listed(kinds));
        }
        self.specs = specs.into();
        self
    }

    /// Returns whether a built-in tool is among them.
    pub fn offers(&self, kind: ToolKind) -> bool {
        self.tools.iter().any(|(entry, _)| entry.kind == kind)
    }

    /// Returns where the tools run their processes, for others who run some.
    pub fn processes(&self) -> Arc<Processes> {
        self.processes.clone()
    }

    /// Ends every process the tools have started and not ended, and removes their temporary files. Call it once,
    /// when the run is over; it blocks until that is done, a little over five seconds at most.
    pub fn shutdown(&self) {
        self.processes.shutdown();
    }

    /// Finds the entry whose fields a call by this name has: the dialect's own, or another one's of a tool it shows.
    fn entry(&self, name: &str) -> Result<&'static Entry, BadCall> {
        let offers = |entry: &Entry| self.tools.iter().any(|(offered, _)| offered.kind == entry.kind);
        if let Some(entry) = self.dialect.meant(name, offers) {
            return Ok(entry);
        }
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        let unbuilt = dialect::ALL.iter().any(|dialect| dialect.unbuilt.contains(&name));
        let known = unbuilt || self.dialect.find(name).is_some();
        let what = if known { "is not available here" } else { "is not a tool" };
        let there = if names.is_empty() {
            "there are no tools".to_owned()
        } else {
            format!("the tools are {}", names.join(", "))
        };
        let message = format!("`{name}` {what}; {there}");
        Err(self.bad_call(ToolCode::UnknownTool, message))
    }

    /// Lays the reason out as the dialect lays out failures of its tools.
    fn bad_call(&self, code: ToolCode, message: String) -> BadCall {
        let plain = self.dialect.tools.iter().any(|entry| entry.layout.is_some());
        BadCall { code, text: plain.then(|| message.as_str().into()), message }
    }
}

impl Toolbox for ToolSet {
    fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    fn resolve(&self, name: &str, args: &RawValue) -> Result<ResolvedCall, BadCall> {
        if let Some(other) = self.others.iter().find(|other| other.spec.name == name) {
            crate::args::object(args.get())
                .map_err(|bad| self.bad_call(ToolCode::InvalidInput, bad.to_string()))?;
            let tool = other.tool.clone();
            return Ok(ResolvedCall { effects: tool.effects(args), tool, args: args.to_owned() });
        }
        let entry = self.entry(name)?;
        let def = def(entry.kind);
        let canonical = entry.arguments(def, args.get()).map_err(|bad| {
            let message = format!("{bad}. Fields of `{}`: {}", entry.name, entry.listed(def));
            self.bad_call(ToolCode::InvalidInput, message)
        })?;
        let canonical = match self.spelling {
            Some(here) => spelled(canonical, here),
            None => canonical,
        };
        let canonical = RawValue::from_string(canonical).expect("canonical arguments are JSON");
        let found = self.tools.iter().find(|(entry, _)| entry.kind == def.kind);
        let (shown, tool) = found.cloned().expect("`entry` finds only tools that are offered");
        let effects = tool.effects(&canonical);
        let tool = match shown.layout {
            None => tool,
            Some(layout) => {
                let asked = crate::args::object(args.get()).unwrap_or_default();
                Arc::new(LaidOut { tool, layout, asked })
            }
        };
        Ok(ResolvedCall { tool, args: canonical, effects })
    }

    fn refuse(&self, code: ToolCode, message: String) -> ToolOutput {
        self.bad_call(code, message).into()
    }

    fn look(&self, path: &Path) -> PathFacts {
        lookup::look(path)
    }
}

/// Spells the path of a call as the platform does, before anybody judges it.
fn spelled(args: String, here: Platform) -> String {
    let mut map = crate::args::object(&args).expect("canonical arguments are an object");
    let Some(Value::String(path)) = map.get_mut("path") else { return args };
    let native = spelling::native(path, here);
    if native == *path {
        return args;
    }
    *path = native;
    Value::Object(map).to_string()
}

/// A tool whose results are laid out as the dialect wants them.
struct LaidOut {
    tool: Arc<dyn Tool>,
    layout: Layout,
    asked: Map<String, Value>,
}

impl Tool for LaidOut {
    fn kind(&self) -> Option<ToolKind> {
        self.tool.kind()
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        self.tool.effects(args)
    }

    fn preview<'a>(&'a self, args: &'a RawValue) -> BoxFuture<'a, Preview> {
        self.tool.preview(args)
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { (self.layout)(&self.asked, self.tool.run(cx, args).await) })
    }
}

fn def(kind: ToolKind) -> &'static ToolDef {
    DEFS.iter().find(|def| def.kind == kind).expect("every tool is in the table")
}

fn make(kind: ToolKind, env: &Arc<ToolEnv>, seen: &Arc<Seen>, processes: &Arc<Processes>) -> Arc<dyn Tool> {
    let env = env.clone();
    match kind {
        ToolKind::Read => Arc::new(read::Read::new(env, seen.clone())),
        ToolKind::Write => Arc::new(write::Write::new(env, seen.clone())),
        ToolKind::Edit => Arc::new(edit::Edit::new(env, seen.clone())),
        ToolKind::MultiEdit => Arc::new(multi_edit::MultiEdit::new(env, seen.clone())),
        ToolKind::Patch => Arc::new(patch::Patch::new(env, seen.clone())),
        ToolKind::Glob => Arc::new(glob::Glob::new(env)),
        ToolKind::Grep => Arc::new(grep::Grep::new(env)),
        ToolKind::Ls => Arc::new(ls::Ls::new(env)),
        ToolKind::Bash => Arc::new(bash::Bash::new(env, processes.clone())),
        ToolKind::Fetch => Arc::new(fetch::Fetch::new(env)),
        ToolKind::Todo => Arc::new(todo::Todo::new(env)),
        ToolKind::Task => Arc::new(task::Task::new(env)),
    }
}

#[cfg(test)]
mod tests;
