//! Whether a repository's own configuration names programs that git would start even to show something (SH-11): filters,
//! diff drivers, signature programs, aliases. What the user's own files say is theirs to say.

use std::path::{Path, PathBuf};

/// Sections whose settings are programs, or bring such.
const SECTIONS: &[&str] =
    &["filter", "include", "includeif", "alias", "gpg", "credential", "pager", "difftool", "mergetool"];

/// Settings whose value is a program, in any other section.
const KEYS: &[&str] = &[
    "external",
    "command",
    "textconv",
    "driver",
    "fsmonitor",
    "hookspath",
    "sshcommand",
    "askpass",
    "editor",
    "pager",
    "program",
    "helper",
    "clean",
    "smudge",
    "process",
    "cmd",
    "showsignature",
    "gitproxy",
    "packobjectshook",
    "worktree",
    "attributesfile",
    "wildmatch",
];

/// Values that name nothing.
const NOTHING: &[&str] = &["", "false", "0", "no", "off"];

/// Returns whether a repository's configuration makes git start a program, or cannot be read as a whole. `read` returns
/// the text of a small file, `None` if there is none.
pub fn names_programs(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> bool {
    let Some(folder) = common_folder(root, read) else { return false };
    ["config", "config.worktree"]
        .into_iter()
        .filter_map(|name| read(&folder.join(name)))
        .any(|text| runs(&text))
}

/// Follows the pointers of a worktree; `None` without a repository.
fn common_folder(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    let Some(pointer) = read(&dot_git) else { return Some(dot_git) };
    let folder = root.join(pointer.trim().strip_prefix("gitdir:")?.trim());
    Some(match read(&folder.join("commondir")) {
        Some(common) => folder.join(common.trim()),
        None => folder,
    })
}

fn runs(config: &str) -> bool {
    config.lines().any(|line| {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let name = section.split([' ', '"', ']', '.']).next().unwrap_or_default().to_ascii_lowercase();
            // A setting may stand on the section's own line.
            return SECTIONS.contains(&name.as_str())
                || section.split_once(']').is_some_and(|(_, rest)| sets_program(rest));
        }
        sets_program(line)
    })
}

fn sets_program(line: &str) -> bool {
    let (key, value) = line.split_once('=').unwrap_or((line, "true"));
    let key = key.trim().to_ascii_lowercase();
    let value = value.trim().trim_matches('"').to_ascii_lowercase();
    KEYS.contains(&key.as_str()) && !NOTHING.contains(&value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_programs() {
        for config in [
            "[core]\n\tfsmonitor = ./evil\n",
            "[core] hooksPath = x\n",
            "[diff \"x\"]\n\ttextconv = ./evil\n",
            "[filter \"x\"]\n\tclean = ./evil\n",
            "[include]\n\tpath = ../evil\n",
            "[includeIf \"gitdir:x\"]\n\tpath = y\n",
            "[log]\n\tshowSignature = true\n",
            "[alias]\n\tst = !./evil\n",
            "[DIFF]\n  External=./evil\n",
        ] {
            assert!(runs(config), "{config}");
        }
        let usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tfsmonitor = false\n[remote \"origin\"]\n\turl = x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n[user]\n\tname = x\n";
        assert!(!runs(usual));
    }

    #[test]
    fn a_worktree_shares_the_configuration() {
        let read = |path: &Path| match path.to_str()? {
            "/ws/.git" => Some("gitdir: /main/.git/worktrees/ws\n".to_owned()),
            "/main/.git/worktrees/ws/commondir" => Some("../..\n".to_owned()),
            "/main/.git/worktrees/ws/../../config" => Some("[diff]\nexternal = x\n".to_owned()),
            _ => None,
        };
        assert!(names_programs(Path::new("/ws"), &read));
        assert!(!names_programs(Path::new("/other"), &read));
    }
}
