//! Gemini's address and models as of November 2026. The limits of 3.8, 3.5 and 3 Flash are those of the pages that were
//! found; the other rows rest on general knowledge and were not checked. The window is the input limit. Prices are those of
//! text on the paid tier, as others quote the vendor's page; that of 3.8 Flash holds through December 2026.

use zori_core::cost::{LongPrompt, Prices};

use super::{Abilities, Api, Lifecycle, Model, Origin, ProviderFacts};

pub(crate) const FACTS: ProviderFacts = ProviderFacts {
    name: "gemini",
    display: "Gemini",
    api: Api::Gemini,
    key_var: "GEMINI_API_KEY",
    base_url_var: "GEMINI_BASE_URL",
    base_url_key: "gemini_base_url",
    default_base_url: "https://generativelanguage.googleapis.com/v1beta",
    default_model: "gemini-3.8-flash",
    models: MODELS,
    custom: None,
};

const MODELS: &[Model] = &[
    model("gemini-3.8-flash", prices(750_000, 75_000, 3_750_000)),
    model("gemini-3.7-flash", prices(750_000, 75_000, 3_750_000)),
    model("gemini-3.6-flash", prices(750_000, 75_000, 3_750_000)),
    // Requests for this one are answered by 3.6 Flash; what they cost was not found.
    model("gemini-3.5-flash", None),
    model("gemini-3.1-pro-preview", long(2_000_000, 200_000, 12_000_000)),
    model("gemini-3.1-flash-lite", prices(250_000, 25_000, 1_500_000)),
    model("gemini-3-flash-preview", prices(500_000, 50_000, 3_000_000)),
    model("gemini-2.5-pro", long(1_250_000, 125_000, 10_000_000)),
    model("gemini-2.5-flash", prices(300_000, 30_000, 2_500_000)),
    model("gemini-2.5-flash-lite", prices(100_000, 10_000, 400_000)),
];

/// Writing to the cache costs nothing beyond the prompt: it is the kind that the vendor keeps unasked.
const fn prices(input: u64, cache_read: u64, output: u64) -> Option<Prices> {
    Some(Prices { input, output, cache_read, cache_write: input, long: None })
}

/// Prompts of more than 200k tokens cost twice as much, and their replies half as much again.
const fn long(input: u64, cache_read: u64, output: u64) -> Option<Prices> {
    let long = Some(LongPrompt { above: 200_000, input_percent: 200, output_percent: 150 });
    Some(Prices { input, output, cache_read, cache_write: input, long })
}

const fn model(id: &'static str, prices: Option<Prices>) -> Model {
    let abilities = Abilities { tools: true, images: true, thinking: true };
    Model {
        id,
        aliases: &[],
        context_window: 1_048_576,
        max_output: 65_536,
        prices,
        abilities,
        origin: Origin::BuiltIn,
        lifecycle: Lifecycle::Current,
    }
}
