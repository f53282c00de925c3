//! What is captured of a session, from flags, environment and config file (UNDO-43).

use std::path::Path;
use std::time::Duration;

use zori_contract::error::{IO_ERROR, LOCK_HELD};
use zori_contract::failure::Failure;
use zori_host::{Retention, TreeLimits, UndoFailure, UndoSettings};
use zori_store::StoreError;

use crate::config::Config;
use crate::data_dir::DataDir;
use crate::error::{BASE_UNUSABLE, NOTHING_TO_UNDO, SESSION_NOT_FOUND, UNDO_OFF};

/// Returns what is captured in a folder. `off`: the caller wants nothing captured.
pub fn settings(
    config: &Config,
    data_dir: Option<&DataDir>,
    root: &Path,
    off: bool,
    bare: bool,
) -> UndoSettings {
    let wanted = !off && config.flag("undo.checkpoints").unwrap_or(true);
    let Some(data_dir) = data_dir.filter(|_| wanted) else { return UndoSettings::off() };
    let project = data_dir.project_root(root);
    let TreeLimits { max_file, max_files, max_copied, max_session } = UndoSettings::LIMITS;
    let mib = |key, default: u64| config.count(key).map_or(default, |count| count << 20);
    let retention = UndoSettings::RETENTION;
    let hours = |key, each: u64, default| {
        config.count(key).map_or(default, |count| Duration::from_secs(count * each * 60 * 60))
    };
    UndoSettings {
        dir: Some(data_dir.project_undo(&project)),
        root: project,
        inline: bare,
        required: config.flag("undo.required").unwrap_or(false),
        max_wait: config.count("undo.max_wait_ms").map_or(UndoSettings::MAX_WAIT, Duration::from_millis),
        limits: TreeLimits {
            max_file: mib("undo.max_file_mb", max_file),
            max_files: config.count("undo.max_files").map_or(max_files, |count| count as usize),
            max_copied: mib("undo.max_baseline_mb", max_copied),
            max_session: mib("undo.max_total_mb", max_session),
        },
        retention: Retention {
            keep: hours("undo.keep_days", 24, retention.keep),
            keep_sensitive: hours("undo.sensitive_hours", 1, retention.keep_sensitive),
            max_total: mib("undo.max_total_mb", retention.max_total),
        },
        audit: crate::audit::settings(config, Some(data_dir), root),
        now: crate::audit::now,
    }
}

/// Returns the failure for an undo that cannot be done (UNDO-41).
pub fn failure(error: UndoFailure) -> Failure {
    let message = error.to_string();
    match error {
        UndoFailure::Off(_) => Failure::new(&UNDO_OFF, message).hint(
            "a saved session without `--no-checkpoints` can be undone; `undo.checkpoints` is the setting",
        ),
        UndoFailure::NoTurn(_) | UndoFailure::NoPrompt => {
            Failure::new(&SESSION_NOT_FOUND, message).hint("`zori undo --list` shows the turns")
        }
        UndoFailure::Nothing | UndoFailure::NothingToRedo => Failure::new(&NOTHING_TO_UNDO, message),
        UndoFailure::Running | UndoFailure::Files(zori_host::UndoError::Busy) => {
            Failure::new(&LOCK_HELD, message)
        }
        UndoFailure::Files(zori_host::UndoError::Unsafe { .. }) => Failure::new(&UNDO_OFF, message),
        UndoFailure::Files(zori_host::UndoError::Io { .. }) => {
            Failure::new(&IO_ERROR, format!("what is kept for undo cannot be used: {message}"))
                .hint("what is in the way there can be moved aside; what it held cannot be undone then")
        }
        UndoFailure::Session(StoreError::Locked { .. }) => {
            Failure::new(&LOCK_HELD, message).hint("undo it there, or end that process")
        }
        UndoFailure::Files(_) | UndoFailure::Session(_) | UndoFailure::Log(_) => {
            Failure::new(&BASE_UNUSABLE, message)
        }
    }
}
