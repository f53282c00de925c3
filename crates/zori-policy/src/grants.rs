//! What a question offers beside "once" (DEC-2): allow rules, shown exactly, from narrow to wide.
//!
//! A grant is only offered if the call would run with its rules added, which [`decide`] itself says, so that no front end
//! ever shows a rule that would not help.

mod prefix;

use std::path::Path;

use zori_core::permission::{Class, Decision, PathKind, Verdict};
use zori_core::question::{Grant, GrantScope};
use zori_core::tool::ToolKind;
use zori_shell::{Command, Word};

use self::prefix::prefix;
use crate::call::{Call, Part, ShellPart};
use crate::classified::ClassifiedCall;
use crate::decide::decide;
use crate::matching;
use crate::paths::Access;
use crate::policy::Policy;
use crate::rules::host;
use crate::rules::words::{WordPattern, quoted};

/// The most grants one question offers.
const MAX_GRANTS: usize = 4;

/// Returns what may be granted. Nothing for what is not known before it runs, for what a step before the allow rules
/// asked about, and for calls that no rule can name.
pub fn grants(policy: &Policy, call: &Call, decision: &Decision) -> Vec<Grant> {
    let offered = decision.verdict == Verdict::Ask
        && decision.step == 11
        && !decision.unresolved
        && !matches!(decision.class, Class::ReadSensitive | Class::WriteProtected | Class::ShellUnknown);
    let [part] = call.parts.as_slice() else { return Vec::new() };
    if !offered {
        return Vec::new();
    }
    let mut grants = match part {
        Part::File(access, path) => file(policy, call, *access, path),
        Part::Shell(shell) => commands(policy, call, shell),
        Part::Net { .. } if call.kind == Some(ToolKind::WebSearch) => vec![like("WebSearch", "any search")],
        Part::Net { url } => match host::host(url) {
            Some(host) => vec![like(format!("WebFetch(domain:{host})"), format!("any page of {host}"))],
            None => Vec::new(),
        },
        Part::Mcp { server, tool, .. } if !tool.contains('*') => vec![
            like(format!("mcp__{server}__{tool}"), "any call of this tool"),
            like(format!("mcp__{server}"), format!("any tool of {server}")),
        ],
        Part::Mcp { .. } => Vec::new(),
        Part::Agent => vec![like("Task", "any sub-agent")],
        Part::Memory => vec![like("Memory", "any memory entry")],
        // Each job is looked at by itself.
        Part::Schedule | Part::Internal => Vec::new(),
    };
    grants.retain(|grant| helps(policy, call, &grant.rules));
    grants.dedup_by(|later, earlier| later.rules == earlier.rules);
    grants.truncate(MAX_GRANTS);
    grants
}

/// Notes how many earlier calls each grant would have covered. They were asked about, so what runs under its rules is new.
pub fn count_past(policy: &Policy, grants: &mut [Grant], past: &[Call]) {
    for grant in grants {
        grant.past = past.iter().filter(|call| helps(policy, call, &grant.rules)).count();
    }
}

fn like(rule: impl Into<String>, words: impl Into<String>) -> Grant {
    Grant { rules: vec![rule.into()], words: words.into(), scope: GrantScope::Like, past: 0 }
}

/// Returns whether the call would run under these rules.
fn helps(policy: &Policy, call: &Call, rules: &[String]) -> bool {
    let mut with = policy.clone();
    let understood = rules.iter().all(|rule| {
        let warnings = with.add_for_session(Verdict::Allow, rule);
        warnings.iter().all(|warning| warning.text.ends_with("grants arbitrary execution"))
    });
    !rules.is_empty() && understood && decide(&with, call).verdict == Verdict::Allow
}

