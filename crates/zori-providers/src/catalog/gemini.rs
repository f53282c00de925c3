//! Gemini's address and models as of November 2026. The limits of 3.8, 3.5 and 3 Flash are those of the pages that were
//! found; the other rows rest on general knowledge and were not checked. The window is the input limit. No price was
//! found on a page of the vendor's, so none are given.

use super::{Abilities, Api, Model, Origin, ProviderFacts};

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
};

const MODELS: &[Model] = &[
    model("gemini-3.8-flash", &[]),
    model("gemini-3.6-flash", &[]),
    // Requests for this one are answered by 3.6 Flash.
    model("gemini-3.5-flash", &[]),
    model("gemini-3.1-pro-preview", &[]),
    model("gemini-3.1-flash-lite", &[]),
    model("gemini-3-flash-preview", &[]),
    model("gemini-2.5-pro", &[]),
    model("gemini-2.5-flash", &[]),
    model("gemini-2.5-flash-lite", &[]),
];

const fn model(id: &'static str, aliases: &'static [&'static str]) -> Model {
    let abilities = Abilities { tools: true, images: true, thinking: true };
    Model {
        id,
        aliases,
        context_window: 1_048_576,
        max_output: 65_536,
        prices: None,
        abilities,
        origin: Origin::BuiltIn,
    }
}
