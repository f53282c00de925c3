//! Anthropic's address and models as of November 2026. Names and the days on which models end are those of its Python library 2.9
//! (an earlier one has the end of Opus 4.1); windows, reply limits and prices are those of the vendor's model pages, as far as they
//! were found, else of price lists that cite them. Writing to the cache is the five-minute kind, which is what requests ask for.

use zori_core::cost::{LongPrompt, Prices};

use super::{Abilities, Api, Lifecycle, Model, Origin, ProviderFacts};

pub(super) const FACTS: ProviderFacts = ProviderFacts {
    name: "anthropic",
    display: "Anthropic",
    api: Api::Anthropic,
    key_var: "ANTHROPIC_API_KEY",
    base_url_var: "ANTHROPIC_BASE_URL",
    base_url_key: "anthropic_base_url",
    default_base_url: "https://api.anthropic.com",
    default_model: "claude-sonnet-5-5",
    models: MODELS,
    custom: None,
};

const MODELS: &[Model] = &[
    model("claude-fable-5-2", &[], 1_000_000, 128_000, Some(FABLE_5_2)),
    // The same models for organisations that the vendor has verified.
    model("claude-mythos-5-2", &[], 1_000_000, 128_000, Some(FABLE_5_2)),
    model("claude-fable-5-1", &[], 1_000_000, 128_000, Some(FABLE_5_1)),
    model("claude-mythos-5-1", &[], 1_000_000, 128_000, Some(FABLE_5_1)),
    model("claude-opus-5-5", &[], 1_000_000, 128_000, Some(OPUS_5_5)),
    model("claude-sonnet-5-5", &[], 1_000_000, 128_000, Some(SONNET_5_5)),
    model("claude-haiku-5-5", &[], 1_000_000, 128_000, Some(HAIKU_5_5)),
    model("claude-fable-5", &[], 1_000_000, 128_000, Some(FABLE_5)),
    model("claude-mythos-5", &[], 1_000_000, 128_000, Some(FABLE_5)),
    model("claude-opus-5", &[], 1_000_000, 128_000, Some(OPUS)),
    model("claude-sonnet-5", &[], 1_000_000, 128_000, Some(SONNET_5)),
    model("claude-opus-4-8", &[], 1_000_000, 128_000, Some(OPUS)),
    model("claude-opus-4-7", &[], 1_000_000, 128_000, Some(OPUS)),
    model("claude-opus-4-6", &[], 1_000_000, 128_000, Some(OPUS)),
    model("claude-sonnet-4-6", &[], 1_000_000, 128_000, Some(SONNET)),
    model("claude-opus-4-5", &[], 200_000, 64_000, Some(OPUS)),
    model("claude-sonnet-4-5", &[], 200_000, 64_000, Some(SONNET)).ending("2026-11-30", "claude-sonnet-5-5"),
    model("claude-haiku-4-5", &[], 200_000, 64_000, Some(HAIKU)),
    model("claude-mythos-preview", &[], 1_000_000, 128_000, Some(FABLE_5)).retired("claude-mythos-5-2"),
    model("claude-opus-4-1", &[], 200_000, 32_000, Some(OPUS_4)).retired("claude-opus-5-5"),
    model("claude-opus-4", &["claude-opus-4-0"], 200_000, 32_000, Some(OPUS_4)).retired("claude-opus-5-5"),
    model("claude-sonnet-4", &["claude-sonnet-4-0"], 200_000, 64_000, Some(SONNET))
        .retired("claude-sonnet-5-5"),
    model("claude-3-7-sonnet", &[], 200_000, 64_000, Some(SONNET)).retired("claude-sonnet-5-5"),
    unthinking("claude-3-5-sonnet", &[], 200_000, 8_192, Some(SONNET)).retired("claude-sonnet-5-5"),
    unthinking("claude-3-5-haiku", &[], 200_000, 8_192, Some(HAIKU_3_5)).retired("claude-haiku-5-5"),
    unthinking("claude-3-opus", &[], 200_000, 4_096, Some(OPUS_4)).retired("claude-opus-5-5"),
    unthinking("claude-3-sonnet", &[], 200_000, 4_096, Some(SONNET)).retired("claude-sonnet-5-5"),
    // What its cache costs was not found.
    unthinking("claude-3-haiku", &[], 200_000, 4_096, None).retired("claude-haiku-5-5"),
    unthinking("claude-2.1", &[], 200_000, 4_096, None).retired("claude-sonnet-5-5"),
    unthinking("claude-2.0", &["claude-2"], 100_000, 4_096, None).retired("claude-sonnet-5-5"),
    unthinking("claude-instant-1.2", &[], 100_000, 4_096, None).retired("claude-haiku-5-5"),
];

const FABLE_5_2: Prices = prices(8_000_000, 40_000_000, 200_000);
const FABLE_5_1: Prices = prices(10_000_000, 50_000_000, 250_000);
const FABLE_5: Prices = prices(10_000_000, 50_000_000, 1_000_000);
const OPUS_5_5: Prices = prices(4_000_000, 20_000_000, 200_000);
const OPUS: Prices = prices(5_000_000, 25_000_000, 500_000);
const OPUS_4: Prices = prices(15_000_000, 75_000_000, 1_500_000);
const SONNET_5_5: Prices = prices(2_000_000, 10_000_000, 100_000);
const SONNET_5: Prices = prices(2_000_000, 10_000_000, 200_000);
const SONNET: Prices = prices(3_000_000, 15_000_000, 300_000);
/// Prompts of more than 100k tokens cost five times as much, and so do their replies.
const HAIKU_5_5: Prices = Prices {
    long: Some(LongPrompt { above: 100_000, input_percent: 500, output_percent: 500 }),
    ..prices(100_000, 500_000, 10_000)
};
const HAIKU: Prices = prices(1_000_000, 5_000_000, 100_000);
const HAIKU_3_5: Prices = prices(800_000, 4_000_000, 80_000);

/// Writing to the cache costs a quarter more than reading the prompt, for every model.
const fn prices(input: u64, output: u64, cache_read: u64) -> Prices {
    Prices { input, output, cache_read, cache_write: input + input / 4, long: None }
}

const fn model(
    id: &'static str,
    aliases: &'static [&'static str],
    context_window: u32,
    max_output: u32,
    prices: Option<Prices>,
) -> Model {
    let abilities = Abilities { tools: true, images: true, thinking: true };
    Model {
        id,
        aliases,
        context_window,
        max_output,
        prices,
        abilities,
        origin: Origin::BuiltIn,
        lifecycle: Lifecycle::Current,
    }
}

/// A model from before there was thinking.
const fn unthinking(
    id: &'static str,
    aliases: &'static [&'static str],
    context_window: u32,
    max_output: u32,
    prices: Option<Prices>,
) -> Model {
    let abilities = Abilities { tools: true, images: true, thinking: false };
    Model { abilities, ..model(id, aliases, context_window, max_output, prices) }
}
