//! What `zori demo` plays: a conversation file, and the small program it works on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_core::provider::Provider;
use zori_core::tool::Leniency;
use zori_core::transport::Timeouts;
use zori_host::settings::{PermissionSettings, SessionSettings, StorageSettings, ToolSettings};
use zori_host::{ModelSettings, Modes, UndoSettings, check_budget, random_number};
use zori_policy::{Mode, ModeChoice};
use zori_providers::agent_zero;
use zori_providers::agent_zero::mock;
use zori_providers::catalog::{self, PROVIDERS};
use zori_providers::scripted::{Pace, ScriptedProvider};
use zori_redact::Redactor;
use zori_tools::env::ShellProgram;

use zori_setup::agent_cx::AgentCx;
use zori_setup::agent_zero::preface::{ContextPreface, PrefaceSources};
use zori_setup::agent_zero::project::ActiveNames;
use zori_setup::agent_zero::{AgentZeroSetup, connection};
use zori_setup::args::LowArgs;
use zori_setup::child_env::ChildEnv;
use zori_setup::config::Config;
use zori_setup::debug_dump::DebugDump;
use zori_setup::environment::Environment;
use zori_setup::host_failure::{of_mode, of_model};
use zori_setup::network::RecordingMode;
use zori_setup::sandbox;
use zori_setup::settings::{RunSettings, Settings, limits};

const SCRIPT: &str = include_str!("../../../../fixtures/scripts/demo.jsonl");
const PROMPT: &str = include_str!("../../../../fixtures/scripts/demo/prompt.txt");
const FILES: &[(&str, &str)] = &[
    ("fizz.sh", include_str!("../../../../fixtures/scripts/demo/fizz.sh")),
    ("test.sh", include_str!("../../../../fixtures/scripts/demo/test.sh")),
];
/// About as fast as a person reads along.
const PER_WORD: Duration = Duration::from_millis(35);

/// The scratch folder and the scripted model. Dropping it removes the folder.
pub struct Demo {
    folder: Option<PathBuf>,
    /// What is kept for `/undo` while it plays, beside the folder: in it, it would be part of what is undone.
    state: PathBuf,
    /// `None`: a server with an agent of its own takes the model's place.
    model: Option<Arc<dyn Provider>>,
    tool_timeout: Duration,
    leniency: Leniency,
    shell: ShellProgram,
    bash_max_output: usize,
    child_vars: Vec<(String, String)>,
    env: Environment,
}

impl Demo {
    /// Makes the folder. The model speaks at a human pace when a person watches, at once otherwise.
    pub fn prepare(cx: &AgentCx<'_>) -> Result<Self, Failure> {
        let pace = if cx.terminal.stdout { Pace::PerWord(PER_WORD) } else { Pace::Instant };
        let provider = ScriptedProvider::parse(SCRIPT, pace).expect("a test plays the bundled script");
        let provider = provider.with_closing(&format!(
            "That was the whole script: I am no model and cannot answer. Leave with Ctrl-D; with a key in `ANTHROPIC_API_KEY`, or after \
             `{name} auth login`, `{name}` opens this chat with a real one.",
            name = cx.profile.name
        ));
        let folder = make_folder(cx.app.env.temp_dir())
            .map_err(|error| Failure::new(&IO_ERROR, format!("cannot make a scratch folder: {error}")))?;
        let mock = cx.profile.provider == Some(agent_zero::NAME);
        Ok(Self {
            state: folder.with_extension("state"),
            folder: Some(folder),
            model: (!mock).then_some(Arc::new(provider)),
            tool_timeout: cx.profile.tool_timeout,
            leniency: cx.profile.leniency,
            shell: cx.app.env.shell(cx.profile),
            bash_max_output: cx.profile.bash_max_output,
            child_vars: cx.child_env.clone(),
            env: cx.app.env.clone(),
        })
    }

    /// Returns what the scripted user says.
    pub fn prompt(&self) -> &str {
        if self.is_mock_server() { "What is in this folder?" } else { PROMPT.trim() }
    }

    /// Returns the scripted model; `None` where a server with an agent of its own takes its place.
    pub fn model(&self) -> Option<Arc<dyn Provider>> {
        self.model.clone()
    }

    /// Returns whether it plays a server with an agent of its own.
    pub fn is_mock_server(&self) -> bool {
        self.model.is_none()
    }

    /// Returns the scratch folder.
    pub fn folder(&self) -> &Path {
        self.folder.as_deref().expect("the folder is there until it is kept")
    }

