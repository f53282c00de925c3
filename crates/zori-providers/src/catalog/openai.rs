//! OpenAI's address and models as of November 2026: the names and the days on which models end are those of its Python library 3.51;
//! limits and prices are what price lists and client libraries repeat of the vendor's pages, which could not be read when this
//! was written. A model whose limits were not found is left out: it gets the fallback. A price is absent where sources differ.
//!
//! Prompts of more than 272k tokens, which only the models with a window of a million take, cost twice as much, and their
//! replies half as much again. From 5.6 on, writing to the cache costs a quarter more than reading the prompt; before, nothing
//! beyond it.

use zori_core::cost::{LongPrompt, Prices};

use super::{Abilities, Api, Lifecycle, Model, Origin, ProviderFacts};
use crate::quirks;

pub(super) const FACTS: ProviderFacts = ProviderFacts {
    name: "openai",
    display: "OpenAI",
    api: Api::OpenAiResponses,
    key_var: "OPENAI_API_KEY",
    base_url_var: "OPENAI_BASE_URL",
    base_url_key: "openai_base_url",
    default_base_url: "https://api.openai.com/v1",
    default_model: "gpt-6.1-terra",
    models: MODELS,
    custom: None,
};

/// The same vendor over its older API (DECISIONS 44).
pub(super) const CHAT: ProviderFacts =
    ProviderFacts { name: "openai-chat", api: Api::OpenAiChat(&quirks::OPENAI), ..FACTS };

/// Another name, from when the newer API had one of its own.
pub(super) const CODEX: ProviderFacts = ProviderFacts { name: "codex", ..FACTS };

