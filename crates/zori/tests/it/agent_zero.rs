//! The provider `agent-zero` through the executable: against a server that follows the real one's handler, and one that
//! streams events (`docs/contracts/agent-zero.md`).

use serde_json::{Value, json};
use zori_testkit::agent_zero::{self, KEY, Version};
use zori_testkit::env::TestEnv;
use zori_testkit::fixture;
use zori_testkit::reply::Reply;
use zori_testkit::server::{ModelServer, refused_url};

use crate::world::world;

/// A world whose provider is this server; what is said about waits does not depend on time.
fn at(server: &ModelServer) -> TestEnv {
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    world.set_var("AGENTZERO_KEEPALIVE_SECONDS", "0");
    world
}

fn exec<'a>(prompt: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["exec", "--provider", "agent-zero", "-p", prompt], more].concat()
}

/// Returns the result that came back with a request.
fn result(server: &ModelServer, n: usize) -> Value {
    let body = server.request(n).json();
    let message: Value = serde_json::from_str(body["message"].as_str().expect("a message is a text"))
        .expect("the text is JSON");
    message["tool_result"].clone()
}

fn asks_for(tool: &str, payload: Value) -> String {
    json!({"type": "tool_request", "tool_name": tool, "reason": "to see", "payload": payload}).to_string()
}

/// Both routes of the real server: the file's text really arrives, and stdout has the answer alone (TR-7, SRV-1).
#[test]
fn a_round_with_the_real_server() {
    for version in [Version::Old, Version::New] {
        let server = agent_zero::start(version, |count, _| match count {
            1 => asks_for("read_file", json!({"path": "notes.txt"})),
            _ => "It says alpha.".to_owned(),
        });
        let world = at(&server);
        world.write("notes.txt", "alpha\n");
        let output = world.run(&exec("What do the notes say?", &["--no-save"]));
        assert_eq!((output.code(), &*output.stdout()), (Some(0), "It says alpha.\n"), "{output}");
        let last = server.count() - 1;
        assert_eq!(
            result(&server, last),
            json!({"tool_name": "read_file", "ok": true, "output": "alpha\n",
                   "details": {"path": "notes.txt", "bytes": 6, "truncated": false}})
        );
        let first = server.request(last - 1).json()["message"].as_str().unwrap().to_owned();
        assert!(
            first.starts_with("[AZ_CONTEXT v1]\n") && first.ends_with("\n\nUSER: What do the notes say?")
        );
        assert!(
            first.contains("- shell(command) [disabled]") && first.contains("- notes.txt (6B)"),
            "{first}"
        );
        assert_eq!(output.stderr().contains("is used from now on"), version == Version::New, "{output}");
    }
}

