//! Forms of MCP servers while a prompt is prepared (MCP-70): what `/SERVER:PROMPT` and `@SERVER:URI` make a server ask is put to the user,
//! and what was asked for comes with the answer.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::mcp_http::{McpAuthFault, McpHttpServer};
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use crate::screen_stage::Person;
use crate::world::with_model;

/// Makes a server ask.
type Asks = fn(&McpHttpServer);

/// The ways in which a server asks, with what it makes of the answer.
const WAYS: [(Asks, &str, &str); 2] =
    [(McpHttpServer::ask_back, "", ""), (McpHttpServer::ask_first, r#"s-1 {"who":"#, "}")];

fn asking(ask: impl Fn(&McpHttpServer)) -> (TestEnv, ModelServer, McpHttpServer) {
    let (world, model) = with_model([anthropic::text("Done.")]);
    let server = McpHttpServer::start(McpAuthFault::None, 3600);
    server.open_to_all();
    ask(&server);
    world.write(world.base().join("config.toml"), format!("[mcp.servers.s]\nurl = \"{}\"\n", server.url()));
    (world, model, server)
}

/// What the model was told.
fn told(model: &ModelServer) -> String {
    let blocks = model.request(0).messages().pop().expect("messages")["content"].clone();
    match blocks {
        Value::String(text) => text,
        blocks => {
            blocks.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect()
        }
    }
}

/// What a prompt of a server, or a resource, becomes with an answer.
fn with(prompt: &str, answer: &str) -> String {
    match prompt.starts_with('@') {
        true => {
            format!("{prompt}The resource {prompt}, which the prompt names:\n[resource note://one]\n{answer}")
        }
        false => answer.to_owned(),
    }
}

#[test]
fn by_json_events() {
    for (ask, before, behind) in WAYS {
        for prompt in ["/s:greet Ada", "@s:note://one"] {
            let (world, model, _server) = asking(ask);
            let mut run = world.start(world.cmd(&["--json", "--no-save"]), Stdin::Open, Stdout::Captured);
            run.write_stdin(format!("{prompt}\n")).wait_for_stdout(r#""type":"elicitation""#);
            assert!(run.stdout().contains("The MCP server `s` asks: Who?"), "{}", run.stdout());
            let answer =
                json!({"type": "elicitation_response", "action": "accept", "content": {"name": "Grace"}});
            run.write_stdin(format!("{answer}\n")).wait_for_stdout("\"cost\"").close_stdin();
            let output = run.finish();
            assert_eq!(output.code(), Some(0), "{output}");
            let entered = format!(r#"{before}{{"action":"accept","content":{{"name":"Grace"}}}}{behind}"#);
            assert_eq!(told(&model), with(prompt, &entered));
        }
    }
}

/// On the screen the form stands where other questions do.
#[test]
fn on_the_screen() {
    let (world, model, _server) = asking(McpHttpServer::ask_back);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("/s:greet Ada").sees("? the MCP server s asks").sees("Who?").pauses(1300);
    person.keys("w").sees("your answer? Enter says it").keys("Grace").sees("w Grace").pauses(400).keys("\r");
    person.sees("Send this to `s`?").pauses(1300).keys("1").sees("Done.").leaves();
    assert_eq!(told(&model), r#"{"action":"accept","content":{"name":"Grace"}}"#);
}

/// Who gives up while a form is open gives up what was asked for, and the model is not asked.
#[test]
fn given_up() {
    let (world, model, _server) = asking(McpHttpServer::ask_first);
    let mut run = world.start(world.cmd(&["--json", "--no-save"]), Stdin::Open, Stdout::Captured);
    run.write_stdin("/s:greet Ada\n").wait_for_stdout(r#""type":"elicitation""#);
    run.interrupt();
    run.wait_for_stderr("The prompt /s:greet was stopped: interrupted");
    run.close_stdin();
    run.finish();
    assert_eq!(model.count(), 0);
}
