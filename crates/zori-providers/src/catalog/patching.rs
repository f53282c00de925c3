//! Which models have learnt to edit files by patches. They get the patch tool in the form they know; all others edit by replacing
//! text.

/// How the names of such models begin, behind a vendor's name and a slash.
const TRAINED: &[&str] = &[
    // OpenAI published the format with this model, and trained those after it on it.
    "gpt-4.1", "gpt-5", "gpt-6", "codex-", "gpt-oss",
];

/// Returns whether a model has learnt to edit by patches, as far as its name says.
pub fn edits_by_patch(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    // The conversational ones of the same name were not trained to work with tools.
    TRAINED.iter().any(|start| name.starts_with(start)) && !name.contains("-chat")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_model_edits_how() {
        for model in
            ["gpt-6.1-terra", "gpt-5.1-codex", "openai/gpt-5.6-sol", "gpt-4.1-mini", "openai/gpt-oss-120b"]
        {
            assert!(edits_by_patch(model), "{model}");
        }
        for model in
            ["claude-sonnet-5-5", "gemini-3.8-flash", "gpt-4o", "o3", "gpt-5-chat-latest", "qwen3", ""]
        {
            assert!(!edits_by_patch(model), "{model}");
        }
    }
}
