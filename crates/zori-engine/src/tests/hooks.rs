//! Hooks: told in order, their verdict part of the decision, their words part of the conversation.

use std::sync::{Arc, Mutex};

use zori_core::BoxFuture;
use zori_core::hook::{HookEvent, HookInput, HookResponse, HookVerdict, Hooks};
use zori_core::outcome::{LimitKind, Outcome};
use zori_core::permission::Verdict;
use zori_core::provider::StopReason;
use zori_policy::Approver;

use super::stage::{Script, Setup, Stage, calls, play, says};

/// Hooks that say what they are told to, by event, and write down what they hear.
#[derive(Default)]
struct ScriptedHooks {
    says: Vec<(HookEvent, HookResponse)>,
    hears: Mutex<Vec<String>>,
}

impl Hooks for ScriptedHooks {
    fn wants(&self, moment: &HookInput<'_>) -> bool {
        self.says.iter().any(|(event, _)| *event == moment.event())
    }

    fn fire<'a>(&'a self, moment: HookInput<'a>, mode: &'a str) -> BoxFuture<'a, HookResponse> {
        self.hears.lock().unwrap().push(match moment {
            HookInput::PreToolUse(call) => format!("{mode}: before {} {}", call.id, call.args.get()),
            HookInput::PostToolUse { call, result } => format!("after {}: {}", call.id, result.get()),
            other => format!("{other:?}"),
        });
        let said = self.says.iter().find(|(event, _)| *event == moment.event());
        let response = said.map(|(_, response)| response.clone()).unwrap_or_default();
        Box::pin(async move { response })
    }
}

