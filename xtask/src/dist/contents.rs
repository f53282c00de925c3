//! What every package holds: the program, what it prints for shells and for `man`, and its skills.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::PackagedFile;
use crate::workspace::Workspace;

/// Where a document that the program prints is looked for, and how it is asked for.
const PRINTED: &[(&str, &[&str])] = &[
    ("share/man/man1/zori.1", &["man"]),
    ("share/bash-completion/completions/zori", &["completions", "bash"]),
    ("share/zsh/site-functions/_zori", &["completions", "zsh"]),
    ("share/fish/vendor_completions.d/zori.fish", &["completions", "fish"]),
    ("share/elvish/lib/zori.elv", &["completions", "elvish"]),
];

/// Files of the repository that go with the program.
const COPIED: &[&str] =
    &["README.md", "CHANGELOG.md", "AGENTS.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Returns the files, sorted by path.
pub fn collect(workspace: &Workspace, binary: &Path) -> Result<Vec<PackagedFile>> {
    let mut files =
        vec![PackagedFile { path: "bin/zori".to_owned(), bytes: fs::read(binary)?, executable: true }];
    for (path, args) in PRINTED {
        files.push(PackagedFile {
            path: (*path).to_owned(),
            bytes: printed(binary, args)?,
            executable: false,
        });
    }
    for name in COPIED {
        let text = workspace.text(name).with_context(|| format!("there is no {name}"))?;
        let path = format!("share/doc/zori/{name}");
        files.push(PackagedFile { path, bytes: text.as_bytes().to_vec(), executable: false });
    }
    for (name, text) in zori::commands::skills::shipped(&zori::program::ZORI) {
        let path = format!("share/{}/{name}", crate::docs::SKILLS);
        files.push(PackagedFile { path, bytes: text.into_bytes(), executable: false });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn printed(binary: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let home = tempfile::tempdir()?;
    let output = Command::new(binary)
        .args(args)
        .env_clear()
        .env("HOME", home.path())
        .output()
        .with_context(|| format!("cannot run {}", binary.display()))?;
    ensure!(output.status.success() && !output.stdout.is_empty(), "`zori {}` failed", args.join(" "));
    Ok(output.stdout)
}
