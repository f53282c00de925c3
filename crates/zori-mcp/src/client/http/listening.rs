//! The streams of a server over HTTP: what it says by itself, and all answers of the older form (MCP-23).

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::watch;
use zori_core::transport::{HttpResponse, Method, Timeouts};

use super::events::{self, StreamPosition};
use super::{Carrier, FRUITLESS, joined};
use crate::client::peer::{Peer, RpcFailure};

/// How long the older form may take to say where messages go.
const ENDPOINT: Duration = Duration::from_secs(15);
/// How long what may make a server ask back waits for the stream of what a server says by itself.
const ATTENDED: Duration = Duration::from_secs(1);

impl Carrier {
    /// Asks for a stream of events, from where it was.
    pub(super) async fn stream(
        &self,
        position: &StreamPosition,
        limits: Timeouts,
    ) -> Result<HttpResponse, RpcFailure> {
        let mut request = self.request(Method::Get, self.url.clone(), Bytes::new());
        request.limits = limits;
        request.headers.extend(position.last.clone().map(|last| ("last-event-id".into(), last)));
        self.send(request).await
    }

    /// Waits until the server has said whether it speaks by itself: what it asks while a call runs may come on that stream, and is lost where
    /// nobody listens yet. A server that says nothing is waited for once.
    pub(super) async fn until_attended(&self) {
        let Some(mut attended) = self.with_state(|state| state.attended.clone()) else { return };
        let _ = tokio::time::timeout(ATTENDED, attended.wait_for(|attended| *attended)).await;
        self.with_state(|state| state.attended = None);
    }

    /// Listens to what a server says by itself, beside everything else, if it has such a stream. `attended` is told when it has answered.
    pub(super) fn attend(self: &Arc<Self>, peer: &Arc<Peer>, attended: watch::Sender<bool>) {
        if self.with_state(|state| state.events || !state.streams.is_empty()) {
            return;
        }
        // The carrier is not to live for its own stream.
        let (carrier, peer) = (Arc::downgrade(self), peer.clone());
        let limits = self.patient();
        let listening = tokio::spawn(async move {
            let (mut position, mut fruitless) = (StreamPosition::default(), 0);
            while fruitless < FRUITLESS {
                let Some(carrier) = carrier.upgrade() else { return };
                let asked = carrier.stream(&position, limits).await;
                drop(carrier);
                attended.send_replace(true);
                let before = position.last.clone();
                match asked {
                    Ok(response) if response.status == 200 => {
                        let mut heard = false;
                        let _ = events::read(response, &mut position, |_, data| {
                            if let Ok(said) = serde_json::from_str::<Value>(data) {
                                heard = true;
                                peer.receive(said);
                            }
                            true
                        })
                        .await;
                        fruitless = if heard || position.last != before { 0 } else { fruitless + 1 };
                    }
                    Err(RpcFailure::Closed(_)) => fruitless += 1,
                    // It has none.
                    _ => return,
                }
                tokio::time::sleep(position.pause()).await;
            }
        });
        self.with_state(|state| state.streams.push(listening.abort_handle()));
    }

    /// Waits until the older form says where messages go, where that is spoken.
    pub(super) async fn events_ready(self: &Arc<Self>, peer: &Arc<Peer>) -> Result<(), RpcFailure> {
        if self.with_state(|state| !state.events || !state.streams.is_empty()) {
            return Ok(());
        }
        let (ready, mut is_ready) = watch::channel(false);
        let listening = tokio::spawn(listen(Arc::downgrade(self), peer.clone(), ready));
        self.with_state(|state| state.streams.push(listening.abort_handle()));
        match tokio::time::timeout(ENDPOINT, is_ready.wait_for(|ready| *ready)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(RpcFailure::Closed("it did not say where messages go".to_owned())),
        }
    }
}

/// Reads the stream of the older form, which brings all answers. Returns when it ends.
async fn listen(carrier: Weak<Carrier>, peer: Arc<Peer>, ready: watch::Sender<bool>) {
    let Some(strong) = carrier.upgrade() else { return };
    let url = strong.url.clone();
    let limits = Timeouts { idle: None, pings: None, ..strong.limits };
    let asked = strong.stream(&StreamPosition::default(), limits).await;
    drop(strong);
    let ended = match asked {
        Err(why) => why,
        Ok(response) if response.status != 200 => {
            RpcFailure::Closed(format!("it answered with the HTTP status {}", response.status))
        }
        Ok(response) => {
            let mut position = StreamPosition::default();
            let read = events::read(response, &mut position, |event, data| {
                if event == "endpoint" {
                    let place = joined(&url, data.trim());
                    if let Some(carrier) = carrier.upgrade() {
                        carrier.with_state(|state| state.endpoint = place);
                    }
                    ready.send_replace(true);
                } else if let Ok(said) = serde_json::from_str::<Value>(data) {
                    peer.receive(said);
                }
                true
            });
            read.await.err().unwrap_or_else(|| RpcFailure::Closed("it closed its stream".to_owned()))
        }
    };
    peer.close(ended);
    ready.send_replace(true);
}
