//! Which rule matches a call: one part is enough to deny or to ask, every part has to be covered to allow (RULE-3).

use zori_core::permission::{Class, Verdict};
use zori_core::tool::ToolKind;
use zori_shell::{Command, CommandEffect, Via, Word};

use crate::call::Part;
use crate::classified::{
    AccessedPath, ClassifiedCall, ClassifiedShell, FileAccess, RuleMatch, class_of_part, short,
};
use crate::paths::Access;
use crate::paths::pattern::{Compare, PathMatch, PathPattern};
use crate::rules::words::{Fit, WordPattern};
use crate::rules::{Rule, Scope};
use crate::table;

/// Returns whether a deny or ask rule matches, and what.
pub(crate) fn restricts<'r>(rule: &'r Rule, classified: &ClassifiedCall<'_>) -> (Fit, RuleMatch<'r>) {
    let mut best = (Fit::No, String::new());
    let mut note = |fit: Fit, what: &dyn Fn() -> String| {
        if fit > best.0 {
            best = (fit, what());
        }
    };
    if classified.call.kind.is_some_and(|kind| rule.tool.covers(kind)) {
        match &rule.scope {
            Scope::All => note(Fit::Yes, &|| classified.call.name.clone()),
            Scope::Path(pattern) => {
                for file in &classified.files {
                    note(matches_file(pattern, file), &|| file.shown.clone());
                }
            }
            Scope::Host(pattern) => {
                for part in &classified.call.parts {
                    if let Part::Net { url } = part
                        && pattern.matches(url)
                    {
                        note(Fit::Yes, &|| short(url));
                    }
                }
            }
            Scope::Command(pattern) => {
                for shell in &classified.shells {
                    for command in &shell.part.analysis.commands {
                        note(pattern.hits(command), &|| short(&command.source));
                    }
                    if let Some(words) = &shell.part.analysis.raw_words {
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
    for file in classified.shell_file_accesses().filter(|file| applies(file.access)) {
        match &rule.scope {
            Scope::All => note(Fit::Yes, &|| file.shown.clone()),
            Scope::Path(pattern) => note(matches_file(pattern, file), &|| file.shown.clone()),
            Scope::Command(_) | Scope::Host(_) => {}
        }
    }
    if classified.call.parts.iter().any(|part| names(rule, part)) {
        note(Fit::Yes, &|| classified.call.name.clone());
    }
    let (fit, what) = best;
    (fit, RuleMatch { rule: &rule.shown, what })
}

/// Returns whether an unknown program's arguments end in a denied command, or one of them is the text of one (SH-7).
pub(crate) fn hides_denied<'s>(classified: &'s ClassifiedCall<'_>) -> Option<&'s Command> {
    let denied = || {
        classified.policy.rules.deny.iter().filter_map(|rule| match &rule.scope {
            Scope::Command(pattern) if rule.tool.covers_shell() => Some(pattern),
            _ => None,
        })
    };
    let commands = classified.shells.iter().flat_map(|shell| &shell.part.analysis.commands);
    let mut unknown = commands.filter(|command| {
        command.effect == CommandEffect::Other && !TAKES_NAMES.contains(&command.base_name.as_str())
    });
    unknown.find(|command| {
        let tails = (1..command.argv.len()).map(|i| &command.argv[i..]);
        let texts = command.argv.iter().skip(1).filter_map(Word::literal);
        let texts =
            texts.filter(|text| text.contains(char::is_whitespace) && !takes_prose(&command.base_name));
        tails.into_iter().any(|tail| denied().any(|pattern| named_tail(pattern, tail)))
            || texts
                .flat_map(simple_commands)
                .any(|words| denied().any(|pattern| named_tail(pattern, &words)))
    })
}

/// Returns the commands that a text would be for a shell, as far as blanks and separators tell.
fn simple_commands(text: &str) -> impl Iterator<Item = Vec<Word>> {
    let words = |part: &str| part.split_whitespace().map(|word| Word::Literal(word.to_owned())).collect();
    text.split([';', '&', '|', '\n']).map(words)
}

/// Whether a program's arguments with blanks in them are sentences, or programs in another language than the shell's.
fn takes_prose(name: &str) -> bool {
    zori_shell::is_interpreter(name)
        || matches!(name, "gh" | "glab" | "hub" | "notify-send" | "psql" | "mysql" | "sqlite3")
}

/// Programs whose arguments are often names of programs, which they do not run.
const TAKES_NAMES: &[&str] = &["apt", "apt-get", "brew", "dnf", "git", "pip", "pip3"];

fn named_tail(pattern: &WordPattern, tail: &[Word]) -> bool {
    pattern.first_word().is_some() && pattern.hits_words(tail) == Fit::Yes
}

/// How much of a call is allowed by rules and by the mode's table.
pub(crate) struct Coverage<'r> {
    /// The rule that was needed, if one was.
    pub(crate) rule: Option<RuleMatch<'r>>,
    /// The strictest class that nothing allows; `None` if all is covered.
    pub(crate) uncovered: Option<Class>,
}

/// Returns which parts of a call are allowed.
pub(crate) fn coverage<'r>(classified: &ClassifiedCall<'r>) -> Coverage<'r> {
    let mut coverage = Coverage { rule: None, uncovered: None };
    let mut files = classified.files.iter();
    let mut shells = classified.shells.iter();
    let table = |class| table::verdict(classified.policy.mode, class) == Verdict::Allow;
    for part in &classified.call.parts {
        let (class, rule) = match part {
            Part::File(..) => {
                let file = files.next().expect("every file part has its touch");
                (file.class, allows_file(classified, classified.call.kind, file))
            }
            Part::Shell(_) => {
                let shell = shells.next().expect("every shell part has its view");
                cover_shell(classified, shell, &mut coverage);
                continue;
            }
            other => (class_of_part(other), allows_plain(classified, other)),
        };
        match rule {
            Some(rule) if !table(class) => coverage.rule = coverage.rule.take().or(Some(rule)),
            None if !table(class) => coverage.uncovered = coverage.uncovered.max(Some(class)),
            _ => {}
        }
    }
    if classified.call.parts.is_empty() && !table(classified.class) {
        coverage.uncovered = Some(classified.class);
    }
    coverage
}

fn cover_shell<'r>(
    classified: &ClassifiedCall<'r>,
    shell: &ClassifiedShell<'r>,
    coverage: &mut Coverage<'r>,
) {
    let rules = || classified.policy.rules.allow.iter().filter(|rule| rule.tool.covers_shell());
    let analysis = &shell.part.analysis;
    // The whole shell, or this very text (RULE-4).
    let whole = rules().find(|rule| match &rule.scope {
        Scope::All => true,
        Scope::Command(pattern) => !pattern.has_wildcard() && is_text_of(&rule.shown.text, &shell.part.text),
        Scope::Path(_) | Scope::Host(_) => false,
    });
    let table = |class| table::verdict(classified.policy.mode, class) == Verdict::Allow;
    if table(shell.class) {
        return;
    }
    if let Some(rule) = whole {
        let hit = RuleMatch { rule: &rule.shown, what: short(&shell.part.text) };
        coverage.rule = coverage.rule.take().or(Some(hit));
        return;
    }
    if !analysis.unresolved.is_empty() || analysis.commands.is_empty() {
        coverage.uncovered = coverage.uncovered.max(Some(Class::ShellUnknown));
        return;
    }
    for (i, (command, classified_command)) in analysis.commands.iter().zip(&shell.commands).enumerate() {
        if table(classified_command.class) || is_transparent(&analysis.commands, i) {
            continue;
        }
        let usable = classified_command.class != Class::ShellUnknown && command.no_auto_approval.is_empty();
        let written = classified_command.file_accesses.iter().filter(|file| file.access == Access::Write);
        let may_write =
            || written.into_iter().all(|t| table(t.class) || allows_file(classified, None, t).is_some());
        let rule = rules().find(|rule| matches!(&rule.scope, Scope::Command(p) if p.covers(command)));
        match rule {
            Some(rule) if usable && may_write() => {
                let hit = RuleMatch { rule: &rule.shown, what: short(&command.source) };
                coverage.rule = coverage.rule.take().or(Some(hit));
            }
            _ => coverage.uncovered = coverage.uncovered.max(Some(classified_command.class)),
        }
    }
}

/// Returns the commands of a call that neither the mode's table nor a rule allows.
pub(crate) fn uncovered_commands<'c>(classified: &ClassifiedCall<'c>) -> Vec<&'c Command> {
    let table = |class| table::verdict(classified.policy.mode, class) == Verdict::Allow;
    let rules = || classified.policy.rules.allow.iter().filter(|rule| rule.tool.covers_shell());
    let mut found = Vec::new();
    for shell in &classified.shells {
        let commands = &shell.part.analysis.commands;
        for (i, (command, classified_command)) in commands.iter().zip(&shell.commands).enumerate() {
            let covered = table(classified_command.class)
                || is_transparent(commands, i)
                || rules().any(|rule| matches!(&rule.scope, Scope::Command(p) if p.covers(command)));
            if !covered {
                found.push(command);
            }
        }
    }
    found
}

