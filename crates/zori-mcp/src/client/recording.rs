//! A connection over HTTP on a recording: what is said is written down, or a recording speaks for the server (MCP-20).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, watch};
use zori_core::secret::REDACTED;
use zori_core::server_recording::{ConnectionEvent, ConnectionFailure, RecordServers, ReplayedConnection};

use super::elicitation;
use super::peer::{Outgoing, Peer, RpcFailure};

/// Writes down what is said on one connection. What a person enters in a field that looks like a secret is left out.
pub struct ConnectionRecorder {
    recording: Arc<dyn RecordServers>,
    server: String,
    connection: u32,
    /// The fields of forms that look like a secret.
    secret: Mutex<BTreeSet<String>>,
}

impl ConnectionRecorder {
    /// Begins a connection to this server.
    pub fn new(recording: Arc<dyn RecordServers>, server: &str) -> Self {
        let connection = recording.connect(server);
        Self { recording, server: server.to_owned(), connection, secret: Mutex::default() }
    }

    /// Takes down a message to the server.
    pub fn sent(&self, message: &Value) {
        let mut message = message.clone();
        let secret = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
        let mut hide = |answer: &mut Value| {
            let content = answer.get_mut("content").and_then(Value::as_object_mut);
            let entered = content.into_iter().flatten().filter(|(name, _)| secret.contains(*name));
            entered.for_each(|(_, value)| *value = REDACTED.into());
        };
        message.get_mut("result").into_iter().for_each(&mut hide);
        let responses = message.pointer_mut("/params/inputResponses").and_then(Value::as_object_mut);
        responses.into_iter().flatten().for_each(|(_, answer)| hide(answer));
        drop(secret);
        self.write(ConnectionEvent::Sent(message));
    }

    /// Takes down a message of the server's.
    pub fn received(&self, message: &Value) {
        let asked = (message["method"] == "elicitation/create").then(|| &message["params"]);
        let rounds = message["result"]["inputRequests"].as_object().into_iter().flatten();
        let forms = asked.into_iter().chain(rounds.map(|(_, request)| &request["params"]));
        let names = forms.flat_map(|form| elicitation::secret_fields(&form["requestedSchema"]));
        self.secret.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
        self.write(ConnectionEvent::Received(message.clone()));
    }

    /// Takes down that a request failed on its way.
    pub fn failed(&self, id: u64, why: &RpcFailure) {
        self.write(ConnectionEvent::Failed(id, written(why)));
    }

    /// Takes down that the connection ended.
    pub fn closed(&self, why: &RpcFailure) {
        self.write(ConnectionEvent::Closed(written(why)));
    }

    fn write(&self, event: ConnectionEvent) {
        self.recording.write(&self.server, self.connection, event);
    }
}

fn written(why: &RpcFailure) -> ConnectionFailure {
    match why.clone() {
        RpcFailure::Error { code, message } => ConnectionFailure::Refused(code, message),
        RpcFailure::Closed(why) => ConnectionFailure::Gone(why),
        RpcFailure::NeedsAuth(why) => ConnectionFailure::NeedsLogin(why),
    }
}

fn read(failure: ConnectionFailure) -> RpcFailure {
    match failure {
        ConnectionFailure::Refused(code, message) => RpcFailure::Error { code, message },
        ConnectionFailure::Gone(why) => RpcFailure::Closed(why),
        ConnectionFailure::NeedsLogin(why) => RpcFailure::NeedsAuth(why),
    }
}

/// Has a recording answer what is sent until it is stopped.
pub async fn play(
    mut played: Box<dyn ReplayedConnection>,
    peer: Arc<Peer>,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        let sent = tokio::select! {
            biased;
            () = async { drop(stop.wait_for(|stop| *stop).await) } => break,
            _ = peer.closed() => return,
            sent = queue.recv() => sent,
        };
        let Some(sent) = sent else { break };
        for event in played.sent(&sent.message) {
            match event {
                ConnectionEvent::Sent(_) => {}
                ConnectionEvent::Received(message) => peer.receive(message),
                ConnectionEvent::Failed(id, why) => peer.fail(id, read(why)),
                ConnectionEvent::Closed(why) => peer.close(read(why)),
            }
        }
    }
    peer.stop();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Default)]
    struct Written(Mutex<Vec<ConnectionEvent>>);

    impl RecordServers for Written {
        fn connect(&self, _: &str) -> u32 {
            1
        }

        fn write(&self, _: &str, _: u32, event: ConnectionEvent) {
            self.0.lock().unwrap().push(event);
        }
    }

    /// Both ways in which a server asks: what is entered in a field that looks like a secret is not written down.
    #[test]
    fn secrets_of_forms_are_left_out() {
        let written = Arc::new(Written::default());
        let recorder = ConnectionRecorder::new(written.clone(), "s");
        let form = json!({"requestedSchema": {"properties": {
            "name": {"type": "string"}, "api_key": {"type": "string"}, "code": {"type": "integer", "format": "password"}}}});
        let answer = |key: &str, code: Value| json!({"action": "accept", "content": {"name": "Ada", "api_key": key, "code": code}});
        recorder.received(&json!({"id": "f", "method": "elicitation/create", "params": form}));
        recorder.sent(&json!({"id": "f", "result": answer("k-123", 7.into())}));
        recorder.sent(&json!({"id": 1, "method": "tools/call", "params": {"inputResponses": {"who": answer("k-123", 7.into())}}}));
        let hidden = answer(REDACTED, REDACTED.into());
        let events = written.0.lock().unwrap();
        assert_eq!(
            events[1..],
            [
                ConnectionEvent::Sent(json!({"id": "f", "result": hidden})),
                ConnectionEvent::Sent(
                    json!({"id": 1, "method": "tools/call", "params": {"inputResponses": {"who": hidden}}})
                ),
            ]
        );
    }

    /// The form may be the answer to a request.
    #[test]
    fn forms_that_are_answers() {
        let written = Arc::new(Written::default());
        let recorder = ConnectionRecorder::new(written.clone(), "s");
        let form = json!({"method": "elicitation/create", "params": {"requestedSchema": {"properties": {"token": {"type": "string"}}}}});
        recorder.received(
            &json!({"id": 1, "result": {"resultType": "input_required", "inputRequests": {"a": form}}}),
        );
        recorder.sent(&json!({"id": 2, "params": {"inputResponses": {"a": {"content": {"token": "t-1"}}}}}));
        let ConnectionEvent::Sent(sent) = &written.0.lock().unwrap()[1] else { panic!("it was sent") };
        assert_eq!(sent["params"]["inputResponses"]["a"]["content"]["token"], REDACTED);
    }
}
