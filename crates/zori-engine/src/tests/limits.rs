//! Limits and costs, at every point where one can be reached.

use zori_core::cost::{MicroUsd, Prices, Spent};
use zori_core::failure::FailureKind;
use zori_core::outcome::{LimitKind, Outcome};
use zori_core::provider::{Chunk, StopReason};
use zori_core::usage::Usage;

use super::stage::{Setup, Stage, Step, calls, done, failure, play, says, text};
use crate::limits::Limits;

/// Ten tokens in and two out, as the stage's replies have it, cost 20 micro-dollars.
const PRICES: Prices =
    Prices { input: 1_000_000, output: 5_000_000, cache_read: 0, cache_write: 0, long: None };

fn limited(limits: Limits) -> Setup {
    Setup { limits: Some(limits), prices: Some(PRICES), ..Setup::default() }
}

fn turns(n: u32) -> Setup {
    limited(Limits { turns: Some(n), ..Limits::NONE })
}

fn budget(micros: u64) -> Setup {
    limited(Limits { budget: Some(MicroUsd(micros)), ..Limits::NONE })
}

fn tokens(n: u64) -> Setup {
    limited(Limits { tokens: Some(n), ..Limits::NONE })
}

#[test]
fn the_round_that_reaches_a_limit_is_kept() {
    play(async {
        let mut stage = Stage::with(turns(1), vec![calls(&[("act", r#"{"write":"/ws/a"}"#)]), says("next")]);
        let summary = stage.turn("go").await;
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "go"
        input 0 {"write":"/ws/a"}
        message model c0=act{"write":"/ws/a"} (Some(ToolUse))
        requested c0 of 1
        started c0
        finished c0 {"ok":true,"data":{}}
        error max_turns: Reached the limit of 1 turn (`--max-turns`)
        turn over: Limit(Turns), 1 requests, 2 out
        "#);
        assert_eq!(
            (summary.outcome, summary.effects, summary.cost),
            (Outcome::Limit(LimitKind::Turns), true, Some(MicroUsd(20)))
        );
        assert_eq!(stage.history(), r#"user "go" | model c0=act{"write":"/ws/a"} | user c0:ok"#);
        // The limit is one of each prompt, so the next one has its own.
        stage.turn("again").await;
        assert_eq!(stage.requests()[1], r#"user "go" | model c0=act{"write":"/ws/a"} | user c0:ok "again""#);
    });
}

#[test]
fn an_answer_within_the_limit_is_an_answer() {
    for setup in [turns(2), budget(40), tokens(24)] {
        play(async {
            let mut stage = Stage::with(setup, vec![calls(&[("act", "{}")]), says("ok")]);
            let summary = stage.turn("go").await;
            assert_eq!(summary.outcome, Outcome::Completed(StopReason::EndTurn));
            assert_eq!((summary.requests, summary.cost), (2, Some(MicroUsd(40))));
        });
    }
}

#[test]
fn money_and_tokens_are_counted_over_the_whole_run() {
    for (setup, kind) in [(budget(40), LimitKind::Budget), (tokens(24), LimitKind::Tokens)] {
        play(async {
            let mut stage = Stage::with(setup, vec![says("one"), says("two")]);
            stage.turn("1").await;
            stage.turn("2").await;
            let third = stage.turn("3").await;
            assert_eq!((third.outcome, third.requests), (Outcome::Limit(kind), 0));
            assert_eq!(stage.requests().len(), 2, "nothing is sent once the limit is reached");
            assert_eq!(
                stage.history(),
                r#"user "1" | model "one" | user "2" | model "two""#,
                "a prompt that was never sent is taken back"
            );
        });
    }
}

#[test]
fn what_other_sessions_of_the_run_used_counts() {
    play(async {
        let usage = Usage { input: 100, ..Usage::default() };
        let before = Spent { usage, cost: Some(MicroUsd(30)) };
        let setup = Setup { spent_before: Some(before), ..budget(50) };
        let mut stage = Stage::with(setup, vec![says("one")]);
        stage.turn("1").await;
        assert_eq!(stage.events().last().unwrap(), "turn over: Completed(EndTurn), 1 requests, 2 out");
        stage.turn("2").await;
        assert_eq!(
            stage.events()[6..],
            [
                "error max_budget_usd: Reached the budget of $0.000050: $0.000050 spent (`--max-budget-usd`)",
                "turn over: Limit(Budget), 0 requests, 0 out",
            ]
        );
        let own = Usage { input: 10, output: 2, ..Usage::default() };
        assert_eq!(stage.engine.totals().spent, Spent { usage: own, cost: Some(MicroUsd(20)) });
        assert_eq!(
            stage.engine.spent(),
            Spent { usage: Usage { input: 110, ..own }, cost: Some(MicroUsd(50)) }
        );
    });
}

#[test]
fn a_model_without_a_price_is_not_asked_within_a_budget() {
    play(async {
        let mut stage = Stage::with(budget(1_000_000), vec![says("one")]);
        stage.turn("1").await;
        stage.engine.set_model("other");
        let second = stage.turn("2").await;
        assert_eq!((second.outcome, second.requests), (Outcome::Limit(LimitKind::Budget), 0));
    });
}

/// D-11: unknown never becomes zero, and stays unknown.
#[test]
fn one_unknown_price_makes_the_sum_unknown() {
    play(async {
        let setup = Setup { prices: Some(PRICES), ..Setup::default() };
        let mut stage = Stage::with(setup, vec![says("one"), says("two"), says("three")]);
        let mut costs = Vec::new();
        for model in ["m", "other", "m"] {
            stage.engine.set_model(model);
            costs.push((stage.turn("go").await.cost, stage.engine.totals().spent.cost));
        }
        let twenty = Some(MicroUsd(20));
        assert_eq!(costs, [(twenty, twenty), (None, None), (twenty, None)]);
    });
}

#[test]
fn a_reply_that_breaks_off_is_paid_for() {
    play(async {
        let usage = Usage { input: 10, output: 1, ..Usage::default() };
        let reset = failure(FailureKind::Transport, None);
        let broken = Ok(vec![Step::Say(Chunk::Usage(usage)), text("Hel"), Step::Fail(reset)]);
        let setup = Setup { prices: Some(PRICES), ..Setup::default() };
        let mut stage = Stage::with(setup, vec![broken]);
        assert_eq!(stage.turn("hi").await.cost, Some(MicroUsd(15)));
    });
}

/// A reply that asks to go on is a request of its own.
#[test]
fn a_pause_counts() {
    play(async {
        let paused = Ok([vec![text("one")], done(StopReason::Pause)].concat());
        let mut stage = Stage::with(turns(1), vec![paused]);
        let summary = stage.turn("count").await;
        assert_eq!((summary.outcome, &*summary.text), (Outcome::Limit(LimitKind::Turns), "one"));
    });
}
