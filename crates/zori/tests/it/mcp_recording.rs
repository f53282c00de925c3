//! MCP servers over HTTP on a recording (MCP-20): a replay contacts nobody, and nothing secret is in the file.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::mcp_http::{McpAuthFault, McpHttpServer};
use zori_testkit::reply::Reply;
use zori_testkit::server::{ModelServer, refused_url};

use crate::recording::offline;
use crate::world::with_model;

const TOKEN: &str = "token-of-the-server";

/// A world with a server that anybody may call, who says so in a header.
fn served(replies: impl IntoIterator<Item = Reply>) -> (TestEnv, ModelServer, McpHttpServer) {
    let (world, model) = with_model(replies);
    let server = McpHttpServer::start(McpAuthFault::None, 3600);
    server.open_to_all();
    at(&world, &server.url());
    (world, model, server)
}

fn at(world: &TestEnv, url: &str) {
    let config = format!("[mcp.servers.s]\nurl = \"{url}\"\nheaders = {{ X-Own = \"vault:OWN\" }}\n");
    world.write(world.base().join("config.toml"), config);
}

/// The messages to and from the server that were recorded, without their ids.
fn recorded(world: &TestEnv) -> Vec<String> {
    let text = std::fs::read_to_string(world.work().join("r.jsonl")).expect("there is a recording");
    assert!(!text.contains(TOKEN), "{text}");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("lines of JSON"));
    let said = |line: Value| {
        assert_eq!((&line["server"], &line["connection"]), (&json!("s"), &json!(1)));
        let sent = line["sent"]["method"].as_str().map(|method| format!("> {method}"));
        let failed = line["failed"]["message"].as_str().map(|why| format!("! {why}"));
        sent.or(failed).unwrap_or_else(|| format!("< {}", line["received"]["result"]))
    };
    lines.filter(|line| line["type"] == "mcp").map(said).collect()
}

/// What is in the recording of the server, without times and messages to it.
fn said_of_server(world: &TestEnv) -> String {
    let text = std::fs::read_to_string(world.work().join("r.jsonl")).expect("there is a recording");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("lines of JSON"));
    let events = lines.filter(|line| line["type"] == "mcp" && line.get("sent").is_none());
    let shown = events.map(|mut line| {
        line["ms"] = 0.into();
        line.to_string()
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// A picture that a prompt names is fetched again, from the recording, and shown once.
#[test]
fn resources_of_prompts_are_played() {
    let (mut world, model, server) = served([anthropic::text("A point.").into()]);
    world.set_var("OWN", TOKEN);
    let exec = ["exec", "--no-save", "-p", "look at @s:note://picture", "--record", "r.jsonl"];
    world.run(&exec).success();
    let content = &model.request(0).json()["messages"][0]["content"];
    let pictures = content.as_array().expect("blocks").iter().filter(|block| block["type"] == "image");
    assert_eq!(pictures.count(), 1, "{content}");
    drop(server);
    offline(&mut world);
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "--replay", "r.jsonl"]), @"
    A point.
    [exit status: 0]
    ");
}

/// What the server is asked in a run, and how often.
fn asked(server: &McpHttpServer) -> usize {
    server.log().len()
}

