//! A connection over HTTP on a recording: what is said is written down, or a recording speaks for the server (MCP-20).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, watch};
use zori_core::secret::REDACTED;
use zori_core::tape::{PlayedConnection, TapeEvent, TapeFailure, WriteTape};

use super::elicitation;
use super::peer::{Outgoing, Peer, RpcFailure};

/// Writes down what is said on one connection. What a person enters in a field that looks like a secret is left out.
pub struct Tap {
    tape: Arc<dyn WriteTape>,
    server: String,
    connection: u32,
    /// The fields of forms that look like a secret.
    secret: Mutex<BTreeSet<String>>,
}

impl Tap {
    /// Begins a connection to this server.
    pub fn new(tape: Arc<dyn WriteTape>, server: &str) -> Self {
        let connection = tape.connect(server);
        Self { tape, server: server.to_owned(), connection, secret: Mutex::default() }
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
        self.write(TapeEvent::Sent(message));
    }

    /// Takes down a message of the server's.
    pub fn received(&self, message: &Value) {
        let asked = (message["method"] == "elicitation/create").then(|| &message["params"]);
        let rounds = message["result"]["inputRequests"].as_object().into_iter().flatten();
        let forms = asked.into_iter().chain(rounds.map(|(_, request)| &request["params"]));
        let names = forms.flat_map(|form| elicitation::secret_fields(&form["requestedSchema"]));
        self.secret.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
        self.write(TapeEvent::Received(message.clone()));
    }

    /// Takes down that a request failed on its way.
    pub fn failed(&self, id: u64, why: &RpcFailure) {
        self.write(TapeEvent::Failed(id, written(why)));
    }

    /// Takes down that the connection ended.
    pub fn closed(&self, why: &RpcFailure) {
        self.write(TapeEvent::Closed(written(why)));
    }

    fn write(&self, event: TapeEvent) {
        self.tape.write(&self.server, self.connection, event);
    }
}

fn written(why: &RpcFailure) -> TapeFailure {
    match why.clone() {
        RpcFailure::Error { code, message } => TapeFailure::Refused(code, message),
        RpcFailure::Closed(why) => TapeFailure::Gone(why),
        RpcFailure::NeedsAuth(why) => TapeFailure::NeedsLogin(why),
    }
}

fn read(failure: TapeFailure) -> RpcFailure {
    match failure {
        TapeFailure::Refused(code, message) => RpcFailure::Error { code, message },
        TapeFailure::Gone(why) => RpcFailure::Closed(why),
        TapeFailure::NeedsLogin(why) => RpcFailure::NeedsAuth(why),
    }
}

/// Has a recording answer what is sent until it is stopped.
pub async fn play(
    mut played: Box<dyn PlayedConnection>,
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
                TapeEvent::Sent(_) => {}
                TapeEvent::Received(message) => peer.receive(message),
                TapeEvent::Failed(id, why) => peer.fail(id, read(why)),
                TapeEvent::Closed(why) => peer.close(read(why)),
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
    struct Written(Mutex<Vec<TapeEvent>>);

    impl WriteTape for Written {
        fn connect(&self, _: &str) -> u32 {
            1
        }

        fn write(&self, _: &str, _: u32, event: TapeEvent) {
            self.0.lock().unwrap().push(event);
        }
    }

    /// Both ways in which a server asks: what is entered in a field that looks like a secret is not written down.
    #[test]
    fn secrets_of_forms_are_left_out() {
        let written = Arc::new(Written::default());
        let tap = Tap::new(written.clone(), "s");
        let form = json!({"requestedSchema": {"properties": {
            "name": {"type": "string"}, "api_key": {"type": "string"}, "code": {"type": "integer", "format": "password"}}}});
        let answer = |key: &str, code: Value| json!({"action": "accept", "content": {"name": "Ada", "api_key": key, "code": code}});
        tap.received(&json!({"id": "f", "method": "elicitation/create", "params": form}));
        tap.sent(&json!({"id": "f", "result": answer("k-123", 7.into())}));
        tap.sent(&json!({"id": 1, "method": "tools/call", "params": {"inputResponses": {"who": answer("k-123", 7.into())}}}));
        let hidden = answer(REDACTED, REDACTED.into());
        let events = written.0.lock().unwrap();
        assert_eq!(
            events[1..],
            [
                TapeEvent::Sent(json!({"id": "f", "result": hidden})),
                TapeEvent::Sent(
                    json!({"id": 1, "method": "tools/call", "params": {"inputResponses": {"who": hidden}}})
                ),
            ]
        );
    }

    /// The form may be the answer to a request.
    #[test]
    fn forms_that_are_answers() {
        let written = Arc::new(Written::default());
        let tap = Tap::new(written.clone(), "s");
        let form = json!({"method": "elicitation/create", "params": {"requestedSchema": {"properties": {"token": {"type": "string"}}}}});
        tap.received(
            &json!({"id": 1, "result": {"resultType": "input_required", "inputRequests": {"a": form}}}),
        );
        tap.sent(&json!({"id": 2, "params": {"inputResponses": {"a": {"content": {"token": "t-1"}}}}}));
        let TapeEvent::Sent(sent) = &written.0.lock().unwrap()[1] else { panic!("it was sent") };
        assert_eq!(sent["params"]["inputResponses"]["a"]["content"]["token"], REDACTED);
    }
}
