//! Who is called with what, in which order, when something fails.

use std::sync::{Arc, Mutex};

use zori_core::event::MessageEvent;

use super::*;
use crate::sample::{delta, prompt, turn_over};

type Calls = Arc<Mutex<Vec<String>>>;

fn name(event: &Event) -> String {
    match &event.kind {
        EventKind::Turn(TurnEvent::TurnStarted { .. }) => "turn".to_owned(),
        EventKind::Message(MessageEvent::AssistantDelta { .. }) => "delta".to_owned(),
        EventKind::Turn(TurnEvent::TurnFinished(_)) => "over".to_owned(),
        EventKind::Notice(Notice { code, text, .. }) => format!("{code}: {text}"),
        _ => "other".to_owned(),
    }
}

/// A log that fails for its first calls that are no deltas.
struct TestLog(Calls, Vec<bool>);

impl Log for TestLog {
    fn append(&mut self, event: &Event) -> Result<(), LogError> {
        self.0.lock().unwrap().push(format!("log {}", name(event)));
        let kept = !matches!(event.kind, EventKind::Message(MessageEvent::AssistantDelta { .. }));
        if kept && !self.1.is_empty() && !self.1.remove(0) {
            return Err(LogError("/s: disk full".to_owned()));
        }
        Ok(())
    }
}

/// What a renderer does with each next event; then all is well.
#[derive(Clone, Copy)]
enum Does {
    Fine,
    Fail(io::ErrorKind),
    Panic,
}

struct TestRenderer(Calls, &'static str, Vec<Does>);

impl Renderer for TestRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        self.0.lock().unwrap().push(format!("{} {}", self.1, name(event)));
        match if self.2.is_empty() { Does::Fine } else { self.2.remove(0) } {
            Does::Fine => Ok(()),
            Does::Fail(kind) => Err(kind.into()),
            Does::Panic => panic!("a defect"),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap().push(format!("{} flush", self.1));
        Ok(())
    }
}

/// Returns an outlet with a log and two renderers, and the list of calls they get.
fn fanout(log: Vec<bool>, first: Vec<Does>, required: bool) -> (Fanout, Calls) {
    let calls = Calls::default();
    let log = Box::new(TestLog(calls.clone(), log));
    let a = Box::new(TestRenderer(calls.clone(), "a", first));
    let b = Box::new(TestRenderer(calls.clone(), "b", Vec::new()));
    (Fanout::new(Some(log), vec![a, b], required), calls)
}

fn calls(calls: &Calls) -> Vec<String> {
    std::mem::take(&mut *calls.lock().unwrap())
}

#[test]
fn the_log_first_then_each_renderer_once() {
    let (mut fanout, seen) = fanout(vec![], vec![], false);
    fanout.emit(&prompt()).unwrap();
    fanout.idle().unwrap();
    let report = fanout.finish();
    assert_eq!(calls(&seen), ["log turn", "a turn", "b turn", "a flush", "b flush", "a flush", "b flush"]);
    assert!(!report.output_closed && report.errors.is_empty());
}

#[test]
fn a_session_that_cannot_be_saved_is_told_once() {
    let (mut fanout, seen) = fanout(vec![false, false, true, false], vec![], false);
    for event in [prompt(), delta("x"), turn_over(), prompt(), turn_over()] {
        fanout.emit(&event).unwrap();
    }
    let notice = "session_not_saved: Failed to save session: /s: disk full";
    let seen: Vec<String> = calls(&seen).into_iter().filter(|call| !call.starts_with('b')).collect();
    assert_eq!(
        seen,
        [
            "log turn",
            "a turn",
            &format!("a {notice}"),
            "log delta",
            "a delta",
            "log over",
            "a over",
            "log turn",
            "a turn",
            "log over",
            "a over",
            &format!("a {notice}"),
        ]
    );
}

