//! OpenRouter's address and a few of its models: those whose vendor's limits and prices are known here; it
//! passes prices on as they are. All others work too, unpriced.

use zori_core::cost::Prices;

use super::{Abilities, Api, Lifecycle, Model, Origin, ProviderFacts};
use crate::quirks;

pub(super) const FACTS: ProviderFacts = ProviderFacts {
    name: "openrouter",
    display: "OpenRouter",
    api: Api::OpenAiChat(&quirks::OPENROUTER),
    key_var: "OPENROUTER_API_KEY",
    base_url_var: "OPENROUTER_BASE_URL",
    base_url_key: "openrouter_base_url",
    default_base_url: "https://openrouter.ai/api/v1",
    default_model: "anthropic/claude-sonnet-5.5",
    models: MODELS,
    custom: None,
};

const MODELS: &[Model] = &[
    model("anthropic/claude-sonnet-5.5", 1_000_000, 128_000, [2_000_000, 10_000_000, 100_000, 2_500_000]),
    model("anthropic/claude-opus-5.5", 1_000_000, 128_000, [4_000_000, 20_000_000, 200_000, 5_000_000]),
    model("openai/gpt-6.1-terra", 1_050_000, 128_000, [1_000_000, 5_000_000, 50_000, 1_250_000]),
    model("openai/gpt-6.1-sol", 1_050_000, 128_000, [2_000_000, 10_000_000, 100_000, 2_500_000]),
    model("google/gemini-3.8-flash", 1_048_576, 65_536, [1_500_000, 7_500_000, 150_000, 1_500_000]),
    model("anthropic/claude-haiku-4.5", 200_000, 64_000, [1_000_000, 5_000_000, 100_000, 1_250_000]),
    model("anthropic/claude-opus-4.5", 200_000, 64_000, [5_000_000, 25_000_000, 500_000, 6_250_000]),
    model("openai/gpt-5.1", 400_000, 128_000, [1_250_000, 10_000_000, 125_000, 1_250_000])
        .ending("2027-04-01", "openai/gpt-6.1-terra"),
    model("openai/gpt-5-mini", 400_000, 128_000, [250_000, 2_000_000, 25_000, 250_000])
        .ending("2026-12-11", "openai/gpt-6.1-terra"),
];

const fn model(
    id: &'static str,
    context_window: u32,
    max_output: u32,
    [input, output, cache_read, cache_write]: [u64; 4],
) -> Model {
    let prices = Some(Prices { input, output, cache_read, cache_write, long: None });
    let abilities = Abilities { tools: true, images: true, thinking: true };
    Model {
        id,
        aliases: &[],
        context_window,
        max_output,
        prices,
        abilities,
        origin: Origin::BuiltIn,
        lifecycle: Lifecycle::Current,
    }
}
