//! The tables `[models."provider:model"]` of the config file: models that the catalogue does not have, or has wrong.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};
use zori_providers::catalog::{BadModel, Model, OwnModel, OwnPrices, ProviderFacts, nearest_provider};

use super::keys::{Key, Kind, check, key};

/// The name of the table that holds the others.
pub const TABLE: &str = "models";

/// What a table may hold.
pub const MODEL_KEYS: &[Key] = &[
    key("context_window", TOKENS, "32768", "How many tokens prompt and reply may have together"),
    key("max_output", TOKENS, "8192", "How many tokens a reply may have"),
    key("price_input", Kind::Price, "0.25", "What a million tokens of the prompt cost"),
    key("price_output", Kind::Price, "2.00", "What a million tokens of the reply cost"),
    key("price_cache_read", Kind::Price, "0.025", "Tokens read from the cache; unset: as the prompt"),
    key("price_cache_write", Kind::Price, "0.25", "Tokens written to the cache; unset: as the prompt"),
    key("tools", Kind::Flag, "true", "Calls tools; false: they are offered in the text"),
    key("images", Kind::Flag, "false", "Sees images"),
    key("thinking", Kind::Flag, "false", "Can think before it answers"),
    key("base", Kind::Text, "\"gpt-5-mini\"", "The model of the same provider that it is like otherwise"),
];

const TOKENS: Kind = Kind::Count(1, u32::MAX as u64);

/// What `config init` writes of it.
pub const EXAMPLE: &str = "
# A model that the catalogue does not have, or has wrong; as many lines, or tables `[models.\"..\"]`, as you like.
# models.\"ollama:qwen3\" = { context_window = 32768, max_output = 8192, images = false }
";

