//! A connection that ends, is reset or falls silent behind each event of a stream, or ends behind any byte of it
//! (NET-4, NET-5, NET-7).

use zori_testkit::reply::{Cut, Reply};

use super::apis::{APIS, Api};
use super::{each, full, play};

/// Long enough for a busy machine to answer in, short enough for many cases.
const LIMITS: &str = "idle_timeout_ms = 1000\nfirst_byte_timeout_ms = 5000\n";

/// Which reply of the turn breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// The first, which calls a tool.
    Call,
    /// The second, after the tool has run.
    Last,
}

struct Case {
    api: &'static Api,
    which: Which,
    events: usize,
    how: Cut,
}

/// What the user should see: stdout, the exit code, how many requests there were, and whether one was a retry.
type Seen = (String, i32, usize, bool);

impl Case {
    fn name(&self) -> String {
        format!("{} {:?} after {} events: {:?}", self.api.name, self.which, self.events, self.how)
    }

    fn replies(&self) -> Vec<Reply> {
        let Api { call, last, .. } = self.api;
        match self.which {
            Which::Call => vec![call.reply().cut_after_events(self.events, self.how), last.reply()],
            Which::Last => {
                vec![call.reply(), last.reply().cut_after_events(self.events, self.how), last.reply()]
            }
        }
    }

    /// What is seen when the client has read so many events of the broken reply.
    fn expected(&self, read: usize) -> Seen {
        let Api { call, last, effects, .. } = self.api;
        let (stream, before, requests, failed) = match self.which {
            Which::Call => (call, String::new(), 1, 12),
            Which::Last => (last, call.text(), 2, if *effects { 3 } else { 12 }),
        };
        if read < stream.visible {
            // As if it had not been; what answers the second try is the last reply.
            (before + &last.text(), 0, requests + 1, true)
        } else if read < stream.events {
            (before + &stream.shown(read), failed, requests, false)
        } else {
            (call.text() + &last.text(), 0, 2, false)
        }
    }
}

/// Every API, both replies, after each event and after none, in each way.
fn cases(how: Cut) -> Vec<Case> {
    let mut cases = Vec::new();
    for api in APIS {
        for (which, stream) in [(Which::Call, &api.call), (Which::Last, &api.last)] {
            cases.extend((0..=stream.events).map(|events| Case { api, which, events, how }));
        }
    }
    cases
}

fn check(case: &Case) {
    let name = case.name();
    let played = play(case.api, case.replies(), "1", LIMITS);
    played.sound(&name);
    let stderr = played.output.stderr();
    let (stdout, code, requests) = played.seen();
    let seen: Seen = (stdout, code, requests, stderr.contains("Retrying in 0.0s (1/1): "));
    // A reset may overtake what was sent before it.
    let from = if case.how == Cut::Rst { 0 } else { case.events };
    let allowed: Vec<Seen> = (from..=case.events).map(|read| case.expected(read)).collect();
    assert!(allowed.contains(&seen), "{name}: {seen:?} is none of {allowed:?}\n{}", played.output);
    assert_eq!(stderr.contains("Error [transport]: "), code != 0, "{name}: {}", played.output);
}

#[test]
fn the_connection_ends() {
    each(&cases(Cut::Fin), check);
}

#[test]
fn the_connection_is_reset() {
    each(&cases(Cut::Rst), check);
}

#[test]
fn the_connection_falls_silent() {
    each(&cases(Cut::Stall), check);
}

/// Some byte positions of the last reply; each of them in the long run.
#[test]
fn the_connection_ends_anywhere() {
    let step = if full() { 1 } else { 61 };
    let cases: Vec<_> = APIS
        .iter()
        .flat_map(|api| (0..api.last.bytes().len()).step_by(step).map(move |at| (api, at)))
        .collect();
    each(&cases, |(api, at)| {
        let name = format!("{} after {at} bytes", api.name);
        let last = || api.last.reply();
        let played = play(api, vec![last().cut_after(*at, Cut::Fin), last()], "1", LIMITS);
        played.sound(&name);
        let read = last().events_within(*at);
        // The blank line behind an event may come as two bytes, of which the first will do.
        let allowed = [read, read + 1].map(|read| match read {
            read if read < api.last.visible => (api.last.text(), 0, 2),
            read if read < api.last.events => (api.last.shown(read), 12, 1),
            _ => (api.last.text(), 0, 1),
        });
        assert!(allowed.contains(&played.seen()), "{name}: none of {allowed:?}\n{}", played.output);
    });
}
