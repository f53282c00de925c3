//! What all agents of a session have in common: the model, the tools, the limits, the way out. A sub-agent is given a
//! copy of it, and changes in its copy what is its own.

use std::collections::HashSet;
use std::sync::Arc;

use zori_core::hook::Hooks;
use zori_core::ids::{AgentId, CallId, IdSource};
use zori_core::provider::Provider;
use zori_core::time::Clock;
use zori_core::tool::Toolbox;

use crate::crew::Crew;
use crate::emitter::Emitter;
use crate::engine::{Modes, Pricing, Settings, Windows};
use crate::sight::Eyes;
use crate::subagent::AgentLimits;

/// What a sub-agent has in common with the engine that started it.
pub(crate) struct Shared<S> {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) toolbox: Arc<dyn Toolbox>,
    pub(crate) modes: Modes,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) pricing: Pricing,
    pub(crate) eyes: Eyes,
    pub(crate) windows: Windows,
    /// The models without a known price that the user was told of.
    pub(crate) unpriced: HashSet<Arc<str>>,
    pub(crate) settings: Settings,
    pub(crate) emitter: Emitter<S>,
    pub(crate) crew: Arc<Crew>,
    pub(crate) agents: AgentLimits,
}

impl<S> Shared<S> {
    /// Returns the same for a sub-agent that `call` started.
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
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            pricing: self.pricing.clone(),
            eyes: self.eyes.clone(),
            windows: self.windows.clone(),
            unpriced: self.unpriced.clone(),
            settings: self.settings.clone(),
            emitter: self.emitter.clone(),
            crew: self.crew.clone(),
            agents: self.agents.clone(),
        }
    }
}
