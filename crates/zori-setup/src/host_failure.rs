//! What the host refuses, as failures of this program: the kinds, and the ways out that a command line has.

use zori_contract::error::{IO_ERROR, LOCK_HELD, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_host::{HostError, ModeError, ModelError};

use crate::error::{AUDIT_UNUSABLE, BASE_UNUSABLE, SANDBOX_UNAVAILABLE, SETTING_INVALID};

/// Returns the failure for a session that cannot be opened.
pub fn of_session(error: HostError) -> Failure {
    let message = error.to_string();
    match error {
        HostError::Locked { pid, lock_file, .. } => {
            let mut failure = Failure::new(&LOCK_HELD, message)
                .context("lock_file", lock_file.display().to_string())
                .context("holder_pid", pid)
                .hint("end that process, or leave `--session` out to start another session");
            failure.facts.retry_after_ms = Some(1_000);
            failure
        }
        HostError::CannotSave(_) => {
            Failure::new(&IO_ERROR, message).hint("`session_required` is set in the config file")
        }
        HostError::Unreadable { .. } => Failure::new(&BASE_UNUSABLE, message),
        HostError::NoSandbox { advice, .. } => {
            let failure = Failure::new(&SANDBOX_UNAVAILABLE, message);
            advice.into_iter().fold(failure, Failure::hint)
        }
        HostError::NoAudit(_) => Failure::new(&AUDIT_UNUSABLE, message)
            .hint("`audit` is \"required\" in the config file; \"on\" goes on without it and says so"),
    }
}

/// Returns the failure for a mode that may not hold.
pub fn of_mode(error: ModeError) -> Failure {
    error.hints().into_iter().fold(Failure::new(&SETTING_INVALID, error.to_string()), Failure::hint)
}

/// Returns the failure for a model that cannot be used.
pub fn of_model(error: ModelError) -> Failure {
    let kind = if error.is_of_this_session() { &VALIDATION_ERROR } else { &SETTING_INVALID };
    error.hints().into_iter().fold(Failure::new(kind, error.to_string()), Failure::hint)
}
