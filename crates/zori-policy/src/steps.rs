//! The twelve steps of `docs/contracts/permissions.md`, each a small function, in the one table that deciding and
//! explaining walk.
//!
//! A step says nothing, or what it found. The first finding holds; the last step may still sharpen it.

use std::path::Path;

use zori_core::permission::{APPROVAL_UNAVAILABLE, Class, PathKind, RuleRef, Verdict};
use zori_core::tool::McpChange;
use zori_core::transport::Network;

use crate::blacklist;
use crate::call::{MAX_COMMAND_BYTES, Part};
use crate::classified::{AccessedPath, ClassifiedCall, FileAccess, RuleMatch, short};
use crate::matching;
use crate::mode::{Mode, ModeChoice, ModeSource};
use crate::paths::{Access, in_system_tree};
use crate::policy::{Approver, Policy};
use crate::rules::words::Fit;
use crate::rules::{Narrowing, Rules, Scope, host};
use crate::table;

/// A step of the decision.
pub(crate) struct Step {
    pub(crate) title: &'static str,
    /// Runs the step. `so_far` is what an earlier step found; then only the last step runs.
    pub(crate) look: fn(&ClassifiedCall<'_>, so_far: Option<&Finding>) -> Option<Finding>,
}

/// What a step found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) instead: Option<&'static str>,
    pub(crate) rule: Option<RuleRef>,
    /// Whether it only denies because nobody can be asked.
    pub(crate) nobody_to_ask: bool,
}

impl Finding {
    fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into(), instead: None, rule: None, nobody_to_ask: false }
    }

    fn instead(self, instead: &'static str) -> Self {
        Self { instead: Some(instead), ..self }
    }

    fn by(verdict: Verdict, hit: &RuleMatch<'_>) -> Self {
        let RuleMatch { rule, what } = hit;
        let verb = match verdict {
            Verdict::Allow => "allows",
            Verdict::Ask => "asks about",
            Verdict::Deny => "denies",
        };
        let reason = format!("the rule `{}` ({}) {verb} {what}", rule.text, rule.source);
        Self { rule: Some((*rule).clone()), ..Self::new(verdict, reason) }
    }
}

/// All steps; the number of a step is its place, from 1.
pub(crate) const STEPS: &[Step] = &[
    Step { title: "malformed input", look: |classified, _| malformed(classified) },
    Step { title: "own state", look: |classified, _| own_state(classified) },
    Step { title: "blacklist", look: |classified, _| blacklisted(classified) },
    Step { title: "mode", look: |classified, _| by_mode(classified) },
    Step { title: "deny rules", look: |classified, _| denied(classified) },
    Step { title: "hooks", look: |classified, _| by_hook(classified) },
    Step { title: "ask rules", look: |classified, _| asked(classified) },
    Step { title: "not known while rules deny", look: |classified, _| unknown(classified) },
    Step { title: "protected and sensitive", look: |classified, _| guarded(classified) },
    Step { title: "allow rules", look: |classified, _| allowed(classified) },
    Step { title: "mode and class", look: |classified, _| by_table(classified) },
    Step { title: "nobody to ask", look: unanswered },
];

/// The longest path any system takes.
const MAX_PATH: usize = 4096;

fn malformed(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let deny = |reason: String| Some(Finding::new(Verdict::Deny, reason));
    if let Some(problem) = &classified.call.problem {
        return deny(problem.clone());
    }
    if classified.call.kind.is_none() && classified.call.parts.is_empty() {
        return deny(format!("there is no tool `{}`", short(&classified.call.name)));
    }
    for shell in &classified.shells {
        let text = &shell.part.text;
        if text.contains('\0') {
            return deny("the command has a NUL byte in it".into());
        }
        if text.trim().is_empty() {
            return deny("the command is empty".into());
        }
        if text.len() > MAX_COMMAND_BYTES {
            return deny(format!("the command has {} bytes, which no shell takes", text.len()));
        }
    }
    let urls = classified.call.parts.iter().filter_map(|part| match part {
        Part::Net { url } => Some(url),
        _ => None,
    });
    if let Some(url) = urls.into_iter().find(|url| host::is_unreadable(url)) {
        let hint = "write it in ASCII letters (`xn--...`), or as an address";
        return deny(format!("which host {} means is not certain; {hint}", short(url)));
    }
    let bad = |path: &Path| {
        let bytes = path.as_os_str().as_encoded_bytes();
        bytes.contains(&0) || bytes.len() > MAX_PATH
    };
    let malformed =
        classified.file_accesses().find(|file| matches!(&file.path, AccessedPath::At(path) if bad(path)))?;
    deny(format!("the path {} has a NUL byte in it or is too long", short(&malformed.shown)))
}

