//! Whether a folder's own settings count (`security.md` chapter 6): what it says, what the user said about it, and what
//! of it becomes active in a run.
//!
//! [`settle`] is the one way: before anything is contacted or started it looks at the folder (`trust/project.rs`) and at
//! the decisions (`trust/store.rs`), asks where somebody can be asked (`trust/dialog.rs`), and returns values.

mod dialog;
pub mod plain;
pub mod project;
pub mod store;

use std::path::Path;

use zori_contract::failure::Failure;
use zori_tools::hooks::Hook;

use crate::agents::Description;
use crate::args::LowArgs;
use crate::audit;
use crate::base::Base;
use crate::commands::Cx;
use crate::error::{CONFIG_INVALID, SETTING_INVALID};
use crate::signals::Signals;
pub use crate::trust::dialog::{Answer, lines};
use crate::trust::project::{Project, ProjectHook};
use crate::trust::store::{Decided, Entry, Store};
use crate::ui::Ui;

/// Whether somebody can be asked about a folder.
pub enum Asks<'a> {
    /// The chat at a terminal, which signals may end.
    Person(&'a Signals),
    /// Nobody: a run without a person never trusts by itself (TRUST-7).
    Nobody,
}

/// What of a folder holds in this run.
pub struct Standing {
    /// What was decided; `None` is undecided.
    pub decided: Option<Decided>,
    /// The folder's config. Its rules that ask or deny hold in any case.
    pub project: Project,
    /// The hooks that run.
    pub hooks: Vec<Hook>,
}

impl Standing {
    /// Returns a setting of the folder that counts.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.project.text(key).filter(|_| self.is_trusted())
    }

    /// Returns the sub-agents of the folder that count, and what is to be said of the others.
    pub fn agents(&self) -> (&[Description], &[String]) {
        match self.is_trusted() {
            true => (&self.project.agents, &self.project.no_agents),
            false => (&[], &[]),
        }
    }

    fn is_trusted(&self) -> bool {
        self.decided == Some(Decided::Trusted)
    }
}

/// Decides what of a folder counts. `root` is canonical; the user's own config has been read.
pub fn settle(
    cx: &mut Cx<'_>,
    args: &LowArgs,
    base: Option<&Base>,
    root: &Path,
    asks: &Asks<'_>,
) -> Result<Standing, Failure> {
    let mut project = Project::look(root)?;
    if !args.claude.sources.project {
        (project.agents, project.no_agents) = (Vec::new(), Vec::new());
    }
    let store = Store::load(base);
    if let Some(trouble) = &store.trouble {
        cx.ui.warn(trouble);
    }
    let held = store.holds(root).cloned();
    if args.trust_workspace {
        return for_this_run(cx, base, project, held.map(|entry| entry.state));
    }
    let mut decided = held.as_ref().map(|entry| entry.state);
    let mut run: Vec<String> = Vec::new();
    if decided != Some(Decided::Untrusted) && project.foreign.is_none() {
        let entry = held.filter(|entry| entry.state == Decided::Trusted);
        let new = new_hooks(&project, entry.as_ref());
        let open = entry.is_none() && project.offers() || !new.is_empty();
        let asked = match (asks, base) {
            (Asks::Person(signals), Some(base)) if open => {
                match dialog::ask(cx.ui, signals, &project, entry.as_ref().map(|_| &new[..])) {
                    Some(answer) => Some(record(base, &project, answer, cx.ui)?),
                    None => None,
                }
            }
            _ => None,
        };
        match (asked, entry) {
            (Some(answered), _) => (decided, run) = (Some(answered.state), answered.run),
            (None, Some(entry)) => {
                run = entry.run;
                remark_new(cx, new.len());
            }
            (None, None) if open => remark_undecided(cx, &project),
            (None, None) => {}
        }
    }
    remark_foreign(cx, &project);
    let foreign = project.foreign.is_some();
    let decided = decided.filter(|state| *state == Decided::Untrusted || !foreign);
    let trusted = decided == Some(Decided::Trusted);
    let counts = |hook: &&ProjectHook| trusted && run.contains(&hook.digest);
    finish(decided, project.hooks.iter().filter(counts).map(|hook| project.hook(hook)).collect(), project)
}

