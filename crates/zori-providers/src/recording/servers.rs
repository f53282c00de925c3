//! MCP servers on a recording: what is said with them goes to the file, and comes from it on a replay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use zori_core::server_recording::{
    ConnectionEvent, ConnectionFailure, RecordServers, ReplayServers, ReplayedConnection, TIMED_OUT,
};

use super::ServerEvent;
use super::compare::{self, Difference};
use super::player::{Folders, Strictness};
use super::recorder::Recorder;

/// Greetings say who asks, which may be another version.
const GREETINGS: &[&str] = &["initialize", "server/discover"];

/// Why a call fails that was interrupted in the recorded run.
const GIVEN_UP: &str = "the recorded run did not wait for its answer";
/// A request that stays open until the run ends.
const LISTENING: &str = "subscriptions/listen";

/// Writes to a recording. What is said before its file is made waits for that.
#[derive(Default)]
pub struct ServerWriter {
    state: Mutex<Writing>,
}

#[derive(Default)]
struct Writing {
    recorder: Option<Arc<Recorder>>,
    waiting: Vec<ServerEvent>,
    connections: BTreeMap<String, u32>,
}

impl ServerWriter {
    /// Writes to this recording from now on, first what waits.
    pub fn attach(&self, recorder: &Arc<Recorder>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.waiting).into_iter().for_each(|event| recorder.server(event));
        state.recorder = Some(recorder.clone());
    }
}

impl RecordServers for ServerWriter {
    fn connect(&self, server: &str) -> u32 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.connections.entry(server.to_owned()).or_default();
        *number += 1;
        *number
    }

    fn write(&self, server: &str, connection: u32, event: ConnectionEvent) {
        let happened = ServerEvent { server: server.to_owned(), connection, event };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.recorder {
            Some(recorder) => recorder.server(happened),
            None => state.waiting.push(happened),
        }
    }
}

/// Answers in place of the servers of a recording.
pub struct ServerPlayer {
    /// What is left, by server and number of connection.
    connections: Mutex<BTreeMap<(String, u32), Vec<ConnectionEvent>>>,
    folders: Folders,
    strictness: Strictness,
}

impl ServerPlayer {
    /// Takes what was said with the servers of a recording.
    pub fn new(events: Vec<ServerEvent>, folders: Folders, strictness: Strictness) -> Self {
        let mut connections: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for ServerEvent { server, connection, event } in events {
            connections.entry((server, connection)).or_default().push(event);
        }
        Self { connections: Mutex::new(connections), folders, strictness }
    }
}

impl ReplayServers for ServerPlayer {
    fn connect(&self, server: &str) -> Option<Box<dyn ReplayedConnection>> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let first = connections.keys().find(|(name, _)| name == server)?.clone();
        let events = connections.remove(&first)?;
        let (folders, strictness) = (self.folders.clone(), self.strictness);
        Some(Box::new(Connection {
            events: Recorded::all(events),
            ids: BTreeMap::new(),
            folders,
            strictness,
        }))
    }
}

/// A recorded event.
struct Recorded {
    event: ConnectionEvent,
    /// Whether it has happened again.
    past: bool,
    is_request: bool,
    /// Where the request stands that it answers.
    request: Option<usize>,
    /// Where the answer stands, if it is a request that has one.
    answer: Option<usize>,
}

impl Recorded {
    /// Finds out which events of a connection answer which. A call that the recorded run gave up fails where it did.
    fn all(events: Vec<ConnectionEvent>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::with_capacity(events.len());
        let mut requests: BTreeMap<u64, usize> = BTreeMap::new();
        for event in events {
            if let Some(request) = answered_id(&event).and_then(|id| requests.get(&id).copied()) {
                // What came after it was given up reached nobody.
                if all[request].answer.is_none() {
                    all[request].answer = Some(all.len());
                    all.push(Self { request: Some(request), ..event.into() });
                }
                continue;
            }
            if let ConnectionEvent::Sent(sent) = &event
                && let Some(id) = request_id(sent)
            {
                requests.insert(id, all.len());
            }
            let given_up = given_up_id(&event);
            all.push(event.into());
            if let Some(id) = given_up
                && let Some(&request) = requests.get(&id)
                && all[request].answer.is_none()
                && !matches!(&all[request].event, ConnectionEvent::Sent(sent) if sent["method"] == LISTENING)
            {
                all[request].answer = Some(all.len());
                let failed = ConnectionEvent::Failed(id, ConnectionFailure::Gone(GIVEN_UP.to_owned()));
                all.push(Self { request: Some(request), ..failed.into() });
            }
        }
        all
    }
}

impl From<ConnectionEvent> for Recorded {
    fn from(event: ConnectionEvent) -> Self {
        let is_request = matches!(&event, ConnectionEvent::Sent(sent) if request_id(sent).is_some());
        Self { event, past: false, is_request, request: None, answer: None }
    }
}