const MODELS: &[Model] = &[
    thinks("gpt-6-astra", 1_050_000, 128_000, cached(10_000_000, 1_000_000, 50_000_000)),
    thinks("gpt-6.1-sol", 1_050_000, 128_000, cached(2_000_000, 100_000, 10_000_000)),
    thinks("gpt-6.1-terra", 1_050_000, 128_000, cached(1_000_000, 50_000, 5_000_000)),
    thinks("gpt-6-sol", 1_050_000, 128_000, cached(2_000_000, 200_000, 10_000_000)),
    thinks("gpt-6-luna", 1_050_000, 128_000, cached(100_000, 10_000, 500_000)),
    Model {
        aliases: &["gpt-5.6"],
        ..thinks("gpt-5.6-sol", 1_050_000, 128_000, cached(4_000_000, 400_000, 20_000_000))
    },
    thinks("gpt-5.6-terra", 1_050_000, 128_000, cached(2_000_000, 200_000, 12_000_000)),
    thinks("gpt-5.6-luna", 1_050_000, 128_000, cached(200_000, 20_000, 1_200_000)),
    thinks("gpt-5.5", 1_050_000, 128_000, long(5_000_000, 500_000, 30_000_000)),
    // Nothing is read from a cache for less.
    thinks("gpt-5.5-pro", 1_050_000, 128_000, long(30_000_000, 30_000_000, 180_000_000)),
    thinks("gpt-5.4", 1_050_000, 128_000, long(2_500_000, 250_000, 15_000_000)),
    thinks("gpt-5.4-mini", 400_000, 128_000, prices(750_000, 75_000, 4_500_000)),
    thinks("gpt-5.4-nano", 400_000, 128_000, prices(200_000, 20_000, 1_250_000))
        .ending("2027-04-01", "gpt-6-luna"),
    thinks("gpt-5.3-codex", 400_000, 128_000, prices(1_750_000, 175_000, 14_000_000))
        .ending("2027-04-01", "gpt-6.1-sol"),
    answers("gpt-5.3-chat", 128_000, 16_384, prices(1_750_000, 175_000, 14_000_000)).retired("gpt-6.1-terra"),
    thinks("gpt-5.2", 400_000, 128_000, prices(1_750_000, 175_000, 14_000_000)),
    thinks("gpt-5.2-pro", 400_000, 128_000, prices(21_000_000, 21_000_000, 168_000_000)),
    thinks("gpt-5.2-codex", 400_000, 128_000, prices(1_750_000, 175_000, 14_000_000)).retired("gpt-6.1-sol"),
    answers("gpt-5.2-chat", 128_000, 16_384, prices(1_750_000, 175_000, 14_000_000)).retired("gpt-6.1-terra"),
    thinks("gpt-5.1", 400_000, 128_000, prices(1_250_000, 125_000, 10_000_000))
        .ending("2027-04-01", "gpt-6.1-terra"),
    thinks("gpt-5.1-codex", 400_000, 128_000, prices(1_250_000, 125_000, 10_000_000)).retired("gpt-6.1-sol"),
    thinks("gpt-5.1-codex-max", 400_000, 128_000, prices(1_250_000, 125_000, 10_000_000))
        .retired("gpt-6.1-sol"),
    thinks("gpt-5.1-codex-mini", 400_000, 128_000, prices(250_000, 25_000, 2_000_000))
        .retired("gpt-6.1-terra"),
    answers("gpt-5.1-chat", 128_000, 16_384, prices(1_250_000, 125_000, 10_000_000)).retired("gpt-6.1-terra"),
    thinks("gpt-5", 400_000, 128_000, prices(1_250_000, 125_000, 10_000_000))
        .ending("2026-12-11", "gpt-6.1-terra"),
    thinks("gpt-5-pro", 400_000, 272_000, prices(15_000_000, 15_000_000, 120_000_000))
        .ending("2026-12-11", "gpt-6.1-sol"),
    thinks("gpt-5-codex", 400_000, 128_000, prices(1_250_000, 125_000, 10_000_000)).retired("gpt-6.1-sol"),
    thinks("gpt-5-mini", 400_000, 128_000, prices(250_000, 25_000, 2_000_000))
        .ending("2026-12-11", "gpt-6-luna"),
    thinks("gpt-5-nano", 400_000, 128_000, prices(50_000, 5_000, 400_000)).ending("2026-12-11", "gpt-6-luna"),
    answers("gpt-5-chat", 128_000, 16_384, prices(1_250_000, 125_000, 10_000_000)).retired("gpt-6.1-terra"),
    thinks("o3", 200_000, 100_000, prices(2_000_000, 500_000, 8_000_000))
        .ending("2026-12-11", "gpt-6.1-terra"),
    thinks("o3-pro", 200_000, 100_000, prices(20_000_000, 20_000_000, 80_000_000))
        .ending("2026-12-11", "gpt-6.1-sol"),
    thinks("o4-mini", 200_000, 100_000, prices(1_100_000, 275_000, 4_400_000)).retired("gpt-6.1-terra"),
    thinks("o3-mini", 200_000, 100_000, prices(1_100_000, 550_000, 4_400_000)).retired("gpt-6.1-terra"),
    thinks("o1", 200_000, 100_000, prices(15_000_000, 7_500_000, 60_000_000)).retired("gpt-6.1-terra"),
    thinks("o1-pro", 200_000, 100_000, None).retired("gpt-6.1-sol"),
    thinks("o1-preview", 128_000, 32_768, None).retired("gpt-6.1-terra"),
    thinks("o1-mini", 128_000, 65_536, None).retired("gpt-6.1-terra"),
    thinks("codex-mini", 200_000, 100_000, None).retired("gpt-6.1-terra"),
    answers("gpt-4.1", 1_047_576, 32_768, prices(2_000_000, 500_000, 8_000_000))
        .ending("2027-01-14", "gpt-6.1-terra"),
    answers("gpt-4.1-mini", 1_047_576, 32_768, prices(400_000, 100_000, 1_600_000))
        .ending("2027-01-14", "gpt-6-luna"),
    answers("gpt-4.1-nano", 1_047_576, 32_768, prices(100_000, 25_000, 400_000)).retired("gpt-6-luna"),
    answers("gpt-4o", 128_000, 16_384, prices(2_500_000, 1_250_000, 10_000_000))
        .ending("2027-01-14", "gpt-6.1-terra"),
    answers("gpt-4o-mini", 128_000, 16_384, prices(150_000, 75_000, 600_000))
        .ending("2027-01-14", "gpt-6-luna"),
    answers("chatgpt-4o", 128_000, 16_384, None).retired("gpt-6.1-terra"),
    answers("gpt-4-turbo", 128_000, 4_096, None).retired("gpt-6.1-terra"),
    answers("gpt-4", 8_192, 4_096, None).retired("gpt-6.1-terra"),
    answers("gpt-3.5-turbo", 16_385, 4_096, None).retired("gpt-6-luna"),
];

/// Of the models that also charge for what they write to the cache.
const fn cached(input: u64, cache_read: u64, output: u64) -> Option<Prices> {
    let long = Some(LongPrompt { above: 272_000, input_percent: 200, output_percent: 150 });
    Some(Prices { input, output, cache_read, cache_write: input + input / 4, long })
}

const fn long(input: u64, cache_read: u64, output: u64) -> Option<Prices> {
    let long = Some(LongPrompt { above: 272_000, input_percent: 200, output_percent: 150 });
    Some(Prices { input, output, cache_read, cache_write: input, long })
}

const fn prices(input: u64, cache_read: u64, output: u64) -> Option<Prices> {
    Some(Prices { input, output, cache_read, cache_write: input, long: None })
}

const fn thinks(id: &'static str, context_window: u32, max_output: u32, prices: Option<Prices>) -> Model {
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

const fn answers(id: &'static str, context_window: u32, max_output: u32, prices: Option<Prices>) -> Model {
    let abilities = Abilities { tools: true, images: true, thinking: false };
    Model { abilities, ..thinks(id, context_window, max_output, prices) }
}