#[test]
fn a_session_that_must_be_saved() {
    let (mut fanout, seen) = fanout(vec![false], vec![], true);
    assert_eq!(fanout.emit(&prompt()), Err(Stop::NotSaved("/s: disk full".to_owned())));
    let notice = "Failed to save session: /s: disk full; stopping, since `session_required` is set";
    assert!(calls(&seen).contains(&format!("a session_not_saved: {notice}")));
    assert_eq!(fanout.emit(&turn_over()), Ok(()));
}

/// OUT-10, IO-2: the log goes on, the renderer whose reader is gone is left alone.
#[test]
fn a_reader_that_went_away() {
    let (mut fanout, seen) = fanout(vec![], vec![Does::Fail(io::ErrorKind::BrokenPipe)], false);
    assert_eq!(fanout.emit(&prompt()), Err(Stop::OutputClosed));
    assert_eq!(fanout.emit(&turn_over()), Err(Stop::OutputClosed));
    assert_eq!(fanout.idle(), Err(Stop::OutputClosed));
    let report = fanout.finish();
    assert_eq!(calls(&seen), ["log turn", "a turn", "b turn", "log over", "b over", "b flush", "b flush"]);
    assert!(report.output_closed && report.errors.is_empty());
}

#[test]
fn other_errors_are_kept_for_the_end_once_each() {
    let full = Does::Fail(io::ErrorKind::StorageFull);
    let (mut fanout, seen) = fanout(vec![], vec![full, full], false);
    fanout.emit(&prompt()).unwrap();
    fanout.emit(&turn_over()).unwrap();
    let report = fanout.finish();
    assert_eq!(report.errors.iter().map(io::Error::kind).collect::<Vec<_>>(), [io::ErrorKind::StorageFull]);
    assert!(calls(&seen).contains(&"a over".to_owned()));
}

#[test]
fn a_renderer_that_panics_is_left_alone() {
    let (mut fanout, seen) = fanout(vec![], vec![Does::Panic], false);
    fanout.emit(&prompt()).unwrap();
    fanout.emit(&turn_over()).unwrap();
    let report = fanout.finish();
    let errors: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, ["the renderer panicked"]);
    assert_eq!(calls(&seen), ["log turn", "a turn", "b turn", "log over", "b over", "b flush"]);
}

#[test]
fn without_a_log() {
    let calls = Calls::default();
    let renderer = Box::new(TestRenderer(calls.clone(), "a", Vec::new()));
    let mut fanout = Fanout::new(None, vec![renderer], true);
    fanout.emit(&prompt()).unwrap();
    fanout.set_log(Some(Box::new(TestLog(calls.clone(), vec![]))));
    fanout.emit(&turn_over()).unwrap();
    assert_eq!(*calls.lock().unwrap(), ["a turn", "log over", "a over"]);
}

/// Returns an outlet with an audit log that fails as the flags say.
fn audited(audit: Vec<bool>, required: bool) -> (Fanout, Calls) {
    let calls = Calls::default();
    let renderer = Box::new(TestRenderer(calls.clone(), "a", Vec::new()));
    let audit = Box::new(TestLog(calls.clone(), audit));
    (Fanout::new(None, vec![renderer], false).with_audit(audit, required), calls)
}

#[test]
fn an_audit_log_that_cannot_be_written_is_told_once() {
    let (mut fanout, seen) = audited(vec![false, true, false], false);
    for event in [prompt(), turn_over(), prompt()] {
        assert_eq!(fanout.emit(&event), Ok(()));
    }
    let notice = "a audit_not_written: Failed to write the audit log: /s: disk full";
    assert_eq!(calls(&seen), ["log turn", notice, "a turn", "log over", "a over", "log turn", "a turn"]);
}

#[test]
fn an_audit_log_that_must_be_written() {
    let (mut fanout, seen) = audited(vec![false], true);
    assert_eq!(fanout.emit(&prompt()), Err(Stop::NotSaved("/s: disk full".to_owned())));
    let notice = "Failed to write the audit log: /s: disk full; stopping, since `audit` is \"required\"";
    assert_eq!(
        calls(&seen),
        ["log turn".to_owned(), format!("a audit_not_written: {notice}"), "a turn".to_owned()]
    );
}
