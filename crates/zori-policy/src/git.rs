//! Whether a shell text is git at work and nothing else: a repository is written by git itself (4.5), so a sandbox that
//! closes it to everybody else can open it then.

use std::path::Path;

use zori_shell::{Command, CommandEffect, TargetPath};

use crate::call::analyse;
use crate::paths::Ground;

/// What writes a repository in daily work. Names of git's own, which no alias can take; none that sets its configuration
/// or runs what it is given.
const SUBCOMMANDS: &[&str] = &[
    "add",
    "am",
    "apply",
    "branch",
    "checkout",
    "cherry-pick",
    "clean",
    "commit",
    "fetch",
    "merge",
    "mv",
    "notes",
    "pull",
    "push",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
    "tag",
];

/// Returns whether every command in a text is one of these, or provably only reads, and at least one is.
pub fn is_git_alone(text: &str, cwd: &Path, ground: &Ground) -> bool {
    let analysis = analyse(text, cwd, ground);
    let known = analysis.unresolved.is_empty() && analysis.dangers.is_empty();
    let commands = &analysis.commands;
    known
        && commands.iter().all(|c| writes_repository(c) || only_reads(c))
        && commands.iter().any(writes_repository)
}

fn writes_repository(command: &Command) -> bool {
    let mut words = command.argv.iter().map(|word| word.literal());
    let git = words.next() == Some(Some("git"));
    let subcommand = words.next().flatten().is_some_and(|word| SUBCOMMANDS.contains(&word));
    git && subcommand
        && writes_nothing_else(command)
        && !matches!(command.effect, CommandEffect::Unresolved(_))
}

fn only_reads(command: &Command) -> bool {
    let moves = command.argv.first().and_then(|word| word.literal()) == Some("cd");
    (command.effect == CommandEffect::ReadOnly || moves) && writes_nothing_else(command)
}

/// A redirect is the shell's, and could lead into the repository.
fn writes_nothing_else(command: &Command) -> bool {
    command.writes.iter().all(|target| target.path == TargetPath::Known("/dev/null".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::GroundParts;

    #[test]
    fn what_is_git_alone() {
        let ground = Ground::new(GroundParts {
            roots: vec!["/ws".into()],
            cwd: "/ws".into(),
            home: Some("/home/u".into()),
            base: None,
            repo: None,
            programs: Vec::new(),
            sensitive: Vec::new(),
        });
        let alone = |text: &str| is_git_alone(text, Path::new("/ws"), &ground);
        for text in [
            "git commit -m 'a message'",
            "git add -A && git commit -q -m x && git log --oneline -1",
            "cd src && git add .",
            "cd /ws && git add -A && git commit -m x",
            "/usr/bin/git stash; echo done",
            "git checkout -b topic",
            "git rebase main 2>/dev/null",
        ] {
            assert!(alone(text), "{text}");
        }
        for text in [
            "git status",
            "ls",
            "",
            "cargo test && git commit -m x",
            "git commit -m x > log",
            "echo x > .git/HEAD; git add .",
            "git -c core.fsmonitor=./x commit -m x",
            "git config core.hooksPath .",
            "git submodule foreach ./x",
            "git rebase -x ./x main",
            "git alias",
            "git $x",
            "./git commit -m x",
            "sh -c 'git commit -m x; ./x'",
            "git commit -m \"$(./x)\"",
            "git commit -m 'open",
        ] {
            assert!(!alone(text), "{text}");
        }
    }
}
