//! The slash commands as the screen lists them, and what their arguments can be.

use zori_core::text::one_line;
use zori_policy::mode::Protocol;
use zori_policy::{Mode, ModeChoice};
use zori_providers::catalog::{Model, PROVIDERS, PriceList, ProviderFacts, SERVED};
use zori_tui::commands::{CommandInfo, ScreenCommand};
use zori_tui::completion::Item;

use super::{in_turn, item};
use crate::chat::slash::COMMANDS;
use crate::plain::PlainSession;
use zori_setup::environment::Environment;
use zori_setup::model_choice::key_from_env;

/// Returns whether the screen itself has a command of this name.
pub fn is_own(name: &str) -> bool {
    OWN.iter().any(|own| own.name == name)
}

/// Returns the names of the screen's own commands.
pub fn own_names() -> impl Iterator<Item = &'static str> {
    OWN.iter().map(|own| own.name)
}

/// Returns the names of commands.
pub fn names(commands: &[CommandInfo]) -> impl Iterator<Item = &'static str> {
    commands.iter().map(|command| command.name)
}

/// Returns a text that lives as long as the program: the list is made once for a chat.
fn kept(text: String) -> &'static str {
    text.leak()
}

/// Returns every command there is on the screen. Those that go back are not offered where nothing is captured; whoever types one is told why.
pub fn infos(plain: &PlainSession) -> Vec<CommandInfo> {
    let session = plain.session();
    let offered = |name: &str| session.can_undo() || !GOING_BACK.contains(&name);
    let brought = session.extensions().slash_commands().into_iter().map(|entry| CommandInfo {
        name: kept(format!("/{}", entry.name)),
        args: kept(one_line(&entry.args).into_owned()),
        about: kept(one_line(&entry.about).into_owned()),
        category: "Integration",
        waits: true,
        brought: true,
        ..CommandInfo::NOTHING
    });
    let mut all: Vec<CommandInfo> = COMMANDS
        .iter()
        .filter(|command| !OWN.iter().any(|own| own.name == command.names[0]) && offered(command.names[0]))
        .map(|command| CommandInfo {
            name: command.names[0],
            aliases: &command.names[1..],
            args: command.args,
            about: command.about,
            category: command.category,
            waits: !in_turn::COMMANDS.contains(&command.names[0]),
            chooses: CHOOSING.contains(&command.names[0]),
            ..CommandInfo::NOTHING
        })
        .chain(OWN.iter().copied())
        .chain(brought)
        .collect();
    let order =
        |category: &str| CATEGORIES.iter().position(|known| *known == category).unwrap_or(CATEGORIES.len());
    // Who opens the list and presses Enter is shown what there is.
    all.sort_by_key(|command| (order(command.category), command.name != "/help"));
    all
}

/// The commands that need what was captured.
const GOING_BACK: &[&str] = &["/undo", "/redo", "/rewind", "/diff"];

/// The commands whose argument is chosen from a list, beside those of the screen itself.
const CHOOSING: &[&str] = &["/model", "/resume", "/rewind"];

/// The categories, in the order `/help` shows them.
pub const CATEGORIES: &[&str] =
    &["Session", "Look", "Configuration", "Context", "Planning", "Integration", "Debugging"];

const fn own(
    name: &'static str,
    args: &'static str,
    about: &'static str,
    category: &'static str,
    own: ScreenCommand,
) -> CommandInfo {
    CommandInfo { name, args, about, category, own: Some(own), ..CommandInfo::NOTHING }
}

/// What the screen does itself, in a turn, too.
const OWN: &[CommandInfo] = &[
    own("/help", "", "Show these commands", "Session", ScreenCommand::Help),
    own("/show", "N", "Open the cell with this number", "Look", ScreenCommand::Show),
    own("/copy", "[N|code]", "Copy the last answer, its last code, or a cell", "Look", ScreenCommand::Copy),
    own("/find", "[WORDS]", "Search all cells", "Look", ScreenCommand::Find),
    own("/todo", "", "Show the task list", "Look", ScreenCommand::Todo),
    CommandInfo {
        waits: true,
        ..own(
            "/rerun",
            "N",
            "Run the command of the cell with this number again",
            "Look",
            ScreenCommand::Rerun,
        )
    },
    own("/history", "", "Show all of this conversation", "Session", ScreenCommand::History),
    own("/ml", "[TEXT]", "Write several lines; an empty one sends them", "Context", ScreenCommand::Lines),
    own("/editor", "", "Write the next prompt in $VISUAL or $EDITOR", "Integration", ScreenCommand::Editor),
    own("/btw", "QUESTION", "Ask beside the conversation", "Session", ScreenCommand::Aside),
    CommandInfo {
        chooses: true,
        ..own("/theme", "NAME", "Change the colours", "Configuration", ScreenCommand::Theme)
    },
    own(
        "/keys",
        "[ACTION|KEY|?]",
        "List what keys do; give an action another key; say what a key does",
        "Configuration",
        ScreenCommand::Keys,
    ),
];