/// `--trust-workspace`: everything counts, for this run, and is listed (TRUST-7).
fn for_this_run(
    cx: &mut Cx<'_>,
    base: Option<&Base>,
    project: Project,
    before: Option<Decided>,
) -> Result<Standing, Failure> {
    remark_foreign(cx, &project);
    if project.foreign.is_some() {
        let decided = before.filter(|state| *state == Decided::Untrusted);
        return finish(decided, Vec::new(), project);
    }
    if project.offers() {
        cx.ui.say("Trusted for this run (`--trust-workspace`):");
        for line in lines(&project.items()) {
            cx.ui.say(&line);
        }
        if let Some(base) = base {
            let digests: Vec<_> = project.hooks.iter().map(|hook| hook.digest.clone()).collect();
            audit::trust(base, project.root(), "trusted", &digests, "flag", cx.ui);
        }
    }
    let hooks = project.hooks.iter().map(|hook| project.hook(hook)).collect();
    finish(Some(Decided::Trusted), hooks, project)
}

fn finish(decided: Option<Decided>, hooks: Vec<Hook>, project: Project) -> Result<Standing, Failure> {
    let standing = Standing { decided, project, hooks };
    if !standing.is_trusted() {
        return Ok(standing);
    }
    if let Some(trouble) = &standing.project.trouble {
        // Somebody relies on hooks that cannot be understood.
        return Err(Failure::new(&CONFIG_INVALID, format!("cannot use {trouble}"))
            .hint("this folder is trusted, and its hooks may guard something; mend or remove the file"));
    }
    Ok(standing)
}

/// Writes an answer down.
pub fn record(base: &Base, project: &Project, answer: Answer, ui: &mut Ui) -> Result<Entry, Failure> {
    let root = project.root();
    let state = match answer {
        Answer::Trust | Answer::TrustBelow | Answer::TrustNew | Answer::WithoutPrograms => Decided::Trusted,
        Answer::Never => Decided::Untrusted,
    };
    let Some(new) = Entry::new(root, state) else {
        let message = format!("{} cannot be remembered: its name is not text", root.display());
        return Err(Failure::new(&SETTING_INVALID, message));
    };
    let digests: Vec<_> = project.hooks.iter().map(|hook| hook.digest.clone()).collect();
    let mut written = new.clone();
    store::change(base, root, |old| {
        let old = old.filter(|old| old.state == state).unwrap_or(new);
        let below = old.below || answer == Answer::TrustBelow;
        let (run, skip) = match answer {
            Answer::Trust | Answer::TrustBelow => (digests, Vec::new()),
            // Only the new ones were shown; what was left out before stays so.
            Answer::TrustNew => digests.into_iter().partition(|digest| !old.skip.contains(digest)),
            Answer::WithoutPrograms => {
                // What was approved before and is still there stays approved.
                let approved = |digest: &String| old.run.contains(digest);
                digests.into_iter().partition(approved)
            }
            Answer::Never => (Vec::new(), Vec::new()),
        };
        written = Entry { below, run, skip, ..old };
        Some(written.clone())
    })?;
    audit::trust(base, root, state.as_str(), &written.run, "user", ui);
    Ok(written)
}

/// Returns the hooks nobody has said anything about: new ones, and those that were changed (TRUST-3).
pub fn new_hooks<'a>(project: &'a Project, entry: Option<&Entry>) -> Vec<&'a ProjectHook> {
    let seen = |digest: &String| entry.is_some_and(|e| e.run.contains(digest) || e.skip.contains(digest));
    project.hooks.iter().filter(|hook| !seen(&hook.digest)).collect()
}

fn remark_undecided(cx: &mut Cx<'_>, project: &Project) {
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
    what.extend(project.trouble.as_ref().map(|trouble| format!("hooks that cannot be read ({trouble})")));
    cx.ui.warn(&format!(
        "{root} is not trusted, so its own settings are not used: {}; `{name} trust show` lists them, `{name} trust \
         allow` trusts the folder, `--trust-workspace` does for one run",
        what.join(", ")
    ));
}

fn remark_new(cx: &mut Cx<'_>, new: usize) {
    if new > 0 {
        let (what, name) = (if new == 1 { "1 hook" } else { "some hooks" }, cx.profile.name);
        cx.ui.warn(&format!(
            "{what} of this folder changed since it was trusted, or came later, and will not run; `{name} trust show` \
             lists them, `{name} trust allow` lets them"
        ));
    }
}

fn remark_foreign(cx: &mut Cx<'_>, project: &Project) {
    if let Some(why) = project.foreign.as_ref().filter(|_| project.offers()) {
        cx.ui
            .warn(&format!("{why}, so this folder cannot be trusted; only its rules that ask or deny count"));
    }
}

/// Returns the folder's config where only its rules are of interest, and the decision, for commands that run nothing.
pub fn look(base: Option<&Base>, root: &Path) -> Result<(Project, Option<Decided>), Failure> {
    let project = Project::look(root)?;
    Ok((project, Store::load(base).holds(root).map(|entry| entry.state)))
}
