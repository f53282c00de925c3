//! What `zori demo` plays: a conversation file, and the small program it works on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_core::provider::{Delivery, Provider};
use zori_core::secret::Secrets;
use zori_core::transport::Limits;
use zori_engine::compact::CompactAt;
use zori_engine::engine::CallOrder;
use zori_engine::retry::Retry;
use zori_policy::policy::ShellSettings;
use zori_providers::catalog::PROVIDERS;
use zori_providers::scripted::{Pace, ScriptedProvider};
use zori_store::Durability;

use crate::args::LowArgs;
use crate::asking::Answers;
use crate::audit::Keeping;
use crate::child_env::ChildEnv;
use crate::clock::SystemIds;
use crate::commands::Cx;
use crate::config::Config;
use crate::model_choice::Choice;
use crate::network::Tape;
use crate::permissions::{self, Modes};
use crate::sandbox;
use crate::settings::limits::{self, priced};
use crate::settings::system_prompt::SystemParts;
use crate::settings::{Settings, Subagents};

const SCRIPT: &str = include_str!("../../../fixtures/scripts/demo.jsonl");
const PROMPT: &str = include_str!("../../../fixtures/scripts/demo/prompt.txt");
const FILES: &[(&str, &str)] = &[
    ("fizz.sh", include_str!("../../../fixtures/scripts/demo/fizz.sh")),
    ("test.sh", include_str!("../../../fixtures/scripts/demo/test.sh")),
];
/// About as fast as a person reads along.
const PER_WORD: Duration = Duration::from_millis(35);

/// The scratch folder and the scripted model. Dropping it removes the folder.
pub struct Demo {
    folder: Option<PathBuf>,
    provider: Arc<dyn Provider>,
    tool_timeout: Duration,
    bash_max_output: usize,
}

impl Demo {
    /// Makes the folder. The model speaks at a human pace when a person watches, at once otherwise.
    pub fn prepare(cx: &Cx<'_>) -> Result<Self, Failure> {
        let pace = if cx.terminal.stdout { Pace::PerWord(PER_WORD) } else { Pace::Instant };
        let provider = ScriptedProvider::parse(SCRIPT, pace).expect("a test plays the bundled script");
        let folder = make_folder()
            .map_err(|error| Failure::new(&IO_ERROR, format!("cannot make a scratch folder: {error}")))?;
        Ok(Self {
            folder: Some(folder),
            provider: Arc::new(provider),
            tool_timeout: cx.profile.tool_timeout,
            bash_max_output: cx.profile.bash_max_output,
        })
    }

    /// Returns what the scripted user says.
    pub fn prompt(&self) -> &str {
        PROMPT.trim()
    }

    /// Returns the scripted model.
    pub fn provider(&self) -> Arc<dyn Provider> {
        self.provider.clone()
    }

    /// Returns the scratch folder.
    pub fn folder(&self) -> &Path {
        self.folder.as_deref().expect("the folder is there until it is kept")
    }

    /// Leaves the folder behind.
    pub fn keep(mut self) -> PathBuf {
        self.folder.take().expect("the folder is kept once")
    }

    /// Returns settings that read no config and save nothing; the limits of the command line hold.
    pub fn settings(&self, args: &LowArgs) -> Result<Settings, Failure> {
        const MODEL: &str = "scripted";
        let limits = limits::of_run(args, &Config::default());
        priced(&limits, None, MODEL)?;
        // The scripted model costs nothing, as every one on this machine.
        let here =
            PROVIDERS.iter().find(|facts| facts.is_local()).expect("the catalogue lists local servers");
        Ok(Settings {
            base: None,
            home: None,
            root: self.folder().to_owned(),
            choice: Choice {
                facts: here,
                base_url: here.default_base_url.to_owned(),
                model: MODEL.into(),
                key: Ok(None),
                secrets: Secrets::default(),
            },
            fallback: None,
            system: None,
            system_parts: SystemParts::default(),
            guidelines: Vec::new(),
            max_tokens: None,
            temperature: None,
            effort: args.thinking,
            limits,
            subagents: Subagents::DEFAULT,
            agents: Vec::new(),
            context_window: None,
            compact_at: CompactAt::DEFAULT,
            delivery: Delivery::Streamed,
            retry: Retry::DEFAULT,
            http_limits: Limits::DEFAULT,
            tool_timeout: Some(self.tool_timeout),
            tool_calls: None,
            bash_max_output: self.bash_max_output,
            tape: Tape::None,
            prompts: Vec::new(),
            policy: permissions::of_demo(self.folder()),
            modes: Modes {
                source: "the demo".to_owned(),
                user_rules: false,
                forbidden: None,
                shell: ShellSettings::default(),
            },
            rules_file: None,
            child_env: ChildEnv::keys_only(),
            child_vars: Vec::new(),
            hooks: Vec::new(),
            answers: Answers::Nobody,
            approval_timeout: None,
            sandbox: sandbox::Setting::of_flag(args.sandbox),
            call_order: CallOrder::Together,
            spelling: None,
            bare: args.bare,
            session: None,
            save: false,
            durability: Durability::Process,
            session_required: false,
            audit: Keeping::Off,
        })
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            // A temporary folder that cannot be removed is the system's to clean up.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Makes a private folder with a name nobody can guess.
fn make_folder() -> std::io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    let name = format!("zori-demo-{:016x}", zori_core::ids::IdSource::random(&SystemIds));
    let folder = std::env::temp_dir().canonicalize()?.join(name);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(folder)
}
