//! Cancelling, at every point where something can be waited for.

use zori_core::failure::FailureKind;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_core::provider::Chunk;

use super::stage::{Setup, Stage, Step, call, calls, failure, play, says, text};

fn cancel_at(event: u64) -> Setup {
    Setup { act_at: Some(event), say: Some(Input::Cancel(CancelCause::User)), ..Setup::default() }
}

#[test]
fn a_stalled_stream() {
    play(async {
        let stalled = Ok([vec![text("Hel")], call(0, "act", "{}"), vec![Step::Hang]].concat());
        let mut stage = Stage::with(cancel_at(2), vec![stalled, says("ok")]);
        stage.turn("hi").await;
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "hi"
        delta "Hel"
        message model "Hel" (None)
        interrupted
        turn over: Cancelled(User), 0 requests, 0 out
        "#);
        assert_eq!(stage.history(), "", "the interrupted prompt is dropped (INT-1)");
        stage.turn("again").await;
        assert_eq!(stage.requests()[1], r#"user "again""#);
    });
}

/// Front ends whose clients have read it keep it: the next prompt may refer to it.
#[test]
fn a_cut_answer_that_is_kept() {
    play(async {
        let stalled = Ok(vec![text("Hel"), Step::Hang]);
        let setup = Setup { keep_partial_reply: true, ..cancel_at(2) };
        let mut stage = Stage::with(setup, vec![stalled, says("ok")]);
        stage.turn("hi").await;
        stage.turn("again").await;
        assert_eq!(stage.requests()[1], r#"user "hi" | model "Hel" | user "again""#);
    });
}

#[test]
fn a_running_tool() {
    play(async {
        let script = calls(&[("act", r#"{"do":"hang"}"#), ("act", "{}")]);
        let mut stage = Stage::with(cancel_at(8), vec![script, says("ok")]);
        stage.turn("go").await;
        insta::assert_snapshot!(stage.events()[3..].join("\n"), @r#"
        message model c0=act{"do":"hang"} c1=act{} (Some(ToolUse))
        requested c0 of 2
        requested c1 of 2
        started c0
        started c1
        finished c0 {"ok":false,"error":{"code":"canceled","message":"The call was canceled before it was done"}}
        finished c1 {"ok":false,"error":{"code":"canceled","message":"The call was canceled before it was done"}}
        interrupted
        turn over: Cancelled(User), 1 requests, 2 out
        "#);
        stage.turn("again").await;
        assert!(stage.requests()[1].ends_with(r#"user c0:failed c1:failed "again""#));
    });
}

#[test]
fn a_wait_before_a_retry() {
    play(async {
        let down = || Err(failure(FailureKind::HttpStatus, Some(503)));
        let mut stage = Stage::with(cancel_at(2), vec![down(), down()]);
        stage.turn("hi").await;
        assert_eq!(
            stage.events(),
            [
                r#"turn "hi""#,
                "retry 1/4 in 1s",
                "interrupted",
                "turn over: Cancelled(User), 0 requests, 0 out"
            ]
        );
    });
}

/// The deadline of the whole command says so in its own words.
#[test]
fn by_the_deadline() {
    play(async {
        let deadline = Setup { say: Some(Input::Cancel(CancelCause::Deadline)), ..cancel_at(5) };
        let mut stage = Stage::with(deadline, vec![calls(&[("act", r#"{"do":"hang"}"#)])]);
        stage.turn("go").await;
        insta::assert_snapshot!(stage.events()[3..].join("\n"), @r#"
        requested c0 of 1
        started c0
        finished c0 {"ok":false,"error":{"code":"canceled","message":"The call was canceled before it was done"}}
        error timeout: The time for this command is over (`--timeout`)
        turn over: Cancelled(Deadline), 1 requests, 2 out
        "#);
    });
}

/// Cancels at each event of a turn with everything in it, and checks what must hold wherever it falls (CAN-5):
/// one end, one result per call, a conversation that a provider accepts.
#[test]
fn anywhere() {
    let script = || {
        let first = Ok([
            vec![Step::Say(Chunk::Started { model: "m".into() }), text("a"), text("b")],
            call(0, "act", r#"{"write":"/ws/a"}"#),
            call(1, "act", r#"{"write":"/ws/a"}"#),
            call(2, "nope", "{}"),
            super::stage::done(zori_core::provider::StopReason::ToolUse),
        ]
        .concat());
        vec![first, Err(failure(FailureKind::Timeout, None)), says("done"), says("next")]
    };
    let whole = play(async {
        let mut stage = Stage::new(script());
        stage.turn("go").await;
        stage.events().len() as u64
    });
    for at in 1..=whole {
        play(async {
            let mut stage = Stage::with(cancel_at(at), script());
            let (summary, later) = stage.engine.turn("go".into(), &mut stage.inputs).await;
            let events = stage.events();
            let count = |what: &str| events.iter().filter(|e| e.starts_with(what)).count();
            assert_eq!(count("turn over"), 1, "{at}: {events:#?}");
            assert_eq!(count("requested"), count("finished"), "{at}: {events:#?}");
            assert!(count("started") <= count("finished"), "{at}: {events:#?}");
            let cancelled = matches!(summary.outcome, zori_core::outcome::Outcome::Cancelled(_));
            assert_eq!(count("interrupted"), usize::from(cancelled), "{at}: {events:#?}");
            assert!(later.is_empty());
            let roles: Vec<_> = stage.engine.messages().iter().map(|m| m.role).collect();
            assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{at}: {}", stage.history());
        });
    }
}
