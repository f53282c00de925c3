//! Custom commands and skills of a run: the project's as far as they are approved, then the user's (CUS-1, SK-2).

use std::path::{Path, PathBuf};

use zori_core::secret::Secrets;
use zori_extensions::command_folder::{self, FoundCommands};
use zori_extensions::skill_folder::{self, FoundSkills};
use zori_host::{Extensions, SkillSettings, Skills};

use crate::app::App;
use crate::args::LowArgs;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::trust::ProjectTrust;
use crate::ui::Ui;
use crate::vault;

/// How many skills go along with a prompt by themselves, and how many bytes of the system prompt they have.
const INJECT: u64 = 3;
const CATALOGUE_BYTES: u64 = 4096;

/// Where a run looks.
pub struct Folders<'a> {
    pub data_dir: Option<&'a DataDir>,
    pub home: Option<&'a Path>,
    pub root: &'a Path,
}

/// Gathers what there is, and warns of what cannot be used.
pub fn gather(
    args: &LowArgs,
    config: &Config,
    app: &App,
    folders: &Folders<'_>,
    project_trust: &ProjectTrust,
    secrets: &Secrets,
    ui: &mut Ui,
) -> Extensions {
    let (project_commands, project_skills) = match args.settings.sources.project {
        true => project_trust.extensions(),
        false => Default::default(),
    };
    let mut commands = FoundCommands { commands: project_commands, warnings: Vec::new() };
    let mut skills = FoundSkills { skills: project_skills, warnings: Vec::new() };
    if let Some(data_dir) = folders.data_dir.filter(|_| args.settings.sources.user) {
        commands.extend(command_folder::of_user(&data_dir.dir().join("commands")));
        for folder in paths(config, "commands.paths", folders) {
            commands.extend(command_folder::of_user(&folder));
        }
        for found in user_skills(config, folders) {
            skills.extend(found);
        }
    }
    // A built-in command cannot be taken by another one.
    let is_built_in = |name: &str| (app.is_slash_command)(&format!("/{name}"));
    for command in commands.commands.iter().filter(|command| is_built_in(&command.name)) {
        commands.warnings.push(format!(
            "{} is not used: /{} is a command of the program",
            command.file.display(),
            command.name
        ));
    }
    commands.commands.retain(|command| !is_built_in(&command.name));
    let projects = project_trust.extension_warnings();
    projects.chain(&commands.warnings).chain(&skills.warnings).for_each(|why| ui.warn(why));
    let settings = SkillSettings {
        inject: config.count("skills.inject").unwrap_or(INJECT) as usize,
        catalogue_bytes: config.count("skills.catalogue_bytes").unwrap_or(CATALOGUE_BYTES) as usize,
        bare: args.bare || config.flag("cli.bare").unwrap_or(false),
    };
    let resolver = vault::resolver(config, &app.env, secrets.clone());
    let has_secret = move |name: &str| matches!(resolver.find(name), Ok(Some(_)));
    Extensions {
        commands: commands.commands.into(),
        skills: Skills::new(skills.skills, settings, has_secret),
        built_in: true,
        root: folders.root.to_owned(),
        servers: None,
    }
}

/// Returns the user's skills, folder by folder: the base directory's, those that all agents share, and those that the settings name.
pub fn user_skills(config: &Config, folders: &Folders<'_>) -> Vec<FoundSkills> {
    let base = folders.data_dir.map(|data_dir| data_dir.dir().join("skills"));
    let shared = folders.home.map(|home| home.join(".agents").join("skills"));
    let named = paths(config, "skills.paths", folders);
    base.into_iter().chain(shared).chain(named).map(|folder| skill_folder::of_user(&folder)).collect()
}

/// Returns the folders that a setting names; `~/` is the home directory, and what is relative begins at the base directory.
pub fn paths(config: &Config, key: &str, folders: &Folders<'_>) -> Vec<PathBuf> {
    let path = |(text, _): (&str, usize)| match text.strip_prefix("~/") {
        Some(rest) => folders.home.map(|home| home.join(rest)),
        None => Some(match folders.data_dir {
            Some(data_dir) => data_dir.dir().join(text),
            None => PathBuf::from(text),
        }),
    };
    config.list(key).unwrap_or_default().into_iter().filter_map(path).collect()
}
