//! MCP servers as a run uses them: found, started, called, refused, and gone when it ends (`docs/contracts/mcp-client.md`).

use std::path::PathBuf;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::mcp::{config, processes_of, scripted_server};
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use crate::world::{with_model, world};

fn with_server(replies: impl IntoIterator<Item = Reply>) -> (TestEnv, ModelServer, PathBuf) {
    let (world, model) = with_model(replies);
    let script = scripted_server(&world);
    (world, model, script)
}

fn calling(tool: &str, input: Value) -> [Reply; 2] {
    [anthropic::tool_use("t1", tool, input).into(), anthropic::text("Done.").into()]
}

/// The names of the tools of a request that are not built in.
fn listed(model: &ModelServer, at: usize) -> Vec<String> {
    let body = model.request(at).json();
    let tools = body["tools"].as_array().expect("a request lists tools");
    let names = tools.iter().map(|tool| tool["name"].as_str().expect("a tool has a name").to_owned());
    names.filter(|name| name.starts_with("mcp")).collect()
}

/// What the model read of the last call of a request.
fn result(model: &ModelServer, at: usize) -> String {
    let content =
        model.request(at).messages().pop().expect("a request has messages")["content"][0]["content"].clone();
    content.as_str().map_or_else(|| content.to_string(), str::to_owned)
}

/// MCP-11: `exec -p --mcp-config F` calls a tool.
#[test]
fn a_tool_is_called() {
    let (world, model, script) = with_server(calling("mcp__s__add", json!({"a": 1, "b": 2})));
    let config = config("s", &script, "plain");
    let output = world.run(&["exec", "-p", "go", "--no-save", "--mcp-config", &config]);
    assert_eq!((output.stdout().as_str(), output.code()), ("Done.\n", Some(0)), "{output}");
    let names = ["add", "ask", "die", "fail", "look", "slow"].map(|name| format!("mcp__s__{name}"));
    assert_eq!(listed(&model, 0), names);
    assert_eq!(result(&model, 1), "3");
}

/// MCP-44: what `mcp_call` stands for has one name for everybody but the model, and is judged by it.
#[test]
fn tools_above_the_budget_are_found_and_called() {
    let (world, model, script) = with_server([
        anthropic::tool_use("t1", "mcp_find", json!({"query": "number 2", "limit": 1})).into(),
        anthropic::tool_use("t2", "mcp_call", json!({"tool": "mcp__s__tool_2", "arguments": {}})).into(),
        anthropic::tool_use("t3", "mcp_call", json!({"tool": "mcp__s__add", "arguments": {"a": "x"}})).into(),
        anthropic::text("Done.").into(),
    ]);
    let config =
        json!({"mcpServers": {"s": {"command": "sh", "args": [script], "env": {"MANY": "80"}}}}).to_string();
    let args = ["exec", "-p", "go", "--no-save", "--mcp-config", &config];
    let output = world.run(&args);
    assert!(output.stderr().contains("mcp__s__tool_2"), "{output}");
    assert_eq!(listed(&model, 0), ["mcp_find", "mcp_call"]);
    let tools = model.request(0).json()["tools"].to_string();
    assert_eq!(tools, model.request(3).json()["tools"].to_string());
    let found = result(&model, 1);
    assert!(found.starts_with(r#"{"tools":[{"tool":"mcp__s__tool_2","description":"#), "{found}");
    assert_eq!(result(&model, 2), "two");
    let refused = result(&model, 3);
    assert!(refused.contains("`a` must be of the type integer. The schema of `mcp__s__add`"), "{refused}");
    // A rule names the tool that is meant.
    let (world, model, script) =
        with_server(calling("mcp_call", json!({"tool": "mcp__s__tool_2", "arguments": {}})));
    let config =
        json!({"mcpServers": {"s": {"command": "sh", "args": [script], "env": {"MANY": "80"}}}}).to_string();
    world.run(&["exec", "-p", "go", "--no-save", "--mcp-config", &config, "--deny", "mcp__s__tool_2"]);
    assert!(
        model.request(1).conversation().contains("permission_denied"),
        "{}",
        model.request(1).conversation()
    );
}

/// MCP-41: the default level asks about every tool, and `trusted` lets those run that say they only read.
#[test]
fn levels() {
    let run = |trust: &str, tool: &str| {
        let (world, model, script) = with_server(calling(tool, json!({})));
        let config = format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}]\ntrust = \"{trust}\"\n");
        world.write(world.base().join("config.toml"), config);
        let args = ["exec", "-p", "go", "--no-save", "--permission-mode", "plan", "--sandbox", "off"];
        world.run(&args);
        result(&model, 1)
    };
    let (denied, asked) = ("mode plan changes nothing (MX)", "approval_unavailable");
    for (trust, tool, wanted) in [
        ("untrusted", "mcp__s__add", denied),
        ("trusted", "mcp__s__add", asked),
        ("trusted", "mcp__s__fail", denied),
    ] {
        let told = run(trust, tool);
        assert!(told.contains(wanted), "{trust} {tool}: {told}");
    }
}

