//! Conversations that grow too long: masked, summarised, cut, refused, and taken back.

use zori_core::failure::FailureKind;
use zori_core::input::Input;
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::provider::StopReason;
use zori_core::usage::Usage;

use super::stage::{Script, Setup, Stage, Step, calls, counted, failure, play, says};
use crate::engine::Next;

const NOTE: &str = "## Goal\nAll of it.";

/// A provider that never counts, so that a token is four bytes.
fn quiet(script: Script) -> Script {
    counted(0, script)
}

/// A call with an output of so many bytes.
fn big(bytes: usize) -> Script {
    quiet(calls(&[("act", &format!(r#"{{"do":"big","bytes":{bytes}}}"#))]))
}

fn window(tokens: u64) -> Setup {
    Setup { window: Some(tokens), ..Setup::default() }
}

fn too_long() -> Script {
    Err(failure(FailureKind::ContextLength, Some(400)))
}

/// The events that matter here.
fn told(stage: &Stage) -> String {
    let about = ["compacted", "notice", "error", "turn", "retry", "interrupted"];
    let events = stage.events();
    let lines = events.iter().filter(|line| about.iter().any(|word| line.starts_with(word)));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Twelve outputs of 4000 bytes are about 12000 tokens, of which eight outputs stay.
#[test]
fn older_outputs_are_left_out_first() {
    play(async {
        let mut scripts: Vec<_> = (0..12).map(|_| big(4_000)).collect();
        scripts.push(quiet(says("done")));
        let mut stage = Stage::with(window(14_400), scripts);
        stage.turn("go").await;
        insta::assert_snapshot!(told(&stage), @r#"
        turn "go"
        compacted Masked { results: 4 }, NearlyFull: 12348 -> 8524 of 14400
        turn over: Completed(EndTurn), 13 requests, 0 out
        "#);
        // The model gives every call the same id.
        let id = |n: usize| if n == 0 { "c0".to_owned() } else { format!("c0_{}", n + 1) };
        let step = |n: usize, result: &str| {
            format!(" | model {id}=act{{\"do\":\"big\",\"bytes\":4000}} | user {id}:{result}", id = id(n))
        };
        let before: String = (0..11).map(|n| step(n, "ok")).collect();
        assert_eq!(stage.requests()[11], format!("user \"go\"{before}"));
        let after: String = (0..12).map(|n| step(n, if n < 4 { "left out" } else { "ok" })).collect();
        assert_eq!(stage.requests()[12], format!("user \"go\"{after}"));
    });
}

/// Outputs of the turn that runs stay as long as older ones are enough.
#[test]
fn the_running_turn_is_spared() {
    play(async {
        let mut scripts: Vec<_> = (0..8).map(|_| big(4_000)).collect();
        scripts.push(quiet(says("one")));
        scripts.extend((0..10).map(|_| big(1_000)));
        scripts.push(quiet(says("two")));
        let mut stage = Stage::with(window(12_500), scripts);
        stage.turn("1").await;
        stage.turn("2").await;
        insta::assert_snapshot!(told(&stage), @r#"
        turn "1"
        turn over: Completed(EndTurn), 9 requests, 0 out
        turn "2"
        compacted Masked { results: 7 }, NearlyFull: 10199 -> 3507 of 12500
        turn over: Completed(EndTurn), 11 requests, 0 out
        "#);
    });
}

#[test]
fn older_messages_are_summarised_when_that_is_not_enough() {
    play(async {
        let mut scripts: Vec<_> = (0..5).map(|_| big(8_000)).collect();
        scripts.extend([counted(70, says(NOTE)), quiet(says("done"))]);
        let mut stage = Stage::with(window(12_500), scripts);
        let summary = stage.turn("go").await;
        insta::assert_snapshot!(told(&stage), @r#"
        turn "go"
        compacted Summarised { messages: 9 }, NearlyFull: 10150 -> 2069 of 12500
        turn over: Completed(EndTurn), 6 requests, 0 out
        "#);
        assert_eq!(summary.usage, Usage { input: 70, ..Usage::default() }, "the summary is paid for");
        insta::assert_snapshot!(stage.requests()[5..].join("\n"), @r#"
        user "<conversation>"...
        user "go" "[Note: the older part of this conversation was left out to save context. What it came to:]\n\n## Goal\nAll of it." | model c0_5=act{"do":"big","bytes":8000} | user c0_5:ok
        "#);
    });
}

/// What the user said last is kept word for word, even where the answer to it has to go.
#[test]
fn the_first_and_the_last_prompt_stay() {
    play(async {
        let long = "y".repeat(33_000);
        let scripts = vec![quiet(says("one")), quiet(says(&long)), quiet(says(NOTE)), quiet(says("three"))];
        let mut stage = Stage::with(window(10_000), scripts);
        for prompt in ["first", "second", "third"] {
            stage.turn(prompt).await;
        }
        insta::assert_snapshot!(stage.requests()[3], @r#"user "first" "[Note: the older part of this conversation was left out to save context. What it came to:]\n\n## Goal\nAll of it." "third""#);
    });
}

#[test]
fn a_summary_that_fails() {
    for failed in [Err(failure(FailureKind::HttpStatus, Some(400))), quiet(says(" "))] {
        play(async {
            let mut scripts: Vec<_> = (0..5).map(|_| big(8_000)).collect();
            scripts.extend([failed, quiet(says("done"))]);
            let mut stage = Stage::with(window(12_500), scripts);
            assert_eq!(stage.turn("go").await.outcome, Outcome::Completed(StopReason::EndTurn));
            assert_eq!(
                told(&stage).lines().nth(2),
                Some("compacted Dropped { messages: 9 }, NearlyFull: 10150 -> 2080 of 12500")
            );
            assert_eq!(told(&stage).lines().nth(1), Some("notice summary_failed"));
            assert!(stage.requests()[6].contains("No summary of its 9 messages could be made"));
        });
    }
}

/// Where masking alone keeps the conversation under the limit, nothing is dropped.
#[test]
fn a_summary_that_fails_after_masking() {
    play(async {
        let mut scripts: Vec<_> = (0..10).map(|_| big(4_000)).collect();
        scripts.extend([Err(failure(FailureKind::HttpStatus, Some(400))), quiet(says("done"))]);
        // Nine outputs of 4000 bytes fit 80 percent of it, ten do not; eight are more than three quarters of that.
        let mut stage = Stage::with(window(12_000), scripts);
        stage.turn("go").await;
        insta::assert_snapshot!(told(&stage), @r#"
        turn "go"
        notice summary_failed
        compacted Masked { results: 2 }, NearlyFull: 10291 -> 8379 of 12000
        turn over: Completed(EndTurn), 11 requests, 0 out
        "#);
    });
}

#[test]
fn a_summary_is_tried_again_like_any_request() {
    play(async {
        let mut scripts: Vec<_> = (0..5).map(|_| big(8_000)).collect();
        let busy = Err(failure(FailureKind::HttpStatus, Some(529)));
        scripts.extend([busy, quiet(says(NOTE)), quiet(says("done"))]);
        let mut stage = Stage::with(window(12_500), scripts);
        stage.turn("go").await;
        insta::assert_snapshot!(told(&stage), @r#"
        turn "go"
        retry 1/4 in 1s
        compacted Summarised { messages: 9 }, NearlyFull: 10150 -> 2069 of 12500
        turn over: Completed(EndTurn), 6 requests, 0 out
        "#);
    });
}

/// The window is not known, so only the provider can tell.
#[test]
fn a_refusal_is_answered_by_one_compaction_and_one_retry() {
    play(async {
        let mut scripts: Vec<_> = (0..5).map(|_| big(8_000)).collect();
        scripts.extend([too_long(), quiet(says(NOTE)), quiet(says("done"))]);
        let mut stage = Stage::new(scripts);
        stage.turn("go").await;
        insta::assert_snapshot!(told(&stage), @r#"
        turn "go"
        compacted Summarised { messages: 9 }, Refused: 10150 -> 2069 of ?
        turn over: Completed(EndTurn), 6 requests, 0 out
        "#);
    });
}

#[test]
fn a_conversation_that_is_refused_again_and_again() {
    play(async {
        let mut scripts: Vec<_> = (0..5).map(|_| big(8_000)).collect();
        scripts.extend([too_long(), quiet(says(NOTE)), too_long(), too_long()]);
        let mut stage = Stage::new(scripts);
        stage.turn("go").await;
        let error = "context_length: the conversation is too long for the model, and cannot be made shorter; start a new \
                     session or use a model with a larger context window (told to fail)";
        assert_eq!(
            steps(&stage),
            [
                r#"turn "go""#.to_owned(),
                "compacted Summarised { messages: 9 }, Refused".into(),
                "compacted Cut { results: 1 }, Refused".into(),
                format!("error {error}"),
                format!("turn over: Failed({error}), 5 requests, 0 out"),
            ]
        );
        assert_eq!(stage.requests().len(), 9);
    });
}

/// A prompt that is too long by itself: there is nothing to leave out.
#[test]
fn nothing_to_leave_out() {
    play(async {
        let mut stage = Stage::with(window(1_000), vec![too_long()]);
        stage.turn(&"p".repeat(8_000)).await;
        assert_eq!(stage.requests().len(), 1);
        assert_eq!(stage.history(), "", "and nothing came of the prompt");
    });
}

/// What cannot be made short enough is not summarised with every step.
#[test]
fn a_run_does_not_compact_over_and_over() {
    play(async {
        let prompt = "p".repeat(4_000);
        let mut scripts: Vec<_> = (0..4).map(|_| big(600)).collect();
        scripts.push(quiet(says(NOTE)));
        scripts.extend([big(600), big(600), quiet(says(NOTE)), quiet(says("done"))]);
        let mut stage = Stage::with(window(1_000), scripts);
        stage.turn(&prompt).await;
        insta::assert_snapshot!(told(&stage).lines().skip(1).collect::<Vec<_>>().join("\n"), @"
        compacted Summarised { messages: 7 }, NearlyFull: 1720 -> 1218 of 1000
        compacted Summarised { messages: 5 }, NearlyFull: 1574 -> 1218 of 1000
        turn over: Completed(EndTurn), 7 requests, 0 out
        ");
    });
}

#[test]
fn a_cancel_during_the_summary_changes_nothing() {
    play(async {
        let mut scripts: Vec<_> = (0..5).map(|_| big(8_000)).collect();
        scripts.push(Ok(vec![Step::Hang]));
        let mut stage = Stage::with(window(12_500), scripts);
        let Stage { engine, inputs, say, .. } = &mut stage;
        let (turn, ()) = tokio::join!(engine.turn("go".into(), inputs), async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            say.send(Input::Cancel(CancelCause::User)).await.unwrap();
        });
        assert_eq!(turn.0.outcome, Outcome::Cancelled(CancelCause::User));
        assert_eq!(told(&stage).lines().nth(1), Some("interrupted"));
        assert_eq!(stage.history().matches(":ok").count(), 5);
    });
}

#[test]
fn by_hand_and_back() {
    play(async {
        let long = "y".repeat(6_000);
        let scripts = vec![says(&long), says("two"), counted(7, says(NOTE)), says("three"), says("four")];
        let mut stage = Stage::with(window(100_000), scripts);
        for input in [
            Input::UndoCompact,
            Input::Prompt("1".into()),
            Input::Prompt("2".into()),
            Input::Compact { focus: Some("the end".into()) },
            Input::Prompt("3".into()),
            Input::Compact { focus: None },
            Input::UndoCompact,
            Input::Prompt("4".into()),
            Input::Shutdown,
        ] {
            stage.say.try_send(input).unwrap();
        }
        stage.engine.run(&mut stage.inputs, |_| Next::Continue).await;
        insta::assert_snapshot!(told(&stage), @r#"
        notice nothing_to_undo
        turn "1"
        turn over: Completed(EndTurn), 1 requests, 2 out
        turn "2"
        turn over: Completed(EndTurn), 1 requests, 2 out
        compacted Summarised { messages: 3 }, Asked: 12 -> 0 of 100000
        turn "3"
        turn over: Completed(EndTurn), 1 requests, 2 out
        notice nothing_to_compact
        compacted Undone, Asked: 12 -> 1493 of 100000
        turn "4"
        turn over: Completed(EndTurn), 1 requests, 2 out
        "#);
        insta::assert_snapshot!(stage.requests()[2..].join("\n"), @r#"
        user "<conversation>"...
        user "1" "[Note: the older part of this conversation was left out to save context. What it came to:]\n\n## Goal\nAll of it." "2" | model "two" | user "3"
        user "1" | model "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"... | user "2" | model "two" | user "3" | model "three" | user "4"
        "#);
        assert_eq!(stage.engine.totals().spent.usage.input, 47);
        assert_eq!(stage.engine.totals().turns, 4);
    });
}

#[test]
fn by_hand_without_success() {
    play(async {
        let long = "y".repeat(6_000);
        let refused = Err(failure(FailureKind::HttpStatus, Some(400)));
        let mut stage = Stage::new(vec![says(&long), refused]);
        stage.turn("1").await;
        let before = stage.history();
        stage.engine.compact(None, &mut stage.inputs).await;
        assert_eq!(told(&stage).lines().last(), Some("notice summary_failed"));
        assert_eq!(stage.history(), before);
    });
}

/// The provider's own count is what counts; only what came after it is estimated.
#[test]
fn what_the_provider_counted() {
    play(async {
        let scripts = vec![counted(9_000, calls(&[("act", "{}")])), quiet(says(NOTE)), quiet(says("done"))];
        let mut stage = Stage::with(window(10_000), scripts);
        stage.turn(&"p".repeat(100)).await;
        let tokens = stage.engine.context_tokens();
        assert!((9_000..9_100).contains(&tokens), "{tokens}");
        assert_eq!(stage.engine.context_window(), Some(10_000));
    });
}

/// What happened, without the figures of compactions.
fn steps(stage: &Stage) -> Vec<String> {
    let figures = |line: &str| match line.strip_prefix("compacted").and_then(|rest| rest.rsplit_once(": ")) {
        Some((what, _)) => format!("compacted{what}"),
        None => line.to_owned(),
    };
    told(stage).lines().map(figures).collect()
}

/// One result that is longer than the whole window, and the newest at that: it is cut, and the turn goes on.
#[test]
fn a_result_longer_than_the_window() {
    play(async {
        let mut stage = Stage::with(window(10_000), vec![big(400_000), quiet(says("done"))]);
        stage.turn("go").await;
        let expected = [
            r#"turn "go""#,
            "compacted Cut { results: 1 }, NearlyFull",
            "turn over: Completed(EndTurn), 2 requests, 0 out",
        ];
        assert_eq!(steps(&stage), expected);
        assert!(stage.engine.context_tokens() < 8_000, "{}", stage.engine.context_tokens());
    });
}

/// Right after a summary there may be room for little: what does not fit is cut without another one.
#[test]
fn a_result_longer_than_what_is_left() {
    play(async {
        let mut scripts: Vec<_> = (0..5).map(|_| big(8_000)).collect();
        scripts.extend([quiet(says(NOTE)), big(60_000), quiet(says("done"))]);
        let mut stage = Stage::with(window(12_500), scripts);
        stage.turn("go").await;
        let expected = [
            r#"turn "go""#,
            "compacted Summarised { messages: 9 }, NearlyFull",
            "compacted Cut { results: 1 }, NearlyFull",
            "turn over: Completed(EndTurn), 7 requests, 0 out",
        ];
        assert_eq!(steps(&stage), expected);
        assert!(stage.engine.context_tokens() < 10_000, "{}", stage.engine.context_tokens());
    });
}

/// Whoever asks for it gets it shorter, also where no summary can be made.
#[test]
fn by_hand_with_one_long_result() {
    play(async {
        let refused = Err(failure(FailureKind::HttpStatus, Some(400)));
        let mut stage = Stage::with(window(1_000_000), vec![big(300_000), quiet(says("done")), refused]);
        stage.turn("go").await;
        let before = stage.engine.context_tokens();
        stage.engine.compact(None, &mut stage.inputs).await;
        let expected = [
            r#"turn "go""#,
            "turn over: Completed(EndTurn), 2 requests, 0 out",
            "notice summary_failed",
            "compacted Cut { results: 1 }, Asked",
        ];
        assert_eq!(steps(&stage), expected);
        assert!(stage.engine.context_tokens() <= before / 2, "{}", stage.engine.context_tokens());
    });
}

/// The call itself may be what is too long: then the round goes, and the task stays.
#[test]
fn a_call_longer_than_the_window() {
    play(async {
        let input = format!(r#"{{"do":"big","bytes":10,"why":"{}"}}"#, "w".repeat(100_000));
        let scripts = vec![quiet(calls(&[("act", &input)])), quiet(says(NOTE)), quiet(says("done"))];
        let mut stage = Stage::with(window(10_000), scripts);
        stage.turn("the task").await;
        let expected = [
            r#"turn "the task""#,
            "compacted Summarised { messages: 3 }, NearlyFull",
            "turn over: Completed(EndTurn), 2 requests, 0 out",
        ];
        assert_eq!(steps(&stage), expected);
        assert!(stage.requests()[2].starts_with("user \"the task\""), "{}", stage.requests()[2]);
    });
}
