//! The words that say which of its many things a program does: what a rule with a wildcard at the end keeps.

/// Programs whose next word names a command, and commands whose next word does. What is not here is one thing alone.
const COMMANDS: &[(&str, &[&str])] = &[
    ("apt", &[]),
    ("apt-get", &[]),
    ("brew", &[]),
    ("bun", &["run", "x"]),
    ("bundle", &["exec"]),
    ("cargo", &[]),
    ("cmake", &[]),
    ("composer", &["run"]),
    ("deno", &["task"]),
    ("docker", &["compose", "container", "image", "network", "volume"]),
    ("dotnet", &[]),
    ("flutter", &["pub"]),
    ("gem", &[]),
    ("gh", &["api", "issue", "pr", "release", "repo", "run", "workflow"]),
    ("git", &["stash", "remote", "worktree", "submodule"]),
    ("go", &["mod"]),
    ("gradle", &[]),
    ("helm", &[]),
    ("just", &[]),
    ("kubectl", &["get", "describe"]),
    ("make", &[]),
    ("meson", &[]),
    ("mix", &[]),
    ("mvn", &[]),
    ("npm", &["run"]),
    ("npx", &[]),
    ("pip", &[]),
    ("pip3", &[]),
    ("pnpm", &["run", "exec"]),
    ("podman", &["compose"]),
    ("poetry", &["run"]),
    ("rake", &[]),
    ("rustup", &["toolchain", "component", "target"]),
    ("swift", &[]),
    ("systemctl", &[]),
    ("terraform", &[]),
    ("uv", &["run", "pip", "tool"]),
    ("yarn", &["run"]),
    ("zig", &[]),
];

/// Programs of which no prefix is offered: what they remove or change depends on the words behind.
const EXACT: &[&str] = &[
    "chgrp", "chmod", "chown", "dd", "doas", "kill", "killall", "mkfs", "pkill", "reboot", "rm", "rmdir",
    "shred", "shutdown", "ssh", "su", "sudo", "truncate", "unlink", "xargs",
];

/// Returns the leading words that a wildcard may stand behind; `None` where only the exact words are offered.
pub(super) fn prefix<'w>(words: &'w [&'w str]) -> Option<&'w [&'w str]> {
    let program = *words.first()?;
    if EXACT.contains(&program) || program.starts_with("mkfs.") {
        return None;
    }
    if matches!(program, "python" | "python3") && words.get(1) == Some(&"-m") && words.len() > 2 {
        return Some(&words[..3]);
    }
    let Some((_, deeper)) = COMMANDS.iter().find(|(name, _)| *name == program) else {
        return Some(&words[..1]);
    };
    // An option in front of the command, or none at all: the program alone would be too much.
    let command = words.get(1).filter(|word| is_command(word))?;
    let more = deeper.contains(command) && words.get(2).is_some_and(|word| is_command(word));
    Some(&words[..if more { 3 } else { 2 }])
}

fn is_command(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '@' | '/' | '.'))
        && !word.contains("://")
}
