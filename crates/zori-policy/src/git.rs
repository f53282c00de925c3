//! Whether a shell text runs nothing but git. Git writes its own repository, so a sandbox that closes the repository to
//! other programs can open it then.

use std::path::Path;

use zori_shell::{Command, CommandEffect, TargetPath};

use crate::call::analyse;
use crate::paths::Workspace;

/// The subcommands that write a repository in daily work. They are git's own names, which no alias can replace; none
/// sets configuration or runs what it is given.
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
pub fn runs_only_git(text: &str, cwd: &Path, workspace: &Workspace) -> bool {
    let analysis = analyse(text, cwd, workspace);
    let known = analysis.unresolved.is_empty() && analysis.dangers.is_empty();
    let commands = &analysis.commands;
    known
        && commands.iter().all(|c| writes_repository(c) || only_reads(c))
        && commands.iter().any(writes_repository)
}

/// Returns whether nothing but git opens files in a text. A sandbox that hides files of the workspace shows them then: git
/// compares what it tracks, and what looks empty would look changed. `git grep` prints what it finds, so it does not count.
pub fn opens_files_by_git_alone(text: &str, cwd: &Path, workspace: &Workspace) -> bool {
    let analysis = analyse(text, cwd, workspace);
    let known = analysis.unresolved.is_empty() && analysis.dangers.is_empty();
    let word = |command: &Command, at: usize| {
        command.argv.get(at).and_then(|word| word.literal()).map(str::to_owned).unwrap_or_default()
    };
    let git = |command: &Command| {
        let shows = word(command, 0) == "git"
            && word(command, 1) != "grep"
            && command.effect == CommandEffect::ReadOnly
            && redirects_nowhere(command);
        shows || writes_repository(command)
    };
    let opens_nothing =
        |command: &Command| only_reads(command) && (command.reads.is_empty() || word(command, 0) == "cd");
    let commands = &analysis.commands;
    known && commands.iter().all(|command| git(command) || opens_nothing(command)) && commands.iter().any(git)
}

fn writes_repository(command: &Command) -> bool {
    let mut words = command.argv.iter().map(|word| word.literal());
    let git = words.next() == Some(Some("git"));
    let subcommand = words.next().flatten().is_some_and(|word| SUBCOMMANDS.contains(&word));
    git && subcommand && redirects_nowhere(command) && !matches!(command.effect, CommandEffect::Unresolved(_))
}

fn only_reads(command: &Command) -> bool {
    let moves = command.argv.first().and_then(|word| word.literal()) == Some("cd");
    (command.effect == CommandEffect::ReadOnly || moves) && writes_nothing_else(command)
}

/// A redirect is the shell's, and could lead into the repository; what git itself writes is its business.
fn redirects_nowhere(command: &Command) -> bool {
    let redirect = |shown: &str| {
        shown
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "&{}_".contains(c))
            .starts_with(['<', '>'])
    };
    let mut redirects = command.writes.iter().filter(|target| redirect(&target.shown));
    redirects.all(|target| target.path == TargetPath::Known("/dev/null".into()))
}

fn writes_nothing_else(command: &Command) -> bool {
    command.writes.iter().all(|target| target.path == TargetPath::Known("/dev/null".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::WorkspaceParts;

    fn workspace() -> Workspace {
        Workspace::new(WorkspaceParts {
            roots: vec!["/ws".into()],
            cwd: "/ws".into(),
            home: Some("/home/u".into()),
            data_dir: None,
            path_dirs: Vec::new(),
            sensitive: Vec::new(),
        })
    }

    #[test]
    fn who_opens_files() {
        let alone = |text: &str| opens_files_by_git_alone(text, Path::new("/ws"), &workspace());
        for text in
            ["git status", "git diff | head", "git add -A && git commit -m x", "cd src && git status -sb"]
        {
            assert!(alone(text), "{text}");
        }
        for text in ["git grep x", "git status; cat .env", "ls", "git diff > out", "git status && make", ""] {
            assert!(!alone(text), "{text}");
        }
    }

    #[test]
    fn what_is_git_alone() {
        let workspace = workspace();
        let alone = |text: &str| runs_only_git(text, Path::new("/ws"), &workspace);
        for text in [
            "git commit -m 'a message'",
            "git add -A && git commit -q -m x && git log --oneline -1",
            "cd src && git add .",
            "cd /ws && git add -A && git commit -m x",
            "/usr/bin/git stash; echo done",
            "git checkout -b topic",
            "git checkout main",
            "git restore --staged src/main.rs",
            "git rm a.txt && git mv b c",
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
