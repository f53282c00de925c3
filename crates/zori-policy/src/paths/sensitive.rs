//! Paths that are never read without a question (`docs/contracts/paths.md`): keys, credentials, histories. A user may
//! add to the table; nothing removes from it.

use std::path::Path;

use super::pattern::{Compare, PathMatch, PathNames, PathPattern};

/// Below the home directory.
const HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".kube",
    ".docker/config.json",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials*",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".password-store",
    ".config/op",
    ".terraform.d/credentials.tfrc.json",
    // Key rings.
    ".local/share/keyrings",
    ".local/share/kwalletd",
    "Library/Keychains",
    // Browser profiles.
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    "snap/firefox",
    "snap/chromium",
    ".var/app/org.mozilla.firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    "Library/Cookies",
    // Histories.
    ".*_history",
    ".*_hist",
    ".history",
    ".lesshst",
    ".viminfo",
    ".local/share/fish/fish_history",
    // Credentials of other agents.
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/github-copilot",
];

/// Anywhere; key material in test fixtures is left alone, see [`FIXTURES`].
const KEYS: &[&str] = &["*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "id_*"];

const ANYWHERE: &[&str] = &[".env", ".env.*", ".git-credentials", ".netrc", ".pgpass", ".my.cnf"];

/// Environment files without values in them.
const EXAMPLES: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.*.example", ".env.*.sample", ".env.*.template"];

/// Folders whose keys are test data.
const FIXTURES: &[&str] = &["test", "tests", "testdata", "test_data", "fixtures", "__fixtures__", "spec"];

/// `id_*` means private keys; these names only begin like one.
const NO_KEYS: &[&str] =
    &["id_*.pub", "id_*.rs", "id_*.py", "id_*.js", "id_*.ts", "id_*.go", "id_*.c", "id_*.h"];

/// Below the base directory.
const DATA_DIR: &[&str] = &["vault.age", "vault.key", "credentials*", "auth*", "oauth*", "tokens*"];

/// Below `/`.
const SYSTEM: &[&str] =
    &["etc/shadow*", "etc/gshadow*", "etc/sudoers*", "etc/ssl/private", "etc/ssh/ssh_host_*"];

/// The table, compiled for a home and a base.
#[derive(Clone, Debug)]
pub struct SensitivePaths {
    always: Vec<PathPattern>,
    keys: Vec<PathPattern>,
    no_keys: Vec<PathPattern>,
    examples: Vec<PathPattern>,
}

impl SensitivePaths {
    /// Compiles the table, with what the user added.
    pub fn new(home: Option<&Path>, data_dir: Option<&Path>, added: Vec<PathPattern>) -> Self {
        let below = |start: Option<&Path>, names: &[&str]| -> Vec<PathPattern> {
            let start = start.into_iter();
            start
                .flat_map(|start| {
                    names.iter().map(|n| PathPattern::table(Some(start), n)).collect::<Vec<_>>()
                })
                .collect()
        };
        let anywhere = |names: &[&str]| names.iter().map(|n| PathPattern::table(None, n)).collect::<Vec<_>>();
        let mut always = below(home, HOME);
        always.extend(below(data_dir, DATA_DIR));
        always.extend(below(Some(Path::new("/")), SYSTEM));
        always.extend(anywhere(ANYWHERE));
        always.extend(added);
        Self { always, keys: anywhere(KEYS), no_keys: anywhere(NO_KEYS), examples: anywhere(EXAMPLES) }
    }

    /// Returns whether a place is sensitive.
    pub fn contains(&self, place: &Path) -> bool {
        let names = PathNames::new(place, Compare::Folded);
        let hit = |patterns: &[PathPattern]| patterns.iter().any(|p| p.matches_names(&names));
        if system_tree(place) {
            return !super::harmless_device(place);
        }
        let key = hit(&self.keys) && !hit(&self.no_keys) && !in_fixtures(place);
        key || (hit(&self.always) && !hit(&self.examples))
    }

    /// Returns whether a folder is above something of the table that lies at a fixed place, so that reading all of it
    /// reads that too. Names that may be anywhere do not count: every folder is above those.
    pub fn any_below(&self, folder: &Path) -> bool {
        let fixed = |p: &&PathPattern| p.is_anchored();
        let names = PathNames::new(folder, Compare::Folded);
        self.always.iter().filter(fixed).any(|p| p.reach_names(&names) == PathMatch::Below)
    }
}

/// Private keys by the names that programs give them.
const KEY_FILES: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss"];

/// Returns whether a pattern may mean a sensitive name.
pub(super) fn glob_means(pattern: &str, scope: super::globs::PatternScope) -> bool {
    let keys: Vec<&str> =
        KEYS.iter().copied().filter(|name| *name != "id_*").chain(KEY_FILES.iter().copied()).collect();
    let plain = pattern.rsplit('/').next().is_some_and(|name| EXAMPLES.contains(&name));
    !plain
        && (super::globs::may_mean(pattern, scope, &keys) || super::globs::may_mean(pattern, scope, ANYWHERE))
}

/// Returns the entries that lie at a fixed place, with where they start. A last name may be a pattern.
pub(super) fn anchored<'a>(
    home: Option<&'a Path>,
    data_dir: Option<&'a Path>,
) -> impl Iterator<Item = (&'a Path, &'static str)> {
    [(home, HOME), (data_dir, DATA_DIR), (Some(Path::new("/")), SYSTEM)].into_iter().flat_map(
        |(start, entries)| {
            start.into_iter().flat_map(move |start| entries.iter().map(move |entry| (start, *entry)))
        },
    )
}

