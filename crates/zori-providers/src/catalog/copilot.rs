//! GitHub Copilot's address and a few models. A subscription pays for them, so that no price per token is known.
//! The service lists its own limits per plan; the ones here are cautious, not quoted.

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
    default_model: "gpt-4.1",
    models: &[model("gpt-5-mini", true), model("gpt-4.1", false), model("gpt-4o", false)],
    custom: None,
};

const fn model(id: &'static str, thinking: bool) -> Model {
    let abilities = Abilities { tools: true, images: true, thinking };
    Model {
        id,
        aliases: &[],
        context_window: 128_000,
        max_output: 16_384,
        prices: None,
        abilities,
        origin: Origin::BuiltIn,
        lifecycle: Lifecycle::Current,
    }
}
