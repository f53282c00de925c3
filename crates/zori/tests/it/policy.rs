//! Permissions from the outside: `policy check`, `explain` and `test`, and what a mode and a rule do to a run.

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;

use crate::world::{with_model, world};

fn policy_file(world: &TestEnv, expect: &str) {
    let text = format!(
        r#"{{"version":1,"workspace":"/ws","home":"/home/u","trusted":true,
            "profiles":{{"team":{{"mode":"default","allow":["Bash(make:*)"],"deny":["Bash(curl:*)","Read(.env)"]}}}},
            "expect":[{expect}]}}"#
    );
    world.write("policy.json", text);
}

/// DEC-6: one decision a line, in order, without side effects.
#[test]
fn check() {
    let world = world();
    policy_file(&world, "");
    let calls = [
        r#"{"id":1,"tool":"bash","input":{"command":"make all"}}"#,
        r#"{"id":"b","tool":"bash","input":{"command":"ls && curl x.org"}}"#,
        r#"{"id":3,"tool":"Read","input":{"file_path":"a/.env"}}"#,
        r#"{"id":4,"tool":"write","input":{"path":"src/a","content":"x"}}"#,
        r#"{"id":5,"tool":"read","input":{"path":"a"},"cwd":"/etc"}"#,
        r#"{"id":6,"tool":"nope","input":{}}"#,
        r#"{"id":7,"tool":"mcp__gh__get","input":{}}"#,
    ];
    let output = world.run_with_stdin(&["policy", "check", "--policy", "policy.json"], calls.join("\n"));
    insta::assert_snapshot!(output, @r#"
    {"id":1,"verdict":"allow","class":"X","reason":"the rule `Bash(make:*)` (policy.json: team.allow[0]) allows make all","rule":"Bash(make:*)"}
    {"id":"b","verdict":"deny","class":"X","reason":"the rule `Bash(curl:*)` (policy.json: team.deny[0]) denies curl x.org","rule":"Bash(curl:*)"}
    {"id":3,"verdict":"deny","class":"RS","reason":"the rule `Read(.env)` (policy.json: team.deny[1]) denies /ws/a/.env","rule":"Read(.env)"}
    {"id":4,"verdict":"ask","class":"W","reason":"mode default asks about W: Creates or edits inside a workspace root"}
    {"id":5,"verdict":"ask","class":"RX","reason":"mode default asks about RX: Reads outside the workspace"}
    {"id":6,"verdict":"deny","class":"X","reason":"`nope` is not a tool; the tools are read, write, edit, bash, multi_edit, glob, grep, ls, apply_patch, web_fetch, todo_write, task"}
    {"id":7,"verdict":"ask","class":"MX","reason":"mode default asks about MX: Any other MCP tool"}
    [exit status: 0]
    "#);
    let bad = world.run_with_stdin(&["policy", "check", "--policy", "policy.json"], "{}\n");
    assert_eq!(bad.code(), Some(2));
    assert_eq!(world.run(&["policy", "check"]).code(), Some(2));
}

/// RULE-8: every step with what it had to say, from this machine's settings.
#[test]
fn explain() {
    let world = world();
    world.write(world.base().join("config.toml"), "[permissions]\ndeny = [\n  \"Bash(git push:*)\",\n]\n");
    insta::assert_snapshot!(world.run(&["policy", "explain", "ls; git push"]), @r#"
    Call:     bash {"command":"ls; git push"}
    Mode:     yolo
    Class:    X: Any other shell command.
    Decision: deny: the rule `Bash(git push:*)` ($BASE/config.toml:3) denies git push
    Rule:     Bash(git push:*) from $BASE/config.toml:3 (user)

     1  malformed input             -
     2  own state                   -
     3  blacklist                   -
     4  mode                        -
     5  deny rules                  deny: the rule `Bash(git push:*)` ($BASE/config.toml:3) denies git push
     6  hooks                       not reached
     7  ask rules                   not reached
     8  not known while rules deny  not reached
     9  protected and sensitive     not reached
    10  allow rules                 not reached
    11  mode and class              not reached
    12  nobody to ask               -
    [exit status: 0]
    "#);
    assert_eq!(world.run(&["policy", "explain"]).code(), Some(2));
}

#[test]
fn expectations() {
    let world = world();
    policy_file(
        &world,
        r#"{"tool":"bash","input":{"command":"make"},"verdict":"allow"},
           {"tool":"bash","input":{"command":"curl x"},"verdict":"ask+"},
           {"tool":"bash","input":{"command":"curl x"},"verdict":"allow","why":"we thought so"}"#,
    );
    insta::assert_snapshot!(world.run(&["policy", "test", "policy.json"]), @r#"
    expect[2]: team: bash {"command":"curl x"}
      expected allow (we thought so)
      got deny: the rule `Bash(curl:*)` (policy.json: team.deny[0]) denies curl x
    2 of 3 as expected
    ------- stderr -------
    Error: 1 of 3 cases are not decided as expected
    [exit status: 1]
    "#);
    policy_file(&world, "");
    assert_eq!(world.run(&["policy", "test", "policy.json"]).code(), Some(2), "a file that expects nothing");
}

/// A denied call is told to the model, and the turn goes on.
#[test]
fn a_rule_holds_in_a_run() {
    let (world, model) = with_model(vec![
        anthropic::tool_use("t1", "bash", json!({"command": "touch made; git push"})),
        anthropic::text("all right"),
    ]);
    let output = world.run(&["exec", "--deny", "Bash(git push:*)", "-p", "go"]);
    assert_eq!((output.code(), output.stdout().as_str()), (Some(0), "all right\n"));
    assert!(!world.work().join("made").exists());
    insta::assert_snapshot!(model.request(1).conversation(), @r#"
    user: go
    assistant: tool_use t1 bash {"command":"touch made; git push"}
    user: tool_result (error) t1 error permission_denied: the rule `Bash(git push:*)` (--deny) denies git push
    "#);
}
