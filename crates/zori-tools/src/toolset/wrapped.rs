//! Calls whose results are given on otherwise than the tool made them: with a note on what was understood, or laid out for a client.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use zori_core::BoxFuture;
use zori_core::question::Preview;
use zori_core::tool::{Effect, Tool, ToolCx, ToolKind, ToolOutput};

use crate::dialect::layout::Layout;

/// A call that was understood otherwise than it was written; its result says so.
pub(super) struct Mended {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) what: String,
}

impl Tool for Mended {
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
        Box::pin(async move { self.tool.run(cx, args).await.mended(&self.what) })
    }
}

/// A tool whose results are laid out as the dialect wants them.
pub(super) struct LaidOut {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) layout: Layout,
    pub(super) asked: Map<String, Value>,
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
