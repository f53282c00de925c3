//! The page of providers and models.

use zori_providers::catalog::PROVIDERS;

/// Returns the page.
pub fn page() -> String {
    let mut page = String::from("# Providers and models\n");
    for provider in PROVIDERS {
        page.push_str(&format!(
            "\n## {display}: `{name}`\n\n\
             - Key: environment variable `{key}`\n\
             - Address: `{url}`; environment variable `{url_var}` or config key `{url_key}` replaces it\n\
             - Model unless another is named: `{model}`\n\n\
             | model | also called | context window | longest reply |\n|---|---|---:|---:|\n",
            display = provider.display,
            name = provider.name,
            key = provider.key_var,
            url = provider.default_base_url,
            url_var = provider.base_url_var,
            url_key = provider.base_url_key,
            model = provider.default_model,
        ));
        for model in provider.models {
            let aliases: Vec<_> = model.aliases.iter().map(|alias| format!("`{alias}`")).collect();
            page.push_str(&format!(
                "| `{}` | {} | {} | {} |\n",
                model.id,
                aliases.join(", "),
                model.context_window,
                model.max_output
            ));
        }
    }
    page.push_str("\nA model that is not listed works too; its replies are limited to 8192 tokens unless `max_tokens` says otherwise.\n");
    page
}