fn own_state(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let workspace = &classified.policy.workspace;
    let own = |file: &&FileAccess| {
        let given = match &file.path {
            AccessedPath::At(path) | AccessedPath::Below(path, _) => workspace.is_own_state(path),
            AccessedPath::Anywhere => false,
        };
        let whole_data_dir =
            matches!(&file.path, AccessedPath::Below(path, _) if workspace.data_dir.as_deref() == Some(path));
        file.access == Access::Write
            && (given || whole_data_dir || file.facts.places.iter().any(|path| workspace.is_own_state(path)))
    };
    let file = classified.file_accesses().find(own)?;
    let reason = format!("{} is the program's own state, which no call may change", file.shown);
    Some(Finding::new(Verdict::Deny, reason).instead("Tell the user what to change there and why."))
}

fn blacklisted(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let policy = &classified.policy;
    let by_name = policy.mode.source != ModeSource::Implicit;
    for shell in &classified.shells {
        let analysis = &shell.part.analysis;
        if let Some(danger) =
            blacklist::active_danger(&analysis.dangers, &policy.shell.blacklist_off, by_name)
        {
            let what =
                zori_shell::DANGERS.iter().find(|kind| kind.id == danger.id).map_or("", |kind| kind.what);
            let reason =
                format!("the built-in blacklist (`{}`) denies `{}`: {what}", danger.id, short(&danger.shown));
            return Some(Finding::new(Verdict::Deny, reason));
        }
        let words: Option<Vec<&str>> = analysis.raw_words.as_ref().map(|words| words.iter().collect());
        for pattern in &policy.shell.blacklist {
            let command = analysis.commands.iter().find(|command| pattern.hits(command));
            let scanned = words.as_ref().is_some_and(|words| pattern.hits_scan(words));
            if command.is_some() || scanned {
                let what = command
                    .map_or("a text that cannot be read".into(), |c| format!("`{}`", short(&c.source)));
                let reason = format!("the blacklist pattern `{}` denies {what}", pattern.text);
                return Some(Finding::new(Verdict::Deny, reason));
            }
        }
    }
    None
}

fn by_mode(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let deny = |reason: String| Finding::new(Verdict::Deny, reason);
    match classified.policy.mode.mode {
        Mode::Deny => return Some(deny("mode deny answers every call like this".into())),
        Mode::Plan if classified.class.changes() => {
            let reason = format!("mode plan changes nothing ({})", classified.class.as_str());
            return Some(
                deny(reason).instead("Reading and searching are allowed; say what you would change."),
            );
        }
        _ => {}
    }
    let shut = !classified.shells.is_empty() && !classified.policy.shell.allowed;
    shut.then(|| {
        deny("shell commands are off (`allow_shell` is false)".into())
            .instead("The tools that read, search and edit files are still there.")
    })
}

fn denied(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let rules = classified.policy.rules.deny.iter();
    let hit = rules.map(|rule| matching::restricts(rule, classified)).find(|(fit, _)| *fit == Fit::Yes);
    hit.map(|(_, hit)| Finding::by(Verdict::Deny, &hit)).or_else(|| narrowed(classified))
}

