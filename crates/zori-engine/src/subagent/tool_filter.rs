//! A toolbox without some of its tools: the model neither sees those nor can run them.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;
use zori_core::permission::{EntryKind, PathFacts};
use zori_core::tool::{BadCall, ResolvedCall, ToolCode, ToolKind, ToolOutput, ToolSpec, Toolbox};

/// A toolbox without the tool that starts sub-agents.
pub struct WithoutTask(FilteredToolbox);

impl WithoutTask {
    /// Removes the `task` tool, by its kind: dialects name it differently.
    pub fn new(toolbox: Arc<dyn Toolbox>) -> Self {
        Self(FilteredToolbox::new(toolbox, Box::new(|toolbox, spec| !is_task(toolbox, spec))))
    }
}

fn is_task(toolbox: &dyn Toolbox, spec: &ToolSpec) -> bool {
    let args = RawValue::from_string(r#"{"description":"","prompt":""}"#.to_owned());
    let args = args.expect("it is JSON");
    toolbox.resolve(&spec.name, &args).is_ok_and(|call| call.tool.kind() == Some(ToolKind::Task))
}

/// A toolbox with only the named tools.
pub(super) struct OnlyTools(FilteredToolbox);

impl OnlyTools {
    /// Removes all tools but these.
    pub(super) fn new(toolbox: Arc<dyn Toolbox>, names: &[String]) -> Self {
        let names = names.to_vec();
        Self(FilteredToolbox::new(toolbox, Box::new(move |_, spec| names.contains(&spec.name))))
    }
}

/// Whether a tool stays.
type Filter = Box<dyn Fn(&dyn Toolbox, &ToolSpec) -> bool + Send + Sync>;

/// Tools as they were at some time, and what stays of them.
type Grown = (Arc<[ToolSpec]>, Arc<[ToolSpec]>);

/// So many times the tools may come to be others: each of the listing's reasons, before MCP servers and after.
const GROWTHS: usize = 16;

struct FilteredToolbox {
    toolbox: Arc<dyn Toolbox>,
    filter: Filter,
    /// The tools there were at first, and what stays of them.
    all: Arc<[ToolSpec]>,
    specs: Arc<[ToolSpec]>,
    /// What stays of the tools once there are more, with what those were: those for background jobs come with the first job, those
    /// of MCP servers with the first prompt.
    grown: [OnceLock<Grown>; GROWTHS],
}

impl FilteredToolbox {
    fn new(toolbox: Arc<dyn Toolbox>, filter: Filter) -> Self {
        let all = toolbox.specs().clone();
        let specs = all.iter().filter(|spec| filter(&*toolbox, spec)).cloned().collect();
        Self { toolbox, filter, all, specs, grown: Default::default() }
    }

    fn specs(&self) -> &Arc<[ToolSpec]> {
        let now = self.toolbox.specs();
        if Arc::ptr_eq(now, &self.all) {
            return &self.specs;
        }
        for slot in &self.grown {
            let (of, stays) = slot.get_or_init(|| {
                let stays = now.iter().filter(|spec| (self.filter)(&*self.toolbox, spec)).cloned().collect();
                (now.clone(), stays)
            });
            if Arc::ptr_eq(of, now) {
                return stays;
            }
        }
        &self.specs
    }

    fn refused(&self, message: String) -> BadCall {
        let text = self.toolbox.refuse(ToolCode::UnknownTool, message.clone()).text;
        BadCall { code: ToolCode::UnknownTool, text, message }
    }
}

impl Toolbox for WithoutTask {
    fn specs(&self) -> &Arc<[ToolSpec]> {
        self.0.specs()
    }

    fn resolve(&self, name: &str, args: &RawValue) -> Result<ResolvedCall, BadCall> {
        let call = self.0.toolbox.resolve(name, args)?;
        if call.tool.kind() != Some(ToolKind::Task) {
            return Ok(call);
        }
        let message = format!("`{name}` is not available here: no further sub-agent may be started");
        Err(self.0.refused(message))
    }

    fn refuse(&self, code: ToolCode, message: String) -> ToolOutput {
        self.0.toolbox.refuse(code, message)
    }

    fn small_file(&self, path: &Path) -> Option<String> {
        self.0.toolbox.small_file(path)
    }

    fn folder_names(&self, folder: &Path) -> Option<Vec<(OsString, EntryKind)>> {
        self.0.toolbox.folder_names(folder)
    }

    fn plain(&self, name: &str, envelope: &RawValue) -> Option<Arc<str>> {
        self.0.toolbox.plain(name, envelope)
    }

    fn path_facts(&self, path: &Path) -> PathFacts {
        self.0.toolbox.path_facts(path)
    }
}

impl Toolbox for OnlyTools {
    fn specs(&self) -> &Arc<[ToolSpec]> {
        self.0.specs()
    }

    /// Accepts only names from the specs: another dialect's name could resolve to a tool that was removed.
    fn resolve(&self, name: &str, args: &RawValue) -> Result<ResolvedCall, BadCall> {
        if self.0.specs().iter().any(|spec| spec.name == name) {
            return self.0.toolbox.resolve(name, args);
        }
        let names: Vec<_> = self.0.specs().iter().map(|spec| spec.name.as_str()).collect();
        let there = match names.is_empty() {
            true => "it has no tools".to_owned(),
            false => format!("its tools are {}", names.join(", ")),
        };
        Err(self.0.refused(format!("`{name}` is not available to this sub-agent; {there}")))
    }

    fn refuse(&self, code: ToolCode, message: String) -> ToolOutput {
        self.0.toolbox.refuse(code, message)
    }

    fn small_file(&self, path: &Path) -> Option<String> {
        self.0.toolbox.small_file(path)
    }

    fn folder_names(&self, folder: &Path) -> Option<Vec<(OsString, EntryKind)>> {
        self.0.toolbox.folder_names(folder)
    }

    fn plain(&self, name: &str, envelope: &RawValue) -> Option<Arc<str>> {
        self.0.toolbox.plain(name, envelope)
    }

    fn path_facts(&self, path: &Path) -> PathFacts {
        self.0.toolbox.path_facts(path)
    }
}
