//! A [`Transport`] that answers from a recording and says where the run leaves it. It has no way to the network.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use zori_core::BoxFuture;
use zori_core::transport::{HttpRequest, HttpResponse, Method, Transport, TransportFailure};

use super::calls::{self, CallResult};
use super::compare::{self, Difference};
use super::secrets::harmless_url;
use super::{Answer, RecordedExchange};

/// What to do with a request that is not the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It gets no answer.
    Strict,
    /// It gets the recorded answer anyway, and the difference is noted.
    Lenient,
}

/// The working directories of the recorded run and of this one: tools name it in their results, so the two count as the
/// same.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The one of the recorded run.
    pub recorded: String,
    /// The one of this run.
    pub present: String,
}

impl Folders {
    /// Returns a request's body as it would be in the recorded directory.
    pub(super) fn moved(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let escaped = |path: &str| {
            let quoted = Value::String(path.to_owned()).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let (from, to) = (escaped(&self.present), escaped(&self.recorded));
        if from == to || from.len() < 2 {
            return text.into_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some(at) = rest.find(&from) {
            let behind = &rest[at + from.len()..];
            // `/home/ada` is not the beginning of `/home/adam`.
            let goes_on = behind.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
            out.push_str(&rest[..at]);
            out.push_str(if goes_on { &from } else { &to });
            rest = behind;
        }
        out.push_str(rest);
        out
    }
}

/// How a run departed from its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// A tool's result differs.
    ToolResult,
    /// Something else in a request differs.
    Request,
    /// The recording has no more requests.
    Beyond,
}

/// Answers each request as the recorded one was answered. Those that ask a model are taken in order; pages, which
/// tools may fetch side by side, by their address.
pub struct Player {
    strictness: Strictness,
    folders: Folders,
    state: Mutex<State>,
}

struct State {
    /// With whether it was asked for.
    traffic: Vec<(RecordedExchange, bool)>,
    notes: Vec<String>,
    departure: Option<Departure>,
}

impl Player {
    /// Takes the traffic of a recording.
    pub fn new(traffic: Vec<RecordedExchange>, folders: Folders, strictness: Strictness) -> Self {
        let traffic = traffic.into_iter().map(|recorded| (recorded, false)).collect();
        Self { strictness, folders, state: Mutex::new(State { traffic, notes: Vec::new(), departure: None }) }
    }

    /// Returns the differences that were noted since the last call.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().notes)
    }

    /// Returns how the run departed from the recording, if a request got no answer.
    pub fn departure(&self) -> Option<Departure> {
        self.lock().departure
    }

    /// Returns how many recorded requests were not made.
    pub fn unasked(&self) -> usize {
        self.lock().traffic.iter().filter(|(_, asked)| !asked).count()
    }

    fn answer(&self, request: &HttpRequest) -> Result<HttpResponse, TransportFailure> {
        let url = harmless_url(&request.url);
        let mut state = self.lock();
        let next = match request.method {
            Method::Get | Method::Delete => {
                state.next(|recorded| recorded.method == request.method && same_page(&recorded.url, &url))
            }
            Method::Post | Method::Put => state.next(|recorded| recorded.method == request.method),
        };
        let Some(at) = next else {
            return Err(match request.method {
                Method::Get | Method::Delete => {
                    let method = request.method.as_str();
                    replay(format!("the recording has no answer to {method} {url}"))
                }
                Method::Post | Method::Put => {
                    let all = state.counted();
                    let why = format!("the run asks once more, but the recording has only {all}");
                    state.leave(Departure::Beyond, why)
                }
            });
        };
        if let Some((departure, why)) =
            difference(at + 1, &state.traffic[at].0, &url, &self.folders.moved(&request.body))
        {
            match self.strictness {
                Strictness::Strict => return Err(state.leave(departure, why)),
                Strictness::Lenient => state.notes.push(why),
            }
        }
        state.traffic[at].1 = true;
        match state.traffic[at].0.answer.clone() {
            Answer::Response(answered, exchange) => {
                // Without a redirect the address is the one that was asked, with what is not in the recording.
                let url = if answered == url { request.url.clone() } else { answered };
                Ok(HttpResponse { url, ..exchange.response() })
            }
            Answer::Nothing(failure) => Err(failure),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Player {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(std::future::ready(self.answer(&request)))
    }
}

impl State {
    fn next(&self, wanted: impl Fn(&RecordedExchange) -> bool) -> Option<usize> {
        self.traffic.iter().position(|(recorded, asked)| !asked && wanted(recorded))
    }

    fn counted(&self) -> String {
        match self.traffic.len() {
            1 => "1 request".to_owned(),
            n => format!("{n} requests"),
        }
    }

    fn leave(&mut self, how: Departure, why: String) -> TransportFailure {
        self.departure = Some(how);
        replay(why)
    }
}

fn replay(why: String) -> TransportFailure {
    TransportFailure::Replay(why)
}

/// Whether two addresses are the same; what was taken out of the recorded one is equal to anything.
fn same_page(recorded: &str, present: &str) -> bool {
    let text = |url: &str| Value::String(url.to_owned());
    compare::first_difference(&text(recorded), &text(present)).is_none()
}

/// Says in one sentence how a request differs from the recorded one.
fn difference(
    number: usize,
    recorded: &RecordedExchange,
    url: &str,
    body: &str,
) -> Option<(Departure, String)> {
    if !same_page(&recorded.url, url) {
        let why = format!("request {number} went to {} and now goes to {url}", recorded.url);
        return Some((Departure::Request, why));
    }
    let present = match body {
        "" => Value::Null,
        body => serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned())),
    };
    let Difference { pointer, recorded, present: now } = compare::first_difference(&recorded.body, &present)?;
    let (departure, which) = match calls::result_at(&present, &pointer) {
        None => (Departure::Request, String::new()),
        Some(CallResult { number, name }) => {
            let name = name.map_or_else(String::new, |name| format!(", `{name}`"));
            (Departure::ToolResult, format!(" (the result of call {number}{name})"))
        }
    };
    let why = format!(
        "request {number} differs from the recording at `{pointer}`{which}: recorded `{recorded}`, now `{now}`"
    );
    Some((departure, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_another_directory() {
        let folders = Folders { recorded: "/srv/\"x\"".to_owned(), present: "/home/ada".to_owned() };
        let body = r#"{"a":"/home/ada","b":"in /home/ada/c, not /home/adam"}"#;
        assert_eq!(
            folders.moved(body.as_bytes()),
            r#"{"a":"/srv/\"x\"","b":"in /srv/\"x\"/c, not /home/adam"}"#
        );
        let top = Folders { recorded: "/srv".to_owned(), present: "/".to_owned() };
        assert_eq!(top.moved(body.as_bytes()), body);
    }
}
