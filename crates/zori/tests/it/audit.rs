//! The audit log from the outside: what a run leaves there, what `audit-log` shows and checks, and when nothing runs.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::mcp::scripted_server;

use crate::world::{with_model, world};

/// Returns the one project's log.
pub fn project_log(world: &TestEnv) -> PathBuf {
    let mut folders = fs::read_dir(world.base().join("projects")).expect("there is a project");
    let folder = folders.next().expect("there is a project").expect("it can be read");
    assert!(folders.next().is_none(), "one project only");
    folder.path().join("audit.jsonl")
}

pub fn records(world: &TestEnv, path: PathBuf) -> Vec<Value> {
    world.read(path).lines().map(|line| serde_json::from_str(line).expect("a record is JSON")).collect()
}

/// Leaves only these members of each record.
pub fn picked(records: &[Value], members: &[&str]) -> Vec<Value> {
    let pick = |record: &Value| members.iter().map(|name| record[*name].clone()).collect();
    records.iter().map(pick).collect()
}

/// Runs a model that calls `bash` once.
fn ran(command: &str, args: &[&str]) -> (TestEnv, Option<i32>) {
    let replies = [anthropic::tool_use("c1", "bash", json!({ "command": command })), anthropic::text("Done")];
    let (world, _model) = with_model(replies);
    let code = world.run(&[&["exec", "-p", "secret plan"], args].concat()).code();
    (world, code)
}

/// AUD-1, AUD-2, F-026.
#[test]
fn a_run_leaves_its_decisions_its_calls_and_itself() {
    let (world, code) = ran("exit 3", &[]);
    assert_eq!(code, Some(0));
    let calls = records(&world, project_log(&world));
    assert_eq!(
        picked(&calls, &["seq", "event", "tool", "verdict", "mode", "summary", "result", "exit_code"]),
        [
            json!([0, "decision", "bash", "allow", "yolo", "exit 3", null, null]),
            json!([1, "tool", "bash", null, null, null, "ok", 3]),
        ]
    );
    let runs = records(&world, world.base().join("audit.jsonl"));
    assert_eq!(
        picked(&runs, &["seq", "event", "session", "prev", "command", "args", "exit_code"]),
        [json!([0, "run", null, "", "exec", "exec -p [11 bytes, sha256 c894e0fb797a615a]", 0])]
    );
    assert!(!world.read(world.base().join("audit.jsonl")).contains("secret plan"));
    let verified = world.run(&["audit-log", "--verify"]).to_string();
    assert_eq!(verified.matches("the chain holds").count(), 2, "{verified}");
    let shown = world.run(&["audit-log", "--event", "tool"]).to_string();
    assert!(shown.contains("  tool      ok  bash  exit 3  "), "{shown}");
}

/// A prompt stands behind other short flags of the same word.
#[test]
fn a_prompt_behind_other_flags_is_not_kept() {
    let (world, _model) = with_model([anthropic::text("Done")]);
    assert_eq!(world.run(&["exec", "-yqpsecret plan"]).code(), Some(0));
    let runs = records(&world, world.base().join("audit.jsonl"));
    assert_eq!(picked(&runs, &["args"]), [json!(["exec -yqp[11 bytes, sha256 c894e0fb797a615a]"])]);
}

/// AUD-3: the command itself finds the record that lets it run.
#[test]
fn the_record_of_an_allow_is_there_before_the_tool_starts() {
    let (world, _) = ran("cat ../base/projects/*/audit.jsonl > seen", &[]);
    let seen = records(&world, world.work().join("seen"));
    assert_eq!(picked(&seen, &["event", "verdict"]), [json!(["decision", "allow"])]);
}

#[test]
fn a_denied_call_is_there() {
    let (world, _) = ran("touch made", &["--deny", "Bash(touch:*)"]);
    let calls = records(&world, project_log(&world));
    assert_eq!(
        picked(&calls, &["event", "verdict", "rule", "result", "approved_by"]),
        [
            json!(["decision", "deny", "Bash(touch:*)", null, null]),
            json!(["tool", null, null, "denied", "policy"]),
        ]
    );
}

/// `--no-save` is about the session; what a model did is not its user's to hide.
#[test]
fn unsaved_sessions_are_audited() {
    let (world, _) = ran("true", &["--no-save"]);
    assert_eq!(records(&world, project_log(&world)).len(), 2);
    assert!(!world.base().join("sessions").exists());
}

