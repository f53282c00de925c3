//! MCP servers that the client of a protocol describes. A client sends values, and refers to nothing.

use serde_json::{Map, Value};
use zori_mcp::client::config::{self, Source};
use zori_mcp::client::{ServerConfig, Variables};

/// What a client's descriptions come to.
#[derive(Debug, Default)]
pub(crate) struct DescribedServers {
    /// Those that can be used.
    pub(crate) usable: Vec<ServerConfig>,
    /// Those that live in the client.
    pub(crate) sdk: Vec<String>,
    /// Those that cannot be used, with why.
    pub(crate) unusable: Vec<(String, String)>,
}

impl DescribedServers {
    /// Reads them one by one, so that a bad one costs itself alone.
    pub(crate) fn read(described: impl IntoIterator<Item = (String, Value)>) -> Self {
        let mut all = Self::default();
        for (name, value) in described {
            let one: Map<String, Value> = [(name.clone(), value)].into_iter().collect();
            let read = match config::read(&one, Source::Client, &NoVariables) {
                Ok(read) => read,
                Err(why) => {
                    all.unusable.push((name, why));
                    continue;
                }
            };
            all.sdk.extend(read.sdk);
            for server in read.servers {
                match server.broken.clone() {
                    Some(why) => all.unusable.push((name.clone(), why)),
                    None => all.usable.push(server),
                }
            }
        }
        all
    }
}

struct NoVariables;

impl Variables for NoVariables {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn withheld(&self, _: &str) -> bool {
        true
    }

    fn hijacks(&self, _: &str) -> bool {
        false
    }

    fn vault(&self, name: &str) -> Result<String, String> {
        Err(format!("a client cannot name `vault:{name}`"))
    }
}
