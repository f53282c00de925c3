use std::time::Instant;

use serde_json::value::RawValue;
use zori_core::hook::{HookCall, HookVerdict};
use zori_core::ids::CallId;
use zori_core::tool::ToolKind;

use super::*;
use crate::testing::{Scratch, runtime};

fn hook(event: HookEvent, matcher: &str, command: &str) -> Hook {
    Hook {
        event,
        matcher: Matcher::parse(Some(matcher)).unwrap(),
        command: command.to_owned(),
        timeout: Duration::from_secs(20),
        origin: Origin::User,
        source: "settings.json".to_owned(),
        unchanged: None,
    }
}

fn programs(scratch: &Scratch, hooks: Vec<Hook>) -> HookPrograms {
    HookPrograms::new(Parts {
        hooks,
        env: Arc::new(scratch.env()),
        processes: Arc::new(Processes::new(scratch.path())),
        confine: None,
        session: SessionId::parse("s1").unwrap(),
        transcript: Some("/base/sessions/s1.jsonl".into()),
        watch: None,
    })
}

/// Tells of a call before it runs.
fn before(programs: &HookPrograms, kind: ToolKind, name: &str, args: &str) -> HookResponse {
    let (id, args) = (CallId::new("c1"), RawValue::from_string(args.to_owned()).unwrap());
    let call = HookCall { id: &id, name, kind: Some(kind), args: &args };
    runtime().block_on(programs.fire(HookInput::PreToolUse(call), "default"))
}

fn bash(programs: &HookPrograms) -> HookResponse {
    before(programs, ToolKind::Bash, "bash", r#"{"command":"ls"}"#)
}

fn denied(reason: &str) -> Option<HookVerdict> {
    Some(HookVerdict { verdict: Verdict::Deny, reason: reason.to_owned() })
}

/// The input is the shared format's: the Claude protocol's names and fields, paths absolute.
#[test]
fn what_a_hook_reads() {
    let scratch = Scratch::new();
    let programs = programs(&scratch, vec![hook(HookEvent::PreToolUse, "", "cat >> seen")]);
    before(&programs, ToolKind::Bash, "bash", r#"{"command":"ls","timeout_secs":5}"#);
    before(&programs, ToolKind::Edit, "edit", r#"{"path":"a/../b.txt","old":"x","new":"y"}"#);
    before(&programs, ToolKind::MultiEdit, "multi_edit", r#"{"path":"/b","edits":[{"old":"x","new":"y"}]}"#);
    before(&programs, ToolKind::Patch, "apply_patch", r#"{"patch":"p"}"#);
    let seen = scratch.hide(&scratch.get("seen"));
    let common = r#"{"session_id":"s1","transcript_path":"/base/sessions/s1.jsonl","cwd":"$ROOT","permission_mode":"default","hook_event_name":"PreToolUse","#;
    insta::assert_snapshot!(seen.replace(common, ""), @r#"
    "tool_name":"Bash","tool_input":{"command":"ls","timeout":5000},"tool_use_id":"c1"}
    "tool_name":"Edit","tool_input":{"file_path":"$ROOT/b.txt","new_string":"y","old_string":"x"},"tool_use_id":"c1"}
    "tool_name":"MultiEdit","tool_input":{"edits":[{"new_string":"y","old_string":"x"}],"file_path":"/b"},"tool_use_id":"c1"}
    "tool_name":"apply_patch","tool_input":{"patch":"p"},"tool_use_id":"c1"}
    "#);
}

#[test]
fn the_other_moments() {
    let scratch = Scratch::new();
    let events = HookEvent::ALL.iter().map(|event| hook(*event, "", "cat >> seen")).collect();
    let programs = programs(&scratch, events);
    let (id, args) = (CallId::new("c1"), RawValue::from_string("{}".to_owned()).unwrap());
    let result = RawValue::from_string(r#"{"ok":true,"data":{}}"#.to_owned()).unwrap();
    let call = HookCall { id: &id, name: "mine", kind: None, args: &args };
    for moment in [
        HookInput::SessionStart { resumed: true, model: "m" },
        HookInput::UserPromptSubmit { prompt: "hi\n\"you\"" },
        HookInput::PostToolUse { call, result: &result },
        HookInput::PreCompact { asked: true, focus: None },
        HookInput::Stop { again: false, text: "done" },
        HookInput::SessionEnd,
    ] {
        runtime().block_on(programs.fire(moment, "plan"));
    }
    let seen = scratch.hide(&scratch.get("seen"));
    let common = r#"{"session_id":"s1","transcript_path":"/base/sessions/s1.jsonl","cwd":"$ROOT","permission_mode":"plan","hook_event_name":"#;
    insta::assert_snapshot!(seen.replace(common, ""), @r#"
    "SessionStart","source":"resume","model":"m"}
    "UserPromptSubmit","prompt":"hi\n\"you\""}
    "PostToolUse","tool_name":"mine","tool_input":{},"tool_response":{"ok":true,"data":{}},"tool_use_id":"c1"}
    "PreCompact","trigger":"manual","custom_instructions":""}
    "Stop","stop_hook_active":false,"last_assistant_message":"done"}
    "SessionEnd","reason":"other"}
    "#);
}

