//! Hearing of changes from a server that speaks the newer protocol: a request whose answer stays open (MCP-34).
//!
//! What a server says while nobody listens is lost, so a stream that was opened again is a reason to list everything again; `server.rs`
//! does that when it hears that the stream stands.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::handshake::{Greeting, Opening};
use super::peer::{Peer, RpcFailure};

/// How long is waited before a stream that ended is asked for again.
const PAUSES: Pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// The request.
pub const METHOD: &str = "subscriptions/listen";

/// How long is waited: twice as long each time, and from the beginning after a stream that stood for the longest pause.
#[derive(Clone, Copy)]
struct Pauses {
    first: Duration,
    longest: Duration,
}

/// Returns what to ask a server for; `None` where it tells of no changes, or tells of them unasked.
pub fn wanted(greeting: &Greeting) -> Option<Value> {
    if greeting.opening != Opening::Discover {
        return None;
    }
    let kinds = [
        ("tools", "toolsListChanged"),
        ("resources", "resourcesListChanged"),
        ("prompts", "promptsListChanged"),
    ];
    let told = kinds.into_iter().filter(|(kind, _)| greeting.capabilities[*kind]["listChanged"] == true);
    let wanted: Map<String, Value> = told.map(|(_, field)| (field.to_owned(), true.into())).collect();
    (!wanted.is_empty()).then(|| wanted.into())
}

/// Hears of changes as long as the server can be asked for them; what it says goes where everything goes that it says by itself.
pub async fn listen(peer: Arc<Peer>, wanted: Value) {
    listen_with(peer, wanted, PAUSES).await;
}

async fn listen_with(peer: Arc<Peer>, wanted: Value, pauses: Pauses) {
    let mut pause = pauses.first;
    loop {
        let mut stream = pin!(peer.call(METHOD, json!({ "notifications": wanted }), None));
        let ended = tokio::select! {
            ended = &mut stream => ended,
            () = tokio::time::sleep(pauses.longest) => {
                pause = pauses.first;
                stream.await
            }
        };
        match ended {
            // It cannot, whatever it said of itself.
            Err(RpcFailure::Error { .. } | RpcFailure::NeedsAuth(_)) => return,
            // It was closed, politely or not.
            Ok(_) | Err(RpcFailure::Closed(_)) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(pauses.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::handshake::ServerFacts;

    #[test]
    fn asked_for_is_what_the_server_tells_of() {
        let of = |opening, capabilities| {
            let greeting = Greeting { facts: ServerFacts::default(), capabilities, opening };
            wanted(&greeting).map(|wanted| wanted.to_string())
        };
        let all = json!({"tools": {"listChanged": true}, "prompts": {"listChanged": false}, "resources": {"listChanged": true}});
        let asked = r#"{"toolsListChanged":true,"resourcesListChanged":true}"#;
        assert_eq!(of(Opening::Discover, all.clone()).as_deref(), Some(asked));
        assert_eq!(of(Opening::Initialize, all), None);
        assert_eq!(of(Opening::Discover, json!({"tools": {}})), None);
    }

    /// A stream that ends is asked for again; a server that cannot is left alone.
    #[test]
    fn asked_for_again_and_given_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (peer, mut queue, _heard) = Peer::new(false, None);
            let server = async {
                for last in [false, false, true] {
                    let sent = queue.recv().await.unwrap().message;
                    assert_eq!(
                        (&sent["method"], &sent["params"]["notifications"]),
                        (&METHOD.into(), &json!({"a": true}))
                    );
                    let error = json!({"code": -32601, "message": "no"});
                    peer.receive(match last {
                        false => json!({"jsonrpc": "2.0", "id": sent["id"], "result": {}}),
                        true => json!({"jsonrpc": "2.0", "id": sent["id"], "error": error}),
                    });
                }
            };
            let pauses = Pauses { first: Duration::from_millis(1), longest: Duration::from_secs(60) };
            tokio::join!(listen_with(peer.clone(), json!({"a": true}), pauses), server);
        });
    }
}
