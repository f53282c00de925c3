//! The tables `[providers.NAME]` of the config file: servers that the catalogue does not have (DECISIONS 47).

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};
use zori_providers::catalog::{self, NamedProvider, ProviderFacts};
use zori_vault::reference;

/// The name of the table that holds the others.
pub const TABLE: &str = "providers";

/// What a table may hold.
const KEYS: &[&str] = &["api", "base_url", "key_env", "api_key", "headers", "models"];

/// What `config init` writes of it.
pub const EXAMPLE: &str = "
# A server that the catalogue does not have, by the API it speaks (anthropic, openai, openai-chat, gemini); then `--provider acme` works.
# Its key comes from the variable that `key_env` names, or from the entry of the vault that `api_key` refers to; without either, none is sent.
# A built-in provider takes `api_key` alone.
# providers.openai = { api_key = \"vault:OPENAI_API_KEY\" }
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

/// What the tables say.
#[derive(Default)]
pub(super) struct NamedProviders {
    /// The servers that the catalogue does not have.
    pub providers: Vec<&'static ProviderFacts>,
    /// What holds a provider's key, by the provider's name.
    pub key_references: BTreeMap<String, String>,
    /// Keys that mean nothing.
    pub unknown: Vec<String>,
}

/// Reads the tables.
pub(super) fn read(text: &str) -> Result<NamedProviders, LocatedError> {
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let file: File = toml::from_str(text).map_err(|error| (start(&error), error.message().to_owned()))?;
    let shape = || "`providers` holds tables: `[providers.NAME]`".to_owned();
    let tables = file.providers.get_ref().as_table().filter(|t| t.values().all(Value::is_table));
    tables.ok_or_else(|| (file.providers.span().start, shape()))?;
    let Tables { providers } = toml::from_str(text).map_err(|error| (start(&error), shape()))?;
    let mut named = NamedProviders::default();
    for (name, fields) in providers {
        let place = name.span().start;
        let name = name.into_inner();
        for field in fields.keys().filter(|field| !KEYS.contains(&field.as_str())) {
            named.unknown.push(format!("providers.{name}.{field}"));
        }
        let wrong = |(at, what): (Option<usize>, String)| {
            (at.unwrap_or(place), format!("`providers.{name}`: {what}"))
        };
        let reference = key_reference(&fields).map_err(wrong)?;
        // Of a built-in provider only the key is said.
        if catalog::provider(&name).is_none() || reference.is_none() || fields.len() > 1 {
            let provider = provider(&name, &fields, reference.is_some()).map_err(wrong)?;
            named.providers.push(provider.resolve().map_err(|bad| wrong((None, bad.to_string())))?);
        }
        named.key_references.extend(reference.map(|reference| (name, reference)));
    }
    Ok(named)
}

/// Returns what holds the key: `api_key`, or a reference in place of a variable's name. A key itself is not said back.
fn key_reference(
    fields: &BTreeMap<String, Spanned<Value>>,
) -> Result<Option<String>, (Option<usize>, String)> {
    let in_vault = |key: &str| {
        let value = fields.get(key)?;
        let text = value.get_ref().as_str().filter(|text| reference::whole(text).is_some());
        Some((value.span().start, text.map(str::to_owned)))
    };
    let (start, found) = match (in_vault("api_key"), in_vault("key_env")) {
        (Some((start, None)), _) => {
            let what = "`api_key` must refer to the vault, as `vault:NAME`; keys are never read from files";
            return Err((Some(start), what.to_owned()));
        }
        (Some(found), _) | (None, Some(found)) => found,
        (None, None) => return Ok(None),
    };
    let Some(found) = found else { return Ok(None) };
    reference::parts(&found).map_err(|error| (Some(start), error.to_string()))?;
    Ok(Some(found))
}

fn provider(
    name: &str,
    fields: &BTreeMap<String, Spanned<Value>>,
    key_in_vault: bool,
) -> Result<NamedProvider, (Option<usize>, String)> {
    let text = |key: &str| match fields.get(key) {
        None => Ok(None),
        Some(value) => match value.get_ref().as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err((Some(value.span().start), format!("`{key}` must be text"))),
        },
    };
    let required = |key: &str| text(key)?.ok_or_else(|| (None, format!("`{key}` is missing")));
    let variable = text("key_env")?.filter(|name| reference::whole(name).is_none());
    let usual = || format!("{}_API_KEY", name.to_uppercase().replace('-', "_"));
    let key_env = variable.or_else(|| key_in_vault.then(usual));
    let headers = match fields.get("headers") {
        None => Vec::new(),
        Some(value) => {
            let wrong = || (Some(value.span().start), "`headers` must be a table of texts".to_owned());
            let table = value.get_ref().as_table().ok_or_else(wrong)?;
            let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
            let headers = table.iter().map(pair).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
            if headers.iter().any(|(_, value)| reference::is_in(value)) {
                let what = "`headers` cannot refer to the vault; the key belongs into `api_key`";
                return Err((Some(value.span().start), what.to_owned()));
            }
            headers
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
        let NamedProviders { providers: named, unknown, .. } = read(
            "[providers.acme]\napi = \"openai-chat\"\nbase_url = \"https://llm.example/v1\"\nkey_env = \"ACME_KEY\"\n\
             models = [\"large\", \"small\"]\ncolour = 1\n",
        )
        .unwrap_or_else(|(_, wrong)| panic!("{wrong}"));
        let shown: Vec<_> =
            named.iter().map(|facts| (facts.name, facts.key_var, facts.default_model)).collect();
        assert_eq!(shown, [("acme", "ACME_KEY", "large")]);
        assert_eq!(unknown, ["providers.acme.colour"]);
    }

    #[test]
    fn mistakes_have_a_place() {
        let wrong = |text: &str| read(text).err().expect(text);
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
        // What may be a key is not said back.
        assert_eq!(
            wrong("[providers.openai]\napi_key = \"sk-0123456789\"\n").1,
            "`providers.openai`: `api_key` must refer to the vault, as `vault:NAME`; keys are never read from files"
        );
        assert!(wrong("[providers.openai]\napi_key = \"vault:sk 1\"\n").1.contains("a reference is"));
    }

    /// DECISIONS 47: a reference in place of a variable, or beside it; of a built-in provider only that.
    #[test]
    fn keys_in_the_vault() {
        let table = "api = \"openai\"\nbase_url = \"https://x.example\"\n";
        let tables = read(&format!(
            "[providers.a]\n{table}key_env = \"vault:A\"\n[providers.b]\n{table}key_env = \"B\"\napi_key = \"vault:C\"\n\
             [providers.openai]\napi_key = \"vault:OPENAI_API_KEY\"\n"
        ))
        .unwrap_or_else(|(_, wrong)| panic!("{wrong}"));
        let named: Vec<_> = tables.providers.iter().map(|facts| (facts.name, facts.key_var)).collect();
        assert_eq!(named, [("a", "A_API_KEY"), ("b", "B")]);
        let references: Vec<_> =
            tables.key_references.into_iter().map(|(name, entry)| name + " " + &entry).collect();
        assert_eq!(references, ["a vault:A", "b vault:C", "openai vault:OPENAI_API_KEY"]);
        assert_eq!(tables.unknown, [""; 0]);
    }
}
