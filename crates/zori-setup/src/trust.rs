//! Decides whether a run uses a folder's own settings (`docs/contracts/trust.md`).
//!
//! [`resolve`] is the only entry point. Before anything is contacted or started it reads the folder (`trust/project.rs`) and
//! the decisions (`trust/store.rs`), asks the user if it can (`trust/dialog.rs`), and returns values.

mod dialog;
pub mod project;
pub mod store;

use std::path::Path;

use zori_contract::failure::Failure;
use zori_extensions::command::CustomCommand;
pub use zori_extensions::plain_dir;
use zori_extensions::skill::Skill;
use zori_host::AgentDescription;
use zori_tools::hooks::Hook;

use crate::agent_cx::AgentCx;
use crate::args::LowArgs;
use crate::audit;
use crate::data_dir::DataDir;
use crate::error::{CONFIG_INVALID, SETTING_INVALID};
use crate::signals::Signals;
pub use crate::trust::dialog::{Answer, lines};
use crate::trust::project::{Item, Project, ProjectHook};
use crate::trust::store::{Entry, TrustState, TrustStore};
use crate::ui::Ui;

/// Whether somebody can be asked about a folder.
pub enum TrustDialog<'a> {
    /// The chat at a terminal, which signals may end.
    Person(&'a Signals),
    /// Nobody: a run without a person never trusts by itself (TRUST-7).
    Nobody,
}

/// Which of a folder's settings this run uses.
pub struct ProjectTrust {
    /// The user's decision; `None` if there is none yet.
    pub state: Option<TrustState>,
    /// The folder's config. Its rules that ask or deny apply even if the folder is not trusted.
    pub project: Project,
    /// The hooks that run.
    pub hooks: Vec<Hook>,
    /// The MCP servers of `.mcp.json` that are used.
    pub servers: Vec<String>,
    /// The hashes of what was approved; `None` where everything counts for this run.
    approved: Option<Vec<String>>,
}

impl ProjectTrust {
    /// Returns a setting of the folder, if the folder is trusted.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.project.text(key).filter(|_| self.is_trusted())
    }

    /// Returns the folder's sub-agents that were approved as they are, and the warnings about its agent files, if the folder is trusted.
    pub fn agents(&self) -> (Vec<AgentDescription>, &[String]) {
        if !self.is_trusted() {
            return Default::default();
        }
        let agents = self.project.agents.iter().filter(|(_, digest)| self.is_approved(digest));
        (agents.map(|(agent, _)| agent.clone()).collect(), &self.project.agent_warnings)
    }

    /// Returns the folder's custom commands and skills that were approved as they are.
    pub fn extensions(&self) -> (Vec<CustomCommand>, Vec<Skill>) {
        if !self.is_trusted() {
            return Default::default();
        }
        let Project { commands, skills, .. } = &self.project;
        let commands = commands.iter().filter(|(_, digest)| self.is_approved(digest));
        let skills = skills.iter().filter(|(_, digest)| self.is_approved(digest));
        (
            commands.map(|(command, _)| command.clone()).collect(),
            skills.map(|(skill, _)| skill.clone()).collect(),
        )
    }

    fn is_approved(&self, digest: &String) -> bool {
        self.approved.as_ref().is_none_or(|approved| approved.contains(digest))
    }

    /// Returns the warnings about the folder's commands and skills, if the folder is trusted.
    pub fn extension_warnings(&self) -> impl Iterator<Item = &String> {
        let project = self.is_trusted().then_some(&self.project);
        project.into_iter().flat_map(|found| found.extension_warnings.iter().chain(&found.skill_warnings))
    }

    fn is_trusted(&self) -> bool {
        self.state == Some(TrustState::Trusted)
    }
}

