//! Vendors and gateways that speak an API of the big three at addresses of their own. Their models change faster than a
//! release, so none are listed: name one with `--model`, or the first that the server lists is used.

use super::{Api, ProviderFacts, SERVED};
use crate::quirks;

const VENDOR: ProviderFacts = ProviderFacts {
    name: "groq",
    display: "Groq",
    api: Api::OpenAiChat(&quirks::VENDOR),
    key_var: "GROQ_API_KEY",
    base_url_var: "GROQ_BASE_URL",
    base_url_key: "groq_base_url",
    default_base_url: "https://api.groq.com/openai/v1",
    default_model: SERVED,
    models: &[],
    custom: None,
};

pub(super) const GROQ: ProviderFacts = VENDOR;

pub(super) const XAI: ProviderFacts = ProviderFacts {
    name: "xai",
    display: "xAI",
    key_var: "XAI_API_KEY",
    base_url_var: "XAI_BASE_URL",
    base_url_key: "xai_base_url",
    default_base_url: "https://api.x.ai/v1",
    ..VENDOR
};

pub(super) const DEEPSEEK: ProviderFacts = ProviderFacts {
    name: "deepseek",
    display: "DeepSeek",
    api: Api::OpenAiChat(&quirks::DEEPSEEK),
    key_var: "DEEPSEEK_API_KEY",
    base_url_var: "DEEPSEEK_BASE_URL",
    base_url_key: "deepseek_base_url",
    default_base_url: "https://api.deepseek.com/v1",
    ..VENDOR
};

pub(super) const MISTRAL: ProviderFacts = ProviderFacts {
    name: "mistral",
    display: "Mistral",
    api: Api::OpenAiChat(&quirks::MISTRAL),
    key_var: "MISTRAL_API_KEY",
    base_url_var: "MISTRAL_BASE_URL",
    base_url_key: "mistral_base_url",
    default_base_url: "https://api.mistral.ai/v1",
    ..VENDOR
};

pub(super) const CEREBRAS: ProviderFacts = ProviderFacts {
    name: "cerebras",
    display: "Cerebras",
    key_var: "CEREBRAS_API_KEY",
    base_url_var: "CEREBRAS_BASE_URL",
    base_url_key: "cerebras_base_url",
    default_base_url: "https://api.cerebras.ai/v1",
    ..VENDOR
};

pub(super) const TOGETHER: ProviderFacts = ProviderFacts {
    name: "together",
    display: "Together",
    key_var: "TOGETHER_API_KEY",
    base_url_var: "TOGETHER_BASE_URL",
    base_url_key: "together_base_url",
    default_base_url: "https://api.together.xyz/v1",
    ..VENDOR
};

/// Amazon Bedrock's own endpoint of that API, with a bearer key; another region is another address.
pub(super) const BEDROCK: ProviderFacts = ProviderFacts {
    name: "bedrock",
    display: "Amazon Bedrock",
    key_var: "AWS_BEARER_TOKEN_BEDROCK",
    base_url_var: "BEDROCK_BASE_URL",
    base_url_key: "bedrock_base_url",
    default_base_url: "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1",
    ..VENDOR
};

/// A LiteLLM proxy, on this machine unless its address says otherwise.
pub(super) const LITELLM: ProviderFacts = ProviderFacts {
    name: "litellm",
    display: "LiteLLM",
    api: Api::OpenAiChat(&quirks::LITELLM),
    key_var: "LITELLM_API_KEY",
    base_url_var: "LITELLM_BASE_URL",
    base_url_key: "litellm_base_url",
    default_base_url: "http://127.0.0.1:4000/v1",
    ..VENDOR
};

/// Azure OpenAI. Every customer has an address of their own: `https://NAME.openai.azure.com/openai/v1`.
pub(super) const AZURE: ProviderFacts = ProviderFacts {
    name: "azure",
    display: "Azure OpenAI",
    api: Api::OpenAiResponses,
    key_var: "AZURE_OPENAI_API_KEY",
    base_url_var: "AZURE_OPENAI_BASE_URL",
    base_url_key: "azure_base_url",
    default_base_url: "",
    ..VENDOR
};

/// Claude on Vertex AI. Every project has an address of its own:
/// `https://aiplatform.googleapis.com/v1/projects/NAME/locations/global/publishers/anthropic`.
pub(super) const VERTEX_CLAUDE: ProviderFacts = ProviderFacts {
    name: "vertex-claude",
    display: "Claude on Vertex AI",
    api: Api::Anthropic,
    key_var: "VERTEX_ACCESS_TOKEN",
    base_url_var: "VERTEX_CLAUDE_BASE_URL",
    base_url_key: "vertex_claude_base_url",
    default_base_url: "",
    default_model: super::anthropic::FACTS.default_model,
    models: super::anthropic::FACTS.models,
    ..VENDOR
};

/// Gemini on Vertex AI. Every project has an address of its own:
/// `https://aiplatform.googleapis.com/v1/projects/NAME/locations/global/publishers/google`.
pub(super) const VERTEX: ProviderFacts = ProviderFacts {
    name: "vertex",
    display: "Vertex AI",
    api: Api::Gemini,
    key_var: "VERTEX_ACCESS_TOKEN",
    base_url_var: "VERTEX_BASE_URL",
    base_url_key: "vertex_base_url",
    default_base_url: "",
    default_model: super::gemini::FACTS.default_model,
    models: super::gemini::FACTS.models,
    ..VENDOR
};