#[test]
fn a_session_is_played() {
    let (mut world, model, server) = served([
        anthropic::tool_use("t1", "mcp__s__who", json!({})).into(),
        anthropic::tool_use("t2", "mcp_resource", json!({"server": "s", "uri": "note://one"})).into(),
        anthropic::text("Done.").into(),
    ]);
    world.set_var("OWN", TOKEN);
    let exec = ["exec", "-y", "-p", "/s:greet Ada", "--no-save"];
    let first = world.run(&[&exec[..], &["--record", "r.jsonl"]].concat()).success();
    // What is listed side by side may come in any order.
    let mut said = recorded(&world);
    said[5..11].sort();
    insta::assert_snapshot!(said.join("\n"), @r#"
    > server/discover
    ! no server/discover
    > initialize
    < {"protocolVersion":"2025-11-25","serverInfo":{"name":"http","version":"1"},"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}}}
    > notifications/initialized
    < {"prompts":[{"name":"greet","description":"Greets somebody","arguments":[{"name":"whom","required":true},{"name":"how"}]}]}
    < {"resources":[{"uri":"note://one","name":"One","description":"The first note"}]}
    < {"tools":[{"name":"who","description":"Says who is there","inputSchema":{"type":"object"}}]}
    > prompts/list
    > resources/list
    > tools/list
    > prompts/get
    < {"messages":[{"role":"user","content":{"type":"text","text":"Greet Ada warmly"}}]}
    > tools/call
    < {"content":[{"type":"text","text":"it is you"}]}
    > resources/read
    < {"contents":[{"uri":"note://one","mimeType":"text/plain","text":"remember the milk"}]}
    "#);
    let (contacts, requests) = (asked(&server), model.count());
    drop(server);
    // What a recording says is kept nowhere: neither a list, nor which tools were approved, nor how the server is greeted.
    let folder = world.base().join("mcp");
    let kept = || {
        ["lists.json", "pins.json", "known.json"]
            .map(|file| std::fs::read_to_string(folder.join(file)).unwrap_or_default())
    };
    let before = kept();
    assert!(before.iter().all(|text| !text.is_empty()), "the run itself kept all three: {before:?}");
    at(&world, &format!("{}/mcp", refused_url()));
    offline(&mut world);
    let again = world.run(&[&exec[..], &["--replay", "r.jsonl"]].concat()).success();
    assert_eq!(again.stdout(), first.stdout());
    assert_eq!(model.count(), requests);
    assert!(contacts > 0);
    assert_eq!(kept(), before);
}

/// What was answered to a form is compared, but for what looks like a secret; a run that leaves the recording says so.
#[test]
fn forms_are_played() {
    for asks in [McpHttpServer::ask_back, McpHttpServer::ask_first] {
        let (mut world, _model, server) = served([
            anthropic::tool_use("t1", "mcp__s__who", json!({})).into(),
            anthropic::text("Done.").into(),
        ]);
        world.set_var("OWN", TOKEN);
        asks(&server);
        let exec = ["exec", "-y", "-p", "go", "--no-save"];
        world.run(&[&exec[..], &["--record", "r.jsonl"]].concat()).success();
        let contacts = asked(&server);
        offline(&mut world);
        let again = world.run(&[&exec[..], &["--replay", "r.jsonl"]].concat());
        let said = "Done.\n------- stderr -------\n⚙ Running mcp__s__who... Done. (X.XXs)\n[exit status: 0]";
        assert_eq!(again.to_string(), said);
        let own = world.base().join("config.toml");
        let config = std::fs::read_to_string(&own).expect("a config");
        world.write(&own, format!("{config}tools_deny = [\"who\"]\n"));
        let other = world.run(&[&exec[..], &["--replay", "r.jsonl"]].concat());
        assert_eq!(other.code(), Some(1), "{other}");
        assert_eq!(asked(&server), contacts, "nobody was contacted");
    }
}

/// A server that could not be reached then is not reached for now, and one that the recording does not know is not contacted.
#[test]
fn servers_that_were_not_there() {
    let (mut world, _model, server) = served([anthropic::text("Done.").into()]);
    world.set_var("OWN", TOKEN);
    at(&world, &format!("{}/mcp", refused_url()));
    let exec = ["exec", "-p", "go", "--no-save"];
    let first = world.run(&[&exec[..], &["--record", "r.jsonl"]].concat()).success();
    insta::assert_snapshot!(said_of_server(&world), @r#"{"type":"mcp","ms":0,"server":"s","connection":1,"failed":{"id":1,"message":"it cannot be reached: Connection failed: Connection refused (os error 111)"}}"#);
    at(&world, &server.url());
    offline(&mut world);
    let again = world.run(&[&exec[..], &["--replay", "r.jsonl"]].concat()).success();
    assert_eq!(again.to_string(), first.to_string());
    let config = format!("[mcp.servers.s]\nurl = \"{0}\"\n[mcp.servers.new]\nurl = \"{0}\"\n", server.url());
    world.write(world.base().join("config.toml"), config);
    let known = world.run(&[&exec[..], &["--replay", "r.jsonl"]].concat()).success();
    assert!(
        known
            .stderr()
            .contains("Warning: the MCP server `new` failed: the recording has nothing more of it\n"),
        "{known}"
    );
    assert_eq!(server.log(), Vec::<String>::new());
}
