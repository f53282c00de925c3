//! Turns that go well.

use zori_core::provider::{Chunk, StopReason};

use super::stage::{Stage, Step, calls, done, play, says, text};

#[test]
fn a_plain_answer() {
    play(async {
        let mut stage = Stage::new(vec![Ok([
            vec![
                Step::Say(Chunk::Started { model: "m-2".into() }),
                text("Hel"),
                text(""),
                Step::Say(Chunk::Usage(Default::default())),
                text("lo"),
            ],
            done(StopReason::EndTurn),
        ]
        .concat())]);
        stage.turn("hi").await;
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "hi"
        message by m-2
        delta "Hel"
        delta "lo"
        message model "Hello" (Some(EndTurn))
        final "Hello"
        turn over: Completed(EndTurn), 1 requests, 2 out
        "#);
        assert_eq!(stage.history(), r#"user "hi" | model "Hello""#);
    });
}

#[test]
fn a_tool_round_and_a_second_turn() {
    play(async {
        let first = Ok([
            vec![Step::Say(Chunk::Thinking("hm".into())), text("Let me look.")],
            super::stage::call(0, "act", "{}"),
            done(StopReason::ToolUse),
        ]
        .concat());
        let mut stage = Stage::new(vec![first, says("Done."), says("Bye.")]);
        stage.turn("go").await;
        stage.turn("thanks").await;
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "go"
        thinking "hm"
        delta "Let me look."
        input 0 {}
        message model thinking "hm" "Let me look." c0=act{} (Some(ToolUse))
        requested c0 of 1
        started c0
        finished c0 {"ok":true,"data":{}}
        delta "Done."
        message model "Done." (Some(EndTurn))
        final "Done."
        turn over: Completed(EndTurn), 2 requests, 4 out
        turn "thanks"
        delta "Bye."
        message model "Bye." (Some(EndTurn))
        final "Bye."
        turn over: Completed(EndTurn), 1 requests, 2 out
        "#);
        // CHAT-1: the last request carries everything before it.
        insta::assert_snapshot!(stage.requests().join("\n"), @r#"
        user "go"
        user "go" | model thinking "hm" "Let me look." c0=act{} | user c0:ok
        user "go" | model thinking "hm" "Let me look." c0=act{} | user c0:ok | model "Done." | user "thanks"
        "#);
    });
}

#[test]
fn a_pause_is_asked_to_go_on() {
    play(async {
        let paused = Ok([vec![text("one")], done(StopReason::Pause)].concat());
        let mut stage = Stage::new(vec![paused, says(" two")]);
        stage.turn("count").await;
        assert_eq!(stage.requests(), [r#"user "count""#, r#"user "count" | model "one""#]);
        assert_eq!(stage.history(), r#"user "count" | model "one" " two""#);
    });
}

#[test]
fn odd_ends_are_said() {
    play(async {
        let stop = StopReason::Other("odd".into());
        let mut stage = Stage::new(vec![Ok([vec![text("x")], done(stop)].concat())]);
        stage.turn("hi").await;
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "hi"
        delta "x"
        message model "x" (Some(Other("odd")))
        notice unknown_stop
        final "x"
        turn over: Completed(Other("odd")), 1 requests, 2 out
        "#);
    });
}

#[test]
fn pauses_without_end_end_the_turn() {
    play(async {
        let paused = || Ok([vec![text("one")], done(StopReason::Pause)].concat());
        let mut stage = Stage::new((0..10).map(|_| paused()).collect());
        stage.turn("count").await;
        assert_eq!(
            stage.events().last().unwrap(),
            "turn over: Failed(cut: the provider paused the reply 10 times in a row), 10 requests, 20 out"
        );
    });
}

#[test]
fn an_empty_answer_is_said_and_not_kept() {
    play(async {
        let mut stage = Stage::new(vec![Ok(done(StopReason::EndTurn)), says("yes")]);
        stage.turn("hi").await;
        assert_eq!(
            stage.events(),
            [
                r#"turn "hi""#,
                "message model  (Some(EndTurn))",
                "notice empty_reply",
                "turn over: Completed(EndTurn), 1 requests, 2 out"
            ]
        );
        stage.turn("hello?").await;
        assert_eq!(stage.history(), r#"user "hi" "hello?" | model "yes""#);
    });
}

#[test]
fn what_the_user_adds_goes_with_the_next_request() {
    play(async {
        let mut stage = Stage::new(vec![calls(&[("act", "{}")]), says("ok")]);
        stage.say.send(zori_core::input::Input::Steer("and quickly".into())).await.unwrap();
        stage.turn("go").await;
        assert_eq!(stage.requests()[1], r#"user "go" | model c0=act{} | user c0:ok "and quickly""#);
    });
}

#[test]
fn what_comes_too_late_for_a_turn_starts_the_next() {
    use zori_core::input::Input;
    play(async {
        let mut stage = Stage::new(vec![says("one"), says("two"), says("three")]);
        for input in [
            Input::Prompt("a".into()),
            Input::Steer("b".into()),
            Input::SetModel { model: "other".into(), max_tokens: None },
            Input::Prompt("c".into()),
            Input::Shutdown,
            Input::Prompt("never".into()),
        ] {
            stage.say.send(input).await.unwrap();
        }
        stage.engine.run(&mut stage.inputs, |_| crate::engine::Next::Continue).await;
        assert_eq!(
            stage.requests(),
            [
                r#"user "a""#,
                r#"user "a" | model "one" | user "b""#,
                r#"user "a" | model "one" | user "b" | model "two" | user "c""#,
            ]
        );
        assert!(stage.events().contains(&"model other".to_owned()));
    });
}

/// A model that is chosen while a turn runs answers its next request.
#[test]
fn another_model_for_the_rest_of_the_turn() {
    use zori_core::input::Input;
    play(async {
        let mut stage = Stage::new(vec![calls(&[("act", "{}")]), says("ok")]);
        stage.say.send(Input::SetModel { model: "other".into(), max_tokens: Some(7) }).await.unwrap();
        stage.turn("go").await;
        let events = stage.events();
        let at = |wanted: &str| events.iter().position(|event| event.starts_with(wanted)).unwrap();
        assert!(at("finished c0") < at("model other") && at("model other") < at("delta"), "{events:?}");
    });
}
