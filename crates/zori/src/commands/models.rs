//! `models list` and `models show`: the catalogue, what providers have said of their models, and what servers on this machine have.

mod refresh;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::kind::Kind;
use zori_contract::reply::Reply;
use zori_core::cost::{MicroUsd, Prices};
use zori_core::time::Clock as _;
use zori_host::SystemClock;
use zori_providers::catalog::{Lifecycle, Model, Origin, PROVIDERS, ProviderFacts};
use zori_providers::models::ListedModel;

use super::{Context, example};
use zori_setup::app::App;
use zori_setup::args::flags;
use zori_setup::config::{Config, price_file};
use zori_setup::error::MODEL_NOT_FOUND;
use zori_setup::model_choice::{local_servers, unknown_in, usual_address};

const REFRESH: Flag =
    Flag::switch("refresh", "Ask the providers for their models first, and keep the lists for 30 days");
const MODEL_ARG: Positional = Positional::required("MODEL", Kind::Text, "The model, or `provider:model`");

pub const LIST: Command<App> = Command {
    flags: const { &[REFRESH] },
    examples: &[
        example("the models there are", "zori models list"),
        example("those of one provider", "zori models list --provider openai"),
        example(
            "windows and lifecycles as a provider has them today",
            "zori models list --refresh --provider anthropic",
        ),
    ],
    list: true,
    exits: &[
        Exit::PermissionDenied,
        Exit::AuthRequired,
        Exit::PaymentRequired,
        Exit::RateLimited,
        Exit::Unavailable,
    ],
    id_field: Some("id"),
    columns: &["id", "context_window", "max_output", "price_input_usd", "price_output_usd"],
    output_schema: r#"{"type":"array","x-ordered":true,"items":{"type":"object",
        "required":["id","provider","model","context_window","max_output","price_input_usd","price_output_usd","origin"],
        "properties":{"id":{"type":"string"},"context_window":{"type":["integer","null"]},
        "max_output":{"type":["integer","null"]},"origin":{"enum":["built_in","config","listed","local"]},
        "lifecycle":{"enum":["current","ending","retired"]}}}}"#,
    declares: r#"{"has_network_io":true,"filesystem_side_effects":[{"path":"$ZORI_HOME/models","type":"cache","ttl_seconds":2592000,
        "clearable_with":"zori cleanup --scope cache"}]}"#,
    standalone: true,
    ..Command::new(
        &["models", "list"],
        "List the models of the catalogue, and of servers on this machine",
        list,
    )
};

pub const SHOW: Command<App> = Command {
    args: const { &[MODEL_ARG] },
    examples: &[
        example("what is known of it", "zori models show claude-sonnet-5-5"),
        example("of that provider", "zori models show openai:gpt-6.1-terra"),
    ],
    exits: &[Exit::NotFound],
    output_schema: r#"{"type":"object","required":["id","provider","model","default","context_window","max_output",
        "abilities","prices_usd","origin"],"properties":{"abilities":{"type":"array","items":{"type":"string"}},
        "prices_usd":{"type":["object","null"]},"default":{"type":"boolean"}}}"#,
    standalone: true,
    ..Command::new(&["models", "show"], "Show what is known of a model", show)
};