    /// Leaves the folder behind.
    pub fn keep(mut self) -> PathBuf {
        self.folder.take().expect("the folder is kept once")
    }

    /// Has the session kept for as long as the demo plays, so that its changes can be looked at and undone.
    pub fn make_undoable(&self, session: &mut SessionSettings) -> Result<(), Failure> {
        make_private(&self.state)
            .map_err(|error| Failure::new(&IO_ERROR, format!("cannot make a scratch folder: {error}")))?;
        session.storage = StorageSettings {
            sessions: Some(self.state.join("sessions")),
            save: true,
            scratch: true,
            ..StorageSettings::NOWHERE
        };
        session.undo = UndoSettings {
            dir: Some(self.state.join("undo")),
            root: self.folder().to_owned(),
            now: zori_setup::audit::now,
            ..UndoSettings::off()
        };
        Ok(())
    }

    /// Returns settings that read no config and save nothing; the limits of the command line hold.
    pub fn settings(&self, args: &LowArgs) -> Result<Settings, Failure> {
        const MODEL: &str = "scripted";
        let limits = limits::of_run(args, &Config::default());
        check_budget(&limits, None, MODEL).map_err(of_model)?;
        // The scripted model costs nothing, as every one on this machine.
        let here =
            PROVIDERS.iter().find(|facts| facts.is_local()).expect("the catalogue lists local servers");
        let server = catalog::provider(agent_zero::NAME).filter(|_| self.is_mock_server());
        let model = match server {
            Some(facts) => ModelSettings {
                base_url: mock::ADDRESS.to_owned(),
                ..ModelSettings::new(facts, facts.default_model)
            },
            None => ModelSettings::new(here, MODEL),
        };
        let (root, temp) = (self.folder().to_owned(), self.env.temp_dir().to_owned());
        let mut session = SessionSettings::new(root, temp, model, Mode::Yolo);
        session.permission.modes = Modes::unrestricted("the demo");
        let agent_zero = match self.is_mock_server() {
            true => Some(mock_setup(&mut session.permission, self.folder())?),
            false => None,
        };
        session.request.effort = args.model.thinking;
        session.sandbox = sandbox::of_flag(args.permission.sandbox);
        session.limits.run = limits;
        session.tools = ToolSettings {
            timeout: Some(self.tool_timeout),
            leniency: self.leniency,
            shell: self.shell,
            bash_max_output: self.bash_max_output,
            child_env: Arc::new(ChildEnv::keys_only(&self.env)),
            child_vars: self.child_vars.clone(),
            ..session.tools
        };
        let run = RunSettings {
            base: None,
            key: Ok(None),
            http_limits: Timeouts::DEFAULT,
            agent_zero,
            names: ActiveNames::of(&Config::default()),
            recording_mode: RecordingMode::None,
            dump: DebugDump::default(),
            prompts: Vec::new(),
            guidelines: Vec::new(),
            rules_file: None,
            approval_timeout: None,
            bare: args.bare,
            may_run_jobs: false,
            background: None,
            plain: args.plain,
            recap: Arc::default(),
        };
        Ok(Settings { session, run })
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // A temporary folder that cannot be removed is the system's to clean up.
        for folder in self.folder.take().iter().chain([&self.state]) {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Returns how the script that stands for an Agent Zero server is spoken to, and has the mode hold that a real one begins with (DECISIONS 11): what
/// it asks for is asked about. Nothing of the user's settings counts.
fn mock_setup(permission: &mut PermissionSettings, root: &Path) -> Result<AgentZeroSetup, Failure> {
    let mode = ModeChoice::AGENT_ZERO;
    permission.policy.mode = mode;
    permission.policy.shell = permission.modes.shell(mode).map_err(of_mode)?;
    let use_mock = ("connection.use_mock".to_owned(), toml::Value::Boolean(true));
    let config = Config::default().with(vec![use_mock]).expect("it is a setting");
    let env = Environment::default();
    let (preface, _) = ContextPreface::read(PrefaceSources {
        config: &config,
        env: &env,
        root: root.to_owned(),
        mode,
        shell: &permission.policy.shell,
        redactor: Redactor::new(Default::default()),
    })?;
    let (setup, _) = connection::read(&config, &env, Arc::new(preface));
    permission.told = Some(setup.told());
    Ok(setup)
}

/// Makes a private folder with a name nobody can guess.
fn make_folder(temp_dir: &Path) -> std::io::Result<PathBuf> {
    let name = format!("zori-demo-{:016x}", random_number());
    let folder = temp_dir.canonicalize()?.join(name);
    make_private(&folder)?;
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(folder)
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}
