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
    tools: Vec<Arc<dyn Tool>>,
    processes: Arc<Processes>,
}

impl ToolSet {
    /// Makes the tools the dialect shows.
    pub fn new(env: Arc<ToolEnv>, dialect: &'static Dialect) -> Self {
        let seen = Arc::new(Seen::default());
        let processes = Arc::new(Processes::new(env.temp_parent.clone()));
        let make = |entry: &Entry| make(entry.kind, &env, &seen, &processes);
        Self {
            dialect,
            specs: dialect.tools.iter().map(|entry| entry.spec(def(entry.kind))).collect(),
            tools: dialect.tools.iter().map(make).collect(),
            processes,
        }
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
        if let Some(entry) = self.dialect.find(name) {
            return Ok(entry);
        }
        let others = dialect::ALL.iter().filter_map(|dialect| dialect.find(name));
        let mut others = others.filter(|entry| self.dialect.shows(entry.kind).is_some());
        if let Some(entry) = others.next()
            && others.all(|other| other.kind == entry.kind)
        {
            return Ok(entry);
        }
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        let known = dialect::ALL.iter().any(|dialect| dialect.unbuilt.contains(&name));
        let what = if known { "is not available here" } else { "is not a tool" };
        let message = format!("`{name}` {what}; the tools are {}", names.join(", "));
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
        let entry = self.entry(name)?;
        let def = def(entry.kind);
        let canonical = entry.arguments(def, args.get()).map_err(|bad| {
            let message = format!("{bad}. Fields of `{}`: {}", entry.name, entry.listed(def));
            self.bad_call(ToolCode::InvalidInput, message)
        })?;
        let canonical = RawValue::from_string(canonical).expect("canonical arguments are JSON");
        let at = self.dialect.tools.iter().position(|entry| entry.kind == def.kind);
        let at = at.expect("`entry` finds only tools the dialect shows");
        let tool = self.tools[at].clone();
        let effects = tool.effects(&canonical);
        let tool = match self.dialect.tools[at].layout {
            None => tool,
            Some(layout) => {
                let asked = crate::args::object(args.get()).unwrap_or_default();
                Arc::new(LaidOut { tool, layout, asked })
            }
        };
        Ok(ResolvedCall { tool, args: canonical, effects })
    }

    fn look(&self, path: &Path) -> PathFacts {
        lookup::look(path)
    }
}

/// A tool whose results are laid out as the dialect wants them.
struct LaidOut {
    tool: Arc<dyn Tool>,
    layout: Layout,
    asked: Map<String, Value>,
}

impl Tool for LaidOut {
    fn kind(&self) -> ToolKind {
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
