//! The page of providers and models.

use zori_core::cost::Prices;
use zori_providers::catalog::{Lifecycle, PROVIDERS, SERVED, edits_by_patch};
use zori_providers::quirks::KeyNeed;

pub fn page() -> String {
    let mut page = String::from("# Providers and models\n");
    for provider in PROVIDERS {
        page.push_str(&format!(
            "\n## {display}: `{name}`\n\n\
             - Key: environment variable `{key}`{optional}\n\
             - Address: {url} environment variable `{url_var}` or config key `{url_key}` {says} it\n\
             - Model unless another is named: {model}\n",
            display = provider.display,
            name = provider.name,
            key = provider.key_var,
            url = match provider.default_base_url {
                "" => "every customer's own;".to_owned(),
                url => format!("`{url}`;"),
            },
            says = if provider.default_base_url.is_empty() { "names" } else { "replaces" },
            url_var = provider.base_url_var,
            url_key = provider.base_url_key,
            optional = match provider.api.key_need() {
                KeyNeed::Required => "",
                KeyNeed::Optional => ", if the server wants one",
            },
            model = match provider.default_model {
                SERVED => "the first one that the server lists".to_owned(),
                model => format!("`{model}`"),
            },
        ));
        if !provider.models.is_empty() {
            page.push_str(
                "\nPrices are in US dollars per million tokens: prompt, reply, read from the cache, written to it.\n\n\
                 | model | also called | context window | longest reply | thinks | edits by | prices | served |\n\
                 |---|---|---:|---:|---|---|---|---|\n",
            );
        }
        for model in provider.models {
            let aliases: Vec<_> = model.aliases.iter().map(|alias| format!("`{alias}`")).collect();
            page.push_str(&format!(
                "| `{}` | {} | {} | {} | {} | {} | {} | {} |\n",
                model.id,
                aliases.join(", "),
                model.context_window,
                model.max_output,
                if model.abilities.thinking { "yes" } else { "no" },
                if edits_by_patch(model.id) { "`apply_patch`" } else { "`edit`" },
                model.prices.map_or("unknown".to_owned(), |prices| shown(&prices)),
                match model.lifecycle {
                    Lifecycle::Current => String::new(),
                    Lifecycle::Ending { on, successor } => format!("until {on}, then `{successor}`"),
                    Lifecycle::Retired { successor } => format!("no longer: `{successor}`"),
                },
            ));
        }
    }
    page.push_str("\nA model that is not listed works too; its replies are limited to 32000 tokens, or by the server if it is a local one, unless `max_tokens` says otherwise.\n");
    page
}

fn shown(prices: &Prices) -> String {
    let dollars = |micros: u64| {
        let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let shown = [prices.input, prices.output, prices.cache_read, prices.cache_write].map(dollars).join(", ");
    match prices.long {
        None => shown,
        Some(long) => format!(
            "{shown}; above {} tokens the prompt {}%, the reply {}%",
            long.above, long.input_percent, long.output_percent
        ),
    }
}
