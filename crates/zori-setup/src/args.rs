//! What was typed, as the settings of a run need it: [`LowArgs`], from the checked arguments of the table.
//!
//! The tables are in `args/flags.rs`.

pub mod claude;
pub mod flags;
pub mod without_effect;

use std::path::PathBuf;
use std::time::Duration;

use zori_contract::args::Args;
use zori_contract::flag::Flag;
use zori_contract::flag::framework::INPUT_FILE;
use zori_core::cost::MicroUsd;
use zori_core::provider::Effort;
use zori_policy::mode::Protocol;

use self::claude::Sources;
use crate::hooks::HookConfig;
use crate::sandbox::SandboxFlag;

/// What was typed, by topic. Each flag is held once.
#[derive(Clone, Debug, Default)]
pub struct LowArgs {
    /// `--root` and other folders.
    pub workspace: WorkspaceArgs,
    /// `--model` and how it thinks.
    pub model: ModelArgs,
    /// `--prompt`, images, system prompt.
    pub prompt: PromptArgs,
    /// `--session`, `--resume`, `--no-save`.
    pub session: SessionArgs,
    /// `--retries` and timeouts.
    pub request: RequestArgs,
    /// `--record`, `--replay`.
    pub recording: RecordingArgs,
    /// `--permission-mode`, rules, sandbox.
    pub permission: PermissionArgs,
    /// `--max-turns` and other bounds.
    pub limits: LimitArgs,
    /// `--settings` and `--agents`.
    pub settings: SettingsArgs,
    /// `/project` and `/agent`.
    pub overlay: OverlayArgs,
    /// `--output-format` and the rest of the Claude protocol.
    pub protocol: ProtocolArgs,
    pub bare: bool,
    pub keep: bool,
    pub plain: bool,
}

/// Where the run works.
#[derive(Clone, Debug, Default)]
pub struct WorkspaceArgs {
    pub root: Option<String>,
    pub add_dirs: Vec<String>,
    /// `--trust-workspace`.
    pub trust: bool,
}

/// Who answers, and how hard it thinks.
#[derive(Clone, Debug, Default)]
pub struct ModelArgs {
    /// `--model`.
    pub name: Option<String>,
    pub provider: Option<String>,
    pub api_base: Option<String>,
    /// `--fallback-model`.
    pub fallback: Option<String>,
    pub thinking: Option<Effort>,
    /// `--effort`, in the words of Claude Code.
    pub effort: Option<String>,
    pub max_thinking_tokens: Option<u64>,
}

/// What the model is told.
#[derive(Clone, Debug, Default)]
pub struct PromptArgs {
    /// `--prompt`.
    pub text: Option<String>,
    /// `--input-file`.
    pub file: Option<String>,
    /// A lone `-`.
    pub dash: bool,
    /// `--image`, in the order given.
    pub images: Vec<String>,
    pub scheduled: Option<String>,
    /// `--system-prompt`.
    pub system: Option<String>,
    /// `--system-prompt-file`.
    pub system_file: Option<String>,
    /// `--append-system-prompt`.
    pub append_system: Option<String>,
}

/// Which session is begun or continued, and whether it is saved.
#[derive(Clone, Debug, Default)]
pub struct SessionArgs {
    /// `--session`.
    pub named: Option<String>,
    /// The session as an argument.
    pub id: Option<String>,
    /// `--session-id`.
    pub new_id: Option<String>,
    /// `--no-save`, `--no-session-persistence`.
    pub no_save: bool,
    pub no_checkpoints: bool,
    /// `--rollback-on-failure`.
    pub rollback: bool,
    /// `--continue`.
    pub continues: bool,
    pub resume: Option<String>,
    /// `--resume-session-at`.
    pub resume_at: Option<String>,
    /// `--fork-session`.
    pub fork: bool,
    pub any: bool,
}

/// How requests are sent.
#[derive(Clone, Debug, Default)]
pub struct RequestArgs {
    pub retries: Option<u32>,
    /// `--retry-delay`, in milliseconds.
    pub retry_delay_ms: Option<u64>,
    /// `--connect-timeout`: `Some(None)` is 0, which means for ever.
    pub connect_timeout: Option<Option<Duration>>,
}

/// Whether the traffic is written down, or comes from a recording.
#[derive(Clone, Debug, Default)]
pub struct RecordingArgs {
    pub record: Option<PathBuf>,
    pub replay: Option<PathBuf>,
    /// `--replay-lenient`.
    pub lenient: bool,
    /// `--debug-dump`.
    pub dump: bool,
}