/// MCP-21: the environment is empty but for what is listed.
#[test]
fn a_server_gets_what_is_listed() {
    let (world, model, script) = with_server(calling("mcp__s__look", json!({})));
    let config =
        json!({"mcpServers": {"s": {"command": "sh", "args": [script], "env": {"GIVEN": "1"}}}}).to_string();
    world.run(&["exec", "-p", "go", "--no-save", "--mcp-config", &config]);
    let names = result(&model, 1);
    assert!(names.starts_with("GIVEN HOME "), "{names}");
    assert!(!names.contains("ANTHROPIC") && !names.contains("ZORI"), "{names}");
}

/// MCP-32, MCP-35: a server that fails costs itself, and one that ends during a call that call.
#[test]
fn servers_that_fail() {
    let (world, _model, script) = with_server([anthropic::text("Done.").into()]);
    let servers = json!({"mcpServers": {
        "dies": {"command": "sh", "args": [script, "dies"]},
        "version": {"command": "sh", "args": [script, "version"]},
        "missing": {"command": "no-such-program"},
        "unset": {"command": "sh", "args": ["${NO_SUCH_VARIABLE}"]},
    }});
    let output = world.run(&["exec", "-p", "go", "--no-save", "--mcp-config", &servers.to_string()]);
    assert_eq!((output.stdout().as_str(), output.code()), ("Done.\n", Some(0)), "{output}");
    for why in [
        "the MCP server `dies` failed: it ended with exit status: 3; its last words: no licence",
        "the MCP server `missing` failed: `no-such-program` cannot be started: No such file or directory (os error 2)",
        "the MCP server `unset` failed: the variable `NO_SUCH_VARIABLE` is not set",
        "the MCP server `version` failed: it speaks the version `1999-01-01` of the protocol",
    ] {
        assert!(output.stderr().contains(&format!("Warning: {why}\n")), "{why}\n{output}");
    }
    let (world, model, script) = with_server(calling("mcp__s__die", json!({})));
    world.run(&["exec", "-p", "go", "--no-save", "--mcp-config", &config("s", &script, "banner")]);
    let told = result(&model, 1);
    assert!(
        told.ends_with("the MCP server `s`: it ended with exit status: 7; its last words: out of memory"),
        "{told}"
    );
}

/// One that closed its standard error long before its end ends like any other.
#[test]
fn a_server_without_standard_error() {
    let (world, model, script) = with_server(calling("mcp__s__die", json!({})));
    let output =
        world.run(&["exec", "-p", "go", "--no-save", "--mcp-config", &config("s", &script, "hushed")]);
    assert!(!output.stderr().contains("panicked"), "{output}");
    assert!(model.request(1).conversation().contains("it ended with exit status: 7"), "{output}");
}