type ProviderModel = (&'static ProviderFacts, Model);

/// A byte offset in the file, and what is wrong there.
type LocatedError = (usize, String);

#[derive(Deserialize)]
struct File {
    models: Spanned<Value>,
}

#[derive(Deserialize)]
struct Tables {
    models: BTreeMap<Spanned<String>, BTreeMap<String, Spanned<Value>>>,
}

/// Reads the tables. Also returns the keys that it does not know.
pub(super) fn read(text: &str) -> Result<(Vec<ProviderModel>, Vec<String>), LocatedError> {
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let file: File = toml::from_str(text).map_err(|error| (start(&error), error.message().to_owned()))?;
    let shape = || "`models` holds tables: `[models.\"provider:model\"]`".to_owned();
    let tables = file.models.get_ref().as_table().filter(|t| t.values().all(Value::is_table));
    tables.ok_or_else(|| (file.models.span().start, shape()))?;
    let Tables { models } = toml::from_str(text).map_err(|error| (start(&error), shape()))?;
    let (mut own, mut unknown) = (Vec::new(), Vec::new());
    for (name, fields) in models {
        let place = name.span().start;
        let name = name.into_inner();
        for field in fields.keys().filter(|field| MODEL_KEYS.iter().all(|key| key.name != **field)) {
            unknown.push(format!("models.\"{name}\".{field}"));
        }
        own.push(
            model(&name, &fields)
                .map_err(|(at, wrong)| (at.unwrap_or(place), format!("`models.\"{name}\"`: {wrong}")))?,
        );
    }
    Ok((own, unknown))
}

fn model(
    name: &str,
    fields: &BTreeMap<String, Spanned<Value>>,
) -> Result<ProviderModel, (Option<usize>, String)> {
    for key in MODEL_KEYS {
        if let Some(value) = fields.get(key.name) {
            check(key, value.get_ref()).map_err(|wrong| (Some(value.span().start), wrong))?;
        }
    }
    let get = |key: &str| fields.get(key).map(Spanned::get_ref);
    let tokens = |key: &str| get(key).and_then(Value::as_integer).map(|n| n as u32);
    let flag = |key: &str| get(key).and_then(Value::as_bool);
    let own = OwnModel {
        base: get("base").and_then(Value::as_str).map(str::to_owned),
        context_window: tokens("context_window"),
        max_output: tokens("max_output"),
        prices: OwnPrices {
            input: get("price_input").and_then(price),
            output: get("price_output").and_then(price),
            cache_read: get("price_cache_read").and_then(price),
            cache_write: get("price_cache_write").and_then(price),
        },
        tools: flag("tools"),
        images: flag("images"),
        thinking: flag("thinking"),
    };
    let (provider, id) = name.split_once(':').unwrap_or((name, ""));
    let resolved = match id.trim().is_empty() {
        true => Err(BadModel::NoProvider),
        false => own.resolve(provider, id),
    };
    resolved.map_err(|bad| match (&bad, nearest_provider(provider)) {
        (BadModel::UnknownProvider(_), Some(near)) => (None, format!("{bad}; did you mean `{near}`?")),
        _ => (None, bad.to_string()),
    })
}

/// Returns dollars as micro-dollars, exactly: an amount with more than six decimals is none.
pub(super) fn price(value: &Value) -> Option<u64> {
    let dollars = value.as_float().or_else(|| Some(value.as_integer()? as f64))?;
    let micros = (dollars * 1e6).round();
    // What people write with six decimals is nearer to its millionths than this.
    let exact = (dollars * 1e6 - micros).abs() < 1e-3;
    (exact && (0.0..=1e12).contains(&micros)).then_some(micros as u64)
}

#[cfg(test)]
mod tests {
    use zori_core::cost::Prices;

    use super::*;

    fn wrong(text: &str) -> LocatedError {
        read(text).expect_err(text)
    }

    #[test]
    fn tables_and_lines() {
        let (own, unknown) = read(
            "[models.\"openrouter:x/y:free\"]\ncontext_window = 1000\nprice_input = 0.29\nprice_output = 1\n\
             colour = 3\n[models.\"openai:gpt-5\"]\nimages = false\n",
        )
        .unwrap();
        let shown: Vec<_> =
            own.iter().map(|(facts, m)| (facts.name, m.id, m.context_window, m.prices)).collect();
        let gpt = Prices {
            input: 1_250_000,
            output: 10_000_000,
            cache_read: 125_000,
            cache_write: 1_250_000,
            long: None,
        };
        let mine = Prices {
            input: 290_000,
            output: 1_000_000,
            cache_read: 290_000,
            cache_write: 290_000,
            long: None,
        };
        assert_eq!(
            shown,
            [("openai", "gpt-5", 400_000, Some(gpt)), ("openrouter", "x/y:free", 1_000, Some(mine))]
        );
        assert!(!own[0].1.abilities.images);
        assert_eq!(unknown, ["models.\"openrouter:x/y:free\".colour"]);
    }

    #[test]
    fn mistakes_have_a_place() {
        assert_eq!(wrong("models = 5"), (9, "`models` holds tables: `[models.\"provider:model\"]`".into()));
        assert_eq!(wrong("models.x = 5").1, "`models` holds tables: `[models.\"provider:model\"]`");
        assert_eq!(
            wrong("[models.\"ollama:q\"]\nimages = 1\n"),
            (29, "`models.\"ollama:q\"`: `images` must be true or false, not 1".into())
        );
        assert_eq!(
            wrong("[models.qwen]\ncontext_window = 1000\n").1,
            "`models.\"qwen\"`: a model is named `provider:model`, for example `ollama:qwen3`"
        );
        assert_eq!(
            wrong("[models.\"olama:q\"]\ncontext_window = 1000\n"),
            (8, "`models.\"olama:q\"`: there is no provider `olama`; did you mean `ollama`?".into())
        );
        assert_eq!(
            wrong("[models.\"openai:q\"]\ncontext_window = 9\nprice_input = 0.0000001\n").1,
            "`models.\"openai:q\"`: `price_input` must be dollars for a million tokens from 0 to 1000000, with six \
             decimals at most, not 0.0000001"
        );
    }

    #[test]
    fn prices_are_exact() {
        let micros = |dollars: f64| price(&Value::Float(dollars));
        assert_eq!(
            [0.0, 0.1, 0.29, 1.25, 0.075, 0.000_001, 999_999.999_999].map(micros),
            [0, 100_000, 290_000, 1_250_000, 75_000, 1, 999_999_999_999].map(Some)
        );
        assert_eq!([-1.0, 0.000_000_4, 1.5e6, f64::NAN, f64::INFINITY].map(micros), [None; 5]);
        assert_eq!(price(&Value::Integer(3)), Some(3_000_000));
        assert_eq!(price(&Value::String("3".into())), None);
    }
}
