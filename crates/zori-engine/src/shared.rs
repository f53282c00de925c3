//! What an engine shares with its sub-agents: provider, tools, settings, event sink. Each sub-agent gets a clone and
//! changes in it what is its own.

use std::collections::HashSet;
use std::sync::Arc;

use zori_core::checkpoint::Checkpoints;
use zori_core::cost::Ledger;
use zori_core::hook::Hooks;
use zori_core::ids::{AgentId, CallId, IdSource};
use zori_core::provider::Provider;
use zori_core::time::Clock;
use zori_core::tool::Toolbox;

use crate::agent_registry::AgentRegistry;
use crate::emitter::Emitter;
use crate::parts::{ModeLookup, ModelInfo};
use crate::settings::Settings;
use crate::subagent::AgentLimits;

/// The parts of an engine that its sub-agents get as well.
pub(crate) struct Shared<S> {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) toolbox: Arc<dyn Toolbox>,
    pub(crate) modes: ModeLookup,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    pub(crate) checkpoints: Option<Arc<dyn Checkpoints>>,
    pub(crate) ledger: Option<Arc<dyn Ledger>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) models: ModelInfo,
    /// The models without a known price that the user was warned of.
    pub(crate) unpriced: HashSet<Arc<str>>,
    pub(crate) settings: Settings,
    pub(crate) emitter: Emitter<S>,
    pub(crate) registry: Arc<AgentRegistry>,
    pub(crate) agents: AgentLimits,
}

impl<S> Shared<S> {
    /// Returns a clone for a sub-agent that `call` started.
    pub(crate) fn for_agent(&self, agent: AgentId, call: CallId) -> Self {
        Self { emitter: self.emitter.of_agent(agent, Some(call)), ..self.clone() }
    }
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self {
            provider: self.provider.clone(),
            toolbox: self.toolbox.clone(),
            modes: self.modes.clone(),
            hooks: self.hooks.clone(),
            checkpoints: self.checkpoints.clone(),
            ledger: self.ledger.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            models: self.models.clone(),
            unpriced: self.unpriced.clone(),
            settings: self.settings.clone(),
            emitter: self.emitter.clone(),
            registry: self.registry.clone(),
            agents: self.agents.clone(),
        }
    }
}