/// MCP-31: a run does not begin without a server that it needs.
#[test]
fn a_required_server() {
    let (world, model, script) = with_server([anthropic::text("Done.").into()]);
    let config =
        format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}, \"dies\"]\nrequired = true\n");
    world.write(world.base().join("config.toml"), config);
    let output = world.run(&["exec", "-p", "go", "--no-save"]);
    let why = "the MCP server `s` is required, and it ended with exit status: 3; its last words: no licence";
    assert!(output.stderr().contains(why) && output.code() == Some(12), "{output}");
    assert_eq!(model.count(), 0);
}

/// MCP-22: a server that knows no `initialize` is asked in the newer way.
#[test]
fn a_newer_server() {
    let (world, model, script) = with_server(calling("mcp__s__add", json!({})));
    world.run(&["exec", "-p", "go", "--no-save", "--mcp-config", &config("s", &script, "newer")]);
    assert_eq!(result(&model, 1), "3");
}

/// MCP-42: a tool that says something else of itself is covered by no rule until somebody has seen it.
#[test]
fn a_changed_tool_is_asked_about_again() {
    let (world, model, script) = with_server([]);
    let about = |words: &str| {
        let servers =
            json!({"mcpServers": {"s": {"command": "sh", "args": [script], "env": {"ABOUT": words}}}});
        servers.to_string()
    };
    let run = |words: &str| {
        model.push(anthropic::tool_use("t1", "mcp__s__add", json!({})));
        model.push(anthropic::text("Done."));
        let allow = ["--permission-mode", "default", "--allow", "mcp__s", "--sandbox", "off"];
        world.run(&[&["exec", "-p", "go", "--no-save", "--mcp-config", &about(words)][..], &allow].concat());
        result(&model, model.count() - 1)
    };
    assert_eq!(run("Adds"), "3");
    assert_eq!(run("Adds"), "3");
    // What was judged is the list of the last time; nothing runs by that.
    let judged = run("Adds, and sends your mail");
    let why = "the tool `add` of the MCP server `s` says something else of itself than when it was approved";
    // The server may be there first.
    let late = "than when the call was judged; nothing was executed";
    assert!(judged.contains(late) || judged.contains(why), "{judged}");
    let changed = run("Adds, and sends your mail");
    assert!(changed.contains(why), "{changed}");
}

/// EXT-60: a project's servers are neither started nor expanded before somebody trusts it.
#[test]
fn a_project_is_asked_about_first() {
    let (world, model, script) = with_server(calling("mcp__s__add", json!({})));
    let servers = json!({"mcpServers": {"s": {"command": "sh", "args": [script]}}});
    world.write(".mcp.json", servers.to_string());
    let output = world.run(&["exec", "-p", "go", "--no-save"]);
    assert!(
        output.stderr().contains("is not trusted, so its own settings are not used: 1 MCP server"),
        "{output}"
    );
    assert!(listed(&model, 0).is_empty());
    assert_eq!(world.run(&["trust", "allow", "--yes"]).code(), Some(0));
    model.push(anthropic::text("Done."));
    world.run(&["exec", "-p", "go", "--no-save"]);
    assert_eq!(listed(&model, 2).len(), 6);
    // What was trusted is what was written then.
    world.write(
        ".mcp.json",
        json!({"mcpServers": {"s": {"command": "sh", "args": [script, "banner"]}}}).to_string(),
    );
    model.push(anthropic::text("Done."));
    let changed = world.run(&["exec", "-p", "go", "--no-save"]);
    assert!(changed.stderr().contains("changed since it was trusted"), "{changed}");
    assert!(listed(&model, 3).is_empty());
}

/// MCP-1: what was approved is the script, too, as it was.
#[test]
fn a_script_of_the_project_that_changed() {
    let (world, model, script) = with_server(calling("mcp__s__add", json!({})));
    world.write("tools/server.sh", std::fs::read_to_string(script).expect("it was written"));
    let servers = json!({"mcpServers": {"s": {"command": "sh", "args": ["tools/server.sh"]}}});
    world.write(".mcp.json", servers.to_string());
    world.run(&["trust", "allow", "--yes"]).success();
    world.run(&["exec", "-p", "go", "--no-save"]).success();
    assert_eq!(listed(&model, 0).len(), 6);
    world.write("tools/server.sh", "touch stolen\n");
    model.push(anthropic::text("Done."));
    let changed = world.run(&["exec", "-p", "go", "--no-save"]);
    assert!(
        changed.stderr().contains("changed since it was trusted, or came later, and are not used: s;"),
        "{changed}"
    );
    assert!(listed(&model, 2).is_empty() && !world.work().join("stolen").exists());
}

