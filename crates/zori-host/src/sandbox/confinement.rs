//! What confines the commands of a run: the setting, the lists of `zori-policy` and a private folder, made into a
//! [`Sandbox`] when the first command needs one. A run without commands looks at nothing.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use zori_core::confine::{
    CommandStart, Confine, ConfineError, Confined, Consent, Denial, Holding, ServiceAccess,
};
use zori_core::ids::IdSource;
use zori_policy::git::{opens_files_by_git_alone, runs_only_git};
use zori_policy::paths::Workspace;
use zori_policy::paths::places::{StubKind, Writer};
use zori_sandbox::{
    Backend, Level, Limits, Machine, PathKind, ProtectedPath, Requirement, Sandbox, Spec, Strength,
};

use super::{SandboxSettings, SandboxUse};
use crate::error::HostError;
use crate::peer::Answers;
use crate::settings::SessionSettings;

/// What a command may use up: enough for any build, and an end to what runs away.
const LIMITS: Limits = Limits { processes: Some(16_384), file_size: Some(64 << 30), memory: None };

/// What is said about a repository that could not be written.
const GIT_ALONE: &str = "; `.git` can be written by a call that runs git and nothing else, such as `git add -A && git \
     commit -m 'message'` with literal words: make it a call of its own";
const IN_GIT: &str = "; git cannot write its hooks, its configuration, submodules and worktrees here";
const NO_GIT: &str = "; git cannot write `.git` in this sandbox, with bubblewrap installed it could";

/// The sandbox of a run. The private folder goes with it.
pub struct Confinement {
    setting: SandboxSettings,
    workspace: Workspace,
    /// The private folder: its name, and whether it was made, or why it was not.
    temp: PathBuf,
    made: OnceLock<Result<(), String>>,
    /// Whether a yes is a person's; `-y` answers in advance (DECISIONS 38).
    person: bool,
    sandbox: OnceLock<Sandbox>,
    /// The same for git: with the repository open, with the workspace's hidden files in sight, or both.
    for_git: [OnceLock<Sandbox>; 3],
    /// The same with nothing that can be changed.
    read_only: OnceLock<Sandbox>,
    /// Whether a command was started.
    ran: AtomicBool,
}

impl Confinement {
    /// Prepares the sandbox of a session, if there is to be one. Only one that is required is looked for now.
    pub(crate) fn start(
        settings: &SessionSettings,
        ids: &dyn IdSource,
    ) -> Result<Option<Arc<Self>>, HostError> {
        let (workspace, temp) = (&settings.permission.policy.workspace, &settings.workspace.temp);
        let person = settings.permission.answers == Answers::Person;
        Self::new(&settings.sandbox, workspace, temp, person, ids)
    }

    /// Prepares one for programs that run without a session, below `temp`. `person`: whether a yes is a person's.
    pub fn new(
        setting: &SandboxSettings,
        workspace: &Workspace,
        temp: &Path,
        person: bool,
        ids: &dyn IdSource,
    ) -> Result<Option<Arc<Self>>, HostError> {
        if setting.used == SandboxUse::Off && !setting.stands_by {
            return Ok(None);
        }
        let parent = temp.canonicalize().unwrap_or_else(|_| temp.to_owned());
        let confinement = Self {
            setting: setting.clone(),
            workspace: workspace.clone(),
            temp: parent.join(format!("zori-box-{:016x}", ids.random())),
            made: OnceLock::new(),
            person,
            sandbox: OnceLock::new(),
            for_git: Default::default(),
            read_only: OnceLock::new(),
            ran: AtomicBool::new(false),
        };
        if confinement.setting.used == SandboxUse::Required {
            let refusal = confinement.sandbox().map_or_else(Some, Sandbox::refusal);
            if let Some(ConfineError(why)) = refusal {
                let (why, advice) = match why.rsplit_once("; ") {
                    Some((why, advice)) => (why.to_owned(), Some(advice.to_owned())),
                    None => (why, None),
                };
                return Err(HostError::NoSandbox { why, advice });
            }
        }
        Ok(Some(Arc::new(confinement)))
    }

    /// Returns whether it confines nothing as long as the mode asks about nothing.
    pub fn stands_by(&self) -> bool {
        self.setting.used == SandboxUse::Off
    }

    /// Returns the private folder. It is there once a command was started.
    pub(crate) fn temp(&self) -> &Path {
        &self.temp
    }

    /// Returns what is in force. This looks at the machine.
    pub fn status(&self, holding: Holding) -> String {
        let start = CommandStart { command: "", cwd: &self.workspace.cwd, consent: Consent::Rule, holding };
        self.profile(&start)
    }

