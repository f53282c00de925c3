//! What is offered while somebody types an argument: resources of servers, themes, efforts, providers, turns.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use zori_core::provider::Effort;
use zori_core::text::one_line;
use zori_mcp::client::{ListedResource, McpServers, Server};
use zori_providers::catalog::PROVIDERS;
use zori_store::SessionTurn;
use zori_tui::completion::Item;
use zori_tui::theme::Theme;

use super::{item, look};
use crate::chat::undo::changed_words;

/// So many resources of servers are offered.
const MOST_RESOURCES: usize = 50;

/// Returns the resources of servers whose `SERVER:URI` begins with what was typed (MCP-60).
pub(super) fn resources(servers: Option<&McpServers>, word: &str) -> Vec<Item> {
    if !word.contains(':') {
        return Vec::new();
    }
    let of = |server: Arc<Server>| {
        let name = server.config.name.clone();
        let item = |resource: &ListedResource| {
            let about = if resource.about.is_empty() { &resource.name } else { &resource.about };
            item(format!("{name}:{}", resource.uri), one_line(about))
        };
        server.now().resources.iter().map(item).collect::<Vec<_>>()
    };
    let all = servers.into_iter().flat_map(McpServers::all).flat_map(of);
    all.filter(|item| item.text.starts_with(word)).take(MOST_RESOURCES).collect()
}

pub fn themes(base: Option<&Path>) -> Vec<Item> {
    let terminal = item("terminal", "the terminal's own colours");
    let own = look::own_themes(base).into_iter().map(|(name, _)| item(name, "your own"));
    let ours = Theme::names().filter(|name| *name != "terminal").map(|name| item(name, ""));
    std::iter::once(terminal).chain(own).chain(ours).collect()
}

pub fn efforts() -> Vec<Item> {
    let none = item("default", "as the provider has it");
    std::iter::once(none).chain(Effort::ALL.iter().map(|effort| item(effort.as_str(), ""))).collect()
}

pub(super) fn providers() -> Vec<Item> {
    PROVIDERS.iter().filter(|facts| !facts.is_local()).map(|facts| item(facts.name, facts.display)).collect()
}

/// Returns the turns that a word may mean, newest first, and how many there are; behind the number of a turn that changed files, what of it goes back
/// (`undo.md`, section 7).
pub(super) fn turns(
    turns: &[SessionTurn],
    lines: &BTreeMap<u32, (u64, u64)>,
    word: &str,
) -> (Vec<Item>, usize) {
    let typed = word.to_lowercase();
    if let Some((number, rest)) = typed.split_once(' ')
        && turns.iter().any(|turn| turn.active && turn.number.to_string() == number)
    {
        let offered = [
            ("both", "files and conversation"),
            ("files", "the files alone"),
            ("chat", "the conversation alone"),
        ];
        let all = offered.map(|(what, about)| {
            let label = Some(what.to_owned());
            Item { label, ..item(format!("{number} {what}"), about) }
        });
        let of = all.len();
        let fits = |item: &Item| item.label.as_ref().is_some_and(|label| label.starts_with(rest.trim()));
        return (all.into_iter().filter(fits).collect(), of);
    }
    let mut changes = false;
    let mut all = Vec::new();
    let shown: Vec<&SessionTurn> = turns.iter().rev().filter(|turn| turn.active).collect();
    let words = |turn| changed_words(turn, lines).unwrap_or_default();
    let column = shown.iter().map(|turn| words(turn).len()).max().unwrap_or(0);
    for known in shown {
        changes |= known.changed.iter().any(|count| *count > 0);
        all.push(turn(known, &words(known), column, changes));
    }
    let of = all.len();
    let fits = |item: &Item| format!("{} {}", item.text, item.about).to_lowercase().contains(&typed);
    let mut items: Vec<Item> = all.into_iter().filter(fits).collect();
    // The turn with this number is meant, whatever others have it in them.
    items.sort_by_key(|item| item.text.trim_end() != typed);
    (items, of)
}

/// Returns a turn for the list: what it changed, in a column of its own, so that no prompt is too long for it, and what was asked. `changes`: files
/// go back with it, be they of this turn or of one behind it.
fn turn(turn: &SessionTurn, changed: &str, column: usize, changes: bool) -> Item {
    let number = turn.number.to_string();
    let gap = if column > 0 { column + 3 } else { 0 };
    // A blank behind it asks what goes back.
    let text = if changes { format!("{number} ") } else { number.clone() };
    Item { label: Some(number), ..item(text, format!("{changed:<gap$}{}", one_line(&turn.prompt))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(word: &str) -> Vec<String> {
        let turn = |number, prompt: &str, changed| SessionTurn {
            number,
            prompt: prompt.to_owned(),
            uuid: None,
            records_before: 0,
            active: number != 3,
            changed,
            calls: Vec::new(),
        };
        let all = [
            turn(1, "look at 4 files", [0, 0, 0]),
            turn(2, "fix them", [1, 2, 0]),
            turn(3, "gone", [9, 9, 9]),
            turn(4, "thanks", [0, 0, 0]),
        ];
        let lines = BTreeMap::from([(2, (12, 3)), (3, (9, 9))]);
        let (items, of) = turns(&all, &lines, word);
        let shown = |item: Item| format!("{}|{}", item.text, item.about);
        items.into_iter().map(shown).chain([of.to_string()]).collect()
    }

    #[test]
    fn turns_and_what_of_them_goes_back() {
        let [thanks, look] = ["thanks", "look at 4 files"].map(|prompt| format!("{:17}{prompt}", ""));
        let (thanks, look) = (format!("4|{thanks}"), format!("1 |{look}"));
        assert_eq!(listed(""), [&thanks, "2 |3 files +12 -3   fix them", &look, "3"]);
        assert_eq!(listed("4"), [&thanks, &look, "3"], "its number before its words");
        let parts =
            ["2 both|files and conversation", "2 files|the files alone", "2 chat|the conversation alone"];
        assert_eq!(listed("2 "), [&parts[..], &["3"]].concat());
        assert_eq!(listed("2 f"), [parts[1], "3"]);
        assert_eq!(listed("look at"), [&look, "3"]);
    }
}