/// What may run, and who is asked.
#[derive(Clone, Debug, Default)]
pub struct PermissionArgs {
    /// `--permission-mode`.
    pub mode: Option<String>,
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    pub yes: bool,
    pub sandbox: Option<SandboxFlag>,
    pub tools: Option<String>,
    /// `--permission-prompt-tool`.
    pub prompt_tool: Option<String>,
    /// `--dangerously-skip-permissions`.
    pub bypass: bool,
    /// `--allow-dangerously-skip-permissions`.
    pub may_bypass: bool,
}

/// What the run may use.
#[derive(Clone, Debug, Default)]
pub struct LimitArgs {
    /// `--max-turns`.
    pub turns: Option<u32>,
    /// `--max-budget-usd`.
    pub budget: Option<MicroUsd>,
    /// `--max-tokens-total`.
    pub tokens: Option<u64>,
}

/// The settings of Claude Code.
#[derive(Clone, Debug, Default)]
pub struct SettingsArgs {
    /// `--settings`.
    pub given: Option<String>,
    /// The hooks of `--settings`.
    pub hooks: Vec<HookConfig>,
    /// What `--settings` sets for commands and hooks.
    pub env: Vec<(String, String)>,
    pub agents: Option<String>,
    /// `--setting-sources`.
    pub sources: Sources,
}

/// Which of the user's named settings hold, where that was chosen while the program ran. No flag sets them.
#[derive(Clone, Debug, Default)]
pub struct OverlayArgs {
    pub project: Option<String>,
    pub agent: Option<String>,
}

/// How a program at the other end is spoken to.
#[derive(Clone, Debug, Default)]
pub struct ProtocolArgs {
    /// `--protocol-version`, or the protocol of the command: nobody's mode is then `default` (DECISIONS 11).
    pub version: Option<Protocol>,
    /// `--output-format`.
    pub output: Option<String>,
    /// `--input-format stream-json`.
    pub stream_input: bool,
    /// `--include-partial-messages`.
    pub partial: bool,
    /// `--replay-user-messages`.
    pub replay_prompts: bool,
    /// `--include-hook-events`.
    pub hook_events: bool,
    pub json_schema: Option<String>,
    pub mcp_config: Vec<String>,
    pub strict_mcp_config: bool,
    pub history_file: Option<String>,
    /// What was given and has no effect.
    pub without_effect: Vec<&'static str>,
}

impl ProtocolArgs {
    /// Returns the protocol that is spoken; `None` where the words are ours.
    pub fn spoken(&self) -> Option<Protocol> {
        let asked = self.output.is_some() || self.stream_input;
        self.version.or(asked.then_some(Protocol::Claude))
    }
}

impl LowArgs {
    /// Returns what would have to be typed for a new session like this one.
    pub fn anew(&self) -> Self {
        let mut args = self.clone();
        args.prompt.text = None;
        args.prompt.images.clear();
        args.session.resume = None;
        args.session.continues = false;
        args.session.fork = false;
        args.session.named = None;
        args.session.new_id = None;
        args
    }

    /// Returns the same with a project's settings. The agent profile is the one that the project names.
    pub fn with_project(&self, name: &str) -> Self {
        let mut args = self.anew();
        args.overlay = OverlayArgs { project: Some(name.to_owned()), agent: None };
        args
    }

    /// Returns the same, with the answer in a protocol's lines.
    pub fn speaking(&self, protocol: Protocol) -> Self {
        let mut args = self.clone();
        args.protocol.version = Some(protocol);
        args
    }

