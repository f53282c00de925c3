//! Replies that are none (DECISIONS 45): nothing of them is run or kept.

use zori_core::provider::StopReason;

use super::stage::{Script, Stage, call, calls, done, play, says, text};

/// A reply with a text and a complete call that ended for a reason.
fn ended(stop: &StopReason) -> Script {
    Ok([vec![text("Here goes. ")], call(0, "act", "{}"), done(stop.clone())].concat())
}

#[test]
fn calls_of_a_reply_that_is_none_are_never_run() {
    let said = || Some("because".to_owned());
    for (stop, outcome) in [
        (StopReason::Refusal(None), "refused: the model refused to answer"),
        (StopReason::Refusal(said()), "refused: the model refused to answer (because)"),
        (StopReason::ContentFilter(said()), "refused: the provider withheld the answer (because)"),
        (StopReason::Blocked(said()), "blocked: the provider blocked the prompt (because)"),
    ] {
        play(async {
            let mut stage = Stage::new(vec![ended(&stop), says("fine")]);
            stage.turn("go").await;
            let events = stage.events();
            assert!(
                !events.iter().any(|e| e.starts_with("requested") || e.starts_with("started")),
                "{events:?}"
            );
            assert_eq!(*events.last().unwrap(), format!("turn over: Failed({outcome}), 1 requests, 2 out"));
            // The session lives on, without what was refused.
            stage.turn("something else").await;
            assert_eq!(stage.history(), r#"user "something else" | model "fine""#);
        });
    }
}

#[test]
fn a_refusal_after_other_replies_leaves_those() {
    play(async {
        let refused = ended(&StopReason::Refusal(None));
        let mut stage = Stage::new(vec![calls(&[("act", "{}")]), refused]);
        let summary = stage.turn("go").await;
        assert_eq!(summary.requests, 2);
        assert_eq!(stage.history(), r#"user "go" | model c0=act{} | user c0:ok"#);
    });
}

#[test]
fn a_malformed_reply_is_asked_for_once_more() {
    let malformed = || ended(&StopReason::Malformed("MALFORMED_FUNCTION_CALL".into()));
    play(async {
        let mut stage = Stage::new(vec![malformed(), calls(&[("act", "{}")]), malformed(), says("ok")]);
        stage.turn("go").await;
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "go"
        delta "Here goes. "
        input 0 {}
        message model "Here goes. " (Some(Malformed("MALFORMED_FUNCTION_CALL")))
        notice malformed_reply
        input 0 {}
        message model c0_2=act{} (Some(ToolUse))
        requested c0_2 of 1
        started c0_2
        finished c0_2 {"ok":true,"data":{}}
        delta "Here goes. "
        input 0 {}
        message model "Here goes. " (Some(Malformed("MALFORMED_FUNCTION_CALL")))
        notice malformed_reply
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        turn over: Completed(EndTurn), 4 requests, 8 out
        "#);
    });
    play(async {
        let mut stage = Stage::new(vec![malformed(), malformed(), says("fine")]);
        stage.turn("go").await;
        assert_eq!(
            stage.events().last().unwrap(),
            "turn over: Failed(malformed: the model sent no usable reply (MALFORMED_FUNCTION_CALL)), 2 requests, 4 out"
        );
    });
}

#[test]
fn calls_of_a_reply_that_ended_for_an_unknown_reason_are_not_run() {
    play(async {
        let odd = || ended(&StopReason::Other("odd".into()));
        let mut stage = Stage::new(vec![odd(), odd()]);
        stage.turn("go").await;
        assert_eq!(
            stage.events().last().unwrap(),
            "turn over: Failed(malformed: the model stopped for an unknown reason, so its calls were not run (odd)), \
             2 requests, 4 out"
        );
    });
}

#[test]
fn a_reply_that_was_cut_off_is_kept_and_fails() {
    for (stop, limit) in [
        (StopReason::MaxTokens, "the token limit (`max_tokens`)"),
        (StopReason::ContextWindow, "the end of the model's context window"),
    ] {
        play(async {
            let mut stage = Stage::new(vec![Ok([vec![text("One, ")], done(stop.clone())].concat())]);
            stage.turn("count").await;
            assert_eq!(
                *stage.events().last().unwrap(),
                format!("turn over: Failed(cut: the reply was cut off at {limit}), 1 requests, 2 out")
            );
            assert_eq!(stage.history(), r#"user "count" | model "One, ""#);
        });
    }
}