/// Chapter 6: what a call does not say comes from the settings of the context; lines that were asked for are told with the result.
#[test]
fn how_much_a_tool_returns() {
    let lines = |count: usize| (1..=count).map(|n| format!("line {n:02}\n")).collect::<String>();
    let cases = [
        (
            "read_file",
            json!({"path": "notes.txt"}),
            format!("{}... [truncated]", lines(8)),
            json!({"bytes": 160, "truncated": true}),
        ),
        ("read_file", json!({"path": "notes.txt", "max_bytes": 500}), lines(20), json!({"truncated": false})),
        (
            "read_file",
            json!({"path": "notes.txt", "start_line": 2, "end_line": 2}),
            "line 02\n".to_owned(),
            json!({"start_line": 2, "end_line": 2}),
        ),
        (
            "list_files",
            json!({}),
            "notes.txt (160B)\n(there is more; narrow it down)".to_owned(),
            json!({"files": 1, "truncated": true}),
        ),
        (
            "list_files",
            json!({"max_files": 9}),
            "notes.txt (160B)\nother.txt (0B)".to_owned(),
            json!({"files": 2, "truncated": false}),
        ),
    ];
    let mut wrong = Vec::new();
    for (tool, payload, output, details) in cases {
        let asked = asks_for(tool, payload.clone());
        let server = agent_zero::start(Version::Old, move |count, _| match count {
            1 => asked.clone(),
            _ => "ok".to_owned(),
        });
        let world = at(&server);
        world.write(world.base().join("config.toml"), "[context]\nmax_preview_bytes = 64\nmax_files = 1\n");
        world.write("notes.txt", lines(20));
        world.write("other.txt", "");
        world.run(&exec("go", &["--no-save"]));
        let result = result(&server, 1);
        let told = details.as_object().unwrap().iter().all(|(name, value)| result["details"][name] == *value);
        if result["output"] != output || !told {
            wrong.push(format!("{tool} {payload}: {result}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// SEC-1, SEC-2, AT-3: what the gate and the workspace keep back goes to the server as `ok: false`.
#[test]
fn what_may_not_run_is_told_to_the_server() {
    for (tool, payload, reason) in [
        ("shell", json!({"command": "ls"}), "shell commands are off"),
        ("write_file", json!({"path": "x", "content": "y"}), "approval_unavailable"),
        ("read_file", json!({"path": "/etc/passwd"}), "is not a relative path"),
        ("read_file", json!({"path": "../secret"}), "leads out of the workspace"),
        ("read_file", json!({"path": "link/passwd"}), "leads out of the workspace"),
        (
            "apply_patch",
            json!({"diff": "--- /etc/x\n+++ /etc/x\n@@ -1 +1 @@\n-a\n+b\n"}),
            "is not a relative path",
        ),
        ("launch", json!({}), "`launch` is not a tool"),
    ] {
        let asked = asks_for(tool, payload);
        let server = agent_zero::start(Version::Old, move |count, _| match count {
            1 => asked.clone(),
            _ => "Understood.".to_owned(),
        });
        let world = at(&server);
        std::os::unix::fs::symlink("/etc", world.work().join("link")).unwrap();
        let output = world.run(&exec("go", &["--no-save"]));
        assert_eq!((output.code(), &*output.stdout()), (Some(0), "Understood.\n"), "{tool}: {output}");
        let result = result(&server, 1);
        assert_eq!(result["ok"], false, "{tool}: {result}");
        assert!(result["output"].as_str().unwrap().contains(reason), "{tool}: {result}");
        assert!(!world.work().join("x").exists());
    }
}

/// SEC-3: `god_mode` runs what is asked for, and the blacklist holds; `ok` is the command's own.
#[test]
fn god_mode_with_the_shell_on() {
    for (command, ok, says) in
        [("echo hi", true, "hi"), ("echo no >&2; exit 3", false, "no"), ("rm -rf /tmp/x", false, "blacklist")]
    {
        let asked = asks_for("terminal", json!({"command": command}));
        let server = agent_zero::start(Version::Old, move |count, _| match count {
            1 => asked.clone(),
            _ => "ok".to_owned(),
        });
        let world = at(&server);
        std::fs::create_dir_all(world.base()).unwrap();
        std::fs::write(world.base().join("config.toml"), "[security]\nallow_shell = true\n").unwrap();
        let output =
            world.run(&exec("go", &["--no-save", "--permission-mode", "god_mode", "--sandbox", "off"]));
        assert_eq!(output.code(), Some(0), "{output}");
        assert!(
            output.stderr().contains("`security.allow_shell` lets the model run shell commands"),
            "{output}"
        );
        let result = result(&server, 1);
        assert_eq!(result["ok"], ok, "{command}: {result}");
        assert!(result["output"].as_str().unwrap().contains(says), "{command}: {result}");
    }
}

/// CTX-2: a session goes on with its chat, another one has its own; a chat the server lost begins anew.
#[test]
fn a_session_keeps_its_chat() {
    let server = agent_zero::start(Version::Old, |count, message| match message.contains("forget") {
        true => "forget".to_owned(),
        false => format!("answer {count}"),
    });
    let world = at(&server);
    let ids = || -> Vec<Value> {
        server.requests().iter().map(|request| request.json()["context_id"].clone()).collect()
    };
    assert_eq!(&*world.run(&exec("one", &["--session", "s"])).stdout(), "answer 1\n");
    let file = std::fs::read_to_string(world.base().join("sessions/s.jsonl")).unwrap();
    let kept: Vec<Value> = file
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|record| record["type"] == "provider_state")
        .map(|record| json!({"provider": record["provider"], "data": record["data"]}))
        .collect();
    let data = json!({"context_id": "chat1", "context_signature": "empty"});
    assert_eq!(kept, [json!({"provider": "agent-zero", "data": data})], "{file}");
    assert_eq!(&*world.run(&exec("two", &["--continue"])).stdout(), "answer 2\n");
    assert_eq!(&*world.run(&exec("other", &["--no-save"])).stdout(), "answer 1\n");
    assert_eq!(ids(), [Value::Null, json!("chat1"), Value::Null]);
    let second = server.request(1).json();
    assert_eq!(second["message"], "two", "the workspace has not changed");
    assert_eq!(&*world.run(&exec("forget", &["--continue"])).stdout(), "gone\n");
    let output = world.run(&exec("again", &["--continue"]));
    assert_eq!(&*output.stdout(), "answer 1\n", "{output}");
    assert!(output.stderr().contains("The server no longer knows this chat"), "{output}");
}

/// The events of a streaming server in both of zori's own outputs.
#[test]
fn a_streaming_server() {
    let server = ModelServer::answering(|_| Reply::sse(fixture::bytes("agent_zero/text.sse")));
    let world = at(&server);
    let output = world.run(&exec("hi", &["--no-save"]));
    assert_eq!((output.code(), &*output.stdout()), (Some(0), "Hello.\n"), "{output}");
    assert!(output.stderr().contains("Working\n"), "{output}");
    let output = world.run(&exec("hi", &["--no-save", "--json"]));
    assert_eq!(output.code(), Some(0), "{output}");
    assert!(output.stdout().contains("Hello."), "{output}");
}

/// DECISIONS 24: the texts and codes of what goes wrong.
#[test]
fn errors_have_their_codes() {
    let server = agent_zero::start(Version::Old, |_, _| "raise said \"no\" here".to_owned());
    let mut world = at(&server);
    let output = world.run(&exec("hi", &["--no-save"]));
    assert!(
        output.stderr().contains("HTTP 500: {\"error\": \"Failed to process message: said \"no\" here\"}"),
        "{output}"
    );
    assert_eq!((server.count(), &*output.stdout()), (1, ""), "a message is not sent twice");
    world.set_var("AGENTZERO_API_KEY", "wrong-wrong-wrong");
    let output = world.run(&exec("hi", &["--no-save"]));
    assert_eq!(output.code(), Some(8), "{output}");
    assert!(output.stderr().contains("Invalid API key"), "{output}");
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", refused_url()));
    let output = world.run(&exec("hi", &["--no-save"]));
    assert_eq!((output.code(), &*output.stdout()), (Some(12), ""), "{output}");
    world.remove_var("AGENTZERO_API_URL");
    let output = world.run(&exec("hi", &["--no-save"]));
    assert_eq!(output.code(), Some(2), "{output}");
    assert!(output.stderr().contains("no Agent Zero server is named"), "{output}");
}

/// AZ-8: the script inside the program, under the name `a0`.
#[test]
fn the_mock_server() {
    let world = world();
    std::fs::create_dir_all(world.base()).unwrap();
    std::fs::write(world.base().join("config.toml"), "[connection]\nuse_mock = true\n").unwrap();
    world.write("a.txt", "a");
    let output = world.run(&["--as", "a0", "exec", "--no-save", "-p", "hi"]);
    assert_eq!(output.code(), Some(0), "{output}");
    assert!(output.stdout().starts_with("I am the mock server inside this program"), "{output}");
    assert!(output.stdout().contains("sent me the name of one file"), "{output}");
    assert!(output.stderr().contains("a script inside this program answers, no server"), "{output}");
}

/// The demo under that name plays the same script.
#[test]
fn the_demo_of_a0() {
    let output = world().run(&["--as", "a0", "demo"]);
    assert_eq!(output.code(), Some(0), "{output}");
    assert!(output.stdout().contains("sent me the names of 2 files"), "{output}");
    assert!(output.stderr().contains("you> What is in this folder?"), "{output}");
    assert!(output.stderr().contains("Context ready (default/default): files=2, "), "{output}");
}

/// AZ-5, AZ-6: a project and a profile, and what they are in the block.
#[test]
fn projects_and_profiles() {
    let mut world = world();
    std::fs::create_dir_all(world.base()).unwrap();
    let config = "[projects.demo]\nsecurity_mode = \"paranoid\"\n[projects.demo.context]\ninclude_tree = false\n\
                  [agent_profiles]\nbrief = \"Be brief.\"\n";
    std::fs::write(world.base().join("config.toml"), config).unwrap();
    world.write("README.md", "# Demo\npassword: hunter2\n");
    world.set_var("AGENTZERO_PROJECT", "demo");
    world.set_var("AGENTZERO_AGENT_PROFILE", "brief");
    world.set_var("AGENTZERO_CONTEXT_GIT", "no");
    let output = world.run(&["context", "show"]);
    let text = output.stdout();
    assert!(
        text.contains("project: demo\nagent_profile: brief\nagent_profile_prompt: Be brief.\n"),
        "{output}"
    );
    assert!(text.contains("--- README.md ---\n# Demo\npassword: ***REDACTED***\n"), "{output}");
    assert!(!text.contains("workspace_tree:") && !text.contains("hunter2"), "{output}");
    world.set_var("AGENTZERO_PROJECT", "nope");
    let output = world.run(&["context", "show"]);
    assert_eq!(output.code(), Some(2), "{output}");
    assert!(output.stderr().contains("there is no project `nope`"), "{output}");
}

/// AZ-10: what a project says is looked at, too: a file that was imported can be read, whichever project holds.
#[test]
fn projects_of_another_client() {
    let mut world = world();
    let yaml = "projects:\n  default:\n    workspace_root: \".\"\n    description: mine\n  demo:\n    stream_mode: sse\n    timeout_seconds: soon\n    \
                ui:\n      waiting_game: none\n      wobble: 1\n    connection:\n      dashboard_url: http://x\n      api_key: k\n    \
                context:\n      redact_patterns: \"x{1,2}\"\n  empty:\n  odd: 1\n\
                agent_profiles:\n  terse: Be brief.\n  odd: 1\ncontext:\n  preview_files: [\"a, b.md\", c.md]\n";
    world.write("old.yaml", yaml);
    let output = world.run(&["config", "import", "old.yaml", "--output", "plain"]).success();
    insta::assert_snapshot!(output.stdout().lines().skip(1).collect::<Vec<_>>().join("\n"), @r"
    Left out, because keys are never read from files: projects.demo.connection.api_key. Set AGENTZERO_API_KEY, or store it with `auth login`
    Left out, because it means nothing here: agent_profiles.odd, projects.default.description, projects.demo.timeout_seconds, projects.demo.ui.wobble, projects.odd
    ");
    let written = std::fs::read_to_string(world.base().join("config.toml")).unwrap();
    insta::assert_snapshot!(written, @r#"
    provider = "agent-zero"
    agent_profiles = { "terse" = "Be brief." }
    context.preview_files = ["a, b.md", "c.md"]
    projects = { "default" = { "workspace_root" = "." }, "demo" = { "connection" = { "dashboard_url" = "http://x" }, "context" = { "redact_patterns" = ["x{1,2}"] }, "stream_mode" = "sse", "ui" = { "waiting_game" = "off" } } }
    "#);
    for project in ["default", "demo"] {
        world.set_var("AGENTZERO_PROJECT", project);
        world.run(&["context", "show"]).success();
    }
}

/// AZ-10: what no run could be begun with is left out and said, so that what was imported can be used at once.
#[test]
fn settings_that_nothing_could_run_with() {
    let mut world = world();
    let yaml = "connection:\n  api_url: server/api_message\n  ui_url: http://a\n  dashboard_url: http://b\nprovider: other\n\
                active_project: gone\nagent_profile: gone\nagent_profiles:\n  mine: Be brief.\nprojects:\n  web:\n    agent_profile: mine\n    \
                security_mode: wild\n  api:\n    agent_profile: own\n    agent_profiles:\n      own: Be kind.\n    \
                security:\n      blacklist_patterns: [\"a | b\"]\n\
                security:\n  mode: wild\n  whitelist: [ls, \"git *\"]\n  blacklist_patterns:\n    - rm -rf\n    - \"> /dev/sda\"\n";
    world.write("old.yaml", yaml);
    let output = world.run(&["config", "import", "old.yaml", "--output", "plain"]).success();
    insta::assert_snapshot!(output.stdout().lines().skip(1).collect::<Vec<_>>().join("\n"), @"
    Left out, because it means nothing here: provider
    Left out, because nothing could run with it: active_project (gone), agent_profile (gone), connection.api_url (server/api_message), projects.api.security.blacklist_patterns (a | b), projects.web.security_mode (wild), security.blacklist_patterns (> /dev/sda), security.mode (wild), security.whitelist (git *)
    ");
    let written = std::fs::read_to_string(world.base().join("config.toml")).unwrap();
    insta::assert_snapshot!(written, @r#"
    provider = "agent-zero"
    agent_profiles = { "mine" = "Be brief." }
    connection.dashboard_url = "http://b"
    connection.ui_url = "http://a"
    projects = { "api" = { "agent_profile" = "own", "agent_profiles" = { "own" = "Be kind." }, "security" = {  } }, "web" = { "agent_profile" = "mine" } }
    security.blacklist_patterns = ["rm -rf"]
    security.whitelist = ["ls"]
    "#);
    for project in ["default", "web", "api"] {
        world.set_var("AGENTZERO_PROJECT", project);
        world.run(&["context", "show"]).success();
    }
}

/// AZ-10: secrets and what means nothing here are left out, and said.
#[test]
fn settings_of_another_client() {
    let world = world();
    let yaml = "connection:\n  api_url: http://localhost:8000/api_message\n  api_key: hunter2\n  stream: true\n\
                security:\n  mode: balanced\n  whitelist: ls\nui:\n  wobble: 1\n  waiting_game: none\n\
                observer:\n  mode: false\n  model: small\n\
                projects:\n  demo:\n    security_mode: paranoid\n    api_key: x\n";
    world.write("old.yaml", yaml);
    let output = world.run(&["config", "import", "old.yaml"]);
    assert_eq!(output.code(), Some(0), "{output}");
    assert!(
        output.stdout().contains("keys are never read from files: connection.api_key, projects.demo.api_key"),
        "{output}"
    );
    assert!(output.stdout().contains("means nothing here: ui.wobble"), "{output}");
    let written = std::fs::read_to_string(world.base().join("config.toml")).unwrap();
    assert_eq!(
        written,
        "provider = \"agent-zero\"\nconnection.api_url = \"http://localhost:8000/api_message\"\nconnection.stream = true\n\
         observer.mode = \"off\"\nobserver.model = \"small\"\n\
         projects = { \"demo\" = { \"security_mode\" = \"paranoid\" } }\n\
         security.mode = \"balanced\"\nsecurity.whitelist = [\"ls\"]\nui.waiting_game = \"off\"\n"
    );
    assert_eq!(world.run(&["config", "show"]).code(), Some(0));
    assert_eq!(world.run(&["config", "import", "old.yaml"]).code(), Some(6));
    world.write("bad.yaml", "a: &x 1\n");
    let output = world.run(&["config", "import", "bad.yaml"]);
    assert_eq!(output.code(), Some(2), "{output}");
    assert!(output.stderr().contains("bad.yaml:1: `&x 1` is not understood"), "{output}");
}