/// One connection. A message is answered as the recorded one was that is the same, whatever the order: what was said side by side may come in
/// another one.
struct Connection {
    events: Vec<Recorded>,
    /// The present id of each recorded request that was made.
    ids: BTreeMap<u64, u64>,
    folders: Folders,
    strictness: Strictness,
}

impl ReplayedConnection for Connection {
    fn sent(&mut self, message: &Value) -> Vec<ConnectionEvent> {
        let mut now = Vec::new();
        let present: Value =
            serde_json::from_str(&self.folders.moved(message.to_string().as_bytes())).unwrap_or_default();
        match (request_id(message), self.recorded(&present)) {
            (Some(id), Err(why)) => now.push(ConnectionEvent::Failed(id, ConnectionFailure::Gone(why))),
            // What is only told is not waited for.
            (None, Err(why)) if message.get("method").is_none() => self.refuse_answered(message, why),
            (None, Err(_)) => {}
            (id, Ok(at)) => {
                self.events[at].past = true;
                if let (Some(id), Some(recorded)) = (id, self.request_at(at)) {
                    self.ids.insert(recorded, id);
                }
            }
        }
        now.extend(self.due());
        now
    }
}

impl Connection {
    /// Finds the recorded message that this one is. An error says why there is none.
    fn recorded(&self, present: &Value) -> Result<usize, String> {
        let mut nearest = None;
        for (at, recorded) in self.events.iter().enumerate().filter(|(_, recorded)| !recorded.past) {
            let ConnectionEvent::Sent(sent) = &recorded.event else { continue };
            let same_kind = match present.get("method") {
                Some(method) => sent.get("method") == Some(method),
                None => sent.get("method").is_none() && sent["id"] == present["id"],
            };
            if !same_kind {
                continue;
            }
            match difference(sent, present) {
                None => return Ok(at),
                Some(difference) => drop(nearest.get_or_insert((at, difference))),
            }
        }
        let what = match present["method"].as_str() {
            Some(method) => format!("`{method}`"),
            None => "the answer to its form".to_owned(),
        };
        match nearest {
            Some((at, _)) if self.strictness == Strictness::Lenient => Ok(at),
            Some((_, Difference { pointer, recorded, present })) => Err(format!(
                "{what} differs from the recording at `{pointer}`: recorded `{recorded}`, now `{present}`"
            )),
            None => Err(format!("the recording has no answer to {what}")),
        }
    }

    /// Fails the request that a form was about which is answered otherwise now.
    fn refuse_answered(&mut self, answer: &Value, why: String) {
        let is_it =
            |recorded: &Recorded| !recorded.past && form_answered(&recorded.event) == Some(&answer["id"]);
        let Some(at) = self.events.iter().position(is_it) else { return };
        self.events[at].past = true;
        let asked =
            self.events[at..].iter_mut().find(|later| answered_id(&later.event).is_some() && !later.past);
        if let Some(later) = asked
            && let Some(id) = answered_id(&later.event)
        {
            later.event = ConnectionEvent::Failed(id, ConnectionFailure::Gone(why));
        }
    }

    /// Returns what happens now, in the recorded order.
    fn due(&mut self) -> Vec<ConnectionEvent> {
        let (mut due, mut before) = (Vec::new(), Before::default());
        let last_made = self.events.iter().rposition(|recorded| recorded.past && recorded.is_request);
        for at in 0..self.events.len() {
            let recorded = &self.events[at];
            if matches!(recorded.event, ConnectionEvent::Sent(_)) {
                before.sent(at, recorded);
            } else if !recorded.past {
                let is_due = match (answered_id(&recorded.event), recorded.request) {
                    // A form in between is answered first.
                    (Some(_), Some(request)) => {
                        self.events[request].past && before.open_form.is_none_or(|form| form < request)
                    }
                    (Some(_), None) => true,
                    // What a server says by itself.
                    (None, _) => {
                        before.last_made || before.running > at || last_made.is_some_and(|last| last > at)
                    }
                };
                if is_due {
                    self.events[at].past = true;
                    due.push(self.renumbered(self.events[at].event.clone()));
                }
            }
        }
        due
    }

    /// Returns the id of the request that an event is.
    fn request_at(&self, at: usize) -> Option<u64> {
        match &self.events[at].event {
            ConnectionEvent::Sent(sent) => request_id(sent),
            _ => None,
        }
    }

