//! `mcp_set_servers`: the MCP servers that a client brings while its session runs, in place of those it brought before
//! (MCP-93). Their tools are listed from the next prompt on.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use zori_core::secret::Secrets;
use zori_mcp::client::config::Source;
use zori_mcp::client::{Changed, McpServers, ServerConfig};
use zori_tools::toolset::ExternalTool;

use super::channel::Channel;
use super::mcp::{self, ClientServers, Connected, Offer};
use crate::client_servers::DescribedServers;

/// The tools of servers that live in the client.
#[derive(Default)]
pub struct ClientTools {
    /// The names of those that the session began with.
    first: Vec<String>,
    offers: Vec<Offer>,
    /// Whether the session has yet to be told.
    changed: bool,
}

impl ClientTools {
    /// Holds the tools that the session begins with.
    pub fn new(offers: Vec<Offer>) -> Self {
        Self { first: offers.iter().map(Offer::name).collect(), offers, changed: false }
    }

    /// Keeps those of these servers.
    fn keep(&mut self, servers: &[String]) {
        self.offers.retain(|offer| servers.iter().any(|server| server == offer.server()));
        self.changed = true;
    }

    pub(super) fn add(&mut self, offers: Vec<Offer>) {
        self.offers.extend(offers);
        self.changed = true;
    }

    /// Returns what the session has to be told: the tools beside those it began with, and the names of those that are gone of
    /// these. `None`: nothing has changed.
    pub fn take_change(&mut self, channel: &Arc<Channel>) -> Option<(Vec<ExternalTool>, Vec<String>)> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let there = |name: &String| self.offers.iter().any(|offer| offer.name() == *name);
        let gone = self.first.iter().filter(|name| !there(name)).cloned().collect();
        let added = self.offers.iter().filter(|offer| !self.first.contains(&offer.name()));
        Some((added.map(|offer| offer.clone().tool(channel)).collect(), gone))
    }
}

/// A change under way: what it came to so far.
pub(super) struct SetServers {
    pub(super) id: String,
    pub(super) connected: Connected,
    changed: Changed,
    errors: BTreeMap<String, String>,
}

impl SetServers {
    /// Returns the answer to the client.
    pub(super) fn answer(&self) -> Value {
        answer(&self.changed, &self.errors)
    }
}

fn answer(changed: &Changed, errors: &BTreeMap<String, String>) -> Value {
    json!({"added": changed.added, "removed": changed.removed, "errors": errors})
}

/// Replaces the servers of a session that runs. Those that are gone end at once; the future waits for those that came.
pub(super) fn replace(
    id: &str,
    described: Map<String, Value>,
    servers: Arc<McpServers>,
    channel: Arc<Channel>,
    own: &mut Vec<zori_frontends::claude::wire::McpServer>,
    tools: &mut ClientTools,
    secrets: &Secrets,
) -> impl Future<Output = SetServers> + Send + 'static {
    let DescribedServers { usable, sdk, unusable } = DescribedServers::read(described);
    know(&usable, secrets);
    let mut changed = servers.replace(|config| config.source == Source::Client, usable);
    let external = changed.added.clone();
    changed.removed.extend(own.iter().map(|server| server.name.clone()).filter(|name| !sdk.contains(name)));
    own.retain(|server| server.status == "connected" && sdk.contains(&server.name));
    tools.keep(&sdk);
    let known = |name: &String| own.iter().any(|server| server.name == *name);
    let named =
        ClientServers { sdk: sdk.into_iter().filter(|name| !known(name)).collect(), external: Vec::new() };
    changed.added.extend(named.sdk.iter().cloned());
    changed.removed.retain(|name| !changed.added.contains(name));
    let (id, mut errors) = (id.to_owned(), unusable.into_iter().collect::<BTreeMap<_, _>>());
    async move {
        let (connected, failed) = tokio::join!(mcp::connect(&channel, &named), servers.settle(&external));
        errors.extend(failed);
        errors.extend(connected.failed.iter().cloned());
        SetServers { id, connected, changed, errors }
    }
}

/// Takes the servers of a client that has not said its first prompt: they start with the session. Returns the answer.
pub async fn before_the_session(
    described: Map<String, Value>,
    external: &mut Vec<ServerConfig>,
    named: &mut ClientServers,
    connected: &mut Connected,
    channel: &Arc<Channel>,
    secrets: &Secrets,
) -> Value {
    let DescribedServers { usable, sdk, unusable } = DescribedServers::read(described);
    know(&usable, secrets);
    let is_own = |server: &&ServerConfig| server.source == Source::Client;
    let before: Vec<String> = external.iter().filter(is_own).map(|server| server.name.clone()).collect();
    let mut changed = Changed::default();
    let came = |name: &String| usable.iter().any(|server| server.name == *name) || sdk.contains(name);
    changed.removed.extend(before.into_iter().chain(named.sdk.clone()).filter(|name| !came(name)));
    let same = |server: &ServerConfig| external.contains(server);
    changed.added.extend(usable.iter().filter(|server| !same(server)).map(|server| server.name.clone()));
    external.retain(|server| {
        server.source != Source::Client && usable.iter().all(|other| other.name != server.name)
    });
    external.extend(usable);
    connected.servers.retain(|server| server.status == "connected" && sdk.contains(&server.name));
    connected.tools.retain(|offer| sdk.iter().any(|name| name == offer.server()));
    let known = |name: &&String| connected.servers.iter().any(|server| server.name == **name);
    let new: Vec<String> = sdk.iter().filter(|name| !known(name)).cloned().collect();
    changed.added.extend(new.iter().cloned());
    named.sdk = sdk;
    let more = mcp::connect(channel, &ClientServers { sdk: new, external: Vec::new() }).await;
    let errors = unusable.into_iter().chain(more.failed.iter().cloned()).collect();
    connected.add(more);
    answer(&changed, &errors)
}

/// Has the secrets of servers taken out of whatever is printed or logged.
fn know(servers: &[ServerConfig], secrets: &Secrets) {
    let values = servers.iter().flat_map(ServerConfig::secret_values);
    values.for_each(|value| secrets.add(&value.into()));
}
