//! A future whose panic is a value, so that one broken tool does not take the program down (TOOL-8).

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use zori_core::BoxFuture;
use zori_core::tool::{ToolCode, ToolOutput};

/// A tool's run. After a panic it is never polled again.
pub(crate) struct Caught<'a>(pub(crate) BoxFuture<'a, ToolOutput>);

impl Future for Caught<'_> {
    type Output = ToolOutput;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ToolOutput> {
        catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx)))
            .unwrap_or_else(|_| Poll::Ready(ToolOutput::failure(ToolCode::Panic, "Tool execution panicked")))
    }
}
