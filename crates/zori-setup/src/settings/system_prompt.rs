//! The system prompt of a run, in its parts.

use std::path::Path;

use zori_contract::failure::Failure;
use zori_core::time::Clock;
use zori_host::{SystemClock, SystemParts};

use super::built_in_prompt::{PromptFacts, branch};
use crate::app::App;
use crate::args::LowArgs;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::error::SETTING_INVALID;
use crate::instructions::Instructions;
use crate::trust::ProjectTrust;

/// Puts it together: what the user says in place of the built-in one, the project's where the folder is trusted, and the
/// guidelines.
pub(super) fn gather(
    app: &App,
    root: &Path,
    args: &LowArgs,
    config: &Config,
    data_dir: Option<&DataDir>,
    project_trust: &ProjectTrust,
    guidelines: &Instructions,
) -> Result<SystemParts, Failure> {
    let own = match (&args.prompt.system, config.text("system_prompt_file")) {
        (Some(flag), _) => flag.clone(),
        (None, Some(file)) if !file.trim().is_empty() => {
            let path = data_dir.map_or_else(|| file.into(), |data_dir| data_dir.dir().join(file));
            std::fs::read_to_string(&path).map_err(|error| {
                let message = format!("cannot read the system prompt file {}: {error}", path.display());
                Failure::new(&SETTING_INVALID, message)
            })?
        }
        (None, _) => match config.text("system_prompt") {
            Some(text) => text.to_owned(),
            None if app.profile.built_in_prompt => {
                let (branch, now) = (branch(root), SystemClock::new().now());
                let shell = app.env.shell(app.profile).name();
                PromptFacts { directory: root, shell, now, branch }.prompt()
            }
            None => String::new(),
        },
    };
    let projects = project_trust.text("system_prompt").unwrap_or_default();
    Ok(SystemParts { own, others: vec![projects.trim().to_owned(), guidelines.text.clone()] })
}