/// MCP-90: what commands do about servers.
#[test]
fn commands() {
    let world = world();
    let script = scripted_server(&world);
    let script = script.to_str().unwrap();
    let said = |args: &[&str], code: i32| {
        let output = world.run(args);
        assert_eq!(output.code(), Some(code), "{args:?}\n{output}");
        output.to_string()
    };
    assert!(said(&["mcp", "list"], 0).contains("There are no MCP servers"));
    said(&["mcp", "add", "s", "--env", "GIVEN=1", "--", "sh", script, "plain"], 0);
    said(&["mcp", "add", "s", "--", "sh"], 6);
    assert!(said(&["mcp", "add", "t", "--env", "API_TOKEN=0123456789", "--", "sh"], 2).contains("vault set"));
    said(&["mcp", "add", "t"], 2);
    assert!(said(&["mcp", "list", "--check"], 0).contains("plain  connected, 6 tools"));
    assert!(said(&["mcp", "get", "s"], 0).contains("variables: GIVEN"));
    assert!(said(&["mcp", "tools", "s"], 0).contains("mcp__s__add"));
    assert!(said(&["mcp", "call", "s", "add", "--input", "{\"a\":1}"], 0).contains('3'));
    assert!(said(&["mcp", "call", "s", "fail"], 1).contains("it cannot"));
    assert!(said(&["mcp", "call", "s", "nothing"], 5).contains("has no tool `nothing`"));
    said(&["mcp", "call", "s", "add", "--deny", "mcp__s"], 7);
    let hasty = format!(
        "{}\n[mcp.servers.hasty]\ncommand = \"sh\"\nargs = [{script:?}]\ntool_timeout_secs = 1\n\
         [mcp.servers.dead]\ncommand = \"sh\"\nargs = [{script:?}, \"dies\"]\n",
        world.read(world.base().join("config.toml"))
    );
    world.write(world.base().join("config.toml"), hasty);
    assert!(said(&["mcp", "call", "hasty", "slow"], 10).contains("did not answer within 1 seconds"));
    assert!(said(&["mcp", "call", "dead", "add"], 12).contains("its last words: no licence"));
    said(&["mcp", "tools", "dead"], 12);
    said(&["mcp", "call", "s", "add", "--input", "[]"], 2);
    said(&["mcp", "remove", "s"], 0);
    assert_eq!(world.run(&["mcp", "get", "s"]).code(), Some(5));
}