#[test]
fn off_means_no_file() {
    let replies = [anthropic::tool_use("c1", "bash", json!({ "command": "true" })), anthropic::text("Done")];
    let (world, _model) = with_model(replies);
    world.write(world.base().join("config.toml"), "audit = \"off\"\n");
    assert_eq!(world.run(&["exec", "--no-checkpoints", "-p", "x"]).code(), Some(0));
    assert!(!world.base().join("projects").exists() && !world.base().join("audit.jsonl").exists());
}

/// Something stands where the folder of projects would be: a run goes on and says so, unless the log is required.
#[test]
fn a_log_that_cannot_be_written() {
    let replies =
        [anthropic::tool_use("c1", "bash", json!({ "command": "touch made" })), anthropic::text("Done")];
    let (world, _model) = with_model(replies);
    world.write(world.base().join("projects"), "in the way");
    let warned = world.run(&["exec", "-p", "x"]).to_string();
    assert_eq!(
        warned.matches("Warning: Failed to write the audit log: $BASE/projects/").count(),
        1,
        "{warned}"
    );
    assert!(world.work().join("made").exists());

    fs::remove_file(world.work().join("made")).expect("it was made");
    world.write(world.base().join("config.toml"), "audit = \"required\"\n");
    let refused = world.run(&["exec", "-p", "x"]);
    assert_eq!(refused.code(), Some(4));
    let refused = refused.to_string();
    assert!(refused.contains("Error: the audit log cannot be written: $BASE/projects/"), "{refused}");
    assert!(!world.work().join("made").exists());
}

#[test]
fn no_log_yet() {
    let world = world();
    insta::assert_snapshot!(world.run(&["audit-log"]), @"
    No audit records found.
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["audit-log", "--verify"]), @"
    No audit records found.
    [exit status: 0]
    ");
    assert!(!world.base().exists(), "reading creates nothing");
}

