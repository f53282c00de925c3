//! The data directory: where everything the program keeps lives (PATH-1, PATH-2).

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use zori_contract::args::Args;
use zori_contract::failure::Failure;
use zori_providers::catalog::PROVIDERS;
use zori_vault::VaultPlace;

use crate::args::flags;
use crate::config::{Config, ConfigReader, price_file, read_prices};
use crate::environment::Environment;
use crate::error::{BASE_UNUSABLE, BASE_WRITABLE_BY_OTHERS};
use crate::model_lists::ModelLists;
use crate::profile::{DataDirDefault, Profile};

/// A file that is always there and says nothing.
const NOTHING: &str = "/dev/null";

/// Returns the config file that `--config FILE` or `--no-config` names, of which there is one at most.
pub fn chosen_config(args: &Args) -> Option<PathBuf> {
    match args.text(&flags::CONFIG) {
        Some(file) => Some(std::path::absolute(file).unwrap_or_else(|_| file.into())),
        None => args.has(&flags::NO_CONFIG).then(|| NOTHING.into()),
    }
}

/// What decides where a run keeps its data and finds its settings.
#[derive(Clone)]
pub struct Locations {
    /// The name the program was called by.
    pub profile: &'static Profile,
    /// The variables that name folders.
    pub env: Environment,
    /// The config file that the command line names.
    pub config_file: Option<PathBuf>,
    /// The folder of the vault that the command line or a variable names.
    pub vault_dir: Option<PathBuf>,
    /// Reads that file.
    pub reader: ConfigReader,
}

impl Locations {
    /// Returns what has this program, started again, keep its data and find its settings where this run does.
    pub(crate) fn args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["--as".into(), self.profile.name.into()];
        match &self.config_file {
            Some(file) if file.as_os_str() == NOTHING => args.push("--no-config".into()),
            Some(file) => args.extend(["--config".into(), file.into()]),
            None => {}
        }
        if let Some(dir) = &self.vault_dir {
            args.extend(["--vault".into(), dir.into()]);
        }
        args
    }

    /// Finds the data directory: the profile's own variable, then its usual place. Nothing in it is created.
    pub fn data_dir(&self) -> Result<DataDir, Failure> {
        let (profile, env) = (self.profile, &self.env);
        let dir = env.path(profile.home_var).or_else(|| match profile.base {
            DataDirDefault::Config(name) => {
                let settings = env.path("XDG_CONFIG_HOME").or_else(|| Some(env.home()?.join(".config")))?;
                Some(settings.join(name))
            }
            DataDirDefault::Home(name) => Some(env.home()?.join(name)),
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
        let config = self.config_file.clone().unwrap_or_else(|| dir.join("config.toml"));
        let vault = VaultPlace::in_dir(self.vault_dir.as_deref().unwrap_or(&dir));
        let (env, reader) = (env.clone(), self.reader.clone());
        Ok(DataDir { dir, config, vault, env, reader, project: Arc::default() })
    }
}

/// The data directory.
#[derive(Clone)]
pub struct DataDir {
    dir: PathBuf,
    config: PathBuf,
    vault: VaultPlace,
    env: Environment,
    reader: ConfigReader,
    /// The folder whose project was asked for last, and that project: a run asks several times for the same one.
    project: Arc<Mutex<Option<(PathBuf, PathBuf)>>>,
}

impl DataDir {
    /// Returns a data directory that a test has made.
    #[cfg(test)]
    pub fn at(dir: PathBuf) -> Self {
        let (config, vault) = (dir.join("config.toml"), VaultPlace::in_dir(&dir));
        let (env, reader) = (Environment::default(), ConfigReader::default());
        Self { config, vault, dir, env, reader, project: Arc::default() }
    }

    /// Returns the directory itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns why nothing can be kept here, as far as that is known without trying: neither the directory nor the sessions' own can
    /// be written to, or it does not exist and cannot be made.
    pub fn unwritable(&self) -> Option<io::Error> {
        let refused = |dir: &Path| access(dir, Access::WRITE_OK | Access::EXEC_OK).err();
        let existing = self.dir.ancestors().find(|dir| dir.exists())?;
        let why =
            refused(existing).filter(|why| matches!(*why, Errno::ACCESS | Errno::ROFS | Errno::PERM))?;
        let sessions = self.sessions();
        (!sessions.is_dir() || refused(&sessions).is_some()).then(|| why.into())
    }

    /// Returns the config file: the one that was named, else the one in the data directory.
    pub fn config(&self) -> PathBuf {
        self.config.clone()
    }

    /// Reads the config file.
    pub fn read_config(&self) -> Result<Config, Failure> {
        let mut config = self.reader.load(&self.config, PROVIDERS[0].key_var)?;
        config.model_lists = ModelLists::below(&self.dir);
        config.vault = Some(self.vault());
        config.prices = read_prices(&self.dir.join(price_file::NAME))?;
        Ok(config)
    }

    /// Returns whether what is written is to outlive a loss of power. A config that cannot be read says no such thing.
    pub fn is_durable(&self) -> bool {
        let config = self.reader.load(&self.config, PROVIDERS[0].key_var);
        config.is_ok_and(|config| config.text("durability") == Some("full"))
    }

    /// Returns where the vault is, or would be.
    pub fn vault(&self) -> VaultPlace {
        self.vault.clone()
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
        zori_store::audit_path(&zori_store::project_dir(&self.dir, &self.project_root(folder)))
    }

    /// Returns the root of the project that a folder belongs to.
    pub fn project_root(&self, folder: &Path) -> PathBuf {
        let mut known = self.project.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, project)) = known.as_ref().filter(|(asked, _)| asked == folder) {
            return project.clone();
        }
        let project = zori_store::project_root(folder, self.env.real_home()).to_owned();
        *known = Some((folder.to_owned(), project.clone()));
        project
    }

    /// Returns the home directory, above which no project is looked for.
    pub fn home(&self) -> Option<PathBuf> {
        self.env.real_home().map(Path::to_owned)
    }

    /// Returns where what calls changed in a project is kept.
    pub fn project_undo(&self, root: &Path) -> PathBuf {
        zori_store::project_dir(&self.dir, root).join("undo")
    }

    /// Returns the sessions' directory.
    pub fn sessions(&self) -> PathBuf {
        self.dir.join("sessions")
    }

    /// Returns the folder that `/feedback` puts its folders into.
    pub fn feedback(&self) -> PathBuf {
        self.dir.join("feedback")
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