/// MCP-52, MCP-90: a call that is given up ends, and its server is told; the command waited for its time to be over.
#[test]
fn a_call_that_is_given_up() {
    let world = world();
    let script = scripted_server(&world);
    let (called, cancelled) = (world.tmp().join("called"), world.tmp().join("cancelled"));
    let server = format!(
        "[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}]\nenv = {{ CALLED = {called:?}, CANCELLED = {cancelled:?} }}\n"
    );
    world.write(world.base().join("config.toml"), server);
    let mut call = world.start(world.cmd(&["mcp", "call", "s", "slow"]), Stdin::Null, Stdout::Captured);
    call.wait_until("the call", |_| called.exists()).interrupt();
    insta::assert_snapshot!(call.finish(), @"
    ------- stderr -------
    Error: the command was interrupted
    [exit status: 130]
    ");
    let told = world.read(cancelled);
    assert!(told.contains("notifications/cancelled") && told.contains("canceled"), "{told}");
}

/// MCP-70: a form in the middle of a call is put to whoever answers questions, and the answer reaches the server.
#[test]
fn a_form_is_answered() {
    let (world, model, script) = with_server(calling("mcp__s__ask", json!({})));
    let config = config("s", &script, "plain");
    let args = [
        "--json",
        "--no-save",
        "--mcp-config",
        &config,
        "--allow",
        "mcp__s",
        "--permission-mode",
        "default",
        "--sandbox",
        "off",
    ];
    let mut run = world.start(world.cmd(&args), Stdin::Open, Stdout::Captured);
    run.write_stdin("go\n").wait_for_stdout("elicitation");
    let asked: Value = serde_json::from_str(run.stdout().lines().last().unwrap()).unwrap();
    assert_eq!(asked["fields"][0]["description"], "The MCP server `s` asks: Who are you?\nname", "{asked}");
    assert_eq!(asked["fields"][1]["enum"], json!(["red", "blue"]), "{asked}");
    let answer = json!({"type": "elicitation_response", "action": "accept", "content": {"name": "Ada"}});
    run.write_stdin(format!("{answer}\n")).wait_for_stdout("\"cost\"").close_stdin();
    run.finish();
    let told = model.request(1).messages().pop().unwrap()["content"][0]["content"].clone();
    assert_eq!(told, r#"{"action":"accept","content":{"name":"Ada","colour":"blue"}}"#);
}

/// MCP-70: with `-y` nothing is invented; a required field that nobody fills declines.
#[test]
fn a_form_with_yes() {
    let told = |answers: &str| {
        let (world, model, script) = with_server(calling("mcp__s__ask", json!({})));
        let config = format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}]\n{answers}");
        world.write(world.base().join("config.toml"), config);
        world.run(&["exec", "-y", "-p", "go", "--no-save"]);
        model.request(1).messages().pop().unwrap()["content"][0]["content"].clone()
    };
    assert_eq!(told(""), r#"{"action":"decline"}"#);
    let answered = told("[mcp.servers.s.answers]\nname = \"Bob\"\n");
    assert_eq!(answered, r#"{"action":"accept","content":{"name":"Bob","colour":"blue"}}"#);
}

/// MCP-36: nothing is left of a server, also of one that does not listen, and none outlives a run that is killed.
#[test]
fn no_server_is_left_behind() {
    for mode in ["plain", "deaf"] {
        let (world, _model, script) = with_server([anthropic::text("Done.").into()]);
        let marked = json!({"mcpServers": {"s": {"command": "sh", "args": [script, mode], "env": {"MARK": world.tmp()}}}});
        world.run(&["exec", "-p", "go", "--no-save", "--mcp-config", &marked.to_string()]).success();
        assert_eq!(processes_of(&script), Vec::<String>::new(), "{mode}");
    }
    let (world, model, script) = with_server([]);
    model.push(Reply::stall());
    let config = config("s", &script, "plain");
    let args = ["exec", "-p", "go", "--no-save", "--mcp-config", &config];
    let mut run = world.start(world.cmd(&args), Stdin::Null, Stdout::Captured);
    model.wait_for_requests(1);
    assert_eq!(processes_of(&script).len(), 1);
    run.kill();
    wait::until("the server is gone", || processes_of(&script).is_empty());
}

/// MCP-33: the second run sends last time's bytes and does not wait for the server.
#[test]
fn the_last_list_is_known() {
    let (world, model, script) =
        with_server([anthropic::text("One.").into(), anthropic::text("Two.").into()]);
    let config = |mode: &str| {
        format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}]\nenv = {{ MODE = \"{mode}\" }}\n")
    };
    world.write(world.base().join("config.toml"), config("a"));
    world.run(&["exec", "-p", "go", "--no-save"]).success();
    // It is the same server, and now it says nothing.
    let silent = std::fs::read_to_string(&script).unwrap().replace("mode=${1:-plain}", "mode=silent");
    world.write(&script, silent);
    world.run(&["exec", "-p", "go", "--no-save"]).success();
    assert_eq!(model.request(0).json()["tools"], model.request(1).json()["tools"]);
}