#[test]
fn all_that_match_run_and_the_strictest_counts() {
    let scratch = Scratch::new();
    let say = |decision: &str| {
        format!(
            "echo {decision} >> ran; echo '{{\"hookSpecificOutput\":{{\"permissionDecision\":\"{decision}\"}}}}'"
        )
    };
    let pre = |matcher: &str, command: &str| hook(HookEvent::PreToolUse, matcher, command);
    let programs = programs(
        &scratch,
        vec![
            pre("Bash", &say("allow")),
            pre("Edit|Write", "exit 2"),
            pre("bash", "echo no >&2; echo blocked >> ran; exit 2"),
            hook(HookEvent::PostToolUse, "", "echo post >> ran"),
            pre("B.*", &say("ask")),
        ],
    );
    assert_eq!(bash(&programs), HookResponse { verdict: denied("no"), ..HookResponse::default() });
    assert_eq!(scratch.get("ran"), "allow\nblocked\nask\n");
}

/// A project's hook cannot let anything pass that would otherwise be asked about (MODE-4).
#[test]
fn a_project_cannot_allow() {
    let scratch = Scratch::new();
    let allows =
        "echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\",\"additionalContext\":\"c\"}}'";
    let allow = Hook { origin: Origin::Project, ..hook(HookEvent::PreToolUse, "", allows) };
    let response = bash(&programs(&scratch, vec![allow]));
    assert_eq!(response, HookResponse { context: vec!["c".into()], ..HookResponse::default() });
    let deny = Hook { origin: Origin::Project, ..hook(HookEvent::PreToolUse, "", "echo no >&2; exit 2") };
    assert_eq!(bash(&programs(&scratch, vec![deny])).verdict, denied("no"));
}

/// TM-4: whatever goes wrong with a hook that guards calls, the call does not run; the user reads of it once.
#[test]
fn a_hook_that_fails_denies_and_is_reported_once() {
    let scratch = Scratch::new();
    for (command, why) in [
        ("exit 1", "it ended with exit status 1, not with 0 or 2"),
        ("kill -9 $$", "it was ended by signal 9"),
        ("echo '{'", "what it printed is no answer: EOF while parsing an object at line 1 column 1"),
        ("head -c 200000 /dev/zero | tr '\\0' x", "it printed too much"),
    ] {
        let programs = programs(&scratch, vec![hook(HookEvent::PreToolUse, "", command)]);
        let shown = one_line(command);
        let reason = format!("the hook `{shown}` (settings.json) failed: {why}");
        let text = format!(
            "The hook `{shown}` (settings.json) failed: {why}; calls it would look at are denied until it works or is removed"
        );
        let notices = vec![HookNotice { level: NoticeLevel::Warning, text }];
        assert_eq!(
            bash(&programs),
            HookResponse { verdict: denied(&reason), notices, ..HookResponse::default() }
        );
        assert_eq!(bash(&programs), HookResponse { verdict: denied(&reason), ..HookResponse::default() });
    }
}

#[test]
fn a_hook_that_hangs_is_ended_with_all_it_started() {
    let scratch = Scratch::new();
    let slow = Hook {
        timeout: Duration::from_millis(200),
        ..hook(HookEvent::PreToolUse, "", "sleep 60 & echo $! > pid; wait")
    };
    let programs = programs(&scratch, vec![slow]);
    let start = Instant::now();
    let response = bash(&programs);
    let reason = "the hook `sleep 60 & echo $! > pid; wait` (settings.json) failed: it did not answer within 0.2 seconds";
    assert_eq!(response.verdict, denied(reason));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let pid = scratch.get("pid");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X'])), "{stat}");
}

/// A hook need not read what it is told, however long that is.
#[test]
fn input_that_nobody_reads() {
    let scratch = Scratch::new();
    let programs = programs(&scratch, vec![hook(HookEvent::PreToolUse, "", "exit 0")]);
    let args = format!("{{\"command\":\"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(before(&programs, ToolKind::Bash, "bash", &args), HookResponse::default());
}

#[test]
fn a_hook_that_is_not_what_was_trusted_does_not_run() {
    let scratch = Scratch::new();
    let changed = Hook {
        origin: Origin::Project,
        unchanged: Some(Arc::new(|| false)),
        ..hook(HookEvent::PreToolUse, "", "touch ran")
    };
    let response = bash(&programs(&scratch, vec![changed]));
    let reason = "the hook `touch ran` (settings.json) failed: it was changed since this folder was trusted, and is not run";
    assert_eq!(response.verdict, denied(reason));
    assert!(!scratch.path().join("ran").exists());
}

#[test]
fn it_knows_where_the_project_is_and_nothing_it_should_not() {
    let scratch = Scratch::new();
    let mut env = scratch.env();
    env.child_env_removed = Box::new(|| vec!["PATH_TO_REMOVE".into(), "HOME".into()]);
    let mut programs = programs(
        &scratch,
        vec![hook(HookEvent::Stop, "", "echo $CLAUDE_PROJECT_DIR ${HOME-gone} > out; pwd >> out")],
    );
    programs.parts.env = Arc::new(env);
    runtime().block_on(programs.fire(HookInput::Stop { again: false, text: "" }, "default"));
    assert_eq!(scratch.hide(&scratch.get("out")), "$ROOT gone\n$ROOT\n");
}

#[test]
fn nobody_listens_to_what_concerns_nobody() {
    let scratch = Scratch::new();
    let programs = programs(&scratch, vec![hook(HookEvent::PreToolUse, "Edit", "exit 2")]);
    let (id, args) = (CallId::new("c1"), RawValue::from_string("{}".to_owned()).unwrap());
    let call = |kind| HookCall { id: &id, name: "x", kind: Some(kind), args: &args };
    assert!(programs.wants(&HookInput::PreToolUse(call(ToolKind::Edit))));
    assert!(!programs.wants(&HookInput::PreToolUse(call(ToolKind::Bash))));
    assert!(!programs.wants(&HookInput::SessionEnd));
}
