//! The policy of a run: gathered from flags, settings, the project and the machine.

use std::path::{Path, PathBuf};

use zori_contract::failure::Failure;
use zori_policy::Policy;

use super::root;
use crate::agent_zero;
use crate::app::App;
use crate::args::LowArgs;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::permissions::{self, PolicySources, ResolvedPolicy};
use crate::trust;
use crate::trust::project::Project;
use crate::trust::store::TrustState;

/// Returns the policy that the calls of a server's agent have here.
pub fn policy_of_remote_agent(app: &App, args: &LowArgs) -> Result<Policy, Failure> {
    Ok(policy_with(app, args, true)?.0.policy)
}

/// Returns the policy of this machine and folder, for commands that run nothing, and the home directory.
pub fn policy(app: &App, args: &LowArgs) -> Result<(ResolvedPolicy, Option<PathBuf>), Failure> {
    policy_with(app, args, false)
}

pub(super) fn policy_with(
    app: &App,
    args: &LowArgs,
    remote_agent: bool,
) -> Result<(ResolvedPolicy, Option<PathBuf>), Failure> {
    let data_dir = app.data_dir().ok();
    let config = match &data_dir {
        Some(data_dir) => data_dir.read_config()?,
        None => Config::default(),
    };
    let config = agent_zero::project::overlaid(config, &app.env, &args.overlay)?;
    let (home, root) = (app.env.home(), root(args)?);
    let (project, state) = trust::load_project(data_dir.as_ref(), &root)?;
    let place = RunFolders { data_dir: data_dir.as_ref(), root: &root, home: home.as_deref() };
    let untrusted = state == Some(TrustState::Untrusted);
    let gathered = permissions(app, args, &config, place, &project, (untrusted, remote_agent))?;
    Ok((gathered, home))
}

/// Where a run is.
pub(super) struct RunFolders<'a> {
    pub(super) data_dir: Option<&'a DataDir>,
    pub(super) root: &'a Path,
    pub(super) home: Option<&'a Path>,
}

pub(super) fn permissions(
    app: &App,
    args: &LowArgs,
    config: &Config,
    place: RunFolders<'_>,
    project: &Project,
    (untrusted, remote_agent): (bool, bool),
) -> Result<ResolvedPolicy, Failure> {
    let RunFolders { data_dir, root, home } = place;
    permissions::gather(PolicySources {
        args,
        config,
        managed: app.managed_config(),
        data_dir,
        root,
        project,
        untrusted,
        remote_agent,
        home,
        real_home: app.env.real_home(),
        shell_variable: agent_zero::flag_variable(&app.env, permissions::SHELL_VARIABLE),
        mode_variable: permissions::mode_variable(&app.env),
        programs: app.env.search_path(),
    })
}