/// Prints a line a model: `provider:model`, window, reply limit, prices of a million tokens in and out.
fn list(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let config = config(cx)?;
    let wanted = match args.text(&flags::PROVIDER) {
        Some(name) => Some(config.catalog.provider(name).ok_or_else(|| unknown_in(name, &config))?),
        None => None,
    };
    match wanted {
        _ if !args.has(&REFRESH) => {}
        Some(facts) => refresh::one(cx, &config, facts)?,
        None => refresh::all(cx, &config)?,
    }
    let listed = |facts: &ProviderFacts| wanted.is_none_or(|wanted| wanted.name == facts.name);
    let (mut text, mut rows) = (String::new(), Vec::new());
    for facts in config.catalog.providers().filter(|facts| listed(facts)) {
        let list = kept_list(cx, &config, facts);
        let facts = facts.with_listed(&list);
        for model in facts.models {
            let prices = config.prices.prices(facts, model.id);
            text.push_str(&row(facts, model, prices));
            rows.push(described(facts, model, prices));
        }
        // A server on this machine that nobody named is asked below.
        let here = facts.is_local() && facts.custom.is_none();
        for model in list.iter().filter(|listed| facts.model(&listed.id).is_none() && !here) {
            let name = format!("{}:{}", facts.name, model.id);
            text.push_str(&format!("{name}  listed, its window is not known\n"));
            rows.push(unmeasured(facts, &model.id, "listed", None));
        }
    }
    if PROVIDERS.iter().any(|facts| facts.is_local() && listed(facts)) {
        for found in local_servers(&config, &cx.app.env).iter().filter(|found| listed(found.facts)) {
            for id in &found.models {
                let name = format!("{}:{id}", found.facts.name);
                text.push_str(&format!("{name}  at {}\n", found.base_url));
                rows.push(unmeasured(found.facts, id, "local", Some(0.0)));
            }
        }
    }
    if text.is_empty() {
        text.push_str("No models found. A local server has to run to be asked.");
    }
    Ok(Reply::rows(rows).text(text))
}

/// Returns what a provider has said of its models, if it was asked lately.
fn kept_list(cx: &Context<'_>, config: &Config, facts: &ProviderFacts) -> Vec<ListedModel> {
    let address = usual_address(facts, config, &cx.app.env).ok();
    let kept = address.and_then(|url| config.model_lists.read(facts, &url, SystemClock::new().now()));
    kept.unwrap_or_default()
}

/// Returns a model of which little more than the name is known, for programs.
fn unmeasured(facts: &ProviderFacts, id: &str, origin: &str, price: Option<f64>) -> Value {
    json!({"id": format!("{}:{id}", facts.name), "provider": facts.name, "model": id, "context_window": null,
        "max_output": null, "price_input_usd": price, "price_output_usd": price, "origin": origin,
        "lifecycle": "current", "ends_on": null, "successor": null})
}

/// Reads the config file, which may add models.
fn config(cx: &Context<'_>) -> Result<Config, Failure> {
    match cx.app.data_dir() {
        Ok(data_dir) => data_dir.read_config(),
        Err(_) => Ok(Config::default()),
    }
}

/// Prints what is known of one model.
fn show(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let config = config(cx)?;
    let asked = args.text(&MODEL_ARG).unwrap_or_default();
    let (provider, id) = match asked.split_once(':') {
        Some((name, id)) if config.catalog.provider(name).is_some() => (Some(name), id),
        _ => (args.text(&flags::PROVIDER), asked),
    };
    let with_list = |facts: &'static ProviderFacts| facts.with_listed(&kept_list(cx, &config, facts));
    let searched = || {
        let named = |facts: &&ProviderFacts| provider.is_none_or(|name| name == facts.name);
        config.catalog.providers().filter(named).map(with_list)
    };
    let Some((facts, model)) = searched().find_map(|facts| Some((facts, facts.model(id)?))) else {
        let error = Failure::new(&MODEL_NOT_FOUND, format!("the catalogue has no model `{asked}`"))
            .field("id", asked);
        return Err(match searched().find_map(|facts| facts.nearest_model(id)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("`{} models list` shows those it has", cx.program.name)),
        });
    };
    let able = [
        (model.abilities.tools, "tools"),
        (model.abilities.images, "images"),
        (model.abilities.thinking, "thinking"),
    ];
    let able: Vec<_> = able.iter().filter(|(can, _)| *can).map(|(_, what)| *what).collect();
    let default = if facts.default_model == model.id { " (its default)" } else { "" };
    let prices = config.prices.prices(facts, model.id);
    let source = match config.prices.of(facts.name, model.id).filter(|listed| Some(*listed) == prices) {
        Some(_) => format!(
            " ({}{})",
            price_file::NAME,
            config.prices.as_of().map_or_else(String::new, |day| format!(", as of {day}"))
        ),
        None => String::new(),
    };
    let text = format!(
        "Model:          {}\nProvider:       {}{default}\nContext window: {} tokens\nReply limit:    {} tokens\n\
         Abilities:      {}\nPrices:         {}\n{}",
        model.id,
        facts.name,
        model.context_window,
        model.max_output,
        able.join(", "),
        prices.map_or_else(|| "not known".to_owned(), |prices| in_words(&prices)) + &source,
        match model.origin {
            Origin::BuiltIn => "",
            Origin::Config => "From:           the config file\n",
            Origin::Listed => "From:           the provider's list, in parts\n",
        },
    ) + &match model.lifecycle {
        Lifecycle::Current => String::new(),
        Lifecycle::Ending { on, successor } => format!("Ends:           {on}; then `{successor}`\n"),
        Lifecycle::Retired { successor } => format!("Retired:        use `{successor}`\n"),
    };
    let mut data = described(facts, model, prices);
    data["default"] = json!(facts.default_model == model.id);
    data["abilities"] = json!(able);
    data["prices_usd"] = prices.map_or(Value::Null, |prices| {
        json!({"input": usd(prices.input), "output": usd(prices.output),
               "cache_read": usd(prices.cache_read), "cache_write": usd(prices.cache_write)})
    });
    Ok(Reply::one(data).text(text))
}

