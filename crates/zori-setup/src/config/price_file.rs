//! `<base>/prices.toml`: what models cost, where the catalogue does not know it or has it wrong (`docs/contracts/plans.md`, COST-5).

use std::collections::BTreeMap;

use toml::{Spanned, Value};
use zori_core::cost::Prices;
use zori_providers::catalog::PriceList;

use super::keys::describe;
use super::own_models::price;

/// The name of the file.
pub const NAME: &str = "prices.toml";

const AS_OF: &str = "as_of";
const FIELDS: &str = "`input`, `output`, `cache_read` and `cache_write`";

/// A byte offset in the file, and what is wrong there.
type LocatedError = (usize, String);

/// Reads the file.
pub(super) fn read(text: &str) -> Result<PriceList, LocatedError> {
    let parsed: Result<BTreeMap<Spanned<String>, Spanned<Value>>, _> = toml::from_str(text);
    let file = parsed.map_err(|error: toml::de::Error| {
        (error.span().map_or(0, |span| span.start), error.message().trim().to_owned())
    })?;
    let (mut entries, mut as_of) = (Vec::new(), None);
    for (name, value) in &file {
        let (at, name) = (value.span().start, name.get_ref());
        match value.get_ref() {
            Value::String(day) if name == AS_OF && is_day(day) => as_of = Some(day.clone()),
            _ if name == AS_OF => {
                return Err((at, "`as_of` is the day of the prices, such as \"2026-11-18\"".into()));
            }
            Value::Table(fields) => {
                let prices = prices(fields).map_err(|wrong| (at, format!("`{name}`: {wrong}")))?;
                let beginning = name.trim_end_matches('*').trim();
                if beginning.is_empty() {
                    return Err((at, format!("`{name}`: name a model, or the beginning of its name")));
                }
                entries.push((beginning.to_owned(), prices));
            }
            _ => {
                let wrong = format!("`{name}` must be a table such as `[\"openai:gpt-5\"]` with {FIELDS}");
                return Err((at, wrong));
            }
        }
    }
    Ok(PriceList::new(entries, as_of.as_deref()))
}

fn is_day(text: &str) -> bool {
    let digits = |part: &str, count: usize| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
}

fn prices(fields: &toml::Table) -> Result<Prices, String> {
    let mut found = BTreeMap::new();
    for (name, value) in fields {
        if !["input", "output", "cache_read", "cache_write"].contains(&name.as_str()) {
            return Err(format!("there is no `{name}`; it has {FIELDS}"));
        }
        let amount = price(value).ok_or_else(|| {
            format!("`{name}` must be dollars for a million tokens from 0 to 1000000, with six decimals at most, not {}", describe(value))
        })?;
        found.insert(name.as_str(), amount);
    }
    let wanted = |name: &str| found.get(name).copied().ok_or_else(|| format!("`{name}` is missing"));
    let (input, output) = (wanted("input")?, wanted("output")?);
    // What is not said of the cache costs as much as the prompt, which is never too low.
    let cached = |name: &str| found.get(name).copied().unwrap_or(input);
    Ok(Prices {
        input,
        output,
        cache_read: cached("cache_read"),
        cache_write: cached("cache_write"),
        long: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_by_beginnings() {
        let list = read(
            "as_of = \"2026-11-18\"\n[\"openai:gpt-5*\"]\ninput = 1.25\noutput = 10\n[claude]\ninput = 3\noutput = 15\ncache_read = 0.3\ncache_write = 3.75\n",
        )
        .unwrap();
        let five = Prices {
            input: 1_250_000,
            output: 10_000_000,
            cache_read: 1_250_000,
            cache_write: 1_250_000,
            long: None,
        };
        assert_eq!((list.as_of(), list.of("openai", "gpt-5-mini")), (Some("2026-11-18"), Some(five)));
        assert_eq!(list.of("anthropic", "claude-x").map(|prices| prices.cache_write), Some(3_750_000));
        assert_eq!(read(""), Ok(PriceList::default()));
    }

    #[test]
    fn mistakes_have_a_place() {
        let wrong = |text: &str| read(text).expect_err(text);
        assert_eq!(
            wrong("as_of = 5"),
            (8, "`as_of` is the day of the prices, such as \"2026-11-18\"".into())
        );
        assert_eq!(wrong("[gpt]\ninput = 1\n").1, "`gpt`: `output` is missing");
        assert_eq!(
            wrong("[gpt]\ninput = -1\noutput = 1\n").1,
            "`gpt`: `input` must be dollars for a million tokens from 0 to 1000000, with six decimals at most, not -1"
        );
        assert_eq!(
            wrong("[gpt]\nimput = 1\noutput = 1\n").1,
            "`gpt`: there is no `imput`; it has `input`, `output`, `cache_read` and `cache_write`"
        );
        assert_eq!(
            wrong("[\"*\"]\ninput = 1\noutput = 1\n").1,
            "`*`: name a model, or the beginning of its name"
        );
        assert_eq!(
            wrong("gpt = 3").1,
            "`gpt` must be a table such as `[\"openai:gpt-5\"]` with `input`, `output`, `cache_read` and `cache_write`"
        );
    }
}
