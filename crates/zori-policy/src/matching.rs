//! Which rule matches a call: one part is enough to deny or to ask, every part has to be covered to allow (RULE-3).

use zori_core::permission::{Class, Verdict};
use zori_core::tool::ToolKind;
use zori_shell::{Command, CommandEffect, Via, Word};

use crate::call::Part;
use crate::paths::Access;
use crate::paths::pattern::{Compare, PathPattern, Reached};
use crate::rules::words::{Fit, WordPattern};
use crate::rules::{Rule, Scope};
use crate::subject::{Hit, Place, Shell, Subject, Touch, plain_class, short};
use crate::table;

/// Returns whether a deny or ask rule matches, and what.
pub(crate) fn restricts<'r>(rule: &'r Rule, subject: &Subject<'_>) -> (Fit, Hit<'r>) {
    let mut best = (Fit::No, String::new());
    let mut note = |fit: Fit, what: &dyn Fn() -> String| {
        if fit > best.0 {
            best = (fit, what());
        }
    };
    if subject.call.kind.is_some_and(|kind| rule.tool.covers(kind)) {
        match &rule.scope {
            Scope::All => note(Fit::Yes, &|| subject.call.name.clone()),
            Scope::Path(pattern) => {
                for touch in &subject.files {
                    note(touches(pattern, touch), &|| touch.shown.clone());
                }
            }
            Scope::Host(pattern) => {
                for part in &subject.call.parts {
                    if let Part::Net { url } = part
                        && pattern.matches(url)
                    {
                        note(Fit::Yes, &|| short(url));
                    }
                }
            }
            Scope::Command(pattern) => {
                for shell in &subject.shells {
                    for command in &shell.part.analysis.commands {
                        note(pattern.hits(command), &|| short(&command.source));
                    }
                    if let Some(words) = &shell.part.analysis.words {
                        let words: Vec<&str> = words.iter().collect();
                        if pattern.hits_scan(&words) {
                            note(Fit::Yes, &|| "a text that cannot be read".to_owned());
                        }
                    }
                }
            }
        }
    }
    // Files that commands read and write (RULE-6).
    let applies = |access| match access {
        Access::Read => rule.tool.covers_reads(),
        Access::Write => rule.tool.covers_writes(),
    };
    for touch in subject.shell_touches().filter(|touch| applies(touch.access)) {
        match &rule.scope {
            Scope::All => note(Fit::Yes, &|| touch.shown.clone()),
            Scope::Path(pattern) => note(touches(pattern, touch), &|| touch.shown.clone()),
            Scope::Command(_) | Scope::Host(_) => {}
        }
    }
    if subject.call.parts.iter().any(|part| names(rule, part)) {
        note(Fit::Yes, &|| subject.call.name.clone());
    }
    let (fit, what) = best;
    (fit, Hit { rule: &rule.shown, what })
}

/// Returns whether an unknown program's arguments end in a denied command (SH-7).
pub(crate) fn hides_denied<'s>(subject: &'s Subject<'_>) -> Option<&'s Command> {
    let denied = || {
        subject.policy.rules.deny.iter().filter_map(|rule| match &rule.scope {
            Scope::Command(pattern) if rule.tool.covers_shell() => Some(pattern),
            _ => None,
        })
    };
    let commands = subject.shells.iter().flat_map(|shell| &shell.part.analysis.commands);
    let mut unknown = commands.filter(|command| {
        command.effect == CommandEffect::Other && !TAKES_NAMES.contains(&command.base_name.as_str())
    });
    unknown.find(|command| {
        let tails = (1..command.argv.len()).map(|i| &command.argv[i..]);
        tails.into_iter().any(|tail| denied().any(|pattern| named_tail(pattern, tail)))
    })
}

/// Programs whose words are often the names of programs, and that run none of them.
const TAKES_NAMES: &[&str] = &["apt", "apt-get", "brew", "dnf", "git", "pip", "pip3"];

fn named_tail(pattern: &WordPattern, tail: &[Word]) -> bool {
    pattern.first_word().is_some() && pattern.hits_words(tail) == Fit::Yes
}

