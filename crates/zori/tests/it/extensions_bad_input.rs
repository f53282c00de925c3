//! Servers, forms and skills that are not as they should be, row by row of the table in the contract of extensions: what a run makes of
//! each. Logins that are refused are in `mcp_login.rs`.

use std::fs::File;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::mcp::{AnsweringServer, asking_server, faulty_server, scripted_server};
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use crate::world::with_model;

/// A world whose model says one thing.
fn talking() -> (TestEnv, ModelServer) {
    with_model([anthropic::text("Done.")])
}

fn exec(world: &TestEnv) -> String {
    let output = world.run(&["exec", "-p", "go", "--no-save"]).to_string();
    // A server is waited for where the machine is busy, and that is said.
    let mut lines: Vec<_> =
        output.lines().filter(|line| !line.contains("Waiting for the MCP servers")).collect();
    let says_nothing = |pair: &[&str]| pair[0].contains("- stderr -") && pair[1].starts_with("[exit status");
    if let Some(at) = lines.windows(2).position(says_nothing) {
        lines.remove(at);
    }
    lines.join("\n")
}

/// What a request offers of servers, by name and schema.
fn offered(model: &ModelServer) -> Vec<Value> {
    let tools = model.request(0).json()["tools"].clone();
    let tools = tools.as_array().expect("a request lists tools").iter();
    let own = tools.filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("mcp")));
    own.map(|tool| json!([tool["name"], tool["input_schema"]])).collect()
}

