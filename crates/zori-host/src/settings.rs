//! What a session is made from, resolved to values and grouped by topic.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use zori_core::ids::SessionId;
use zori_core::provider::{Delivery, Effort};
use zori_core::tool::Leniency;
use zori_core::transport::Timeouts;
use zori_engine::compact::CompactAt;
use zori_engine::limits::Limits;
use zori_engine::retry::Retry;
use zori_engine::settings::CallOrder;
use zori_policy::paths::{Workspace, WorkspaceParts};
use zori_policy::policy::ShellPolicy;
use zori_policy::rules::Rules;
use zori_policy::{Approver, Mode, ModeChoice, Policy};
use zori_store::Durability;
use zori_tools::env::ShellProgram;
use zori_tools::hooks::Hook;
use zori_tools::spelling::Platform;
use zori_tools::toolset::{PatchModels, ReadBounds};

use crate::agents::AgentDescription;
use crate::audit::AuditSettings;
use crate::background::Background;
use crate::child_env::{ChildEnvironment, InheritEverything};
use crate::code_index::CodeIndexPlace;
use crate::extensions::Extensions;
use crate::ledger::DailyBudget;
use crate::mcp::McpSettings;
use crate::memory::MemorySettings;
use crate::mode::{Modes, TellRights};
use crate::model::ModelSettings;
use crate::peer::Answers;
use crate::sandbox::SandboxSettings;
use crate::schedule::ScheduleSettings;
use crate::system_prompt::SystemParts;
use crate::undo::UndoSettings;

/// Everything a session is made from.
pub struct SessionSettings {
    /// Where it works.
    pub workspace: WorkspaceSettings,
    /// Who answers.
    pub model: ModelSettings,
    /// What every request has in common.
    pub request: RequestSettings,
    /// Where it is saved.
    pub storage: StorageSettings,
    /// What is written down of its calls.
    pub audit: AuditSettings,
    /// What may run, and who is asked.
    pub permission: PermissionSettings,
    /// What confines its commands.
    pub sandbox: SandboxSettings,
    /// How much it may use.
    pub limits: LimitSettings,
    /// Its sub-agents.
    pub agents: AgentSettings,
    /// How its tools and hooks run.
    pub tools: ToolSettings,
    /// What is captured, so that it can be put back.
    pub undo: UndoSettings,
    /// Custom commands and skills.
    pub extensions: Extensions,
    /// What is known of earlier sessions of the project; `None`: nothing.
    pub memory: Option<MemorySettings>,
    /// The schedule of the project; `None`: it has none, or it is not used.
    pub schedule: Option<ScheduleSettings>,
    /// The code index of the project, where it is in use.
    pub code_index: Option<CodeIndexPlace>,
    /// The MCP servers whose tools it has.
    pub mcp: McpSettings,
    /// What goes on beside its turns; `None`: nothing.
    pub background: Option<Arc<dyn Background>>,
}

impl SessionSettings {
    /// Returns settings for a folder: nothing is saved, nobody is asked, and nothing runs that the permission mode asks
    /// about. `temp`: where temporary files go.
    pub fn new(root: PathBuf, temp: PathBuf, model: ModelSettings, mode: Mode) -> Self {
        let workspace = Workspace::new(WorkspaceParts {
            roots: vec![root.clone()],
            cwd: root.clone(),
            home: None,
            data_dir: None,
            path_dirs: Vec::new(),
            sensitive: Vec::new(),
        });
        let policy = Policy {
            mode: ModeChoice::implicit(mode),
            rules: Rules::default(),
            workspace,
            shell: ShellPolicy::OPEN,
            approver: Approver::Absent,
            agent: None,
        };
        Self {
            workspace: WorkspaceSettings { root, home: None, temp },
            model,
            request: RequestSettings::default(),
            storage: StorageSettings::NOWHERE,
            audit: AuditSettings::OFF,
            permission: PermissionSettings {
                policy,
                modes: Modes::unrestricted("the program"),
                answers: Answers::Nobody,
                told: None,
            },
            sandbox: SandboxSettings::OFF,
            limits: LimitSettings { run: Limits::NONE, compact_at: CompactAt::DEFAULT, daily: None },
            agents: AgentSettings::DEFAULT,
            tools: ToolSettings {
                timeout: None,
                leniency: Leniency::Forgiving,
                shell: ShellProgram::Sh,
                bash_max_output: 0,
                child_env: Arc::new(InheritEverything),
                child_vars: Vec::new(),
                hooks: Vec::new(),
                order: CallOrder::Together,
                spelling: None,
                patch_models: None,
                remote_bounds: ReadBounds::DEFAULT,
            },
            undo: UndoSettings::off(),
            extensions: Extensions::default(),
            memory: None,
            schedule: None,
            code_index: None,
            mcp: McpSettings::none(),
            background: None,
        }
    }
}

