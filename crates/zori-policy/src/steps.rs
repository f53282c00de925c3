//! The twelve steps of `security.md` 2.1, each a small function, in the one table that deciding and explaining walk.
//!
//! A step says nothing, or what it found. The first finding holds; the last step may still sharpen it.

use std::path::Path;

use zori_core::permission::{Class, PlaceKind, RuleRef, UNAVAILABLE, Verdict};

use crate::blacklist;
use crate::call::MAX_COMMAND;
use crate::matching;
use crate::mode::{Chosen, Mode};
use crate::paths::{Access, in_system_tree};
use crate::policy::Asker;
use crate::rules::words::Fit;
use crate::subject::{Hit, Place, Subject, Touch, short};
use crate::table;

/// A step of the decision.
pub(crate) struct Step {
    /// What it looks at.
    pub(crate) title: &'static str,
    /// Looks. `so_far` is what an earlier step found; only the last one is asked then.
    pub(crate) look: fn(&Subject<'_>, so_far: Option<&Finding>) -> Option<Finding>,
}

/// What a step found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) instead: Option<&'static str>,
    pub(crate) rule: Option<RuleRef>,
}

impl Finding {
    fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into(), instead: None, rule: None }
    }

    fn instead(self, instead: &'static str) -> Self {
        Self { instead: Some(instead), ..self }
    }

    fn by(verdict: Verdict, hit: &Hit<'_>) -> Self {
        let Hit { rule, what } = hit;
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
    Step { title: "malformed input", look: |subject, _| malformed(subject) },
    Step { title: "own state", look: |subject, _| own_state(subject) },
    Step { title: "blacklist", look: |subject, _| blacklisted(subject) },
    Step { title: "mode", look: |subject, _| by_mode(subject) },
    Step { title: "deny rules", look: |subject, _| denied(subject) },
    Step { title: "hooks", look: |subject, _| hooked(subject) },
    Step { title: "ask rules", look: |subject, _| asked(subject) },
    Step { title: "not known while rules deny", look: |subject, _| unknown(subject) },
    Step { title: "protected and sensitive", look: |subject, _| guarded(subject) },
    Step { title: "allow rules", look: |subject, _| allowed(subject) },
    Step { title: "mode and class", look: |subject, _| by_table(subject) },
    Step { title: "nobody to ask", look: unanswered },
];

/// The longest path any system takes.
const MAX_PATH: usize = 4096;

fn malformed(subject: &Subject<'_>) -> Option<Finding> {
    let deny = |reason: String| Some(Finding::new(Verdict::Deny, reason));
    if let Some(flaw) = &subject.call.flaw {
        return deny(flaw.clone());
    }
    if subject.call.kind.is_none() && subject.call.parts.is_empty() {
        return deny(format!("there is no tool `{}`", short(&subject.call.name)));
    }
    for shell in &subject.shells {
        let text = &shell.part.text;
        if text.contains('\0') {
            return deny("the command has a NUL byte in it".into());
        }
        if text.trim().is_empty() {
            return deny("the command is empty".into());
        }
        if text.len() > MAX_COMMAND {
            return deny(format!("the command has {} bytes, which no shell takes", text.len()));
        }
    }
    let bad = |path: &Path| {
        let bytes = path.as_os_str().as_encoded_bytes();
        bytes.contains(&0) || bytes.len() > MAX_PATH
    };
    let flawed = subject.touches().find(|touch| matches!(&touch.place, Place::At(path) if bad(path)))?;
    deny(format!("the path {} has a NUL byte in it or is too long", short(&flawed.shown)))
}

fn own_state(subject: &Subject<'_>) -> Option<Finding> {
    let ground = &subject.policy.ground;
    let own = |touch: &&Touch| {
        let given = match &touch.place {
            Place::At(path) | Place::Below(path) => ground.is_own_state(path),
            Place::Anywhere => false,
        };
        let whole_base = matches!(&touch.place, Place::Below(path) if ground.base.as_deref() == Some(path));
        touch.access == Access::Write
            && (given || whole_base || touch.facts.places.iter().any(|place| ground.is_own_state(place)))
    };
    let touch = subject.touches().find(own)?;
    let reason = format!("{} is the program's own state, which no call may change", touch.shown);
    Some(Finding::new(Verdict::Deny, reason).instead("Tell the user what to change there and why."))
}

