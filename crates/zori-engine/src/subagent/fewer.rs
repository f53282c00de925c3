//! A session's tools with some left out: what is left out is neither shown to the model nor run.

use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::permission::PathFacts;
use zori_core::tool::{BadCall, ResolvedCall, ToolCode, ToolKind, ToolOutput, ToolSpec, Toolbox};

/// The tools without the one that starts sub-agents.
pub struct WithoutTask(Fewer);

impl WithoutTask {
    /// Leaves `task` out, whatever it is called there.
    pub fn new(toolbox: Arc<dyn Toolbox>) -> Self {
        let is_task = |spec: &ToolSpec| {
            let args = RawValue::from_string(r#"{"description":"","prompt":""}"#.to_owned());
            let args = args.expect("it is JSON");
            toolbox.resolve(&spec.name, &args).is_ok_and(|call| call.tool.kind() == Some(ToolKind::Task))
        };
        let specs = toolbox.specs().iter().filter(|spec| !is_task(spec)).cloned().collect();
        Self(Fewer { toolbox, specs })
    }
}

/// Only the tools of these names.
pub(super) struct Only(Fewer);

impl Only {
    /// Leaves all others out.
    pub(super) fn new(toolbox: Arc<dyn Toolbox>, names: &[String]) -> Self {
        let specs = toolbox.specs().iter().filter(|spec| names.contains(&spec.name)).cloned().collect();
        Self(Fewer { toolbox, specs })
    }
}

struct Fewer {
    toolbox: Arc<dyn Toolbox>,
    specs: Arc<[ToolSpec]>,
}

impl Fewer {
    fn refused(&self, message: String) -> BadCall {
        let text = self.toolbox.refuse(ToolCode::UnknownTool, message.clone()).text;
        BadCall { code: ToolCode::UnknownTool, text, message }
    }
}

impl Toolbox for WithoutTask {
    fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.0.specs
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

    fn look(&self, path: &Path) -> PathFacts {
        self.0.toolbox.look(path)
    }
}

impl Toolbox for Only {
    fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.0.specs
    }

    /// A tool is called by its own name here: another dialect's might lead to one that is left out.
    fn resolve(&self, name: &str, args: &RawValue) -> Result<ResolvedCall, BadCall> {
        if self.0.specs.iter().any(|spec| spec.name == name) {
            return self.0.toolbox.resolve(name, args);
        }
        let names: Vec<_> = self.0.specs.iter().map(|spec| spec.name.as_str()).collect();
        let there = match names.is_empty() {
            true => "it has no tools".to_owned(),
            false => format!("its tools are {}", names.join(", ")),
        };
        Err(self.0.refused(format!("`{name}` is not available to this sub-agent; {there}")))
    }

    fn refuse(&self, code: ToolCode, message: String) -> ToolOutput {
        self.0.toolbox.refuse(code, message)
    }

    fn look(&self, path: &Path) -> PathFacts {
        self.0.toolbox.look(path)
    }
}
