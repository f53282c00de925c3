//! Runs a tool's synchronous inner work off the async thread: bounded in time, cancelled when dropped, and with
//! a panic turned into a result. Work that waits on the async thread has the same bound.

use std::time::Duration;

use zori_core::cancel::{Cancel, CancelOnDrop};
use zori_core::tool::{ToolCode, ToolOutput};

/// Runs `work` on a blocking thread. When the time is up, or when the returned future is dropped, `cancel` is
/// set; the work polls it and must not change anything after it has seen it set.
pub async fn run(
    cancel: Cancel,
    timeout: Option<Duration>,
    work: impl FnOnce(&Cancel) -> ToolOutput + Send + 'static,
) -> ToolOutput {
    let guard = CancelOnDrop(cancel.clone());
    let inner = cancel.clone();
    let task = tokio::task::spawn_blocking(move || work(&inner));
    let joined = match timeout {
        Some(limit) => match tokio::time::timeout(limit, task).await {
            Ok(joined) => joined,
            Err(_) => {
                drop(guard);
                return timed_out(limit);
            }
        },
        None => task.await,
    };
    match joined {
        Ok(output) => output,
        Err(_) => ToolOutput::failure(ToolCode::Panic, "Tool execution panicked"),
    }
}

/// Waits for work on the async thread, for no longer than this.
pub async fn within(limit: Option<Duration>, work: impl Future<Output = ToolOutput>) -> ToolOutput {
    match limit {
        Some(limit) => tokio::time::timeout(limit, work).await.unwrap_or_else(|_| timed_out(limit)),
        None => work.await,
    }
}

fn timed_out(limit: Duration) -> ToolOutput {
    ToolOutput::failure(
        ToolCode::Timeout,
        format!("Tool execution timed out after {} seconds", limit.as_secs()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    #[test]
    fn a_panic_becomes_a_result() {
        let output = block_on(run(Cancel::new(), None, |_| panic!("boom")));
        assert_eq!(
            output.envelope.get(),
            r#"{"ok":false,"error":{"code":"panic","message":"Tool execution panicked"}}"#
        );
    }

    #[test]
    fn a_slow_call_is_cut_and_told_to_stop() {
        let output = block_on(run(Cancel::new(), Some(Duration::from_secs(0)), |cancel| {
            while !cancel.is_cancelled() {
                std::thread::yield_now();
            }
            ToolOutput::success("{}")
        }));
        assert_eq!(
            output.envelope.get(),
            r#"{"ok":false,"error":{"code":"timeout","message":"Tool execution timed out after 0 seconds"}}"#
        );
    }
}