/// Decides which of a folder's settings this run uses. `root` is canonical; the user's own config has been read.
pub fn resolve(
    cx: &mut AgentCx<'_>,
    args: &LowArgs,
    data_dir: Option<&DataDir>,
    root: &Path,
    asks: &TrustDialog<'_>,
) -> Result<ProjectTrust, Failure> {
    let mut project = Project::load(root)?;
    if !args.settings.sources.project {
        (project.agents, project.agent_warnings) = (Vec::new(), Vec::new());
        (project.commands, project.skills) = (Vec::new(), Vec::new());
        project.without_foreign();
    }
    let store = TrustStore::load(data_dir);
    if let Some(error) = &store.load_error {
        cx.ui.warn(error);
    }
    let held = store.effective_entry(root).cloned();
    if args.workspace.trust {
        return trust_for_this_run(cx, data_dir, project, held.map(|entry| entry.state));
    }
    let mut state = held.as_ref().map(|entry| entry.state);
    let mut run: Vec<String> = Vec::new();
    if state != Some(TrustState::Untrusted) && project.insecure.is_none() {
        let entry = held.filter(|entry| entry.state == TrustState::Trusted);
        let new = new_items(&project, entry.as_ref());
        let open = entry.is_none() && project.needs_trust() || !new.is_empty();
        let asked = match (asks, data_dir) {
            (TrustDialog::Person(signals), Some(data_dir)) if open => {
                match dialog::ask(cx.ui, signals, &project, entry.as_ref().map(|_| &new[..])) {
                    Some(answer) => Some(record(data_dir, &project, answer, cx.ui)?),
                    None => None,
                }
            }
            _ => None,
        };
        match (asked, entry) {
            (Some(answered), _) => (state, run) = (Some(answered.state), answered.run),
            (None, Some(entry)) => {
                run = entry.run;
                warn_new(cx, &new);
            }
            (None, None) if open => warn_undecided(cx, &project),
            (None, None) => {}
        }
    }
    warn_insecure(cx, &project);
    let insecure = project.insecure.is_some();
    let state = state.filter(|state| *state == TrustState::Untrusted || !insecure);
    let trusted = state == Some(TrustState::Trusted);
    let counts = |hook: &&ProjectHook| trusted && run.contains(&hook.digest);
    let all = project.servers().filter(|_| trusted);
    let (servers, new): (Vec<_>, Vec<_>) = all.partition(|(_, digest)| run.contains(digest));
    let names = |servers: Vec<(&String, String)>| servers.into_iter().map(|(name, _)| name.clone()).collect();
    warn_new_servers(cx, names(new));
    let servers = names(servers);
    let hooks = project.hooks.iter().filter(counts).map(|hook| project.hook(hook)).collect();
    finish(state, hooks, servers, Some(run), project)
}

/// `--trust-workspace`: everything counts, for this run, and is listed (TRUST-7).
fn trust_for_this_run(
    cx: &mut AgentCx<'_>,
    data_dir: Option<&DataDir>,
    project: Project,
    before: Option<TrustState>,
) -> Result<ProjectTrust, Failure> {
    warn_insecure(cx, &project);
    if project.insecure.is_some() {
        let state = before.filter(|state| *state == TrustState::Untrusted);
        return finish(state, Vec::new(), Vec::new(), Some(Vec::new()), project);
    }
    if project.needs_trust() {
        cx.ui.say("Trusted for this run (`--trust-workspace`):");
        for line in lines(&project.items()) {
            cx.ui.say(&line);
        }
        if let Some(data_dir) = data_dir {
            let digests = project.digests();
            audit::trust(data_dir, project.root(), "trusted", &digests, "flag", cx.ui);
        }
    }
    let hooks = project.hooks.iter().map(|hook| project.hook(hook)).collect();
    let servers = project.servers().map(|(name, _)| name.clone()).collect();
    finish(Some(TrustState::Trusted), hooks, servers, None, project)
}

fn finish(
    state: Option<TrustState>,
    hooks: Vec<Hook>,
    servers: Vec<String>,
    approved: Option<Vec<String>>,
    project: Project,
) -> Result<ProjectTrust, Failure> {
    let project_trust = ProjectTrust { state, project, hooks, servers, approved };
    if !project_trust.is_trusted() {
        return Ok(project_trust);
    }
    if let Some(error) = &project_trust.project.hooks_error {
        // Somebody relies on hooks that cannot be understood.
        return Err(Failure::new(&CONFIG_INVALID, format!("cannot use {error}"))
            .hint("this folder is trusted, and its hooks may guard something; mend or remove the file"));
    }
    Ok(project_trust)
}

