//! What confines the commands of a run: the setting, the lists of `zori-policy` and a private folder, made into a
//! [`Sandbox`] when the first command needs one. A run without commands looks at nothing.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use zori_contract::failure::Failure;
use zori_core::confine::{Confine, ConfineError, Confined, Consent, Denial, Start};
use zori_core::ids::IdSource;
use zori_policy::git::is_git_alone;
use zori_policy::paths::Ground;
use zori_policy::paths::places::{StandIn, Writer};
use zori_sandbox::{Backend, Level, Limits, Machine, Need, PathKind, Protected, Sandbox, Spec, Strength};

use super::{Setting, Use};
use crate::asking::Answers;
use crate::clock::SystemIds;
use crate::error::SANDBOX_UNAVAILABLE;
use crate::settings::Settings;
use crate::ui::Ui;

/// What a command may use up: enough for any build, and an end to what runs away.
const LIMITS: Limits = Limits { processes: Some(16_384), file_size: Some(64 << 30), memory: None };

/// What is said about a repository that could not be written.
const GIT_ALONE: &str = "; `.git` can be written by a call that runs git and nothing else, such as `git add -A && git \
     commit -m 'message'` with literal words: make it a call of its own";
const IN_GIT: &str = "; git cannot write its hooks, its configuration, submodules and worktrees here";
const NO_GIT: &str = "; git cannot write `.git` in this sandbox, with bubblewrap installed it could";

/// The sandbox of a run. The private folder goes with it.
pub struct Confinement {
    setting: Setting,
    ground: Ground,
    /// The private folder: its name, and whether it was made, or why it was not.
    temp: PathBuf,
    made: OnceLock<Result<(), String>>,
    /// Whether a yes is a person's; `-y` answers in advance (DECISIONS 38).
    person: bool,
    sandbox: OnceLock<Sandbox>,
    /// The same with the repository open, for git.
    for_git: OnceLock<Sandbox>,
    /// Whether a command was started.
    ran: AtomicBool,
}

impl Confinement {
    /// Prepares the sandbox, if there is to be one. Only one that is required is looked for now.
    pub fn start(settings: &Settings) -> Result<Option<Arc<Self>>, Failure> {
        if settings.sandbox.used == Use::Off {
            return Ok(None);
        }
        let parent = std::env::temp_dir();
        let parent = parent.canonicalize().unwrap_or(parent);
        let confinement = Self {
            setting: settings.sandbox.clone(),
            ground: settings.policy.ground.clone(),
            temp: parent.join(format!("zori-box-{:016x}", IdSource::random(&SystemIds))),
            made: OnceLock::new(),
            person: settings.answers == Answers::Person,
            sandbox: OnceLock::new(),
            for_git: OnceLock::new(),
            ran: AtomicBool::new(false),
        };
        if confinement.setting.used == Use::Required {
            let refusal = confinement.sandbox().map_or_else(Some, Sandbox::refusal);
            if let Some(ConfineError(why)) = refusal {
                let (message, ways) = why.rsplit_once("; ").unwrap_or((&why, ""));
                let error = Failure::new(&SANDBOX_UNAVAILABLE, message);
                return Err(if ways.is_empty() { error } else { error.hint(ways) });
            }
        }
        Ok(Some(Arc::new(confinement)))
    }

    /// Returns the private folder. It is there once a command was started.
    pub fn temp(&self) -> &Path {
        &self.temp
    }

    /// Returns what is in force. This looks at the machine.
    pub fn status(&self) -> String {
        self.profile(&Start { command: "", cwd: &self.ground.cwd, consent: Consent::Rule })
    }

    /// Removes the private folder when the run is over, and says if nothing confined its commands.
    pub fn end(&self, ui: &mut Ui) {
        self.tidy();
        if let (true, Ok(sandbox)) = (self.ran.load(Ordering::Relaxed), self.sandbox())
            && sandbox.machine().backend == Backend::None
        {
            let reasons = sandbox.machine().explain().split_off(1).join("; ");
            ui.warn(&format!("Commands ran without a sandbox: {reasons}"));
        }
    }