/// How much of a call rules and the mode's table allow.
pub(crate) struct Cover<'r> {
    /// The rule that was needed, if one was.
    pub(crate) by: Option<Hit<'r>>,
    /// The strictest class that nothing allows; `None` if all is covered.
    pub(crate) open: Option<Class>,
}

/// Returns what is covered.
pub(crate) fn cover<'r>(subject: &Subject<'r>) -> Cover<'r> {
    let mut cover = Cover { by: None, open: None };
    let mut files = subject.files.iter();
    let mut shells = subject.shells.iter();
    let table = |class| table::verdict(subject.policy.mode, class) == Verdict::Allow;
    for part in &subject.call.parts {
        let (class, rule) = match part {
            Part::File(..) => {
                let touch = files.next().expect("every file part has its touch");
                (touch.class, allows_file(subject, subject.call.kind, touch))
            }
            Part::Shell(_) => {
                let shell = shells.next().expect("every shell part has its view");
                cover_shell(subject, shell, &mut cover);
                continue;
            }
            other => (plain_class(other), allows_plain(subject, other)),
        };
        match rule {
            Some(rule) if !table(class) => cover.by = cover.by.take().or(Some(rule)),
            None if !table(class) => cover.open = cover.open.max(Some(class)),
            _ => {}
        }
    }
    if subject.call.parts.is_empty() && !table(subject.class) {
        cover.open = Some(subject.class);
    }
    cover
}

fn cover_shell<'r>(subject: &Subject<'r>, shell: &Shell<'r>, cover: &mut Cover<'r>) {
    let rules = || subject.policy.rules.allow.iter().filter(|rule| rule.tool.covers_shell());
    let analysis = &shell.part.analysis;
    // The whole shell, or this very text (RULE-4).
    let whole = rules().find(|rule| match &rule.scope {
        Scope::All => true,
        Scope::Command(pattern) => !pattern.has_wildcard() && is_text_of(&rule.shown.text, &shell.part.text),
        Scope::Path(_) | Scope::Host(_) => false,
    });
    let table = |class| table::verdict(subject.policy.mode, class) == Verdict::Allow;
    if table(shell.class) {
        return;
    }
    if let Some(rule) = whole {
        let hit = Hit { rule: &rule.shown, what: short(&shell.part.text) };
        cover.by = cover.by.take().or(Some(hit));
        return;
    }
    if !analysis.unresolved.is_empty() || analysis.commands.is_empty() {
        cover.open = cover.open.max(Some(Class::Xu));
        return;
    }
    for (i, (command, judged)) in analysis.commands.iter().zip(&shell.commands).enumerate() {
        if table(judged.class) || is_transparent(&analysis.commands, i) {
            continue;
        }
        let usable = judged.class != Class::Xu && command.no_auto.is_empty();
        let written = judged.touches.iter().filter(|touch| touch.access == Access::Write);
        let may_write =
            || written.into_iter().all(|t| table(t.class) || allows_file(subject, None, t).is_some());
        let rule = rules().find(|rule| matches!(&rule.scope, Scope::Command(p) if p.covers(command)));
        match rule {
            Some(rule) if usable && may_write() => {
                let hit = Hit { rule: &rule.shown, what: short(&command.source) };
                cover.by = cover.by.take().or(Some(hit));
            }
            _ => cover.open = cover.open.max(Some(judged.class)),
        }
    }
}

/// Returns whether the whitelist covers the call: one plain command that begins with an entry (MODE-6).
pub(crate) fn whitelisted(subject: &Subject<'_>) -> bool {
    let [shell] = subject.shells.as_slice() else { return false };
    let ([command], [judged]) = (shell.part.analysis.commands.as_slice(), shell.commands.as_slice()) else {
        return false;
    };
    let plain = shell.part.analysis.single
        && subject.call.parts.len() == 1
        && judged.class != Class::Xu
        && command.no_auto.is_empty()
        && command.writes.is_empty();
    plain && subject.policy.shell.whitelist.iter().any(|entry| entry.covers(command))
}

