//! How a turn ends.

use crate::failure::ProviderFailure;
use crate::provider::StopReason;

/// The one way a turn ended. The exit code is a function of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model ended it.
    Completed(StopReason),
    /// Somebody cancelled it.
    Cancelled(CancelCause),
    /// The provider failed.
    Failed(ProviderFailure),
    /// The reader of the output is gone.
    OutputClosed,
    /// The session could not be saved, and saving was required.
    NotSaved(String),
}

/// Who cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelCause {
    /// Ctrl-C, or a protocol's cancel request.
    User,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    Hangup,
}
