//! Servers over HTTP that want a login, and what else they have: tokens got, kept, renewed and forgotten; resources and prompts
//! (MCP-23, MCP-60, MCP-61, MCP-80 to MCP-82).

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::browser;
use zori_testkit::env::TestEnv;
use zori_testkit::mcp_http::{McpAuthFault, McpHttpServer};
use zori_testkit::reply::Reply;
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use crate::screen_stage::Person;
use crate::world::{with_model, world};

/// A store that keeps entries in files, by names without slashes.
const HELPER: &str = r#"#!/bin/sh
file="$HOME/vault/$(printf %s "$3" | tr '/' '_')"
case $1 in
    get) if [ -f "$file" ]; then cat "$file"; fi ;;
    store) cat > "$file.new" && mv "$file.new" "$file" ;;
    erase) rm -f "$file" ;;
esac
"#;

fn furnished(world: &TestEnv, server: &McpHttpServer, more: &str) {
    std::fs::create_dir(world.home().join("vault")).expect("a folder can be made");
    let program = world.write(world.home().join("helper"), HELPER);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a file of ours");
    let config = format!(
        "credential_helper = \"{}\"\n[mcp.servers.s]\nurl = \"{}\"\n{more}",
        program.display(),
        server.url()
    );
    world.write(world.base().join("config.toml"), config);
}

fn with_server(fault: McpAuthFault, expires_in: u64) -> (TestEnv, McpHttpServer) {
    let (world, server) = (world(), McpHttpServer::start(fault, expires_in));
    furnished(&world, &server, "");
    (world, server)
}

/// A login under way, and the address it has printed.
fn begun(world: &TestEnv, stdin: Stdin) -> (Running, String) {
    let command = world.cmd(&["mcp", "login", "s", "--no-browser"]);
    let mut login = world.start(command, stdin, Stdout::Captured);
    let printed = |stderr: &str| {
        let (_, rest) = stderr.split_once("\n\n  ")?;
        Some(rest.split_once('\n')?.0.to_owned())
    };
    login.wait_until("the whole address", |login| printed(&login.raw_stderr()).is_some());
    let url = printed(&login.raw_stderr()).expect("it was waited for");
    (login, url)
}

fn log_in(world: &TestEnv) {
    let (login, url) = begun(world, Stdin::Null);
    assert_eq!(browser::visit(&url).status, 200);
    let output = login.finish();
    assert_eq!(
        (output.code(), output.stdout().as_str()),
        (Some(0), "Logged in to the MCP server s\n"),
        "{output}"
    );
}

fn count(server: &McpHttpServer, line: &str) -> usize {
    server.log().iter().filter(|asked| *asked == line).count()
}