/// A program that only runs its arguments needs no rule of its own; what it runs does. One that changes who or where
/// it runs does (SH-6).
fn is_transparent(commands: &[Command], index: usize) -> bool {
    let command = &commands[index];
    let runs = |child: &Command| {
        let looked_through = matches!(
            child.via,
            Some(Via::Wrapper { privileged: false } | Via::ShellText | Via::PipeIntoShell)
        );
        child.parent == Some(index) && looked_through
    };
    let known = !matches!(command.effect, CommandEffect::Unresolved(_));
    known && command.no_auto.is_empty() && command.writes.is_empty() && commands.iter().any(runs)
}

/// An allow rule for a file has to match every place it stands for.
fn allows_file<'r>(subject: &Subject<'r>, kind: Option<ToolKind>, touch: &Touch) -> Option<Hit<'r>> {
    let covers = |rule: &&'r Rule| match kind {
        Some(kind) => rule.tool.covers(kind),
        None if touch.access == Access::Read => rule.tool.covers_reads(),
        None => rule.tool.covers_writes(),
    };
    let fits = |rule: &&'r Rule| match &rule.scope {
        Scope::All => true,
        Scope::Path(pattern) => {
            let all = |place| pattern.matches(place, Compare::Exact);
            !touch.facts.places.is_empty() && touch.facts.places.iter().all(|place| all(place))
        }
        Scope::Command(_) | Scope::Host(_) => false,
    };
    let rule = subject.policy.rules.allow.iter().filter(covers).find(fits)?;
    Some(Hit { rule: &rule.shown, what: touch.shown.clone() })
}

fn allows_plain<'r>(subject: &Subject<'r>, part: &Part) -> Option<Hit<'r>> {
    let kind = subject.call.kind;
    let fits = |rule: &&'r Rule| match (&rule.scope, part) {
        (Scope::Host(pattern), Part::Net { url }) => pattern.matches(url),
        (Scope::All, Part::Net { .. } | Part::Internal) => kind.is_some_and(|kind| rule.tool.covers(kind)),
        (_, part) => names(rule, part),
    };
    let rule = subject.policy.rules.allow.iter().find(fits)?;
    Some(Hit { rule: &rule.shown, what: subject.call.name.clone() })
}

/// Returns whether a rule without brackets names this part.
fn names(rule: &Rule, part: &Part) -> bool {
    use crate::rules::tools::ToolName;
    match part {
        Part::Agent => rule.tool == ToolName::Agent,
        Part::Memory => rule.tool == ToolName::Memory,
        Part::Mcp { server, tool, .. } => rule.tool.covers_mcp(server, tool),
        Part::File(..) | Part::Shell(_) | Part::Net { .. } | Part::Internal => false,
    }
}

/// Whether a restricting pattern matches a touched file: as it was given or wherever it leads (P-2).
fn touches(pattern: &PathPattern, touch: &Touch) -> Fit {
    let places = touch.facts.places.iter().map(std::path::PathBuf::as_path);
    match &touch.place {
        Place::At(path) => {
            let hit =
                std::iter::once(path.as_path()).chain(places).any(|p| pattern.matches(p, Compare::Folded));
            if hit { Fit::Yes } else { Fit::No }
        }
        Place::Below(folder) => {
            let reach = |p| match pattern.reach(p, Compare::Folded) {
                Reached::Match => Fit::Yes,
                Reached::Below => Fit::Maybe,
                Reached::Nothing => Fit::No,
            };
            std::iter::once(folder.as_path()).chain(places).map(reach).max().unwrap_or(Fit::Maybe)
        }
        Place::Anywhere => Fit::Maybe,
    }
}

/// Returns whether a rule `Bash(TEXT)` was written for exactly this text.
fn is_text_of(rule: &str, text: &str) -> bool {
    let inside = rule.split_once('(').and_then(|(_, rest)| rest.trim_end().strip_suffix(')'));
    inside.is_some_and(|inside| inside.trim() == text.trim())
}