/// Returns whether the whitelist covers the call: one plain command that begins with an entry (MODE-6).
pub(crate) fn whitelisted(classified: &ClassifiedCall<'_>) -> bool {
    let [shell] = classified.shells.as_slice() else { return false };
    let ([command], [classified_command]) =
        (shell.part.analysis.commands.as_slice(), shell.commands.as_slice())
    else {
        return false;
    };
    let plain = shell.part.analysis.single
        && classified.call.parts.len() == 1
        && classified_command.class != Class::ShellUnknown
        && command.no_auto_approval.is_empty()
        && command.writes.is_empty();
    plain && classified.policy.shell.whitelist.iter().any(|entry| entry.covers(command))
}

/// Returns whether a program only runs its arguments. Such a program needs no rule of its own, but what it runs does. A
/// program that changes the user or the machine needs a rule (SH-6).
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
    known && command.no_auto_approval.is_empty() && command.writes.is_empty() && commands.iter().any(runs)
}

/// Returns the allow rule for a file; it has to match every place the path stands for.
fn allows_file<'r>(
    classified: &ClassifiedCall<'r>,
    kind: Option<ToolKind>,
    file: &FileAccess,
) -> Option<RuleMatch<'r>> {
    let covers = |rule: &&'r Rule| match kind {
        Some(kind) => rule.tool.covers(kind),
        None if file.access == Access::Read => rule.tool.covers_reads(),
        None => rule.tool.covers_writes(),
    };
    let fits = |rule: &&'r Rule| match &rule.scope {
        Scope::All => true,
        Scope::Path(pattern) => {
            let all = |path| pattern.matches(path, Compare::Exact);
            !file.facts.places.is_empty() && file.facts.places.iter().all(|path| all(path))
        }
        Scope::Command(_) | Scope::Host(_) => false,
    };
    let rule = classified.policy.rules.allow.iter().filter(covers).find(fits)?;
    Some(RuleMatch { rule: &rule.shown, what: file.shown.clone() })
}