/// This file; its folder; the workspace it is in. A call about a folder is about all that is in it, so the folder itself is the narrowest that
/// can be named: a rule for a folder covers what is below it.
fn file(policy: &Policy, call: &Call, access: Access, path: &Path) -> Vec<Grant> {
    let is_folder = is_folder(policy, call, path);
    let root = policy.workspace.roots.iter().find(|root| path.starts_with(root)).map(|root| root.as_path());
    let folder = if is_folder { Some(path) } else { path.parent() };
    // All of a disk is no folder to be granted.
    let folder = folder.filter(|folder| folder.parent().is_some());
    let mut grants = Vec::new();
    if !is_folder {
        let name = match (access, call.kind) {
            (_, Some(ToolKind::Write)) => "Write",
            (Access::Write, _) => "Edit",
            (Access::Read, _) => "Read",
        };
        let Some(this) = escaped(path) else { return Vec::new() };
        grants.push(Grant {
            rules: vec![format!("{name}({this})")],
            words: "this path".to_owned(),
            scope: GrantScope::Call,
            past: 0,
        });
    }
    // `Write` is one tool; who lets a folder be changed means every way to change it.
    let family = if access == Access::Write { "Edit" } else { "Read" };
    for (folder, words) in [
        (folder.filter(|folder| Some(*folder) != root), "anything in this folder"),
        (root, "anything in the workspace"),
    ] {
        if let Some(folder) = folder.and_then(escaped) {
            grants.push(like(format!("{family}({folder}/**)"), words));
        }
    }
    grants
}

/// Returns whether a path is that of a folder: as the disk says, else by the tool, which may have been given either.
fn is_folder(policy: &Policy, call: &Call, path: &Path) -> bool {
    match call.facts.of(path).kind {
        PathKind::Folder => true,
        PathKind::File | PathKind::Special => false,
        PathKind::Missing | PathKind::Unknown => {
            matches!(call.kind, Some(ToolKind::Ls | ToolKind::Glob | ToolKind::Grep))
                || policy.workspace.roots.iter().any(|root| root == path)
        }
    }
}

/// These words; then by the words each command begins with.
fn commands(policy: &Policy, call: &Call, shell: &ShellPart) -> Vec<Grant> {
    let whole = || {
        let text = shell.text.trim();
        let exact = WordPattern::parse(text).is_ok_and(|pattern| !pattern.has_wildcard());
        (exact && !text.contains('\n')).then(|| format!("Bash({text})"))
    };
    let this = |rules: Vec<String>, words: &str| Grant {
        rules,
        words: words.to_owned(),
        scope: GrantScope::Call,
        past: 0,
    };
    let classified = ClassifiedCall::new(policy, call);
    let asked: Vec<&Command> = matching::uncovered_commands(&classified);
    let words: Option<Vec<Vec<&str>>> =
        asked.iter().map(|command| command.argv.iter().map(Word::literal).collect()).collect();
    let mut grants = Vec::new();
    let Some(words) = words.filter(|words| !words.is_empty()) else {
        grants.extend(whole().map(|rule| this(vec![rule], "this text")));
        return grants;
    };
    let mut exact: Vec<String> = words.iter().map(|words| format!("Bash({})", quoted(words))).collect();
    exact.dedup();
    if helps(policy, call, &exact) {
        grants.push(this(exact, "these words"));
    } else {
        grants.extend(whole().map(|rule| this(vec![rule], "this text")));
    }
    let prefixes: Vec<Option<&[&str]>> = words.iter().map(|words| prefix(words)).collect();
    if prefixes.iter().any(Option::is_some) {
        let mut rules = Vec::new();
        let mut names = Vec::new();
        let mut scope = GrantScope::Like;
        for (words, prefix) in words.iter().zip(prefixes) {
            match prefix {
                Some(prefix) => {
                    rules.push(format!("Bash({}:*)", quoted(prefix)));
                    names.push(format!("any {}", prefix.join(" ")));
                    if crate::rules::runs_anything(prefix[0]) && prefix.len() == 1 {
                        scope = GrantScope::AnyProgram;
                    }
                }
                None => rules.push(format!("Bash({})", quoted(words))),
            }
        }
        rules.dedup();
        names.dedup();
        let mut words = names.join(", ");
        // A wildcard covers arguments, not what they make a program write (RULE-4): that takes a rule of its own.
        if !helps(policy, call, &rules) {
            let edits =
                policy.workspace.roots.iter().filter_map(|root| Some(format!("Edit({}/**)", escaped(root)?)));
            rules.extend(edits);
            words.push_str(" and edits in the workspace");
        }
        grants.push(Grant { rules, words, scope, past: 0 });
    }
    grants
}

