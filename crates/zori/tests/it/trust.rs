//! Whether a folder's own settings count: the dialog, the commands, the flag, and what holds without any of them.

use std::fs;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use crate::chat::screen::{over, type_line};
use crate::world::with_model;

/// A folder with a hook, a model, a prompt, rules, and something no folder may say.
fn hostile() -> (TestEnv, ModelServer) {
    let (world, model) = with_model([anthropic::text("Hi."), anthropic::text("Hi.")]);
    world.write(
        ".zori/config.toml",
        "model = \"claude-sonnet-4-5\"\nsystem_prompt = \"Speak like a pirate.\"\nprovider = \"openai\"\n\
         [permissions]\ndeny = [\"Bash(curl:*)\"]\n",
    );
    world.write(".zori/settings.json", hook("touch ran"));
    (world, model)
}

fn hook(command: &str) -> String {
    json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}}).to_string()
}

fn ran(world: &TestEnv) -> bool {
    fs::remove_file(world.work().join("ran")).is_ok()
}

fn chat(world: &TestEnv) -> Pty {
    world.pty(&["--no-save"], Size { rows: 50, cols: 160 })
}

/// Answers the question about trust.
#[track_caller]
fn reply(pty: &mut Pty, answer: &str) {
    wait::until("the question about trust", || pty.drawn().contains("? [y/N] "));
    pty.send(answer);
}

const EXEC: &[&str] = &["exec", "-p", "hi", "--no-save"];

/// TRUST-2, TRUST-7: without a person nothing counts but what tightens, and one line says so.
#[test]
fn a_run_without_a_person_trusts_nothing() {
    let (mut world, model) = hostile();
    world.set_var("ZORI_TRUST_WORKSPACE", "1");
    insta::assert_snapshot!(world.run(EXEC), @r"
    Hi.
    ------- stderr -------
    Warning: $WORK is not trusted, so its own settings are not used: 1 hook, `model`, `system_prompt`; `zori trust show` lists them, `zori trust allow` trusts the folder, `--trust-workspace` does for one run
    Warning: `provider` in $WORK/.zori/config.toml is ignored: a project cannot set that
    [exit status: 0]
    ");
    let sent = model.request(0).json();
    assert_eq!(sent["model"], "claude-sonnet-5-5");
    assert!(!sent["system"].to_string().contains("pirate"), "{}", sent["system"]);
    assert!(!ran(&world) && !world.base().join("trust.json").exists());
    let denied = world.run(&["policy", "explain", "curl x"]).stdout();
    assert!(denied.contains("the rule `Bash(curl:*)`"), "rules that deny hold in any case: {denied}");
}

/// TRUST-7: the flag, for this run alone, listing what it activates.
#[test]
fn the_flag() {
    let (world, model) = hostile();
    insta::assert_snapshot!(world.run(&[EXEC, &["--trust-workspace"]].concat()), @r"
    Hi.
    ------- stderr -------
    Trusted for this run (`--trust-workspace`):
      hook SessionStart: touch ran  (.zori/settings.json)
      model = claude-sonnet-4-5  (.zori/config.toml)
      system_prompt = Speak like a pirate.  (.zori/config.toml)
      deny rule Bash(curl:*)  (.zori/config.toml:5, holds already)
    Warning: `provider` in $WORK/.zori/config.toml is ignored: a project cannot set that
    [exit status: 0]
    ");
    let sent = model.request(0).json();
    assert_eq!(sent["model"], "claude-sonnet-4-5");
    assert!(sent["system"].to_string().contains("Speak like a pirate."), "{sent}");
    assert!(ran(&world));
    world.run(EXEC).success();
    assert!(!ran(&world), "it held for one run");
    insta::assert_snapshot!(world.run(&["trust", "list", "--trust-workspace"]), @r"
    ------- stderr -------
    Error: `--trust-workspace` is no option of this command
    Hint: it goes with `zori exec`, `zori chat`, `zori tui`
    [exit status: 2]
    ");
}

/// TRUST-3: the dialog shows all of it; yes is remembered, and what changes is asked about again.
#[test]
fn the_dialog() {
    let (world, model) = hostile();
    model.push(anthropic::text("Hi."));
    let mut pty = chat(&world);
    reply(&mut pty, "what\r");
    // An answer to the next question that is sent before it is there is echoed before or behind it.
    wait::until("the question again", || pty.drawn().matches("? [y/N] ").count() == 2);
    pty.send("y\r");
    type_line(&mut pty, 1, "hi");
    type_line(&mut pty, 2, ":q");
    insta::assert_snapshot!(over(pty), @r"
    This folder has settings of its own. Trusted, it would use these:
      hook SessionStart: touch ran  (.zori/settings.json)
      model = claude-sonnet-4-5  (.zori/config.toml)
      system_prompt = Speak like a pirate.  (.zori/config.toml)
      deny rule Bash(curl:*)  (.zori/config.toml:5, holds already)
    A hook is a program that runs as you, whenever its moment comes, without a question.
      y: yes; w: yes, but run none of its hooks; b: yes, this folder and those below
      n: not now; d: no, do not ask again, and ask me about changes here (mode default)
    Trust $WORK? [y/N] what
    that is none of the answers; Enter alone means no
    Trust $WORK? [y/N] y
    Warning: `provider` in $WORK/.zori/config.toml is ignored: a project cannot set that
    zori chat (type :q to quit)
    Model: claude-sonnet-4-5
    you> hi
    ✶ Waiting for claude-sonnet-4-5 · Ctrl-C stops
    Hi.
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    assert!(ran(&world));
    world.run(EXEC).success();
    assert!(ran(&world), "it is remembered");
    world.write(".zori/settings.json", hook("touch ran; touch more"));
    let output = world.run(EXEC);
    insta::assert_snapshot!(output.stderr(), @r"
    Warning: 1 hook of this folder changed since it was trusted, or came later, and will not run; `zori trust show` lists them, `zori trust allow` lets them
    Warning: `provider` in $WORK/.zori/config.toml is ignored: a project cannot set that
    ");
    assert!(!ran(&world), "it is another hook");
    let mut pty = chat(&world);
    reply(&mut pty, "w\r");
    type_line(&mut pty, 1, ":q");
    let screen = over(pty);
    assert!(
        screen.starts_with(
            "Hooks of this folder changed since it was trusted, or came later:\n  \
             hook SessionStart: touch ran; touch more  (.zori/settings.json)\n"
        ),
        "{screen}"
    );
    let mut pty = chat(&world);
    type_line(&mut pty, 1, ":q");
    assert!(!over(pty).contains("Trust "), "it was said that it shall not run");
    // Another one comes: a yes is about that one alone.
    let both = json!({"hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": "touch ran; touch more"},
        {"type": "command", "command": "touch other"},
    ]}]}});
    world.write(".zori/settings.json", both.to_string());
    let mut pty = chat(&world);
    reply(&mut pty, "y\r");
    type_line(&mut pty, 1, ":q");
    over(pty);
    model.push(anthropic::text("Hi."));
    world.run(EXEC).success();
    assert!(!ran(&world) && world.work().join("other").exists());
}