/// MCP-80, MCP-82: from `needs-auth` to a call, and back. No token is printed or lies in a plain file.
#[test]
fn a_login_is_kept_used_and_forgotten() {
    let (world, server) = with_server(McpAuthFault::None, 3600);
    let wanted = world.run(&["mcp", "call", "s", "who"]);
    insta::assert_snapshot!(wanted, @"
    ------- stderr -------
    Error: the MCP server `s`: it wants a login: `zori mcp login s`
    [exit status: 8]
    ");
    log_in(&world);
    let account = format!("mcp:{0}#{0}", server.issuer()).replace('/', "_");
    let kept = world.read(world.home().join("vault").join(account));
    assert!(kept.contains(r#""kind":"oauth""#) && kept.contains("refresh-"), "{kept}");
    let known = world.read(world.base().join("mcp/known.json"));
    assert!(known.contains(&server.issuer()) && !known.contains("access-"), "{known}");
    insta::assert_snapshot!(world.run(&["mcp", "call", "s", "who"]), @"
    it is you
    [exit status: 0]
    ");
    // MCP-23: the session is ended.
    assert!(count(&server, "DELETE /mcp") > 0, "{:?}", server.log());
    insta::assert_snapshot!(world.run(&["mcp", "logout", "s"]), @"
    Forgot the login to the MCP server s
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["mcp", "logout", "s"]), @"
    Nobody is logged in to the MCP server s
    [exit status: 0]
    ");
    assert_eq!(world.run(&["mcp", "call", "s", "who"]).code(), Some(8));
}

/// MCP-81: the address that the browser was sent to, pasted on another machine.
#[test]
fn a_pasted_address() {
    let (world, server) = with_server(McpAuthFault::None, 3600);
    let (mut login, url) = begun(&world, Stdin::Open);
    let page = browser::request("GET", &url, &[]).expect("the server answers");
    let back = browser::header(&page.text, "location").expect("the browser is sent back");
    login.write_stdin(format!("{back}\n"));
    let output = login.finish();
    assert_eq!(
        (output.code(), output.stdout().as_str()),
        (Some(0), "Logged in to the MCP server s\n"),
        "{output}"
    );
    assert_eq!(count(&server, "grant authorization_code"), 1);
    // One that belongs to another login is of no use.
    let (mut login, _) = begun(&world, Stdin::Open);
    login.write_stdin(format!("{back}\n"));
    let output = login.finish();
    assert!(output.stderr().contains("Error: that address does not belong to this login"), "{output}");
    assert_eq!(output.code(), Some(8));
}

/// Whoever gives a login up ends the command, and learns that; it said that its time was over.
#[test]
fn a_login_that_is_given_up() {
    let (world, _server) = with_server(McpAuthFault::None, 3600);
    let (mut login, _) = begun(&world, Stdin::Open);
    login.interrupt();
    let output = login.finish();
    // Whichever of two listeners is first says it.
    assert!(output.stderr().ends_with("interrupted\n"), "{output}");
    assert_eq!(output.code(), Some(130), "{output}");
}

/// Chapter 8: other issuer's metadata, no S256, a script for an address, somebody else's answer: refused, exit 8.
#[test]
fn servers_that_cannot_be_trusted() {
    let said = |fault: McpAuthFault| {
        let (world, server) = with_server(fault, 3600);
        let output = match fault {
            McpAuthFault::WrongAnswerer => {
                let (login, url) = begun(&world, Stdin::Null);
                browser::visit(&url);
                login.finish()
            }
            _ => world.run(&["mcp", "login", "s", "--no-browser"]),
        };
        assert_eq!(count(&server, "grant authorization_code"), 0, "{fault:?}");
        let error =
            output.stderr().lines().find(|line| line.starts_with("Error")).unwrap_or_default().to_owned();
        (output.code(), error.replace(&server.issuer(), "ISSUER"))
    };
    for (fault, code, wanted) in [
        (
            McpAuthFault::OtherIssuer,
            8,
            "the metadata of `http://127.0.0.1:$PORT` is that of another issuer, `https://evil.example`",
        ),
        (McpAuthFault::NoS256, 8, "`http://127.0.0.1:$PORT` does not protect codes (PKCE with S256)"),
        (
            McpAuthFault::ScriptUrl,
            8,
            "the server names the address `javascript:alert(1)`, which is neither HTTPS nor on this machine",
        ),
        (
            McpAuthFault::WrongAnswerer,
            8,
            "`https://evil.example` answered in place of `http://127.0.0.1:$PORT`",
        ),
        (
            McpAuthFault::OtherResource,
            8,
            "its metadata is that of another server, `https://evil.example/mcp`",
        ),
    ] {
        assert_eq!(said(fault), (Some(code), format!("Error: the login was refused: {wanted}")));
    }
    let none = (
        Some(2),
        "Error: `http://127.0.0.1:$PORT` knows only clients that were registered by hand".to_owned(),
    );
    assert_eq!(said(McpAuthFault::NoRegistration), none);
}

/// MCP-82: a token that was refused is renewed; two processes renew it once, although a refresh token is good once.
#[test]
fn two_processes_renew_once() {
    let (world, server) = with_server(McpAuthFault::None, 3600);
    log_in(&world);
    server.expire();
    let call = || world.start(world.cmd(&["mcp", "call", "s", "who"]), Stdin::Null, Stdout::Captured);
    let both = [call(), call()].map(Running::finish);
    for output in &both {
        assert_eq!((output.code(), output.stdout().as_str()), (Some(0), "it is you\n"), "{output}");
    }
    assert_eq!(count(&server, "grant refresh_token"), 1, "{:?}", server.log());
    // One that ends within a minute is renewed before it is used.
    let (world, server) = with_server(McpAuthFault::None, 30);
    log_in(&world);
    world.run(&["mcp", "call", "s", "who"]).success();
    assert!(count(&server, "grant refresh_token") >= 1, "{:?}", server.log());
    // Refused: a login is wanted again.
    server.revoke();
    let output = world.run(&["mcp", "call", "s", "who"]);
    assert!(
        output.stderr().contains("its login has ended and could not be renewed: `zori mcp login s`"),
        "{output}"
    );
    assert_eq!(output.code(), Some(8));
}

/// Step-up: what a login is not good for costs that call, and is asked for at the next login beside the rest.
#[test]
fn a_login_that_is_not_good_enough() {
    let (world, server) = with_server(McpAuthFault::None, 3600);
    log_in(&world);
    server.want_for_calls("write");
    let output = world.run(&["mcp", "call", "s", "who"]);
    let why = "its login is not good for this, which takes `write`: `zori mcp login s` asks for it";
    assert!(output.stderr().contains(why), "{output}");
    log_in(&world);
    assert_eq!(
        server.log().iter().filter(|line| line.starts_with("scope ")).collect::<Vec<_>>(),
        ["scope read", "scope read write"]
    );
    world.run(&["mcp", "call", "s", "who"]).success();
}

/// Where nothing can be kept, nobody is asked; where nobody is, nothing is begun.
#[test]
fn logins_that_cannot_be() {
    let (world, server) = with_server(McpAuthFault::None, 3600);
    insta::assert_snapshot!(world.run(&["mcp", "login", "s"]), @"
    ------- stderr -------
    Error: a login to `s` needs a person, and nobody is there
    Hint: `zori mcp login s --no-browser` prints the address of the login and waits
    [exit status: 4]
    ");
    let config = format!(
        "[mcp.servers.s]\nurl = \"{}\"\n[mcp.servers.p]\ncommand = \"sh\"\n[mcp.servers.h]\nurl = \"https://x.example\"\nheaders = {{ Authorization = \"x\" }}\n",
        server.url()
    );
    world.write(world.base().join("config.toml"), config);
    let said = |name: &str| {
        let output = world.run(&["mcp", "login", name, "--no-browser"]);
        (output.code(), output.stderr().lines().next().unwrap_or_default().to_owned())
    };
    assert_eq!(said("s"), (Some(4), "Error: this machine has no credential store".to_owned()));
    let program = "Error: the MCP server `p` is a program; what it needs to know goes into its `env`";
    assert_eq!(said("p"), (Some(2), program.to_owned()));
    let headers = "Error: the MCP server `h` has its token in `headers`, and needs no login";
    assert_eq!(said("h"), (Some(2), headers.to_owned()));
    assert_eq!(said("nobody").0, Some(5));
    assert_eq!(server.log(), Vec::<String>::new());
}

fn in_a_run(replies: impl IntoIterator<Item = Reply>) -> (TestEnv, ModelServer, McpHttpServer) {
    let (world, model) = with_model(replies);
    let server = McpHttpServer::start(McpAuthFault::None, 3600);
    server.open_to_all();
    furnished(&world, &server, "");
    (world, model, server)
}

/// MCP-60: a resource that a prompt names goes along; the model reads others with a tool.
#[test]
fn resources() {
    let (world, model, _server) = in_a_run([
        anthropic::tool_use("t1", "mcp_resource", json!({"server": "s"})).into(),
        anthropic::tool_use("t2", "mcp_resource", json!({"server": "s", "uri": "note://one"})).into(),
        anthropic::text("Done.").into(),
    ]);
    world.run(&["exec", "-p", "what is in (@s:note://one)?", "--no-save"]).success();
    let first = model.request(0).conversation();
    assert!(first.contains("what is in (@s:note://one)?") && first.contains("remember the milk"), "{first}");
    let result = |at: usize| model.request(at).messages().pop().unwrap()["content"][0]["content"].to_string();
    assert!(result(1).contains("note://one") && result(1).contains("The first note"), "{}", result(1));
    assert!(result(2).contains("remember the milk"), "{}", result(2));
    let refused = world.run(&["exec", "-p", "and @s:note://two", "--no-save"]);
    assert!(
        refused
            .stderr()
            .contains("the resource `note://two` of the MCP server `s`: no resources/read (-32601)"),
        "{refused}"
    );
    assert_eq!(model.count(), 3);
}

/// MCP-61: a prompt of a server in place of its name.
#[test]
fn prompts() {
    let (world, model, _server) = in_a_run([anthropic::text("One.").into(), anthropic::text("Two.").into()]);
    world.run(&["exec", "-p", "/s:greet Ada how=kindly", "--no-save"]).success();
    assert!(
        model.request(0).conversation().contains("Greet Ada kindly"),
        "{}",
        model.request(0).conversation()
    );
    world.run(&["exec", "-p", "/mcp__s__greet \"Ada Lovelace\"", "--no-save"]).success();
    assert!(
        model.request(1).conversation().contains("Greet Ada Lovelace warmly"),
        "{}",
        model.request(1).conversation()
    );
    let said = |prompt: &str| world.run(&["exec", "-p", prompt, "--no-save"]).stderr();
    let missing = said("/s:greet");
    assert!(
        missing.contains(
            "The prompt /s:greet was stopped: the MCP server `s`: `whom` is missing; it takes `whom [how]`"
        ),
        "{missing}"
    );
    let unknown = said("/s:nothing");
    assert!(unknown.contains("it has no prompt `nothing`; it has greet"), "{unknown}");
    assert_eq!(model.count(), 2);
}

/// MCP-35: a session that the server has forgotten is begun anew, and the call made once more.
#[test]
fn a_session_that_is_forgotten() {
    let call = |id: &str| anthropic::tool_use(id, "mcp__s__who", json!({})).into();
    let (world, model, server) = in_a_run([call("t1"), call("t2"), anthropic::text("Done.").into()]);
    server.forget_session();
    world.run(&["exec", "-y", "-p", "go", "--no-save"]).success();
    let told =
        |at: usize| model.request(at).messages().pop().expect("messages")["content"][0]["content"].clone();
    assert_eq!([told(1), told(2)], ["it is you", "it is you"]);
    let asked = server.log();
    let from = asked.iter().position(|line| line == "tools/call 404").expect("it was forgotten");
    let posted: Vec<&String> =
        asked[from..].iter().filter(|line| !line.starts_with("GET") && *line != "tools/list").collect();
    assert_eq!(
        posted,
        ["tools/call 404", "initialize", "notifications/initialized", "tools/call", "DELETE /mcp"]
    );
}

/// Gets a prompt, reads a resource and calls a tool of a server that asks something meanwhile, with `-y`; what the model is told of each.
fn asked_meanwhile(asks: impl Fn(&McpHttpServer)) -> [String; 3] {
    let text = |blocks: &Value| match blocks {
        Value::String(text) => text.clone(),
        blocks => {
            blocks.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect()
        }
    };
    let with_prompt = |prompt: &str| {
        let (world, model, server) = in_a_run([anthropic::text("Done.").into()]);
        asks(&server);
        world.run(&["exec", "-y", "-p", prompt, "--no-save"]).success();
        text(&model.request(0).messages().pop().expect("messages")["content"])
    };
    let (prompt, resource) = (with_prompt("/s:greet Ada"), with_prompt("@s:note://one"));
    let call = anthropic::tool_use("t1", "mcp__s__who", json!({}));
    let (world, model, server) = in_a_run([call.into(), anthropic::text("Done.").into()]);
    asks(&server);
    world.run(&["exec", "-y", "-p", "go", "--no-save"]).success();
    let called = text(&model.request(1).messages().pop().expect("messages")["content"][0]["content"]);
    [prompt, resource, called]
}

/// MCP-70: what a server asks while it is asked comes on a stream of its own, and is heard however soon it comes.
#[test]
fn servers_that_ask_back_at_once() {
    let answer = r#"{"action":"accept","content":{"name":"Ada"}}"#;
    let resource = format!(
        "@s:note://oneThe resource @s:note://one, which the prompt names:\n[resource note://one]\n{answer}"
    );
    assert_eq!(asked_meanwhile(McpHttpServer::ask_back), [answer, &resource, answer]);
}

/// MCP-70: a question that is the answer is answered, and what was asked for is asked for again, whatever it was.
#[test]
fn servers_that_ask_first() {
    let answer = r#"s-1 {"who":{"action":"accept","content":{"name":"Ada"}}}"#;
    let resource = format!(
        "@s:note://oneThe resource @s:note://one, which the prompt names:\n[resource note://one]\n{answer}"
    );
    assert_eq!(asked_meanwhile(McpHttpServer::ask_first), [answer, &resource, answer]);
}

/// What a chat says of the servers now, in a conversation by lines.
fn told_by_chat(run: &mut Running, wanted: &str) {
    let seen = wait::poll(wait::BOUND, || {
        run.write_stdin("/mcp\n");
        run.stdout().contains(wanted).then_some(())
    });
    assert!(seen.is_some(), "`{wanted}` is not said:\n{}", run.stdout());
}

/// The same on a screen.
fn shown_by_chat(person: &mut Person, wanted: &str) {
    let seen = wait::poll(wait::BOUND, || {
        person.says("/mcp");
        person.rows().iter().any(|row| row.contains(wanted)).then_some(())
    });
    assert!(seen.is_some(), "`{wanted}` is not to be seen:\n{}", person.rows().join("\n"));
}

/// MCP-34: a server that speaks 2026-07-28 over HTTP says what changed on a stream of its own. What it said while that was cut off is made up for.
#[test]
fn changes_over_http_of_the_newest_protocol() {
    let (world, _model, server) = in_a_run([]);
    server.speak_newest();
    let mut run = world.start(world.cmd(&["--json", "--no-save"]), Stdin::Open, Stdout::Captured);
    told_by_chat(&mut run, "s (user): connected, 1 tool");
    wait::until("the stream", || count(&server, "subscriptions/listen") == 1);
    server.add_tool("second");
    told_by_chat(&mut run, "s (user): connected, 2 tools");
    assert_eq!((count(&server, "tools/list"), count(&server, "initialize")), (2, 0));
    server.add_tool_unheard("third");
    told_by_chat(&mut run, "s (user): connected, 3 tools");
    assert_eq!((count(&server, "tools/list"), count(&server, "subscriptions/listen")), (3, 2));
    run.close_stdin();
    assert_eq!(run.finish().code(), Some(0));
}

/// MCP-34: nothing is listed before changes are told of, so that none is missed.
#[test]
fn lists_wait_for_the_stream_of_changes() {
    let (world, _model, server) = in_a_run([anthropic::text("Done.").into()]);
    server.tell_slowly();
    world.run(&["exec", "-p", "hi", "--no-save"]).success();
    let log = server.log();
    let order: Vec<&String> =
        log.iter().filter(|line| ["tells of changes", "tools/list"].contains(&line.as_str())).collect();
    assert_eq!(order, ["tells of changes", "tools/list"], "{log:?}");
}

/// A server that tells of nothing is not asked to, and one of the older protocol tells by itself.
#[test]
fn nobody_asks_an_older_server_for_a_stream_of_changes() {
    let (world, _model, server) = in_a_run([anthropic::text("Done.").into()]);
    world.run(&["exec", "-p", "hi", "--no-save"]).success();
    assert_eq!((count(&server, "tools/list"), count(&server, "subscriptions/listen")), (1, 0));
}

/// MCP-80, MCP-91: a login from the chat, with the terminal lent to it, and its end.
#[test]
fn a_login_from_the_chat() {
    let (world, _model) = with_model([anthropic::text("Done.")]);
    let server = McpHttpServer::start(McpAuthFault::None, 3600);
    furnished(&world, &server, "[mcp.servers.program]\ncommand = \"true\"\n");
    let mut person = Person::open(&world, &[]);
    shown_by_chat(&mut person, "s (user): needs-auth: it wants a login: `zori mcp login s`");
    person.says("/mcp login program").sees("Nobody can log in: the MCP server `program` is a program");
    person.says("/mcp login nobody").sees("There is no MCP server `nobody`");
    person.says("/mcp logout s").sees("Nobody is logged in to the MCP server s.");
    person.says("/mcp login s");
    person.pty.wait_for("paste the address that it was sent to:");
    let drawn = person.pty.drawn();
    let url = drawn.split_once("\r\n\r\n  ").and_then(|(_, rest)| rest.split_once('\r'));
    let (url, _) = url.unwrap_or_else(|| panic!("no address in {drawn}"));
    // What is drawn has no ports in it.
    let url = url.replacen("http://127.0.0.1:$PORT", &server.issuer(), 1);
    assert_eq!(browser::visit(&url).status, 200);
    person.sees("Logged in to the MCP server s; it is being connected to.");
    shown_by_chat(&mut person, "s (user): connected, 1 tool");
    person.says("/mcp logout s").sees("Forgot the login to the MCP server s.");
    person.leaves();
    assert_eq!(world.run(&["mcp", "call", "s", "who"]).code(), Some(8));
}

/// Where the chat cannot let the terminal go, it says how it is done beside it.
#[test]
fn a_login_beside_the_chat() {
    let (world, _model) = with_model([anthropic::text("Done.")]);
    let server = McpHttpServer::start(McpAuthFault::None, 3600);
    furnished(&world, &server, "");
    let mut run = world.start(world.cmd(&["--json", "--no-save"]), Stdin::Open, Stdout::Captured);
    run.write_stdin("/mcp login s\n").wait_for_stdout("response_end");
    insta::assert_snapshot!(run.stdout(), @r#"
    {"type":"response_chunk","schema":1,"text":"Run `zori mcp login s` in another terminal; `/mcp reconnect s` uses the login then."}
    {"type":"response_end","schema":1}
    "#);
    log_in(&world);
    run.write_stdin("/mcp reconnect s\n");
    told_by_chat(&mut run, "s (user): connected, 1 tool");
    run.close_stdin();
    assert_eq!(run.finish().code(), Some(0));
}

/// MCP-60, MCP-61: the server completes what its prompt takes, and resources are offered by `@`.
#[test]
fn what_servers_complete() {
    let (world, model, server) = in_a_run([anthropic::text("Done.").into()]);
    // What a server has is known from the first time on.
    world.run(&["mcp", "tools", "s"]).success();
    let mut person = Person::open(&world, &[]);
    shown_by_chat(&mut person, "s (user): connected");
    person.types("/s:greet A").sees("Alan Turing");
    assert!(person.screen().contains("Ada") && !person.screen().contains("Grace"), "{}", person.screen());
    person.keys("lan").sees_no_more("Ada").keys("\t").sees("/s:greet \"Alan Turing\"");
    person.types(" how=kindly").pauses(50).keys("\r").sees("Done.");
    insta::assert_snapshot!(model.request(0).conversation(), @"user: Greet Alan Turing kindly");
    assert!(count(&server, "completion/complete") >= 2);
    person.types("see @s:note").sees("s:note://one");
    person.keys("\t").sees("see @s:note://one").keys("\x15");
    person.leaves();
}

/// EXT-63: who logged in and out is in the audit log, and no token is.
#[test]
fn logins_are_written_down() {
    let (world, _server) = with_server(McpAuthFault::None, 3600);
    log_in(&world);
    world.run(&["mcp", "logout", "s"]).success();
    let log = world.read(world.base().join("audit.jsonl"));
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let own: Vec<Value> = records
        .iter()
        .filter(|record| record["event"] == "mcp")
        .map(|record| json!([record["server"], record["action"], record["summary"]]))
        .collect();
    assert_eq!(own, [json!(["s", "login", ""]), json!(["s", "logout", ""])]);
}