/// A broken `.mcp.json` is warned about by its line, and the run goes on; a broken config of one's own ends it.
#[test]
fn files_that_are_broken() {
    let (world, _model) = talking();
    world.write(".mcp.json", "{\n  \"mcpServers\": {\n    \"s\": {,}\n  }\n}\n");
    insta::assert_snapshot!(exec(&world), @"
    Done.
    ------- stderr -------
    Warning: $WORK/.mcp.json: key must be a string at line 3 column 11; its MCP servers are not used
    [exit status: 0]
    ");
    for (text, what) in [
        ("{\"s\": {\"command\": \"true\"}}", "there is no table `mcpServers`"),
        ("[]", "there is no table `mcpServers`"),
        ("{\"mcpServers\": []}", "`mcpServers` is no table"),
    ] {
        let (world, _model) = talking();
        world.write(".mcp.json", text);
        let warning = format!("Warning: $WORK/.mcp.json: {what}; its MCP servers are not used\n");
        assert_eq!(
            exec(&world).to_string(),
            format!("Done.\n------- stderr -------\n{warning}[exit status: 0]")
        );
    }
    for nothing in ["{}", "{\"mcpServers\": {}}"] {
        let (world, _model) = talking();
        world.write(".mcp.json", nothing);
        assert_eq!(exec(&world).to_string(), "Done.\n[exit status: 0]");
    }
    let (world, model) = talking();
    world.write(world.base().join("config.toml"), "[mcp.servers.s]\ncommand = \n");
    insta::assert_snapshot!(exec(&world), @"
    ------- stderr -------
    Error: $BASE/config.toml:2:11: string values must be quoted, expected literal string
    [exit status: 2]
    ");
    assert_eq!(model.count(), 0);
}

/// A program that is not there or ends costs itself, with its last words; a banner is skipped; a flood goes to a log that rotates.
#[test]
fn programs_that_misbehave() {
    let (world, _model) = talking();
    let (script, faulty) = (scripted_server(&world), faulty_server(&world));
    world.write(
        world.base().join("config.toml"),
        format!(
            "mcp.servers.missing = {{ command = \"no-such-program\" }}\n\
             mcp.servers.ends = {{ command = \"sh\", args = [{script:?}, \"dies\"] }}\n\
             mcp.servers.banner = {{ command = \"sh\", args = [{script:?}, \"banner\"] }}\n\
             mcp.servers.flood = {{ command = \"sh\", args = [{faulty:?}, \"open\", \"stderr\"] }}\n"
        ),
    );
    insta::assert_snapshot!(exec(&world), @"
    Done.
    ------- stderr -------
    Warning: the MCP server `ends` failed: it ended with exit status: 3; its last words: no licence
    Warning: the MCP server `missing` failed: `no-such-program` cannot be started: No such file or directory (os error 2)
    [exit status: 0]
    ");
    let log = |name: &str| world.base().join("logs/mcp").join(name);
    let size = |name: &str| std::fs::metadata(log(name)).map_or(0, |facts| facts.len());
    assert!(world.read(log("banner.log")).contains("Welcome to the server!"));
    assert!(size("flood.log") <= (1 << 20) + 5000 && size("flood.log.1") <= (1 << 20) + 5000);
}

/// Lists that are not as they should be: another version fails, pages end, a schema that is none is one, and one that is too long costs its
/// tool.
#[test]
fn lists_that_are_not_right() {
    let (world, model) = talking();
    let script = scripted_server(&world);
    let table = format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}, \"version\"]\n");
    world.write(world.base().join("config.toml"), table);
    insta::assert_snapshot!(exec(&world), @"
    Done.
    ------- stderr -------
    Warning: the MCP server `s` failed: it speaks the version `1999-01-01` of the protocol
    [exit status: 0]
    ");
    assert_eq!(offered(&model), [json!(null); 0]);

    let (world, model) = talking();
    let server = AnsweringServer::new(&world);
    let long = json!({"type": "object", "description": "x".repeat(70 << 10)});
    server
        .list(&json!({"tools": [{"name": "none", "inputSchema": 5}, {"name": "long", "inputSchema": long}]}));
    world.write(world.base().join("config.toml"), server.table());
    insta::assert_snapshot!(exec(&world), @"
    Done.
    [exit status: 0]
    ");
    assert_eq!(offered(&model), [json!(["mcp__s__none", {"type": "object"}])]);
    let log = world.read(world.base().join("logs/mcp/s.log"));
    assert_eq!(log, "left out: the schema of `long` has 71714 bytes, more than 65536\n");

    let (world, _model) = talking();
    let server = AnsweringServer::new(&world);
    server.list(&json!({"tools": [], "nextCursor": "more"}));
    world.write(world.base().join("config.toml"), server.table());
    insta::assert_snapshot!(exec(&world), @"
    Done.
    [exit status: 0]
    ");
    let log = world.read(world.base().join("logs/mcp/s.log"));
    assert_eq!(log, "left out: its list goes on after 50 pages\n");
}

/// Answers that nobody waits for are dropped: of another id, twice, and after the call was given up.
#[test]
fn answers_that_nobody_waits_for() {
    for fault in ["wrong_id", "twice"] {
        let (world, model) = with_model([
            anthropic::tool_use("t1", "mcp__s__add", json!({})),
            anthropic::tool_use("t2", "mcp__s__add", json!({})),
            anthropic::text("Done."),
        ]);
        let faulty = faulty_server(&world);
        let table =
            format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{faulty:?}, \"call\", \"{fault}\"]\n");
        world.write(world.base().join("config.toml"), table);
        assert_eq!(exec(&world).lines().next(), Some("Done."), "{fault}");
        for request in [1, 2] {
            let result = model.request(request).messages().pop().unwrap()["content"][0]["content"].clone();
            assert_eq!(result, "3", "{fault}");
        }
    }
    let (world, model) = with_model([
        anthropic::tool_use("t1", "mcp__s__add", json!({})),
        anthropic::tool_use("t2", "mcp__s__add", json!({})),
        anthropic::text("Done."),
    ]);
    // Its first answer comes when the second call has come.
    let late = world.tmp().join("late.sh");
    let script = r#"
say() { printf '%s\n' "$1"; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}; id=${id%%\}*}
  case $line in
    *'"method":"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}' ;;
    *'"method":"tools/list"'*) answer '{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      if [ -z "$first" ]; then first=$id; continue; fi
      second=$id; id=$first; answer '{"content":[{"type":"text","text":"late"}]}'
      id=$second; answer '{"content":[{"type":"text","text":"3"}]}' ;;
  esac
done
"#;
    world.write(&late, script.trim_start());
    let table = format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{late:?}]\ntool_timeout_secs = 1\n");
    world.write(world.base().join("config.toml"), table);
    assert_eq!(exec(&world).lines().next(), Some("Done."));
    let results: Vec<Value> =
        [1, 2].map(|at| model.request(at).messages().pop().unwrap()["content"][0]["content"].clone()).into();
    assert!(
        results[0].as_str().unwrap().ends_with("did not answer within 1 seconds (`tool_timeout_secs`)"),
        "{results:?}"
    );
    assert_eq!(results[1], "3");
}