/// What a narrowed turn may not do: all that its rules do not cover, but for what only looks.
fn narrowed(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let policy = classified.policy;
    let Narrowing { by, rules } = policy.rules.narrowing.as_ref()?;
    let strict = Policy {
        mode: ModeChoice { mode: Mode::DontAsk, source: ModeSource::ByName },
        rules: Rules { allow: rules.clone(), ..Rules::default() },
        ..policy.clone()
    };
    let strict = ClassifiedCall::new(&strict, classified.call);
    let class = matching::coverage(&strict).uncovered?;
    // A rule that names a command narrows to it, whatever the command then writes.
    let named = !strict.shells.is_empty()
        && strict.unresolved().is_none()
        && matching::uncovered_commands(&strict).is_empty();
    if named {
        return None;
    }
    let names: Vec<&str> = rules.iter().map(|rule| &*rule.shown.text).collect();
    let names = if names.is_empty() { "nothing".to_owned() } else { format!("`{}`", names.join("`, `")) };
    let reason = format!("{by} allows {names} and what only looks, and this is {}", class.as_str());
    Some(Finding::new(Verdict::Deny, reason).instead("Do what it allows, or say what else it would take."))
}

fn by_hook(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let answer = classified.call.hook.as_ref()?;
    let verb = match answer.verdict {
        Verdict::Allow => return None,
        Verdict::Ask => "asks",
        Verdict::Deny => "denies",
    };
    Some(Finding::new(answer.verdict, format!("a hook {verb}: {}", answer.reason)))
}

fn asked(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let rules = classified.policy.rules.ask.iter();
    let hit = rules.map(|rule| matching::restricts(rule, classified)).find(|(fit, _)| *fit > Fit::No);
    hit.map(|(_, hit)| Finding::by(Verdict::Ask, &hit))
}

/// Asks about what may match a deny rule and is not known before it runs.
fn unknown(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let ask = |reason: String| Some(Finding::new(Verdict::Ask, reason));
    let rules = classified.policy.rules.deny.iter();
    let maybe = rules.map(|rule| matching::restricts(rule, classified)).find(|(fit, _)| *fit == Fit::Maybe);
    if let Some((_, RuleMatch { rule, what })) = maybe {
        let reason =
            format!("{what} is not fully known before it runs, and `{}` ({}) denies", rule.text, rule.source);
        return Some(Finding { rule: Some(rule.clone()), ..Finding::new(Verdict::Ask, reason) });
    }
    if !classified.policy.rules.deny_shell() {
        return None;
    }
    if let Some(what) = classified.unresolved() {
        return ask(format!("{what}, and there are rules that deny commands"));
    }
    if let Some(odd) = deceptive_characters(classified) {
        return ask(odd);
    }
    let command = matching::hides_denied(classified)?;
    ask(format!("`{}` may run a command that a rule denies", short(&command.source)))
}

/// Addresses of this machine, its network and its link (DECISIONS 54). A rule that names the host lifts it.
fn private_address(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let yolo = classified.policy.mode.mode == Mode::Yolo;
    classified.call.parts.iter().find_map(|part| {
        let Part::Net { url } = part else { return None };
        let network = host::network(url).filter(|network| *network != Network::Public)?;
        let named = classified
            .policy
            .rules
            .allow
            .iter()
            .any(|rule| matches!(&rule.scope, Scope::Host(pattern) if pattern.matches(url)));
        let verdict = match network {
            _ if named => return None,
            Network::LinkLocal if yolo => Verdict::Deny,
            _ if yolo => return None,
            _ => Verdict::Ask,
        };
        let place = host::host(url).unwrap_or_else(|| short(url));
        let finding = Finding::new(verdict, format!("{place} is a {} address", network.as_str()));
        Some(if verdict == Verdict::Deny {
            finding.instead("A rule `WebFetch(domain:HOST)` of the user's would allow it.")
        } else {
            finding
        })
    })
}

/// A tool of an MCP server that is not the one that was approved; no allow rule covers it until somebody has seen it (MCP-42). A rule
/// that names exactly this tool covers one that is new.
fn changed_tool(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    classified.call.parts.iter().find_map(|part| {
        let Part::Mcp { server, tool, change, .. } = part else { return None };
        let named = || classified.policy.rules.allow.iter().any(|rule| rule.tool.names_mcp(server, tool));
        match change {
            McpChange::None => return None,
            McpChange::New if named() => return None,
            McpChange::New | McpChange::Changed => {}
        }
        let (tool, server) = (short(tool), short(server));
        let reason = format!("the tool `{tool}` of the MCP server `{server}` {}", change.about());
        Some(Finding::new(Verdict::Ask, reason))
    })
}