/// Where a session works.
#[derive(Clone, Debug)]
pub struct WorkspaceSettings {
    /// The working directory of the tools, canonical.
    pub root: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Where temporary files go.
    pub temp: PathBuf,
}

/// What every request has in common.
#[derive(Clone, Debug)]
pub struct RequestSettings {
    /// The system prompt, guidelines included.
    pub system: Option<Arc<str>>,
    /// The same in its parts, from which sub-agents get theirs.
    pub system_parts: SystemParts,
    /// The upper bound of a reply.
    pub max_tokens: Option<u32>,
    /// Sent only if set.
    pub temperature: Option<f64>,
    /// How much the model should think.
    pub effort: Option<Effort>,
    /// Streamed or not.
    pub delivery: Delivery,
    /// How failed requests are repeated.
    pub retry: Retry,
    /// How long an answer is waited for, to be told; what sends the requests enforces it.
    pub waits: Timeouts,
}

impl Default for RequestSettings {
    fn default() -> Self {
        Self {
            system: None,
            system_parts: SystemParts::default(),
            max_tokens: None,
            temperature: None,
            effort: None,
            delivery: Delivery::Streamed,
            retry: Retry::DEFAULT,
            waits: Timeouts::DEFAULT,
        }
    }
}

/// Where a session is saved.
#[derive(Clone, Debug)]
pub struct StorageSettings {
    /// The folder of session files; `None` where there is none, and then nothing is saved.
    pub sessions: Option<PathBuf>,
    /// The session that was asked for by name.
    pub named: Option<SessionId>,
    /// Whether the session is saved.
    pub save: bool,
    /// Whether the folder goes with the run: what was changed can be undone, but nobody is told that the session can be gone on with.
    pub scratch: bool,
    /// What a saved session outlives.
    pub durability: Durability,
    /// Whether a session that cannot be saved ends the run.
    pub required: bool,
}

impl StorageSettings {
    /// Nothing is saved.
    pub const NOWHERE: Self = Self {
        sessions: None,
        named: None,
        save: false,
        scratch: false,
        durability: Durability::Process,
        required: false,
    };
}

/// What may run, and who is asked.
#[derive(Clone)]
pub struct PermissionSettings {
    /// What may run.
    pub policy: Policy,
    /// Where the permission mode comes from, and which others there are.
    pub modes: Modes,
    /// Who answers questions about calls.
    pub answers: Answers,
    /// Who is told what the tools may do, beside the model; `None`: nobody.
    pub told: Option<TellRights>,
}

/// How much a session may use.
#[derive(Clone, Debug)]
pub struct LimitSettings {
    /// Turns, money, tokens.
    pub run: Limits,
    /// When the conversation is compacted.
    pub compact_at: CompactAt,
    /// What all sessions of a day may cost together.
    pub daily: Option<DailyBudget>,
}

/// The sub-agents of a session.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// How deep they may be nested; with 0 there are none.
    pub depth: u32,
    /// How many one prompt may start.
    pub max: u32,
    /// Those that somebody described; of two of one name the first counts.
    pub described: Vec<AgentDescription>,
}

impl AgentSettings {
    /// What holds when nobody says anything.
    pub const DEFAULT: Self = Self { depth: 1, max: 16, described: Vec::new() };
}

/// How tools and hooks run.
#[derive(Clone)]
pub struct ToolSettings {
    /// The time limit of a call.
    pub timeout: Option<Duration>,
    /// What becomes of a call that is not exact.
    pub leniency: Leniency,
    /// The shell that runs commands.
    pub shell: ShellProgram,
    /// How many bytes of each stream of a command the model sees at most; 0 leaves the tool's own ceiling.
    pub bash_max_output: usize,
    /// What children inherit of the environment.
    pub child_env: Arc<dyn ChildEnvironment>,
    /// Variables that children get on top.
    pub child_vars: Vec<(String, String)>,
    /// The hook programs, in the order in which they run.
    pub hooks: Vec<Hook>,
    /// Which calls of a reply go together.
    pub order: CallOrder,
    /// Whose spelling of paths the tools get, where clients may use another platform's.
    pub spelling: Option<Platform>,
    /// Which models edit by patches; `None` where all get the same tools.
    pub patch_models: Option<PatchModels>,
    /// How much the calls of an agent on a server return where they do not say it.
    pub remote_bounds: ReadBounds,
}