    /// Returns an event with the ids that requests have now.
    fn renumbered(&self, event: ConnectionEvent) -> ConnectionEvent {
        let now = |id: &Value| id.as_u64().and_then(|id| self.ids.get(&id).copied());
        match event {
            ConnectionEvent::Received(mut message) => {
                if message.get("method").is_none() {
                    if let Some(id) = now(&message["id"]) {
                        message["id"] = id.into();
                    }
                } else if let Some(id) = now(&message["params"]["progressToken"]) {
                    message["params"]["progressToken"] = id.into();
                }
                ConnectionEvent::Received(message)
            }
            ConnectionEvent::Failed(id, why) => {
                ConnectionEvent::Failed(self.ids.get(&id).copied().unwrap_or(id), why)
            }
            other => other,
        }
    }
}

/// What was sent before an event.
struct Before {
    /// Whether the last request before it was made again, or there was none.
    last_made: bool,
    /// Until where a request runs that was made again.
    running: usize,
    /// Where the last form was answered that is not answered again yet.
    open_form: Option<usize>,
}

impl Default for Before {
    fn default() -> Self {
        Self { last_made: true, running: 0, open_form: None }
    }
}

impl Before {
    fn sent(&mut self, at: usize, sent: &Recorded) {
        if sent.is_request {
            self.last_made = sent.past;
            self.running = self.running.max(sent.answer.filter(|_| sent.past).unwrap_or_default());
        } else if !sent.past && form_answered(&sent.event).is_some() {
            self.open_form = Some(at);
        }
    }
}

/// Says how a message differs from a recorded one of its kind.
fn difference(recorded: &Value, present: &Value) -> Option<Difference> {
    let method = present["method"].as_str();
    if method.is_some_and(|method| GREETINGS.contains(&method) || request_id(present).is_none()) {
        return None;
    }
    let said = |message: &Value| {
        let mut said = match method {
            Some(_) => message["params"].clone(),
            None => message["result"].clone(),
        };
        if let Some(said) = said.as_object_mut() {
            said.remove("_meta");
        }
        said
    };
    compare::first_difference(&said(recorded), &said(present))
}

/// Returns the id of a request to the server.
fn request_id(message: &Value) -> Option<u64> {
    message["id"].as_u64().filter(|_| message.get("method").is_some())
}

/// Returns the id of the request that an event answers.
fn answered_id(event: &ConnectionEvent) -> Option<u64> {
    match event {
        ConnectionEvent::Received(message) if message.get("method").is_none() => message["id"].as_u64(),
        ConnectionEvent::Failed(id, _) => Some(*id),
        _ => None,
    }
}

/// Returns the id of the server's question that an event answers.
fn form_answered(event: &ConnectionEvent) -> Option<&Value> {
    match event {
        ConnectionEvent::Sent(sent) if sent.get("method").is_none() => {
            sent.get("id").filter(|id| !id.is_null())
        }
        _ => None,
    }
}