/// Stores an answer, and adds it to the audit log.
pub fn record(data_dir: &DataDir, project: &Project, answer: Answer, ui: &mut Ui) -> Result<Entry, Failure> {
    let root = project.root();
    let state = match answer {
        Answer::Trust | Answer::TrustBelow | Answer::TrustNew | Answer::WithoutPrograms => {
            TrustState::Trusted
        }
        Answer::Never => TrustState::Untrusted,
    };
    let Some(new) = Entry::new(root, state) else {
        let message = format!("{} cannot be remembered: its name is not text", root.display());
        return Err(Failure::new(&SETTING_INVALID, message));
    };
    let digests = project.digests();
    let mut written = new.clone();
    store::update(data_dir, root, |old| {
        let old = old.filter(|old| old.state == state).unwrap_or(new);
        let below = old.below || answer == Answer::TrustBelow;
        let (run, skip) = match answer {
            Answer::Trust | Answer::TrustBelow => (digests, Vec::new()),
            // Only the new ones were shown; what was left out before stays so.
            Answer::TrustNew => digests.into_iter().partition(|digest| !old.skip.contains(digest)),
            Answer::WithoutPrograms => {
                // What was approved before and is still there stays approved; commands, skills and sub-agents are no programs.
                let is_text = |digest: &String| {
                    ["agent:", "command:", "skill:"].iter().any(|kind| digest.starts_with(kind))
                };
                let approved = |digest: &String| old.run.contains(digest) || is_text(digest);
                digests.into_iter().partition(approved)
            }
            Answer::Never => (Vec::new(), Vec::new()),
        };
        written = Entry { below, run, skip, ..old };
        Some(written.clone())
    })?;
    audit::trust(data_dir, root, state.as_str(), &written.run, "user", ui);
    Ok(written)
}

/// Returns what the user has not decided about: what is new, and what changed since (TRUST-3).
pub fn new_items(project: &Project, entry: Option<&Entry>) -> Vec<Item> {
    let seen = |digest: &String| entry.is_some_and(|e| e.run.contains(digest) || e.skip.contains(digest));
    project.approvables().into_iter().filter(|(digest, _)| !seen(digest)).map(|(_, item)| item).collect()
}

fn warn_undecided(cx: &mut AgentCx<'_>, project: &Project) {
    let (name, root) = (cx.profile.name, project.root().display().to_string());
    let mut what = Vec::new();
    match project.hooks.len() {
        0 => {}
        1 => what.push("1 hook".to_owned()),
        n => what.push(format!("{n} hooks")),
    }
    what.extend(
        ["model", "system_prompt"].iter().filter(|k| project.text(k).is_some()).map(|k| format!("`{k}`")),
    );
    match project.agents.len() {
        0 => {}
        1 => what.push("1 sub-agent".to_owned()),
        n => what.push(format!("{n} sub-agents")),
    }
    match project.servers().count() {
        0 => {}
        1 => what.push("1 MCP server".to_owned()),
        n => what.push(format!("{n} MCP servers")),
    }
    for (count, one, many) in
        [(project.commands.len(), "command", "commands"), (project.skills.len(), "skill", "skills")]
    {
        match count {
            0 => {}
            1 => what.push(format!("1 {one}")),
            n => what.push(format!("{n} {many}")),
        }
    }
    what.extend(project.hooks_error.as_ref().map(|error| format!("hooks that cannot be read ({error})")));
    cx.ui.warn(&format!(
        "{root} is not trusted, so its own settings are not used: {}; `{name} trust show` lists them, `{name} trust \
         allow` trusts the folder, `--trust-workspace` does for one run",
        what.join(", ")
    ));
}

fn warn_new(cx: &mut AgentCx<'_>, new: &[Item]) {
    let name = cx.profile.name;
    for (one, many, fate) in [
        ("hook", "hooks", "will not run"),
        ("command", "commands", "cannot be called"),
        ("skill", "skills", "will not be used"),
        ("sub-agent", "sub-agents", "will not be used"),
    ] {
        let what = match new.iter().filter(|item| item.kind == one).count() {
            0 => continue,
            1 => format!("1 {one}"),
            _ => format!("some {many}"),
        };
        cx.ui.warn(&format!(
            "{what} of this folder changed since it was trusted, or came later, and {fate}; `{name} trust show` \
             lists them, `{name} trust allow` lets them"
        ));
    }
}

fn warn_new_servers(cx: &mut AgentCx<'_>, new: Vec<String>) {
    if !new.is_empty() {
        let name = cx.profile.name;
        cx.ui.warn(&format!(
            "the MCP servers of this folder's `.mcp.json` changed since it was trusted, or came later, and are not used: {}; \
             `{name} trust show` lists them, `{name} trust allow` lets them",
            new.join(", ")
        ));
    }
}

fn warn_insecure(cx: &mut AgentCx<'_>, project: &Project) {
    if let Some(why) = project.insecure.as_ref().filter(|_| project.needs_trust()) {
        cx.ui
            .warn(&format!("{why}, so this folder cannot be trusted; only its rules that ask or deny count"));
    }
}

/// Returns the folder's config and the user's decision about it, for commands that run nothing.
pub fn load_project(
    data_dir: Option<&DataDir>,
    root: &Path,
) -> Result<(Project, Option<TrustState>), Failure> {
    let project = Project::load(root)?;
    Ok((project, TrustStore::load(data_dir).effective_entry(root).map(|entry| entry.state)))
}
