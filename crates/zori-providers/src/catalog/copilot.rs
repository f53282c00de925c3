//! GitHub Copilot's address and a few models. A subscription pays for them, so that no price per token is known.
//! The service lists its own limits per plan; the ones here are those that price lists of November 2026 repeat. Only models that the
//! service has over Chat Completions are here: OpenAI's newest are behind another API there.

use super::{Abilities, Api, Lifecycle, Model, Origin, ProviderFacts};
use crate::quirks;

pub(super) const FACTS: ProviderFacts = ProviderFacts {
    name: "copilot",
    display: "GitHub Copilot",
    api: Api::OpenAiChat(&quirks::COPILOT),
    key_var: "COPILOT_GITHUB_TOKEN",
    base_url_var: "COPILOT_BASE_URL",
    base_url_key: "copilot_base_url",
    default_base_url: "https://api.githubcopilot.com",
    default_model: "claude-sonnet-5.5",
    models: &[
        model("claude-sonnet-5.5", 200_000, 64_000),
        model("claude-opus-5.5", 200_000, 64_000),
        model("claude-haiku-5.5", 128_000, 16_000),
        model("gemini-4-argon", 200_000, 64_000),
        model("gemini-3.8-flash", 200_000, 64_000),
        model("gpt-5.4", 272_000, 128_000),
        model("gpt-5-mini", 128_000, 64_000),
        model("gpt-4.1", 128_000, 16_384).retired("claude-sonnet-5.5"),
    ],
    custom: None,
};

const fn model(id: &'static str, context_window: u32, max_output: u32) -> Model {
    let abilities = Abilities { tools: true, images: true, thinking: true };
    Model {
        id,
        aliases: &[],
        context_window,
        max_output,
        prices: None,
        abilities,
        origin: Origin::BuiltIn,
        lifecycle: Lifecycle::Current,
    }
}
