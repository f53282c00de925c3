//! Turns the panic of a tool into a failed result, so that one broken tool does not end the program (TOOL-8).

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use zori_core::BoxFuture;
use zori_core::tool::{ToolCode, ToolOutput};

/// The future of a tool's run. After a panic it must not be polled again.
pub(crate) struct CatchPanic<'a>(pub(crate) BoxFuture<'a, ToolOutput>);

impl Future for CatchPanic<'_> {
    type Output = ToolOutput;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ToolOutput> {
        catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx)))
            .unwrap_or_else(|_| Poll::Ready(ToolOutput::failure(ToolCode::Panic, "Tool execution panicked")))
    }
}
