//! Sub-agents that somebody described: in `--agents`, in `initialize`, or in files with front matter.
//!
//! A description becomes a kind of the engine's when a session begins, in `zori-host`. JSON is read in `zori-serve`, a file in `agents/file.rs`, folders in `agents/folder.rs`.

pub mod file;
pub mod folder;

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_host::AgentDescription;
use zori_serve::claude::agents::{self, ReadAgents};

use crate::args::LowArgs;
use crate::config::Config;
use crate::extensions::{self, Folders};
use crate::trust::ProjectTrust;
use crate::ui::Ui;

/// Returns the sub-agents of a run: the caller's, then the project's if the folder is trusted, then the user's. Warns about
/// those it cannot use.
pub fn gather(
    args: &LowArgs,
    config: &Config,
    folders: &Folders<'_>,
    project_trust: &ProjectTrust,
    ui: &mut Ui,
) -> Result<Vec<AgentDescription>, Failure> {
    let mut agents = Vec::new();
    if let Some(text) = &args.settings.agents {
        let invalid = |why: String| Failure::new(&VALIDATION_ERROR, format!("`--agents`: {why}"));
        let value = serde_json::from_str(text).map_err(|error| invalid(format!("it is no JSON: {error}")))?;
        let ReadAgents { agents: described, remarks } = agents::read(&value).map_err(invalid)?;
        remarks.iter().for_each(|why| ui.warn(why));
        agents.extend(described);
    }
    let (project_agents, warnings) = project_trust.agents();
    agents.extend(project_agents);
    warnings.iter().for_each(|why| ui.warn(why));
    if let Some(data_dir) = folders.data_dir.filter(|_| args.settings.sources.user) {
        let named = extensions::paths(config, "agents.paths", folders);
        for folder in std::iter::once(data_dir.agents()).chain(named) {
            let (user_agents, warnings) = folder::read_user_agents(&folder);
            agents.extend(user_agents);
            warnings.iter().for_each(|why| ui.warn(why));
        }
    }
    Ok(agents)
}
