//! What an Agent Zero server's requests may do here, by mode (SEC-1 to SEC-8): nobody can be asked, so what would be asked about is answered
//! with `ok: false`.

use serde_json::{Value, json};
use zori_testkit::agent_zero::{self, KEY, Version};

use crate::sessions::saved;
use crate::world::world;

/// What becomes of a request: the server reads `ok`, and why not.
fn outcome(mode: &str, config: &str, tool: &'static str, payload: Value) -> String {
    outcome_with(None, mode, config, tool, payload)
}

/// The same where `AGENTZERO_ALLOW_SHELL` is set.
fn outcome_with(
    variable: Option<&str>,
    mode: &str,
    config: &str,
    tool: &'static str,
    payload: Value,
) -> String {
    let result = result_with(variable, mode, config, tool, payload);
    match result["ok"] == true {
        true => "auto".to_owned(),
        false => {
            let why = result["output"].as_str().expect("a reason");
            let kinds =
                [("approval_unavailable", "ask"), ("shell commands are off", "off"), ("blacklist", "block")];
            kinds.iter().find(|(words, _)| why.contains(words)).map_or(why, |(_, kind)| kind).to_owned()
        }
    }
}

/// What the server reads.
fn result(mode: &str, config: &str, tool: &'static str, payload: Value) -> Value {
    result_with(None, mode, config, tool, payload)
}

fn result_with(
    variable: Option<&str>,
    mode: &str,
    config: &str,
    tool: &'static str,
    payload: Value,
) -> Value {
    let asked = json!({"type": "tool_request", "tool_name": tool, "payload": payload}).to_string();
    let server = agent_zero::start(Version::Old, move |count, _| match count {
        1 => asked.clone(),
        _ => "ok".to_owned(),
    });
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    world.set_var("AGENTZERO_KEEPALIVE_SECONDS", "0");
    if let Some(value) = variable {
        world.set_var("AGENTZERO_ALLOW_SHELL", value);
    }
    world.write(world.base().join("config.toml"), config);
    world.write("a.txt", "alpha\n");
    world.write(".env", "KEY=1\n");
    for name in ["config.yaml", "deploy/prod.pem", "deploy/x.tfvars"] {
        world.write(name, "alpha: secret\n");
    }
    let args = [
        "exec",
        "--no-save",
        "--provider",
        "agent-zero",
        "--sandbox",
        "off",
        "--permission-mode",
        mode,
        "-p",
        "go",
    ];
    let output = world.run(&args);
    assert_eq!(output.code(), Some(0), "{output}");
    let message = server.request(1).json()["message"].as_str().expect("a text").to_owned();
    serde_json::from_str::<Value>(&message).expect("a result")["tool_result"].clone()
}

const SHELL: &str = "[security]\nallow_shell = true\n";