    /// Takes the values over. Their kinds have been checked, so that nothing can fail here.
    pub fn new(args: &Args) -> Self {
        let text = |flag: &Flag| args.text(flag).map(str::to_owned);
        let count = |flag: &Flag| args.int(flag).map(i64::unsigned_abs);
        let small = |flag: &Flag| count(flag).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let rules = |flag: &Flag| args.all(flag).iter().flat_map(|value| flags::rules(value)).collect();
        let word = args.text(&flags::DASH);
        let version = args.text(&flags::PROTOCOL_VERSION).map(|version| match version {
            "1" | "yume" | "flat" => Protocol::Yume,
            _ => Protocol::Claude,
        });
        Self {
            overlay: OverlayArgs::default(),
            workspace: WorkspaceArgs {
                // What is typed comes before a setting, and the default behind it.
                root: args.all(&flags::ROOT).last().cloned(),
                add_dirs: args.all(&claude::ADD_DIR).to_vec(),
                trust: args.has(&flags::TRUST_WORKSPACE),
            },
            model: ModelArgs {
                name: text(&flags::MODEL),
                provider: text(&flags::PROVIDER),
                api_base: text(&flags::API_BASE),
                fallback: text(&claude::FALLBACK_MODEL),
                thinking: args.text(&flags::THINKING).and_then(Effort::by_name),
                effort: text(&claude::EFFORT),
                max_thinking_tokens: count(&claude::MAX_THINKING_TOKENS),
            },
            prompt: PromptArgs {
                text: text(&flags::PROMPT).or(word.filter(|word| *word != "-").map(str::to_owned)),
                file: text(&INPUT_FILE),
                dash: word == Some("-"),
                images: args.all(&flags::IMAGE).to_vec(),
                scheduled: text(&flags::SCHEDULED),
                system: text(&flags::SYSTEM_PROMPT),
                system_file: text(&claude::SYSTEM_PROMPT_FILE),
                append_system: text(&claude::APPEND_SYSTEM_PROMPT),
            },
            session: SessionArgs {
                named: text(&flags::SESSION),
                id: args.text(&flags::ID).map(str::to_owned),
                new_id: text(&claude::SESSION_ID),
                no_checkpoints: args.has(&flags::NO_CHECKPOINTS),
                rollback: args.has(&flags::ROLLBACK_ON_FAILURE),
                no_save: args.has(&flags::NO_SAVE) || args.has(&claude::NO_SESSION_PERSISTENCE),
                continues: args.has(&flags::CONTINUE),
                resume: text(&flags::RESUME),
                resume_at: text(&claude::RESUME_SESSION_AT),
                fork: args.has(&flags::FORK_SESSION),
                any: args.has(&flags::ANY),
            },
            request: RequestArgs {
                retries: small(&flags::RETRIES),
                retry_delay_ms: count(&flags::RETRY_DELAY),
                connect_timeout: args
                    .duration(&flags::CONNECT_TIMEOUT)
                    .map(|time| Some(time).filter(|time| !time.is_zero())),
            },
            recording: RecordingArgs {
                record: args.text(&flags::RECORD).map(PathBuf::from),
                replay: args.text(&flags::REPLAY).map(PathBuf::from),
                lenient: args.has(&flags::REPLAY_LENIENT),
                dump: args.has(&flags::DEBUG_DUMP),
            },
            permission: PermissionArgs {
                mode: text(&flags::PERMISSION_MODE),
                allow: rules(&flags::ALLOW),
                ask: rules(&flags::ASK),
                deny: rules(&flags::DENY),
                yes: args.has(&flags::YES),
                sandbox: args.text(&flags::SANDBOX).and_then(SandboxFlag::parse),
                tools: text(&claude::TOOLS),
                prompt_tool: text(&claude::PERMISSION_PROMPT_TOOL),
                bypass: args.has(&claude::DANGEROUSLY_SKIP_PERMISSIONS),
                may_bypass: args.has(&claude::ALLOW_DANGEROUSLY_SKIP_PERMISSIONS),
            },
            limits: LimitArgs {
                turns: small(&flags::MAX_TURNS),
                budget: args.text(&flags::MAX_BUDGET_USD).and_then(flags::dollars),
                tokens: count(&flags::MAX_TOKENS_TOTAL),
            },
            settings: SettingsArgs {
                given: text(&claude::SETTINGS),
                hooks: Vec::new(),
                env: Vec::new(),
                agents: text(&claude::AGENTS),
                sources: args.text(&claude::SETTING_SOURCES).map_or_else(Sources::default, Sources::parse),
            },
            protocol: ProtocolArgs {
                version,
                output: text(&claude::OUTPUT_FORMAT).or(version.map(|_| "stream-json".to_owned())),
                stream_input: args.text(&claude::INPUT_FORMAT) == Some("stream-json"),
                partial: args.has(&claude::INCLUDE_PARTIAL_MESSAGES),
                replay_prompts: args.has(&claude::REPLAY_USER_MESSAGES),
                hook_events: args.has(&claude::INCLUDE_HOOK_EVENTS),
                json_schema: text(&claude::JSON_SCHEMA),
                mcp_config: args.all(&flags::MCP_CONFIG).to_vec(),
                strict_mcp_config: args.has(&flags::STRICT_MCP_CONFIG),
                history_file: text(&flags::HISTORY_FILE),
                without_effect: without_effect::given(args),
            },
            bare: args.has(&flags::BARE),
            keep: args.has(&flags::KEEP),
            plain: args.has(&flags::PLAIN),
        }
    }
}