/// Returns the id of the request that the run gave up here, before its time was over.
fn given_up_id(event: &ConnectionEvent) -> Option<u64> {
    match event {
        ConnectionEvent::Sent(sent) if sent["method"] == "notifications/cancelled" => {
            let params = &sent["params"];
            params["requestId"].as_u64().filter(|_| params["reason"] != TIMED_OUT)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn connection(
        events: impl IntoIterator<Item = ConnectionEvent>,
        strictness: Strictness,
    ) -> Box<dyn ReplayedConnection> {
        let event = |event| ServerEvent { server: "s".to_owned(), connection: 1, event };
        let folders = Folders { recorded: "/then".to_owned(), present: "/now".to_owned() };
        let player = ServerPlayer::new(events.into_iter().map(event).collect(), folders, strictness);
        assert!(player.connect("other").is_none());
        let first = player.connect("s").expect("it is recorded");
        assert!(player.connect("s").is_none(), "there was one connection");
        first
    }

    fn call(id: u64, tool: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "_meta": {"progressToken": id}}})
    }

    fn result(id: u64, text: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": text})
    }

    fn gone(id: u64, why: &str) -> ConnectionEvent {
        ConnectionEvent::Failed(id, ConnectionFailure::Gone(why.to_owned()))
    }

    use ConnectionEvent::{Received, Sent};

    /// Two calls that ran side by side are made in another order, with other ids.
    #[test]
    fn answers_find_their_requests() {
        let progress = |id: u64| json!({"method": "notifications/progress", "params": {"progressToken": id}});
        let mut played = connection(
            [
                Sent(call(1, "a")),
                Sent(call(2, "b /then/x")),
                Received(progress(2)),
                Received(result(2, "B")),
                Received(result(1, "A")),
            ],
            Strictness::Strict,
        );
        assert_eq!(played.sent(&call(7, "b /now/x")), [Received(progress(7)), Received(result(7, "B"))]);
        assert_eq!(played.sent(&call(8, "a")), [Received(result(8, "A"))]);
        assert_eq!(played.sent(&call(9, "a")), [gone(9, "the recording has no answer to `tools/call`")]);
    }

    /// What a form is answered with is compared, and the call waits for it.
    #[test]
    fn a_form_is_answered_first() {
        let form = json!({"id": "f", "method": "elicitation/create", "params": {}});
        let answer = |name: &str| json!({"id": "f", "result": {"content": {"name": name}}});
        let events =
            || [Sent(call(1, "a")), Received(form.clone()), Sent(answer("Ada")), Received(result(1, "A"))];
        let mut played = connection(events(), Strictness::Strict);
        assert_eq!(played.sent(&call(1, "a")), [Received(form.clone())]);
        assert_eq!(played.sent(&answer("Ada")), [Received(result(1, "A"))]);
        let mut played = connection(events(), Strictness::Strict);
        played.sent(&call(3, "a"));
        let why =
            "the answer to its form differs from the recording at `/content/name`: recorded `Ada`, now `Bob`";
        assert_eq!(played.sent(&answer("Bob")), [gone(3, why)]);
        let mut played = connection(events(), Strictness::Lenient);
        played.sent(&call(3, "a"));
        assert_eq!(played.sent(&answer("Bob")), [Received(result(3, "A"))]);
        // A server that calls all its questions the same.
        let twice = events().into_iter().chain([
            Sent(call(2, "b")),
            Received(form.clone()),
            Sent(answer("Eve")),
            Received(result(2, "B")),
        ]);
        let mut played = connection(twice, Strictness::Strict);
        played.sent(&call(1, "a"));
        assert_eq!(played.sent(&answer("Ada")), [Received(result(1, "A"))]);
        played.sent(&call(2, "b"));
        let why = why.replace("Ada", "Eve");
        assert_eq!(played.sent(&answer("Bob")), [gone(2, &why)]);
    }

    /// What a server says by itself comes when what was asked before it was asked again, or something later.
    #[test]
    fn what_is_said_unasked() {
        let changed = json!({"method": "notifications/tools/list_changed"});
        let list = |id: u64| json!({"id": id, "method": "tools/list", "params": {}});
        let events = || {
            [
                Sent(list(1)),
                Received(result(1, "one")),
                Received(changed.clone()),
                Sent(list(2)),
                Received(result(2, "two")),
                gone(0, "x"),
            ]
        };
        let mut played = connection(events(), Strictness::Strict);
        assert_eq!(
            played.sent(&list(5)),
            [Received(result(5, "one")), Received(changed.clone()), gone(0, "x")]
        );
        assert_eq!(played.sent(&list(6)), [Received(result(6, "two"))]);
        let why = r#"`tools/call` differs from the recording at `/name`: recorded `a`, now `b`"#;
        let mut played = connection(
            [Sent(call(1, "a")), ConnectionEvent::Closed(ConnectionFailure::Gone("x".to_owned()))],
            Strictness::Strict,
        );
        assert_eq!(played.sent(&call(1, "b")), [gone(1, why)]);
        assert_eq!(
            played.sent(&call(2, "a")),
            [ConnectionEvent::Closed(ConnectionFailure::Gone("x".to_owned()))]
        );
    }

    /// A call that was interrupted fails at once, and what came too late for it is left out; one whose time was over waits again.
    #[test]
    fn calls_that_were_given_up() {
        let given_up = |id: u64, reason: &str| json!({"method": "notifications/cancelled", "params": {"requestId": id, "reason": reason}});
        let events = |reason: &str| {
            [Sent(call(1, "a")), Sent(given_up(1, reason)), Received(result(1, "late")), Sent(call(2, "b"))]
        };
        let mut played = connection(events("canceled"), Strictness::Strict);
        assert_eq!(played.sent(&call(5, "a")), [gone(5, GIVEN_UP)]);
        assert_eq!(played.sent(&call(6, "b")), []);
        let mut played = connection(
            [Sent(call(1, "a")), Sent(given_up(1, TIMED_OUT)), Sent(call(2, "b"))],
            Strictness::Strict,
        );
        assert_eq!(played.sent(&call(5, "a")), []);
        // One that was answered before stays answered.
        let [a, b, c, _] = events("canceled");
        let mut played = connection([a, c, b], Strictness::Strict);
        assert_eq!(played.sent(&call(5, "a")), [Received(result(5, "late"))]);
    }

    /// A long connection is played in the time that its length allows.
    #[test]
    fn many_events() {
        const CALLS: u64 = 1_000;
        let told = json!({"method": "notifications/message"});
        let events = (1..=CALLS).flat_map(|id| {
            [Sent(call(id, &id.to_string())), Received(told.clone()), Received(result(id, "x"))]
        });
        let mut played = connection(events, Strictness::Strict);
        for id in 1..=CALLS {
            let came = played.sent(&call(id, &id.to_string()));
            assert_eq!(came, [Received(told.clone()), Received(result(id, "x"))]);
        }
    }
}
