//! The system prompt of a run, in its parts.

use std::sync::Arc;

use zori_contract::failure::Failure;

use crate::args::LowArgs;
use crate::base::Base;
use crate::config::Config;
use crate::error::SETTING_INVALID;
use crate::instructions::Instructions;
use crate::trust::Standing;

/// Puts it together: what the user says, the project's where the folder is trusted, and the guidelines.
pub(super) fn gather(
    args: &LowArgs,
    config: &Config,
    base: Option<&Base>,
    standing: &Standing,
    guidelines: &Instructions,
) -> Result<SystemParts, Failure> {
    let own = match (&args.system_prompt, config.text("system_prompt_file")) {
        (Some(flag), _) => flag.clone(),
        (None, Some(file)) if !file.trim().is_empty() => {
            let path = base.map_or_else(|| file.into(), |base| base.dir().join(file));
            std::fs::read_to_string(&path).map_err(|error| {
                let message = format!("cannot read the system prompt file {}: {error}", path.display());
                Failure::new(&SETTING_INVALID, message)
            })?
        }
        (None, _) => config.text("system_prompt").unwrap_or_default().to_owned(),
    };
    let projects = standing.text("system_prompt").unwrap_or_default();
    Ok(SystemParts { own, others: vec![projects.trim().to_owned(), guidelines.text.clone()] })
}

/// A system prompt in its parts.
#[derive(Clone, Debug, Default)]
pub struct SystemParts {
    /// What the user says.
    pub own: String,
    /// What the project and its guidelines add.
    pub others: Vec<String>,
}

impl SystemParts {
    /// Returns the whole, if there is anything in it.
    pub fn text(&self) -> Option<Arc<str>> {
        let parts = std::iter::once(self.own.trim()).chain(self.others.iter().map(String::as_str));
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n").into())
    }
}
