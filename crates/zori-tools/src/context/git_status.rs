//! What git says of a workspace. A repository whose own settings name programs is not asked: they would run.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How many lines of a status are shown.
const MAX_LINES: usize = 50;
/// How often git is waited for, and how long each time: two seconds.
const MAX_WAITS: u32 = 20;
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How much of its output is read.
const MAX_OUTPUT: usize = 64 * 1024;

/// Returns the lines about the repository that the workspace is in, as far as they are about the workspace; none outside of one.
pub(super) fn lines(root: &Path) -> Vec<String> {
    let Some(git) = root.ancestors().map(|folder| folder.join(".git")).find_map(|git| Repository::at(&git))
    else {
        return Vec::new();
    };
    let branch = branch(&git.own).map(|name| format!("- branch: {name}"));
    let status = match git.names_programs() {
        false => status(root),
        true => {
            Some(vec!["- (not asked: the repository's settings name programs or other folders)".to_owned()])
        }
    };
    branch.into_iter().chain(status.into_iter().flatten()).collect()
}

/// Where git keeps what it knows.
struct Repository {
    /// Of this worktree.
    own: PathBuf,
    /// Of all worktrees of the repository.
    common: PathBuf,
}

impl Repository {
    /// Returns what is at a `.git`: a folder, or the file of a worktree or a submodule that says where the folder is.
    fn at(git: &Path) -> Option<Self> {
        if git.is_dir() {
            return Some(Self { own: git.to_owned(), common: git.to_owned() });
        }
        let text = fs::read_to_string(git).ok()?;
        let own = git.parent()?.join(text.trim().strip_prefix("gitdir:")?.trim());
        let common = match fs::read_to_string(own.join("commondir")) {
            Ok(common) => own.join(common.trim()),
            Err(_) => own.clone(),
        };
        own.is_dir().then_some(Self { own, common })
    }

    /// Returns whether its own settings name programs or other folders, or cannot be read.
    fn names_programs(&self) -> bool {
        const WORDS: [&str; 7] =
            ["filter", "fsmonitor", "hookspath", "include", "sshcommand", "textconv", "worktree"];
        let names = |file: PathBuf| match fs::read_to_string(file) {
            Ok(settings) => {
                let settings = settings.to_ascii_lowercase();
                WORDS.iter().any(|word| settings.contains(word))
            }
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        };
        names(self.common.join("config")) || self.own.join("config.worktree").exists()
    }
}

fn branch(git: &Path) -> Option<String> {
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let head = head.trim();
    Some(head.strip_prefix("ref: refs/heads/").map_or_else(|| head.chars().take(12).collect(), str::to_owned))
}

fn status(root: &Path) -> Option<Vec<String>> {
    let mut command = Command::new("git");
    command
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .args([
            "-c",
            "core.quotePath=false",
            "-c",
            "status.relativePaths=true",
            "-c",
            "status.branch=false",
            "-c",
            "color.status=false",
            "status",
            "--short",
            "--untracked-files=normal",
            "--ignore-submodules=all",
            "--",
            ".",
        ])
        .current_dir(root)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let output = child.stdout.take().map(read_patiently);
    // What is complete by now has ended; what is not is ended here.
    let _ = child.kill();
    let ended = child.wait().ok()?;
    let (bytes, complete) = output?;
    if !complete {
        return Some(vec!["- (git took too long)".to_owned()]);
    }
    if !ended.success() && bytes.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<String> = text.lines().take(MAX_LINES).map(|line| format!("- {line}")).collect();
    if text.lines().count() > MAX_LINES {
        lines.push("- ... [truncated]".to_owned());
    }
    if lines.is_empty() {
        lines.push("- clean".to_owned());
    }
    Some(lines)
}

/// Reads until the end, and waits [`MAX_WAITS`] times at most; returns whether the end was reached.
fn read_patiently(mut out: std::process::ChildStdout) -> (Vec<u8>, bool) {
    let (mut waits, mut bytes, mut buffer) = (0, Vec::new(), [0; 8192]);
    while waits < MAX_WAITS {
        match poll(&mut [PollFd::new(&out, PollFlags::IN)], Some(&WAIT)) {
            Ok(0) => waits += 1,
            Ok(_) => match out.read(&mut buffer) {
                Ok(n) if n > 0 && bytes.len() < MAX_OUTPUT => bytes.extend_from_slice(&buffer[..n]),
                Ok(_) => return (bytes, true),
                Err(_) => return (bytes, false),
            },
            Err(_) => return (bytes, false),
        }
    }
    (bytes, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, args: &[&str]) {
        let out = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    /// CB-5: a workspace need not be the repository's own folder; what is outside of it is not told.
    #[test]
    fn inside_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, part) = (dir.path().join("whole"), dir.path().join("whole/part/deep"));
        fs::create_dir_all(&part).unwrap();
        assert_eq!(lines(&part), [""; 0]);
        git(&whole, &["init", "-q", "-b", "main"]);
        fs::write(whole.join("top"), "").unwrap();
        fs::write(part.join("kept"), "").unwrap();
        assert_eq!(lines(&part), ["- branch: main", "- ?? ./"]);
        git(&whole, &["add", "."]);
        git(&whole, &["commit", "-q", "-m", "one"]);
        assert_eq!(lines(&part), ["- branch: main", "- clean"]);
        fs::write(whole.join("top"), "other").unwrap();
        fs::write(part.join("kept"), "other").unwrap();
        fs::write(part.join("new"), "").unwrap();
        assert_eq!(lines(&part), ["- branch: main", "-  M kept", "- ?? new"]);
        let tree = dir.path().join("tree");
        git(&whole, &["worktree", "add", "-q", "-b", "side", tree.to_str().unwrap()]);
        assert_eq!(lines(&tree.join("part")), ["- branch: side", "- clean"]);
        git(&whole, &["config", "core.fsmonitor", "false"]);
        let unasked = "- (not asked: the repository's settings name programs or other folders)";
        assert_eq!(lines(&tree), ["- branch: side", unasked]);
    }
}