fn row(facts: &ProviderFacts, model: &Model, prices: Option<Prices>) -> String {
    let name = format!("{}:{}", facts.name, model.id);
    let prices = match prices {
        Some(prices) => format!("{} in, {} out", dollars(prices.input), dollars(prices.output)),
        None => "price not known".to_owned(),
    };
    let origin = match model.origin {
        Origin::BuiltIn => "",
        Origin::Config => " (config file)",
        Origin::Listed => " (listed)",
    };
    let lifecycle = in_short(model.lifecycle);
    format!("{name:<37} {:>8} {:>8}  {prices}{origin}{lifecycle}\n", model.context_window, model.max_output)
}

/// Returns how long a model is served, where that has an end.
fn in_short(lifecycle: Lifecycle) -> String {
    match lifecycle {
        Lifecycle::Current => String::new(),
        Lifecycle::Ending { on, successor } => format!(" (ends {on}: use {successor})"),
        Lifecycle::Retired { successor } => format!(" (retired: use {successor})"),
    }
}

/// Returns the same for programs: the word, the day and the successor.
fn lifecycle(model: &Model) -> (&'static str, Option<&'static str>, Option<&'static str>) {
    match model.lifecycle {
        Lifecycle::Current => ("current", None, None),
        Lifecycle::Ending { on, successor } => ("ending", Some(on), Some(successor)),
        Lifecycle::Retired { successor } => ("retired", None, Some(successor)),
    }
}

/// Returns a model for programs; prices are dollars for a million tokens.
fn described(facts: &ProviderFacts, model: &Model, prices: Option<Prices>) -> Value {
    let (lifecycle, ends_on, successor) = lifecycle(model);
    json!({
        "id": format!("{}:{}", facts.name, model.id),
        "provider": facts.name,
        "model": model.id,
        "context_window": model.context_window,
        "max_output": model.max_output,
        "price_input_usd": prices.map(|prices| usd(prices.input)),
        "price_output_usd": prices.map(|prices| usd(prices.output)),
        "origin": match model.origin {
            Origin::BuiltIn => "built_in",
            Origin::Config => "config",
            Origin::Listed => "listed",
        },
        "lifecycle": lifecycle,
        "ends_on": ends_on,
        "successor": successor,
    })
}

fn usd(micro: u64) -> f64 {
    micro as f64 / 1_000_000.0
}

fn in_words(prices: &Prices) -> String {
    format!(
        "{} in, {} out, {} read from cache, {} written to cache, for a million tokens",
        dollars(prices.input),
        dollars(prices.output),
        dollars(prices.cache_read),
        dollars(prices.cache_write)
    )
}

/// Writes a price with cents, and more digits only where there are more.
fn dollars(micro: u64) -> String {
    let text = MicroUsd(micro).to_string();
    let cut = text.trim_end_matches('0');
    let (whole, cents) = cut.split_once('.').unwrap_or((cut, ""));
    format!("{whole}.{cents:0<2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_for_people() {
        let got = [0, 75_000, 750_000, 1_000_000, 30_000_000].map(dollars);
        assert_eq!(got, ["$0.00", "$0.075", "$0.75", "$1.00", "$30.00"]);
    }
}