fn blacklisted(subject: &Subject<'_>) -> Option<Finding> {
    let policy = &subject.policy;
    let by_name = policy.mode.chosen != Chosen::Implicit;
    for shell in &subject.shells {
        let analysis = &shell.part.analysis;
        if let Some(danger) = blacklist::danger(&analysis.dangers, &policy.shell.off, by_name) {
            let what =
                zori_shell::DANGERS.iter().find(|kind| kind.id == danger.id).map_or("", |kind| kind.what);
            let reason =
                format!("the built-in blacklist (`{}`) denies `{}`: {what}", danger.id, short(&danger.shown));
            return Some(Finding::new(Verdict::Deny, reason));
        }
        let words: Option<Vec<&str>> = analysis.words.as_ref().map(|words| words.iter().collect());
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

fn by_mode(subject: &Subject<'_>) -> Option<Finding> {
    let deny = |reason: String| Finding::new(Verdict::Deny, reason);
    match subject.policy.mode.mode {
        Mode::Deny => return Some(deny("mode deny answers every call like this".into())),
        Mode::Plan if subject.class.changes() => {
            let reason = format!("mode plan changes nothing ({})", subject.class.as_str());
            return Some(
                deny(reason).instead("Reading and searching are allowed; say what you would change."),
            );
        }
        _ => {}
    }
    let shut = !subject.shells.is_empty() && !subject.policy.shell.allowed;
    shut.then(|| {
        deny("shell commands are off (`allow_shell` is false)".into())
            .instead("The tools that read, search and edit files are still there.")
    })
}

fn denied(subject: &Subject<'_>) -> Option<Finding> {
    let rules = subject.policy.rules.deny.iter();
    let hit = rules.map(|rule| matching::restricts(rule, subject)).find(|(fit, _)| *fit == Fit::Yes);
    hit.map(|(_, hit)| Finding::by(Verdict::Deny, &hit))
}

fn hooked(subject: &Subject<'_>) -> Option<Finding> {
    let answer = subject.call.hook.as_ref()?;
    let verb = match answer.verdict {
        Verdict::Allow => return None,
        Verdict::Ask => "asks",
        Verdict::Deny => "denies",
    };
    Some(Finding::new(answer.verdict, format!("a hook {verb}: {}", answer.reason)))
}

fn asked(subject: &Subject<'_>) -> Option<Finding> {
    let rules = subject.policy.rules.ask.iter();
    let hit = rules.map(|rule| matching::restricts(rule, subject)).find(|(fit, _)| *fit > Fit::No);
    hit.map(|(_, hit)| Finding::by(Verdict::Ask, &hit))
}

/// What a deny rule could be about, had we only known.
fn unknown(subject: &Subject<'_>) -> Option<Finding> {
    let ask = |reason: String| Some(Finding::new(Verdict::Ask, reason));
    let rules = subject.policy.rules.deny.iter();
    let maybe = rules.map(|rule| matching::restricts(rule, subject)).find(|(fit, _)| *fit == Fit::Maybe);
    if let Some((_, Hit { rule, what })) = maybe {
        let reason =
            format!("{what} is not fully known before it runs, and `{}` ({}) denies", rule.text, rule.source);
        return Some(Finding { rule: Some(rule.clone()), ..Finding::new(Verdict::Ask, reason) });
    }
    if !subject.policy.rules.deny_shell() {
        return None;
    }
    if let Some(what) = subject.unresolved() {
        return ask(format!("{what}, and there are rules that deny commands"));
    }
    if let Some(odd) = odd_characters(subject) {
        return ask(odd);
    }
    let command = matching::hides_denied(subject)?;
    ask(format!("`{}` may run a command that a rule denies", short(&command.source)))
}

fn guarded(subject: &Subject<'_>) -> Option<Finding> {
    if subject.policy.mode.mode == Mode::Yolo {
        return None;
    }
    // The path as given counts too: where a link of `/proc` leads cannot always be read.
    let system = |touch: &&Touch| {
        let given = matches!(&touch.place, Place::At(path) if in_system_tree(path));
        touch.access == Access::Write
            && (given || touch.facts.places.iter().any(|place| in_system_tree(place)))
    };
    if let Some(touch) = subject.touches().find(system) {
        let reason = format!("{} belongs to the system, not to the disk", touch.shown);
        return Some(Finding::new(Verdict::Deny, reason));
    }
    let why = |touch: &Touch| {
        let linked =
            touch.access == Access::Write && touch.facts.kind == PlaceKind::File && touch.facts.links > 1;
        match (&touch.place, touch.class) {
            (Place::Anywhere, _) => Some("is not known before it runs"),
            (_, Class::Rs) => Some("may hold secrets"),
            (_, Class::Wp) => Some("is protected: it decides what runs later"),
            _ if linked => Some("has other names, which may be outside the workspace"),
            _ => None,
        }
    };
    let found = subject.touches().find_map(|touch| Some((touch, why(touch)?)));
    if let Some((touch, why)) = found {
        return Some(Finding::new(Verdict::Ask, format!("{} {why}", touch.shown)));
    }
    odd_characters(subject).map(|odd| Finding::new(Verdict::Ask, odd))
}

fn allowed(subject: &Subject<'_>) -> Option<Finding> {
    let cover = matching::cover(subject);
    if cover.open.is_none() {
        // What the table allows by itself is the next step's to say.
        return cover.by.map(|hit| Finding::by(Verdict::Allow, &hit));
    }
    if matching::whitelisted(subject) {
        return Some(Finding::new(Verdict::Allow, "the whitelist allows it"));
    }
    let answer = subject.call.hook.as_ref().filter(|answer| answer.verdict == Verdict::Allow)?;
    Some(Finding::new(Verdict::Allow, format!("a hook allows it: {}", answer.reason)))
}

fn by_table(subject: &Subject<'_>) -> Option<Finding> {
    // What rules cover does not count against the rest.
    let class = matching::cover(subject).open.unwrap_or(subject.class);
    let verdict = table::verdict(subject.policy.mode, class);
    let verb = match verdict {
        Verdict::Allow => "allows",
        Verdict::Ask => "asks about",
        Verdict::Deny => "denies",
    };
    let about = class.about().trim_end_matches('.');
    let reason = format!("mode {} {verb} {}: {about}", subject.policy.mode.shown(), class.as_str());
    let finding = Finding::new(verdict, reason);
    Some(match (verdict, subject.policy.mode.mode) {
        (Verdict::Deny, Mode::DontAsk) => finding.instead(DONT_ASK),
        _ => finding,
    })
}

const DONT_ASK: &str = "Reading in the workspace and what the rules allow still runs.";

fn unanswered(subject: &Subject<'_>, so_far: Option<&Finding>) -> Option<Finding> {
    let asked = so_far.filter(|finding| finding.verdict == Verdict::Ask)?;
    let sharper = |reason: String, instead| {
        Some(Finding { verdict: Verdict::Deny, reason, instead: Some(instead), rule: asked.rule.clone() })
    };
    if subject.policy.mode.mode == Mode::DontAsk {
        return sharper(format!("{}; mode dontAsk asks nobody", asked.reason), DONT_ASK);
    }
    match subject.policy.asker {
        Asker::Present => None,
        Asker::Absent => sharper(
            format!("{UNAVAILABLE}: {}, and nobody can be asked in this run", asked.reason),
            "Do it another way, or tell the user what would have to be allowed.",
        ),
    }
}

fn odd_characters(subject: &Subject<'_>) -> Option<String> {
    let odd = subject.shells.iter().find_map(|shell| shell.part.analysis.odd_characters.first())?;
    Some(format!("the command has U+{:04X} in it, which does not look like what it is", *odd as u32))
}
