//! Calls whose results are given on otherwise than the tool made them: with a note on what was understood, or laid out for a client.

use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::question::Preview;
use zori_core::tool::{Effect, Tool, ToolCx, ToolKind, ToolOutput};

/// A tool, and what becomes of its results.
pub(super) struct Wrapped<F> {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) changed: F,
}

impl<F: Fn(ToolOutput) -> ToolOutput + Send + Sync> Tool for Wrapped<F> {
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
        Box::pin(async move { (self.changed)(self.tool.run(cx, args).await) })
    }
}
