//! How much could go wrong with a call, said without asking anybody (APR-5): the first thing an explanation says.

use std::fmt;

use crate::permission::{Class, Decision};
use crate::question::{FileAction, Preview};

/// Words of a command that take something away for good.
const TAKES_AWAY: &[&str] = &[
    "rm", "rmdir", "unlink", "del", "erase", "delete", "shred", "truncate", "wipe", "wipefs", "dd", "mkfs",
    "mke2fs", "fdisk", "parted", "format", "shutdown", "reboot",
];

/// How much could go wrong, and why that is thought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Risk {
    /// It takes something away, or nobody knows before what it does.
    High(String),
    /// It changes files.
    Medium,
    /// None of these.
    Low,
}

impl Risk {
    /// Returns the risk of a call that is asked about. What the blacklist names is never asked about: it does not run.
    pub fn of(preview: &Preview, decision: &Decision) -> Self {
        if let Preview::Command { command, .. } = preview
            && let Some(word) = words(command).find(|word| TAKES_AWAY.contains(&word.as_str()))
        {
            return Self::High(format!("`{word}` deletes or formats"));
        }
        if let Preview::Changes(files) = preview
            && let Some(gone) = files.iter().find(|file| file.action == FileAction::Delete)
        {
            return Self::High(format!("it deletes {}", gone.path.display()));
        }
        match decision.class {
            Class::ReadSensitive => Self::High("what it reads may hold secrets".to_owned()),
            Class::WriteProtected => Self::High("what it changes is protected".to_owned()),
            Class::ShellUnknown => Self::High("what it runs is not known before".to_owned()),
            _ if decision.unresolved => Self::High("not all of it is known before it runs".to_owned()),
            Class::Write | Class::WriteOutside | Class::ShellFile => Self::Medium,
            _ if matches!(preview, Preview::Changes(_)) => Self::Medium,
            _ => Self::Low,
        }
    }

    /// Returns it in a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::High(_) => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Self::High(why) => why,
            Self::Medium => "it changes files",
            Self::Low => "nothing in it deletes, formats or changes files",
        };
        write!(f, "risk {}: {why}", self.as_str())
    }
}

fn words(command: &str) -> impl Iterator<Item = String> {
    command.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::Verdict;
    use crate::question::FileDiff;

    fn risk(preview: &Preview, class: Class) -> String {
        Risk::of(preview, &Decision::new(Verdict::Ask, class, "because")).to_string()
    }

    #[test]
    fn what_is_said_of_a_call() {
        let command =
            |command: &str| Preview::Command { command: command.into(), cwd: "/".into(), sandbox: None };
        let changes = |actions: &[FileAction]| {
            let file = |action: &FileAction| FileDiff::new("/w/a", *action, "");
            Preview::Changes(actions.iter().map(file).collect())
        };
        let low = "risk low: nothing in it deletes, formats or changes files";
        let medium = "risk medium: it changes files";
        for (preview, class, said) in [
            (command("cd x && RM -rf build"), Class::Shell, "risk high: `rm` deletes or formats"),
            (command("sudo mkfs.ext4 /dev/sda"), Class::Shell, "risk high: `mkfs` deletes or formats"),
            (command("find . -name x -delete"), Class::ShellFile, "risk high: `delete` deletes or formats"),
            (command("firm --farm"), Class::Shell, low),
            (command("touch a"), Class::ShellFile, medium),
            (command("$(cat x)"), Class::ShellUnknown, "risk high: what it runs is not known before"),
            (changes(&[FileAction::Create]), Class::Write, medium),
            (changes(&[FileAction::Change, FileAction::Delete]), Class::Write, "risk high: it deletes /w/a"),
            (
                changes(&[FileAction::Change]),
                Class::WriteProtected,
                "risk high: what it changes is protected",
            ),
            (Preview::Input("{}".into()), Class::Read, low),
            (Preview::Input("{}".into()), Class::ReadSensitive, "risk high: what it reads may hold secrets"),
            (Preview::Input("{}".into()), Class::Write, medium),
        ] {
            assert_eq!(risk(&preview, class), said, "{preview:?}");
        }
    }

    #[test]
    fn what_is_not_known_before_is_a_risk() {
        let mut decision = Decision::new(Verdict::Ask, Class::Shell, "because");
        decision.unresolved = true;
        let risk = Risk::of(&Preview::Input("{}".into()), &decision);
        assert_eq!(risk.to_string(), "risk high: not all of it is known before it runs");
    }
}
