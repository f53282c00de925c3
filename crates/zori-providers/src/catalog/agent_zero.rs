//! An Agent Zero server. Its agent has a model of its own, of which nothing is known here: neither its window nor what it
//! costs, which the server pays.

use super::{Abilities, Api, FREE, Lifecycle, Model, Origin, ProviderFacts};
use crate::agent_zero::NAME;

pub(super) const FACTS: ProviderFacts = ProviderFacts {
    name: NAME,
    display: "Agent Zero",
    api: Api::AgentZero,
    key_var: "AGENTZERO_API_KEY",
    base_url_var: "AGENTZERO_API_URL",
    base_url_key: "connection.api_url",
    default_base_url: "",
    default_model: NAME,
    models: &[Model {
        id: NAME,
        aliases: &[],
        context_window: 1_000_000,
        max_output: 128_000,
        prices: Some(FREE),
        abilities: Abilities { tools: true, images: true, thinking: true },
        origin: Origin::BuiltIn,
        lifecycle: Lifecycle::Current,
    }],
    custom: None,
};
