//! Paths that are never written without a question, inside a workspace or outside (`docs/contracts/paths.md`): what
//! would run later, or decide what may. Protected whether or not it exists yet.

use std::path::{Path, PathBuf};

use super::pattern::{Compare, PathMatch, PathNames, PathPattern};

pub(super) const ANYWHERE: &[&str] = &[
    ".git",
    "*.git/hooks",
    "hooks/pre-*",
    "hooks/post-*",
    "hooks/commit-msg",
    "hooks/prepare-commit-msg",
    "hooks/applypatch-msg",
    "hooks/update",
    "hooks/fsmonitor-watchman",
    ".githooks",
    ".gitmodules",
    ".gitattributes",
    ".gitconfig",
    ".zori",
    ".claude",
    ".cursor",
    ".gemini",
    ".codex",
    ".mcp.json",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".cursorrules",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".envrc",
    ".husky",
    // Package managers run what these name.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".cargo/config",
    ".cargo/config.toml",
    "pip.conf",
    ".pypirc",
];

/// Below the home directory: start-up files, services, programs.
pub(super) const HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".login",
    ".logout",
    ".cshrc",
    ".tcshrc",
    ".kshrc",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".inputrc",
    ".xinitrc",
    ".xsession",
    ".xprofile",
    ".pam_environment",
    ".config/fish",
    ".config/environment.d",
    ".config/autostart",
    ".config/systemd",
    ".local/share/systemd",
    ".config/git",
    ".config/pip",
    ".config/zori",
    ".config/zdx",
    ".vimrc",
    ".vim",
    ".config/nvim",
    ".emacs",
    ".emacs.d",
    ".tmux.conf",
    ".gdbinit",
    ".lldbinit",
    ".pythonrc",
    ".local/bin",
    "bin",
    ".cargo/bin",
    ".npm-global/bin",
    "go/bin",
    "Library/LaunchAgents",
];

/// Below `/`.
const SYSTEM: &[&str] = &[
    "etc",
    "var/spool/cron",
    "bin",
    "sbin",
    "lib",
    "lib64",
    "boot",
    "usr",
    "opt/homebrew/bin",
    "Library/LaunchAgents",
    "Library/LaunchDaemons",
    "System",
    "var/at",
];

/// The table, compiled for a home, a base and the search path.
#[derive(Clone, Debug)]
pub struct ProtectedPaths {
    patterns: Vec<PathPattern>,
    /// Folders on `PATH`.
    path_dirs: Vec<PathBuf>,
}

impl ProtectedPaths {
    /// Compiles the table. `path_dirs` are the folders of `PATH`.
    pub fn new(home: Option<&Path>, data_dir: Option<&Path>, path_dirs: Vec<PathBuf>) -> Self {
        let mut patterns: Vec<_> = ANYWHERE.iter().map(|n| PathPattern::table(None, n)).collect();
        if let Some(home) = home {
            patterns.extend(HOME.iter().map(|n| PathPattern::table(Some(home), n)));
        }
        patterns.extend(SYSTEM.iter().map(|n| PathPattern::table(Some(Path::new("/")), n)));
        patterns.extend(data_dir.map(|data_dir| PathPattern::table(Some(data_dir), "")));
        let path_dirs = path_dirs.into_iter().filter(|p| p.is_absolute() && p.parent().is_some()).collect();
        Self { patterns, path_dirs }
    }

    /// Returns whether a place is protected.
    pub fn contains(&self, place: &Path) -> bool {
        let names = PathNames::new(place, Compare::Folded);
        self.patterns.iter().any(|p| p.matches_names(&names)) || self.is_program(place)
    }

    /// Returns whether a place is in a folder of `PATH`.
    pub fn is_program(&self, place: &Path) -> bool {
        self.path_dirs.iter().any(|folder| place.starts_with(folder))
    }

    /// Returns whether something protected at a fixed place is below a folder.
    pub fn any_below(&self, folder: &Path) -> bool {
        let fixed = |p: &&PathPattern| p.is_anchored();
        let names = PathNames::new(folder, Compare::Folded);
        self.patterns.iter().filter(fixed).any(|p| p.reach_names(&names) == PathMatch::Below)
            || self.path_dirs.iter().any(|program| program.starts_with(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected(path: &str) -> bool {
        let table = ProtectedPaths::new(
            Some(Path::new("/home/u")),
            Some(Path::new("/home/u/.state/zori")),
            vec!["/srv/tools".into(), "relative".into(), "/".into()],
        );
        table.contains(Path::new(path))
    }

    #[test]
    fn what_is() {
        for path in [
            "/ws/.git/config",
            "/ws/.git/hooks/pre-commit",
            "/ws/.GIT/config",
            "/ws/.g\u{200c}it/config",
            "/ws/sub/.git",
            "/ws/bare.git/hooks/update",
            "/ws/hooks/pre-commit",
            "/ws/.gitmodules",
            "/ws/.gitattributes",
            "/ws/.zori/config.toml",
            "/ws/.claude/settings.json",
            "/ws/.mcp.json",
            "/ws/AGENTS.md",
            "/ws/docs/agents.md",
            "/ws/CLAUDE.md",
            "/ws/.vscode/tasks.json",
            "/ws/.envrc",
            "/ws/.husky/pre-push",
            "/home/u/.bashrc",
            "/home/u/.ssh/authorized_keys",
            "/home/u/.config/autostart/x.desktop",
            "/home/u/.config/systemd/user/x.service",
            "/home/u/.state/zori/AGENTS.md",
            "/etc/cron.d/x",
            "/var/spool/cron/u",
            "/srv/tools/git",
        ] {
            assert!(protected(path), "{path}");
        }
    }

    #[test]
    fn what_is_not() {
        for path in [
            "/ws/src/main.rs",
            "/ws/.gitignore",
            "/ws/.github/workflows/ci.yml",
            "/ws/git/config",
            "/ws/src/hooks/useThing.ts",
            "/ws/src/hooks/mod.rs",
            "/ws/bin/run",
            "/ws/.bashrc",
            "/home/u/notes",
            "/tmp/x",
        ] {
            assert!(!protected(path), "{path}");
        }
    }
}
