//! Asking: in order, before anything runs, and never longer than somebody can answer.

use zori_core::ids::CallId;
use zori_core::input::{Approval, Input};
use zori_core::outcome::CancelCause;
use zori_policy::Asker;

use super::stage::{Setup, Stage, calls, play, says};

const WRITES: &[(&str, &str)] = &[("act", r#"{"write":"/ws/a"}"#), ("act", r#"{"write":"/ws/b"}"#)];

fn asking(asker: Asker) -> Stage {
    let setup = Setup { default_mode: Some(asker), ..Setup::default() };
    Stage::with(setup, vec![calls(WRITES), says("ok")])
}

fn answer(call: &str, answer: Approval) -> Input {
    Input::Approve { call: CallId::new(call), answer }
}

fn from_requests(stage: &Stage) -> String {
    let events = stage.events();
    let first = events.iter().position(|e| e.starts_with("requested")).unwrap();
    events[first..].join("\n")
}

#[test]
fn one_allowed_one_rejected() {
    play(async {
        let mut stage = asking(Asker::Present);
        // Answers may come in any order; one for a call that was never made is ignored (IO-7).
        stage.say.send(answer("c9", Approval::Allow)).await.unwrap();
        stage.say.send(answer("c1", Approval::Reject { reason: Some("not b".into()) })).await.unwrap();
        stage.say.send(answer("c0", Approval::Allow)).await.unwrap();
        stage.turn("go").await;
        insta::assert_snapshot!(from_requests(&stage), @r#"
        requested c0 of 2
        requested c1 of 2
        asked about c0: W or Edit(//ws/a), Input("{\"write\":\"/ws/a\"}")
        c0 is Allow by User: mode default asks about W: Creates or edits inside a workspace root
        asked about c1: W or Edit(//ws/b), Input("{\"write\":\"/ws/b\"}")
        c1 is Deny by User: The user rejected this call: not b
        finished c1 {"ok":false,"error":{"code":"permission_denied","message":"The user rejected this call: not b"}}
        started c0
        finished c0 {"ok":true,"data":{}}
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        turn over: Completed(EndTurn), 2 requests, 4 out
        "#);
    });
}

/// DECISIONS 38: what runs knows whether a person agreed to it.
#[test]
fn who_let_it_run() {
    play(async {
        let asked_and_not = [("act", r#"{"write":"/ws/a","do":"who"}"#), ("act", r#"{"do":"who"}"#)];
        let setup = Setup { default_mode: Some(Asker::Present), ..Setup::default() };
        let mut stage = Stage::with(setup, vec![calls(&asked_and_not), says("ok")]);
        stage.say.send(answer("c0", Approval::Allow)).await.unwrap();
        stage.turn("go").await;
        let events = from_requests(&stage);
        let ends: Vec<_> = events.lines().filter(|line| line.starts_with("finished")).collect();
        assert_eq!(
            ends,
            [r#"finished c0 {"ok":true,"data":"Person"}"#, r#"finished c1 {"ok":true,"data":"Rule"}"#]
        );
    });
}

#[test]
fn nobody_there() {
    play(async {
        let mut stage = asking(Asker::Absent);
        stage.turn("go").await;
        let events = from_requests(&stage);
        assert_eq!(events.matches("approval_unavailable").count(), 4);
        assert!(!events.contains("asked about") && !events.contains("started"));
    });
}

#[test]
fn nobody_left() {
    play(async {
        let mut stage = asking(Asker::Present);
        stage.inputs.close();
        stage.turn("go").await;
        let events = from_requests(&stage);
        assert_eq!(events.matches("c0 is Deny by Policy: approval_unavailable").count(), 1);
        assert!(!events.contains("started"));
    });
}

#[test]
fn cancelled_while_asking() {
    play(async {
        let mut stage = asking(Asker::Present);
        stage.say.send(answer("c0", Approval::Allow)).await.unwrap();
        let say = stage.say.clone();
        let turn = stage.engine.turn("go".into(), &mut stage.inputs);
        let cancel = async {
            tokio::task::yield_now().await;
            say.send(Input::Cancel(CancelCause::User)).await.unwrap();
        };
        let ((summary, _), ()) = tokio::join!(turn, cancel);
        assert_eq!(summary.outcome, zori_core::outcome::Outcome::Cancelled(CancelCause::User));
        let events = from_requests(&stage);
        assert!(events.contains("c1 is Deny by Cancelled"));
        assert_eq!(events.matches("finished").count(), 2);
        assert!(!events.contains("started"), "nothing runs before all is decided");
    });
}

/// The model does not get to try the same thing for ever (DEC-3).
#[test]
fn three_identical_denials_in_a_row_end_the_turn() {
    play(async {
        let write = &[("act", r#"{"write":"/ws/a"}"#)];
        let other = &[("act", r#"{"write":"/ws/b"}"#)];
        let setup = Setup { default_mode: Some(Asker::Absent), ..Setup::default() };
        let script = [write, write, other, write, write, write];
        let mut stage = Stage::with(setup, script.iter().map(|one| calls(*one)).collect());
        let summary = stage.turn("go").await;
        assert_eq!(
            summary.outcome,
            zori_core::outcome::Outcome::Limit(zori_core::outcome::LimitKind::Denials)
        );
        let events = stage.events();
        assert_eq!(events.iter().filter(|e| e.starts_with("finished")).count(), 6);
        assert!(
            events.iter().any(|e| e.contains("The same call of `act` was denied 3 times in a row")),
            "{events:?}"
        );
    });
}

/// What was shown is what runs (DEC-4): a link that was bent while the question was open is noticed.
#[test]
fn a_path_that_leads_elsewhere_after_the_approval_is_denied() {
    play(async {
        let setup = Setup { default_mode: Some(Asker::Present), shifting: true, ..Setup::default() };
        let mut stage = Stage::with(setup, vec![calls(&WRITES[..1]), says("ok")]);
        stage.say.send(answer("c0", Approval::Allow)).await.unwrap();
        stage.turn("go").await;
        let events = from_requests(&stage);
        assert!(events.contains("c0 is Allow by User"), "{events}");
        assert!(
            events.contains(r#""code":"permission_denied","message":"changed_since_approval: "#),
            "{events}"
        );
        assert!(!events.contains("started"));
    });
}