/// A model that `/model` can change to.
pub struct Choice {
    name: String,
    about: String,
    /// What a million tokens of input cost, in millionths of a dollar.
    input: Option<u64>,
}

impl Choice {
    /// Returns it for the list. `context`: the tokens that a change sends anew, because no other model has them in its cache.
    pub fn item(&self, current: &str, context: u64) -> Item {
        let cost = self.input.filter(|_| context > 1000 && self.name != current).map(|input| {
            let micros = u128::from(context) * u128::from(input) / 1_000_000;
            let tokens = zori_tui::cells::thousands(context);
            format!(
                "   sends {tokens} uncached, about ${}.{:02}",
                micros / 1_000_000,
                micros % 1_000_000 / 10_000
            )
        });
        let now = if self.name == current { "   now" } else { "" };
        let about = format!("{}{now}{}", self.about, cost.unwrap_or_default());
        item(self.name.as_str(), about.trim_end())
    }
}

/// Returns the models that `/model` can change to: those of this provider, the default ones of providers that the user has named, then those of others, with
/// whether there is a key for them.
pub fn models(plain: &PlainSession, env: &Environment) -> Vec<Choice> {
    let settings = &plain.host.settings.model;
    let (here, list) = (settings.facts, &settings.price_list);
    let others = PROVIDERS.iter().filter(|facts| facts.name != here.name);
    let mut keyed: Vec<(bool, &ProviderFacts)> =
        others.map(|facts| (key_from_env(facts, env).is_some() || facts.is_local(), facts)).collect();
    keyed.sort_by_key(|(keyed, _)| !keyed);
    let own = here.models.iter().map(|model| choice(list, here, model, model.id.to_owned(), ""));
    let named =
        settings.named.iter().filter(|facts| facts.name != here.name && facts.default_model != SERVED);
    let named = named.map(|facts| {
        let key = key_words(facts, key_from_env(facts, env).is_some());
        let about = format!("{:>5}   {:<11}{key}", "", "");
        Choice { name: format!("{}:{}", facts.name, facts.default_model), about, input: None }
    });
    let foreign = keyed.into_iter().flat_map(|(keyed, facts)| {
        let key = key_words(facts, keyed);
        facts
            .models
            .iter()
            .map(move |model| choice(list, facts, model, format!("{}:{}", facts.name, model.id), &key))
    });
    own.chain(named).chain(foreign).collect()
}

/// Says whether there is a key for a provider.
fn key_words(facts: &ProviderFacts, keyed: bool) -> String {
    match (facts.is_local(), keyed) {
        (true, _) => "   on this machine".to_owned(),
        (false, true) => "   key ok".to_owned(),
        (false, false) => format!("   no key in the environment: /login {}", facts.name),
    }
}

fn choice(list: &PriceList, facts: &ProviderFacts, model: &Model, name: String, key: &str) -> Choice {
    let window = zori_tui::cells::thousands(model.context_window.into());
    let prices = list.prices(facts, model.id);
    let price = prices
        .map_or_else(String::new, |prices| format!("${}/${}", dollars(prices.input), dollars(prices.output)));
    let about = format!("{window:>5}   {price:<11}{key}");
    Choice { name, about, input: prices.map(|prices| prices.input) }
}

fn dollars(micros: u64) -> String {
    match micros % 1_000_000 {
        0 => format!("{}", micros / 1_000_000),
        _ => format!("{:.2}", micros as f64 / 1e6),
    }
}

/// Returns the permission modes.
pub fn modes(plain: &PlainSession) -> Vec<Item> {
    // The provider's own names come first where it has some (UI-8a).
    let own = if plain.run.agent_zero.is_some() { ModeChoice::OF_AGENT_ZERO } else { &[] };
    let all = Mode::ALL.iter().map(|mode| mode.as_str()).filter(|name| !own.contains(name));
    let about = |name: &str| ModeChoice::named(name, Protocol::Own).map_or("", |choice| choice.mode.about());
    own.iter().copied().chain(all).map(|name| item(name, about(name))).collect()
}

/// Returns how long ago something was: `5m`, `2h`, `3d`.
pub fn age(seconds: u64) -> String {
    match seconds {
        0..60 => "now".to_owned(),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a change costs is in sight beside the longest names, and the columns stand below each other.
    #[test]
    fn what_a_change_of_the_model_costs() {
        let choice = |name: &str, price: &str, input| Choice {
            name: name.to_owned(),
            about: format!("{:>5}   {price:<11}", "1.0M"),
            input: Some(input),
        };
        let all = [
            choice("opus", "$15/$75", 15_000_000),
            choice("haiku", "$0.10/$0.50", 100_000),
            choice("sonnet", "$2/$10", 2_000_000),
        ];
        let shown: Vec<String> = all.iter().map(|model| model.item("sonnet", 42_000).about).collect();
        assert_eq!(
            shown,
            [
                " 1.0M   $15/$75       sends 42k uncached, about $0.63",
                " 1.0M   $0.10/$0.50   sends 42k uncached, about $0.00",
                " 1.0M   $2/$10        now",
            ]
        );
    }
}
