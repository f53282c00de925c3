//! Asking: in order, before anything runs, and never longer than somebody can answer.

use zori_core::ids::CallId;
use zori_core::input::{Approval, Input, PermissionUpdate, Terms};
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::permission::Verdict;
use zori_policy::Approver;

use super::stage::{Setup, Stage, calls, play, says};

const WRITES: &[(&str, &str)] = &[("act", r#"{"write":"/ws/a"}"#), ("act", r#"{"write":"/ws/b"}"#)];

fn asking(approver: Approver) -> Stage {
    let setup = Setup { default_mode: Some(approver), ..Setup::default() };
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
        let mut stage = asking(Approver::Present);
        // Answers may come in any order; one for a call that was never made is ignored (IO-7).
        stage.say.send(answer("c9", Approval::Allow)).await.unwrap();
        stage.say.send(answer("c1", Approval::Reject { reason: Some("not b".into()) })).await.unwrap();
        stage.say.send(answer("c0", Approval::Allow)).await.unwrap();
        stage.turn("go").await;
        insta::assert_snapshot!(from_requests(&stage), @r#"
        requested c0 of 2
        requested c1 of 2
        asked about c0: W or Edit(//ws/a) or Edit(//ws/**), Input("{\"write\":\"/ws/a\"}")
        c0 is Allow by User: mode default asks about W: Creates or edits inside a workspace root
        asked about c1: W or Edit(//ws/b) or Edit(//ws/**), Input("{\"write\":\"/ws/b\"}")
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
        let setup = Setup { default_mode: Some(Approver::Present), ..Setup::default() };
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
        let mut stage = asking(Approver::Absent);
        stage.turn("go").await;
        let events = from_requests(&stage);
        assert_eq!(events.matches("approval_unavailable").count(), 4);
        assert!(!events.contains("asked about") && !events.contains("started"));
        assert_eq!(stage.unasked(), 2);
    });
}

/// A client that says no in the words of a denial without anybody to ask has been asked.
#[test]
fn a_refusal_in_the_same_words() {
    play(async {
        let mut stage = asking(Approver::Present);
        for call in ["c0", "c1"] {
            let message = "approval_unavailable: not today".to_owned();
            stage.say.send(answer(call, Approval::Refuse { message, interrupt: false })).await.unwrap();
        }
        stage.turn("go").await;
        assert!(from_requests(&stage).contains("c0 is Deny by User: approval_unavailable: not today"));
        assert_eq!(stage.unasked(), 0);
    });
}

#[test]
fn nobody_left() {
    play(async {
        let mut stage = asking(Approver::Present);
        stage.inputs.close();
        stage.turn("go").await;
        let events = from_requests(&stage);
        assert_eq!(events.matches("c0 is Deny by Policy: approval_unavailable").count(), 1);
        assert_eq!(stage.unasked(), 2);
        assert!(!events.contains("started"));
    });
}

#[test]
fn cancelled_while_asking() {
    play(async {
        let mut stage = asking(Approver::Present);
        stage.say.send(answer("c0", Approval::Allow)).await.unwrap();
        let say = stage.say.clone();
        let turn = stage.engine.turn("go".into(), &mut stage.inputs);
        let cancel = async {
            tokio::task::yield_now().await;
            say.send(Input::Cancel(CancelCause::User)).await.unwrap();
        };
        let ((summary, _), ()) = tokio::join!(turn, cancel);
        assert_eq!(summary.outcome, Outcome::Cancelled(CancelCause::User));
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
        let setup = Setup { default_mode: Some(Approver::Absent), ..Setup::default() };
        let script = [write, write, other, write, write, write];
        let mut stage = Stage::with(setup, script.iter().map(|one| calls(*one)).collect());
        let summary = stage.turn("go").await;
        assert_eq!(summary.outcome, Outcome::Limit(zori_core::outcome::LimitKind::Denials));
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
        let setup = Setup { default_mode: Some(Approver::Present), shifting: true, ..Setup::default() };
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

/// Plays one answer to the question about the first of these calls.
fn answered(writes: &[(&str, &str)], input: Option<&str>, updates: Vec<PermissionUpdate>) -> String {
    play(async {
        let setup = Setup { default_mode: Some(Approver::Present), ..Setup::default() };
        let mut stage = Stage::with(setup, vec![calls(writes), says("ok")]);
        let terms = Terms { input: input.map(str::to_owned), updates, ..Terms::default() };
        stage.say.send(answer("c0", Approval::AllowWith(terms))).await.unwrap();
        stage
            .say
            .send(answer("c1", Approval::Refuse { message: "stop".into(), interrupt: true }))
            .await
            .unwrap();
        stage.turn("go").await;
        let events = from_requests(&stage);
        let told = events.lines().filter(|line| !line.starts_with("requested") && !line.starts_with("asked"));
        let told: Vec<_> = told.take_while(|line| !line.starts_with("delta")).collect();
        told.join("\n")
    })
}

/// What runs is what the client made of the call, judged as if the model had asked for it.
#[test]
fn an_approval_that_changes_the_input() {
    let one = &WRITES[..1];
    insta::assert_snapshot!(answered(one, Some(r#"{"write":"/ws/z"}"#), vec![]), @r#"
    changed c0 to {"write":"/ws/z"}, [Write("/ws/z")]
    c0 is Allow by User: mode default asks about W: Creates or edits inside a workspace root
    started c0
    finished c0 {"ok":true,"data":{}}
    "#);
    // The same again is no change.
    insta::assert_snapshot!(answered(one, Some(r#"{"write":"/ws/a"}"#), vec![]), @r#"
    c0 is Allow by User: mode default asks about W: Creates or edits inside a workspace root
    started c0
    finished c0 {"ok":true,"data":{}}
    "#);
    let deny = PermissionUpdate::AddRule { verdict: Verdict::Deny, rule: "Edit(//ws/z)".into() };
    insta::assert_snapshot!(answered(one, Some(r#"{"write":"/ws/z"}"#), vec![deny]), @r#"
    changed c0 to {"write":"/ws/z"}, [Write("/ws/z")]
    c0 is Deny by Policy: the rule `Edit(//ws/z)` (approved in this session) denies /ws/z
    finished c0 {"ok":false,"error":{"code":"permission_denied","message":"the rule `Edit(//ws/z)` (approved in this session) denies /ws/z"}}
    "#);
    assert!(answered(one, Some("{"), vec![]).contains("c0 is Deny by Policy: the changed input is no JSON"));
}

/// What comes with an approval holds for the next call of the same reply already.
#[test]
fn an_approval_that_brings_permissions() {
    let rule = PermissionUpdate::AddRule { verdict: Verdict::Allow, rule: "Edit(//ws/b)".into() };
    for update in [rule, PermissionUpdate::SetMode("acceptEdits".into())] {
        let told = answered(WRITES, None, vec![update]);
        assert!(told.contains("started c0") && told.contains("started c1"), "{told}");
    }
    let broken = PermissionUpdate::AddRule { verdict: Verdict::Allow, rule: "Edit(".into() };
    for update in [broken, PermissionUpdate::SetMode("bypassPermissions".into())] {
        let told = answered(WRITES, None, vec![update]);
        assert!(told.contains("notice permission_update") && told.contains("c1 is Deny"), "{told}");
    }
}

/// A refusal is told in the client's words, and may end the turn; what was decided about before does not run either.
#[test]
fn a_refusal_that_ends_the_turn() {
    insta::assert_snapshot!(answered(WRITES, None, vec![]), @r#"
    c0 is Allow by User: mode default asks about W: Creates or edits inside a workspace root
    c1 is Deny by User: stop
    finished c1 {"ok":false,"error":{"code":"permission_denied","message":"stop"}}
    finished c0 {"ok":false,"error":{"code":"canceled","message":"The call was canceled before it was done"}}
    interrupted
    turn over: Cancelled(User), 1 requests, 2 out
    "#);
}

/// A mode that is named while a turn runs holds for what is not decided yet.
#[test]
fn a_mode_for_the_rest_of_the_turn() {
    play(async {
        let mut stage = asking(Approver::Present);
        stage.say.send(Input::SetMode("acceptEdits".into())).await.unwrap();
        let summary = stage.turn("go").await;
        assert!(matches!(summary.outcome, Outcome::Completed(_)));
        let events = stage.events().join("\n");
        assert!(events.contains("mode default to acceptEdits") && events.contains("started c1"), "{events}");
    });
}