fn guarded(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    if let Some(finding) = private_address(classified) {
        return Some(finding);
    }
    if classified.policy.mode.mode == Mode::Yolo {
        return None;
    }
    if let Some(finding) = changed_tool(classified) {
        return Some(finding);
    }
    // The path as given counts too: where a link of `/proc` leads cannot always be read.
    let system = |file: &&FileAccess| {
        let given = matches!(&file.path, AccessedPath::At(path) if in_system_tree(path));
        file.access == Access::Write && (given || file.facts.places.iter().any(|path| in_system_tree(path)))
    };
    if let Some(file) = classified.file_accesses().find(system) {
        let reason = format!("{} belongs to the system, not to the disk", file.shown);
        return Some(Finding::new(Verdict::Deny, reason));
    }
    let why = |file: &FileAccess| {
        let linked =
            file.access == Access::Write && file.facts.kind == PathKind::File && file.facts.links > 1;
        match (&file.path, file.class) {
            (AccessedPath::Anywhere, _) => Some("is not known before it runs"),
            (_, Class::ReadSensitive) => Some("may hold secrets"),
            (_, Class::WriteProtected) => Some("is protected: it decides what runs later"),
            _ if linked => Some("has other names, which may be outside the workspace"),
            _ => None,
        }
    };
    let found = classified.file_accesses().find_map(|file| Some((file, why(file)?)));
    if let Some((file, why)) = found {
        return Some(Finding::new(Verdict::Ask, format!("{} {why}", file.shown)));
    }
    deceptive_characters(classified).map(|odd| Finding::new(Verdict::Ask, odd))
}

fn allowed(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    let coverage = matching::coverage(classified);
    if coverage.uncovered.is_none() {
        // What the table allows by itself is the next step's to say.
        return coverage.rule.map(|hit| Finding::by(Verdict::Allow, &hit));
    }
    if matching::whitelisted(classified) {
        return Some(Finding::new(Verdict::Allow, "the whitelist allows it"));
    }
    let answer = classified.call.hook.as_ref().filter(|answer| answer.verdict == Verdict::Allow)?;
    Some(Finding::new(Verdict::Allow, format!("a hook allows it: {}", answer.reason)))
}

fn by_table(classified: &ClassifiedCall<'_>) -> Option<Finding> {
    // What rules cover does not count against the rest.
    let class = matching::coverage(classified).uncovered.unwrap_or(classified.class);
    let verdict = table::verdict(classified.policy.mode, class);
    let verb = match verdict {
        Verdict::Allow => "allows",
        Verdict::Ask => "asks about",
        Verdict::Deny => "denies",
    };
    let about = class.about().trim_end_matches('.');
    let reason = format!("mode {} {verb} {}: {about}", classified.policy.mode.shown(), class.as_str());
    let finding = Finding::new(verdict, reason);
    Some(match (verdict, classified.policy.mode.mode) {
        (Verdict::Deny, Mode::DontAsk) => finding.instead(DONT_ASK),
        _ => finding,
    })
}

const DONT_ASK: &str = "Reading in the workspace and what the rules allow still runs.";

fn unanswered(classified: &ClassifiedCall<'_>, so_far: Option<&Finding>) -> Option<Finding> {
    let asked = so_far.filter(|finding| finding.verdict == Verdict::Ask)?;
    let sharper = |reason: String, instead| Finding {
        rule: asked.rule.clone(),
        ..Finding::new(Verdict::Deny, reason).instead(instead)
    };
    if classified.policy.mode.mode == Mode::DontAsk {
        return Some(sharper(format!("{}; mode dontAsk asks nobody", asked.reason), DONT_ASK));
    }
    match classified.policy.approver {
        Approver::Present => None,
        Approver::Absent => {
            let reason =
                format!("{APPROVAL_UNAVAILABLE}: {}, and nobody can be asked in this run", asked.reason);
            let instead = "Do it another way, or tell the user what would have to be allowed.";
            Some(Finding { nobody_to_ask: true, ..sharper(reason, instead) })
        }
    }
}

fn deceptive_characters(classified: &ClassifiedCall<'_>) -> Option<String> {
    let odd = classified.shells.iter().find_map(|shell| shell.part.analysis.deceptive_characters.first())?;
    Some(format!("the command has U+{:04X} in it, which does not look like what it is", *odd as u32))
}
