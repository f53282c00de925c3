//! What git says of a workspace. A repository whose own settings name programs is not asked: they would run.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How many lines of a status are shown.
const MAX_LINES: usize = 50;
/// How often git is waited for, and how long each time: two seconds.
const MAX_WAITS: u32 = 20;
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How much of its output is read.
const MAX_OUTPUT: usize = 64 * 1024;

/// Returns the lines about the repository; none outside of one.
pub(super) fn lines(root: &Path) -> Vec<String> {
    let git = root.join(".git");
    if !git.exists() {
        return Vec::new();
    }
    let settings = fs::read_to_string(git.join("config")).unwrap_or_default().to_ascii_lowercase();
    let names_programs =
        ["filter", "fsmonitor", "hookspath", "include", "sshcommand", "textconv", "worktree"]
            .iter()
            .any(|word| settings.contains(word));
    let branch = branch(&git).map(|name| format!("- branch: {name}"));
    let status = match git.is_dir() && !names_programs {
        true => status(root),
        false => Some(vec!["- (not asked: the repository's settings name programs)".to_owned()]),
    };
    branch.into_iter().chain(status.into_iter().flatten()).collect()
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
            "status",
            "--porcelain=v1",
            "--untracked-files=normal",
            "--ignore-submodules=all",
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
