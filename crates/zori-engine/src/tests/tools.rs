//! Calls: order, togetherness, and what cannot run.

use zori_core::provider::{Chunk, StopReason};

use super::stage::{Setup, Stage, Step, call, calls, done, play, says};
use crate::settings::CallOrder;

fn tool_events(stage: &Stage) -> String {
    let wanted = ["requested", "started", "finished", "c0 ", "c1 "];
    let events = stage.events();
    events.iter().filter(|e| wanted.iter().any(|w| e.starts_with(w))).cloned().collect::<Vec<_>>().join("\n")
}

#[test]
fn calls_of_one_reply_run_together_and_are_answered_in_order() {
    play(async {
        // The first call waits for the second: one after the other would never end.
        let script = calls(&[("act", r#"{"do":"wait"}"#), ("act", r#"{"do":"open"}"#)]);
        let mut stage = Stage::new(vec![script, says("ok")]);
        stage.turn("go").await;
        insta::assert_snapshot!(tool_events(&stage), @r#"
        requested c0 of 2
        requested c1 of 2
        started c0
        started c1
        finished c1 {"ok":true,"data":{"opened":true}}
        finished c0 {"ok":true,"data":{"waited":true}}
        "#);
        assert!(stage.requests()[1].ends_with("user c0:ok c1:ok"));
    });
}

/// For front ends that show a call and its result before the next call: what cannot run waits for nothing.
#[test]
fn calls_can_be_done_one_by_one() {
    play(async {
        let script = calls(&[("act", r#"{"do":"open"}"#), ("nope", "{}"), ("act", r#"{"do":"fail"}"#)]);
        let setup = Setup { order: CallOrder::OneByOne, ..Setup::default() };
        let mut stage = Stage::with(setup, vec![script, says("ok")]);
        stage.turn("go").await;
        insta::assert_snapshot!(tool_events(&stage), @r#"
        requested c0 of 3
        requested c1 of 3
        requested c2 of 3
        finished c1 {"ok":false,"error":{"code":"unknown_tool","message":"no tool `nope`"}}
        started c0
        finished c0 {"ok":true,"data":{"opened":true}}
        started c2
        finished c2 {"ok":false,"error":{"code":"path_error","message":"told to fail"}}
        "#);
        assert!(stage.requests()[1].ends_with("user c0:ok c1:failed c2:failed"));
    });
}

#[test]
fn writes_to_one_path_wait_for_each_other() {
    play(async {
        let script = calls(&[
            ("act", r#"{"write":"/ws/a"}"#),
            ("act", r#"{"write":"/ws/b"}"#),
            ("act", r#"{"read":"/ws/a"}"#),
            ("act", r#"{"write":"/ws/a"}"#),
            ("act", r#"{"read":"/ws/c"}"#),
        ]);
        let mut stage = Stage::new(vec![script, says("ok")]);
        stage.turn("go").await;
        let order: Vec<_> = stage
            .events()
            .iter()
            .filter(|e| e.starts_with("started") || e.starts_with("finished"))
            .map(|e| e.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .collect();
        let at = |what: &str| order.iter().position(|e| e == what).unwrap();
        assert!(at("started c1") < at("finished c0"), "another path does not wait");
        assert!(at("finished c0") < at("started c2"), "a read waits for the write before it");
        assert!(at("finished c2") < at("started c3"), "a write waits for the read before it");
        assert_eq!(order.len(), 10);
    });
}

#[test]
fn a_call_that_cannot_run_is_answered_and_the_loop_goes_on() {
    play(async {
        let script = calls(&[
            ("nope", "{}"),
            ("act", r#"{"do":"boom"}"#),
            ("act", r#"{"do":"fail"}"#),
            ("act", "{\"do\":"),
            ("act", ""),
        ]);
        let mut stage = Stage::new(vec![script, says("sorry")]);
        let summary = stage.turn("go").await;
        insta::assert_snapshot!(tool_events(&stage), @r#"
        requested c0 of 5
        requested c1 of 5
        requested c2 of 5
        requested c3 of 5
        requested c4 of 5
        finished c0 {"ok":false,"error":{"code":"unknown_tool","message":"no tool `nope`"}}
        finished c3 {"ok":false,"error":{"code":"invalid_input","message":"The arguments are not valid JSON, or were cut off. Nothing was executed. Send the call again with one complete JSON object."}}
        started c1
        started c2
        started c4
        finished c1 {"ok":false,"error":{"code":"panic","message":"Tool execution panicked"}}
        finished c2 {"ok":false,"error":{"code":"path_error","message":"told to fail"}}
        finished c4 {"ok":true,"data":{}}
        "#);
        assert!(stage.requests()[1].ends_with("user c0:failed c1:failed c2:failed c3:failed c4:ok"));
        assert_eq!(summary.text.as_ref(), "sorry");
    });
}

#[test]
fn a_call_cut_off_by_the_token_limit_is_never_executed() {
    play(async {
        let mut cut = call(0, "act", "");
        cut.pop();
        cut.extend(done(StopReason::MaxTokens));
        let mut stage = Stage::new(vec![Ok(cut), says("ok")]);
        stage.turn("go").await;
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "go"
        message model c0=act{} (Some(MaxTokens))
        notice max_tokens
        requested c0 of 1
        finished c0 {"ok":false,"error":{"code":"invalid_input","message":"Your reply was cut off at the token limit (`max_tokens`) before this call was complete. Nothing of it was executed. Send the call again in smaller pieces, for instance a large file in several edits."}}
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        turn over: Completed(EndTurn), 2 requests, 4 out
        "#);
        assert!(stage.requests()[1].ends_with("c0:failed"));
    });
}

/// A provider may close the last call of a reply that it cut off, and what came of it may look complete.
#[test]
fn no_call_of_a_reply_that_was_cut_off_is_executed() {
    for stop in [StopReason::MaxTokens, StopReason::ContextWindow] {
        play(async {
            let cut = || Ok([call(0, "act", "{}"), call(1, "act", ""), done(stop.clone())].concat());
            let mut stage = Stage::new(vec![cut(), calls(&[("act", "{}")]), cut(), cut(), cut()]);
            stage.turn("go").await;
            let started: Vec<_> =
                stage.events().into_iter().filter(|event| event.starts_with("started")).collect();
            assert_eq!(started.len(), 1, "{started:?}");
            let last = stage.events().pop().unwrap();
            assert!(last.starts_with("turn over: Failed(cut: the reply was cut off at the "), "{last}");
        });
    }
}

#[test]
fn three_malformed_replies_in_a_row_end_the_turn() {
    play(async {
        let bad = || calls(&[("act", "{")]);
        let mut stage = Stage::new(vec![bad(), bad(), calls(&[("act", "{}")]), bad(), bad(), bad()]);
        stage.turn("go").await;
        assert_eq!(
            stage.events().last().unwrap(),
            "turn over: Failed(parse: the model sent arguments that are not JSON 3 times in a row), 6 requests, 12 out"
        );
    });
}

#[test]
fn calls_without_an_id_get_counted_ones() {
    play(async {
        let made = |index| {
            vec![
                Step::Say(Chunk::CallStart { index, id: None, name: "act".into(), replay: None }),
                Step::Say(Chunk::CallEnd { index }),
            ]
        };
        let script = || Ok([made(0), made(1), done(StopReason::ToolUse)].concat());
        let mut stage = Stage::new(vec![script(), script(), says("ok")]);
        stage.turn("go").await;
        let requested: Vec<_> = stage.events().into_iter().filter(|e| e.starts_with("requested")).collect();
        assert_eq!(requested, [1, 2, 3, 4].map(|n| format!("requested call_stage_{n} of 2")));
    });
}

#[test]
fn output_is_told_while_a_tool_runs_where_somebody_watches() {
    play(async {
        let setup = Setup { live: true, ..Setup::default() };
        let mut stage = Stage::with(setup, vec![calls(&[("act", r#"{"do":"talk"}"#)]), says("ok")]);
        stage.turn("go").await;
        insta::assert_snapshot!(tool_events(&stage), @r#"
        requested c0 of 1
        started c0
        c0 Stdout "ab"
        c0 Stderr "c"
        finished c0 {"ok":true,"data":{}}
        "#);
    });
}
