//! OpenAI's address and models. Limits and prices are what resellers and client libraries repeat of the vendor's
//! pages as of November 2026; the pages themselves could not be read when this was written. A model whose limits
//! were not found is left out: it gets the fallback, which every model accepts. A price is absent where sources
//! differ.
//!
//! Prices are those of prompts up to 272k tokens. Longer ones, which only the models with a window of a million
//! take, cost twice as much, and their replies half as much again. Writing to the cache costs nothing beyond the
//! prompt.

use zori_core::cost::Prices;

use super::{Abilities, Api, Model, Origin, ProviderFacts};
use crate::quirks;

pub(super) const FACTS: ProviderFacts = ProviderFacts {
    name: "openai",
    display: "OpenAI",
    api: Api::OpenAiChat(&quirks::OPENAI),
    key_var: "OPENAI_API_KEY",
    base_url_var: "OPENAI_BASE_URL",
    base_url_key: "openai_base_url",
    default_base_url: "https://api.openai.com/v1",
    default_model: "gpt-5.4-mini",
    models: MODELS,
};

/// The same vendor over its newer API.
pub(super) const CODEX: ProviderFacts =
    ProviderFacts { name: "codex", display: "OpenAI", api: Api::OpenAiResponses, ..FACTS };

const MODELS: &[Model] = &[
    thinks("gpt-5.5", 1_050_000, 128_000, prices(5_000_000, 500_000, 30_000_000)),
    thinks("gpt-5.4", 1_050_000, 128_000, prices(2_500_000, 250_000, 15_000_000)),
    thinks("gpt-5.4-mini", 400_000, 128_000, prices(750_000, 75_000, 4_500_000)),
    thinks("gpt-5.2", 400_000, 128_000, prices(1_750_000, 175_000, 14_000_000)),
    thinks("gpt-5.1", 400_000, 128_000, prices(1_250_000, 125_000, 10_000_000)),
    thinks("gpt-5", 400_000, 128_000, prices(1_250_000, 125_000, 10_000_000)),
    thinks("gpt-5-mini", 400_000, 128_000, prices(250_000, 25_000, 2_000_000)),
    thinks("gpt-5-nano", 400_000, 128_000, prices(50_000, 5_000, 400_000)),
    // Sources differ on what these two read from the cache for.
    thinks("o3", 200_000, 100_000, None),
    thinks("o4-mini", 200_000, 100_000, None),
    answers("gpt-4.1", 1_047_576, 32_768, prices(2_000_000, 500_000, 8_000_000)),
    answers("gpt-4.1-mini", 1_047_576, 32_768, prices(400_000, 100_000, 1_600_000)),
    answers("gpt-4.1-nano", 1_047_576, 32_768, prices(100_000, 25_000, 400_000)),
    answers("gpt-4o", 128_000, 16_384, prices(2_500_000, 1_250_000, 10_000_000)),
    answers("gpt-4o-mini", 128_000, 16_384, prices(150_000, 75_000, 600_000)),
];

const fn prices(input: u64, cache_read: u64, output: u64) -> Option<Prices> {
    Some(Prices { input, output, cache_read, cache_write: input })
}

const fn thinks(id: &'static str, context_window: u32, max_output: u32, prices: Option<Prices>) -> Model {
    let abilities = Abilities { tools: true, images: true, thinking: true };
    Model { id, aliases: &[], context_window, max_output, prices, abilities, origin: Origin::BuiltIn }
}

const fn answers(id: &'static str, context_window: u32, max_output: u32, prices: Option<Prices>) -> Model {
    let abilities = Abilities { tools: true, images: true, thinking: false };
    Model { abilities, ..thinks(id, context_window, max_output, prices) }
}
