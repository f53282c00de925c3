//! Where commands cannot be confined yet: asked for what it has, this system has nothing; what is required is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_core::confine::{CommandStart, Confine, ConfineError, Confined, Denial, Holding, ServiceAccess};
use zori_core::ids::IdSource;
use zori_policy::paths::Workspace;

use super::{SandboxSettings, SandboxUse};
use crate::error::HostError;
use crate::settings::SessionSettings;

/// The sandbox of a run: there is none.
pub enum Confinement {}

impl Confinement {
    /// Refuses what is required.
    pub(crate) fn start(
        settings: &SessionSettings,
        ids: &dyn IdSource,
    ) -> Result<Option<Arc<Self>>, HostError> {
        let (workspace, temp) = (&settings.permission.policy.workspace, &settings.workspace.temp);
        Self::new(&settings.sandbox, workspace, temp, false, ids)
    }

    /// Refuses what is required, for programs that run without a session.
    pub fn new(
        setting: &SandboxSettings,
        _: &Workspace,
        _: &Path,
        _: bool,
        _: &dyn IdSource,
    ) -> Result<Option<Arc<Self>>, HostError> {
        match setting.used {
            SandboxUse::Off | SandboxUse::Auto => Ok(None),
            SandboxUse::Required => {
                let why = "a complete sandbox is required, and there is one on Linux only".to_owned();
                Err(HostError::NoSandbox { why, advice: Some("do without with `--sandbox off`".to_owned()) })
            }
        }
    }

    /// Returns whether it waits for another mode.
    pub fn stands_by(&self) -> bool {
        match *self {}
    }

    /// Returns the private folder.
    pub(crate) fn temp(&self) -> &Path {
        match *self {}
    }

    /// Returns what is in force.
    pub fn status(&self, _: Holding) -> String {
        match *self {}
    }

    /// Tidies up.
    pub(crate) fn end(&self) -> Option<String> {
        match *self {}
    }
}

impl Confine for Confinement {
    fn prepare(&self, _: &CommandStart<'_>) -> Result<Confined, ConfineError> {
        match *self {}
    }

    fn prepare_service(&self, _: &ServiceAccess<'_>) -> Result<Confined, ConfineError> {
        match *self {}
    }

    fn hides(&self, _: &ServiceAccess<'_>, _: &Path) -> Option<PathBuf> {
        match *self {}
    }

    fn profile(&self, _: &CommandStart<'_>) -> String {
        match *self {}
    }

    fn suspects(&self, _: &CommandStart<'_>, _: i32, _: &str) -> Option<Denial> {
        match *self {}
    }
}