const WRITE: &[(&str, &str)] = &[("act", r#"{"write":"/ws/a"}"#)];

fn stage(
    mode: Option<Approver>,
    says: Vec<(HookEvent, HookResponse)>,
    scripts: Vec<Script>,
) -> (Stage, Arc<ScriptedHooks>) {
    let hooks = Arc::new(ScriptedHooks { says, ..ScriptedHooks::default() });
    let setup = Setup { default_mode: mode, hooks: Some(hooks.clone()), ..Setup::default() };
    (Stage::with(setup, scripts), hooks)
}

fn judges(verdict: Verdict) -> HookResponse {
    let verdict = Some(HookVerdict { verdict, reason: "so".into() });
    HookResponse { verdict, ..HookResponse::default() }
}

fn tells(context: &str) -> HookResponse {
    HookResponse { context: vec![context.into()], ..HookResponse::default() }
}

/// Steps 6 and 10: a hook denies and asks in every mode; its allow counts where nothing stricter was said.
#[test]
fn what_a_verdict_does_in_each_mode() {
    let outcome = |mode, verdict| {
        play(async {
            let (mut stage, _) =
                stage(mode, vec![(HookEvent::PreToolUse, judges(verdict))], vec![calls(WRITE), says("ok")]);
            stage.inputs.close();
            stage.turn("go").await;
            let events = stage.events();
            let found = events.iter().find(|e| e.starts_with("c0 is") || e.starts_with("started"));
            found.cloned().unwrap_or_default()
        })
    };
    use Verdict::{Allow, Ask, Deny};
    assert_eq!(outcome(None, Deny), "c0 is Deny by Policy: a hook denies: so");
    assert_eq!(
        outcome(None, Ask),
        "c0 is Deny by Policy: approval_unavailable: a hook asks: so, and nobody can be asked in this run"
    );
    assert_eq!(outcome(None, Allow), "started c0");
    assert_eq!(outcome(Some(Approver::Absent), Allow), "started c0");
    assert_eq!(outcome(Some(Approver::Absent), Deny), "c0 is Deny by Policy: a hook denies: so");
    assert_eq!(
        outcome(Some(Approver::Present), Ask),
        "c0 is Deny by Policy: approval_unavailable: nobody is left to answer"
    );
}

/// The whole order of a turn: start, prompt, before and after the call, end; what they say is sent.
#[test]
fn a_turn_with_hooks_at_every_moment() {
    play(async {
        let event = |event, response| (event, response);
        let says_all = vec![
            event(HookEvent::SessionStart, tells("It is Monday.")),
            event(HookEvent::UserPromptSubmit, tells("Be kind.")),
            event(HookEvent::PreToolUse, tells("Careful.")),
            event(HookEvent::PostToolUse, judges(Verdict::Deny)),
            event(HookEvent::Stop, HookResponse::default()),
            event(HookEvent::SessionEnd, HookResponse::default()),
        ];
        let (mut stage, hooks) = stage(None, says_all, vec![calls(WRITE), says("ok"), says("again")]);
        stage.turn("go").await;
        stage.turn("more").await;
        stage.engine.fire_session_end().await;
        insta::assert_snapshot!(hooks.hears.lock().unwrap().join("\n"), @r#"
        SessionStart { resumed: false, model: "m" }
        UserPromptSubmit { prompt: "go" }
        bypassPermissions: before c0 {"write":"/ws/a"}
        after c0: {"ok":true,"data":{}}
        Stop { again: false, text: "ok" }
        UserPromptSubmit { prompt: "more" }
        Stop { again: false, text: "again" }
        SessionEnd
        "#);
        insta::assert_snapshot!(stage.requests().join("\n").replace(" | ", "\n  "), @r#"
        user "go" "[SessionStart hook]\nIt is Monday." "[UserPromptSubmit hook]\nBe kind."
        user "go" "[SessionStart hook]\nIt is Monday." "[UserPromptSubmit hook]\nBe kind."
          model c0=act{"write":"/ws/a"}
          user c0:ok "[PreToolUse hook]\nCareful." "[PostToolUse hook]\nso"
        user "go" "[SessionStart hook]\nIt is Monday." "[UserPromptSubmit hook]\nBe kind."
          model c0=act{"write":"/ws/a"}
          user c0:ok "[PreToolUse hook]\nCareful." "[PostToolUse hook]\nso"
          model "ok"
          user "more" "[UserPromptSubmit hook]\nBe kind."
        "#);
        let contexts = stage.events().iter().filter(|e| e.contains(" says ")).count();
        assert_eq!(contexts, 5, "each is an event, so that the session file has it");
    });
}

/// The prompt is as if it had not been said.
#[test]
fn a_prompt_that_is_not_let_pass() {
    play(async {
        let blocks = vec![
            (HookEvent::SessionStart, tells("Hello.")),
            (HookEvent::UserPromptSubmit, judges(Verdict::Deny)),
        ];
        let (mut stage, _) = stage(None, blocks, Vec::new());
        let summary = stage.turn("my password is x").await;
        assert_eq!((summary.outcome, summary.requests), (Outcome::Limit(LimitKind::Prompt), 0));
        assert_eq!(stage.history(), "");
        insta::assert_snapshot!(stage.events().join("\n"), @r#"
        turn "my password is x"
        error hook_blocked_prompt: A hook did not let the prompt pass: so
        turn over: Limit(Prompt), 0 requests, 0 out
        "#);
    });
}

/// A hook may send the model back to work, but not for ever.
#[test]
fn a_stop_that_is_blocked_goes_on_and_is_bounded() {
    play(async {
        let scripts = (0..9).map(|_| says("done")).collect();
        let (mut stage, hooks) = stage(None, vec![(HookEvent::Stop, judges(Verdict::Deny))], scripts);
        let summary = stage.turn("go").await;
        assert_eq!((summary.outcome, summary.requests), (Outcome::Completed(StopReason::EndTurn), 9));
        let hears = hooks.hears.lock().unwrap();
        assert_eq!(hears[0], r#"Stop { again: false, text: "done" }"#);
        assert_eq!((hears.len(), &*hears[8]), (9, r#"Stop { again: true, text: "done" }"#));
        assert_eq!(stage.requests()[1], r#"user "go" | model "done" | user "[Stop hook]\nso""#);
    });
}

/// `continue: false` ends the turn, and nothing of the reply runs that was not decided about yet.
#[test]
fn a_hook_that_wants_no_more() {
    for (event, ran) in [(HookEvent::PreToolUse, false), (HookEvent::PostToolUse, true)] {
        play(async {
            let halt = HookResponse { halt: Some("enough".into()), ..HookResponse::default() };
            let (mut stage, _) = stage(None, vec![(event, halt)], vec![calls(WRITE)]);
            let summary = stage.turn("go").await;
            assert_eq!((summary.outcome, summary.effects), (Outcome::Limit(LimitKind::Hook), ran));
            let events = stage.events().join("\n");
            assert!(events.contains("error hook_stopped: A hook ended the turn: enough"), "{events}");
            assert_eq!(events.contains("started c0"), ran);
        });
    }
}

/// An objection to compacting leaves the conversation as it is.
#[test]
fn a_compaction_that_is_blocked() {
    play(async {
        let (mut stage, hooks) =
            stage(None, vec![(HookEvent::PreCompact, judges(Verdict::Deny))], vec![says("ok")]);
        stage.turn("go").await;
        stage.engine.compact(Some("names"), &mut stage.inputs).await;
        assert_eq!(*hooks.hears.lock().unwrap(), [r#"PreCompact { asked: true, focus: Some("names") }"#]);
        assert_eq!(stage.history(), r#"user "go" | model "ok""#);
        assert_eq!(stage.events().last().unwrap(), "notice hook");
    });
}

/// A sub-agent has been prompted by no user, and its end is not the turn's.
#[test]
fn a_sub_agents_end() {
    play(async {
        let says_nothing = [HookEvent::UserPromptSubmit, HookEvent::SubagentStop, HookEvent::Stop]
            .map(|event| (event, HookResponse::default()));
        let task = calls(&[("task", r#"{"prompt":"look"}"#)]);
        let scripts = vec![task, says("found"), says("ok")];
        let (mut stage, hooks) = stage(None, says_nothing.into(), scripts);
        stage.turn("go").await;
        assert_eq!(
            *hooks.hears.lock().unwrap(),
            [
                r#"UserPromptSubmit { prompt: "go" }"#,
                r#"SubagentStop { kind: "general-purpose", again: false, text: "found" }"#,
                r#"Stop { again: false, text: "ok" }"#,
            ]
        );
    });
}

/// The hook's input is what is judged, asked about and run.
#[test]
fn a_hook_changes_the_input() {
    play(async {
        let response =
            HookResponse { input: Some(r#"{"write":"/ws/other"}"#.into()), ..judges(Verdict::Allow) };
        let says_so = vec![(HookEvent::PreToolUse, response)];
        let (mut stage, _) = stage(Some(Approver::Absent), says_so, vec![calls(WRITE), says("ok")]);
        stage.turn("go").await;
        let events = stage.events();
        let changed = r#"changed c0 to {"write":"/ws/other"}, [Write("/ws/other")]"#;
        assert!(events.iter().any(|event| event == changed), "{events:?}");
        assert!(events.iter().any(|event| event == "started c0"), "{events:?}");
    });
}