/// The matrix of modes and classes.
#[test]
fn modes_and_classes() {
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-alpha\n+beta\n";
    let rows: [(&str, &'static str, Value, [&str; 3]); 13] = [
        ("", "read_file", json!({"path": "a.txt"}), ["ask", "auto", "auto"]),
        ("", "tree", json!({}), ["ask", "auto", "auto"]),
        ("", "rg", json!({"query": "alpha"}), ["ask", "auto", "auto"]),
        ("", "read_file", json!({"path": ".env"}), ["ask", "ask", "auto"]),
        ("", "read_file", json!({"path": "config.yaml"}), ["ask", "ask", "auto"]),
        ("", "read_file", json!({"path": "deploy/prod.pem"}), ["ask", "ask", "auto"]),
        ("", "read_file", json!({"path": "deploy/x.tfvars"}), ["ask", "auto", "auto"]),
        (
            "context.sensitive_files = [\"*.tfvars\"]\n",
            "read_file",
            json!({"path": "deploy/x.tfvars"}),
            ["ask", "ask", "auto"],
        ),
        ("", "write_file", json!({"path": "b", "content": "x"}), ["ask", "ask", "auto"]),
        ("", "replace", json!({"path": "a.txt", "find": "alpha", "replace": "beta"}), ["ask", "ask", "auto"]),
        ("", "patch", json!({"diff": patch}), ["ask", "ask", "auto"]),
        ("", "shell", json!({"command": "ls"}), ["off", "off", "off"]),
        (SHELL, "shell", json!({"command": "touch b"}), ["ask", "ask", "auto"]),
    ];
    let mut lines = Vec::new();
    for (config, tool, payload, expected) in rows {
        let got =
            ["paranoid", "balanced", "god_mode"].map(|mode| outcome(mode, config, tool, payload.clone()));
        if got != expected {
            lines.push(format!("{tool} {payload}: {got:?}, not {expected:?}"));
        }
    }
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

/// RD-8: what may hold secrets is not searched, which is said, and listed by its name alone.
#[test]
fn what_is_kept_from_searches_and_lists() {
    let config = "context.sensitive_files = [\"*.tfvars\"]\n";
    let output =
        |tool, payload| result("balanced", config, tool, payload)["output"].as_str().unwrap().to_owned();
    assert_eq!(
        output("search_text", json!({"query": "alpha"})),
        "a.txt:1: alpha\n(3 files were not searched: they may hold secrets, or a rule keeps them back)"
    );
    assert_eq!(
        output("list_files", json!({})),
        ".env\na.txt (6B)\nconfig.yaml\ndeploy/prod.pem\ndeploy/x.tfvars (14B)"
    );
    // Folders are no files, and take nobody's place.
    assert_eq!(
        output("list_files", json!({"path": "deploy", "max_files": 1})),
        "deploy/prod.pem\n(there is more; narrow it down)"
    );
    assert_eq!(output("list_files", json!({"max_files": 4})).lines().count(), 5);
}

/// The variable replaces what the config says, in both directions.
#[test]
fn the_shell_by_a_variable() {
    let ran =
        |value, config| outcome_with(Some(value), "god_mode", config, "shell", json!({"command": "echo hi"}));
    assert_eq!(["yes", "On", "1"].map(|value| ran(value, "")), ["auto"; 3]);
    assert_eq!(["no", "0", "2"].map(|value| ran(value, SHELL)), ["off"; 3]);
}

/// SEC-3, SEC-6, SEC-7: whole leading words, nothing behind them that starts something else, and the blacklist in every mode.
#[test]
fn commands() {
    let rows: [(&str, [&str; 3]); 11] = [
        ("ls", ["ask", "auto", "auto"]),
        ("whoami", ["ask", "auto", "auto"]),
        ("ls; touch b", ["ask", "ask", "auto"]),
        ("echo $(touch b)", ["ask", "ask", "auto"]),
        ("echo x > b", ["ask", "ask", "auto"]),
        ("lsof -v", ["ask", "ask", "auto"]),
        ("rm -rf b", ["block", "block", "block"]),
        ("rm -r --force b", ["block", "block", "block"]),
        ("echo ok && rm -fr b", ["block", "block", "block"]),
        ("shutdown now", ["block", "block", "block"]),
        ("sudo mkfs.ext4 x", ["block", "block", "block"]),
    ];
    let mut lines = Vec::new();
    for (command, expected) in rows {
        let got = ["paranoid", "balanced", "god_mode"]
            .map(|mode| outcome(mode, SHELL, "shell", json!({"command": command})));
        if got != expected {
            lines.push(format!("{command}: {got:?}, not {expected:?}"));
        }
    }
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

/// SEC-12: the session file says of each call that was asked about or denied what became of it, and in which mode.
#[test]
fn what_the_session_file_says() {
    let write = || json!({"path": "b", "content": "x"});
    let said = |mode: &str, more: &[&str], tool: &'static str, payload: Value| {
        let asked = json!({"type": "tool_request", "tool_name": tool, "payload": payload}).to_string();
        let server = agent_zero::start(Version::Old, move |count, _| match count {
            1 => asked.clone(),
            _ => "ok".to_owned(),
        });
        let mut world = world();
        world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
        world.set_var("AGENTZERO_API_KEY", KEY);
        let args = ["exec", "--provider", "agent-zero", "--sandbox", "off", "--session", "s", "-p", "go"];
        world.run(&[&args[..], &["--permission-mode", mode], more].concat()).success();
        let lines = saved(&world, "s");
        let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("lines of JSON"));
        let approvals = records.filter(|record| record["type"] == "approval");
        let words = |record: Value| {
            assert!(record["tool_use_id"].is_string() && record["ts"].is_string(), "{record}");
            format!(
                "{} {}",
                record["decision"].as_str().unwrap_or("?"),
                record["mode"].as_str().unwrap_or("?")
            )
        };
        approvals.map(words).collect::<Vec<_>>()
    };
    assert_eq!(said("balanced", &[], "write_file", write()), ["rejected balanced"], "nobody is there");
    assert_eq!(said("paranoid", &["-y"], "write_file", write()), ["approved paranoid"]);
    assert_eq!(said("god_mode", &[], "shell", json!({"command": "ls"})), ["blocked god_mode"]);
    assert_eq!(said("god_mode", &[], "write_file", write()), Vec::<String>::new(), "a plain yes leaves none");
}