/// `/proc`, `/sys` and `/dev` (P-5).
pub(crate) fn system_tree(place: &Path) -> bool {
    ["/proc", "/sys", "/dev"].iter().any(|tree| place.starts_with(tree))
}

fn in_fixtures(place: &Path) -> bool {
    let folders = place.parent().into_iter().flat_map(Path::components);
    folders.into_iter().any(|c| FIXTURES.iter().any(|name| c.as_os_str() == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sensitive(path: &str) -> bool {
        let table =
            SensitivePaths::new(Some(Path::new("/home/u")), Some(Path::new("/home/u/.config/zori")), vec![]);
        table.contains(Path::new(path))
    }

    #[test]
    fn what_is() {
        for path in [
            "/home/u/.ssh",
            "/home/u/.ssh/id_ed25519",
            "/home/u/.SSH/config",
            "/home/u/.aws/credentials",
            "/home/u/.config/gcloud/x",
            "/home/u/.cargo/credentials.toml",
            "/home/u/.bash_history",
            "/home/u/.zsh_history",
            "/home/u/.python_history",
            "/home/u/.mozilla/firefox/p/key4.db",
            "/home/u/.config/zori/vault.age",
            "/ws/.env",
            "/ws/a/.env.production",
            "/ws/a/.ENV",
            "/ws/server.pem",
            "/ws/deploy/id_rsa",
            "/proc/self/environ",
            "/proc/1/mem",
            "/sys/kernel/debug",
            "/dev/mem",
            "/etc/shadow",
        ] {
            assert!(sensitive(path), "{path}");
        }
    }

    #[test]
    fn what_is_not() {
        for path in [
            "/ws/.env.example",
            "/ws/.env.local.sample",
            "/ws/.envrc",
            "/ws/src/env.rs",
            "/ws/tests/server.pem",
            "/ws/fixtures/id_rsa",
            "/ws/src/id_map.rs",
            "/ws/id_rsa.pub",
            "/home/u/.config/zori/config.toml",
            "/home/u/notes.txt",
            "/dev/null",
            "/process/x",
            "/etc/passwd",
        ] {
            assert!(!sensitive(path), "{path}");
        }
    }

    #[test]
    fn folders_above_it() {
        let table = SensitivePaths::new(Some(Path::new("/home/u")), None, vec![]);
        assert!(table.any_below(Path::new("/home/u")));
        assert!(table.any_below(Path::new("/")));
        assert!(table.any_below(Path::new("/home/u/.docker")));
        assert!(!table.any_below(Path::new("/ws")));
    }
}