/// Forms that are nested or huge are declined; a name with control characters is shown without them, and goes back as it came.
#[test]
fn forms_that_are_odd() {
    let answered = |form: &Value, args: &[&str], answer: Option<&str>| {
        let (world, model) =
            with_model([anthropic::tool_use("t1", "mcp__s__ask", json!({})), anthropic::text("Done.")]);
        let script = scripted_server(&world);
        world.write(world.base().join("config.toml"), asking_server(&script, form));
        let mut run = world.start(world.cmd(args), Stdin::Open, Stdout::Captured);
        let mut asked = Value::Null;
        if let Some(answer) = answer {
            run.write_stdin("go\n").wait_for_stdout("elicitation");
            asked = serde_json::from_str(run.stdout().lines().last().unwrap()).unwrap();
            run.write_stdin(format!("{answer}\n")).wait_for_stdout("\"cost\"");
        }
        run.close_stdin();
        run.finish();
        let told = model.request(1).messages().pop().unwrap()["content"][0]["content"].clone();
        (told.as_str().unwrap().to_owned(), asked["fields"].clone())
    };
    let exec = ["exec", "-y", "-p", "go", "--no-save"];
    let declined = r#"{"action":"decline"}"#;
    let nested = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}});
    assert_eq!(answered(&nested, &exec, None).0, declined);
    let field = |n: usize| (format!("f{n}"), json!({"type": "string", "default": "x"}));
    let many: serde_json::Map<String, Value> = (0..200).map(field).collect();
    assert_eq!(answered(&json!({"type": "object", "properties": many}), &exec, None).0, declined);
    let odd = json!({"type": "object", "properties": {"\u{1b}[31mred\u{7}": {"type": "string"}}});
    let json =
        ["--json", "--no-save", "--permission-mode", "default", "--sandbox", "off", "--allow", "mcp__s"];
    let answer =
        json!({"type": "elicitation_response", "action": "accept", "content": {"\u{1b}[31mred\u{7}": "x"}})
            .to_string();
    let (told, fields) = answered(&odd, &json, Some(&answer));
    assert_eq!(told, "{\"action\":\"accept\",\"content\":{\"\u{1b}[31mred\u{7}\":\"x\"}}");
    let shown = fields[0]["description"].as_str().unwrap().to_owned();
    assert_eq!(shown, "The MCP server `s` asks: Who are you?\n\\x1b[31mred\\x07 (may stay empty)");
}

/// Skills that cannot be read are skipped with the reason; a byte order mark and other line ends are no matter. References are not followed,
/// so that nothing grows by being read.
#[test]
fn skills_that_cannot_be_read() {
    let (world, _model) = talking();
    let folder = world.base().join("skills");
    let file = |name: &str| folder.join(name).join("SKILL.md");
    let write = |name: &str, text: &str| world.write(file(name), text);
    for name in ["pipe", "huge"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        file("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o600),
        0,
    )
    .unwrap();
    let huge = File::create(file("huge")).unwrap();
    huge.set_len(1 << 30).unwrap();
    let bomb = (1..30).fold("a0: &a0 [x,x,x,x]\n".to_owned(), |text, n| {
        let last = n - 1;
        text + &format!("a{n}: &a{n} [*a{last},*a{last},*a{last},*a{last}]\n")
    });
    write("bomb", &format!("---\nname: bomb\n{bomb}description: *a29\n---\nBody\n"));
    write("bom", "\u{feff}---\nname: bom\ndescription: Has a mark\n---\nBody\n");
    write("crlf", "---\r\nname: crlf\r\ndescription: Has other ends\r\n---\r\nBody\r\n");
    insta::assert_snapshot!(exec(&world), @"
    Done.
    ------- stderr -------
    Warning: $BASE/skills/bomb/SKILL.md has keys that mean nothing here: `a0`, `a1`, `a2`, `a3`, `a4`, `a5`, `a6`, `a7`, `a8`, `a9`, `a10`, `a11`, `a12`, `a13`, `a14`, `a15`, `a16`, `a17`, `a18`, `a19`, `a20`, `a21`, `a22`, `a23`, `a24`, `a25`, `a26`, `a27`, `a28`, `a29`
    Warning: $BASE/skills/huge/SKILL.md is larger than 262144 bytes; it is no skill
    Warning: $BASE/skills/pipe/SKILL.md is not a regular file; it is no skill
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["skills", "list"]), @"
    bom: Has a mark
    bomb: *a29
    crlf: Has other ends
    skill-creator (built-in, by its slash only): Write a skill, or mend one
    zori-setup (built-in, by its slash only): Set zori up for this folder: instructions, rules, servers, what other agents left
    ------- stderr -------
    Warning: $BASE/skills/bomb/SKILL.md has keys that mean nothing here: `a0`, `a1`, `a2`, `a3`, `a4`, `a5`, `a6`, `a7`, `a8`, `a9`, `a10`, `a11`, `a12`, `a13`, `a14`, `a15`, `a16`, `a17`, `a18`, `a19`, `a20`, `a21`, `a22`, `a23`, `a24`, `a25`, `a26`, `a27`, `a28`, `a29`
    Warning: $BASE/skills/huge/SKILL.md is larger than 262144 bytes; it is no skill
    Warning: $BASE/skills/pipe/SKILL.md is not a regular file; it is no skill
    [exit status: 0]
    ");
}
