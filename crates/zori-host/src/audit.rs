//! The audit log of a session's calls.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use zori_core::log::LogError;
use zori_mcp::client::{ServerAudit, ServerRecord};
use zori_redact::Redactor;
use zori_store::{AuditFacts, AuditFile, AuditLog, ServerChange};

use crate::error::HostError;
use crate::settings::SessionSettings;

/// Whether there is an audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditKeeping {
    /// Records are written; if they cannot be, that is said once.
    On,
    /// Nothing runs that cannot be written down.
    Required,
    /// There is no audit log.
    Off,
}

/// What is written down of a session's calls, and where.
#[derive(Clone, Debug)]
pub struct AuditSettings {
    /// Whether there is an audit log.
    pub keeping: AuditKeeping,
    /// The file for the calls of the folder's project; `None` where there is no place for one.
    pub project: Option<PathBuf>,
    /// The file for commands, which must be writable, too, where the log is required.
    pub commands: Option<PathBuf>,
    /// Returns the time since 1970.
    pub now: fn() -> Duration,
}

impl AuditSettings {
    /// There is no audit log.
    pub const OFF: Self =
        Self { keeping: AuditKeeping::Off, project: None, commands: None, now: || Duration::ZERO };
}

/// Returns the log for a session's calls, if there is to be one. Where it is required it must be possible to write it,
/// and the one of commands, before anything runs.
pub(crate) fn open(settings: &SessionSettings) -> Result<Option<AuditLog>, HostError> {
    let AuditSettings { keeping, project, commands, now } = &settings.audit;
    let project = match (project, keeping) {
        (_, AuditKeeping::Off) | (None, AuditKeeping::On) => return Ok(None),
        (None, AuditKeeping::Required) => {
            return Err(HostError::NoAudit("there is no base directory".to_owned()));
        }
        (Some(project), _) => project,
    };
    let mut file = AuditFile::new(project.clone()).durable(settings.storage.durability);
    if *keeping == AuditKeeping::Required {
        let others = || commands.iter().try_for_each(|commands| AuditFile::new(commands.clone()).check());
        file.check().and_then(|()| others()).map_err(|LogError(why)| HostError::NoAudit(why))?;
    }
    let facts = AuditFacts {
        mode: settings.permission.policy.mode.shown().into(),
        cwd: settings.workspace.root.as_path().into(),
        redactor: Redactor::new(settings.model.secrets.clone()),
        now: *now,
    };
    Ok(Some(AuditLog::new(file, facts)))
}

/// Returns what writes down what becomes of MCP servers (EXT-63), beside the records of a session's calls. Where the log is required a
/// record that cannot be written is an error; else the session says that there is none.
pub(crate) fn of_servers(settings: &AuditSettings, redactor: Redactor) -> ServerAudit {
    let AuditSettings { keeping, project, now, .. } = settings.clone();
    let Some(project) = project.filter(|_| keeping != AuditKeeping::Off) else { return Arc::new(|_| Ok(())) };
    let file = Mutex::new(AuditFile::new(project));
    Arc::new(move |record| {
        let ServerRecord { server, action, summary } = *record;
        let change = ServerChange { at: now(), server, action, summary };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        match file.server(&change, &redactor) {
            Err(LogError(why)) if keeping == AuditKeeping::Required => {
                Err(format!("the audit log is required and cannot be written: {why}"))
            }
            _ => Ok(()),
        }
    })
}
