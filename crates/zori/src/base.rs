//! The base directory: where everything the program keeps lives (PATH-1, PATH-2).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use zori_contract::args::Args;
use zori_contract::failure::Failure;

use crate::error::{BASE_UNUSABLE, BASE_WRITABLE_BY_OTHERS};
use crate::profile::{BasePlace, Profile};

/// Where the settings are, decided once for the process by [`choose_config`].
static CONFIG: OnceLock<Option<PathBuf>> = OnceLock::new();

/// A file that is always there and says nothing.
const NOTHING: &str = "/dev/null";

/// Follows `--config FILE` and `--no-config`, of which there is one at most.
pub fn choose_config(args: &Args) {
    let chosen = match args.text("config") {
        Some(file) => Some(std::path::absolute(file).unwrap_or_else(|_| file.into())),
        None => args.has("no-config").then(|| NOTHING.into()),
    };
    // Whoever comes first has said it; the lines of a batch are of one process.
    let _ = CONFIG.set(chosen);
}

/// The base directory. Nothing in it is created by asking for it.
#[derive(Clone, Debug)]
pub struct Base {
    dir: PathBuf,
}

impl Base {
    /// Finds it by the environment: the profile's own variable, then its usual place.
    pub fn find(profile: &Profile) -> Result<Self, Failure> {
        let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let dir = var(profile.home_var).or_else(|| match profile.base {
            BasePlace::Config(name) => {
                let settings = var("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))?;
                Some(settings.join(name))
            }
            BasePlace::Home(name) => Some(home()?.join(name)),
        });
        let unusable = |message: String| Failure::new(&BASE_UNUSABLE, message);
        let Some(dir) = dir else {
            return Err(unusable("there is no base directory: `HOME` is not set".into())
                .hint(format!("set `{}` to a directory of yours", profile.home_var)));
        };
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        // A base that does not exist yet is fine: it is made on the first write.
        if let Ok(meta) = std::fs::metadata(&dir) {
            if !meta.is_dir() {
                return Err(unusable(format!("the base directory {} is not a directory", dir.display())));
            }
            if meta.permissions().mode() & 0o002 != 0 {
                let message = format!("the base directory {} is writable by others", dir.display());
                return Err(Failure::new(&BASE_WRITABLE_BY_OTHERS, message)
                    .hint(format!("chmod o-w {}", dir.display())));
            }
        }
        Ok(Self { dir })
    }

    /// Returns a base directory that a test has made.
    #[cfg(test)]
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Returns the directory itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the config file: the one that was named, else the one in the base directory.
    pub fn config(&self) -> PathBuf {
        CONFIG.get().cloned().flatten().unwrap_or_else(|| self.dir.join("config.toml"))
    }

    /// Returns the user's hooks, where they are not in the config file.
    pub fn settings(&self) -> PathBuf {
        self.dir.join("settings.json")
    }

    /// Returns what the user said about folders.
    pub fn trust(&self) -> PathBuf {
        self.dir.join("trust.json")
    }

    /// Returns the audit log of what belongs to no project.
    pub fn audit(&self) -> PathBuf {
        zori_store::audit_path(&self.dir)
    }

    /// Returns the audit log of the project that a folder belongs to.
    pub fn project_audit(&self, folder: &Path) -> PathBuf {
        let home = home().and_then(|home| home.canonicalize().ok());
        let root = zori_store::project_root(folder, home.as_deref());
        zori_store::audit_path(&zori_store::project_dir(&self.dir, root))
    }

    /// Returns the sessions' directory.
    pub fn sessions(&self) -> PathBuf {
        self.dir.join("sessions")
    }

    /// Returns the global guidelines.
    pub fn guidelines(&self) -> PathBuf {
        self.dir.join("AGENTS.md")
    }

    /// Returns the folder of the user's sub-agents.
    pub fn agents(&self) -> PathBuf {
        self.dir.join("agents")
    }

    /// Returns the file that keeps what was typed in the chat.
    pub fn chat_history(&self) -> PathBuf {
        self.dir.join("chat_history")
    }
}

/// Returns the user's home directory.
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}
