//! `/project` and `/agent`: settings that the user gave a name (UI-13, UI-14).

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_providers::agent_zero::NAME;

use super::{Next, Reopen};
use crate::chat::Chat;
use zori_setup::agent_zero::project::{self, ActiveNames};
use zori_setup::args::OverlayArgs;
use zori_setup::config::Config;
use zori_setup::data_dir::DataDir;
use zori_setup::environment::Environment;

/// Shows the projects, or goes on with another one, in a new session.
pub(super) fn project(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let (known, now) = (project::names(&config(chat)?, "projects"), &chat.plain.run.names.project);
    let name = rest;
    if name.is_empty() || name == now {
        projects(now, &known).iter().for_each(|line| chat.cx.ui.say(line));
        return Ok(Next::Done);
    }
    if !known.iter().any(|known| known == name) {
        return Err(project::unknown(name, &known));
    }
    Ok(Next::Reopen(Reopen::Project(name.to_owned())))
}

/// Shows the agent profiles, or tells the server's agent the words of another one. The conversation goes on.
pub(super) fn agent(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let Some(setup) = &chat.plain.run.agent_zero else {
        return Err(not_agent_zero(chat.plain.host.settings.model.facts.name, "an agent profile"));
    };
    let ActiveNames { project, agent: now } = &chat.plain.run.names;
    let config = with_project(config(chat)?, project)?;
    let name = rest;
    if name.is_empty() || name == now {
        let known = project::names(&config, "agent_profiles");
        profiles(now, &known).iter().for_each(|line| chat.cx.ui.say(line));
        return Ok(Next::Done);
    }
    let words = project::profile_prompt(&config, name)?;
    let told = match setup.preface.set_profile(name, words) {
        true => "the server is told with the next prompt",
        false => "the server is not told, because `context.mode` or `context.enabled` says so",
    };
    chat.cx.ui.say(&format!("Agent: {name}; {told}"));
    chat.plain.run.names.agent = name.to_owned();
    for args in [&mut chat.args, &mut chat.typed].into_iter().flatten() {
        args.overlay.agent = Some(name.to_owned());
    }
    Ok(Next::Done)
}

/// Returns the error for something that only an Agent Zero server knows.
pub(super) fn not_agent_zero(here: &str, what: &str) -> Failure {
    let message = format!("{what} is for an Agent Zero server; this provider is `{here}`");
    Failure::new(&VALIDATION_ERROR, message).hint(format!("`/provider {NAME}` goes on with one"))
}

/// What is known of them while a turn has the session.
pub struct Known {
    base: Option<DataDir>,
    names: ActiveNames,
    provider: &'static str,
    /// Whether the provider is an Agent Zero server.
    server: bool,
}

impl Known {
    pub fn of(chat: &Chat<'_, '_>) -> Self {
        let (run, model) = (&chat.plain.run, &chat.plain.host.settings.model);
        let (base, names) = (run.base.clone(), run.names.clone());
        Self { base, names, provider: model.facts.name, server: run.agent_zero.is_some() }
    }

    /// Shows the projects.
    pub fn projects(&self) -> Result<Vec<String>, Failure> {
        Ok(projects(&self.names.project, &project::names(&read(self.base.as_ref())?, "projects")).into())
    }

    /// Shows the agent profiles.
    pub fn profiles(&self) -> Result<Vec<String>, Failure> {
        if !self.server {
            return Err(not_agent_zero(self.provider, "an agent profile"));
        }
        let config = with_project(read(self.base.as_ref())?, &self.names.project)?;
        Ok(profiles(&self.names.agent, &project::names(&config, "agent_profiles")).into())
    }
}

fn projects(now: &str, known: &[String]) -> [String; 2] {
    [format!("Project: {now}"), list("/project NAME", known)]
}

fn profiles(now: &str, known: &[String]) -> [String; 2] {
    [format!("Agent: {now}"), list("/agent NAME", known)]
}

/// Reads the settings anew.
pub(super) fn config(chat: &Chat<'_, '_>) -> Result<Config, Failure> {
    read(chat.plain.run.base.as_ref())
}

fn read(base: Option<&DataDir>) -> Result<Config, Failure> {
    match base {
        Some(base) => base.read_config(),
        None => Ok(Config::default()),
    }
}

/// Lays a project over the settings: it may have agent profiles of its own.
fn with_project(config: Config, project: &str) -> Result<Config, Failure> {
    let chosen = OverlayArgs { project: Some(project.to_owned()), agent: None };
    project::overlaid(config, &Environment::default(), &chosen)
}

fn list(usage: &str, known: &[String]) -> String {
    format!("`{usage}` goes on with another one; there are: {}", known.join(", "))
}