/// Enter, Ctrl-D and Ctrl-C trust nobody.
#[test]
fn no_is_the_default() {
    let (world, _model) = hostile();
    for answer in ["\r", "n\r", "\x04"] {
        let mut pty = chat(&world);
        reply(&mut pty, answer);
        type_line(&mut pty, 1, ":q");
        let screen = over(pty);
        assert!(screen.contains("Model: claude-sonnet-5-5"), "{screen}");
    }
    let mut pty = chat(&world);
    reply(&mut pty, "\x03");
    assert!(over(pty).ends_with("[exit status: 130]"));
    assert!(!ran(&world) && !world.base().join("trust.json").exists());
}

/// "Trust without executables": the settings count, the hook does not run and is not asked about again.
#[test]
fn without_hooks() {
    let (world, model) = hostile();
    let mut pty = chat(&world);
    reply(&mut pty, "w\r");
    type_line(&mut pty, 1, ":q");
    over(pty);
    world.run(EXEC).success();
    assert_eq!(model.request(0).json()["model"], "claude-sonnet-4-5");
    assert!(!ran(&world));
}

/// MODE-2: a folder that is marked asks about changes; its settings count for nothing.
#[test]
fn a_folder_that_is_marked() {
    let (world, model) = hostile();
    model.push(anthropic::text("Hi."));
    let mut pty = chat(&world);
    reply(&mut pty, "d\r");
    type_line(&mut pty, 1, ":q");
    over(pty);
    let mode = |args: &[&str]| world.run(&[&["policy", "explain", "touch x"], args].concat()).stdout();
    assert!(mode(&[]).contains("mode default asks"), "{}", mode(&[]));
    assert!(mode(&["--permission-mode", "yolo"]).contains("mode yolo allows"));
    insta::assert_snapshot!(world.run(EXEC), @r"
    Hi.
    ------- stderr -------
    Warning: `provider` in $WORK/.zori/config.toml is ignored: a project cannot set that
    [exit status: 0]
    ");
    assert!(!ran(&world));
    let mut pty = chat(&world);
    type_line(&mut pty, 1, ":q");
    assert!(!over(pty).contains("Trust "), "it is not asked about again");
}

/// The commands, and what they leave in the store and in the audit log (AUD-1).
#[test]
fn the_commands() {
    let (world, _model) = hostile();
    insta::assert_snapshot!(world.run(&["trust", "show"]), @r"
    $WORK: undecided
      hook SessionStart: touch ran  (.zori/settings.json): does not run
      model = claude-sonnet-4-5  (.zori/config.toml)
      system_prompt = Speak like a pirate.  (.zori/config.toml)
      deny rule Bash(curl:*)  (.zori/config.toml:5, holds already)
      `provider` in $WORK/.zori/config.toml is ignored: a project cannot set that
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["trust", "allow"]), @r"
    ------- stderr -------
    Error: `trust allow` has to be confirmed, and nobody agreed
    Hint: add `--confirm-destructive`, or look first with `--dry-run`
    [exit status: 2]
    ");
    assert!(!world.base().join("trust.json").exists());
    assert_eq!(world.run(&["trust", "allow", "-y"]).stdout(), "Trusted $WORK\n");
    world.run(EXEC).success();
    assert!(ran(&world));
    let shown = world.run(&["trust", "show"]).stdout();
    assert!(shown.contains("$WORK: trusted\n") && shown.contains("(.zori/settings.json): runs\n"), "{shown}");
    fs::create_dir(world.work().join("sub")).unwrap();
    assert_eq!(world.run(&["trust", "show", "sub"]).stdout(), "$WORK/sub: undecided\n");
    assert_eq!(
        world.run(&["trust", "allow", "-y", "--below", "--without-hooks"]).stdout(),
        "Trusted $WORK, and the folders below\n"
    );
    assert_eq!(
        world.run(&["trust", "show", "sub"]).stdout(),
        "$WORK/sub: trusted, because $WORK is, with the folders below\n"
    );
    assert_eq!(
        world.run(&["trust", "deny", "sub"]).stdout(),
        "$WORK/sub is not trusted; the mode there is `default` unless you choose one\n"
    );
    assert_eq!(
        world.run(&["trust", "list"]).stdout(),
        "$WORK: trusted, with the folders below\n$WORK/sub: untrusted\n"
    );
    assert_eq!(world.run(&["trust", "forget", "sub"]).stdout(), "Forgot what was decided about $WORK/sub\n");
    assert_eq!(world.run(&["trust", "forget", "sub"]).stdout(), "Nothing was decided about $WORK/sub\n");
    world.run(&["trust", "forget"]).success();
    assert_eq!(world.run(&["trust", "list"]).stdout(), "No folder was decided about.\n");
    let log = world.read(world.base().join("audit.jsonl"));
    let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let trust: Vec<_> = records.filter(|record| record["event"] == "trust").collect();
    let said: Vec<_> =
        trust.iter().map(|r| format!("{} {}", r["state"], r["run"].as_array().unwrap().len())).collect();
    assert_eq!(
        said,
        [r#""trusted" 1"#, r#""trusted" 1"#, r#""untrusted" 0"#, r#""undecided" 0"#, r#""undecided" 0"#],
        "what was approved before stays approved"
    );
    assert!(world.run(&["audit-log", "--verify"]).stdout().contains("the chain holds"));
    let shown = world.run(&["audit-log", "--event", "trust", "--limit", "1"]);
    assert!(shown.stdout().contains("undecided") && shown.stdout().contains("$WORK"), "{shown}");
}

/// DECISIONS 41: another folder in the same place is known by what it would run.
#[test]
fn a_folder_that_was_replaced() {
    let (world, _model) = hostile();
    world.run(&["trust", "allow", "-y"]).success();
    fs::remove_dir_all(world.work().join(".zori")).unwrap();
    world.write(".zori/settings.json", hook("touch ran; true"));
    world.run(EXEC).success();
    assert!(!ran(&world));
}

/// TRUST-3: a script is part of the hook that names it, until it runs.
#[test]
fn a_script_that_changed() {
    let (world, _model) = hostile();
    world.write(".zori/settings.json", hook("sh check.sh"));
    world.write("check.sh", "touch ran\n");
    world.run(&["trust", "allow", "-y"]).success();
    world.run(EXEC).success();
    assert!(ran(&world));
    world.write("check.sh", "touch ran; touch more\n");
    let output = world.run(EXEC);
    assert!(output.stderr().contains("1 hook of this folder changed since it was trusted"), "{output}");
    assert!(!ran(&world));
}

/// A trusted folder whose hooks cannot be understood may have guarded something.
#[test]
fn trusted_and_broken() {
    let (world, model) = hostile();
    world.run(&["trust", "allow", "-y"]).success();
    world.write(".zori/settings.json", "{");
    insta::assert_snapshot!(world.run(EXEC), @r"
    ------- stderr -------
    Error: cannot use $WORK/.zori/settings.json: it is no JSON: EOF while parsing an object at line 1 column 1
    Hint: this folder is trusted, and its hooks may guard something; mend or remove the file
    [exit status: 2]
    ");
    assert_eq!(model.count(), 0);
}

/// A store that cannot be read trusts nobody, and is not overwritten (TM-4, FS-9).
#[test]
fn a_store_of_a_newer_version() {
    let (world, _model) = hostile();
    let path = world.write(world.base().join("trust.json"), r#"{"schema":9,"folders":"in another form"}"#);
    let output = world.run(EXEC);
    assert!(output.stderr().contains("no folder is trusted"), "{output}");
    assert!(!ran(&world));
    assert_eq!(world.run(&["trust", "allow", "-y"]).code(), Some(4));
    assert_eq!(world.read(path), r#"{"schema":9,"folders":"in another form"}"#);
}

/// TRUST-10: what is said is not an option.
#[test]
fn text_is_no_flag() {
    let (world, model) = hostile();
    world.run(&["exec", "--no-save", "-p", "--trust-workspace"]).success();
    assert!(!ran(&world));
    assert_eq!(model.request(0).conversation(), "user: --trust-workspace\n");
}

/// What Claude Code's settings of a folder say: rules that ask or deny hold at once, hooks once they are approved, and nothing else ever.
#[test]
fn settings_of_claude_code() {
    let bash = |command: &str| anthropic::tool_use("t1", "bash", json!({"command": command}));
    let (world, model) = with_model([bash("curl x"), anthropic::text("Hi."), anthropic::text("Hi.")]);
    let shared = json!({"permissions": {"deny": ["Bash(curl:*)"], "allow": ["Bash"], "defaultMode": "bypassPermissions"},
        "env": {"A": "b"}, "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran"},
            {"type": "prompt", "prompt": "p"}]}], "Notification": [{"hooks": []}]}});
    world.write(".claude/settings.json", shared.to_string());
    world.write(
        ".claude/settings.local.json",
        json!({"permissions": {"ask": ["Bash(git push:*)"]}}).to_string(),
    );
    insta::assert_snapshot!(world.run(EXEC), @r#"
    Hi.
    ------- stderr -------
    Warning: $WORK is not trusted, so its own settings are not used: 1 hook; `zori trust show` lists them, `zori trust allow` trusts the folder, `--trust-workspace` does for one run
    Tool requested: bash command="curl x"
    Tool denied: bash: the rule `Bash(curl:*)` ($WORK/.claude/settings.json) denies curl x
    [exit status: 0]
    "#);
    assert!(!ran(&world));
    let denied = model.request(1).messages().pop().expect("messages")["content"][0]["content"].clone();
    insta::assert_snapshot!(world.rewrite().apply(denied.as_str().unwrap_or_default()), @"error permission_denied: the rule `Bash(curl:*)` ($WORK/.claude/settings.json) denies curl x");
    insta::assert_snapshot!(world.run(&["trust", "show"]), @"
    $WORK: undecided
      hook SessionStart: touch ran  (.claude/settings.json): does not run
      deny rule Bash(curl:*)  (.claude/settings.json, holds already)
      ask rule Bash(git push:*)  (.claude/settings.local.json, holds already)
      never used: `permissions.allow`, `permissions.defaultMode`, `env`  (.claude/settings.json, a project cannot set that)
    [exit status: 0]
    ");
    world.run(&["trust", "allow", "--yes"]).success();
    insta::assert_snapshot!(world.run(EXEC), @"
    Hi.
    ------- stderr -------
    Warning: $WORK/.claude/settings.json has hooks that are no commands (1), which are not run
    [exit status: 0]
    ");
    assert!(ran(&world));
    // A change asks again, and a file that cannot be read is said.
    world.write(".claude/settings.json", hook("touch ran; true"));
    world.write(".claude/settings.local.json", "{");
    model.push(anthropic::text("Hi."));
    insta::assert_snapshot!(world.run(EXEC), @"
    Hi.
    ------- stderr -------
    Warning: 1 hook of this folder changed since it was trusted, or came later, and will not run; `zori trust show` lists them, `zori trust allow` lets them
    Warning: $WORK/.claude/settings.local.json is no JSON: EOF while parsing an object at line 1 column 1; its rules and hooks are not used
    [exit status: 0]
    ");
    assert!(!ran(&world));
}