/// An absolute path as a pattern that means only itself.
fn escaped(path: &Path) -> Option<String> {
    let mut out = String::from("/");
    for c in path.to_str()?.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use zori_core::permission::PathFacts;
    use zori_core::tool::Effect;

    use super::*;
    use crate::testing::policy;

    fn offered(kind: ToolKind, effect: Effect) -> Vec<String> {
        let policy = policy("default");
        let call = Call::new("tool", Some(kind), &[effect], &policy.workspace);
        let decision = decide(&policy, &call);
        let line = |grant: Grant| format!("{}: {}", grant.words, grant.shown());
        grants(&policy, &call, &decision).into_iter().map(line).collect()
    }

    fn run(command: &str) -> Vec<String> {
        offered(ToolKind::Bash, Effect::Exec { command: command.into(), cwd: "/ws".into() })
    }

    /// BEY-5: how far a rule reaches is seen by what it would have covered.
    #[test]
    fn earlier_calls() {
        let policy = policy("default");
        let call = |command: &str| {
            let effect = Effect::Exec { command: command.into(), cwd: "/ws".into() };
            Call::new("bash", Some(ToolKind::Bash), &[effect], &policy.workspace)
        };
        let now = call("git commit -m three");
        let mut offered = grants(&policy, &now, &decide(&policy, &now));
        let past = [call("git commit -m one"), call("git commit -m two"), call("git push"), call("make")];
        count_past(&policy, &mut offered, &past);
        let shown: Vec<_> =
            offered.iter().map(|grant| format!("{}{}", grant.shown(), grant.covered())).collect();
        assert_eq!(shown, ["Bash(git commit -m three)", "Bash(git commit:*)   covers 2 past calls"]);
    }

    #[test]
    fn files_hosts_and_servers() {
        assert_eq!(
            offered(ToolKind::Write, Effect::Write("/ws/a[1]*.rs".into())),
            [r"this path: Write(//ws/a\[1]\*.rs)", "anything in the workspace: Edit(//ws/**)"]
        );
        assert_eq!(
            offered(ToolKind::Edit, Effect::Write("/ws/src/b".into())),
            [
                "this path: Edit(//ws/src/b)",
                "anything in this folder: Edit(//ws/src/**)",
                "anything in the workspace: Edit(//ws/**)"
            ]
        );
        assert_eq!(
            offered(ToolKind::Read, Effect::Read("/out/d/b".into())),
            ["this path: Read(//out/d/b)", "anything in this folder: Read(//out/d/**)"]
        );
        assert_eq!(
            offered(ToolKind::Fetch, Effect::Net { url: "https://docs.rs/x".into() }),
            ["any page of docs.rs: WebFetch(domain:docs.rs)"]
        );
        let mcp = Effect::Mcp {
            server: "gh".into(),
            tool: "get".into(),
            trusted_reader: false,
            change: Default::default(),
        };
        assert_eq!(
            offered(ToolKind::Bash, mcp),
            ["any call of this tool: mcp__gh__get", "any tool of gh: mcp__gh"]
        );
    }

    /// A call about a folder never leads to a rule about the one above it, whichever tool it is of.
    #[test]
    fn folders() {
        let policy = policy("paranoid");
        let offered = |kind: Option<ToolKind>, path: &str, on_disk: Option<PathKind>| {
            let effect = Effect::Read(path.into());
            let mut call = Call::new("tool", kind, &[effect], &policy.workspace);
            if let Some(kind) = on_disk {
                call.gather(|path| PathFacts { places: vec![path.to_owned()], kind, links: 1 });
            }
            let decision = decide(&policy, &call);
            let line = |grant: Grant| format!("{}: {}", grant.words, grant.shown());
            grants(&policy, &call, &decision).into_iter().map(line).collect::<Vec<_>>()
        };
        let workspace = "anything in the workspace: Read(//ws/**)";
        for kind in [ToolKind::Ls, ToolKind::Glob, ToolKind::Grep].map(Some).into_iter().chain([None]) {
            assert_eq!(offered(kind, "/ws", Some(PathKind::Folder)), [workspace], "{kind:?}");
            assert_eq!(
                offered(kind, "/ws/src", Some(PathKind::Folder)),
                ["anything in this folder: Read(//ws/src/**)", workspace],
                "{kind:?}"
            );
            assert_eq!(
                offered(kind, "/out/d", Some(PathKind::Folder)),
                ["anything in this folder: Read(//out/d/**)"],
                "{kind:?}"
            );
            assert_eq!(offered(kind, "/", Some(PathKind::Folder)), [""; 0], "{kind:?}");
            assert_eq!(
                offered(kind, "/ws/a.rs", Some(PathKind::File)),
                ["this path: Read(//ws/a.rs)", workspace],
                "{kind:?}"
            );
        }
        // Where nothing was looked up.
        assert_eq!(offered(Some(ToolKind::Ls), "/ws", None), [workspace]);
        assert_eq!(offered(None, "/ws", None), [workspace]);
        assert_eq!(
            offered(Some(ToolKind::Grep), "/ws/src", None),
            ["anything in this folder: Read(//ws/src/**)", workspace]
        );
    }

    #[test]
    fn commands_from_narrow_to_wide() {
        assert_eq!(
            run("git commit -m 'a b'"),
            ["these words: Bash(git commit -m 'a b')", "any git commit: Bash(git commit:*)"]
        );
        assert_eq!(
            run("npm run build -- --prod"),
            ["these words: Bash(npm run build -- --prod)", "any npm run build: Bash(npm run build:*)"]
        );
        assert_eq!(
            run("touch a"),
            [
                "these words: Bash(touch a)",
                "any touch and edits in the workspace: Bash(touch:*), Edit(//ws/**)"
            ]
        );
        assert_eq!(
            run("python3 calc.py"),
            ["these words: Bash(python3 calc.py)", "any python3: Bash(python3:*)"]
        );
        assert_eq!(
            run("cd src && cargo build | tail -3"),
            ["these words: Bash(cargo build)", "any cargo build: Bash(cargo build:*)"]
        );
        // What removes stays exact.
        assert_eq!(
            run("rm -rf build && git push origin main"),
            [
                "this text: Bash(rm -rf build && git push origin main)",
                "any git push and edits in the workspace: Bash(rm -rf build), Bash(git push:*), Edit(//ws/**)"
            ]
        );
        assert_eq!(run("make > log"), ["this text: Bash(make > log)"]);
        assert_eq!(run("git -C . push"), ["these words: Bash(git -C . push)"]);
    }

    #[test]
    fn any_program_is_marked() {
        let policy = policy("default");
        let effect = Effect::Exec { command: "python3 calc.py".into(), cwd: "/ws".into() };
        let call = Call::new("tool", Some(ToolKind::Bash), &[effect], &policy.workspace);
        let scopes: Vec<GrantScope> =
            grants(&policy, &call, &decide(&policy, &call)).iter().map(|grant| grant.scope).collect();
        assert_eq!(scopes, [GrantScope::Call, GrantScope::AnyProgram]);
    }

    #[test]
    fn nothing_for_what_is_guarded_or_not_known() {
        assert!(offered(ToolKind::Read, Effect::Read("/ws/.env".into())).is_empty());
        assert!(offered(ToolKind::Edit, Effect::Write("/ws/.git/config".into())).is_empty());
        assert!(run("$x").is_empty());
        assert!(run("cat .env").is_empty());
    }
}
