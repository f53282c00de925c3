//! `models list` and `models show`: the catalogue, and what servers on this machine have.

use zori_core::cost::{MicroUsd, Prices};
use zori_providers::catalog::{self, Model, Origin, PROVIDERS, ProviderFacts};

use super::Cx;
use crate::args::LowArgs;
use crate::base::Base;
use crate::command_error::{CommandError, ErrorCode};
use crate::config::Config;
use crate::exit::Exit;
use crate::model_choice::{local_servers, unknown};
use crate::settings::check_output;

/// Prints a line a model: `provider:model`, window, reply limit, prices of a million tokens in and out.
pub fn list(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let config = config(cx)?;
    check_output(cx, args, &config)?;
    let wanted = match args.provider.as_deref() {
        Some(name) => Some(config.catalog.provider(name).ok_or_else(|| unknown(name))?),
        None => None,
    };
    let listed = |facts: &ProviderFacts| wanted.is_none_or(|wanted| wanted.name == facts.name);
    let mut rows = Vec::new();
    for facts in config.catalog.providers().filter(|facts| listed(facts)) {
        rows.extend(facts.models.iter().map(|model| row(facts, model)));
    }
    if PROVIDERS.iter().any(|facts| facts.is_local() && listed(facts)) {
        for found in local_servers(&config).iter().filter(|found| listed(found.facts)) {
            rows.extend(
                found.models.iter().map(|id| format!("{}:{id}  at {}\n", found.facts.name, found.base_url)),
            );
        }
    }
    if rows.is_empty() {
        rows.push("No models found. A local server has to run to be asked.\n".to_owned());
    }
    Ok(cx.ui.document(&rows.concat()))
}

/// Reads the config file, which may add models.
fn config(cx: &Cx<'_>) -> Result<Config, CommandError> {
    match Base::find(cx.profile) {
        Ok(base) => Config::load(&base.config(), PROVIDERS[0].key_var),
        Err(_) => Ok(Config::default()),
    }
}

/// Prints what is known of one model.
pub fn show(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let config = config(cx)?;
    check_output(cx, args, &config)?;
    let asked = args.positionals.first().map_or("", String::as_str);
    let (provider, id) = match asked.split_once(':') {
        Some((name, id)) if catalog::provider(name).is_some() => (Some(name), id),
        _ => (args.provider.as_deref(), asked),
    };
    let searched =
        || config.catalog.providers().filter(|facts| provider.is_none_or(|name| name == facts.name));
    let Some((facts, model)) = searched().find_map(|facts| Some((facts, facts.model(id)?))) else {
        let error =
            CommandError::new(ErrorCode::ModelNotFound, format!("the catalogue has no model `{asked}`"));
        return Err(match searched().find_map(|facts| facts.nearest_model(id)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("`{} models list` shows those it has", cx.profile.name)),
        });
    };
    let able = [
        (model.abilities.tools, "tools"),
        (model.abilities.images, "images"),
        (model.abilities.thinking, "thinking"),
    ];
    let able: Vec<_> = able.iter().filter(|(can, _)| *can).map(|(_, what)| *what).collect();
    let default = if facts.default_model == model.id { " (its default)" } else { "" };
    let text = format!(
        "Model:          {}\nProvider:       {}{default}\nContext window: {} tokens\nReply limit:    {} tokens\n\
         Abilities:      {}\nPrices:         {}\n{}",
        model.id,
        facts.name,
        model.context_window,
        model.max_output,
        able.join(", "),
        facts.prices(model.id).map_or_else(|| "not known".to_owned(), |prices| in_words(&prices)),
        match model.origin {
            Origin::BuiltIn => "",
            Origin::Config => "From:           the config file\n",
        },
    );
    Ok(cx.ui.document(&text))
}

fn row(facts: &ProviderFacts, model: &Model) -> String {
    let name = format!("{}:{}", facts.name, model.id);
    let prices = match facts.prices(model.id) {
        Some(prices) => format!("{} in, {} out", dollars(prices.input), dollars(prices.output)),
        None => "price not known".to_owned(),
    };
    let origin = match model.origin {
        Origin::BuiltIn => "",
        Origin::Config => " (config file)",
    };
    format!("{name:<37} {:>8} {:>8}  {prices}{origin}\n", model.context_window, model.max_output)
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
