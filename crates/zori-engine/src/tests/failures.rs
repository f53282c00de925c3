//! A provider that fails, an outlet that closes.

use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::input::Input;
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::provider::{Chunk, StopReason};
use zori_core::render::Stop;

use super::stage::{Setup, Stage, Step, call, calls, done, failure, play, says, text};

#[test]
fn a_transient_failure_is_tried_again() {
    play(async {
        let overloaded = failure(FailureKind::HttpStatus, Some(529));
        let broken = Ok(vec![
            Step::Say(Chunk::Started { model: "m".into() }),
            Step::Fail(failure(FailureKind::Transport, None)),
        ]);
        let mut stage = Stage::new(vec![Err(overloaded), broken, says("ok")]);
        stage.turn("hi").await;
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "hi"
        retry 1/4 in 1s
        message by m
        retry 2/4 in 2s
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        turn over: Completed(EndTurn), 1 requests, 2 out
        "#);
        assert_eq!(stage.requests(), [r#"user "hi""#; 3]);
    });
}

#[test]
fn retries_end() {
    play(async {
        let down = || Err(failure(FailureKind::HttpStatus, Some(503)));
        let mut stage = Stage::new(vec![down(), down(), down(), down(), down(), says("never")]);
        stage.turn("hi").await;
        assert_eq!(stage.requests().len(), 5);
        assert_eq!(
            stage.events()[5..],
            [
                "error http_status: told to fail",
                "turn over: Failed(http_status: told to fail), 0 requests, 0 out"
            ]
        );
        assert_eq!(stage.history(), "", "the failed prompt is taken back");
    });
}

/// The turn goes on with the other model; the next one begins with the first again.
#[test]
fn another_model_takes_over() {
    play(async {
        let down = |status| Err(failure(FailureKind::HttpStatus, Some(status)));
        let scripts = [529, 529, 529, 529, 529].map(down).into_iter().chain([
            calls(&[("act", "{}")]),
            says("ok"),
            says("hi"),
        ]);
        let setup = Setup { fallback: Some("m2"), ..Setup::default() };
        let mut stage = Stage::with(setup, scripts.collect());
        stage.turn("go").await;
        stage.turn("again").await;
        let events = stage.events();
        insta::assert_snapshot!(events[5..].join("\n"), @r#"
        notice fallback_model
        model m2
        input 0 {}
        message model c0=act{} (Some(ToolUse))
        requested c0 of 1
        started c0
        finished c0 {"ok":true,"data":{}}
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        model m
        turn over: Completed(EndTurn), 2 requests, 4 out
        turn "again"
        delta "hi"
        message model "hi" (Some(EndTurn))
        final "hi"
        turn over: Completed(EndTurn), 1 requests, 2 out
        "#);
    });
}

/// A failure that is about the request, and one that is about the other model, too, end the turn.
#[test]
fn no_other_model_for_that() {
    play(async {
        for (status, requests) in [(400, 1), (529, 10)] {
            let scripts = (0..10).map(|_| Err(failure(FailureKind::HttpStatus, Some(status)))).collect();
            let setup = Setup { fallback: Some("m2"), ..Setup::default() };
            let mut stage = Stage::with(setup, scripts);
            stage.turn("go").await;
            assert_eq!(stage.requests().len(), requests, "{status}");
        }
    });
}

#[test]
fn a_failure_after_visible_text_is_final_and_keeps_the_text() {
    play(async {
        let broken = Ok(vec![text("Hel"), Step::Fail(failure(FailureKind::Transport, None))]);
        let mut stage = Stage::new(vec![broken, says("never")]);
        stage.turn("hi").await;
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "hi"
        delta "Hel"
        message model "Hel" (None)
        error transport: told to fail
        turn over: Failed(transport: told to fail), 0 requests, 0 out
        "#);
    });
}

#[test]
fn a_stream_that_just_ends_is_no_success() {
    play(async {
        let mut stage = Stage::new(vec![Ok(vec![text("Hel")])]);
        stage.turn("hi").await;
        assert_eq!(
            stage.events().last().unwrap(),
            "turn over: Failed(transport: the provider ended the reply without saying so), 0 requests, 0 out"
        );
    });
}

#[test]
fn a_request_that_is_wrong_is_not_repeated() {
    play(async {
        let mut stage = Stage::new(vec![Err(failure(FailureKind::HttpStatus, Some(400))), says("never")]);
        stage.turn("hi").await;
        assert_eq!(stage.requests().len(), 1);
    });
}

#[test]
fn after_a_tool_round_a_failed_turn_keeps_what_was_done() {
    play(async {
        let script = calls(&[("act", r#"{"write":"/ws/a"}"#)]);
        let mut stage =
            Stage::new(vec![script, Err(ProviderFailure::new(FailureKind::Parse, "x")), says("ok")]);
        let summary = stage.turn("go").await;
        assert!(summary.effects);
        stage.turn("again").await;
        assert_eq!(stage.requests()[2], r#"user "go" | model c0=act{"write":"/ws/a"} | user c0:ok "again""#);
    });
}

#[test]
fn contradictions_end_the_stream() {
    let second_start = [call(0, "act", "{}"), call(0, "act", "{}")].concat();
    let unknown = vec![Step::Say(Chunk::CallInput { index: 7, json: "{}".into() })];
    let after_end =
        [call(0, "act", "{}"), vec![Step::Say(Chunk::CallInput { index: 0, json: "x".into() })]].concat();
    for (steps, why) in [
        (second_start, "tool call 0 was started twice"),
        (unknown, "tool call 7 was never started"),
        (after_end, "tool call 0 went on after its end"),
    ] {
        play(async {
            let mut stage = Stage::new(vec![Ok(steps)]);
            stage.turn("go").await;
            let events = stage.events();
            assert_eq!(
                events.last().unwrap(),
                &format!("turn over: Failed(parse: {why}), 0 requests, 0 out")
            );
            assert!(!events.iter().any(|e| e.starts_with("requested")));
        });
    }
}

#[test]
fn deltas_after_the_end_are_ignored() {
    play(async {
        let late = [vec![text("ok")], done(StopReason::EndTurn), vec![text("late")]].concat();
        let mut stage = Stage::new(vec![Ok(late)]);
        assert_eq!(stage.turn("hi").await.text.as_ref(), "ok");
    });
}

#[test]
fn a_closed_outlet_ends_the_turn_wherever_it_is() {
    let script = || vec![calls(&[("act", r#"{"do":"hang"}"#), ("act", "{}")]), says("never")];
    // Event 0 announces the session; the turn has reached its hanging tool by event 8.
    for at in 1..=8 {
        play(async {
            let setup = Setup { act_at: Some(at), stop: Some(Stop::OutputClosed), ..Setup::default() };
            let mut stage = Stage::with(setup, script());
            stage.turn("go").await;
            let events = stage.events();
            assert!(events.last().unwrap().starts_with("turn over: OutputClosed"), "{at}: {events:#?}");
            let count = |what: &str| events.iter().filter(|e| e.starts_with(what)).count();
            assert_eq!(count("requested"), count("finished"), "{at}: {events:#?}");
            // Nothing is begun for a reader that is known to be gone: no request, and no tool.
            assert_eq!(stage.requests().len(), usize::from(at > 1), "{at}: {events:#?}");
            assert_eq!(count("started") > 0, at > 6, "{at}: {events:#?}");
        });
    }
}

/// The reasoning of another model, or with a signature that does not fit, must not end a session.
#[test]
fn reasoning_that_is_refused_is_dropped_and_the_session_lives_on() {
    play(async {
        let raw = serde_json::value::RawValue::from_string("\"s\"".to_owned()).unwrap();
        let thought = [
            Step::Say(Chunk::Thinking("hm".into())),
            Step::Say(Chunk::ThinkingReplay(zori_core::message::Opaque::new("stage", raw))),
        ];
        let first = Ok([thought.to_vec(), vec![text("Yes.")], done(StopReason::EndTurn)].concat());
        let refused = || Err(failure(FailureKind::Reasoning, Some(400)));
        let mut stage = Stage::new(vec![first, refused(), says("ok"), refused()]);
        stage.turn("hi").await;
        stage.turn("go on").await;
        assert_eq!(
            stage.requests()[1..],
            [
                r#"user "hi" | model thinking "hm" "Yes." | user "go on""#,
                r#"user "hi" | model "Yes." | user "go on""#
            ]
        );
        assert!(stage.events().contains(&"notice reasoning_dropped".to_owned()));
        // Once nothing is left to drop, the failure is what it is.
        stage.turn("again").await;
        assert_eq!(
            stage.events().last().unwrap(),
            "turn over: Failed(reasoning: told to fail), 0 requests, 0 out"
        );
    });
}

/// DECISIONS 46: once more with the limit that the provider names.
#[test]
fn a_reply_limit_that_the_provider_names_is_taken() {
    play(async {
        let refused = || {
            Err(ProviderFailure { reply_limit: Some(8192), ..failure(FailureKind::HttpStatus, Some(400)) })
        };
        let mut stage = Stage::new(vec![refused(), says("ok"), refused(), refused()]);
        stage.turn("hi").await;
        assert!(stage.events().contains(&"notice reply_limit".to_owned()));
        stage.turn("again").await;
        assert_eq!(stage.requests().len(), 4, "once more, not for ever");
    });
}

/// Whoever waits for long hears of it, once for each wait, with how long it may take.
#[test]
fn a_wait_that_takes_long_is_told() {
    play(async {
        let mut stage = Stage::new(vec![Ok(vec![Step::Hang])]);
        let Stage { engine, inputs, say, .. } = &mut stage;
        let (turn, ()) = tokio::join!(engine.turn("go".into(), inputs), async {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
            say.send(Input::Cancel(CancelCause::User)).await.unwrap();
        });
        assert_eq!(turn.0.outcome, Outcome::Cancelled(CancelCause::User));
        let told = stage.events().into_iter().filter(|line| line.contains("waiting")).collect::<Vec<_>>();
        assert_eq!(told, ["notice waiting"]);
    });
}
