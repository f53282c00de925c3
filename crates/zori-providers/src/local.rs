//! Discovers servers on this machine that nobody configured (DECISIONS 3).
//!
//! A port is not asked before the system's table of sockets says that its listener belongs to the user or to root:
//! prompts must not go to another user of a shared machine (DECISIONS 35). Where there is no such table, nothing is
//! found.

mod sockets;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use zori_core::time::Timestamp;
use zori_core::transport::{Timeouts, Transport};

use crate::catalog::{self, ProviderFacts};
use crate::models;

/// How long looking may take in all (DECISIONS 3).
pub const MAX_SEARCH: Duration = Duration::from_millis(300);

/// The providers whose usual ports are looked at, in the order they are preferred.
pub const USUAL: [&str; 4] = ["ollama", "llamacpp", "lmstudio", "vllm"];

/// An address where a server may listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which server it would be.
    pub facts: &'static ProviderFacts,
    /// The port on 127.0.0.1.
    pub port: u16,
}

/// A server that answered, with at least one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Which server it is, going by its port.
    pub facts: &'static ProviderFacts,
    /// Where its API is.
    pub base_url: String,
    /// Its models, in its own order.
    pub models: Vec<String>,
}

/// Returns the usual places.
pub fn usual_candidates() -> Vec<Candidate> {
    let facts = USUAL.into_iter().filter_map(catalog::provider);
    facts.filter_map(|facts| Some(Candidate { facts, port: port_of(facts.default_base_url)? })).collect()
}

/// Asks all places at once and returns who answered within `limit`, in the order of the places.
///
/// `transport` must go there directly, not through a proxy. `sockets` is the folder of the system's tables,
/// `/proc/net`, and `uid` the user's.
pub async fn discover(
    transport: &Arc<dyn Transport>,
    places: &[Candidate],
    sockets: &Path,
    uid: u32,
    limit: Duration,
) -> Vec<LocalServer> {
    let tables = sockets::Tables::read(sockets);
    let mut asked = JoinSet::new();
    for (at, place) in places.iter().enumerate() {
        if tables.trusted(place.port, uid) {
            let (transport, place) = (Arc::clone(transport), place.clone());
            let answer = async move { (at, ask(&*transport, &place).await) };
            asked.spawn(tokio::time::timeout(limit, answer));
        }
    }
    let mut found = Vec::new();
    // Who has not answered in time is dropped with the set; a task that failed found nothing.
    while let Some(joined) = asked.join_next().await {
        if let Ok(Ok((at, Some(server)))) = joined {
            found.push((at, server));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, server)| server).collect()
}

async fn ask(transport: &dyn Transport, place: &Candidate) -> Option<LocalServer> {
    let base_url = format!("http://127.0.0.1:{}/v1", place.port);
    // No key, and nothing to wait for: whoever wants either is not found but named.
    let models =
        models::list(transport, &base_url, Vec::new(), Timeouts::DEFAULT, Timestamp(0)).await.ok()?;
    (!models.is_empty()).then_some(LocalServer { facts: place.facts, base_url, models })
}

fn port_of(url: &str) -> Option<u16> {
    url.strip_prefix("http://127.0.0.1:")?.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_places() {
        let places: Vec<_> = usual_candidates().iter().map(|p| (p.facts.name, p.port)).collect();
        assert_eq!(places, [("ollama", 11434), ("llamacpp", 8080), ("lmstudio", 1234), ("vllm", 8000)]);
    }
}
