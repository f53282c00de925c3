//! Sub-agents: a conversation of their own, and everything else as it is for the agent that started them.

use std::time::Duration;

use zori_core::failure::FailureKind;
use zori_core::ids::CallId;
use zori_core::input::{Approval, Input};
use zori_core::outcome::CancelCause;
use zori_policy::Approver;

use super::stage::{Setup, Stage, calls, failure, play, says};
use crate::agent_kinds::{AgentKind, SystemPrompt};
use crate::limits::Limits;

const TASK: (&str, &str) = ("task", r#"{"prompt":"look"}"#);

/// Plays a turn. Returns the events from the first request of a tool on.
async fn played(stage: &mut Stage) -> String {
    let waited = tokio::time::timeout(Duration::from_secs(60), stage.turn("go")).await.is_err();
    assert!(!waited, "somebody waits for ever:\n{}", stage.events().join("\n"));
    let events = stage.events();
    let first = events.iter().position(|event| event.starts_with("requested")).unwrap();
    events[first..].join("\n")
}

fn yes(call: &str, answer: Approval) -> Input {
    Input::Approve { call: CallId::new(call), answer }
}

#[test]
fn a_task_and_its_report() {
    play(async {
        let work = calls(&[("act", "{}")]);
        let mut stage = Stage::new(vec![calls(&[TASK]), work, says("found"), says("ok")]);
        insta::assert_snapshot!(played(&mut stage).await, @r#"
        requested c0 of 1
        started c0
        [1 of c0] agent "do it" on m
        [1 of c0] turn "look"
        [1 of c0] input 0 {}
        [1 of c0] message model c0_2=act{} (Some(ToolUse))
        [1 of c0] requested c0_2 of 1
        [1 of c0] started c0_2
        [1 of c0] finished c0_2 {"ok":true,"data":{}}
        [1 of c0] delta "found"
        [1 of c0] message model "found" (Some(EndTurn))
        [1 of c0] final "found"
        [1 of c0] turn over: Completed(EndTurn), 2 requests, 4 out
        finished c0 {"ok":true,"data":{"text":"found"}}
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        turn over: Completed(EndTurn), 4 requests, 8 out
        "#);
        insta::assert_snapshot!(stage.requests().join("\n"), @r#"
        user "go"
        user "look"
        user "look" | model c0_2=act{} | user c0_2:ok
        user "go" | model c0=task{"prompt":"look"} | user c0:ok
        "#);
        assert_eq!(stage.engine.totals().spent, stage.engine.spent(), "what it used is the session's");
    });
}

/// Both are under way before one of them is done. The model gave their calls one id, which becomes three.
#[test]
fn two_side_by_side() {
    play(async {
        let (wait, open) = (calls(&[("act", r#"{"do":"wait"}"#)]), calls(&[("act", r#"{"do":"open"}"#)]));
        let scripts = vec![calls(&[TASK, TASK]), wait, open, says("two"), says("one"), says("ok")];
        insta::assert_snapshot!(played(&mut Stage::new(scripts)).await, @r#"
        requested c0 of 2
        requested c1 of 2
        started c0
        started c1
        [1 of c0] agent "do it" on m
        [1 of c0] turn "look"
        [1 of c0] input 0 {"do":"wait"}
        [1 of c0] message model c0_2=act{"do":"wait"} (Some(ToolUse))
        [1 of c0] requested c0_2 of 1
        [1 of c0] started c0_2
        [2 of c1] agent "do it" on m
        [2 of c1] turn "look"
        [2 of c1] input 0 {"do":"open"}
        [2 of c1] message model c0_3=act{"do":"open"} (Some(ToolUse))
        [2 of c1] requested c0_3 of 1
        [2 of c1] started c0_3
        [2 of c1] finished c0_3 {"ok":true,"data":{"opened":true}}
        [2 of c1] delta "two"
        [2 of c1] message model "two" (Some(EndTurn))
        [2 of c1] final "two"
        [2 of c1] turn over: Completed(EndTurn), 2 requests, 4 out
        finished c1 {"ok":true,"data":{"text":"two"}}
        [1 of c0] finished c0_2 {"ok":true,"data":{"waited":true}}
        [1 of c0] delta "one"
        [1 of c0] message model "one" (Some(EndTurn))
        [1 of c0] final "one"
        [1 of c0] turn over: Completed(EndTurn), 2 requests, 4 out
        finished c0 {"ok":true,"data":{"text":"one"}}
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        turn over: Completed(EndTurn), 6 requests, 12 out
        "#);
    });
}

/// DEC-5: the rules are those of the agent that started it, and a denial is not the end of it.
#[test]
fn a_call_that_is_denied() {
    play(async {
        let write = calls(&[("act", r#"{"write":"/ws/a"}"#)]);
        let setup = Setup { default_mode: Some(Approver::Absent), ..Setup::default() };
        let mut stage = Stage::with(setup, vec![calls(&[TASK]), write, says("could not"), says("ok")]);
        insta::assert_snapshot!(played(&mut stage).await, @r#"
        requested c0 of 1
        started c0
        [1 of c0] agent "do it" on m
        [1 of c0] turn "look"
        [1 of c0] input 0 {"write":"/ws/a"}
        [1 of c0] message model c0_2=act{"write":"/ws/a"} (Some(ToolUse))
        [1 of c0] requested c0_2 of 1
        [1 of c0] c0_2 is Deny by Policy: approval_unavailable: mode default asks about W: Creates or edits inside a workspace root, and nobody can be asked in this run
        [1 of c0] finished c0_2 {"ok":false,"error":{"code":"permission_denied","message":"approval_unavailable: mode default asks about W: Creates or edits inside a workspace root, and nobody can be asked in this run. Do it another way, or tell the user what would have to be allowed."}}
        [1 of c0] delta "could not"
        [1 of c0] message model "could not" (Some(EndTurn))
        [1 of c0] final "could not"
        [1 of c0] turn over: Completed(EndTurn), 2 requests, 4 out
        finished c0 {"ok":true,"data":{"text":"could not"}}
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        turn over: Completed(EndTurn), 4 requests, 8 out
        "#);
    });
}

/// The question says who asks. "Always" was said to the session, so it holds for the agent that started it, too.
#[test]
fn a_question() {
    play(async {
        let write = calls(&[("act", r#"{"write":"/ws/a"}"#)]);
        let scripts = vec![calls(&[TASK]), write, says("done"), says("ok")];
        let setup = Setup {
            default_mode: Some(Approver::Present),
            act_at: Some(11),
            say: Some(yes("c0_2", Approval::Grant(0))),
            ..Setup::default()
        };
        let mut stage = Stage::with(setup, scripts);
        insta::assert_snapshot!(played(&mut stage).await, @r#"
        requested c0 of 1
        started c0
        [1 of c0] agent "do it" on m
        [1 of c0] turn "look"
        [1 of c0] input 0 {"write":"/ws/a"}
        [1 of c0] message model c0_2=act{"write":"/ws/a"} (Some(ToolUse))
        [1 of c0] requested c0_2 of 1
        [1 of c0] asked about c0_2: W or Edit(//ws/a) or Edit(//ws/**), Input("{\"write\":\"/ws/a\"}")
        [1 of c0] c0_2 is Allow by User: sub-agent 1 "do it": mode default asks about W: Creates or edits inside a workspace root
        [1 of c0] started c0_2
        [1 of c0] finished c0_2 {"ok":true,"data":{}}
        [1 of c0] delta "done"
        [1 of c0] message model "done" (Some(EndTurn))
        [1 of c0] final "done"
        [1 of c0] turn over: Completed(EndTurn), 2 requests, 4 out
        finished c0 {"ok":true,"data":{"text":"done"}}
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        turn over: Completed(EndTurn), 4 requests, 8 out
        "#);
        let rules: Vec<_> = stage.engine.policy().rules.allow.iter().map(|rule| &*rule.shown.text).collect();
        assert_eq!(rules, ["Edit(//ws/a)"]);
    });
}

/// Everything has its end, the sub-agent's call included.
#[test]
fn a_cancel() {
    play(async {
        let hang = calls(&[("act", r#"{"do":"hang"}"#)]);
        let setup =
            Setup { act_at: Some(11), say: Some(Input::Cancel(CancelCause::User)), ..Setup::default() };
        insta::assert_snapshot!(played(&mut Stage::with(setup, vec![calls(&[TASK]), hang])).await, @r#"
        requested c0 of 1
        started c0
        [1 of c0] agent "do it" on m
        [1 of c0] turn "look"
        [1 of c0] input 0 {"do":"hang"}
        [1 of c0] message model c0_2=act{"do":"hang"} (Some(ToolUse))
        [1 of c0] requested c0_2 of 1
        [1 of c0] started c0_2
        [1 of c0] finished c0_2 {"ok":false,"error":{"code":"canceled","message":"The call was canceled before it was done"}}
        [1 of c0] interrupted
        [1 of c0] turn over: Cancelled(User), 1 requests, 2 out
        finished c0 {"ok":false,"error":{"code":"canceled","message":"The sub-agent was canceled before it was done"}}
        interrupted
        turn over: Cancelled(User), 2 requests, 4 out
        "#);
    });
}

#[test]
fn how_deep() {
    let nested = |depth| {
        play(async move {
            let mut scripts = vec![calls(&[TASK]), calls(&[TASK])];
            if depth == 2 {
                scripts.extend([calls(&[TASK]), says("third")]);
            }
            scripts.extend([says("second"), says("ok")]);
            let setup = Setup { agents: Some((depth, 9)), ..Setup::default() };
            let events = played(&mut Stage::with(setup, scripts)).await;
            let ends = events.lines().filter(|line| line.contains("finished"));
            ends.collect::<Vec<_>>().join("\n")
        })
    };
    insta::assert_snapshot!(nested(1), @r#"
    [1 of c0] finished c0_2 {"ok":false,"error":{"code":"unknown_tool","message":"`task` is not available here: no further sub-agent may be started"}}
    finished c0 {"ok":true,"data":{"text":"second"}}
    "#);
    insta::assert_snapshot!(nested(2), @r#"
    [2 of c0_2] finished c0_3 {"ok":false,"error":{"code":"unknown_tool","message":"`task` is not available here: no further sub-agent may be started"}}
    [1 of c0] finished c0_2 {"ok":true,"data":{"text":"third"}}
    finished c0 {"ok":true,"data":{"text":"second"}}
    "#);
}

#[test]
fn how_many() {
    play(async {
        let scripts =
            vec![calls(&[TASK, TASK]), says("one"), says("ok"), calls(&[TASK]), says("two"), says("ok")];
        let setup = Setup { agents: Some((1, 1)), ..Setup::default() };
        let mut stage = Stage::with(setup, scripts);
        let events = played(&mut stage).await;
        let ends: Vec<_> = events.lines().filter(|line| line.starts_with("finished")).collect();
        insta::assert_snapshot!(ends.join("\n"), @r#"
        finished c0 {"ok":true,"data":{"text":"one"}}
        finished c1 {"ok":false,"error":{"code":"agent_error","message":"This prompt has started 1 sub-agent, which is all it may (`subagent_max`). Do the rest yourself."}}
        "#);
        stage.turn("again").await;
        assert!(
            stage.events().iter().any(|event| event == r#"finished c0_2 {"ok":true,"data":{"text":"two"}}"#)
        );
    });
}

/// Its requests are requests of the prompt.
#[test]
fn limits_are_those_of_the_run() {
    play(async {
        let work = || calls(&[("act", "{}")]);
        let limits = Limits { turns: Some(3), ..Limits::NONE };
        let setup = Setup { limits: Some(limits), ..Setup::default() };
        let mut stage = Stage::with(setup, vec![calls(&[TASK]), work(), work()]);
        insta::assert_snapshot!(played(&mut stage).await, @r#"
        requested c0 of 1
        started c0
        [1 of c0] agent "do it" on m
        [1 of c0] turn "look"
        [1 of c0] input 0 {}
        [1 of c0] message model c0_2=act{} (Some(ToolUse))
        [1 of c0] requested c0_2 of 1
        [1 of c0] started c0_2
        [1 of c0] finished c0_2 {"ok":true,"data":{}}
        [1 of c0] input 0 {}
        [1 of c0] message model c0_3=act{} (Some(ToolUse))
        [1 of c0] requested c0_3 of 1
        [1 of c0] started c0_3
        [1 of c0] finished c0_3 {"ok":true,"data":{}}
        [1 of c0] error max_turns: Reached the limit of 3 turns (`--max-turns`)
        [1 of c0] turn over: Limit(Turns), 2 requests, 4 out
        finished c0 {"ok":false,"error":{"code":"agent_error","message":"The sub-agent did not come to an end: the turns of this prompt are used up (`--max-turns`). It said nothing."}}
        error max_turns: Reached the limit of 3 turns (`--max-turns`)
        turn over: Limit(Turns), 3 requests, 6 out
        "#);
    });
}

#[test]
fn a_provider_that_fails() {
    play(async {
        let refused = Err(failure(FailureKind::HttpStatus, Some(400)));
        insta::assert_snapshot!(played(&mut Stage::new(vec![calls(&[TASK]), refused, says("ok")])).await, @r#"
        requested c0 of 1
        started c0
        [1 of c0] agent "do it" on m
        [1 of c0] turn "look"
        [1 of c0] error http_status: told to fail
        [1 of c0] turn over: Failed(http_status: told to fail), 0 requests, 0 out
        finished c0 {"ok":false,"error":{"code":"agent_error","message":"The sub-agent did not come to an end: http_status: told to fail. It said nothing."}}
        delta "ok"
        message model "ok" (Some(EndTurn))
        final "ok"
        turn over: Completed(EndTurn), 2 requests, 4 out
        "#);
    });
}

#[test]
fn another_kind_and_another_model() {
    play(async {
        let tasks = [
            ("task", r#"{"prompt":"look","kind":"reviewer"}"#),
            ("task", r#"{"prompt":"look","kind":"general-purpose","model":"m2"}"#),
        ];
        let events = played(&mut Stage::new(vec![calls(&tasks), says("hi"), says("ok")])).await;
        let told = events.lines().filter(|line| line.contains("finished") || line.contains("agent"));
        insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @r#"
        finished c0 {"ok":false,"error":{"code":"invalid_input","message":"There is no sub-agent `reviewer`; there is `general-purpose`"}}
        [1 of c1] agent "do it" on m2
        finished c1 {"ok":true,"data":{"text":"hi"}}
        "#);
    });
}

/// What a kind says holds for it; a model that the call names is more than the kind's.
#[test]
fn a_kind_with_tools_and_a_model_of_its_own() {
    play(async {
        let reader = AgentKind {
            name: "reader".into(),
            description: "reads".into(),
            system: SystemPrompt::Replace("Read.".into()),
            tools: Some(vec!["look".into()]),
            model: Some("m2".into()),
            effort: None,
        };
        let setup = Setup { kinds: vec![reader], ..Setup::default() };
        let tasks = [
            ("task", r#"{"prompt":"look","kind":"reader"}"#),
            ("task", r#"{"prompt":"look","kind":"reader","model":"m3"}"#),
        ];
        let scripts = vec![
            calls(&tasks[..1]),
            calls(&[("act", "{}")]),
            says("no"),
            calls(&tasks[1..]),
            says("hi"),
            says("ok"),
        ];
        let events = played(&mut Stage::with(setup, scripts)).await;
        let told = events.lines().filter(|line| line.contains("finished") || line.contains("agent"));
        insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @r#"
        [1 of c0] agent "do it" on m2
        [1 of c0] finished c0_2 {"ok":false,"error":{"code":"unknown_tool","message":"`act` is not available to this sub-agent; it has no tools"}}
        finished c0 {"ok":true,"data":{"text":"no"}}
        [2 of c0_3] agent "do it" on m3
        finished c0_3 {"ok":true,"data":{"text":"hi"}}
        "#);
    });
}