    fn tidy(&self) {
        if let Some(Ok(())) = self.made.get() {
            // What cannot be removed is the system's to clean up.
            let _ = fs::remove_dir_all(&self.temp);
        }
    }

    fn sandbox(&self) -> Result<&Sandbox, ConfineError> {
        // Only we can enter it, and nobody could guess its name (P-9).
        let make = || DirBuilder::new().mode(0o700).create(&self.temp).map_err(|error| error.to_string());
        if let Err(why) = self.made.get_or_init(make) {
            return Err(ConfineError(format!(
                "cannot set up the sandbox: no private folder {}: {why}; set TMPDIR to a folder of yours",
                self.temp.display()
            )));
        }
        Ok(self.sandbox.get_or_init(|| {
            let spec = self.spec();
            Sandbox::on(Machine::look(&spec.roots), spec, self.need())
        }))
    }

    /// Returns the sandbox for a command: git alone may write the repository, where that can be told apart from making
    /// new files beside it. Landlock cannot.
    fn sandbox_for(&self, start: &Start<'_>) -> Result<&Sandbox, ConfineError> {
        let sandbox = self.sandbox()?;
        let full = sandbox.machine().report().strength == Strength::Full;
        if !full || self.setting.level == Level::ReadOnly || !self.is_git(start) {
            return Ok(sandbox);
        }
        let open = || {
            let spec = Spec { protected: self.protected(Writer::Git), ..sandbox.spec().clone() };
            Sandbox::on(sandbox.machine().clone(), spec, self.need())
        };
        Ok(self.for_git.get_or_init(open))
    }

    fn is_git(&self, start: &Start<'_>) -> bool {
        is_git_alone(start.command, start.cwd, &self.ground)
    }

    fn need(&self) -> Need {
        match self.setting.used {
            Use::Required => Need::Required,
            Use::Auto | Use::Off => Need::Auto,
        }
    }

    /// Returns the command with nobody's consent taken for a person's.
    fn as_agreed<'a>(&self, start: &Start<'a>) -> Start<'a> {
        Start { consent: if self.person { start.consent } else { Consent::Rule }, ..*start }
    }

    fn protected(&self, writer: Writer) -> Vec<Protected> {
        let places = self.ground.protected_places(writer).into_iter();
        let protected = places.map(|place| Protected {
            kind: match place.stand_in {
                StandIn::File => PathKind::File,
                StandIn::Folder => PathKind::Dir,
            },
            path: place.path,
        });
        protected.collect()
    }

    fn spec(&self) -> Spec {
        Spec {
            level: self.setting.level,
            roots: self.ground.roots.clone(),
            caches: self.setting.caches.clone(),
            temp: self.temp.clone(),
            hidden: self.ground.sensitive_places(&names),
            protected: self.protected(Writer::Any),
            network: self.setting.network,
            limits: LIMITS,
        }
    }
}

impl Confine for Confinement {
    fn prepare(&self, start: &Start<'_>) -> Result<Confined, ConfineError> {
        let confined = self.sandbox_for(start)?.prepare(&self.as_agreed(start))?;
        self.ran.store(true, Ordering::Relaxed);
        Ok(confined)
    }

    fn profile(&self, start: &Start<'_>) -> String {
        match self.sandbox_for(start) {
            Ok(sandbox) => sandbox.profile(&self.as_agreed(start)),
            Err(error) => error.to_string(),
        }
    }

    fn suspects(&self, start: &Start<'_>, exit_code: i32, stderr: &str) -> Option<Denial> {
        let sandbox = self.sandbox_for(start).ok()?;
        let mut denial = sandbox.suspects(&self.as_agreed(start), exit_code, stderr)?;
        if stderr.contains(".git/") && self.setting.level == Level::Workspace {
            let why = match sandbox.machine().report().strength {
                Strength::Full if self.is_git(start) => IN_GIT,
                Strength::Full => GIT_ALONE,
                Strength::Partial | Strength::None => NO_GIT,
            };
            denial.message.push_str(why);
        }
        Some(denial)
    }
}

impl Drop for Confinement {
    fn drop(&mut self) {
        self.tidy();
    }
}

/// Returns the names in a folder; one that cannot be read has none that a command could read.
fn names(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}
