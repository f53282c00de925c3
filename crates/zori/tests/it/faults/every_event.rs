//! A connection that ends, is reset or falls silent behind each event of a stream, or ends behind any byte of it
//! (NET-4, NET-5, NET-7).

use zori_testkit::reply::{Disconnect, Reply};

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
    how: Disconnect,
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
        let Api { call, last, .. } = self.api;
        let (stream, before, requests) = match self.which {
            Which::Call => (call, String::new(), 1),
            Which::Last => (last, call.text(), 2),
        };
        if read < stream.events {
            // Nothing of it has run, so it is asked for again (FOR-13). What was shown stays; what answers the second try is
            // the last reply.
            (before + &stream.shown(read) + &last.text(), 0, requests + 1, true)
        } else {
            (call.text() + &last.text(), 0, 2, false)
        }
    }
}

/// Every API, both replies, after each event and after none, in each way.
fn cases(how: Disconnect) -> Vec<Case> {
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
    let from = if case.how == Disconnect::Rst { 0 } else { case.events };
    let allowed: Vec<Seen> = (from..=case.events).map(|read| case.expected(read)).collect();
    assert!(allowed.contains(&seen), "{name}: {seen:?} is none of {allowed:?}\n{}", played.output);
    assert_eq!(stderr.contains("Error [transport]: "), code != 0, "{name}: {}", played.output);
}

#[test]
fn the_connection_ends() {
    each(&cases(Disconnect::Fin), check);
}

/// NET-4: where nothing is tried again, what was shown is kept, and nothing passes for a success.
#[test]
fn the_connection_ends_for_good() {
    each(&cases(Disconnect::Fin), |case| {
        let Api { call, last, effects, .. } = case.api;
        let (stream, before, requests, failed) = match case.which {
            Which::Call => (call, String::new(), 1, 12),
            Which::Last => (last, call.text(), 2, if *effects { 3 } else { 12 }),
        };
        let played = play(case.api, case.replies(), "0", LIMITS);
        played.sound(&case.name());
        let expected = match case.events < stream.events {
            true => (before + &stream.shown(case.events), failed, requests),
            false => (call.text() + &last.text(), 0, 2),
        };
        assert_eq!(played.seen(), expected, "{}: {}", case.name(), played.output);
    });
}

#[test]
fn the_connection_is_reset() {
    each(&cases(Disconnect::Rst), check);
}

#[test]
fn the_connection_falls_silent() {
    each(&cases(Disconnect::Stall), check);
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
        let played = play(api, vec![last().cut_after(*at, Disconnect::Fin), last()], "1", LIMITS);
        played.sound(&name);
        let read = last().events_within(*at);
        // The blank line behind an event may come as two bytes, of which the first will do.
        let allowed = [read, read + 1].map(|read| match read {
            read if read < api.last.events => (api.last.shown(read) + &api.last.text(), 0, 2),
            _ => (api.last.text(), 0, 1),
        });
        assert!(allowed.contains(&played.seen()), "{name}: none of {allowed:?}\n{}", played.output);
    });
}
