//! Servers on this machine, at their default ports. Their models are whatever was loaded, so the server is asked;
//! tokens cost nothing (D-11).

use super::{Api, ProviderFacts, SERVED};
use crate::quirks;

pub(super) const OLLAMA: ProviderFacts = ProviderFacts {
    name: "ollama",
    display: "Ollama",
    api: Api::OpenAiChat(&quirks::OLLAMA),
    key_var: "OLLAMA_API_KEY",
    base_url_var: "OLLAMA_BASE_URL",
    base_url_key: "ollama_base_url",
    default_base_url: "http://127.0.0.1:11434/v1",
    default_model: SERVED,
    models: &[],
    custom: None,
};

pub(super) const LLAMACPP: ProviderFacts = ProviderFacts {
    name: "llamacpp",
    display: "llama.cpp",
    api: Api::OpenAiChat(&quirks::LLAMACPP),
    key_var: "LLAMACPP_API_KEY",
    base_url_var: "LLAMACPP_BASE_URL",
    base_url_key: "llamacpp_base_url",
    default_base_url: "http://127.0.0.1:8080/v1",
    ..OLLAMA
};

pub(super) const LMSTUDIO: ProviderFacts = ProviderFacts {
    name: "lmstudio",
    display: "LM Studio",
    api: Api::OpenAiChat(&quirks::LMSTUDIO),
    key_var: "LMSTUDIO_API_KEY",
    base_url_var: "LMSTUDIO_BASE_URL",
    base_url_key: "lmstudio_base_url",
    default_base_url: "http://127.0.0.1:1234/v1",
    ..OLLAMA
};

pub(super) const VLLM: ProviderFacts = ProviderFacts {
    name: "vllm",
    display: "vLLM",
    api: Api::OpenAiChat(&quirks::VLLM),
    key_var: "VLLM_API_KEY",
    base_url_var: "VLLM_BASE_URL",
    base_url_key: "vllm_base_url",
    default_base_url: "http://127.0.0.1:8000/v1",
    ..OLLAMA
};

/// Any other server that speaks the same API; without a configured address it is expected on this machine.
pub(super) const COMPAT: ProviderFacts = ProviderFacts {
    name: "compat",
    display: "OpenAI-compatible server",
    api: Api::OpenAiChat(&quirks::COMPAT),
    key_var: "COMPAT_API_KEY",
    base_url_var: "COMPAT_BASE_URL",
    base_url_key: "compat_base_url",
    default_base_url: "http://127.0.0.1:8080/v1",
    ..OLLAMA
};