fn allows_plain<'r>(classified: &ClassifiedCall<'r>, part: &Part) -> Option<RuleMatch<'r>> {
    let kind = classified.call.kind;
    let fits = |rule: &&'r Rule| match (&rule.scope, part) {
        (Scope::Host(pattern), Part::Net { url }) => pattern.matches(url),
        (Scope::All, Part::Net { .. } | Part::Internal) => kind.is_some_and(|kind| rule.tool.covers(kind)),
        (_, part) => names(rule, part),
    };
    let rule = classified.policy.rules.allow.iter().find(fits)?;
    Some(RuleMatch { rule: &rule.shown, what: classified.call.name.clone() })
}

/// Returns whether a rule without brackets names this part.
fn names(rule: &Rule, part: &Part) -> bool {
    use crate::rules::tools::ToolName;
    match part {
        Part::Agent => rule.tool == ToolName::Agent,
        Part::Memory => rule.tool == ToolName::Memory,
        Part::Schedule => rule.tool == ToolName::Schedule,
        Part::Mcp { server, tool, .. } => rule.tool.covers_mcp(server, tool),
        Part::File(..) | Part::Shell(_) | Part::Net { .. } | Part::Internal => false,
    }
}

/// Whether a restricting pattern matches a touched file: as it was given or wherever it leads (P-2).
fn matches_file(pattern: &PathPattern, file: &FileAccess) -> Fit {
    let places = file.facts.places.iter().map(std::path::PathBuf::as_path);
    match &file.path {
        AccessedPath::At(path) => {
            let hit =
                std::iter::once(path.as_path()).chain(places).any(|p| pattern.matches(p, Compare::Folded));
            if hit { Fit::Yes } else { Fit::No }
        }
        AccessedPath::Below(folder, filter) => {
            let left_out = pattern.last_name().is_some_and(|name| !filter.lets_through(&name));
            let reach = |p| match pattern.reach(p, Compare::Folded) {
                PathMatch::Match => Fit::Yes,
                PathMatch::Below if left_out => Fit::No,
                PathMatch::Below => Fit::Maybe,
                PathMatch::Nothing => Fit::No,
            };
            std::iter::once(folder.as_path()).chain(places).map(reach).max().unwrap_or(Fit::Maybe)
        }
        AccessedPath::Anywhere => Fit::Maybe,
    }
}

/// Returns whether a rule `Bash(TEXT)` was written for exactly this text.
fn is_text_of(rule: &str, text: &str) -> bool {
    let inside = rule.split_once('(').and_then(|(_, rest)| rest.trim_end().strip_suffix(')'));
    inside.is_some_and(|inside| inside.trim() == text.trim())
}
