//! Hooks from the outside: the user's own, in both files, and what the user and the model read of them.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::server::ModelServer;

use crate::world::with_model;

/// A world whose model calls `bash` once, with these hooks of the user.
fn with_hooks(hooks: Value) -> (TestEnv, ModelServer) {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "touch made"})),
        anthropic::text("Done."),
    ]);
    world.write(world.base().join("settings.json"), json!({ "hooks": hooks }).to_string());
    (world, model)
}

fn on(matcher: &str, command: &str) -> Value {
    json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}])
}

/// Exit 2 blocks, with what the hook said as the reason, in every mode.
#[test]
fn a_call_is_blocked() {
    let (world, model) =
        with_hooks(json!({"PreToolUse": on("Bash", "cat > seen.json; echo 'not on Mondays' >&2; exit 2")}));
    insta::assert_snapshot!(world.run(&["exec", "-p", "go", "--session", "s1"]), @r#"
    Done.
    ------- stderr -------
    Warning: Session 's1' does not exist yet; starting it
    Tool requested: bash command="touch made"
    Tool denied: bash: a hook denies: not on Mondays
    [exit status: 0]
    "#);
    assert!(!world.work().join("made").exists());
    insta::assert_snapshot!(model.request(1).conversation(), @r#"
    user: go
    assistant: tool_use t1 bash {"command":"touch made"}
    user: tool_result (error) t1 error permission_denied: a hook denies: not on Mondays
    "#);
    let seen: Value = serde_json::from_str(&world.read("seen.json")).unwrap();
    assert_eq!(
        seen,
        json!({
            "session_id": "s1",
            "transcript_path": world.base().join("sessions/s1.jsonl"),
            "cwd": world.work(),
            "permission_mode": "bypassPermissions",
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "touch made"},
            "tool_use_id": "t1",
        })
    );
}

/// A hook's allow counts where the mode would ask, and lifts no deny.
#[test]
fn a_call_is_allowed() {
    let allow = on("", "echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}'");
    let (world, _model) = with_hooks(json!({ "PreToolUse": allow }));
    let args = ["exec", "-p", "go", "--no-save", "--permission-mode", "default", "--sandbox", "off"];
    assert_eq!(world.run(&args).code(), Some(0));
    assert!(world.work().join("made").exists());
    let (world, _model) = with_hooks(json!({ "PreToolUse": allow }));
    world.run(&[&args[..], &["--deny", "Bash(touch:*)"]].concat());
    assert!(!world.work().join("made").exists());
}

/// TM-4: a guard that does not work lets nothing pass, and says so once.
#[test]
fn a_hook_that_fails() {
    let (world, _model) = with_hooks(json!({"PreToolUse": on("", "exec ./missing")}));
    insta::assert_snapshot!(world.run(&["exec", "-p", "go", "--no-save", "-y"]), @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="touch made"
    Warning: The hook `exec ./missing` ($BASE/settings.json) failed: it ended with exit status 127 (sh: 1: exec: ./missing: not found), not with 0 or 2; calls it would look at are denied until it works or is removed
    Tool denied: bash: a hook denies: the hook `exec ./missing` ($BASE/settings.json) failed: it ended with exit status 127 (sh: 1: exec: ./missing: not found), not with 0 or 2
    [exit status: 0]
    "#);
    assert!(!world.work().join("made").exists());
}

/// What hooks add is sent, and is in the session file, so that a resumed session has it.
#[test]
fn words_for_the_model() {
    let (world, model) = with_hooks(json!({
        "SessionStart": on("startup", "echo It is Monday."),
        "UserPromptSubmit": on("", "echo '{\"hookSpecificOutput\":{\"additionalContext\":\"Be kind.\"},\"systemMessage\":\"noted\"}'"),
        "PostToolUse": on("Bash", "echo 'look at the file' >&2; exit 2"),
        "Stop": on("", "grep -q '\"stop_hook_active\":true' || { echo 'One more thing.' >&2; exit 2; }"),
    }));
    model.push(anthropic::text("Really done."));
    let output = world.run(&["exec", "-p", "go", "--session", "s1"]);
    assert_eq!((output.code(), output.stderr().contains("\nnoted\n")), (Some(0), true), "{output}");
    let asked = model.request(2).conversation();
    insta::assert_snapshot!(asked, @r#"
    user: go
    user: [SessionStart hook]
    It is Monday.
    user: [UserPromptSubmit hook]
    Be kind.
    assistant: tool_use t1 bash {"command":"touch made"}
    user: tool_result t1 (no output)
    user: [PostToolUse hook]
    look at the file
    assistant: Done.
    user: [Stop hook]
    One more thing.
    "#);
    model.push(anthropic::text("Again."));
    model.push(anthropic::text("Really."));
    world.run(&["exec", "-p", "more", "--session", "s1"]).success();
    let resumed = model.request(3).conversation();
    assert!(resumed.starts_with(&asked), "{resumed}");
    assert!(!resumed[asked.len()..].contains("Monday"), "a resumed session is no start-up: {resumed}");
}

/// A prompt that is not let pass is not sent: exit 2, nothing was done.
#[test]
fn a_prompt_is_blocked() {
    let (world, model) =
        with_hooks(json!({"UserPromptSubmit": on("", "echo 'that is a password' >&2; exit 2")}));
    insta::assert_snapshot!(world.run(&["exec", "-p", "hunter2", "--no-save"]), @r#"
    ------- stderr -------
    Error: A hook did not let the prompt pass: that is a password
    [exit status: 2]
    "#);
    assert_eq!(model.count(), 0);
}

/// The end of a session is told, and waited for.
#[test]
fn the_end() {
    let (world, _model) = with_hooks(json!({"SessionEnd": on("", "cat > end.json")}));
    world.run(&["exec", "-p", "go", "--no-save"]).success();
    let end: Value = serde_json::from_str(&world.read("end.json")).unwrap();
    assert_eq!((&end["hook_event_name"], &end["reason"]), (&json!("SessionEnd"), &json!("other")));
}

/// Both files are read, the config file's hooks first; keys of providers are not for hooks (SCR-1).
#[test]
fn hooks_in_the_config_file() {
    let (world, _model) =
        with_hooks(json!({"UserPromptSubmit": on("", "echo settings ${ANTHROPIC_API_KEY-none} >> ran")}));
    world.write(
        world.base().join("config.toml"),
        "[[hooks.UserPromptSubmit]]\nhooks = [{ type = \"command\", command = \"echo config >> ran\", timeout = 5 }]\n",
    );
    world.run(&["exec", "-p", "go", "--no-save"]).success();
    assert_eq!(world.read("ran"), "config\nsettings none\n");
}

/// A guard that cannot be understood guards nothing, so nothing runs.
#[test]
fn hooks_that_cannot_be_understood() {
    let (world, model) = with_hooks(json!({"PreToolUse": on("(", "true")}));
    insta::assert_snapshot!(world.run(&["exec", "-p", "go"]), @r#"
    ------- stderr -------
    Error: cannot use $BASE/settings.json: `hooks.PreToolUse[0]`: the matcher `(` is no regular expression: unclosed group
    [exit status: 2]
    "#);
    world.write(world.base().join("settings.json"), "{\"model\":\"x\",\"hooks\":{\"Notification\":[]}}");
    world.write(world.base().join("config.toml"), "hooks = { Stop = 1 }\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "go"]), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:1:9: `hooks.Stop` must be a list
    [exit status: 2]
    "#);
    world.write(world.base().join("config.toml"), "");
    let warned = world.run(&["exec", "-p", "go", "--no-save"]).stderr();
    assert!(
        warned.starts_with(
            "Warning: hooks for `Notification` in $BASE/settings.json never run; they run at SessionStart, \
             UserPromptSubmit, PreToolUse, PostToolUse, PreCompact, Stop, SubagentStop, SessionEnd\n\
             Warning: `model` in $BASE/settings.json is not read: only its `hooks` are\n"
        ),
        "{warned}"
    );
    assert_eq!(model.count(), 2);
}
