//! Where commands cannot be confined yet: asked for what it has, this system has nothing; what is required is refused.

use std::path::Path;
use std::sync::Arc;

use zori_contract::failure::Failure;
use zori_core::confine::{Confine, ConfineError, Confined, Denial, Start};

use super::Use;
use crate::error::SANDBOX_UNAVAILABLE;
use crate::settings::Settings;
use crate::ui::Ui;

/// The sandbox of a run: there is none.
pub enum Confinement {}

impl Confinement {
    /// Refuses what is required.
    pub fn start(settings: &Settings) -> Result<Option<Arc<Self>>, Failure> {
        match settings.sandbox.used {
            Use::Off | Use::Auto => Ok(None),
            Use::Required => {
                let message = "a complete sandbox is required, and there is one on Linux only";
                Err(Failure::new(&SANDBOX_UNAVAILABLE, message).hint("do without with `--sandbox off`"))
            }
        }
    }

    /// Returns the private folder.
    pub fn temp(&self) -> &Path {
        match *self {}
    }

    /// Returns what is in force.
    pub fn status(&self) -> String {
        match *self {}
    }

    /// Tidies up.
    pub fn end(&self, _: &mut Ui) {
        match *self {}
    }
}

impl Confine for Confinement {
    fn prepare(&self, _: &Start<'_>) -> Result<Confined, ConfineError> {
        match *self {}
    }

    fn profile(&self, _: &Start<'_>) -> String {
        match *self {}
    }

    fn suspects(&self, _: &Start<'_>, _: i32, _: &str) -> Option<Denial> {
        match *self {}
    }
}
