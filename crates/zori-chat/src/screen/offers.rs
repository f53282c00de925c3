//! What is offered while somebody types an argument: resources of servers, themes, efforts, providers.

use std::path::Path;
use std::sync::Arc;

use zori_core::provider::Effort;
use zori_core::text::one_line;
use zori_mcp::client::{ListedResource, McpServers, Server};
use zori_providers::catalog::PROVIDERS;
use zori_tui::completion::Item;
use zori_tui::theme::Theme;

use super::look;

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
            super::item(format!("{name}:{}", resource.uri), one_line(about))
        };
        server.now().resources.iter().map(item).collect::<Vec<_>>()
    };
    let all = servers.into_iter().flat_map(McpServers::all).flat_map(of);
    all.filter(|item| item.text.starts_with(word)).take(MOST_RESOURCES).collect()
}

pub(super) fn themes(base: Option<&Path>) -> Vec<Item> {
    let terminal = super::item("terminal", "the terminal's own colours");
    let own = look::own_themes(base).into_iter().map(|(name, _)| super::item(name, "your own"));
    let ours = Theme::names().filter(|name| *name != "terminal").map(|name| super::item(name, ""));
    std::iter::once(terminal).chain(own).chain(ours).collect()
}

pub(super) fn efforts() -> Vec<Item> {
    let none = super::item("default", "as the provider has it");
    std::iter::once(none).chain(Effort::ALL.iter().map(|effort| super::item(effort.as_str(), ""))).collect()
}

pub(super) fn providers() -> Vec<Item> {
    PROVIDERS
        .iter()
        .filter(|facts| !facts.is_local())
        .map(|facts| super::item(facts.name, facts.display))
        .collect()
}