    /// Removes the private folder when the run is over. Returns a warning if nothing confined its commands.
    pub(crate) fn end(&self) -> Option<String> {
        self.tidy();
        let machine = self.ran.load(Ordering::Relaxed).then(|| self.sandbox().ok())??.machine();
        let reasons = || machine.explain().split_off(1).join("; ");
        (machine.backend == Backend::None).then(|| format!("Commands ran without a sandbox: {}", reasons()))
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
            Sandbox::with_machine(Machine::detect(&spec.roots), spec, self.need())
        }))
    }

    /// Returns the sandbox for a command: git alone may write the repository, and sees files of the workspace that are
    /// hidden from others, where that can be told apart from making new files beside it. Landlock cannot.
    fn sandbox_for(&self, start: &CommandStart<'_>) -> Result<&Sandbox, ConfineError> {
        let sandbox = self.sandbox()?;
        let full = sandbox.machine().report().strength == Strength::Full;
        if !full && (start.holding != Holding::ReadOnly || self.setting.level == Level::ReadOnly) {
            return Ok(sandbox);
        }
        if start.holding == Holding::ReadOnly && self.setting.level != Level::ReadOnly {
            return Ok(self.read_only.get_or_init(|| {
                let spec = Spec { level: Level::ReadOnly, ..sandbox.spec().clone() };
                Sandbox::with_machine(sandbox.machine().clone(), spec, self.need())
            }));
        }
        let writes = self.setting.level != Level::ReadOnly && self.is_git(start);
        let sees = self.sees_hidden(start);
        let variant = match (writes, sees) {
            (false, false) => return Ok(sandbox),
            (true, false) => &self.for_git[0],
            (false, true) => &self.for_git[1],
            (true, true) => &self.for_git[2],
        };
        let open = || {
            let mut spec = sandbox.spec().clone();
            if writes {
                spec.protected = self.protected(Writer::Git);
            }
            if sees {
                let roots = spec.roots.clone();
                spec.hidden.retain(|path| !roots.iter().any(|root| path.starts_with(root)));
            }
            Sandbox::with_machine(sandbox.machine().clone(), spec, self.need())
        };
        Ok(variant.get_or_init(open))
    }

    /// Git takes a tracked file that looks empty for a changed one. Where the home itself is the workspace, what is hidden
    /// there stays so.
    fn sees_hidden(&self, start: &CommandStart<'_>) -> bool {
        let roots = &self.workspace.roots;
        let home = self.workspace.home.as_ref();
        !home.is_some_and(|home| roots.iter().any(|root| home.starts_with(root)))
            && opens_files_by_git_alone(start.command, start.cwd, &self.workspace)
    }

    fn is_git(&self, start: &CommandStart<'_>) -> bool {
        runs_only_git(start.command, start.cwd, &self.workspace)
    }

    fn need(&self) -> Requirement {
        match self.setting.used {
            SandboxUse::Required => Requirement::Required,
            SandboxUse::Auto | SandboxUse::Off => Requirement::Auto,
        }
    }

    /// Returns the command with nobody's consent taken for a person's.
    fn as_agreed<'a>(&self, start: &CommandStart<'a>) -> CommandStart<'a> {
        CommandStart { consent: if self.person { start.consent } else { Consent::Rule }, ..*start }
    }

    fn protected(&self, writer: Writer) -> Vec<ProtectedPath> {
        let places = self.workspace.protected_places(writer).into_iter();
        let protected = places.map(|place| ProtectedPath {
            stub: match place.stub {
                StubKind::File => Some(PathKind::File),
                StubKind::Folder => Some(PathKind::Dir),
                StubKind::Unseen => None,
            },
            path: place.path,
        });
        protected.collect()
    }

    fn spec(&self) -> Spec {
        Spec {
            level: self.setting.level,
            roots: self.workspace.roots.clone(),
            caches: self.setting.caches.clone(),
            temp: self.temp.clone(),
            hidden: self.workspace.sensitive_places(&names),
            visible: self.workspace.readable_places(),
            protected: self.protected(Writer::Any),
            network: self.setting.network,
            limits: LIMITS,
        }
    }
}

impl Confine for Confinement {
    fn confines(&self, holding: Holding) -> bool {
        !self.stands_by() || holding != Holding::Loose
    }

    fn prepare(&self, start: &CommandStart<'_>) -> Result<Confined, ConfineError> {
        let confined = self.sandbox_for(start)?.prepare(&self.as_agreed(start))?;
        self.ran.store(true, Ordering::Relaxed);
        Ok(confined)
    }

    fn prepare_service(&self, service: &ServiceAccess<'_>) -> Result<Confined, ConfineError> {
        let confined = self.sandbox()?.prepare_service(service)?;
        self.ran.store(true, Ordering::Relaxed);
        Ok(confined)
    }

    fn hides(&self, service: &ServiceAccess<'_>, path: &Path) -> Option<PathBuf> {
        self.sandbox().ok()?.hides(service, path)
    }

    fn profile(&self, start: &CommandStart<'_>) -> String {
        match self.sandbox_for(start) {
            Ok(sandbox) => sandbox.profile(&self.as_agreed(start)),
            Err(error) => error.to_string(),
        }
    }

    fn suspects(&self, start: &CommandStart<'_>, exit_code: i32, stderr: &str) -> Option<Denial> {
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
