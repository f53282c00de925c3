//! The tables `[providers.NAME]` of the config file: servers that the catalogue does not have (DECISIONS 47).

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};
use zori_providers::catalog::{NamedProvider, ProviderFacts};

/// The name of the table that holds the others.
pub const TABLE: &str = "providers";

/// What a table may hold.
const KEYS: &[&str] = &["api", "base_url", "key_env", "headers", "models"];

/// What `config init` writes of it.
pub const EXAMPLE: &str = "
# A server that the catalogue does not have, by the API it speaks (anthropic, openai, openai-chat, gemini); then `--provider acme` works.
# Its key comes from the variable that `key_env` names; without that, none is sent.
# providers.acme = { api = \"openai-chat\", base_url = \"https://llm.example/v1\", key_env = \"ACME_API_KEY\", models = [\"large\"] }
";

/// A byte offset in the file, and what is wrong there.
type LocatedError = (usize, String);

#[derive(Deserialize)]
struct File {
    providers: Spanned<Value>,
}

#[derive(Deserialize)]
struct Tables {
    providers: BTreeMap<Spanned<String>, BTreeMap<String, Spanned<Value>>>,
}

/// Reads the tables. Also returns the keys that it does not know.
pub(super) fn read(text: &str) -> Result<(Vec<&'static ProviderFacts>, Vec<String>), LocatedError> {
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let file: File = toml::from_str(text).map_err(|error| (start(&error), error.message().to_owned()))?;
    let shape = || "`providers` holds tables: `[providers.NAME]`".to_owned();
    let tables = file.providers.get_ref().as_table().filter(|t| t.values().all(Value::is_table));
    tables.ok_or_else(|| (file.providers.span().start, shape()))?;
    let Tables { providers } = toml::from_str(text).map_err(|error| (start(&error), shape()))?;
    let (mut named, mut unknown) = (Vec::new(), Vec::new());
    for (name, fields) in providers {
        let place = name.span().start;
        let name = name.into_inner();
        for field in fields.keys().filter(|field| !KEYS.contains(&field.as_str())) {
            unknown.push(format!("providers.{name}.{field}"));
        }
        let wrong = |(at, what): (Option<usize>, String)| {
            (at.unwrap_or(place), format!("`providers.{name}`: {what}"))
        };
        let provider = provider(&name, &fields).map_err(wrong)?;
        named.push(provider.resolve().map_err(|bad| wrong((None, bad.to_string())))?);
    }
    Ok((named, unknown))
}

fn provider(
    name: &str,
    fields: &BTreeMap<String, Spanned<Value>>,
) -> Result<NamedProvider, (Option<usize>, String)> {
    let text = |key: &str| match fields.get(key) {
        None => Ok(None),
        Some(value) => match value.get_ref().as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err((Some(value.span().start), format!("`{key}` must be text"))),
        },
    };
    let required = |key: &str| text(key)?.ok_or_else(|| (None, format!("`{key}` is missing")));
    let key_env = text("key_env")?;
    if let Some(reference) = key_env.as_deref().filter(|value| value.starts_with("vault:")) {
        let what = format!("`key_env` names `{reference}`, and this version has no vault; name a variable");
        return Err((fields.get("key_env").map(|value| value.span().start), what));
    }
    let headers = match fields.get("headers") {
        None => Vec::new(),
        Some(value) => {
            let wrong = || (Some(value.span().start), "`headers` must be a table of texts".to_owned());
            let table = value.get_ref().as_table().ok_or_else(wrong)?;
            let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
            table.iter().map(pair).collect::<Option<Vec<_>>>().ok_or_else(wrong)?
        }
    };
    let models = match fields.get("models") {
        None => Vec::new(),
        Some(value) => {
            let wrong = || (Some(value.span().start), "`models` must be a list of names".to_owned());
            let list = value.get_ref().as_array().ok_or_else(wrong)?;
            let name =
                |value: &Value| value.as_str().filter(|name| !name.trim().is_empty()).map(str::to_owned);
            list.iter().map(name).collect::<Option<Vec<_>>>().ok_or_else(wrong)?
        }
    };
    Ok(NamedProvider {
        name: name.to_owned(),
        api: required("api")?,
        base_url: required("base_url")?,
        key_env,
        headers,
        models,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_lines() {
        let (named, unknown) = read(
            "[providers.acme]\napi = \"openai-chat\"\nbase_url = \"https://llm.example/v1\"\nkey_env = \"ACME_KEY\"\n\
             models = [\"large\", \"small\"]\ncolour = 1\n",
        )
        .unwrap();
        let shown: Vec<_> =
            named.iter().map(|facts| (facts.name, facts.key_var, facts.default_model)).collect();
        assert_eq!(shown, [("acme", "ACME_KEY", "large")]);
        assert_eq!(unknown, ["providers.acme.colour"]);
    }

    #[test]
    fn mistakes_have_a_place() {
        let wrong = |text: &str| read(text).expect_err(text);
        assert_eq!(wrong("providers = 5"), (12, "`providers` holds tables: `[providers.NAME]`".into()));
        assert_eq!(
            wrong("[providers.a]\napi = \"openai\"\n"),
            (11, "`providers.a`: `base_url` is missing".into())
        );
        assert_eq!(
            wrong("[providers.a]\napi = 1\nbase_url = \"https://x.example\"\n"),
            (20, "`providers.a`: `api` must be text".into())
        );
        assert_eq!(
            wrong("[providers.openai]\napi = \"openai\"\nbase_url = \"https://x.example\"\n").1,
            "`providers.openai`: the name is taken: `openai` is built in"
        );
        assert_eq!(
            wrong(
                "[providers.a]\napi = \"openai\"\nbase_url = \"https://x.example\"\nkey_env = \"vault:a\"\n"
            )
            .1,
            "`providers.a`: `key_env` names `vault:a`, and this version has no vault; name a variable"
        );
    }
}
