//! The workspace as text, for a model that cannot look for itself: its files, some of their beginnings, the state of its
//! repository. The same workspace gives the same bytes; building it never fails.
//!
//! `tree` names the files that `walk` finds, `preview` reads beginnings, `git_status` asks git, `block` lays it all out (CB-5).

mod block;
mod git_status;
mod preview;
mod tree;
mod walk;

use std::path::PathBuf;

pub use self::block::{BlockFacts, block, observer};
pub use self::preview::{Previews, is_sensitive, sensitive_patterns};
pub use self::tree::{FileEntry, Tree};

/// Files whose beginnings are shown unless others are named (CB-8).
pub const PREVIEW_FILES: &[&str] = &[
    "README.md",
    "README.txt",
    "README",
    "AGENTS.md",
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
];

/// Folders that are never entered unless others are named.
pub const IGNORED_DIRS: &[&str] = &[
    ".git",
    "venv",
    "__pycache__",
    "node_modules",
    ".snapshots",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".idea",
    ".vscode",
    "target",
    "dist",
];

/// What is described, and how much of it.
#[derive(Clone, Debug)]
pub struct ContextSettings {
    /// The workspace.
    pub root: PathBuf,
    /// Names of folders that are not entered, at any level.
    pub ignore_dirs: Vec<String>,
    /// Whether ignore files count.
    pub respect_gitignore: bool,
    /// How deep folders are entered.
    pub max_depth: usize,
    /// How many files are seen.
    pub max_files: usize,
    /// How long a block may be, in bytes, its end mark included.
    pub max_bytes: usize,
    /// How long the beginning of a file may be, in bytes.
    pub max_preview_bytes: usize,
    /// The files whose beginnings are shown, in this order.
    pub preview_files: Vec<String>,
    /// Further names and globs of files that are never shown.
    pub sensitive_files: Vec<String>,
    pub include_tree: bool,
    pub include_previews: bool,
    pub include_git: bool,
    pub include_system: bool,
    pub include_tools: bool,
}

impl ContextSettings {
    /// Returns the defaults for a workspace.
    pub fn new(root: PathBuf) -> Self {
        let owned = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
        Self {
            root,
            ignore_dirs: owned(IGNORED_DIRS),
            respect_gitignore: true,
            max_depth: 4,
            max_files: 200,
            max_bytes: 20_000,
            max_preview_bytes: 6_000,
            preview_files: owned(PREVIEW_FILES),
            sensitive_files: Vec::new(),
            include_tree: true,
            include_previews: true,
            include_git: true,
            include_system: true,
            include_tools: true,
        }
    }
}

/// Takes secrets out of a text.
pub type Redact<'a> = &'a dyn Fn(&str) -> String;

#[cfg(test)]
mod tests;
