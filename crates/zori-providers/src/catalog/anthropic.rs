//! Anthropic's address and models, after the vendor's model pages as of November 2026. A model whose limits were
//! not found there is left out: it gets the fallback, which every model accepts.

use super::{Model, ProviderFacts};

pub(super) const FACTS: ProviderFacts = ProviderFacts {
    name: "anthropic",
    display: "Anthropic",
    key_var: "ANTHROPIC_API_KEY",
    base_url_var: "ANTHROPIC_BASE_URL",
    base_url_key: "anthropic_base_url",
    default_base_url: "https://api.anthropic.com",
    default_model: "claude-haiku-4-5",
    models: MODELS,
};

const MODELS: &[Model] = &[
    model("claude-fable-5-1", &[], 1_000_000, 128_000),
    model("claude-opus-5-5", &[], 1_000_000, 128_000),
    model("claude-sonnet-5-5", &[], 1_000_000, 128_000),
    model("claude-haiku-5-5", &[], 1_000_000, 128_000),
    model("claude-opus-5", &[], 1_000_000, 128_000),
    model("claude-sonnet-5", &[], 1_000_000, 128_000),
    model("claude-opus-4-8", &[], 1_000_000, 128_000),
    model("claude-opus-4-7", &[], 1_000_000, 128_000),
    model("claude-opus-4-6", &[], 1_000_000, 128_000),
    // Sources differ on this one's reply limit, 64k or 128k; a request above the true one would be refused.
    model("claude-sonnet-4-6", &[], 1_000_000, 64_000),
    model("claude-opus-4-5", &[], 200_000, 64_000),
    model("claude-sonnet-4-5", &[], 200_000, 64_000),
    model("claude-haiku-4-5", &[], 200_000, 64_000),
    model("claude-opus-4-1", &[], 200_000, 32_000),
    model("claude-opus-4", &["claude-opus-4-0"], 200_000, 32_000),
    model("claude-sonnet-4", &["claude-sonnet-4-0"], 200_000, 64_000),
    model("claude-3-7-sonnet", &[], 200_000, 64_000),
    model("claude-3-5-sonnet", &[], 200_000, 8_192),
    model("claude-3-5-haiku", &[], 200_000, 8_192),
    model("claude-3-opus", &[], 200_000, 4_096),
    model("claude-3-haiku", &[], 200_000, 4_096),
];

const fn model(
    id: &'static str,
    aliases: &'static [&'static str],
    context_window: u32,
    max_output: u32,
) -> Model {
    Model { id, aliases, context_window, max_output }
}