#[test]
fn a_changed_log_is_named() {
    let world = world();
    for _ in 0..3 {
        world.run(&["config", "init"]);
    }
    let path = world.base().join("audit.jsonl");
    let text = world.read(&path);
    assert_eq!(text.lines().count(), 3, "one that worked, two that did not");
    fs::write(&path, text.replacen("\"exit_code\":6", "\"exit_code\":0", 1)).expect("it is ours");
    insta::assert_snapshot!(world.run(&["audit-log", "--verify"]), @"
    ------- stderr -------
    Error: the audit log was changed: $BASE/audit.jsonl:3: it does not follow from the line before: one was changed, removed or added
    Hint: what follows that line cannot be relied on; keep the file as it is and look who can write to it
    [exit status: 1]
    ");
}

/// Reading commands leave no trace (PATH-3), and so does what never began.
#[test]
fn safe_commands_write_nothing() {
    let world = world();
    world.write(world.base().join("config.toml"), "");
    for args in [&["sessions", "list"][..], &["config", "path"], &["policy", "explain", "ls"], &["audit-log"]]
    {
        assert_eq!(world.run(args).code(), Some(0), "{args:?}");
    }
    assert!(!world.base().join("audit.jsonl").exists());
}

/// Several processes at once, on one file.
#[test]
fn processes_keep_one_chain() {
    let world = world();
    world.write(world.base().join("config.toml"), "");
    let children: Vec<_> = (0..12)
        .map(|_| {
            let mut command = world.cmd(&["config", "init"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            command.spawn().expect("it can be started")
        })
        .collect();
    for mut child in children {
        assert_eq!(child.wait().expect("it ends").code(), Some(6));
    }
    insta::assert_snapshot!(world.run(&["audit-log", "--verify"]), @"
    $BASE/audit.jsonl: 12 records, the chain holds
    [exit status: 0]
    ");
}

#[test]
fn wrong_flags() {
    let world = world();
    insta::assert_snapshot!(world.run(&["audit-log", "--event", "nope"]), @"
    ------- stderr -------
    Error: `--event` takes decision, approval, sandbox, mode, tool, mcp, undo, purge, trust or run, not `nope`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["audit-log", "--verify", "--limit", "3"]), @"
    ------- stderr -------
    Error: `--verify` and `--limit` do not go together
    [exit status: 2]
    ");
    assert_eq!(world.run(&["audit-log", "--limit", "0"]).code(), Some(2));
}

/// O-030.
#[test]
fn filters() {
    let mut world = world();
    world.run(&["config", "init"]).success();
    world.set_var("ZORI_TRACE_ID", "trace-7");
    let answer = world.run(&["config", "init", "--output", "json"]);
    assert_eq!(answer.code(), Some(6));
    let shown = |args: &[&str]| {
        let text = world.run(&[&["audit-log"], args].concat()).success().stdout();
        text.lines().filter(|line| line.contains("config init")).count()
    };
    assert_eq!(shown(&[]), 2);
    assert_eq!(shown(&["--command", "config init", "--since", "2020-01-01"]), 2);
    assert_eq!(shown(&["--command", "sessions rm"]), 0);
    assert_eq!(shown(&["--since", "2999-01-01"]), 0);
    assert_eq!(shown(&["--trace-id", "trace-7"]), 1);
    let told: Value = serde_json::from_str(&answer.stdout()).unwrap();
    let log = world.run(&["audit-log", "--trace-id", "trace-7", "--output", "json"]).success().stdout();
    let log: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(log["data"]["entries"][0]["request_id"], told["meta"]["request_id"]);
    assert_eq!(world.run(&["audit-log", "--since", "yesterday"]).code(), Some(2));
}

/// F-025, O-030: a run is found again by the name its caller gave it.
#[test]
fn by_the_trace_id() {
    let mut world = world();
    world.run(&["config", "init"]).success();
    world.set_var("ZORI_TRACE_ID", "trace-7").run(&["config", "init"]);
    let runs = records(&world, world.base().join("audit.jsonl"));
    assert_eq!(
        picked(&runs, &["command", "exit_code", "trace_id"]),
        [json!(["config init", 0, null]), json!(["config init", 6, "trace-7"])]
    );
    let shown = |id: &str| {
        let text = world.run(&["audit-log", "--trace-id", id, "--output", "json"]).success().stdout();
        let answer: Value = serde_json::from_str(&text).expect("an envelope is JSON");
        answer["data"]["entries"].as_array().expect("it is a list").len()
    };
    assert_eq!((shown("trace-7"), shown("trace-8")), (1, 0));
}

/// EXT-63: what becomes of MCP servers is written down, without values.
#[test]
fn what_becomes_of_servers() {
    let (world, _model) =
        with_model([anthropic::tool_use("c1", "mcp__s__ask", json!({})), anthropic::text("Done")]);
    let script = scripted_server(&world);
    let config = format!(
        "[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}]\nenv = {{ GIVEN = \"a-value\" }}\n\
         answers = {{ name = \"Ada-of-the-form\" }}\n"
    );
    world.write(world.base().join("config.toml"), config);
    assert_eq!(world.run(&["exec", "-y", "-p", "x", "--no-save"]).code(), Some(0));
    let of_servers = || {
        let all = records(&world, project_log(&world));
        let own: Vec<Value> = all.into_iter().filter(|record| record["event"] == "mcp").collect();
        picked(&own, &["server", "action", "summary", "session"])
    };
    assert_eq!(
        of_servers(),
        [
            json!(["s", "start", "user, stdio", null]),
            json!(["s", "pin", "ask", null]),
            json!(["s", "form", "accept", null]),
            json!(["s", "end", "stopped", null]),
        ]
    );
    let text = world.read(project_log(&world));
    assert!(!text.contains("a-value") && !text.contains("Ada-of-the-form"), "{text}");
    let shown = world.run(&["audit-log", "--event", "mcp"]).success().stdout();
    assert!(shown.lines().next().unwrap().ends_with("  mcp       s  start  user, stdio"), "{shown}");
    assert_eq!(world.run(&["audit-log", "--verify"]).code(), Some(0));
}

/// Where the log is required, a server that cannot be written down is not started.
#[test]
fn a_server_that_cannot_be_written_down() {
    let (world, model) = with_model([anthropic::text("Done")]);
    let script = scripted_server(&world);
    let server = format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}]\n");
    world.write(world.base().join("config.toml"), format!("audit = \"required\"\n{server}"));
    world.write(world.base().join("projects"), "in the way");
    let refused = world.run(&["exec", "-p", "x"]);
    assert_eq!((refused.code(), model.count()), (Some(4), 0), "{refused}");
    let checked = world.run(&["mcp", "list", "--check"]).to_string();
    assert!(
        checked.contains("failed: the audit log is required and cannot be written: $BASE/projects/"),
        "{checked}"
    );
}
