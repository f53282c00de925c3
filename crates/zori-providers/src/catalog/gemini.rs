//! Gemini's address and models as of November 2026: the names are those of the vendor's Python library 3.3, the limits and prices
//! those of its pages as price lists repeat them. The window is the input limit. Prices are those of text on the paid tier.
//! An introductory price is not used: 3.6 to 3.8 Flash cost half until the end of 2026, 4 Argon and 4 Carbon until the end of
//! November 2026, and a budget that was reckoned with half the price would be overrun from that day on.

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
    // The library lists them in this order; the reply limit of the fourth generation is said to be the window, but one reply of that
    // length is nothing to wait for.
    model("gemini-4-carbon", prices(4_000_000, 200_000, 20_000_000)),
    model("gemini-4-argon", prices(4_000_000, 200_000, 20_000_000)),
    // What it costs to read from the cache was not found; a tenth is usual.
    model("gemini-4-hydrogen", prices(1_500_000, 150_000, 7_500_000)),
    Model { aliases: &["gemini-flash-latest"], ..model("gemini-3.8-flash", FLASH) },
    model("gemini-3.7-flash", FLASH),
    model("gemini-3.6-flash", FLASH),
    model("gemini-3.5-flash", prices(1_500_000, 150_000, 9_000_000)),
    Model {
        aliases: &["gemini-flash-lite-latest"],
        ..model("gemini-3.5-flash-lite", prices(300_000, 30_000, 2_500_000))
    },
    Model {
        aliases: &["gemini-3.1-pro-preview-customtools", "gemini-pro-latest"],
        ..model("gemini-3.1-pro-preview", long(2_000_000, 200_000, 12_000_000))
    },
    model("gemini-3.1-flash-lite", prices(250_000, 25_000, 1_500_000))
        .ending("2027-05-07", "gemini-3.5-flash-lite"),
    model("gemini-3-flash-preview", prices(500_000, 50_000, 3_000_000)),
    // The vendor meant to end the three of 2.5 in October 2026; its library of November still lists them, and no new day was found.
    model("gemini-2.5-pro", long(1_250_000, 125_000, 10_000_000)),
    model("gemini-2.5-flash", prices(300_000, 30_000, 2_500_000)),
    model("gemini-2.5-flash-lite", prices(100_000, 10_000, 400_000)),
    model("gemini-3-pro-preview", None).retired("gemini-4-carbon"),
    Model {
        abilities: UNTHINKING,
        max_output: 8_192,
        ..model("gemini-2.0-flash", None).retired("gemini-3.8-flash")
    },
    Model {
        abilities: UNTHINKING,
        max_output: 8_192,
        ..model("gemini-2.0-flash-lite", None).retired("gemini-3.5-flash-lite")
    },
];

const FLASH: Option<Prices> = prices(1_500_000, 150_000, 7_500_000);

const UNTHINKING: Abilities = Abilities { tools: true, images: true, thinking: false };

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
