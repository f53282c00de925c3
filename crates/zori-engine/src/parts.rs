//! What an engine is made of. [`Parts::new`] takes what every engine needs; the other fields have defaults that an embedder
//! replaces one by one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_core::checkpoint::Checkpoints;
use zori_core::compaction::ReplacedView;
use zori_core::cost::{Ledger, Prices, Spent};
use zori_core::event::SessionFacts;
use zori_core::hook::Hooks;
use zori_core::ids::{IdSource, SessionId};
use zori_core::image::ImageSupport;
use zori_core::message::Message;
use zori_core::provider::Provider;
use zori_core::time::Clock;
use zori_core::tool::Toolbox;
use zori_policy::policy::ShellPolicy;
use zori_policy::{ModeChoice, Policy};

use crate::context::ContextWindow;
use crate::image_support::ImageSupportLookup;
use crate::settings::Settings;
use crate::subagent::AgentLimits;
use crate::system::{SystemClock, SystemIds, session_id};

/// What an engine is made of.
pub struct Parts {
    /// Sends the requests to the model.
    pub provider: Arc<dyn Provider>,
    /// The tools the model may call.
    pub toolbox: Arc<dyn Toolbox>,
    /// Decides which calls may run.
    pub policy: Policy,
    /// Resolves the permission modes that the session may change to.
    pub modes: ModeLookup,
    /// The user's hooks.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Captures what calls change; `None` captures nothing.
    pub checkpoints: Option<Arc<dyn Checkpoints>>,
    /// Counts what requests cost beyond this process; `None` counts nothing.
    pub ledger: Option<Arc<dyn Ledger>>,
    /// Stamps events and measures durations.
    pub clock: Arc<dyn Clock>,
    /// The source of random numbers for the jitter of retries.
    pub ids: Arc<dyn IdSource>,
    /// What is known about models.
    pub models: ModelInfo,
    /// Bounds sub-agents.
    pub agents: AgentLimits,
    /// The session and what is known of it from earlier runs.
    pub session: SessionState,
    /// The model and how turns behave.
    pub settings: Settings,
}

impl Parts {
    /// An engine for a new session with this machine's clock, without hooks, and with nothing known about models. The
    /// permission mode stays the one of `policy`.
    pub fn new(
        provider: Arc<dyn Provider>,
        toolbox: Arc<dyn Toolbox>,
        policy: Policy,
        settings: Settings,
    ) -> Self {
        Self {
            provider,
            toolbox,
            policy,
            modes: Arc::new(|name| Err(format!("the mode cannot be changed to `{name}` in this session"))),
            hooks: None,
            checkpoints: None,
            ledger: None,
            clock: Arc::new(SystemClock::new()),
            ids: Arc::new(SystemIds::default()),
            models: ModelInfo::default(),
            agents: AgentLimits::default(),
            session: SessionState::new(session_id()),
            settings,
        }
    }

    /// Returns the facts that announce the session, for one that is not saved. `root` is the working directory of the
    /// tools.
    pub fn facts(&self, root: &Path) -> SessionFacts {
        SessionFacts {
            provider: self.provider.name().into(),
            model: self.settings.model.clone(),
            root: root.into(),
            tools: self.toolbox.specs().iter().map(|spec| spec.name.clone()).collect(),
            agents: Vec::new(),
            resumed_messages: self.session.history.len(),
            resumed_replies: 0,
            saved: false,
        }
    }
}

/// Resolves the name of a permission mode; an error says why the session may not change to it. The engine calls it when
/// the mode changes, so that whatever depends on the mode can change with it.
pub type ModeLookup = Arc<dyn Fn(&str) -> Result<(ModeChoice, ShellPolicy), String> + Send + Sync>;

/// Returns the prices of a model, if they are known.
pub type PriceLookup = Arc<dyn Fn(&str) -> Option<Prices> + Send + Sync>;

/// Returns the context window of a model, if it is known.
pub type ContextWindowLookup = Arc<dyn Fn(&str) -> Option<ContextWindow> + Send + Sync>;

/// Returns the most tokens a model may use for a reply; `None` leaves that to the provider.
pub type ReplyLimitLookup = Arc<dyn Fn(&str) -> Option<u32> + Send + Sync>;

/// What is known about models, by their ids. The default knows nothing: costs are not counted, and a conversation is
/// compacted only when the provider refuses it.
#[derive(Clone)]
pub struct ModelInfo {
    /// What models cost.
    pub prices: PriceLookup,
    /// How long conversations with them may get.
    pub windows: ContextWindowLookup,
    /// Which images they support.
    pub image_support: ImageSupportLookup,
    /// How long their replies may get, for models other than the one of [`Settings`].
    pub reply_limits: ReplyLimitLookup,
}

impl Default for ModelInfo {
    fn default() -> Self {
        Self {
            prices: Arc::new(|_| None),
            windows: Arc::new(|_| None),
            image_support: Arc::new(|_, _| ImageSupport::Unknown),
            reply_limits: Arc::new(|_| None),
        }
    }
}

/// A session, and what is known of it from earlier runs.
pub struct SessionState {
    /// The session's id.
    pub id: SessionId,
    /// The conversation of an earlier run, repaired.
    pub history: Vec<Arc<Message>>,
    /// The views of it that compactions replaced, oldest first.
    pub replaced: Vec<ReplacedView>,
    /// What the run has used before this session; it counts towards the limits.
    pub spent_before: Spent,
    /// Where it is saved, if it is.
    pub saved: Option<SavedSession>,
}

/// Where a session is saved.
pub struct SavedSession {
    /// The file that keeps the whole conversation.
    pub file: PathBuf,
    /// Makes the views of the conversation again from the file.
    pub load: Box<dyn Fn() -> Option<SavedViews> + Send + Sync>,
}

/// The views of a conversation as its file has them.
pub struct SavedViews {
    /// What is sent.
    pub history: Vec<Arc<Message>>,
    /// The views of it that compactions replaced, oldest first.
    pub replaced: Vec<ReplacedView>,
}

impl SessionState {
    /// A session without a past.
    pub fn new(id: SessionId) -> Self {
        Self { id, history: Vec::new(), replaced: Vec::new(), spent_before: Spent::NOTHING, saved: None }
    }
}
